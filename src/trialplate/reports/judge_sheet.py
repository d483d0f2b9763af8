# SPDX-License-Identifier: Apache-2.0
"""The sheet on which a person grades answers: written as CSV, and read back from whatever a spreadsheet made of it.

It is blind: no model, no repeat, nothing that the judge said. A cell that a spreadsheet would run as a formula, or
turn into a number or a date, has an apostrophe in front, which is taken away again on reading. On reading, every text
is held against what was committed: a grade is of the very answer that was drawn, or it is refused.

Source: docs/reference/cli.md, judge-check; RFC 4180.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trialplate.errors import SpecError, UsageError
from trialplate.record import canonical
from trialplate.record.entries import TrialEnd, TrialKey
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.reports.csv_table import safe
from trialplate.reports.trials import answer_text, last_ends, opened, opened_cases
from trialplate.rules.judging import word_key
from trialplate.spec import csv_strict
from trialplate.verify.judges import Sheet
from trialplate.verify.record_view import RecordView

__all__ = ["COLUMNS", "MOST_CELL", "GradedRow", "SheetRow", "entry_named", "read_sheet", "sheet_rows", "sheet_text"]
__all__ += ["grades_in", "row_id"]

COLUMNS = ("row", "sample_id", "question", "references", "answer", "your_verdict", "note")
MOST_CELL = 32_767
"""Characters that a cell of Excel keeps."""
_MOST_BYTES = 256 * 1024 * 1024
_ID = re.compile(r"s([0-9]{1,10})-[0-9a-f]{16}")
_HIDDEN = "\ufeff\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""What a spreadsheet drops or takes for a line end, and what lets a text look like another one."""
_TRUTHS = ("true", "false", "yes", "no")
_LIKELY_NUMBER = (40, 4)
"""A text of at most so many characters and words, with a digit in it, may become a number or a date."""


@dataclass(frozen=True)
class SheetRow:
    """An answer to be graded, as its row shows it."""

    row_id: str
    trial: TrialKey
    question: str
    references: str
    answer: str
    end: TrialEnd
    """The line at which the trial stands."""


@dataclass(frozen=True)
class GradedRow:
    """A row as it was read back, with the line on which it begins."""

    line: int
    row_id: str
    question: str
    references: str
    answer: str
    verdict: str


# ------------------------------------------------------------------------------------------------------------ making


def row_id(seq: int, root: str, trial: TrialKey) -> str:
    """Return what a row is called: the number of its sheet's entry, and a digest that tells nothing of the model.

    It begins with a letter, so that no spreadsheet takes it for a number.
    """
    salted = canonical.encode(["trialplate/judge-sample/1", root, seq, list(trial)])
    return f"s{seq}-{hashlib.sha256(salted).hexdigest()[:16]}"


def sheet_rows(record: RecordView, sheet: Sheet) -> list[SheetRow]:
    """Return the rows of a sheet, in the order in which they were drawn.

    Raises:
        UsageError: CONTENT: what opens its texts is not here.
        VerificationError, FormatError: the record or its content changed after it was verified.
    """
    wanted = set(sheet.answers)
    ends = {end.trial: end for end in last_ends(record.folder, record.signed, record.board, wanted)}
    texts = opened(record.folder, {end.private.answer for end in ends.values() if end.private.answer is not None})
    ids = {key[1] for key in wanted}
    cases = opened_cases(record.folder, (case for case in record.matrix.cases if case.id in ids))
    rows = []
    for key in sheet.answers:
        end = ends[key]
        if key[1] not in cases or end.private.answer not in texts:
            message = "the content of this run is withheld: its questions and answers cannot be shown"
            hint = "put its content.jsonl back into the run's folder"
            raise UsageError(message, where=f"runs/{record.run_id}", hint=hint, code="CONTENT")
        case, body = cases[key[1]], sheet.entry.body
        rows.append(
            SheetRow(
                row_id=row_id(sheet.entry.seq, body.root, key),
                trial=key,
                question=_question(case),
                references="\n".join(_text(item) for item in case.references),
                answer=answer_text(texts[end.private.answer]),
                end=end,
            )
        )
    return rows


