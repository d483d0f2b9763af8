# SPDX-License-Identifier: Apache-2.0
"""The numbers of a report: a mean says over how much, a range says of how many repeats, unknown is never a number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from small_runs import NAME, Repeat, board_of, case, configuration, ended, matrix_of, plan_of, scorer

from trialplate.record.entries import Money, TrialStart
from trialplate.record.values import MatrixLine, Plan, Pricing, Selector
from trialplate.reports.summary import (
    ConfigurationSummary,
    failures,
    metric_names,
    summarise,
    summarise_tags,
    tags_of,
)
from trialplate.reports.words import amount_text, cost_text, metric_text, remarks, share_text
from trialplate.rules.cells import Board

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "decide"


def record_of(plan: Plan, board: Board) -> Any:
    """Return what a summary reads of a record."""
    return SimpleNamespace(plan=plan, matrix=matrix_of(plan), board=board, closed=None)


def summary(rows: Sequence[Sequence[Repeat]], **fields: Any) -> ConfigurationSummary:
    """Summarise one configuration of these results."""
    plan = plan_of(len(rows), repeats=len(rows[0]), **fields)
    (found,) = summarise(record_of(plan, board_of(rows)))
    return found


def test_summary_one_repeat_has_no_range() -> None:
    """T09: one value says nothing about spread; there is no range, and not a range of 0."""
    given = json.loads((CASES / "stats_single.json").read_text())
    (metric, _) = summary([[given["repeats"][0]]]).metrics
    assert (metric.mean, metric.low, metric.high) == (Fraction(4, 5), None, None)
    assert metric_text(metric) == "0.8000"


def test_numbers_are_shown_with_digits_enough() -> None:
    """Case G06: what is not 1 does not look like 1, what is not nothing does not look like nothing."""
    assert share_text(Fraction(99_999, 100_000)) == "0.99999"
    assert share_text(Fraction(1, 1_000_000)) == "0.000001"
    assert (share_text(Fraction(1)), share_text(Fraction(0)), share_text(Fraction(2, 3))) == (
        "1.0000",
        "0.0000",
        "0.6667",
    )
    assert (amount_text(3, "USD"), amount_text(0, "EUR")) == ("0.000000003 USD", "0.000000 EUR")


def test_summary_range_is_of_the_means_of_the_repeats() -> None:
    """Each repeat is one mean over all cases; the range is the lowest and the highest of these."""
    (metric, passes) = summary([[1, 0, 1], [1, 1, 0], [1, 0, 0]]).metrics
    assert (metric.mean, metric.low, metric.high) == (Fraction(5, 9), Fraction(1, 3), Fraction(1))
    assert metric_text(metric) == "0.5556 [0.3333..1.0000]"
    assert passes.name == "trial_pass_rate"


def test_summary_range_with_a_gap_is_not_given() -> None:
    """A repeat with an unknown cell is not whole, and a range over gaps would mislead; the coverage is told."""
    (metric, _) = summary([[1, 1], [1, "error"]]).metrics
    assert (metric.low, metric.known, metric.cells) == (None, 3, 4)
    assert metric_text(metric) == "1.0000 over 3 of 4"


def test_summary_of_nothing_measured_says_none() -> None:
    """No value is shown where there is none: neither 0 nor 1."""
    (metric, _) = summary([["error"], [None]]).metrics
    assert (metric.mean, metric_text(metric)) == (None, "none of 2")
    plan = plan_of(1, scorers=[scorer(cases=Selector(id=("q9",)))])
    (found,) = summarise(record_of(plan, board_of([[1]])))
    assert metric_text(found.metrics[0]) == "n/a"


def test_summary_outcomes_are_every_planned_trial_once() -> None:
    """T15: whatever became of it, each planned trial stands under exactly one outcome."""
    found = summary([[1, 0, "limit"], ["error", "lost", None], ["skipped", 1, 1]])
    assert found.outcomes == {
        "passed": 3,
        "failed": 1,
        "limit": 1,
        "needs_input": 0,
        "error": 2,
        "skipped": 1,
        "absent": 1,
    }
    assert sum(found.outcomes.values()) == 9
    assert found.lost == 1


@pytest.mark.parametrize(
    ("pricing", "costs", "expected", "shown"),
    [
        (None, [None], None, "unknown"),
        (Pricing(input="1", output="1"), [5, None], None, "unknown"),
        (Pricing(input="1", output="1"), [5, 7], 12, "0.000000012 USD"),
        (Pricing(free=True), [0, 0], 0, "0.000000 USD"),
    ],
)
def test_summary_cost_is_unknown_while_any_attempts_is(
    pricing: Pricing | None, costs: list[int | None], expected: int | None, shown: str
) -> None:
    """One attempt of unknown cost makes the sum unknown, never smaller."""
    plan = plan_of(2, configurations=[configuration(pricing=pricing)])
    board = Board()
    for number, nano in enumerate(costs, start=1):
        key = (NAME, f"q{number}", 1)
        board.start(TrialStart(trial=key, attempt=1))
        board.end(ended(key, cost=None if nano is None else Money(nano=nano, currency="USD")))
    (found,) = summarise(record_of(plan, board))
    assert found.cost_nano == expected
    if expected != 12:
        assert cost_text(found) == shown


def test_summary_latency_is_median_and_95th_by_nearest_rank() -> None:
    """Over decided trials only, and of measured values, never between two."""
    plan = plan_of(20)
    board = Board()
    for number in range(1, 21):
        key = (NAME, f"q{number}", 1)
        board.start(TrialStart(trial=key, attempt=1))
        board.end(ended(key, outcome="error" if number == 1 else "passed", latency_ms=number * 10))
    (found,) = summarise(record_of(plan, board))
    assert found.latency_ms == (110, 200)
    (nothing,) = summarise(record_of(plan, Board()))
    assert nothing.latency_ms is None


def test_summary_of_unequal_repeats_weighs_cells() -> None:
    """A range needs the repeats that all cases have."""
    lines = [
        MatrixLine(configurations=(NAME,), cases=Selector(id=("q1",)), repeats=2),
        MatrixLine(configurations=(NAME,), cases=Selector(id=("q2",)), repeats=1),
    ]
    plan = plan_of(2, lines=lines)
    (found,) = summarise(record_of(plan, board_of([[1, 0], [1]])))
    metric = found.metrics[0]
    assert (metric.known, metric.cells, metric.low) == (3, 3, None)


def test_tags_a_case_counts_under_each_of_its_tags() -> None:
    """Tags are not additive; what has none stands under a name of its own."""
    plan = plan_of([case(1, "a", "b"), case(2, "b"), case(3)])
    assert tags_of(matrix_of(plan)) == ["(untagged)", "a", "b"]
    record = record_of(plan, board_of([[1], [0], [1]]))
    found = {item.tag: (item.cases, item.configurations[0].metrics[0].mean) for item in summarise_tags(record)}
    assert found == {"a": (1, Fraction(1)), "b": (2, Fraction(1, 2)), "(untagged)": (1, Fraction(1))}


def test_tags_of_cases_that_a_configuration_skips_have_no_number() -> None:
    """A tag whose cases a configuration does not run has nothing to show for it: neither 0 nor 1."""
    lines = [MatrixLine(configurations=(NAME,), cases=Selector(id=("q1",)), repeats=1)]
    plan = plan_of([case(1, "a"), case(2, "b")], lines=lines)
    found = {item.tag: item for item in summarise_tags(record_of(plan, board_of([[1]])))}
    assert metric_text(found["b"].configurations[0].metrics[0]) == "n/a"
    assert found["a"].configurations[0].metrics[0].cells == 1


def test_remarks_say_that_a_time_limit_depends_on_the_machine() -> None:
    """Case T16: what a time limit ended is counted apart, and a reader is warned."""
    plan = plan_of(2)
    board = Board()
    for number, cause in ((1, "timeout"), (2, None)):
        key = (NAME, f"q{number}", 1)
        board.start(TrialStart(trial=key, attempt=1))
        board.end(ended(key, outcome="failed" if cause else "passed", cause=cause))
    (found,) = summarise(record_of(plan, board))
    assert found.timeouts == 1
    assert "1 trial ended by a time limit: results may depend on the machine" in remarks(found)


def test_metric_names_come_in_the_order_of_the_scorers() -> None:
    """Two scorers of one metric are one column; the pass rate is always there."""
    scorers = [scorer("x", name="one"), scorer("y"), scorer("x", name="two")]
    assert metric_names(matrix_of(plan_of(1, scorers=scorers))) == ["x", "y", "trial_pass_rate"]


def test_failures_are_everything_that_was_not_passed() -> None:
    """Failed, cut, lost, skipped and absent trials, in the order of the matrix."""
    plan = plan_of(6)
    record = record_of(plan, board_of([[1], [0], ["limit"], ["lost"], ["skipped"], [None]]))
    assert [(item.case, item.outcome, item.cause) for item in failures(record)] == [
        ("q2", "failed", None),
        ("q3", "limit", "truncated"),
        ("q4", "error", "lost"),
        ("q5", "skipped", "budget"),
        ("q6", "absent", None),
    ]
