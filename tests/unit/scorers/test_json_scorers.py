# SPDX-License-Identifier: Apache-2.0
"""json-schema and json-subset."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from trialplate.errors import SpecError
from trialplate.record.values import Case, PlanText, Scorer
from trialplate.scorers.base import Score, ScorerError
from trialplate.scorers.json_scorers import make_json_schema, make_json_subset

REPLY: dict[str, Any] = {
    "type": "object",
    "required": ["answer", "sources", "when", "who"],
    "properties": {
        "answer": {"type": "integer"},
        "when": {"type": "string", "format": "date-time"},
        "a/~b": {"type": "string", "pattern": "^x"},
    },
    "additionalProperties": False,
}


async def meets(answer: str, schema: Any, **settings: Any) -> Score:
    """Score by `json-schema`."""
    texts = (PlanText(role="schema", commitment="A" * 43),)
    scorer = Scorer(name="s", type="json-schema", metric="right", settings=settings, texts=texts)
    return await make_json_schema(scorer, {("schema", ""): schema}).score(Case(id="q1", input="?"), answer)


async def holds(answer: Any, *references: Any, **settings: Any) -> Score:
    """Score by `json-subset`; an answer that is no text is written as JSON."""
    scorer = Scorer(name="s", type="json-subset", metric="right", settings=settings)
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return await make_json_subset(scorer, {}).score(Case(id="q1", input="?", references=references), text)


# ---------------------------------------------------------------------------------------------------- json-schema


async def test_schema_reason_has_three_violations_sorted_with_pointers() -> None:
    """`<root>` for the whole, RFC 6901 for the rest, and no more than three."""
    score = await meets('{"answer": "x", "a/~b": "y"}', REPLY)
    assert score.verdict == "failed"
    assert score.reason == (
        "/answer: 'x' is not of type 'integer'; /a~1~0b: 'y' does not match '^x'; "
        "<root>: 'sources' is a required property"
    )


async def test_schema_reason_is_cut_at_200_characters_a_violation() -> None:
    """An answer of a megabyte is not repeated in a reason."""
    score = await meets(json.dumps(["x" * 100_000] * 5), {"items": {"type": "integer"}})
    parts = score.reason.split("; ")
    assert [len(part) for part in parts] == [200, 200, 200]


async def test_schema_met_is_1_and_not_met_is_0() -> None:
    """Numbers by value: 1.0 is an integer."""
    assert (await meets('{"answer": 1.0}', {"properties": {"answer": {"type": "integer"}}})).metrics == {"right": 1.0}
    assert (await meets("[]", {"type": "object"})).metrics == {"right": 0.0}


async def test_answer_that_is_no_json_has_failed_and_says_what_would_read_it() -> None:
    """A wrong format is the model's own failure, and never an error."""
    score = await meets('```json\n{"answer": 1}\n```', {"type": "object"})
    assert (score.verdict, "parse: fenced would find a value" in score.reason) == ("failed", True)
    assert (await meets('```json\n{"answer": 1}\n```', {"type": "object"}, parse="fenced")).verdict == "passed"
    assert "ambiguous" in (await meets('{"a": 1} {"a": 2}', {"type": "object"}, parse="embedded")).reason


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-11-30T10:49:33Z", True),
        ("2026-11-30t10:49:33.123456789+01:00", True),
        ("2026-02-30T10:49:33Z", False),
        ("2026-11-30", False),
        ("2026-11-30T10:49:60Z", False),
        ("2026-11-30T10:49:33", False),
    ],
)
async def test_schema_format_date_time_is_checked(text: str, good: bool) -> None:
    """RFC 3339, on every machine alike."""
    score = await meets(json.dumps(text), {"type": "string", "format": "date-time"})
    assert score.verdict == ("passed" if good else "failed")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "(a|aa)+$"},
        {"patternProperties": {"(a|aa)+$": {"type": "integer"}}},
        {"patternProperties": {"(a|aa)+$": {"type": "integer"}}, "additionalProperties": False},
    ],
)
async def test_schema_pattern_that_never_ends_is_no_score_and_others_go_on(schema: dict[str, Any]) -> None:
    """Case P15, inside a schema: its cell is unknown within the limit, and the loop runs meanwhile."""
    text = "a" * 40 + "b"
    answer = json.dumps(text if "pattern" in schema else {text: 1})
    stuck = asyncio.create_task(meets(answer, schema))
    others = 0
    while not stuck.done():
        assert (await meets('"x"', {"type": "string", "pattern": "x"})).verdict == "passed"
        await asyncio.sleep(0)
        others += 1
    with pytest.raises(ScorerError, match="time limit"):
        await stuck
    assert others > 5


TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "anyOf": [
                {"type": "number"},
                {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                {"type": "array", "prefixItems": [{"$ref": "#/$defs/tree"}]},
            ]
        }
    },
}


async def test_schema_that_tries_for_ever_on_a_deep_answer_is_no_score_and_others_go_on() -> None:
    """A sound schema that refers to itself twice doubles the work with each of the 60 levels of a hostile answer."""
    assert (await meets("[[1], [2, [3]]]", TREE)).verdict == "passed"
    stuck = asyncio.create_task(meets("[" * 60 + '"x"' + "]" * 60, TREE))
    others = 0
    while not stuck.done():
        assert (await meets("1", TREE)).verdict == "passed"
        await asyncio.sleep(0)
        others += 1
    with pytest.raises(ScorerError, match="time limit: the schema had no result"):
        await stuck
    assert others > 5


@pytest.mark.parametrize(
    ("number", "factor", "verdict"),
    [
        ("4.35", 0.01, "passed"),
        ("0.3", 0.1, "passed"),
        ("1.1", 0.1, "passed"),
        ("19.99", 0.01, "passed"),
        ("19.995", 0.01, "failed"),
        ("0.075", 0.05, "failed"),
        ("1e300", 1e-300, "failed"),
        ("9007199254740991", 2, "failed"),
        ("7", 3.5, "passed"),
        ("0", 0.1, "passed"),
        ("true", 2, "passed"),
        ('"x"', 2, "passed"),
    ],
)
async def test_schema_multiple_of_goes_by_the_decimals(number: str, factor: float, verdict: str) -> None:
    """A price of 4.35 is a multiple of 0.01: JSON Schema speaks of numbers, not of their binary neighbours.

    A number beyond what every reader holds (1e300) is no JSON here, and failed already.
    """
    assert (await meets(number, {"multipleOf": factor})).verdict == verdict


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"minimum": "3"}, {"multipleOf": 0}, {"items": [True]}])
def test_schema_of_a_plan_that_nobody_checked_is_refused(schema: Any) -> None:
    """A re-score reads plans by other hands: what is no schema makes no scorer, and crashes none."""
    texts = (PlanText(role="schema", commitment="A" * 43),)
    with pytest.raises(SpecError, match="draft 2020-12"):
        make_json_schema(Scorer(name="s", type="json-schema", metric="m", texts=texts), {("schema", ""): schema})


@pytest.mark.parametrize("schema", [{"$ref": "https://x.example/y"}, {"$ref": "#/$defs/a"}, {"pattern": "("}])
async def test_schema_that_cannot_be_followed_is_no_score(schema: Any) -> None:
    """Nothing is fetched; the cell is unknown."""
    with pytest.raises(ScorerError, match="cannot be followed"):
        await meets('"x"', schema)


async def test_schema_unique_items_of_a_long_list_end_soon() -> None:
    """Pairs of 20,000 objects would take for ever; equal values are equal however they are written."""
    items = [{"n": number} for number in range(20_000)]
    assert (await meets(json.dumps(items), {"uniqueItems": True})).verdict == "passed"
    assert (await meets('[{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]', {"uniqueItems": True})).verdict == "failed"
    assert (await meets("[1, true, 0, false]", {"uniqueItems": True})).verdict == "passed"


def test_schema_scorer_without_a_schema_is_refused() -> None:
    """A plan by another hand is read as strictly as an author's."""
    for settings in ({}, {"parse": "loose"}, {"strict": True}):
        with pytest.raises(SpecError):
            make_json_schema(Scorer(name="s", type="json-schema", metric="m", settings=settings), {})


