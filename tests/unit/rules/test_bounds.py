# SPDX-License-Identifier: Apache-2.0
"""Edges of the bounds that decide: nothing to go by, what cannot be, and numbers known by heart."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isnan, nan
from typing import Any

import pytest

from trialplate.rules import bounds, shares, special


def test_without_cases_nothing_is_known() -> None:
    """Bounds are the ends of the scale, the mean is no number, and no trial counts."""
    for found, low in (
        (bounds.guarded([], 0.05), 0.0),
        (bounds.guarded([], 0.05, []), 0.0),
        (bounds.guarded_diff([], [], 0.05), -1.0),
        (bounds.guarded_ppi([], [0.0], 0.05), 0.0),
        (bounds.guarded_ppi([1.0], [], 0.05), 0.0),
    ):
        assert isnan(found.mean)
        assert (found.n_eff, found.lower, found.upper) == (0.0, low, 1.0)
    assert bounds.clopper_pearson(0, 0, 0.05) == (0.0, 1.0)
    assert shares.wilson(0.0, 0, 0.05) == (0.0, 1.0)
    assert shares.newcombe(1.0, 9, 0.0, 0, 0.05) == (-1.0, 1.0)
    assert bounds.agreement_lower(0, 0, 0.05) == 0.0
    assert bounds.max_failures(0, 0.0, 0.05) is None


IMPOSSIBLE: dict[str, Callable[[], Any]] = {
    "alpha of 0": lambda: bounds.guarded([1.0], 0.0),
    "alpha of a half": lambda: bounds.guarded([1.0], 0.5),
    "alpha that is no number": lambda: bounds.clopper_pearson(1, 2, nan),
    "mean above 1": lambda: bounds.guarded([1.1], 0.05),
    "mean that is no number": lambda: bounds.guarded([nan], 0.05),
    "weight of 0": lambda: bounds.guarded([1.0], 0.05, [0]),
    "weight without a mean": lambda: bounds.guarded([1.0], 0.05, [1, 1]),
    "best below worst": lambda: bounds.guarded_between([1.0], [0.0], 0.05),
    "worst without best": lambda: bounds.guarded_between([1.0], [], 0.05),
    "other cases": lambda: bounds.guarded_diff([1.0], [1.0, 1.0], 0.05),
    "reference above 1": lambda: bounds.guarded_diff([1.0], [2.0], 0.05),
    "difference below -1": lambda: bounds.guarded_ppi([1.0], [-2.0], 0.05),
    "more passes than trials": lambda: bounds.clopper_pearson(3, 2, 0.05),
    "share above 1": lambda: shares.wilson(1.5, 2, 0.05),
    "threshold of 1": lambda: bounds.fewest_cases(1.0, 0.05),
    "threshold below 0": lambda: bounds.fewest_cases(-0.1, 0.05),
    "cases below 0": lambda: bounds.max_failures(-1, 0.5, 0.05),
    "percentile of nothing": lambda: bounds.nearest_rank([], Fraction(1, 2)),
    "percentile of 0": lambda: bounds.nearest_rank([1], Fraction(0)),
    "beta of 0": lambda: special.betainc(0, 1, 0.5),
    "beta beyond 1": lambda: special.betainc(1, 1, 1.5),
    "beta that is no number": lambda: special.betaincinv(nan, 1, 0.5),
    "quantile beyond 1": lambda: special.betaincinv(1, 1, 1.5),
    "normal quantile of 0": lambda: special.normal_quantile(0.0),
    "normal quantile of 1": lambda: special.normal_quantile(1.0),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_is_refused(what: str) -> None:
    """Never a bound that means nothing."""
    with pytest.raises(ValueError):
        IMPOSSIBLE[what]()


def test_fewest_cases_are_those_of_the_success_run() -> None:
    """One more where a perfect run would show the threshold itself, and one at the least."""
    assert [bounds.fewest_cases(t, 0.05) for t in (0.8, 0.9, 0.95, 0.99)] == [14, 29, 59, 299]
    assert bounds.fewest_cases(0.0, 0.05) == 1
    assert bounds.fewest_cases(0.5, 0.25) == 3  # 0.25 ** (1 / 2) is 0.5: it neither reaches it nor misses it
    assert bounds.guarded([1.0, 1.0], 0.25).lower == 0.5


@pytest.mark.parametrize(
    ("n", "threshold", "allowed"),
    [
        *((10, 0.9, None), (28, 0.9, None), (29, 0.9, 0), (50, 0.9, 1), (100, 0.9, 4), (200, 0.9, 12), (300, 0.9, 21)),
        *((59, 0.95, 0), (300, 0.95, 8), (50, 0.8, 5), (5, 0.0, 4), (9, 1.0, None)),
    ],
)
def test_most_failures_are_those_of_the_table(n: int, threshold: float, allowed: int | None) -> None:
    """At 95 %, one trial a case: the numbers that `plan` shows."""
    assert bounds.max_failures(n, threshold, 0.05) == allowed


def test_agreement_of_a_judge_is_shown_by_its_lower_bound() -> None:
    """Even 20 equal verdicts of 20 do not show 90 %."""
    found = [bounds.agreement_lower(equal, of, 0.05) for equal, of in ((20, 20), (19, 20), (18, 20), (48, 50))]
    assert [round(value, 3) for value in found] == [0.861, 0.784, 0.717, 0.879]


def test_ten_ties_leave_a_difference_wide_open() -> None:
    """A bootstrap of ten ties is [0, 0], and would pass any margin."""
    found = bounds.guarded_diff([1.0] * 10, [1.0] * 10, 0.05)
    assert (round(found.lower, 3), round(found.upper, 3)) == (-0.225, 0.225)


def test_clusters_of_one_size_weigh_as_cases_do() -> None:
    """A source with many cases counts for more, and the effective number is that of equal ones."""
    equal = bounds.guarded([1.0, 0.5, 0.0], 0.05, [4, 4, 4])
    assert equal == pytest.approx(bounds.guarded([1.0, 0.5, 0.0], 0.05))
    assert bounds.guarded([1.0, 0.0], 0.05, [9, 1]).mean == 0.9


def test_nearest_rank_is_exact() -> None:
    """Two of five are enough for 2/5: no double that is a little more."""
    assert bounds.nearest_rank([50, 15, 40, 20, 35], Fraction(2, 5)) == 20
    assert bounds.nearest_rank(["b", "a"], Fraction(1, 2)) == "a"


def test_incomplete_beta_has_its_ends_and_its_simple_forms() -> None:
    """0 and 1 at the ends, powers where a parameter is 1, and a smallest number below which there is 0."""
    assert (special.betainc(2, 3, 0), special.betainc(2, 3, 1)) == (0.0, 1.0)
    assert special.betainc(3, 1, 0.5) == pytest.approx(0.125, abs=1e-15)
    assert (special.betaincinv(2, 3, 0), special.betaincinv(2, 3, 1)) == (0.0, 1.0)
    assert special.betaincinv(3, 1, 0.125) == 0.5
    assert special.betaincinv(1, 3, 0.875) == pytest.approx(0.5, abs=1e-15)
    assert special.betaincinv(1e-4, 2, 0.05) == 0.0
    assert special.betaincinv(5e-324, 2, 0.05) == 0.0
    assert (special.betaincinv(2, 5e-324, 0.05), special.betainc(2, 5e-324, 0.5)) == (1.0, 0.0)
    assert special.betaincinv(2, 1e-4, 0.95) == 1.0


def test_panels_and_fraction_meet() -> None:
    """Where one way of working out the function gives over to the other."""
    at, from_ = special.betainc(1500.0, 1600.0, 0.48), special.betainc(1500.0000001, 1600.0, 0.48)
    assert at == pytest.approx(from_, abs=1e-9)


def test_normal_quantile_is_the_well_known_number() -> None:
    """Both tails, and the middle."""
    assert special.normal_quantile(0.975) == pytest.approx(1.959963984540054, abs=1e-15)
    assert special.normal_quantile(0.025) == pytest.approx(-1.959963984540054, abs=1e-15)
    assert special.normal_quantile(0.5) == pytest.approx(0, abs=1e-16)
