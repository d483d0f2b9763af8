# SPDX-License-Identifier: Apache-2.0
"""The fast and the strict path of canonical JSON agree with each other and with rfc8785, on sound and damaged bytes."""

from __future__ import annotations

import json
import math
from typing import Any

import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from trialplate.errors import FormatError
from trialplate.record import canonical

SNIPPETS = [b"1.0", b"1e5", b"1E+2", b"-0", b"-0.0", b"0.00001", b"1e-7", b"1e-05", b"1e+16", b"1e21", b"0.1", b"0.10"]
SNIPPETS += [b"9007199254740992", b"9007199254740991", b"999999999999999", b"9007199254740992.5", b"NaN", b"-Infinity"]
SNIPPETS += [b"\\u0041", b"\\ud800", b"\\ud83d\\ude00", b"\\/", b"\\u001f", b"\\u001F", b"\x1f", b"\x7f", b"\xff"]
SNIPPETS += [
    b" ",
    b"\n",
    b"\xef\xbb\xbf",
    b'"a":1,',
    b"{",
    b"[",
    b'"',
    b",",
    "é".encode(),
    "\ue000".encode(),
    b"[" * 70,
]
SNIPPETS += ["\U0001f600".encode(), b"null", b"true", b"01", b"+1", b"1_0"]

texts = st.text(max_size=6) | st.sampled_from(["a", "b", "é", "\ue000", "\U0001f600", "\x7f", "\u2028", "\ud800"])
integers = st.integers() | st.sampled_from([2**53 - 1, 2**53, -(2**53), 10**15 - 1, 10**15])
metrics = st.decimals(min_value=0, max_value=1, places=6).map(float)
scalars = st.none() | st.booleans() | integers | st.floats() | metrics | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


def is_ours(value: Any) -> bool:
    """Whether RFC 8785 and our narrower number range admit the value; written apart from the code under test."""
    if isinstance(value, dict):
        return all(is_ours(key) and is_ours(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_ours, value))
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return value is None or (math.isfinite(value) and -(2**53) < value < 2**53)


def by_the_strict_path(raw: bytes) -> str:
    """What a reader without a fast path makes of the bytes: the value's text form, or "refused"."""
    try:
        value = canonical.parse(raw)
    except FormatError:
        return "refused"
    return repr(value) if rfc8785.dumps(value) == raw else "refused"


def by_decode(raw: bytes) -> str:
    try:
        return repr(canonical.decode(raw))
    except FormatError:
        return "refused"


@given(values)
@example({"a": 1e-4, "b": 9.999e-5, "c": 123456789.125, "d": 4503599627370495.5})
@example({"\ue000": 1, "\U0001f600": 2})
def test_encode_of_any_value_equals_rfc8785_or_is_refused_where_numbers_or_texts_are_unsafe(value: Any) -> None:
    """The writer's two paths are one function: rfc8785 on exactly the values that we admit."""
    try:
        raw = canonical.encode(value)
    except FormatError as error:
        assert error.code == "CANON"
        assert not is_ours(value)
    else:
        assert is_ours(value)
        assert rfc8785.dumps(value) == raw


@given(values.filter(is_ours))
def test_decode_of_encoded_bytes_gives_the_value_back(value: Any) -> None:
    """Reading back loses nothing but the difference between 1.0 and 1."""
    raw = canonical.encode(value)

    assert value == canonical.decode(raw) == canonical.parse(raw)
    assert by_the_strict_path(raw) == by_decode(raw)


@given(values, st.data())
def test_decode_of_damaged_bytes_equals_the_strict_path(value: Any, data: st.DataObject) -> None:
    """Bytes replaced, cut, doubled or put in: both paths refuse, or both accept with the same value."""
    try:
        raw = canonical.encode(value)
    except FormatError:
        raw = json.dumps(value).encode()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw)))
        width = data.draw(st.integers(0, 4))
        snippet = data.draw(st.sampled_from([b"", *SNIPPETS]) | st.binary(max_size=2))
        raw = raw[:place] + snippet + raw[place + width :]

    assert by_the_strict_path(raw) == by_decode(raw)


@given(
    st.lists(st.sampled_from([b"1", b"0", b".", b"e", b"E", b"-", b"+", b"9"]), min_size=1, max_size=24).map(b"".join)
)
def test_decode_of_number_like_bytes_equals_the_strict_path(number: bytes) -> None:
    """Only a number's one canonical spelling is accepted."""
    assert by_the_strict_path(b"[" + number + b"]") == by_decode(b"[" + number + b"]")


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C", "Cs"])))
def test_text_out_of_any_text_is_canonical_and_comes_back(text: str) -> None:
    """Whatever a far end sends, it can be stored, and comes back with paired surrogates joined."""
    stored = canonical.text_out(text)

    back = canonical.text_in(canonical.decode(canonical.encode(stored)))

    assert text.encode("utf-16-le", "surrogatepass") == back.encode("utf-16-le", "surrogatepass")
