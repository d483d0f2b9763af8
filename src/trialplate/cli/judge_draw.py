# SPDX-License-Identifier: Apache-2.0
"""`judge-check sample`: draws answers for a person to grade. The sheet is in the ledger before its file is written.

The same command again gives the same sheet and appends nothing, so a lost file can be had again, and no other answers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from trialplate.cli.report import refuse_evidence
from trialplate.engine.project import open_writer
from trialplate.errors import EXIT_DONE, EXIT_UNTRUSTED, StorageError, UsageError, nearest
from trialplate.ledger.durable import PRIVATE, atomic_replace
from trialplate.record import canonical, codec
from trialplate.record.entries import JudgeSheet
from trialplate.record.matrix import judge_key
from trialplate.record.values import Scorer
from trialplate.reports.judge_sheet import MOST_CELL, SheetRow, sheet_rows, sheet_text
from trialplate.rules.judging import judges_of, places
from trialplate.verify.cli import print_json, reader_of
from trialplate.verify.findings import counted
from trialplate.verify.judges import Sheet, Sheets, sheet_of
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.locate import Found, find_with_ledger
from trialplate.verify.output import tell
from trialplate.verify.procedure import Verified, verify
from trialplate.verify.record_view import RecordView
from trialplate.verify.text import report_lines, visible

__all__ = ["DrawOptions", "refuse", "draw_answers"]

GRADES = "grades.csv"
_MOST_GRADES = 64_000
"""Bytes that the grades of a sheet may take in one ledger entry."""


@dataclass(frozen=True)
class DrawOptions:
    """What the command line said."""

    scorer: str | None = None
    count: int = 20
    stratify: str | None = None
    output: Path | None = None
    bom: bool = False
    json: bool = False


def draw_answers(name: str, options: DrawOptions, ledger: Path | None) -> int:
    """Log a sheet and write it; returns the exit code."""
    if options.stratify not in (None, "verdict"):
        hint = "leave --stratify out, or write --stratify verdict"
        raise UsageError(f"a sheet cannot be stratified by {options.stratify!r}", hint=hint)
    folder, ledger = find_with_ledger(name, Path.cwd(), ledger)
    if ledger is None:
        raise UsageError("a judge is checked in its ledger", where=name, hint="give --ledger DIR")
    output = options.output or Path(GRADES)
    if str(output) == "-":
        hint = f"name a file, such as {GRADES}"
        raise UsageError("a sheet is a file, and not printed", where="--output -", hint=hint)
    refuse_evidence(output, ledger.parent)
    done = verify(Found(ledger, folder), reader_of(os.environ))
    if done.record is None or done.ledger is None or not done.report.holds:
        return refuse(done)
    view, record = done.ledger, done.record
    sheet, fresh = _sheet(view, record, options)
    rows = sheet_rows(record, sheet)
    _check_size(sheet)
    data = (b"\xef\xbb\xbf" if options.bom else b"") + sheet_text(rows).encode("utf-8")
    there = _stands(output, data)
    if fresh:
        writer = open_writer(view.folder, view.keys[0].line)
        writer.append("judge.sample", codec.to_json(sheet.entry.body), at=sheet.entry.seq)
    if not there:
        _write(output, data)
    _say(sheet, rows, output, fresh, options)
    return EXIT_DONE


def refuse(done: Verified) -> int:
    """Say why nothing is done with a run that does not hold, or has no signed record; returns the exit code."""
    for line in report_lines(done.report):
        tell(line)
    if not done.report.holds:
        return EXIT_UNTRUSTED
    raise UsageError("this run has no signed record", where=done.report.subject, hint="trialplate resume it first")


def _judge(record: RecordView, wanted: str | None) -> Scorer:
    """Return the judge that is meant.

    Raises:
        UsageError: there is none, or not of that name, or several and none was named.
    """
    judges = judges_of(record.plan)
    names = [item.name for item in judges]
    if not judges:
        raise UsageError("this run has no judge", where=f"runs/{record.run_id}", hint="name a run with a judge scorer")
    if wanted is None and len(judges) == 1:
        return judges[0]
    if wanted in names:
        return judges[names.index(wanted)]
    near = nearest(wanted, names) if wanted else None
    hint = f"did you mean {near}?" if near else f"name one with --scorer: {', '.join(names)}"
    raise UsageError(f"no judge {wanted!r}" if wanted else f"this run has {len(names)} judges", hint=hint)


def _sheet(view: LedgerView, record: RecordView, options: DrawOptions) -> tuple[Sheet, bool]:
    """Return the sheet that was logged for this very question, or a new one, and whether it is new.

    Raises:
        UsageError: the run has not ended, or none of its answers is left.
    """
    scorer = _judge(record, options.scorer)
    where = f"runs/{record.run_id}"
    if record.end is None:
        hint = f"wait until it ends, or `trialplate resume {record.run_id}`"
        raise UsageError("this run has not ended: which answers it has is not settled", where=where, hint=hint)
    sheets = Sheets(view, record, judge_key(record.plan, scorer))
    asked = JudgeSheet(
        run_id=record.run_id,
        size=record.end.body.size,
        root=record.end.body.root,
        scorer=scorer.name,
        judge=judge_key(record.plan, scorer),
        count=options.count,
        population=1,
        stratify=options.stratify is not None,
    )
    for sheet in sheets.found.values():
        if isinstance(sheet, Sheet) and sheet.entry.body.replace(population=1) == asked:
            return sheet, False
    trials = sheets.left(scorer, asked.size)
    if not trials:
        done = " that is on no sheet yet" if sheets.found else ""
        hint = "run the plan again for more answers" if sheets.found else "see `trialplate report` for why"
        raise UsageError(f"{scorer.name} scored no answer of a candidate{done}", where=where, hint=hint)
    body = asked.replace(population=len(places(trials)))
    made = sheet_of(record, scorer, LedgerEntry(len(view.entries), "", "judge.sample", body, b""), trials)
    if isinstance(made, str):
        raise UsageError(f"no sheet can be drawn: it {made}", where=where, hint="name another judge with --scorer")
    return made, True


def _check_size(sheet: Sheet) -> None:
    """Refuse a sheet whose grades would not fit into the one entry that is to hold them.

    Raises:
        UsageError: it is too long.
    """
    longest = max(len(canonical.encode(word)) for word in sheet.scale.written.values()) + 1
    most = _MOST_GRADES // longest
    if len(sheet.answers) > most:
        hint = f"draw several sheets, with --count {most} or less"
        raise UsageError(f"a sheet of {len(sheet.answers)} rows is too long for one ledger entry", hint=hint)


def _stands(path: Path, data: bytes) -> bool:
    """Say whether the very same file is there already.

    Raises:
        UsageError: another file is there, or a folder: it may hold grades.
    """
    if not path.exists() and not path.is_symlink():
        if not path.parent.is_dir():
            raise UsageError("there is no such folder", where=f"--output {path}", hint="make it, or name another file")
        return False
    if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
        return True
    hint = "name another file with -o, or move that one away"
    raise UsageError("another file stands there, and may hold grades", where=f"--output {path}", hint=hint)


def _write(path: Path, data: bytes) -> None:
    try:
        atomic_replace(path, data, PRIVATE)
    except StorageError as error:
        error.hint = f"the sheet is logged: the same command again writes it; {error.hint}"
        raise


def _say(sheet: Sheet, rows: list[SheetRow], output: Path, fresh: bool, options: DrawOptions) -> None:
    """Print what was drawn, and warn of what a person should know before grading."""
    body: JudgeSheet = sheet.entry.body
    if len(rows) < body.count:
        tell(f"warning: only {counted(len(rows), 'answer')} of {body.count} that were asked for: there are no more")
    if body.stratify:
        tell("note: a stratified sheet never counts as evidence; only its weighted agreement is reported")
    long = [number for number, row in enumerate(rows, 1) if max(map(len, (row.question, row.answer))) > MOST_CELL]
    if long:
        tell(f"warning: Excel would cut row {long[0]} and so change it: use a program that keeps long cells")
    if options.json:
        said = {"format": "trialplate-judge-sheet/1", "file": str(output), "entry": sheet.entry.seq, "new": fresh}
        print_json({**said, "rows": len(rows), **codec.to_json(body)})
        return
    logged = "logged as" if fresh else "logged before as"
    print(f"wrote {visible(str(output))}: {counted(len(rows), 'answer')} of {body.population}, judged by {body.scorer}")
    print(f"{logged} ledger entry {sheet.entry.seq}; the judge counts as unchecked until it is scored")
    print(f"fill in your_verdict with {', '.join(sheet.scale.written.values())}, or leave it blank; then")
    print(f"  trialplate judge-check score {visible(str(output))}")
    print("it holds questions and answers in plain text: keep it as private as they are")
