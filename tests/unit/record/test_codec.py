# SPDX-License-Identifier: Apache-2.0
"""The strict decoder: what it refuses, and with which words."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from value_documents import BAD, GOOD, VALUE_CLASSES, is_required

from trialplate.errors import FormatError
from trialplate.record import codec
from trialplate.record.entries import Entry, Money, TrialEnd, TrialStart
from trialplate.record.frozen import AtLeast, Pattern, fields
from trialplate.record.values import Configuration, Plan, Rule, Selector

START: dict[str, Any] = {"trial": ["m", "q1", 1], "attempt": 1}
ENTRY: dict[str, Any] = {"v": 1, "seq": 0, "time": "2026-11-30T10:00:00.000Z", "type": "t", "body": {}}
END: dict[str, Any] = {**START, "outcome": "passed"}


def refused(cls: type, document: Any, code: str = "SCHEMA") -> str:
    """Return the words with which a document is refused."""
    with pytest.raises(FormatError) as caught:
        codec.decode(cls, document, "record.jsonl:7")
    assert caught.value.code == code
    assert caught.value.where == "record.jsonl:7"
    assert caught.value.hint
    return caught.value.message


def test_decode_unknown_field_is_refused_by_name() -> None:
    """A field that this version does not know is never skipped."""
    assert "unknown field 'extra'" in refused(TrialStart, {**START, "extra": 1})
    assert "usage: unknown field 'total'" in refused(TrialEnd, {**END, "usage": {"total": 3}})


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in VALUE_CLASSES])
def test_decode_without_required_fields_names_them(cls: type) -> None:
    """Every required field that is missing is named."""
    needed = sorted(item.name for item in fields(cls) if is_required(item))
    if needed:
        assert refused(cls, {}) == f"missing field {', '.join(needed)}"
    else:
        codec.decode(cls, {})


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in VALUE_CLASSES])
def test_decode_null_is_refused_in_every_field_that_is_no_free_json(cls: type) -> None:
    """An absent field is absent; null says nothing, so nothing may say null."""
    hints = get_type_hints(cls, include_extras=True)
    for item in fields(cls):
        if hints[item.name] is not Any:
            told = refused(cls, {item.name: None}, "VERSION" if item.name in ("format", "v") else "SCHEMA")
            assert told.startswith(f"{item.name}: expected") or "form" in told


@pytest.mark.parametrize("document", [None, True, 1, 0.5, "text", [], [["v", 1]]])
def test_decode_anything_but_an_object_is_refused(document: Any) -> None:
    """A value is an object, and nothing that resembles one."""
    assert "expected an object" in refused(Entry, document)


@pytest.mark.parametrize("wrong", [True, False, 1.0, 0.0, "1", None, [1], -1])
def test_decode_count_takes_integers_only(wrong: Any) -> None:
    """True is not 1, 1.0 is not 1, and a count is never negative."""
    assert "seq: expected an integer of at least 0" in refused(Entry, {**ENTRY, "seq": wrong})


def test_decode_positive_refuses_zero() -> None:
    """The first attempt is number 1."""
    assert "at least 1, found 0" in refused(TrialStart, {**START, "attempt": 0})


@pytest.mark.parametrize("wrong", [True, "0.5", None, [0.5]])
def test_decode_metric_takes_numbers_only(wrong: Any) -> None:
    """A metric is a number; true is no 1."""
    assert "metrics: expected a number" in refused(TrialEnd, {**END, "metrics": {"correct": wrong}})


@pytest.mark.parametrize("wrong", [0, 1, "true", None])
def test_decode_flag_takes_booleans_only(wrong: Any) -> None:
    """1 is not true."""
    assert "retry: expected true or false" in refused(TrialEnd, {**END, "retry": wrong})


@pytest.mark.parametrize(
    ("field", "wrong"), [("outcome", "Passed"), ("outcome", 1), ("ended_by", "far end"), ("verdict", "limit")]
)
def test_decode_wrong_literal_lists_the_right_ones(field: str, wrong: Any) -> None:
    """An enumeration is told in full."""
    assert f"{field}: expected one of " in refused(TrialEnd, {**END, field: wrong})


@pytest.mark.parametrize("wrong", [2, True, 1.0, "1", [1], {}])
def test_decode_version_is_the_integer_one(wrong: Any) -> None:
    """Another version, or something that equals 1 without being it, is refused."""
    assert "v: expected one of 1" in refused(Entry, {**ENTRY, "v": wrong}, "VERSION")


def test_decode_list_lengths_and_kinds_are_checked() -> None:
    """A trial is exactly three things in this order."""
    for trial in (["m", "q1"], ["m", "q1", 1, 1], ["m", 1, "q1"], "m/q1/1", {"0": "m"}, [["m"], "q1", 1]):
        refused(TrialStart, {**START, "trial": trial})
    assert "tag: expected a list" in refused(Selector, {"tag": "hard"})
    assert "tag: expected a string" in refused(Selector, {"tag": ["hard", 1]})


def test_decode_map_values_are_checked() -> None:
    """What stands in an object with free keys is checked all the same."""
    assert "unknown: expected one of" in refused(TrialEnd, {**END, "unknown": {"correct": "because"}})
    assert "unknown: expected an object" in refused(TrialEnd, {**END, "unknown": ["scorer"]})


def test_decode_nested_place_is_told_from_the_outside_in() -> None:
    """A plan of thousands of lines is told where in it the fault is."""
    message = refused(
        Configuration, {"name": "m", "model": "m", "profile": "p", "runner": "r", "retry": {"max_retries": -1}}
    )
    assert message.startswith("retry: max_retries: expected an integer of at least 0")


def test_decode_long_values_are_shortened_in_messages() -> None:
    """A megabyte in the wrong place does not become a megabyte of error text."""
    assert len(refused(TrialStart, {**START, "attempt": "x" * 10_000})) < 200


def _patterned() -> list[Any]:
    found = []
    for cls in VALUE_CLASSES:
        for name, hint in get_type_hints(cls, include_extras=True).items():
            for inner in (hint, *get_args(hint)):
                if get_origin(inner) is Annotated and isinstance(get_args(inner)[1], Pattern):
                    found.append(pytest.param(cls, name, inner, hint, id=f"{cls.__name__}.{name}"))
    return found


@pytest.mark.parametrize(("cls", "name", "kind", "hint"), _patterned())
def test_decode_patterned_field_takes_matches_of_the_whole_and_no_near_miss(
    cls: type, name: str, kind: Any, hint: Any
) -> None:
    """Each string with a form is read by that form: a trailing line feed or a foreign digit is no match."""
    regex = get_args(kind)[1].regex
    for text in GOOD[regex]:
        assert codec.decode(kind, text) == text
    for text in [*BAD[regex], 1, None, ["a"]]:
        refused(kind, text)
    if get_origin(hint) is not tuple:
        assert name in refused(cls, {name: BAD[regex][0]})


def test_every_marker_is_one_the_decoder_knows() -> None:
    """A new kind of marker would be ignored in silence: it must be added to the codec first."""
    for cls in VALUE_CLASSES:
        for hint in get_type_hints(cls, include_extras=True).values():
            for inner in (hint, *get_args(hint)):
                if get_origin(inner) is Annotated:
                    assert isinstance(get_args(inner)[1], Pattern | AtLeast)
                    assert len(get_args(inner)) == 2


def test_to_json_leaves_defaults_out_and_keeps_the_format() -> None:
    """An absent field is not written; the format and the version always are."""
    start = TrialStart(trial=("m", "q1", 1), attempt=1)
    assert codec.to_json(start) == START
    end = TrialEnd(
        trial=("m", "q1", 1), attempt=1, outcome="passed", metrics={"correct": 0.0}, cost=Money(nano=0, currency="USD")
    )
    assert codec.to_json(end) == {**END, "metrics": {"correct": 0.0}, "cost": {"nano": 0, "currency": "USD"}}
    assert codec.to_json(Entry(seq=0, time=ENTRY["time"], type="t", body={})) == ENTRY
    assert codec.to_json(Rule(id="r", at_least="0.5", of="correct")) == {"id": "r", "at_least": "0.5", "of": "correct"}


def test_to_json_of_something_foreign_is_our_own_bug() -> None:
    """A set or a bytes object in a value is a programming error, not a record."""
    for foreign in ({1}, b"raw", object()):
        with pytest.raises(TypeError, match="no JSON form"):
            codec.to_json(foreign)


def test_decode_of_a_type_without_reader_is_our_own_bug() -> None:
    """A field of a type that JSON does not have is found when the class is first met."""
    with pytest.raises(TypeError, match="no reader"):
        codec.decode(set, [])


def test_decode_plan_format_is_pinned() -> None:
    """A plan of another format version is refused before anything in it is believed."""
    assert "format: expected one of trialplate-plan/1" in refused(Plan, {"format": "trialplate-plan/2"}, "VERSION")
