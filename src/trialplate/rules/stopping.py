# SPDX-License-Identifier: Apache-2.0
"""When a configuration needs no further trial, and which trials that leaves out.

The engine ends a configuration by these functions and the verifier holds a record to them: neither has others.

Source: DESIGN section 7; docs/formats/record.md, clause 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from trialplate.record.entries import NotNeeded
from trialplate.record.matrix import Matrix
from trialplate.record.values import PassMark, Plan, PlanCase
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import sealed

__all__ = ["cases_of", "ended", "left_out", "linked"]


def cases_of(matrix: Matrix, order: Sequence[str], name: str) -> list[tuple[PlanCase, int]]:
    """Return the cases that a configuration is asked, in the stop's order, with their repeats."""
    repeats = {case.id: (case, number) for case, number in zip(matrix.cases, matrix.counts[name], strict=True)}
    return [repeats[case] for case in order if repeats[case][1]]


def linked(mark: PassMark) -> bool:
    """Say whether what one configuration comes to may depend on the answers of another."""
    rules = (*mark.rules, *mark.alternatives)
    compared = any(rule.not_worse_than not in (None, "baseline") or rule.each == "configuration" for rule in rules)
    return mark.choose is not None or compared


def ended(plan: Plan, matrix: Matrix, board: Board, given: Circumstances) -> frozenset[str]:
    """Return the configurations that need no further trial.

    Under `counts` as under `sealed` that is so once nothing that is still unknown could change the decision: a boundary
    that was reached settles its rule, and the mark's other rules are not cut short by it. Where one configuration's
    answers may decide about another, all of them end together. One that was never asked has shown nothing, and goes on.

    Whatever the mark makes of errors, a trial that nobody has asked yet may come to anything: it is bounded. What holds
    with it at both extremes holds as well where it is left out or counts as 0.
    """
    plan = plan.replace(pass_mark=plan.pass_mark.replace(errors="bound"))
    absent = {name: matrix.planned(name) for name in matrix.counts}
    for name, _, _ in board.cells:
        absent[name] -= 1
    fixed = sealed(plan, matrix, board, given.replace(not_needed=absent))  # as it would be if they ended now
    begun = {name for (name, _, _), cell in board.cells.items() if not cell.incompatible}
    found = frozenset(name for name in matrix.counts if fixed.get(name) and name in begun)
    if linked(plan.pass_mark):
        return found if len(found) == len(matrix.counts) else frozenset()
    return found


def left_out(matrix: Matrix, order: Sequence[str], board: Board, name: str) -> NotNeeded | None:
    """Return what the cells of a configuration that ended leave out: all trials of the cases after the last begun one.

    Trials that nobody is ever asked (`incompatible`) begin no case and are not left out.
    """
    cases, trials, absent = 0, 0, 0
    for number, (case, repeats) in enumerate(cases_of(matrix, order, name), 1):
        cells = [board.cells.get((name, case.id, repeat)) for repeat in range(1, repeats + 1)]
        absent += cells.count(None)
        if any(cell is not None and not cell.incompatible for cell in cells):
            cases, trials = number, absent
    trials = absent - trials
    return NotNeeded(configuration=name, cases=cases, trials=trials) if trials else None
