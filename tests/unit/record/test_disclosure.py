# SPDX-License-Identifier: Apache-2.0
"""Commitments: what changes them, what does not, and salts that come from the secret."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from trialplate.errors import FormatError
from trialplate.record.canonical import encode
from trialplate.record.disclosure import commit, commit_derived, derive_salt, secret_commitment
from trialplate.record.frozen import Json

SECRET = bytes(range(32))


def nested(levels: int) -> Json:
    """A list in a list in a list, so many in all."""
    value: Json = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_commit_is_the_same_for_one_value_and_another_for_any_change() -> None:
    """Key order is no part of a value; salt, value and type are."""
    wanted = commit("salt", {"a": 1, "b": "x"})

    assert wanted == commit("salt", {"b": "x", "a": 1.0})
    assert len(wanted) == 43
    others = [commit("tlas", {"a": 1, "b": "x"}), commit("salt", {"a": "1", "b": "x"}), commit("salt", {"a": 1})]
    assert len({wanted, *others}) == 4


def test_commit_of_what_is_no_json_is_refused() -> None:
    """Only canonical values can be committed to."""
    with pytest.raises(FormatError):
        commit("salt", float("nan"))


def test_derive_salt_is_hmac_of_label_and_value_and_differs_by_each() -> None:
    """Recomputed here by the standard library; 16 bytes as 22 characters."""
    wanted = hmac.new(SECRET, b'case\x00{"id":"a"}', hashlib.sha256).digest()[:16]

    found = derive_salt(SECRET, "case", b'{"id":"a"}')

    assert base64.urlsafe_b64encode(wanted).decode().rstrip("=") == found
    assert len(found) == 22
    others = [derive_salt(SECRET, "text", b'{"id":"a"}'), derive_salt(SECRET, "case", b'{"id":"b"}')]
    assert len({found, *others, derive_salt(bytes(32), "case", b'{"id":"a"}')}) == 4


@pytest.mark.parametrize("value", ["a", None, 0.5, {"id": "a", "tags": ["ü", "\u2028"]}, nested(30), nested(63)])
def test_commit_derived_commits_under_the_derived_salt(value: Json) -> None:
    """However the bytes come about, they are those of the pair."""
    salt = derive_salt(SECRET, "case", encode(value))
    assert commit_derived(SECRET, "case", value) == (salt, commit(salt, value))


def test_commit_derived_of_what_would_be_too_deep_as_a_pair_is_refused() -> None:
    """A value may have 64 levels, and what opens it one more than it."""
    encode(nested(64))
    with pytest.raises(FormatError, match="64 levels"):
        commit_derived(SECRET, "case", nested(64))


def test_secret_commitment_is_a_digest_that_is_not_the_plain_one() -> None:
    """The commitment cannot be taken for a digest of the same bytes made for another purpose."""
    plain = "sha256:" + hashlib.sha256(SECRET).hexdigest()
    wanted = "sha256:" + hashlib.sha256(b"trialplate/secret/v1\x00" + SECRET).hexdigest()

    assert wanted == secret_commitment(SECRET) != plain