SCHEMAS = st.sampled_from(
    [
        {"properties": {"a": {"type": "integer"}}, "additionalProperties": False},
        {"properties": {"a": True}, "additionalProperties": {"type": "string"}},
        {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "null"}},
        {"patternProperties": {"a": {"type": "integer"}, "b$": {"minimum": 1}}, "additionalProperties": False},
        {"items": {"type": "string", "pattern": "^a+b?$"}, "uniqueItems": True},
        {"allOf": [{"properties": {"a": {"pattern": "b"}}}], "unevaluatedProperties": False},
    ]
)
INSTANCES = st.dictionaries(
    st.text("ab", max_size=3), st.integers(0, 2) | st.text("ab", max_size=3) | st.none()
) | st.lists(st.text("ab", max_size=2) | st.integers(0, 1) | st.booleans(), max_size=4)


@given(SCHEMAS, INSTANCES)
async def test_schema_keywords_with_a_time_limit_judge_as_the_library_does(schema: Any, value: Any) -> None:
    """Those that are ours for their time limit have no other meaning."""
    expected = "passed" if Draft202012Validator(schema).is_valid(value) else "failed"
    assert (await meets(json.dumps(value), schema)).verdict == expected


# ---------------------------------------------------------------------------------------------------- json-subset


@pytest.mark.parametrize(
    ("answer", "reference", "passed"),
    [
        ({"a": 1.0, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": 0}, {"a": None}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": False}, {"a": 0}, False),
        ([1, 2], [1, 2], True),
        ([1, 2, 3], [1, 2], False),
        ([2, 1], [1, 2], False),
        ({"a": [{"b": "x", "c": 1}]}, {"a": [{"b": "x"}]}, True),
        ({"a": "X"}, {"a": "x"}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({}, [], False),
        ([], {"a": 1}, False),
        ('"text"', "text", True),
        ("5.0", 5, True),
        ('{"a": 1, "b": 2}', '{"b": 2}', True),
        ('"{}"', '"{}"', False),
    ],
)
async def test_subset_matches_as_stated(answer: Any, reference: Any, passed: bool) -> None:
    """Objects may hold more, arrays not; numbers by value; true is not 1; null is only null."""
    assert (await holds(answer, reference)).metrics["right"] == float(passed)


async def test_subset_of_any_reference_passes_and_reasons_have_pointers() -> None:
    """Several accepted answers; the first one's differences are told."""
    assert (await holds({"a": 2}, {"a": 1}, {"a": 2})).verdict == "passed"
    reason = (await holds({"b": {"c": [1]}}, {"a": 1, "b": {"c": [2]}}, {"z": 1})).reason
    assert reason == "/a: is not there; /b/c/0: expected 2, found 1; nor does it hold one of 1 more"


async def test_subset_without_a_usable_reference_gives_no_score() -> None:
    """Unknown, and not a failure of the model."""
    for references in ((), ("{broken",)):
        with pytest.raises(ScorerError, match="q1"):
            await holds({}, *references)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.dictionaries(st.sampled_from("yz"), VALUES))
async def test_subset_of_itself_and_of_more(value: Any, more: dict[str, Any]) -> None:
    """Whatever the value; a text that looks like JSON is read as such on one side only, so it stands inside a list."""
    assert (await holds([value], [value])).verdict == "passed"
    assert (await holds({"v": value, **more}, {"v": value})).verdict == "passed"
    assert (await holds({"w": value}, {"v": value})).verdict == "failed"


@given(st.text(max_size=60))
async def test_any_answer_is_scored(answer: str) -> None:
    """0 or 1 for every text, by every rule."""
    for parse in ("strict", "fenced", "embedded"):
        assert (await meets(answer, {"type": "object"}, parse=parse)).metrics["right"] in (0.0, 1.0)
        assert (await holds(answer, {"a": 1}, parse=parse)).verdict == "failed" or '"a"' in answer
