# SPDX-License-Identifier: Apache-2.0
"""`judge-check score`: reads a graded sheet, logs the grades, and says how far people and judge agree.

Nothing is appended unless every row is as it was drawn. The same grades of the same person are appended once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from trialplate.cli.judge_draw import refuse
from trialplate.cli.waive import check_private
from trialplate.engine.project import find_ledger, open_writer, verified_ledger
from trialplate.errors import EXIT_DONE, EXIT_NEGATIVE, UsageError
from trialplate.record import codec
from trialplate.record.entries import JudgeCheck, JudgeSheet
from trialplate.record.note import parse_key
from trialplate.reports.judge_numbers import Numbers, numbers_of, self_agreement
from trialplate.reports.judge_sheet import entry_named, grades_in, read_sheet, sheet_rows
from trialplate.reports.judge_text import People, Scored, between, score_json, score_lines
from trialplate.verify.cli import print_json, reader_of
from trialplate.verify.findings import Report
from trialplate.verify.judges import JudgeChecks, Sheet, Sheets
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.locate import Found
from trialplate.verify.output import tell
from trialplate.verify.procedure import verify
from trialplate.verify.record_view import RecordView, read_record

__all__ = ["ScoreOptions", "score_sheets"]


@dataclass(frozen=True)
class ScoreOptions:
    """What the command line said."""

    graders: Sequence[str] = ()
    minimum: float | None = None
    json: bool = False


def score_sheets(paths: Sequence[Path], options: ScoreOptions, ledger: Path | None) -> int:
    """Score one sheet as one or more people graded it; returns the exit code: 1 for an agreement below `--min`."""
    folder = find_ledger(Path.cwd(), ledger)
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        hint = "give one file for each person who graded the sheet"
        raise UsageError("the same file twice is not two people's grades", where=str(paths[-1]), hint=hint)
    given = [read_sheet(path) for path in paths]
    seqs = [entry_named(rows, str(path)) for rows, path in zip(given, paths, strict=True)]
    if len(set(seqs)) > 1:
        hint = "score one sheet at a time; several files are for several people who graded the same one"
        raise UsageError("these are several sheets", where=str(paths[1]), hint=hint)
    body = _logged(folder, seqs[0], paths[0])
    done = verify(Found(folder, _run_of(folder, body)), reader_of(os.environ))
    if done.record is None or done.ledger is None or not done.report.holds:
        return refuse(done)
    view, record = done.ledger, done.record
    sheet = Sheets(view, record, body.judge).found[seqs[0]]
    assert isinstance(sheet, Sheet)  # noqa: S101  what holds has its sheets
    rows = sheet_rows(record, sheet)
    written = dict(sheet.scale.written)
    words = [grades_in(item, rows, written, str(path)) for item, path in zip(given, paths, strict=True)]
    for item, path in zip(words, paths, strict=True):
        if not any(item):
            hint = f"fill in your_verdict with {', '.join(written.values())}"
            raise UsageError("nothing is graded", where=str(path), hint=hint)
    graders = _graders(options.graders, len(paths), view, record)
    alpha = float(1 - Fraction(record.plan.pass_mark.confidence))
    numbers = [numbers_of(record, sheet, rows, name, item, alpha) for name, item in zip(graders, words, strict=True)]
    entries = _append(view, sheet, graders, words)
    _show(folder, record, sheet, numbers, entries, between(sheet, graders, words), options)
    lowest = min(item.lower for item in numbers)
    return EXIT_NEGATIVE if options.minimum is not None and lowest < options.minimum else EXIT_DONE


def _logged(folder: Path, seq: int, path: Path) -> JudgeSheet:
    """Return the sheet that a file says it is.

    Raises:
        UsageError: the ledger has logged no such sheet.
    """
    body = verified_ledger(folder).body_at(seq, JudgeSheet)
    if body is None:
        hint = "score it in the project where it was drawn, or give --ledger DIR"
        raise UsageError(f"entry {seq} of this ledger is no sheet of a judge", where=str(path), hint=hint)
    return body


def _run_of(ledger: Path, body: JudgeSheet) -> Path:
    run = ledger.parent / "runs" / body.run_id
    if not run.is_dir():
        hint = "put its folder back: the grades are held against what it says"
        raise UsageError("the run of this sheet is not here", where=f"runs/{body.run_id}", hint=hint)
    return run


def _graders(given: Sequence[str], number: int, view: LedgerView, record: RecordView) -> list[str]:
    """Return the name of each person; without one it is that of the ledger's key.

    Raises:
        UsageError: there are not as many names as files, a name comes twice, or it cannot stand in the ledger.
    """
    own = parse_key(view.keys[0].line).name
    names = list(given) or ([own] if number == 1 else [f"{own} {place}" for place in range(1, number + 1)])
    if len(names) != number or len(set(names)) != number:
        hint = "give --grader once for each file, in their order, each with another name"
        raise UsageError(f"{len(names)} names for {number} files", where="--grader", hint=hint)
    for name in names:
        if not (1 <= len(name) <= 128 and name.isascii() and name.isprintable() and name.strip()):
            hint = "give 1 to 128 printable ASCII characters, such as initials"
            raise UsageError("a name that cannot stand in the ledger", where="--grader", hint=hint)
        check_private(record.folder, name, "the grader's name")
    return names


def _append(view: LedgerView, sheet: Sheet, graders: Sequence[str], words: Sequence[Sequence[str]]) -> list[int]:
    """Append what is not there yet, all of it or nothing; returns the number of each entry."""
    made = [
        JudgeCheck(sheet=sheet.entry.ref, judge=sheet.entry.body.judge, grader=name, grades=tuple(item))
        for name, item in zip(graders, words, strict=True)
    ]
    there = {entry.body: entry.seq for entry in view.bodies(JudgeCheck)}
    fresh = [body for body in made if body not in there]
    earlier = [body.grader for body in there if body.sheet == sheet.entry.ref and body not in made]
    if fresh and earlier:
        tell(f"note: this sheet was graded before, by {', '.join(dict.fromkeys(earlier))}; the lower agreement counts")
    if fresh:
        writer = open_writer(view.folder, view.keys[0].line)
        entries = [("judge.check", codec.to_json(body)) for body in fresh]
        done = writer.append_many(entries, at=len(view.entries))
        there |= {body: item.seq for body, item in zip(fresh, done, strict=True)}
        tell(f"grades appended as ledger entr{'y' if len(done) == 1 else 'ies'} {', '.join(str(i.seq) for i in done)}")
    return [there[body] for body in made]


def _show(
    folder: Path,
    record: RecordView,
    sheet: Sheet,
    numbers: list[Numbers],
    entries: list[int],
    people: list[People],
    options: ScoreOptions,
) -> None:
    """Print this sheet's numbers, and those of all checks of this judge, read from the ledger as it now is."""
    view = verified_ledger(folder)

    def other(run_id: str) -> RecordView | None:
        run, found = folder.parent / "runs" / run_id, Report(run_id)
        there = read_record(run, view, found) if run.is_dir() else None
        return there if found.holds else None

    report = Report("judges")
    checks = JudgeChecks(view, record, other, report)
    pooled = checks.grades()[sheet.scorer.name]
    for item in report.findings:
        tell(f"note: {item.message}")
    scored = Scored(
        record=record,
        sheet=sheet,
        numbers=numbers,
        entries=entries,
        people=people,
        itself=self_agreement(record, sheet),
        pooled=pooled,
        minimum=options.minimum,
    )
    if options.json:
        print_json(score_json(scored))
        return
    for line in score_lines(scored):
        print(line)
