# SPDX-License-Identifier: Apache-2.0
"""V08: whatever names a run as a baseline names it as it had ended by then, and as it was.

What the ledger alone can tell is told here; whether the record is so is told where it is read (`baselines`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialplate.record.entries import BaselineSet, CommitPassMark, CommitTestSet, RunStart
from trialplate.record.values import Baseline
from trialplate.verify.findings import Report

if TYPE_CHECKING:
    from trialplate.verify.ledger_view import LedgerView

__all__ = ["check_baselines", "problem_of"]


def check_baselines(view: LedgerView, report: Report) -> None:
    """V08: check every `baseline` entry, and the baseline of every committed mark."""
    for entry in view.entries:
        named = entry.body
        if isinstance(named, CommitPassMark):
            named = named.mark.baseline
        if isinstance(named, BaselineSet | Baseline) and (problem := problem_of(view, named, entry.seq)):
            report.found("BASELINE", f"names {named.run_id} as a baseline, {problem}", view.place(entry.seq))


def problem_of(view: LedgerView, named: BaselineSet | Baseline, before: int | None = None) -> str | None:
    """Return why a run could not be a baseline as of an entry, in words that follow its name; None if it could.

    It was a full run; it ended as complete, at this very size and root; it has the configuration and the test set that
    are named.
    """
    entry = view.start_of(named.run_id)
    if entry is None or (before is not None and entry.seq >= before):
        return "which this ledger did not start before it"
    start: RunStart = entry.body
    if start.selection != "full":
        return "which was a pilot"
    end = view.end_of(named.run_id, before)
    if end is None or end.body.status != "complete":
        return "which had not ended as complete"
    if (end.body.size, end.body.root) != (named.size, named.root):
        return f"at a size or root that is not that of its run.end, entry {end.seq}"
    if named.configuration is not None and named.configuration not in {item.name for item in start.configurations}:
        return f"which has no configuration {named.configuration}"
    commit = view.body_at(start.test_set.seq, CommitTestSet)
    if isinstance(named, Baseline) and (commit is None or commit.root != named.test_set):
        return "which ran on another test set than it says"
    return None
