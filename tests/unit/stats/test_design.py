# SPDX-License-Identifier: Apache-2.0
"""Designs at their edges; their numbers stand in the shared vectors and against scipy's binomial distribution."""

from __future__ import annotations

import pytest

from trialplate.rules import sequential
from trialplate.rules.bounds import max_failures
from trialplate.stats import design


def test_plan_whose_lists_end_leaves_the_rest_undecided() -> None:
    """A side decides no more after its list; without any list nothing runs."""
    found = sequential.dp_plan(sequential.CountPlan((-1, 0), (1,)), 0.5)
    assert (found.accept, found.reject, found.undecided, found.expected) == (0.25, 0.5, 0.25, 1.5)
    assert sequential.dp_plan(sequential.CountPlan((), ()), 0.1) == (0.0, 0.0, 1.0, 0.0)
    assert sequential.dp_plan(sequential.CountPlan((), (1,)), 0.25) == (0.0, 0.25, 0.75, 1.0)


@pytest.mark.parametrize(("true", "share"), [(0.8, 0.25), (0.9, 0.50), (0.95, 0.82), (0.99, 0.97)])
def test_sealed_stop_saves_what_the_table_says(true: float, share: float) -> None:
    """100 cases and a floor of .90: the expected share that runs, with the decision the same."""
    allowed = max_failures(100, 0.9, 0.05)
    assert allowed == 4
    found = sequential.dp_plan(design.curtailed_plan(100, allowed), 1 - true)
    assert found.expected / 100 == pytest.approx(share, abs=0.006)
    assert found.accept == pytest.approx(design.oc_binomial(100, allowed, 1 - true), abs=1e-12)


def test_curtailed_plan_stops_where_the_decision_is_sealed() -> None:
    """Count by count, both ways."""
    plan = design.curtailed_plan(6, 2)
    for cases in range(1, 7):
        for failures in range(cases + 1):
            said = design.sealed(6, 2, cases - failures, failures)
            assert (failures <= plan.accept[cases - 1]) is (said == "pass")
            assert (failures >= plan.reject[cases - 1]) is (said == "fail")


def test_walds_lines_as_counts_accept_and_reject_on_their_own_sides() -> None:
    """Cut after 300 cases: the table's expected cases at four failure rates."""
    plan = design.sprt_plan(design.sprt_lines(0.03, 0.1, 0.05, 0.05), 300)
    found = [round(sequential.dp_plan(plan, defect).expected) for defect in (0.03, 0.06, 0.1, 0.2)]
    assert found == [76, 107, 58, 19]


def test_certain_designs() -> None:
    """No failure allowed below 0, all allowed from n on; sizes by either formula are each other's inverse."""
    assert (design.oc_binomial(5, -1, 0.5), design.oc_binomial(5, 5, 0.5)) == (0.0, 1.0)
    n = design.miller_n(0.05, 0.1, 0.1, 0.1, 3, 3, alpha=0.05, power=0.8)
    mde = design.miller_mde(round(n), 0.1, 0.1, 0.1, 3, 3, alpha=0.05, power=0.8)
    assert mde == pytest.approx(0.05, rel=1e-3)


def test_what_cannot_be_is_refused() -> None:
    """Each argument outside its range."""
    for refused in (
        lambda: design.oc_binomial(5, 1, 1.5),
        lambda: design.oc_quality_at(5, 5, 0.5),
        lambda: design.wald_thresholds(0.5, 0.6),
        lambda: design.sprt_lines(0.1, 0.1, 0.05, 0.05),
        lambda: design.sprt_plan(design.Lines(1.0, 1.0, 0.1), 0),
        lambda: design.curtailed_plan(5, 5),
        lambda: design.sealed(5, 1, 4, 2),
        lambda: sequential.dp_plan(sequential.CountPlan((1,), (1,)), 0.5),
        lambda: sequential.dp_plan(sequential.CountPlan((), ()), -0.1),
        lambda: design.miller_n(0.0, 0.1, 0, 0, 1, 1, alpha=0.05, power=0.8),
        lambda: design.miller_n(0.1, -0.1, 0, 0, 1, 1, alpha=0.05, power=0.8),
        lambda: design.miller_mde(0, 0.1, 0, 0, 1, 1, alpha=0.05, power=0.8),
    ):
        with pytest.raises(ValueError):
            refused()