def _question(case: Case) -> str:
    """Return what was asked, and what a judge is shown besides."""
    parts = [case.input] if case.input else []
    parts += [f"[answer format] {case.answer_format}"] if case.answer_format is not None else []
    parts += [f"[context] {passage}" for passage in case.context]
    parts += [f"[file] {file.name}" for file in case.files]
    return "\n\n".join(parts)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical.encode(value).decode()


def sheet_text(rows: Sequence[SheetRow]) -> str:
    """Return a sheet as CSV with LF, its last two columns empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, row in enumerate(rows, 1):
        texts = [_cell(_shown(text)) for text in (row.question, row.references, row.answer)]
        writer.writerow([number, row.row_id, *texts, "", ""])
    return out.getvalue()


def _shown(text: str) -> str:
    """Return a text with LF line ends, and with what no spreadsheet keeps written out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        char.encode("unicode_escape").decode()
        if char in _HIDDEN or (unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t")
        else char
        for char in text
    )


def _cell(text: str) -> str:
    """Return a text as a cell that stays a text."""
    guarded = safe(text)
    short = len(text) <= _LIKELY_NUMBER[0] and len(text.split()) <= _LIKELY_NUMBER[1]
    short = short and (any(char.isdigit() for char in text) or text.strip().lower() in _TRUTHS)
    return "'" + text if guarded == text and short else guarded


# ----------------------------------------------------------------------------------------------------------- reading


def read_sheet(path: Path) -> list[GradedRow]:
    """Read a sheet as a person's spreadsheet saved it: comma, semicolon or tab, LF or CRLF, with or without a BOM.

    Raises:
        SpecError: it is no such table; the line is named.
        UsageError: it cannot be read.
    """
    file = str(path)
    text = _decoded(path)
    delimiter, header = _header(text, file)
    places = [header.index(name) for name in COLUMNS]
    rows = []
    for line, cells in list(csv_strict.read(text, file, delimiter))[1:]:
        if not any(cell.strip() for cell in cells):
            continue  # spreadsheets leave such rows at the end
        _, name, question, references, answer, verdict, _ = (cells[place] for place in places)
        rows.append(GradedRow(line, name.strip(), question, references, answer, verdict))
    if not rows:
        raise SpecError(
            "the sheet has no rows", where=f"{file}:1", hint="give the sheet as `judge-check sample` wrote it"
        )
    return rows


def _decoded(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)  # whatever its size is said to be: a device has none
        if len(raw) > _MOST_BYTES:
            raise UsageError("this is too large for a sheet", where=str(path), hint="give the CSV file of a sheet")
    except OSError as error:
        hint = "give the CSV file of a sheet"
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    try:
        text = raw.decode("utf-8-sig")
        return text if "\n" in text else text.replace("\r", "\n")  # as "CSV (Macintosh)" ends its lines
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        hint = 'save it as "CSV UTF-8", not as Unicode text, as a workbook or in the encoding of one country'
        raise SpecError("this is not UTF-8", where=f"{path}:{line}", hint=hint) from None


def _header(text: str, file: str) -> tuple[str, list[str]]:
    """Return the delimiter that finds all columns in the first line, and their names."""
    found: list[str] = []
    for delimiter in csv_strict.DELIMITERS:
        try:
            names = [name.strip().lower() for name in next(csv_strict.read(text, file, delimiter), (0, []))[1]]
        except SpecError:
            continue
        if set(COLUMNS) <= set(names):
            return delimiter, names
        found = max(found, names, key=lambda item: len(set(COLUMNS).intersection(item)))
    missing = ", ".join(name for name in COLUMNS if name not in found)
    hint = "leave the first line as `judge-check sample` wrote it, and save as CSV"
    raise SpecError(f"the header has no column {missing}", where=f"{file}:1", hint=hint)


