# SPDX-License-Identifier: Apache-2.0
"""Cells that nobody could be asked: known, at the worst value that a rule knows, and unknown once they are a rival's.

The attack that all of this is about: say that a model does not take the hard cases, so that fewer are counted.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from contests import Entrant, choice_of, compete
from small_runs import NAME, Repeat, at_least, at_most, board_of, case, ended, judged, must_pass, plan_of

from trialplate.record.entries import TrialEnd, TrialStart
from trialplate.record.values import Evidence, Selector
from trialplate.rules.cells import AFTER_DECIDED, Board

NOT: Repeat = "incompatible"
ERRORS = ["bound", "zero", "exclude"]
RATES = ["correct", "trial_pass_rate", "case_pass_rate", "error_rate", "pass_at:1", "pass_hat:2"]


def one(rows: list[list[Repeat]], rule: Any, **fields: Any) -> tuple[Any, ...]:
    """Return what one rule comes to."""
    (found,) = judged(rows, rule, **fields).rules
    return found.result, found.low, found.high, found.cells, found.cases, found.unknown


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("of", ["correct", "trial_pass_rate", "case_pass_rate", "pass_at:1"])
def test_cell_that_was_not_asked_is_counted_as_0_under_a_floor(of: str, errors: str) -> None:
    """Three cases, two right and one not asked: two thirds, and nothing is unknown."""
    rows: list[list[Repeat]] = [[1], [1], [NOT]]
    assert one(rows, at_least("0.7", of=of), errors=errors) == ("fail", "2/3", "2/3", 3, 3, 0)
    assert one(rows, at_least("0.6", of=of), errors=errors)[0] == "pass"


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("of", ["correct", "trial_pass_rate", "case_pass_rate", "error_rate", "pass_at:1"])
def test_cell_that_was_not_asked_is_counted_as_1_under_a_ceiling(of: str, errors: str) -> None:
    """0 is the better value there: whoever takes no case would keep every ceiling."""
    rows: list[list[Repeat]] = [[0], [0], [NOT]]
    assert one(rows, at_most("0.3", of=of), errors=errors) == ("fail", "1/3", "1/3", 3, 3, 0)


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("of", RATES)
def test_nobody_gains_by_a_case_that_is_not_asked(of: str, errors: str) -> None:
    """It is to every rule as if the case had been asked and had come out as badly as can be."""
    values: tuple[Repeat, ...] = (1, 0, "error", NOT)
    for cells in itertools.product(values, repeat=4):
        if NOT not in cells:
            continue
        rows: list[list[Repeat]] = [list(cells[:2]), list(cells[2:])]
        for rule in (at_least("0.5", of=of), at_most("0.5", of=of)):
            bad: Repeat = 0 if rule.at_least is not None else "error" if of == "error_rate" else 1
            worst = [[bad if cell == NOT else cell for cell in row] for row in rows]
            found, wanted = one(rows, rule, errors=errors), one(worst, rule, errors=errors)
            assert found[:5] == wanted[:5], (rows, rule)


def test_where_of_a_rule_leaves_it_out() -> None:
    """The author says so before the results are known."""
    plan = plan_of([case(1, "text"), case(2, "text"), case(3, "image")], at_least("1", where=Selector(tag=("text",))))
    assert judged([[1], [1], [NOT]], plan=plan).decision == "accepted"


def test_named_case_that_is_not_asked_has_not_passed() -> None:
    """It is a failure and no gap: nothing that anybody could still do would change it."""
    (found,) = judged([[1], [NOT]], must_pass("q1", "q2")).rules
    assert (found.result, found.failing, found.unknown) == ("fail", ("q2",), 0)


def test_record_is_complete_without_it_and_its_shares_are_of_what_was_asked() -> None:
    """Nothing is left to try; what nobody was asked does not make outages and repeated questions rarer."""
    evidence = Evidence(complete="1", infrastructure_errors="0.25")
    made = judged([[1], [1], [1], ["error"], [NOT]], at_least("0.5"), evidence=evidence)
    found = {item.name: (item.met, item.found) for item in made.evidence}
    assert found["complete"] == (True, "5 of 5 trials")
    assert found["infrastructure_errors"] == (True, "1 of 4 cells")
    made = judged([[1], [1], ["error"], [NOT], [NOT]], at_least("0.4"), evidence=evidence)
    assert made.reasons == ("infrastructure_errors",)


def test_budget_that_left_a_trial_out_is_still_a_gap() -> None:
    """Only what the plan says beforehand is settled."""
    assert judged([[1], [1], ["skipped"]], at_least("0.7"), evidence=Evidence(complete="1")).reasons == ("complete",)


# -------------------------------------------------------------------------------------------------------- as a rival


def test_rival_that_takes_no_hard_case_does_not_lower_the_bar() -> None:
    """Its cells are unknown to the others: they might have been right."""
    half: list[list[Repeat]] = [[1], [1], [0], [0]]
    hampered: list[list[Repeat]] = [[1], [1], [NOT], [NOT]]
    results = compete([Entrant("me", half, half, "1"), Entrant("rival", hampered, hampered, "1")], at_least("0.5"))
    within = results["me"].choice.within
    assert (within.result, within.low) == ("inconclusive", "-1/2")


def test_who_takes_no_expensive_case_is_not_the_cheapest() -> None:
    """What a case would have cost that was not asked has no limit."""
    all_right: list[list[Repeat]] = [[1], [1], [1], [1]]
    spared: list[list[Repeat]] = [[1], [1], [1], [NOT]]
    results = compete([Entrant("a", all_right, all_right, "1"), Entrant("b", spared, spared, "0.9")], at_least("0.5"))
    choice = choice_of(results)
    assert choice.chosen != "b"
    assert {item.configuration: item.cost for item in choice.contenders}["b"] is None


# ----------------------------------------------------------------------------------------------------- its own lines


def not_asked(attempt: int = 1) -> TrialEnd:
    """Return the line of a trial that nobody is asked."""
    return TrialEnd(trial=(NAME, "q1", 1), attempt=attempt, outcome="skipped", cause="incompatible")


def test_cell_that_was_asked_cannot_be_said_not_to_have_been() -> None:
    """Neither after an answer nor after an outage."""
    for outcome in ("passed", "failed", "error"):
        board = board_of([[{"passed": 1, "failed": 0}.get(outcome, "error")]])
        assert board.end(not_asked(2)) is not None


def test_cell_that_is_said_not_to_be_asked_is_never_asked() -> None:
    """Nor left out a second time."""
    board = Board()
    assert board.end(not_asked()) is None
    assert board.start(TrialStart(trial=(NAME, "q1", 1), attempt=1)) == AFTER_DECIDED
    board = Board()
    board.end(not_asked())
    assert board.end(not_asked()) is not None
    assert board.end(ended((NAME, "q1", 1))) is not None
