# SPDX-License-Identifier: Apache-2.0
"""V11: what a run says that it did not need, and whether its mark allowed to leave that out.

Trials may be absent from a complete run only under a stop rule, only as the tail of the order that the hash of the
run.start entry gives, and only where what was asked had settled the decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trialplate.record.entries import RunClose
from trialplate.record.matrix import stop_order
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.stopping import ended, left_out
from trialplate.verify.findings import Report, counted

if TYPE_CHECKING:
    from trialplate.verify.record_view import RecordView

__all__ = ["check_order", "check_settled", "stop_of"]


def stop_of(view: RecordView, closed: RunClose | None) -> tuple[tuple[str, ...], Mapping[str, int]]:
    """Return the order of a run's cases and how many trials of each configuration it did not need.

    Args:
        closed: the run.close that counts; the view's own, or that at an earlier size (`board_at`).

    Returns:
        Both empty where the mark has no stop rule, and for a pilot.
    """
    if view.opened is None or view.plan.pass_mark.stop is None or view.start.selection != "full":
        return (), {}
    told = closed.not_needed if closed is not None else ()
    order = stop_order(view.opened.seed, view.matrix.cases)
    return order, {item.configuration: item.trials for item in told}


def check_order(view: RecordView, report: Report) -> int:
    """Return how many absent trials run.close accounts for; what it says of others is a finding.

    What it says must be what the cells say: all trials of the cases after the last one that was begun, in the order.
    """
    closed = view.closed
    if closed is None or not closed.not_needed:
        return 0
    where = f"runs/{view.run_id}/record.jsonl"
    order, told = stop_of(view, closed)
    names = [item.configuration for item in closed.not_needed]
    if not order or len(set(names)) < len(names) or not view.matrix.counts.keys() >= {*names}:
        why = "its mark has no stop rule, it is a pilot, or a configuration stands there that did not run, or twice"
        report.found("STOP-ORDER", f"trials are said not to be needed, and {why}", where)
        return 0
    if not closed.complete or closed.reason != getattr(view.plan.pass_mark.stop, "mode", None):
        report.found("STOP-ORDER", "trials are said not to be needed in a run that did not end by its stop rule", where)
    for item in closed.not_needed:
        found = left_out(view.matrix, order, view.board, item.configuration)
        if found != item:
            there = "none" if found is None else f"{found.trials} after {counted(found.cases, 'case')}"
            said = f"says that {item.trials} trials after {counted(item.cases, 'case')} were not needed"
            report.found("STOP-ORDER", f"{item.configuration}: {said}; by the order {there} could be", where)
    return sum(told.values())


def check_settled(view: RecordView, board: Board, given: Circumstances, report: Report) -> None:
    """Hold what was not needed to the mark: with what was asked, no answer that is missing could change a decision.

    Args:
        board: the cells as the run ended.
        given: what else the decision depended on then.
    """
    told = () if view.closed is None else view.closed.not_needed
    order, not_needed = stop_of(view, view.closed)
    if not told or not order:
        return
    where = f"runs/{view.run_id}/record.jsonl"
    if view.plan.pass_mark.baseline is not None and given.baseline is None:
        message = "whether what was left out could have changed a decision: the baseline is not here to tell"
        report.found("RUN-MISSING", message, where, note=True)
        return
    settled = ended(view.plan, view.matrix, board, given.replace(order=order, not_needed=not_needed))
    for item in told:
        if item.configuration not in settled:
            message = f"{item.configuration}: {item.trials} trials were left out while its decision could still change"
            report.found("STOP-UNSEALED", message, where)
