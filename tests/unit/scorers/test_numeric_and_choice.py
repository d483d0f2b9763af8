# SPDX-License-Identifier: Apache-2.0
"""numeric and choice: what is found where, and what it is compared with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record.values import Case, Scorer
from trialplate.scorers.base import Score, ScorerError
from trialplate.scorers.choice import make_choice
from trialplate.scorers.numeric import make_numeric

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "scorers"


def case(*references: Any) -> Case:
    """Return a case with these references."""
    return Case(id="q1", input="?", references=references)


async def numeric(answer: str, *references: Any, **settings: Any) -> Score:
    """Score by `numeric`."""
    scorer = Scorer(name="s", type="numeric", metric="right", settings=settings)
    return await make_numeric(scorer, {}).score(case(*references), answer)


async def choice(answer: str, *references: Any, **settings: Any) -> Score:
    """Score by `choice`."""
    scorer = Scorer(name="s", type="choice", metric="right", settings=settings)
    return await make_choice(scorer, {}).score(case(*references), answer)


@pytest.mark.parametrize("vector", json.loads((CASES / "numbers_in_text.json").read_text()))
async def test_numeric_on_the_texts_of_p05_p06_p08_p10(vector: dict[str, Any]) -> None:
    """Cases P05, P06, P08, P10: a percent is not stripped, 711 is not 11, a comma is no number, the marker decides."""
    settings = {"find": "last"}
    if "marker" in vector:
        settings = {"find": "after", "after": vector["marker"], "which": vector["take"]}
    score = await numeric(vector["output"], *vector["accepted"], **settings)
    assert score.verdict == ("passed" if vector["correct"] else "failed")
    assert score.metrics == {"right": float(vector["correct"])}


async def test_numeric_percent_is_never_passed_over_for_a_later_number() -> None:
    """Case P05: the first word with a digit is 20%, which is neither 20 nor 0.2, and 100 is not looked at."""
    for reference in ("20", "0.2", "100"):
        score = await numeric("The share is 20% of 100", reference, find="first")
        assert score.verdict == "failed"
        assert 'found "20%", which is no number: a percent sign' in score.reason


async def test_numeric_marker_first_or_last_is_the_plans_to_say() -> None:
    """Case P10: the same answer, read by either rule."""
    answer = "So 9+9.\n#### 18\nQuestion: Ann has 3.\n#### 7"
    rule = {"find": "after", "after": "####"}
    assert (await numeric(answer, "18", which="first", **rule)).verdict == "passed"
    assert (await numeric(answer, "18", which="last", **rule)).verdict == "failed"
    assert (await numeric(answer, 7, which="last", **rule)).verdict == "passed"
    assert "there is no" in (await numeric("18", "18", which="last", **rule)).reason


@pytest.mark.parametrize(
    ("answer", "reference", "settings", "passed"),
    [
        ("0.1", 0.1, {}, True),
        ("0.10", "0.1", {}, True),
        ("1e2", 100, {}, True),
        ("3.14", 3.14159, {"tolerance": "0.01"}, True),
        ("3.13", 3.14159, {"tolerance": "0.01"}, False),
        ("0.3", "0.2", {"tolerance": "0.1"}, True),
        ("0.3000001", "0.2", {"tolerance": "0.1"}, False),
        ("1010", "1000", {"relative": "0.01"}, True),
        ("1011", "1000", {"relative": "0.01"}, False),
        ("-990", "-1000", {"relative": "0.01"}, True),
        ("0.001", "0", {"relative": "1"}, False),
        ("10000000000000000000000000000000000001", "10000000000000000000000000000000000000", {}, False),
        ("none", "none", {}, True),
        ("one 5", "5", {}, False),
    ],
)
async def test_numeric_compares_in_exact_decimals(
    answer: str, reference: Any, settings: dict[str, Any], passed: bool
) -> None:
    """The bounds belong to it, and no binary float is anywhere."""
    assert (await numeric(answer, reference, **settings)).metrics["right"] == float(passed)


@pytest.mark.parametrize("answer", ["1e400", "9" * 5000, "NaN", "Infinity", "-inf", "1e-400", "\ud8355"])
async def test_numeric_absurd_answer_matches_nothing(answer: str) -> None:
    """Not even a reference with the same digits, and never an error."""
    for find in ("whole", "first", "last"):
        assert (await numeric(answer, 0, "1e400", "9" * 5000, "1e-400", find=find, tolerance="9")).verdict == "failed"


async def test_scorers_without_a_reference_give_no_score() -> None:
    """Unknown, and not a failure of the model."""
    for score in (numeric("1"), choice("ANSWER: A"), choice("ANSWER: A", "neither")):
        with pytest.raises(ScorerError, match="q1"):
            await score


@pytest.mark.parametrize(
    "settings",
    [
        {"find": "middle"},
        {"find": "after"},
        {"find": "after", "after": "#"},
        {"after": "#"},
        {"which": "first"},
        {"tolerance": "x"},
        {"separators": "."},
        {"digits": 3},
    ],
)
def test_numeric_with_settings_that_it_has_not_is_refused(settings: dict[str, Any]) -> None:
    """A plan by another hand is read as strictly as an author's."""
    with pytest.raises(SpecError) as caught:
        make_numeric(Scorer(name="s", type="numeric", metric="m", settings=settings), {})
    assert caught.value.code == "SCORER"


