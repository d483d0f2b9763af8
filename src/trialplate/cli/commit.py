# SPDX-License-Identifier: Apache-2.0
"""`commit`: fix the test set and the pass mark in the ledger, ahead of any run."""

from __future__ import annotations

import os
import re
from pathlib import Path

from trialplate.cli.mark_words import supersedes_words
from trialplate.engine.commits import commit_plan as commit_to
from trialplate.engine.commits import superseded
from trialplate.engine.prepare import Prepared, prepare
from trialplate.engine.project import find_ledger, open_ledger
from trialplate.errors import EXIT_DONE, UsageError
from trialplate.record.matrix import mark_digest

__all__ = ["commit_plan"]


def commit_plan(plan: Path, reason: str | None = None) -> int:
    """Commit what is new, and say which entries hold it.

    Args:
        reason: why a new mark supersedes another; it is public, and for ever.

    Raises:
        UsageError: there is a reason, and no mark to give it for; or it says nothing, or repeats a private text.
    """
    folder = plan if os.path.isdir(plan) else plan.parent
    view, writer, key = open_ledger(find_ledger(folder))
    prepared = prepare(plan, key.secret)
    before = superseded(prepared.plan, view)
    if reason is not None and before is None:
        message = "there is no earlier mark for this test set that this one supersedes: nothing to give a reason for"
        raise UsageError(message, hint="leave --reason out; see `trialplate ledger log`")
    if reason is not None:
        _check_reason(reason, prepared)
    commitments = commit_to(prepared.plan, view, writer, reason.strip() if reason is not None else None)
    for word, ref, digest in (
        ("test set", commitments.test_set, prepared.plan.test_set.root),
        ("pass mark", commitments.pass_mark, mark_digest(prepared.plan.pass_mark)),
    ):
        state = "committed" if word in commitments.made else "already committed"
        print(f"{word} {digest}: {state} as ledger entry {ref.seq}")
    if before is not None:
        print(supersedes_words(before, prepared.plan, reason))
    return EXIT_DONE


def _check_reason(reason: str, prepared: Prepared) -> None:
    """Refuse a reason that says nothing, or repeats a private text: the ledger is public, and for ever."""
    if not re.fullmatch("[^\\u0000-\\u001f\\u007f-\\u009f]{1,1000}", reason) or not reason.strip():
        hint = "say in --reason why the mark changes"
        raise UsageError("a reason is one line of at most 1,000 characters", hint=hint)
    from trialplate.verify.content import leak_in

    leak = leak_in(reason)
    for value in prepared.opened.values():
        text = leak(value)
        if text is not None and prepared.plan.test_set.visibility == "private":
            message = f"the reason repeats a private text, {text[:40]!r}, and the ledger is public"
            raise UsageError(message, hint="say it without quoting a case", code="PRIVATE-TEXT-PUBLIC")
