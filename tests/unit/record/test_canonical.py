# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON: what the strict reader refuses and how it says so, and what the writer refuses."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest

from trialplate.errors import FormatError
from trialplate.record import canonical

DEEP = 64


class Colour(StrEnum):
    """A text that is also a member of an enumeration."""

    RED = "red"


REFUSED = [
    (b"\xef\xbb\xbf{}", "STRICT-ENCODING", "byte order mark"),
    (b'{"a":"\xff"}', "STRICT-ENCODING", "byte 0xff at offset 6"),
    ("{}".encode("utf-16"), "STRICT-ENCODING", "not UTF-8"),
    (b'{"a":"\xed\xa0\x80"}', "STRICT-ENCODING", "not UTF-8"),
    (b'{"a":1,"a":1}', "STRICT-DUPKEY", "the key 'a' stands 2 times in the object at $"),
    (b'{"cases":[0,{"n":1,"n":2}]}', "STRICT-DUPKEY", "at $.cases[1]"),
    (b'{"a":1,"\\u0061":2}', "STRICT-DUPKEY", "'a'"),
    (b'{"a":NaN}', "STRICT-NUMBER", "NaN is no JSON number at $.a"),
    (b"[Infinity]", "STRICT-NUMBER", "at $[0]"),
    (b"[-Infinity]", "STRICT-NUMBER", "at $[0]"),
    (b'{"cases":[1,2,3,{"n":1e400}]}', "STRICT-NUMBER", "1e400 is too large for a float at $.cases[3].n"),
    (b'{"x":9007199254740992}', "STRICT-NUMBER", "outside +/-(2^53-1); write it as a string at $.x"),
    (b'{"x":-9007199254740992}', "STRICT-NUMBER", "write it as a string"),
    (b'{"x":9007199254740992.0}', "STRICT-NUMBER", "write it as a string"),
    (b'{"x":1e20}', "STRICT-NUMBER", "write it as a string"),
    (b'{"x":' + b"1" * 5000 + b"}", "STRICT-NUMBER", "(5000 characters) is outside"),
    (b'{"x":"\\ud835"}', "STRICT-SURROGATE", "at $.x"),
    (b'{"\\udc00":1}', "STRICT-SURROGATE", "key"),
    (b"[" * (DEEP + 1) + b"]" * (DEEP + 1), "STRICT-DEPTH", "more than 64 levels"),
    (b"[" * 100_000 + b"]" * 100_000, "STRICT-DEPTH", "more than 64 levels"),
    (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "STRICT-DEPTH", "more than 64 levels"),
    (b"", "STRICT-SYNTAX", "not JSON"),
    (b"{'a':1}", "STRICT-SYNTAX", "line 1 column 2"),
    (b'{"a":1}{"b":2}', "STRICT-SYNTAX", "Extra data at line 1 column 8"),
    (b'{"a":1,}', "STRICT-SYNTAX", "not JSON"),
    (b'{"a":"\n"}', "STRICT-SYNTAX", "control character"),
    (b"[01]", "STRICT-SYNTAX", "not JSON"),
    (b"[+1]", "STRICT-SYNTAX", "not JSON"),
]


@pytest.mark.parametrize("read", [canonical.parse, canonical.decode])
@pytest.mark.parametrize(("raw", "code", "text"), REFUSED)
def test_parse_of_what_is_no_strict_json_is_refused_with_code_place_and_reason(
    read: Any, raw: bytes, code: str, text: str
) -> None:
    """Both readers name the kind of trouble, the file they were told, and the key where there is one."""
    with pytest.raises(FormatError) as caught:
        read(raw, "cases.json")

    assert code == caught.value.code
    assert text in caught.value.message
    assert caught.value.where == "cases.json"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b' {"b": [1, 2.50, -0, -0.0, 1E2],\r\n "a": "\\u00e9\\/"}\n', {"b": [1, 2.5, 0, 0.0, 100.0], "a": "é/"}),
        (b"9007199254740991", 9007199254740991),
        (b"-9007199254740991", -9007199254740991),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b"[" * DEEP + b"]" * DEEP, json.loads("[" * DEEP + "]" * DEEP)),
    ],
)
def test_parse_of_free_form_json_gives_its_value(raw: bytes, value: object) -> None:
    """White space, order, escapes and number forms are the author's."""
    assert value == canonical.parse(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b'{"a":1.0}',
        b'{"a":1e2}',
        b'{"a":1e-05}',
        b'{"a":-0}',
        b'{"a":0.10}',
        b'{"a":"\\u0041"}',
        b'{"a":"\\/"}',
        b'{"a":"\\u001F"}',
        b'{"a":"\\u00e9"}',
        '{"\ue000":1,"\U0001f600":2}'.encode(),
    ],
)
def test_decode_of_another_form_of_the_same_value_is_refused(raw: bytes) -> None:
    """Only the RFC 8785 bytes of a value are a record of it."""
    canonical.parse(raw)

    with pytest.raises(FormatError) as caught:
        canonical.decode(raw, "record.jsonl:7")

    assert caught.value.code == "STRICT-NONCANONICAL"
    assert caught.value.where == "record.jsonl:7"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a":0.00001}', {"a": 0.00001}),
        (b'{"a":1e-7}', {"a": 1e-7}),
        (b'{"a":123456789012345.6}', {"a": 123456789012345.6}),
        ('{"\U0001f600":2,"\ue000":1}'.encode(), {"\U0001f600": 2, "\ue000": 1}),
        ('{"a":"\x7f\u2028é"}'.encode(), {"a": "\x7f\u2028é"}),
        (b'{"a":1000000000000000}', {"a": 10**15}),
        (("[" * 60 + '"[[[[[[[[["' + "]" * 60).encode(), json.loads("[" * 60 + '"[[[[[[[[["' + "]" * 60)),
    ],
)
def test_decode_of_canonical_bytes_that_only_the_strict_path_takes_gives_the_value(raw: bytes, value: object) -> None:
    """What the fast path cannot vouch for is read all the same."""
    assert value == canonical.decode(raw)
    assert raw == canonical.encode(value)


