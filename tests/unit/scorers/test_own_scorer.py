# SPDX-License-Identifier: Apache-2.0
"""The scorer of a package or of a person's own: a score, or the cell is unknown."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record import values
from trialplate.record.values import Case
from trialplate.scorers.base import Score, ScorerContext, ScorerError
from trialplate.scorers.own import OwnScorer

CASE = Case(id="q1", input="Capital of France?", references=("Paris",))
ONE = values.Scorer(name="mine", type="object", metric="good", plugin="object here:Mine")
TWO = ONE.replace(also=("short",))


class Gives:
    """Returns what it is told to, or acts."""

    def __init__(self, act: Any, metrics: Any = None) -> None:
        self.act = act
        if metrics is not None:
            self.metrics = metrics

    def score(self, case: Case, answer: str) -> Any:
        """Act."""
        return self.act(case, answer) if callable(self.act) else self.act


async def scored(act: Any, scorer: values.Scorer = ONE, context: ScorerContext | None = None) -> Score:
    """Return the score that an object gives."""
    made = Gives(act, scorer.metrics)
    return await OwnScorer(scorer, made).score(CASE, "Paris", context or ScorerContext())


async def refused(act: Any, scorer: values.Scorer = ONE) -> str:
    """Return why what an object gives is no score."""
    with pytest.raises(ScorerError) as caught:
        await scored(act, scorer)
    return str(caught.value)


class Half:
    """A number of another package."""

    def __float__(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("act", "value", "verdict"),
    [
        (True, 1, "passed"),
        (False, 0, "failed"),
        (0.5, 0.5, "passed"),
        (0.49, 0.49, "failed"),
        (1, 1, "passed"),
        (Half(), 0.5, "passed"),
        ({"score": 0.9, "passed": False, "reason": "why"}, 0.9, "failed"),
        ({"good": 0.2, "passed": True}, 0.2, "passed"),
        (lambda case, answer: answer in case.references, 1, "passed"),
        (Score(metrics={"good": 0.7}, verdict="passed"), 0.7, "passed"),
        (Score(metrics={"good": 0.7}), 0.7, None),
    ],
)
async def test_number_truth_dict_and_score_are_scores(act: Any, value: float, verdict: str | None) -> None:
    """The metric and the verdict, which follows from the threshold where nobody says it."""
    found = await scored(act)
    assert found.metrics == {"good": value}
    assert found.verdict == verdict


async def test_coroutine_is_waited_for() -> None:
    """A judge of one's own asks somebody."""

    async def later(case: Case, answer: str) -> float:
        await asyncio.sleep(0)
        return 1.0

    assert (await scored(later)).metrics == {"good": 1}


async def test_several_metrics_come_as_a_dict_or_a_score() -> None:
    """Each by its name; null is one that could not be told, and the others stand."""
    assert (await scored({"good": 1, "short": 0.25}, TWO)).verdict == "failed", "each must reach the threshold"
    partly = await scored({"good": 1, "short": None}, TWO)
    assert (partly.metrics, partly.unknown, partly.verdict) == ({"good": 1}, ("short",), None)
    assert (await scored({"good": 0, "short": None}, TWO)).verdict == "failed"
    assert (await scored({"good": 1, "short": None, "passed": True}, TWO)).verdict == "passed", "its own word"
    whole = Score(metrics={"short": 1, "good": 0}, verdict="passed")
    assert await scored(whole, TWO) == whole


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda case, answer: 1 / 0, "the scorer raised ZeroDivisionError"),
        (lambda case, answer: (_ for _ in ()).throw(SystemExit(0)), "the scorer raised SystemExit"),
        (None, "the scorer returned nothing"),
        ("yes", 'its score is "yes", which is no number in [0,1]'),
        (object(), "which is no score"),
        (1.2, "its score is 1.2, which is no number in [0,1]"),
        (-0.1, "no number in [0,1]"),
        (float("nan"), 'its score is "NaN"'),
        (float("inf"), 'its score is "Infinity"'),
        ([1], "no number in [0,1]"),
        ({}, "it returned a dict of nothing"),
        ({"score": None}, "its score is null"),
        ({"score": 1, "passed": "yes"}, "its passed is"),
        ({"score": 1, "reason": 7}, "its reason is no text"),
        ({"score": 1, "sore": 1}, "it returned a dict of sore, good"),
        (Score(metrics={"god": 1}), "its score names god"),
        (Score(metrics={}), "its score has not all of good"),
        (Score(metrics={"good": 1}, unknown=("good",)), "a metric twice"),
        (Score(metrics={"good": 1}, verdict="yes"), "its verdict is 'yes'"),  # type: ignore[arg-type]
    ],
)
async def test_anything_else_is_no_score(act: Any, words: str) -> None:
    """The cell is unknown then, which is neither 0 nor a pass."""
    assert words in await refused(act)


@pytest.mark.parametrize("act", [1, True, {"good": 1}, {"good": None, "short": 2}])
async def test_several_metrics_are_not_guessed_from_one(act: Any) -> None:
    """A number alone says nothing of the other."""
    await refused(act, TWO)


async def test_hang_ends_with_the_scorers_time() -> None:
    """And the cell is unknown."""
    let_go = threading.Event()
    scorer = ONE.replace(settings={"timeout_ms": 10})
    with pytest.raises(ScorerError, match=r"no score within 0\.01 s"):
        await scored(lambda case, answer: let_go.wait(), scorer)
    let_go.set()


async def test_scorer_that_takes_the_context_has_the_form_of_every_scorer() -> None:
    """It is called in the run's own loop, with what scorers may use."""

    class InContext:
        async def score(self, case: Case, answer: str, context: ScorerContext) -> Score:
            return Score(metrics={"good": float(context.environ["X"])}, verdict="passed")

    found = await OwnScorer(ONE, InContext()).score(CASE, "x", ScorerContext(environ={"X": "0.5"}))
    assert found.metrics == {"good": 0.5}


async def test_secret_is_replaced_in_reasons_and_errors() -> None:
    """What a scorer says is kept."""
    context = ScorerContext(scrub=lambda text: text.replace("top-secret", "***"))
    assert (await scored({"score": 1, "reason": "top-secret"}, context=context)).reason == "***"

    def leak(case: Case, answer: str) -> None:
        raise ValueError("top-secret")

    with pytest.raises(ScorerError, match=r"\*\*\*"):
        await scored(leak, context=context)


async def test_metric_has_the_name_that_the_plan_gives_it() -> None:
    """Of a scorer that yields one, whatever it calls it itself."""
    plan = ONE.replace(metric="renamed")
    for act in (0.5, {"good": 0.5}, Score(metrics={"good": 0.5}, verdict="passed")):
        assert (await OwnScorer(plan, Gives(act, ("good",))).score(CASE, "x")).metrics == {"renamed": 0.5}
    untold = Score(metrics={}, unknown=("good",))
    assert (await OwnScorer(plan, Gives(untold, ("good",))).score(CASE, "x")).unknown == ("renamed",)


def test_object_that_yields_other_metrics_than_the_plan_is_refused() -> None:
    """It is not the one that the plan was made with."""
    with pytest.raises(SpecError, match="it yields a, b, and the plan says good, short"):
        OwnScorer(TWO, Gives(1, ("a", "b")))


def test_object_without_score_is_refused() -> None:
    """With the form that is simple."""
    with pytest.raises(SpecError, match="object is object, which has no score"):
        OwnScorer(ONE, object())
