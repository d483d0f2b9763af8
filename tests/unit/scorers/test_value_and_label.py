# SPDX-License-Identifier: Apache-2.0
"""`value` and `label`: MindTrial's canonical forms by their golden values, JSON values, labels."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record.values import Case, Scorer
from trialplate.scorers.base import Score, ScorerError
from trialplate.scorers.label import make_label
from trialplate.scorers.value import WHITE_SPACE, canonical_text, canonical_value, make_value


async def value(answer: str, *references: Any, schema: Any = None, **settings: Any) -> Score:
    """Score by `value`."""
    scorer = Scorer(name="s", type="value", metric="right", settings=settings)
    return await make_value(scorer, {}).score(
        Case(id="q1", input="?", references=references, answer_schema=schema), answer
    )


async def label(answer: str, *references: Any, **settings: Any) -> Score:
    """Score by `label`."""
    scorer = Scorer(name="s", type="label", metric="right", settings=settings)
    return await make_label(scorer, {}).score(Case(id="q1", input="?", references=references), answer)


# ---------------------------------------------------------------------------------------------------- canonical texts


@pytest.mark.parametrize(
    ("text", "settings", "form"),
    [
        # Run in Go 1.19: unicode.ToLower, strings.TrimSpace, regexp `\s+`, split at `\r?\n`.
        ("İSTANBUL", {}, "istanbul"),
        ("ΣΑΣ", {}, "σασ"),
        ("ẞ ß", {}, "ß ß"),
        ("ABC", {"case_sensitive": True}, "ABC"),
        ("\u00a0\u2003\u0085\va\u3000\u2028", {}, "a"),
        ("\u200ba\u200b", {}, "\u200ba\u200b"),
        ("\x1ca\x1d\x1e\x1f", {}, "\x1ca\x1d\x1e\x1f"),
        ("a\u00a0b a\vb a\u2003b a\u0085b", {"ignore_whitespace": True}, "a\u00a0ba\vba\u2003ba\u0085b"),
        ("\u00a0a \t\n\f\rb\u00a0", {"ignore_whitespace": True}, "\u00a0ab\u00a0"),
        (" a \r\n\tb\t\nc ", {"trim_lines": True}, "a\nb\nc"),
        ("a \vb\u2028 c\u0085d", {"trim_lines": True}, "a \vb\u2028 c\u0085d"),
        ("a\r\nb", {}, "a\r\nb"),
        (" a \n b ", {"trim_lines": True, "ignore_whitespace": True}, "ab"),
        ("a  b", {}, "a  b"),
        ("", {}, ""),
    ],
)
def test_canonical_text_is_mindtrials_to_the_character(text: str, settings: dict[str, bool], form: str) -> None:
    """Golden values of the Go standard library, where Python's own functions differ."""
    assert canonical_text(text, **settings) == form


def test_every_character_is_lowered_by_itself_to_one() -> None:
    """Unicode's simple mapping: no character becomes two, and none depends on its neighbours."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(canonical_text(f"x{everything}x")) == len(everything) + 2
    for char in everything:
        if char.lower() != char:
            low = "i" if char == "İ" else char.lower()
            assert canonical_text(f"Α{char}") == f"α{low}", hex(ord(char))


def test_white_space_is_what_unicode_calls_so() -> None:
    """Python's strip takes four control characters besides, and nothing less."""
    python = {chr(n) for n in range(sys.maxunicode + 1) if chr(n).isspace()}
    assert set(WHITE_SPACE) == python - set("\x1c\x1d\x1e\x1f")


_CHARS = st.sampled_from(" \t\n\r\v\f\u00a0\u0085\u2028\u200b\x1cAaİıΣσςẞßÅ1.")
_FLAGS = st.fixed_dictionaries(dict.fromkeys(("case_sensitive", "ignore_whitespace", "trim_lines"), st.booleans()))


@given(st.text(max_size=12) | st.text(_CHARS, max_size=12), _FLAGS)
@example("\r\r\n\n", {"case_sensitive": False, "ignore_whitespace": False, "trim_lines": True})
def test_canonical_text_of_a_canonical_text_is_itself(text: str, flags: dict[str, bool]) -> None:
    """Doing it twice changes nothing more, whatever the settings."""
    once = canonical_text(text, **flags)
    assert canonical_text(once, **flags) == once


