# SPDX-License-Identifier: Apache-2.0
"""How many cases a claim needs, against the design's table and against going through every outcome."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from trialplate.rules.bounds import ROUNDING, guarded_diff
from trialplate.rules.sequential import dp_plan
from trialplate.stats.design import curtailed_plan, sprt_lines, sprt_plan
from trialplate.stats.designs import alternatives, cases_for, cases_for_pair, paired_power
from trialplate.stats.draws import Stream
from trialplate.stats.operating import DRAWS, Demand, Layout, Unit
from trialplate.stats.stopped import Boundaries, expected_cases


@pytest.mark.parametrize(
    ("floor", "truth", "cases"),
    [
        ("0.9", 0.95, 203), ("0.9", 0.97, 89), ("0.9", 0.98, 61), ("0.9", 0.99, 46),
        ("0.95", 0.97, 647), ("0.95", 0.98, 260), ("0.95", 0.99, 124),
        ("0.8", 0.85, 398), ("0.8", 0.90, 94), ("0.8", 0.95, 37),
    ],
)  # fmt: skip
def test_cases_for_four_in_five(floor: str, truth: float, cases: int) -> None:
    """Every number of the design's list."""
    assert cases_for(Fraction(floor), 0.05, truth, 0.8) == cases


def test_cases_for_what_cannot_be() -> None:
    """Nothing shows more than is true, and near the threshold no list is long enough."""
    assert cases_for(Fraction("0.9"), 0.05, 0.9, 0.8) is None
    assert cases_for(Fraction(1), 0.05, 1.0, 0.8) is None
    assert cases_for(Fraction("0.99"), 0.05, 0.9905, 0.8) is None


NON_INFERIORITY = [
    (0.05, 0.02, 799), (0.05, 0.03, 367), (0.05, 0.05, 148), (0.05, 0.10, 47),
    (0.10, 0.02, 1561), (0.10, 0.03, 702), (0.10, 0.05, 265), (0.10, 0.10, 73),
    (0.20, 0.02, 3151), (0.20, 0.03, 1366), (0.20, 0.05, 497), (0.20, 0.10, 138),
]  # fmt: skip


@pytest.mark.parametrize(("differing", "margin", "cases"), NON_INFERIORITY)
def test_cases_for_equal_pairs_are_near_the_simulated_ones(differing: float, margin: float, cases: int) -> None:
    """The design's list was simulated; with its numbers of cases the exact chance is four in five, within 2.5 points."""
    assert paired_power(cases, margin, differing, 0.05) == pytest.approx(0.8, abs=0.025)
    assert cases_for_pair(margin, differing, 0.05, 0.8) == pytest.approx(cases, rel=0.05)


@pytest.mark.parametrize("difference", [-0.1, 0.0, 0.15])
def test_paired_power_is_that_of_going_through_every_outcome(difference: float) -> None:
    """Eight cases, each won, lost or drawn, held to the bound that decides."""
    n, differing, margin = 8, 0.3, 0.4
    chance = {1: (differing + difference) / 2, -1: (differing - difference) / 2, 0: 1 - differing}
    by_hand = 0.0
    for outcome in product((-1, 0, 1), repeat=n):
        ours, theirs = [float(item > 0) for item in outcome], [float(item < 0) for item in outcome]
        if guarded_diff(ours, theirs, 0.2).lower + margin > 2 * ROUNDING:
            part = 1.0
            for item in outcome:
                part *= chance[item]
            by_hand += part
    assert paired_power(n, margin, differing, 0.2, difference) == pytest.approx(by_hand, abs=1e-9)


def test_pairs_that_never_differ() -> None:
    """A hundred ties show no more than 2.3 points."""
    assert paired_power(100, 0.024, 0.0, 0.05) == 1
    assert paired_power(100, 0.022, 0.0, 0.05) == 0
    assert cases_for_pair(0.0, 0.1, 0.05, 0.8) is None
    assert cases_for_pair(0.001, 0.5, 0.05, 0.8) is None


def test_alternatives_have_as_many_trials_and_more_cases_show_more() -> None:
    """Cases against repeats: with half of the noise between cases, repeats buy less."""
    layout = Layout((Unit(3, 1),) * 60, 0.5)
    found = alternatives(layout, Demand(Fraction("0.85"), True, 0.05), Stream(bytes(32), DRAWS), 0.93)
    assert [(item.cases, item.repeats) for item in found] == [(180, 1), (90, 2), (60, 3), (36, 5), (18, 10)]
    chances = [item.accept for item in found]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] - chances[-1] > 0.3


@pytest.mark.parametrize(("truth", "share"), [(0.80, 0.25), (0.90, 0.50), (0.95, 0.82), (0.99, 0.97)])
def test_sealed_runs_end_as_early_as_the_design_says(truth: float, share: float) -> None:
    """A hundred cases, four failures allowed, decided as accepted or not."""
    found = expected_cases(100, 4, 5, 1 - truth)
    assert round(found / 100, 2) == share
    assert found == pytest.approx(dp_plan(curtailed_plan(100, 4), 1 - truth).expected, abs=1e-9)


def test_a_third_answer_keeps_a_run_going() -> None:
    """Rejected and inconclusive are two decisions: until they are told apart the run goes on."""
    assert expected_cases(100, 4, 16, 0.2) > expected_cases(100, 4, 5, 0.2)
    assert expected_cases(100, -1, 101, 0.2) == 1  # it is inconclusive whatever comes


@pytest.mark.parametrize(
    ("truth", "expected", "accept"), [(0.97, 76, 0.966), (0.94, 107, None), (0.90, 58, 0.049), (0.80, 19, None)]
)
def test_boundaries_by_counts_are_those_of_the_design(truth: float, expected: int, accept: float | None) -> None:
    """Wald's lines, .03 against .10, cut at 300 cases."""
    lines = sprt_plan(sprt_lines(0.03, 0.10, 0.05, 0.05), 300)
    found = Boundaries(lines.accept, lines.reject, 300)
    assert round(found.expected(truth)) == expected
    if accept is not None:
        assert round(found.chances(truth).accept, 3) == accept


def test_quality_of_boundaries_is_where_their_curve_crosses() -> None:
    """And none, where they never accept."""
    lines = sprt_plan(sprt_lines(0.03, 0.10, 0.05, 0.05), 300)
    found = Boundaries(lines.accept, lines.reject, 300)
    quality = found.quality(0.5)
    assert quality is not None
    assert found.chances(quality).accept >= 0.5 > found.chances(quality - 0.001).accept
    assert Boundaries((-1,) * 5, (1,) * 5, 5).quality(0.5) is None
