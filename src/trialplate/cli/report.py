# SPDX-License-Identifier: Apache-2.0
"""`report`: what a run came to, verified first, in a terminal."""

from __future__ import annotations

import os
from pathlib import Path

from trialplate.errors import EXIT_DONE, EXIT_NEGATIVE, UsageError
from trialplate.record.entries import RECORD_TYPES, TrialEnd, TrialKey
from trialplate.record.frozen import Json
from trialplate.reports.summary import failures
from trialplate.reports.terminal import render
from trialplate.verify.cli import reader_of
from trialplate.verify.content import openings
from trialplate.verify.locate import Found, find_run, given_ledger, ledger_above
from trialplate.verify.log_file import LogFile, typed_entry
from trialplate.verify.procedure import verify
from trialplate.verify.record_view import RecordView
from trialplate.verify.text import report_lines

__all__ = ["show_report"]


def show_report(name: str, *, by_tag: bool, failures: int, ledger: Path | None) -> int:
    """Print a report; returns the exit code: 3 if the record does not hold, whatever it says."""
    run = find_run(name, Path.cwd(), ledger)
    ledger = given_ledger(Path.cwd(), ledger) if ledger else ledger_above(run)
    if ledger is None:
        raise UsageError("a record without its ledger cannot be reported on", where=name, hint="give --ledger DIR")
    done = verify(Found(ledger, run), reader_of(os.environ))
    gate = done.gate
    if gate is None or not done.report.holds:
        print("\n".join(report_lines(done.report)))
        print(f"NO REPORT: {'the run has no signed record' if done.report.holds else 'the evidence does not hold'}")
        return done.report.exit_code or EXIT_NEGATIVE
    candidates = [item.name for item in gate.record.plan.configurations if item.role == "candidate"]
    decisions = [gate.decide(item) for item in candidates if item in gate.record.matrix.counts]
    ends, opened = _opened(gate.record, failures)
    for line in render(gate, decisions, ends, opened, by_tag=by_tag, shown=failures):
        print(line)
    return EXIT_DONE


def _opened(record: RecordView, shown: int) -> tuple[dict[TrialKey, TrialEnd], dict[str, Json]]:
    """Return the last attempts of the failures to show, and what opens their private parts."""
    wanted: set[TrialKey] = set()
    seen: dict[str, int] = {}
    for item in failures(record):
        seen[item.configuration] = seen.get(item.configuration, 0) + 1
        if seen[item.configuration] <= shown:
            wanted.add((item.configuration, item.case, item.repeat))
    ends: dict[TrialKey, TrialEnd] = {}
    log = LogFile(record.folder / "record.jsonl", "record.jsonl", record.size)
    for seq, line in enumerate(log.lines("RECORD")):
        _, body = typed_entry(line, seq, "record.jsonl", RECORD_TYPES)
        if isinstance(body, TrialEnd) and body.trial in wanted:
            ends[body.trial] = body
    needed = {c for end in ends.values() for c in end.private.__dict__.values() if c is not None}
    opened: dict[str, Json] = {}
    if needed and (record.folder / "content.jsonl").exists():
        opened = {c: value for c, value in openings(record.folder, record.run_id) if c in needed}
    return ends, opened
