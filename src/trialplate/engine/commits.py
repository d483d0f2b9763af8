# SPDX-License-Identifier: Apache-2.0
"""Committing a plan's test set and pass mark: once each, before the run that is judged by them."""

from __future__ import annotations

from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.record import codec
from trialplate.record.entries import CommitPassMark, CommitTestSet
from trialplate.record.matrix import mark_digest
from trialplate.record.values import EntryRef, Plan
from trialplate.verify.ledger_view import LedgerEntry, LedgerView

__all__ = ["Commitments", "commit_plan", "superseded"]


class Commitments:
    """The two commitments of a plan, and whether they were made just now."""

    def __init__(self, test_set: EntryRef, pass_mark: EntryRef, made: tuple[str, ...]) -> None:
        self.test_set, self.pass_mark, self.made = test_set, pass_mark, made


def commit_plan(plan: Plan, ledger: LedgerView, writer: LedgerWriter, reason: str | None = None) -> Commitments:
    """Return the commitments of a plan, appending those that the ledger does not hold yet.

    A mark that follows another for the same test set names the one it supersedes, so that a change can be seen.

    Args:
        reason: why there is a new mark, in words that anybody may read.
    """
    made: list[str] = []
    found = _test_set(plan, ledger)
    if found is None:
        found = writer.append("commit.testset", codec.to_json(_body(plan))).ref
        made.append("test set")
    return Commitments(found, _commit_mark(plan, found, ledger, writer, made, reason), tuple(made))


def superseded(plan: Plan, ledger: LedgerView) -> LedgerEntry | None:
    """Return the mark that committing this plan's would supersede, None if it is the first or stands already."""
    last = _last_mark(_test_set(plan, ledger), ledger)
    return None if last is None or last.body.digest == mark_digest(plan.pass_mark) else last


def _body(plan: Plan) -> CommitTestSet:
    test_set = plan.test_set
    return CommitTestSet(
        name=test_set.name,
        version=test_set.version,
        cases=len(test_set.cases),
        root=test_set.root,
        digest=test_set.digest,
    )


def _test_set(plan: Plan, ledger: LedgerView) -> EntryRef | None:
    """Return the commitment to the plan's test set, if the ledger holds it."""
    body = _body(plan)
    return next((e.ref for e in ledger.bodies(CommitTestSet) if e.body == body), None)


def _last_mark(test_set: EntryRef | None, ledger: LedgerView) -> LedgerEntry | None:
    """Return the newest mark that was committed for a test set."""
    earlier = [e for e in ledger.bodies(CommitPassMark) if e.body.test_set == test_set]
    return earlier[-1] if earlier else None


def _commit_mark(
    plan: Plan, test_set: EntryRef, ledger: LedgerView, writer: LedgerWriter, made: list[str], reason: str | None
) -> EntryRef:
    """Return the newest commitment to this very mark for this test set, appending one if another came after it."""
    digest = mark_digest(plan.pass_mark)
    last = _last_mark(test_set, ledger)
    if last is not None and last.body.digest == digest:
        return last.ref
    body = CommitPassMark(
        digest=digest,
        mark=plan.pass_mark,
        test_set=test_set,
        supersedes=last.ref if last is not None else None,
        reason=reason,
    )
    made.append("pass mark")
    return writer.append("commit.passmark", codec.to_json(body)).ref
