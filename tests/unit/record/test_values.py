# SPDX-License-Identifier: Apache-2.0
"""The values themselves: frozen, compared by content, and of types that all their readers know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from small_runs import configuration, ended
from value_documents import GOOD, VALUE_CLASSES

from trialplate.record.entries import DECIDED, LEDGER_TYPES, RECORD_TYPES, Cause, Counts, Outcome, TrialEnd
from trialplate.record.frozen import Pattern, fields
from trialplate.record.values import EntryRef
from trialplate.rules.cells import OWN_CAUSES

ROOT = Path(__file__).parents[3]
DIGEST = "sha256:" + "0" * 64


def test_value_is_frozen() -> None:
    """Nothing changes after it was decoded."""
    ref = EntryRef(seq=1, digest=DIGEST)
    with pytest.raises(AttributeError, match="frozen"):
        ref.seq = 2  # type: ignore[misc]


def test_value_equality_is_of_class_and_content() -> None:
    """Two values are one if their class and every field agree, and then they hash alike."""
    ref = EntryRef(seq=1, digest=DIGEST)
    assert ref == EntryRef(seq=1, digest=DIGEST)
    assert hash(ref) == hash(EntryRef(seq=1, digest=DIGEST))
    assert ref != EntryRef(seq=2, digest=DIGEST)
    assert ref != ("seq", 1)
    assert ref.replace(seq=2) == EntryRef(seq=2, digest=DIGEST)


@pytest.mark.parametrize(
    ("placed", "given", "said"),
    [
        ((), {"seq": 1}, "missing or unknown digest"),
        ((), {"seq": 1, "digest": DIGEST, "size": 2}, "missing or unknown size"),
        ((), {"seq": 1, "digset": DIGEST}, "missing or unknown digest, digset"),
        ((1, DIGEST, 2), {}, "more values"),
        ((1, DIGEST), {"seq": 2}, "given twice"),
    ],
)
def test_value_takes_each_of_its_fields_once(placed: tuple[Any, ...], given: dict[str, Any], said: str) -> None:
    """As a function's arguments: none missing, none unknown, none twice."""
    with pytest.raises(TypeError, match=said):
        EntryRef(*placed, **given)


def test_value_class_inherits_no_fields() -> None:
    """They would be left out of what is decoded: refused when the class is made."""
    with pytest.raises(TypeError, match="inherits none"):
        type("Longer", (EntryRef,), {"__annotations__": {"more": int}})


def test_value_shows_its_fields() -> None:
    """A failing test shows what a value holds."""
    assert repr(EntryRef(seq=1, digest=DIGEST)) == f"EntryRef(seq=1, digest='{DIGEST}')"


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in VALUE_CLASSES])
def test_value_class_has_a_docstring_and_fields(cls: type) -> None:
    """The classes are the definition of the formats: each says what it is."""
    assert cls.__doc__
    assert fields(cls)


def test_counts_have_one_field_per_outcome() -> None:
    """Every planned trial has exactly one outcome, or is absent."""
    names = {item.name for item in fields(Counts)}
    assert set(get_args(Outcome)) <= names
    assert names - set(get_args(Outcome)) == {"planned", "absent", "attempts", "replayed", "reasked"}


def test_decided_outcomes_are_those_that_are_known() -> None:
    """Errors and skips leave a cell unknown, and nothing else does."""
    assert set(get_args(Outcome)) - DECIDED == {"error", "skipped"}


def test_own_causes_are_causes() -> None:
    """The rules and the format speak of the same causes."""
    assert set(get_args(Cause)) > OWN_CAUSES


def test_entry_types_are_the_ones_of_the_schemas() -> None:
    """The generated schemas know each entry type, and no other."""
    for name, types in (("ledger-entry", LEDGER_TYPES), ("record-entry", RECORD_TYPES)):
        schema = json.loads((ROOT / "schemas" / f"{name}.v1.schema.json").read_text(encoding="utf-8"))
        assert {form["properties"]["type"]["const"] for form in schema["oneOf"]} == set(types)


def test_pattern_matches_the_whole_text_only() -> None:
    """Neither a prefix nor a text with a line feed behind it is a match."""
    check = Pattern("[a-z]+").check()
    assert check("abc")
    for text in ("abc\n", "abc1", "1abc", ""):
        assert not check(text)
    assert set(GOOD)


def test_values_with_maps_have_no_hash_and_still_compare() -> None:
    """What holds a map is compared by content and never used as a key."""
    assert configuration(settings={"a": 1}) == configuration(settings={"a": 1})
    with pytest.raises(TypeError):
        hash(configuration(settings={"a": 1}))
    assert isinstance(ended(("m", "q1", 1)), TrialEnd)