@pytest.mark.parametrize("vector", json.loads((CASES / "choices.json").read_text()))
async def test_choice_on_the_answers_of_p13(vector: dict[str, Any]) -> None:
    """Case P13: a trailing comma, a list, and the last of two ANSWER lines."""
    score = await choice(vector["output"], ", ".join(vector["expect"]))
    assert score.verdict == "passed"
    assert (await choice(vector["output"], vector["expect"])).verdict == "passed"
    assert (await choice(vector["output"], "E")).verdict == "failed"
    if len(vector["expect"]) > 1:
        assert (await choice(vector["output"], vector["expect"][0])).verdict == "failed"


@pytest.mark.parametrize(
    ("answer", "settings", "passed"),
    [
        ("answer: b", {}, True),
        ("ANSWER: A\nANSWER: it is B, I think", {}, False),
        ("ANSWER: B\nANSWER:", {}, False),
        ("B", {}, False),
        ("B.", {"after": ""}, True),
        ("Choice B", {"after": "choice"}, True),
        ("ANSWER: B", {"options": ["A", "C"]}, False),
    ],
)
async def test_choice_reads_the_last_marked_line_only(answer: str, settings: dict[str, Any], passed: bool) -> None:
    """One that cannot be read is wrong, and an earlier one does not stand in for it."""
    if settings.get("options") == ["A", "C"]:
        assert (await choice(answer, "A", **settings)).verdict == "failed"
    else:
        assert (await choice(answer, "B", **settings)).metrics["right"] == float(passed)


@given(st.text(max_size=200), st.sampled_from(["whole", "first", "last"]))
async def test_any_answer_is_scored_by_both(answer: str, find: str) -> None:
    """0 or 1, a verdict and a reason for every text; an answer that holds no 4711 never passes for it."""
    for score in (await numeric(answer, 4711, find=find), await choice(answer, "Q")):
        assert score.metrics["right"] in (0.0, 1.0)
        assert score.reason
    if "4711" not in answer.replace(".", ""):
        assert (await numeric(answer, 4711, find=find)).verdict == "failed"


@pytest.mark.parametrize(
    "settings",
    [
        {"separators": {"thousands": ["x"]}},
        {"separators": {"thousands": ",", "group": "."}},
        {"separators": {"decimal": ""}},
        {"separators": "x"},
        {"percent": "halve"},
        {"units": "km"},
        {"units": [1]},
        {"tolerance": 1},
        {"tolerance": "1e999999999"},
        {"relative": "-1"},
        {"find": "after", "which": "last", "after": 5},
        {"find": ["whole"]},
    ],
)
def test_setting_of_another_kind_in_a_plan_by_another_hand_is_refused(settings: dict[str, Any]) -> None:
    """A re-score reads plans that no author's file stood behind; none of them crashes it."""
    with pytest.raises(SpecError):
        make_numeric(Scorer(name="s", type="numeric", metric="m", settings=settings), {})


@pytest.mark.parametrize(
    "answer",
    [
        "It is minus 5.",
        "Negative 5",
        "(minus) 5",
        "about 5 per cent",
        "5 per mille of them",
        "5 Per Cent.",
        "5 percentage points",
        "5 millions",
        "5 thousands of them",
        "5 bn",
        "5 crore",
    ],
)
@pytest.mark.parametrize("find", ["first", "last"])
async def test_words_beside_a_number_that_make_another_of_it_are_seen(answer: str, find: str) -> None:
    """What a word makes negative, a share or a million of is not the bare number."""
    assert (await numeric(answer, 5, find=find)).verdict == "failed"
    assert (await numeric("Negative results aside, it is 5, per person.", 5, find=find)).verdict == "passed"


async def test_percentage_in_words_is_one_where_the_plan_takes_them() -> None:
    """20 per cent is written in more than one way."""
    for answer in ("20 per cent", "20 percent", "20%", "20 %"):
        assert (await numeric(answer, 20, percent="keep")).verdict == "passed"
        assert (await numeric(answer, "0.2", percent="divide")).verdict == "passed"


@pytest.mark.parametrize("answer", ["\u0131", "\u017f", "\uff21", "\u0410"])
async def test_letter_that_only_looks_like_a_choice_names_none(answer: str) -> None:
    """A dotless i becomes I in capitals, and is another letter; so do the long s, and those of other alphabets."""
    for option in "ISA":
        assert (await choice(f"ANSWER: {answer}", option)).verdict == "failed"
