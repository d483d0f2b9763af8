# SPDX-License-Identifier: Apache-2.0
"""`waive`: a signed, public statement that one run does not count."""

from __future__ import annotations

from pathlib import Path

from trialplate.engine.project import find_ledger, open_ledger
from trialplate.errors import EXIT_DONE, StorageError, UsageError, nearest
from trialplate.ledger.lock import LOCK_NAME, is_held
from trialplate.record import codec
from trialplate.record.entries import Waiver
from trialplate.verify.content import leak_in, openings

__all__ = ["check_private", "waive_run"]


def waive_run(name: str, reason: str, ledger: Path | None) -> int:
    """Append a waiver for a run that the ledger started; its record need not be here any more."""
    view, writer, key = open_ledger(find_ledger(Path.cwd(), ledger))
    started = [entry.body.run_id for entry in view.starts()]
    matches = started[-1:] if name == "latest" else [item for item in started if item.startswith(Path(name).name)]
    if len(matches) != 1:
        shown = ", ".join(matches or started[-5:]) or "none"
        what = "is the beginning of several runs" if matches else "is no run of this ledger"
        near = None if matches else nearest(name, [*started, "latest"], cutoff=0.75)
        hint = f"did you mean {near}?" if near else "give the run's id, or a beginning that only it has"
        raise UsageError(f"{name!r} {what}: {shown}", hint=hint)
    if view.waived(matches[0]):
        raise UsageError(f"{matches[0]} is waived already", hint="see `trialplate ledger log`; a waiver is for ever")
    if not reason.strip():
        raise UsageError("a waiver needs a reason", hint="say in --reason why the run does not count")
    run = view.folder.parent / "runs" / matches[0]
    check_private(run, reason, "the reason")
    if is_held(run / LOCK_NAME):  # by whoever writes the record; a waiver is for ever
        hint = "wait until it is done, or end it"
        raise StorageError("this run is still going on", where=f"runs/{run.name}", hint=hint, code="LOCKED")
    entry = writer.append("waiver", codec.to_json(Waiver(run_id=matches[0], reason=reason.strip())))
    print(f"waived {matches[0]} as ledger entry {entry.seq}, by the operator himself ({key.line})")
    return EXIT_DONE


def check_private(run: Path, given: str, what: str) -> None:
    """Refuse words for the ledger that repeat a private text of the run: the ledger is public, and for ever.

    Args:
        what: what these words are.

    Raises:
        UsageError: it does.
    """
    leak = leak_in(given)
    if not (run / "content.jsonl").exists():
        return
    for _, value in openings(run, run.name):
        text = leak(value)
        if text is not None:
            message = f"{what} repeats a private text, {text[:40]!r}, and the ledger is public"
            raise UsageError(message, hint="say it without quoting the case or the answer", code="PRIVATE-TEXT-PUBLIC")
