# SPDX-License-Identifier: Apache-2.0
"""`commit`: fix the test set and the pass mark in the ledger, ahead of any run."""

from __future__ import annotations

import os
from pathlib import Path

from trialplate.cli.project import find_ledger, open_ledger
from trialplate.engine.commits import commit_plan as commit_to
from trialplate.engine.prepare import prepare
from trialplate.errors import EXIT_DONE
from trialplate.record.matrix import mark_digest

__all__ = ["commit_plan"]


def commit_plan(plan: Path) -> int:
    """Commit what is new, and say which entries hold it."""
    folder = plan if os.path.isdir(plan) else plan.parent
    view, writer, key = open_ledger(find_ledger(folder))
    prepared = prepare(plan, key.secret)
    commitments = commit_to(prepared.plan, view, writer)
    for word, ref, digest in (
        ("test set", commitments.test_set, prepared.plan.test_set.root),
        ("pass mark", commitments.pass_mark, mark_digest(prepared.plan.pass_mark)),
    ):
        state = "committed" if word in commitments.made else "already committed"
        print(f"{word} {digest}: {state} as ledger entry {ref.seq}")
    return EXIT_DONE
