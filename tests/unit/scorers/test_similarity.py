# SPDX-License-Identifier: Apache-2.0
"""similarity: the arithmetic against an exact one, and what leaves a cell unknown."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record.values import Case, Scorer
from trialplate.scorers.base import Question, Reply, Score, ScorerContext, ScorerError
from trialplate.scorers.similarity import cosine, make_similarity

SCORER = Scorer(name="near", type="similarity", metric="near", helper="e", settings={"threshold": "0.8"})
CASE = Case(id="q", input="?", references=("one", {"b": 1}))
Vector = tuple[float, ...]


async def scored(*vectors: Vector, case: Case = CASE) -> tuple[Score, list[Question]]:
    """Score an answer whose embeddings, references first, are these."""
    asked: list[Question] = []

    async def ask(question: Question) -> Reply:
        asked.append(question)
        return Reply(vectors=vectors)

    return await make_similarity(SCORER, {}).score(case, "the answer", ScorerContext(ask=ask)), asked


async def test_nearest_reference_counts_and_all_go_in_one_call() -> None:
    """References in their order, then the answer; one that is no text is its JSON."""
    score, asked = await scored((0.0, 1.0), (3.0, 4.0), (1.0, 0.0))
    assert (score.metrics, score.verdict) == ({"near": 0.6}, "failed")
    assert [item.texts for item in asked] == [("one", '{"b":1}', "the answer")]


@pytest.mark.parametrize(
    ("vector", "value", "verdict"),
    [((-1.0, 0.0), 0, "failed"), ((4.0, 3.0), 0.8, "passed"), ((0.7999994, 0.6000008), 0.799999, "failed")],
)
async def test_metric_is_none_below_zero_and_the_threshold_is_met_by_what_is_recorded(
    vector: Vector, value: float, verdict: str
) -> None:
    """0.8 passes at 0.8, by the six decimals that stand in the record; a negative cosine is 0."""
    score, _ = await scored(vector, (1.0, 0.0), case=CASE.replace(references=("one",)))
    assert (score.metrics, score.verdict) == ({"near": value}, verdict)


@pytest.mark.parametrize(
    ("vectors", "why"),
    [
        ([(1.0,)], "1 embeddings came for 3 texts"),
        ([(1.0, 0.0), (1.0,), (1.0, 0.0)], "different dimensions"),
        ([(), (), ()], "different dimensions"),
        ([(1.0, 0.0), (1.0, 1.0), (0.0, 0.0)], "all zeros"),
    ],
)
async def test_vectors_that_cannot_be_compared_are_no_score(vectors: list[Vector], why: str) -> None:
    """Nothing follows from them, and 0 would be a failure that was not measured."""
    with pytest.raises(ScorerError, match=why):
        await scored(*vectors)


parts = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.lists(parts, min_size=n, max_size=n)] * 2)))
def test_cosine_agrees_with_exact_arithmetic(pair: tuple[list[float], list[float]]) -> None:
    """Sums in fractions and a root of fifty digits give the same to the last digits that doubles have."""
    one, other = ([Fraction(x) for x in item] for item in pair)
    if not any(one) or not any(other):
        return
    squares = sum(x * x for x in one) * sum(y * y for y in other)
    dot = sum(x * y for x, y in zip(one, other, strict=True))
    with localcontext(Context(prec=50)):
        share = dot * dot / squares
        exact = float((Decimal(share.numerator) / Decimal(share.denominator)).sqrt()) * (-1 if dot < 0 else 1)
    assert cosine(*pair) == pytest.approx(exact, abs=1e-9)


def test_cosine_of_very_long_and_very_short_vectors_stays_a_number() -> None:
    """Neither a square nor a product leaves the range of a double."""
    assert cosine((1e308, 1e308), (1e-308, 1e-308)) == pytest.approx(1)
    assert math.isclose(cosine((1e300, 0.0), (0.0, 1e-300)), 0)


def test_setting_that_it_has_not_is_refused() -> None:
    """A plan of a later program is not read as something else."""
    with pytest.raises(SpecError, match="no setting"):
        make_similarity(SCORER.replace(settings={"threshold": "0.8", "distance": "dot"}), {})
