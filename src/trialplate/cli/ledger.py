# SPDX-License-Identifier: Apache-2.0
"""`ledger init|log|show|doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from trialplate.engine.project import begin_ledger, find_ledger, open_writer, verified_ledger
from trialplate.errors import EXIT_DONE, UsageError, nearest
from trialplate.ledger.keys import LedgerKey, key_names, load_signer
from trialplate.record import canonical
from trialplate.record.decisions import Decision
from trialplate.record.entries import (
    BaselineSet,
    CommitPassMark,
    CommitTestSet,
    Genesis,
    JudgeCheck,
    JudgeSheet,
    Pin,
    RunEnd,
    RunStart,
    Waiver,
)
from trialplate.verify.cli import print_json
from trialplate.verify.findings import Report, counted
from trialplate.verify.known import config_folder
from trialplate.verify.ledger_view import LedgerEntry
from trialplate.verify.text import visible

__all__ = ["begin", "doctor", "show_entry", "show_log"]


def begin(name: str | None, key_name: str | None) -> int:
    """Make a ledger in this folder."""
    here = Path.cwd()
    key = _key(key_name)
    origin = begin_ledger(here, name or here.name, key)
    print(f"began the ledger {origin}, signed by {key.line}")
    return EXIT_DONE


def _key(name: str | None) -> LedgerKey:
    """Return the key of a name, or the only one there is."""
    if not (os.environ.get("TRIALPLATE_KEY") or os.environ.get("TRIALPLATE_KEY_FILE")):
        there = key_names(config_folder(os.environ))
        none = "make one with `trialplate keys new NAME`"
        if name is None and len(there) != 1:
            hint = none if not there else f"say which with --key: {', '.join(there)}"
            raise UsageError("which key signs this ledger?", hint=hint)
        if name is not None and name not in there:
            near = nearest(name, there)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(there)}" if there else none
            raise UsageError(f"you have no key {name!r}", hint=hint)
        name = name or there[0]
    return load_signer(name or "", os.environ)


def show_log(given: Path | None, *, as_json: bool = False) -> int:
    """List the entries of a verified ledger, a line each, or all of them as one object."""
    view = verified_ledger(find_ledger(Path.cwd(), given))
    if as_json:
        shown = [{"digest": entry.ref.digest, "entry": canonical.decode(entry.line)} for entry in view.entries]
        made = {"format": "trialplate-ledger-log/1", "checkpoint": str(view.signed), "entries": shown}
        print_json(made)
        return EXIT_DONE
    for entry in view.entries:
        print(f"{entry.seq:>5}  {entry.time}  {entry.type:<16} {visible(' '.join(_words(entry)))}")
    print(f"checkpoint: {view.signed}")
    return EXIT_DONE


def _words(entry: LedgerEntry) -> Iterator[str]:
    body = entry.body
    if isinstance(body, Genesis):
        yield body.origin
    elif isinstance(body, CommitTestSet):
        yield f"{body.name}: {counted(body.cases, 'case')}"
    elif isinstance(body, CommitPassMark):
        yield f"{counted(len(body.mark.rules), 'rule')} {body.digest[:19]}"
        if body.supersedes is not None:
            yield f"supersedes entry {body.supersedes.seq}"
    elif isinstance(body, RunStart):
        yield f"{body.run_id} {body.selection} {counted(body.trials, 'trial')},"
        yield f"mark {body.pass_mark.seq}, test set {body.test_set.seq}"
    elif isinstance(body, RunEnd):
        yield f"{body.run_id} {body.status} at {body.size} lines"
    elif isinstance(body, Pin):
        yield f"{body.run_id} at {body.size} lines"
    elif isinstance(body, BaselineSet):
        yield f"{body.run_id} {body.configuration or 'each configuration'}"
    elif isinstance(body, Waiver):
        yield f"{body.run_id}: {body.reason}"
    elif isinstance(body, Decision):
        yield f"{body.run_id} {body.configuration} {body.decision}"
    elif isinstance(body, JudgeSheet):
        rows = min(body.count, body.population)
        yield f"{body.run_id} {counted(rows, 'answer')} of {body.population}, judged by {body.scorer}"
    elif isinstance(body, JudgeCheck):
        graded = sum(map(bool, body.grades))
        yield f"sheet {body.sheet.seq}, {graded} of {counted(len(body.grades), 'answer')} graded by {body.grader}"


def show_entry(seq: int, given: Path | None) -> int:
    """Print one entry, indented, in ASCII."""
    view = verified_ledger(find_ledger(Path.cwd(), given))
    if seq >= len(view.entries):
        raise UsageError(
            f"there is no entry {seq}; the ledger has {len(view.entries)}", hint="see `trialplate ledger log`"
        )
    entry = view.entries[seq]
    shown = {"digest": entry.ref.digest, "entry": canonical.decode(entry.line)}
    print_json(shown)
    return EXIT_DONE


def doctor(given: Path | None) -> int:
    """Check a ledger and set aside what stands beyond its checkpoint, which is told on stderr.

    The key is only needed where there is something to set aside: that is the writer's to do.
    """
    folder = find_ledger(Path.cwd(), given)
    report = Report("ledger")
    view = verified_ledger(folder, report)
    if any(item.code == "LEDGER-UNSIGNED-TAIL" for item in report.findings):
        open_writer(folder, view.keys[0].line).settle()
    print(f"holds: {view.signed}")
    return EXIT_DONE
