# SPDX-License-Identifier: Apache-2.0
"""Author files in JSON: the same values as any JSON reader, with places, and stricter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.spec import yaml_strict
from trialplate.spec.document import plain


def load(text: str | bytes) -> Any:
    """Return the document of a text."""
    return yaml_strict.load(text.encode() if isinstance(text, str) else text, "plan.json")


_TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_TREES, st.sampled_from([None, "\t", 2]), st.booleans())
def test_any_json_text_reads_as_the_standard_library_reads_it(tree: Any, indent: Any, ascii_only: bool) -> None:
    """Values, escapes and white space are read as by `json`."""
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    assert plain(load(text).value) == json.loads(text)


@given(st.text('{}[]:,"\\u0-9.eE+tfn \n', max_size=30))
def test_any_text_is_accepted_only_if_the_standard_library_accepts_it(text: str) -> None:
    """The reader takes no dialect: what `json` refuses is refused here."""
    try:
        value = load(text).value
    except SpecError:
        return
    assert plain(value) == json.loads(text)


def test_places_name_line_and_column() -> None:
    """Keys and values are placed."""
    document = load('{\n  "a": [1,\n    {"b": 2}]\n}')
    assert document.where(("a", 1, "b")) == "plan.json:3:11"
    assert document.where(("a", 1, "b"), key=True) == "plan.json:3:6"


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ('{"a": 1,\n "a": 2}', "plan.json:2:2", "duplicate key"),
        ('{"a": NaN}', "plan.json:1:7", "NaN is no JSON value"),
        ('{"a": -Infinity}', "plan.json:1:7", "-Infinity is no JSON value"),
        ('{"a": [1, 2,]}', "plan.json:1:13", "a value is missing"),
        ('{"a": 1,}', "plan.json:1:9", "a key in double quotes"),
        ('{"a" 1}', "plan.json:1:6", "a colon is missing"),
        ('{"a": 1 "b": 2}', "plan.json:1:9", "a comma or } is missing"),
        ('{"a": 01}', "plan.json:1:8", "a comma or } is missing"),
        ('{"a": 1} {}', "plan.json:1:10", "after the end"),
        ('{"a": "x', "plan.json:1:7", "no valid JSON"),
        ('{"a": "x\ny"}', "plan.json:1:9", "no valid JSON"),
        ('{"a": "\\ud835"}', "plan.json:1:7", "surrogate"),
        ("", "plan.json:1:1", "a value is missing"),
        ("[" * 65 + "]" * 65, "plan.json:1:65", "64 levels"),
    ],
)
def test_document_with_a_defect_is_refused_at_its_place(text: str, where: str, words: str) -> None:
    """Each defect is one error with file, line and column."""
    with pytest.raises(SpecError) as caught:
        load(text)
    assert (caught.value.where, words in caught.value.message) == (where, True), caught.value
    assert caught.value.hint


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("numbers_1e400.json", "1e400 cannot be held"),
        ("numbers_bigint.json", "9007199254740993 is outside +/-(2^53-1)"),
        ("numbers_5000digits.json", "a number of 5000 characters"),
    ],
)
def test_case_l13_numbers_that_cannot_be_held_are_refused(load_folder: Path, file: str, words: str) -> None:
    """L13: overflow, unsafe integers and thousands of digits are clean errors with a place and an advice."""
    with pytest.raises(SpecError) as caught:
        load((load_folder / file).read_bytes())
    assert words in caught.value.message
    assert caught.value.where.startswith("plan.json:1:")
    assert "string" in caught.value.hint


def test_case_l13_negative_zero_and_exponents_are_numbers(load_folder: Path) -> None:
    """L13: -0, -0.0 and 1E2 are read."""
    cases = plain(load((load_folder / "numbers_ok.json").read_bytes()).value)["cases"]
    assert [case["expected"] for case in cases] == [0, 0.0, 100.0]
