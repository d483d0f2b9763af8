# SPDX-License-Identifier: Apache-2.0
"""Committing a plan's test set and pass mark: once each, before the run that is judged by them."""

from __future__ import annotations

from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.record import codec
from trialplate.record.entries import CommitPassMark, CommitTestSet, EntryRef
from trialplate.record.matrix import mark_digest
from trialplate.record.values import Plan
from trialplate.verify.ledger_view import LedgerView

__all__ = ["Commitments", "commit_plan"]


class Commitments:
    """The two commitments of a plan, and whether they were made just now."""

    def __init__(self, test_set: EntryRef, pass_mark: EntryRef, made: tuple[str, ...]) -> None:
        self.test_set, self.pass_mark, self.made = test_set, pass_mark, made


def commit_plan(plan: Plan, ledger: LedgerView, writer: LedgerWriter) -> Commitments:
    """Return the commitments of a plan, appending those that the ledger does not hold yet.

    A mark that follows another for the same test set names the one it supersedes, so that a change can be seen.
    """
    test_set = plan.test_set
    body = CommitTestSet(
        name=test_set.name,
        version=test_set.version,
        cases=len(test_set.cases),
        root=test_set.root,
        digest=test_set.digest,
    )
    made: list[str] = []
    found = next((e.ref for e in ledger.bodies(CommitTestSet) if e.body == body), None)
    if found is None:
        found = writer.append("commit.testset", codec.to_json(body)).ref
        made.append("test set")
    return Commitments(found, _commit_mark(plan, found, ledger, writer, made), tuple(made))


def _commit_mark(plan: Plan, test_set: EntryRef, ledger: LedgerView, writer: LedgerWriter, made: list[str]) -> EntryRef:
    """Return the newest commitment to this very mark for this test set, appending one if another came after it."""
    digest = mark_digest(plan.pass_mark)
    earlier = [e for e in ledger.bodies(CommitPassMark) if e.body.test_set == test_set]
    if earlier and earlier[-1].body.digest == digest:
        return earlier[-1].ref
    body = CommitPassMark(
        digest=digest,
        mark=plan.pass_mark,
        test_set=test_set,
        supersedes=earlier[-1].ref if earlier else None,
    )
    made.append("pass mark")
    return writer.append("commit.passmark", codec.to_json(body)).ref
