# SPDX-License-Identifier: Apache-2.0
"""`baseline set` and `baseline list`: which run the rules on a baseline compare with, where a plan names no other."""

from __future__ import annotations

import os
from pathlib import Path

from trialplate.engine.baselines import in_force
from trialplate.engine.project import find_ledger, open_writer, verified_ledger
from trialplate.errors import EXIT_DONE, UsageError, nearest
from trialplate.record import codec
from trialplate.record.entries import BaselineSet, CommitTestSet
from trialplate.record.frozen import Json
from trialplate.reports.terminal import aligned
from trialplate.verify.baselines import doubts_of
from trialplate.verify.cli import print_json, reader_of
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.locate import Found, find_with_ledger
from trialplate.verify.procedure import verify
from trialplate.verify.record_view import RecordView
from trialplate.verify.text import visible

__all__ = ["list_baselines", "set_baseline"]


def set_baseline(name: str, model: str | None, given: Path | None) -> int:
    """Verify a run and name it as the baseline; the newest entry is not appended again.

    Raises:
        UsageError: the run cannot be one: a pilot, unfinished, waived, or without that configuration.
        VerificationError: it does not hold.
    """
    run, folder = find_with_ledger(name, Path.cwd(), given)
    if folder is None:
        raise UsageError("a record without its ledger cannot be a baseline", where=name, hint="give --ledger DIR")
    done = verify(Found(folder, run), reader_of(os.environ))
    done.report.require()
    ledger, record = done.ledger, done.record
    if ledger is None or record is None:
        raise UsageError(f"{run.name} has no signed record", hint="name a full run that ended as complete")
    body = _entry(record, ledger, model)
    last = in_force(ledger)
    if last is not None and last.body == body:
        print(f"{_named(body)}: the baseline already, by ledger entry {last.seq}")
    else:
        writer = open_writer(ledger.folder, ledger.keys[0].line)
        seq = writer.append("baseline", codec.to_json(body), at=len(ledger.entries)).seq
        print(f"{_named(body)}: the baseline from now on, by ledger entry {seq}")
    for told in doubts_of(ledger, body, [*record.matrix.counts]):
        print(f"note: {visible(told)}")
    return EXIT_DONE


def _entry(record: RecordView, ledger: LedgerView, model: str | None) -> BaselineSet:
    """Return a verified run as a baseline."""
    end, hint = record.end, "name a full run that ended as complete"
    if record.start.selection != "full":
        raise UsageError(f"{record.run_id} is a pilot: it decides nothing, and nothing is compared with it", hint=hint)
    if ledger.waived(record.run_id):
        raise UsageError(f"{record.run_id} was waived: it does not count", hint="name one that counts")
    if end is None or end.body.status != "complete":
        word = "unfinished" if end is None else "incomplete"
        raise UsageError(f"{record.run_id} is {word}", hint=f"finish it with `trialplate resume {record.run_id}`")
    configuration = None if model is None else _configuration(record, model)
    return BaselineSet(run_id=record.run_id, size=end.body.size, root=end.body.root, configuration=configuration)


def _configuration(record: RecordView, wanted: str) -> str:
    """Return the configuration of a run that `--model NAME[/PROFILE]` means; a comparison may be one."""
    there = [item for item in record.plan.configurations if item.name in record.matrix.counts]
    names = [item.name for item in there]
    found = [wanted] if wanted in names else [item.name for item in there if item.model == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{wanted} has several profiles", hint=f"name one of {', '.join(found)}", code="MODEL")
    near = nearest(wanted, names)
    hint = f"did you mean {near}?" if near else "name one of them with --model"
    raise UsageError(f"no configuration {wanted!r} in this run; it has {', '.join(names)}", hint=hint, code="MODEL")


def _named(body: BaselineSet) -> str:
    compared = "each configuration with its own name" if body.configuration is None else body.configuration
    return f"{body.run_id} ({compared})"


def list_baselines(given: Path | None, as_json: bool) -> int:
    """Print every baseline that the ledger names, the newest last: that one is in force."""
    ledger = verified_ledger(find_ledger(Path.cwd(), given))
    entries = list(ledger.bodies(BaselineSet))
    if as_json:
        made = [_as_json(entry, ledger, entry is entries[-1]) for entry in entries]
        print_json({"format": "trialplate-baselines/1", "checkpoint": str(ledger.signed), "baselines": made})
        return EXIT_DONE
    if not entries:
        print("no baseline yet: `trialplate baseline set RUN` names one")
        return EXIT_DONE
    rows = [["entry", "set", "run", "configuration", "test set", "its root", "record"]]
    for entry in entries:
        body, commit = entry.body, _test_set(entry, ledger)
        rows.append(
            [
                str(entry.seq),
                entry.time[:16].replace("T", " "),
                body.run_id,
                body.configuration or "(each its own)",
                visible(" ".join(filter(None, (commit.name, commit.version)))),
                commit.root[:19],
                _state(body.run_id, ledger),
            ]
        )
    for line in aligned(rows, left=range(len(rows[0]))):
        print(line)
    print(f"in force: {_named(entries[-1].body)}, where a plan names no other")
    return EXIT_DONE


def _test_set(entry: LedgerEntry, ledger: LedgerView) -> CommitTestSet:
    """Return the test set of the run that an entry names, which a ledger that holds has."""
    start = ledger.start_of(entry.body.run_id)
    commit = None if start is None else ledger.body_at(start.body.test_set.seq, CommitTestSet)
    assert commit is not None  # noqa: S101
    return commit


def _state(run_id: str, ledger: LedgerView) -> str:
    """Return whether the record is here, and whether the run was waived meanwhile."""
    here = "here" if _is_here(run_id, ledger) else "missing"
    return f"{here}, waived" if ledger.waived(run_id) else here


def _is_here(run_id: str, ledger: LedgerView) -> bool:
    return (ledger.folder.parent / "runs" / run_id / "record.jsonl").is_file()


def _as_json(entry: LedgerEntry, ledger: LedgerView, newest: bool) -> Json:
    body, commit = entry.body, _test_set(entry, ledger)
    return {
        "seq": entry.seq,
        "time": entry.time,
        "run_id": body.run_id,
        "configuration": body.configuration,
        "size": body.size,
        "root": body.root,
        "test_set": {"name": commit.name, "version": commit.version, "root": commit.root},
        "here": _is_here(body.run_id, ledger),
        "waived": ledger.waived(body.run_id),
        "in_force": newest,
    }
