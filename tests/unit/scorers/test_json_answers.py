# SPDX-License-Identifier: Apache-2.0
"""Finding JSON in an answer, and parting reasoning from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.scorers.reasoning import without_reasoning
from trialplate.transport.json_answers import PARSES, NoJson, Parse, json_in

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "scorers"
FENCED = json.loads((CASES / "fenced.json").read_text())


def found(text: str, parse: Parse) -> Any:
    """Return the value, or the reason as a NoJson."""
    try:
        return json_in(text, parse)
    except NoJson as error:
        return error


@pytest.mark.parametrize("vector", FENCED, ids=lambda vector: vector["name"])
def test_json_in_the_answers_of_p01(vector: dict[str, Any]) -> None:
    """Case P01: under `embedded` exactly one value is parsed; two are ambiguous; what is none has a reason."""
    value = found(vector["output"], "embedded")
    if vector["expect"] is None:
        assert isinstance(value, NoJson)
        assert vector["reason"] in str(value)
    else:
        assert value == json.loads(vector["expect"])


@pytest.mark.parametrize(
    ("name", "parsed_by"),
    [
        ("plain", PARSES),
        ("fence_inside_string", PARSES),
        ("fence_json", ("fenced", "embedded")),
        ("fence_bare", ("fenced", "embedded")),
        ("prose_around", ("fenced", "embedded")),
        ("upper_JSON_crlf", ("fenced", "embedded")),
        ("prose_no_fence", ("embedded",)),
        ("two_objects", ()),
        ("single_quotes", ()),
        ("cut", ()),
    ],
)
def test_each_rule_takes_what_it_says_and_no_more(name: str, parsed_by: tuple[Parse, ...]) -> None:
    """The default takes nothing but the whole answer; each further rule takes all that the one before does."""
    text = next(vector["output"] for vector in FENCED if vector["name"] == name)
    assert tuple(parse for parse in PARSES if not isinstance(found(text, parse), NoJson)) == parsed_by


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('~~~json\n{"a": 1}\n~~~', {"a": 1}),
        ('````json\n{"a": "```"}\n````', {"a": "```"}),
        ('```json\n{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```\nor, the same,\n```\n{ "a" : 1.0 }\n```', {"a": 1}),
        ('```python\nprint({"b": 2})\n```\n```json\n[1]\n```', [1]),
        ("```\nnot it\n```\n```json\n42\n```", 42),
        ('See [the notes] and {x}: {"a": [1, {"b": 2}]}.', {"a": [1, {"b": 2}]}),
        ('[12:30] {"a": 1}', {"a": 1}),
        ("null", None),
        (' \n"text"\t', "text"),
    ],
)
def test_one_value_is_found_wherever_it_stands(text: str, value: Any) -> None:
    """Twice the same is one; blocks of other languages are no JSON answer."""
    assert json_in(text, "embedded") == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1} or {"a": 2}', "ambiguous: two"),
        ('```json\n{"a": 1}\n```\nand {"a": 2}', "ambiguous: two"),
        ('```json\n{"a": 1}\n```\n```json\noops\n```', "not JSON"),
        ('{"a": {"b": 1}, oops}', "cannot be read"),
        ("{'a': [1]}", "cannot be read"),
        ('[{"a": 1}, {"a": 2', "not JSON"),
        ('{"a": 1, "a": 2}', "stands 2 times"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e400}', "too large"),
        ('{"a": 9007199254740993}', "outside"),
        ("[" * 100 + "]" * 100, "64 levels"),
        ("[" * 100_000, "64 levels"),
        ('{"a": "\ud835"}', "not UTF-8"),
        ("", "not JSON"),
        ("no", "not JSON"),
        ("```json\n" * 3000, "not JSON"),
        ("```\n\n" * 3000, "fenced blocks"),
        ("{} " * 2000, "more than 1000"),
        ("[1x" * 50_000, "too many brackets"),
    ],
)
def test_nothing_is_taken_by_luck(text: str, reason: str) -> None:
    """Two different values, a broken one with a whole one inside, and what no strict reader takes."""
    error = found(text, "embedded")
    assert isinstance(error, NoJson)
    assert reason in str(error)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES, st.sampled_from(["Here:\n```json\n{}\n```\nDone.", "```\n{}\n```", "{}"]))
def test_value_in_a_fence_is_the_value(value: Any, frame: str) -> None:
    """Whatever it holds, fences too: JSON has no line that begins with one."""
    text = frame.replace("{}", json.dumps(value, ensure_ascii=False))
    assert json_in(text, "fenced") == value
    assert json_in(text, "embedded") == value


@given(st.text(st.characters() | st.sampled_from('{}[]"`\n,:1'), max_size=80))
def test_any_text_gives_a_value_or_a_reason(text: str) -> None:
    """No other error; and a stricter rule that finds a value is not contradicted by a looser one."""
    values = [found(text, parse) for parse in PARSES]
    for value in values:
        assert not isinstance(value, NoJson) or str(value)
    if not isinstance(values[0], NoJson):
        assert values == [values[0]] * 3


@pytest.mark.parametrize("line", ["```" + " " * 1_000_000 + "`", "~~~" + "\t" * 1_000_000, "`" * 1_000_000 + "x`"])
def test_long_line_that_begins_like_a_fence_takes_no_time(line: str) -> None:
    """What a model answers is read in a time that grows with its length: its square would be hours."""
    with pytest.raises(NoJson):
        json_in(line, "embedded")


# ------------------------------------------------------------------------------------------------------ reasoning


@pytest.mark.parametrize(
    "vector",
    json.loads((CASES / "think_orphan.json").read_text()) + json.loads((CASES / "think_draft.json").read_text()),
)
def test_reasoning_in_the_answers_of_p02_and_p03(vector: dict[str, Any]) -> None:
    """Cases P02, P03: a draft is taken out, an orphan closing tag ends reasoning, and nothing after it is an answer."""
    if vector.get("strip") is False:
        return_text = without_reasoning(vector["output"])[0]
        assert return_text == "Use the"  # stripped only where the plan says so; the engine keeps it otherwise
    else:
        answer, taken = without_reasoning(vector["output"])
        assert answer == vector["expect"]
        assert taken.lower().count("</think>") == vector["output"].count("</think>")


@pytest.mark.parametrize(
    ("text", "answer", "taken"),
    [
        ("plain < think > 42 ", "plain < think > 42 ", ""),
        ("<think>a</think>41 <THINK>b</Think> 42", "41  42", "<think>a</think><THINK>b</Think>"),
        ("The answer is <think>hm</think>42.", "The answer is 42.", "<think>hm</think>"),
        ("4<think>x</think>2", "4 2", "<think>x</think>"),
        ("<think>I use the <think> tag</think> 42", "42", "<think>I use the <think> tag</think>"),
        ("<think>a<think>b</think>c</think>d", "d", "<think>a<think>b</think>c</think>"),
        ("41 <think>no, 42", "41", "<think>no, 42"),
        ("<think>never closed 42", "", "<think>never closed 42"),
        ("<thi<think>x</think>nk>y", "<thi nk>y", "<think>x</think>"),
        ("", "", ""),
    ],
)
def test_reasoning_is_parted_from_the_answer(text: str, answer: str, taken: str) -> None:
    """Blocks, an unclosed one, one inside another; two words do not run together."""
    assert without_reasoning(text) == (answer, taken)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", "42", " ", "\n", "\ud835", "x"]), max_size=14)
)
def test_parting_twice_changes_nothing_more(parts: list[str]) -> None:
    """A re-score of the recorded answer reads the same text; and no tag is left in it."""
    answer, taken = without_reasoning("".join(parts))
    assert without_reasoning(answer) == (answer, "")
    assert bool(taken) == ("<think>" in "".join(parts) or "</think>" in "".join(parts))


@pytest.mark.parametrize("tag", ["</think>", "<think>x</think> 4", "<think>", "x</think>"])
def test_very_many_tags_are_parted_in_no_time(tag: str) -> None:
    """A model that repeats itself holds up nothing: copying what stands before each tag would take hours."""
    text = tag * 300_000
    answer, taken = without_reasoning(text)
    assert len(taken) >= len(text) * 0.7
    assert without_reasoning(answer) == (answer, "")