def entry_named(rows: Sequence[GradedRow], file: str) -> int:
    """Return the number of the ledger entry by which a sheet was logged.

    Raises:
        SpecError: a row names none, or the rows name several.
    """
    named = {row.line: match[1] for row in rows if (match := _ID.fullmatch(row.row_id))}
    hint = "give the sheet as `judge-check sample` wrote it, with only your_verdict and note filled in"
    for row in rows:
        if row.line not in named:
            raise SpecError(f"{row.row_id[:40]!r} is no sample_id", where=f"{file}:{row.line}", hint=hint)
        if named[row.line] != named[rows[0].line]:
            raise SpecError("this row is of another sheet than the first", where=f"{file}:{row.line}", hint=hint)
    return int(named[rows[0].line])


def grades_in(given: Sequence[GradedRow], rows: Sequence[SheetRow], written: dict[str, str], file: str) -> list[str]:
    """Return a person's verdicts in the order of the sheet, in the plan's words; "" for a blank one.

    Args:
        written: the judge's words by `word_key`.

    Raises:
        SpecError: an id that is unknown, repeated or missing, a text that is another one, a word that is no verdict;
            every such line is named, and nothing is taken.
    """
    by_id = {row.row_id: row for row in rows}
    found: dict[str, str] = {}
    problems: list[tuple[int, str]] = []
    lines: dict[str, int] = {}
    for row in given:
        problem = _problem(row, by_id, lines, written)
        if problem is not None:
            problems.append((row.line, problem))
        lines.setdefault(row.row_id, row.line)
        found[row.row_id] = written.get(word_key(row.verdict), "")
    missing = [row.row_id for row in rows if row.row_id not in lines]
    if missing:
        last = given[-1].line if given else 1
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        number = "row is" if len(missing) == 1 else "rows are"
        problems.append((last, f"{len(missing)} {number} missing: {shown}; leave your_verdict blank instead"))
    if problems:
        _refuse(problems, file)
    return [found[row.row_id] for row in rows]


def _problem(row: GradedRow, by_id: dict[str, SheetRow], lines: dict[str, int], written: dict[str, str]) -> str | None:
    asked = by_id.get(row.row_id)
    if asked is None:
        return f"{row.row_id[:40]} is no row of this sheet"
    if row.row_id in lines:
        return f"{row.row_id} stands on line {lines[row.row_id]} already"
    for name in ("question", "references", "answer"):
        if not _same(getattr(row, name), getattr(asked, name)):
            return f"the {name} is not the one that was drawn"
    word = word_key(row.verdict)
    if word and word not in written:
        return f"{row.verdict.strip()[:40]!r} is no verdict: write {', '.join(written.values())} or leave it blank"
    return None


def _same(cell: str, text: str) -> bool:
    """Say whether a cell still holds a text; a spreadsheet may have taken the apostrophe away, or changed line ends."""
    shown = _shown(text)
    return _normal(cell) in (_normal(_cell(shown)), _normal(shown))


def _normal(cell: str) -> str:
    return unicodedata.normalize("NFC", cell.replace("\r\n", "\n").replace("\r", "\n"))


def _refuse(problems: Sequence[tuple[int, str]], file: str) -> None:
    """Raise one error for all problems, at the first of them.

    Raises:
        SpecError: always.
    """
    (line, message), *rest = problems
    more = "; ".join(f"line {number}: {text}" for number, text in rest[:9])
    more += f"; and {len(rest) - 9} more" if len(rest) > 9 else ""
    hint = "correct these lines; texts and ids stay as `judge-check sample` wrote them. Nothing was appended"
    raise SpecError(f"{message}{'; ' + more if more else ''}", where=f"{file}:{line}", hint=hint)
