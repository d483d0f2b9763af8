# SPDX-License-Identifier: Apache-2.0
"""Secrets: resolved by name, replaced in every form in which they turn up."""

from __future__ import annotations

import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.transport.secrets import REPLACEMENT, SHORTEST, Secrets

PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=SHORTEST, max_size=40)


def knowing(*values: str) -> Secrets:
    """Return secrets that know these values."""
    secrets = Secrets()
    secrets.remember(values)
    return secrets


def test_resolve_of_a_set_variable_returns_it_without_the_newline_of_a_file() -> None:
    """A key read from a file with its final newline still fits into a header."""
    assert Secrets().resolve("KEY", {"KEY": " sk-0123456789\n"}) == "sk-0123456789"


@pytest.mark.parametrize("value", [None, "", "  \n", "one\ntwo lines", "caf\u00e9-key"])
def test_resolve_of_what_no_header_may_hold_is_refused_by_name(value: str | None) -> None:
    """A missing or impossible key costs nothing and names the variable, never its value."""
    environ = {} if value is None else {"KEY": value}
    with pytest.raises(SpecError) as caught:
        Secrets().resolve("KEY", environ, where="models.m.secret")
    assert caught.value.code == "SECRET"
    assert caught.value.where == "models.m.secret"
    assert "KEY" in caught.value.message
    assert not value or value.strip() == "" or value not in str(caught.value) + caught.value.hint


@given(PRINTABLE)
def test_scrub_replaces_every_written_form_of_a_secret(value: str) -> None:
    """Plain, percent-encoded in either case, form-encoded, and inside JSON strings."""
    secrets = knowing(value)
    encoded = quote(value, safe="")
    lower = re.sub("%..", lambda found: found.group().lower(), encoded)
    escaped = json.dumps(value)[1:-1]
    for form in (value, encoded, lower, quote(value), quote_plus(value), escaped, escaped.replace("/", "\\/")):
        assert secrets.scrub(f"<{form}>") == f"<{REPLACEMENT}>"


@given(PRINTABLE)
def test_scrub_replaces_a_secret_whose_every_character_is_escaped(value: str) -> None:
    """Also where JSON stands within JSON, which doubles each backslash; and plain characters may stand between."""
    secrets = knowing(value)
    escaped = "".join(f"\\u{ord(char):04x}" for char in value)
    mixed = value[: len(value) // 2] + escaped[6 * (len(value) // 2) :]
    for form in (escaped, escaped.upper().replace("U", "u"), json.dumps(escaped)[1:-1], mixed):
        assert secrets.scrub(f"<{form}>") == f"<{REPLACEMENT}>"


def test_scrub_of_nothing_but_backslashes_ends() -> None:
    """What may be part of an escape is looked at once; the square of this length would take hours."""
    text = "\\" * 10**6 + "\\u"
    assert knowing("sk-0123456789").scrub(text) == text


def test_scrub_of_a_secret_that_begins_with_another_leaves_no_rest() -> None:
    """The longer one is replaced as a whole, else its tail would be kept."""
    secrets = knowing("abcdefgh", "abcdefgh-and-more")
    assert secrets.scrub("x abcdefgh-and-more y abcdefgh z") == f"x {REPLACEMENT} y {REPLACEMENT} z"


def test_scrub_of_a_placeholder_leaves_ordinary_answers_alone() -> None:
    """A key such as "none" for a local server must not garble every answer that holds the word."""
    assert knowing("none").scrub("none of them") == "none of them"


def test_scrub_without_secrets_returns_the_text() -> None:
    """Nothing known, nothing replaced, lone surrogates kept."""
    assert Secrets().scrub("half \ud835") == "half \ud835"
