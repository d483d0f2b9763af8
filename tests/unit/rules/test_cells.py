# SPDX-License-Identifier: Apache-2.0
"""Cells: what a metric value may be, which model answered, and in which order attempts may stand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import NAME, board_of, configuration, ended, matrix_of, plan_of

from trialplate.record.entries import Call, Money, TrialStart
from trialplate.rules.cells import MICRO, Board, micro, serves

KEY = (NAME, "q1", 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 0), (-0.0, 0), (1, MICRO), (1.0, MICRO), (0.1, 100_000), (0.7, 700_000), (1e-06, 1), (0.949999, 949_999)],
)
def test_micro_six_decimals_are_counted_exactly(value: float, expected: int) -> None:
    """The decimal text decides: 0.1 is one tenth, whatever its binary neighbour."""
    assert micro(value) == expected


@pytest.mark.parametrize(
    "value",
    [1.000001, -0.000001, 0.1234567, 1e-07, 0.30000000000000004, 2.0, float("nan"), float("inf"), -float("inf")],
)
def test_micro_outside_or_finer_is_refused(value: float) -> None:
    """A value outside [0,1], or finer than 6 decimals, is no metric value; it is never clamped or rounded."""
    assert micro(value) is None


@given(st.integers(0, MICRO))
def test_micro_of_every_millionth_is_itself(number: int) -> None:
    """Writing a millionth as a JSON number and reading it back loses nothing."""
    assert micro(float(Decimal(number).scaleb(-6))) == number


@pytest.mark.parametrize(
    ("served", "right"),
    [
        ("gpt-x", True),
        ("gpt-x-2025-01-31", True),
        ("gpt-x-20250131", True),
        ("gpt-x@20250131", True),
        ("other", True),
        ("gpt-x-mini", False),
        ("gpt-x-2025", False),
        ("gpt-x-2025-01-31-preview", False),
        ("gpt-x-2025-41-31", False),
        ("gpt", False),
        ("GPT-X", False),
        ("", False),
        (None, False),
    ],
)
def test_serves_the_same_a_dated_or_a_listed_model_only(served: str | None, right: bool) -> None:
    """A smaller brother, a preview or an unnamed model is not the one that was asked."""
    assert serves(configuration(model_id="gpt-x", served=("other",)), served) is right


def test_serves_without_a_model_id_has_nothing_to_compare() -> None:
    """A command has no model id; whatever it names is its own affair."""
    assert serves(configuration(), None)
    assert serves(configuration(), "anything")


def _start(attempt: int) -> TrialStart:
    return TrialStart(trial=KEY, attempt=attempt)


def test_board_attempt_after_a_decided_one_is_told() -> None:
    """A decided trial is never asked again."""
    board = board_of([[0]])
    assert "decided" in (board.start(_start(2)) or "")


def test_board_attempt_numbers_that_jump_are_told() -> None:
    """Attempts are numbered from 1 without gaps."""
    board = Board()
    assert board.start(_start(2)) == "attempt 2 follows attempt 0"
    board = Board()
    assert board.start(_start(1)) is None
    assert board.start(_start(3)) == "attempt 3 follows attempt 1"


def test_board_end_without_its_start_is_told() -> None:
    """An end needs the start of the same attempt before it, and comes once."""
    board = Board()
    assert board.end(ended(KEY)) is not None
    board.start(_start(1))
    assert board.end(ended(KEY, attempt=2)) is not None
    assert board.end(ended(KEY)) is None
    assert board.end(ended(KEY)) is not None


def test_board_decided_attempt_that_announces_another_is_told() -> None:
    """`retry: true` belongs to errors."""
    board = Board()
    board.start(_start(1))
    assert board.end(ended(KEY, retry=True)) is not None


def test_board_lost_attempt_then_an_answer_is_reasked_and_known() -> None:
    """A start without an end is lost: an error until it is asked again, and then a re-asked cell."""
    board, matrix = Board(), matrix_of(plan_of(1))
    board.start(_start(1))
    assert board.counts(matrix).error == 1
    board.start(_start(2))
    board.end(ended(KEY, attempt=2))
    cell, counts = board.cells[KEY], board.counts(matrix)
    assert (cell.lost, cell.reasked, cell.known, cell.value("correct")) == (1, True, True, MICRO)
    assert (counts.passed, counts.error, counts.attempts, counts.reasked) == (1, 0, 2, 1)


@pytest.mark.parametrize(
    ("fields", "reasked"),
    [({"received": 1}, True), ({"ended_by": "harness"}, True), ({}, False)],
)
def test_board_reasked_only_after_an_answer_began_or_the_harness_cut_it(
    fields: dict[str, object], reasked: bool
) -> None:
    """A refused connection or a 429 before any answer may be tried again freely."""
    board = Board()
    board.start(_start(1))
    board.end(ended(KEY, outcome="error", retry=True, **fields))
    board.start(_start(2))
    board.end(ended(KEY, attempt=2))
    assert board.cells[KEY].reasked is reasked


def test_board_value_of_a_running_attempt_is_unknown() -> None:
    """While an attempt is under way the cell has no value, though an earlier attempt measured something."""
    board = Board()
    board.start(_start(1))
    board.end(ended(KEY, outcome="error", cause="scorer", metrics={"correct": 1.0}, retry=True))
    assert board.cells[KEY].value("correct") == MICRO
    board.start(_start(2))
    assert board.cells[KEY].value("correct") is None
    assert not board.cells[KEY].known


def test_board_costs_add_up_over_attempts_and_one_unknown_makes_all_unknown() -> None:
    """A failed attempt that was billed is paid for."""
    board = Board()
    board.start(_start(1))
    board.end(ended(KEY, outcome="error", retry=True, cost=Money(nano=5, currency="USD")))
    board.start(_start(2))
    board.end(ended(KEY, attempt=2, cost=Money(nano=7, currency="USD"), calls=(Call(digest="d", replayed=True),)))
    cell = board.cells[KEY]
    assert (cell.cost_nano, cell.cost_unknown, cell.replayed) == (12, False, True)
    other = Board()
    other.start(_start(1))
    other.end(ended(KEY))
    assert other.cells[KEY].cost_unknown