# -------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("reference", "answer", "same"),
    [
        (1, "1", True),
        (1, "1.0", True),
        (100, "1e2", True),
        (17, "17", True),
        (17, "17.0001", False),
        (0.1, "0.1", True),
        (0.3, "0.30000000000000004", False),
        (True, "true", True),
        (True, "1", False),
        (1, "true", False),
        (0, "false", False),
        (0, "null", False),
        (1, '"1"', False),
        ({"a": [1, {"b": " X "}]}, '{"a": [1.0, {"b": "x"}]}', True),
        ({"Key": "v"}, '{"key": "v"}', False),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
        ([1, 2], "[2, 1]", False),
        ([1, 2], "[1, 2, 3]", False),
        ({"a": True}, '{"a": 1}', False),
        ({"a": []}, '{"a": {}}', False),
        (9007199254740991, "9007199254740991", True),
        (9007199254740991, "9007199254740992", False),
        ({"a": 1}, "no JSON", False),
    ],
)
async def test_value_is_compared_by_kind_and_to_the_last_digit(reference: Any, answer: str, same: bool) -> None:
    """A reference that is no text makes the answer a value: numbers by value, and no kind for another."""
    score = await value(answer, reference)
    assert (score.verdict, score.metrics) == (("passed", {"right": 1}) if same else ("failed", {"right": 0}))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (2**63 + 1, Decimal(2**63 + 1), True),
        (2**64 - 1, float(2**64 - 1), False),
        (9007199254740993, 9007199254740992.0, False),
        (Decimal("1.10"), 1.1, True),
        (-0.0, 0, True),
        (10**400, 10**400 + 1, False),
        (["number", 1], 1, False),
        ([True], True, False),
    ],
)
def test_canonical_value_keeps_integers_of_any_size(one: Any, other: Any, same: bool) -> None:
    """An unsigned 64-bit integer equals itself and no neighbour; Go's int64 and uint64 of one number are one here."""
    assert (canonical_value(one, str) == canonical_value(other, str)) is same


async def test_text_answer_is_a_text_whatever_it_looks_like() -> None:
    """Where the reference is a text and there is no schema, JSON is not read: "1.0" is not "1"."""
    assert (await value("1.0", "1")).verdict == "failed"
    assert (await value('{"a": 1}', '{"a": 1}')).verdict == "passed"
    assert (await value('"Paris"', "Paris")).verdict == "failed"
    assert (await value("PARIS ", "London", "paris")).verdict == "passed"


async def test_case_with_a_schema_is_answered_by_a_value_also_where_it_is_a_text() -> None:
    """The answer of an answer_schema is JSON: a text stands in quotes, and is compared as a text in canonical form."""
    assert (await value('" PARIS"', "paris", schema={"type": "string"})).verdict == "passed"
    assert (await value("paris", "paris", schema={"type": "string"})).verdict == "failed"


async def test_value_in_prose_is_found_only_where_the_plan_says_so() -> None:
    """parse: strict takes the whole answer; embedded finds the one value in it."""
    answer = 'It is\n```json\n{"a": 1}\n```'
    strict = await value(answer, {"a": 1})
    assert strict.verdict == "failed" and "parse: fenced would find a value" in strict.reason
    assert (await value(answer, {"a": 1}, parse="fenced")).verdict == "passed"


async def test_any_of_several_references_will_do_texts_and_values_alike() -> None:
    """Each is compared in its own way."""
    for answer in ("unknown", "[1]"):
        assert (await value(answer, "Unknown", [1])).verdict == "passed"
    assert (await value("[2]", "Unknown", [1])).reason.startswith('expected "Unknown" or one of 1 more, found "[2]"')


async def test_value_without_a_reference_is_no_score() -> None:
    """There is nothing to compare with: the cell is unknown."""
    with pytest.raises(ScorerError, match="no reference"):
        await value("x")


@pytest.mark.parametrize("settings", [{"case_sensitive": "no"}, {"trim": True}, {"parse": "loose"}])
def test_settings_that_value_does_not_take_are_refused(settings: dict[str, Any]) -> None:
    """Also of a plan that somebody else wrote."""
    with pytest.raises(SpecError):
        make_value(Scorer(name="s", type="value", metric="right", settings=settings), {})


# --------------------------------------------------------------------------------------------------------------- label


@pytest.mark.parametrize(
    ("answer", "reference", "settings", "same"),
    [
        ("billing", "billing", {}, True),
        (" billing\n", "\tbilling ", {}, True),
        ("Billing", "billing", {}, False),
        ("billing.", "billing", {}, False),
        ("billing ", "billing", {"trim": False}, False),
        ("42", 42, {}, True),
        ("true", True, {}, True),
        ('{"a":1}', {"a": 1}, {}, True),
    ],
)
async def test_label_is_trimmed_and_else_exact(
    answer: str, reference: Any, settings: dict[str, Any], same: bool
) -> None:
    """1 or 0, and nothing between."""
    score = await label(answer, reference, **settings)
    assert (score.metrics, score.verdict) == (({"right": 1}, "passed") if same else ({"right": 0}, "failed"))


async def test_case_with_no_label_or_two_is_no_score() -> None:
    """A class is one; an accepted answer is one of several."""
    for references in ((), ("a", "b")):
        with pytest.raises(ScorerError, match="a label is exactly one"):
            await label("a", *references)


@pytest.mark.parametrize("settings", [{"labels": "tag"}, {"trim": "yes"}, {"fold": True}])
def test_settings_that_label_does_not_take_are_refused(settings: dict[str, Any]) -> None:
    """Also of a plan that somebody else wrote."""
    with pytest.raises(SpecError):
        make_label(Scorer(name="s", type="label", metric="right", settings=settings), {})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from("aA b"),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from("ab"), x, max_size=2),
        max_leaves=6,
    )
)
async def test_every_value_is_its_own_json(reference: Any) -> None:
    """Written as JSON, in whatever spacing, a reference that is no text answers itself."""
    if not isinstance(reference, str):
        assert (await value(json.dumps(reference, indent=1), reference)).verdict == "passed"