@pytest.mark.parametrize("read", [canonical.parse, canonical.decode])
def test_parse_of_more_bytes_than_allowed_is_refused_before_reading(read: Any) -> None:
    """The limit is on bytes and holds for anything, even for what is no JSON."""
    assert read(b"{}", limit=2) == {}

    with pytest.raises(FormatError) as caught:
        read(b"{}}", limit=2)

    assert caught.value.code == "STRICT-LIMIT"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [1, 2**53]}, "$.a[1]"),
        ({"a": float("nan")}, "$.a"),
        ([float("inf")], "$[0]"),
        ([1e20], "$[0]"),
        ([2.0**53], "$[0]"),
        ({"a": "\ud800"}, "$.a"),
        ({"\ud800": 1}, "$"),
        ({1: 2}, "$"),
        ({"a": {None: 2}}, "$.a"),
        ({True: 2}, "$"),
        ({"a b": b"bytes"}, '$["a b"]'),
        ({"a": {1, 2}}, "$.a"),
    ],
)
def test_encode_of_what_has_no_canonical_json_is_refused_with_its_place(value: object, place: str) -> None:
    """Every failure of the writer is one error class with one code."""
    with pytest.raises(FormatError) as caught:
        canonical.encode(value)

    assert caught.value.code == "CANON"
    assert caught.value.message.endswith(f"at {place}")


def test_encode_of_deep_and_of_circular_values_is_refused_and_64_levels_are_not() -> None:
    """Depth is bounded, whether or not it ends."""
    ring: list[Any] = []
    ring.append(ring)
    deep: Any = 1
    for _ in range(DEEP):
        deep = {"a": deep}

    assert canonical.encode(deep) == b'{"a":' * DEEP + b"1" + b"}" * DEEP
    for value in (ring, [deep], json.loads("[" * 900 + "]" * 900)):
        with pytest.raises(FormatError) as caught:
            canonical.encode(value)
        assert caught.value.code == "CANON"
        assert "64 levels" in caught.value.message


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (0.0, b"0"),
        (-0.0, b"0"),
        (1.0, b"1"),
        (-3.0, b"-3"),
        (0.1, b"0.1"),
        (1e-4, b"0.0001"),
        (0.00001, b"0.00001"),
        (True, b"true"),
        ((1, None), b"[1,null]"),
        ({"b": Colour.RED, "a": "\x1f\x7f"}, b'{"a":"\\u001f\x7f","b":"red"}'),
    ],
)
def test_encode_of_each_kind_of_value_gives_its_rfc_8785_form(value: object, raw: bytes) -> None:
    """Numbers as ECMAScript writes them, strings with the shortest escapes."""
    assert raw == canonical.encode(value)


def test_encode_leaves_the_value_as_it_was() -> None:
    """Writing an integral float as an integer happens in a copy."""
    value = {"metrics": {"exact": 1.0}}

    assert canonical.encode(value) == b'{"metrics":{"exact":1}}'
    assert repr(value["metrics"]["exact"]) == "1.0"


def test_digest_of_a_value_is_that_of_its_canonical_bytes() -> None:
    """SHA-256 with its name in front, as sha256sum prints it."""
    empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

    assert empty == canonical.digest(b"{}") == canonical.digest_value({})


@pytest.mark.parametrize("text", ["", "plain", "é\u2028", "\U0001f600", '"quoted"', "\x00"])
def test_text_out_of_valid_unicode_is_the_text(text: str) -> None:
    """Nothing is escaped that need not be."""
    assert text == canonical.text_out(text)
    assert text == canonical.text_in(text)


@pytest.mark.parametrize("text", ["half \ud835 pair", "\udfff", "é\ud83d", "\ude00\ud83d"])
def test_text_out_of_a_lone_surrogate_is_an_escape_that_comes_back(text: str) -> None:
    """A broken answer of a model keeps every code unit, and the escape itself is canonical JSON."""
    stored = canonical.text_out(text)

    assert {"ascii_json": json.dumps(text)} == stored
    assert text == canonical.text_in(canonical.decode(canonical.encode(stored)))


def test_text_out_of_a_pair_of_surrogates_is_the_character_they_mean() -> None:
    """Two halves that a stream delivered apart are one character again."""
    assert canonical.text_out("\ud83d" + "\ude00") == "\U0001f600"


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        {},
        {"ascii_json": 1},
        {"ascii_json": "x"},
        {"ascii_json": '"plain"'},
        {"ascii_json": '"\\uD835"'},
        {"ascii_json": ' "\\ud835"'},
        {"ascii_json": '"\\ud835"', "more": 1},
        {"ascii_json": "[" * 100_000},
    ],
)
def test_text_in_of_what_text_out_never_returns_is_refused(value: object) -> None:
    """One text has one stored form."""
    with pytest.raises(FormatError) as caught:
        canonical.text_in(value)

    assert caught.value.code == "TEXT"
