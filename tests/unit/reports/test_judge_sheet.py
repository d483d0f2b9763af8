# SPDX-License-Identifier: Apache-2.0
"""A sheet survives a spreadsheet, and none of its cells is a formula; what comes back is the answer that was drawn."""

from __future__ import annotations

import csv
import io
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import ended

from trialplate.errors import SpecError
from trialplate.record.entries import TrialKey
from trialplate.reports.judge_sheet import (
    COLUMNS,
    GradedRow,
    SheetRow,
    entry_named,
    grades_in,
    read_sheet,
    row_id,
    sheet_text,
)

ROOT = "sha256:" + "ab" * 32
WRITTEN = {"correct": "Correct", "in between": "In between"}
TRIAL: TrialKey = ("m", "q1", 1)


def row(answer: str, number: int = 1, question: str = "Q", references: str = "R") -> SheetRow:
    """Return a row of a sheet."""
    trial = ("m", f"q{number}", 1)
    return SheetRow(row_id(7, ROOT, trial), trial, question, references, answer, ended(trial))


def back(rows: list[SheetRow], folder: Path, text: str | None = None) -> list[GradedRow]:
    """Write a sheet and read it again."""
    path = folder / "s.csv"
    path.write_text(text if text is not None else sheet_text(rows), encoding="utf-8", newline="")
    return read_sheet(path)


def cell_of(answer: str) -> str:
    """Return an answer's cell."""
    (made,) = csv.DictReader(io.StringIO(sheet_text([row(answer)]), newline=""))
    return made["answer"]


@pytest.mark.parametrize(
    ("answer", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\n=1"),
        ("'quoted", "''quoted"),
        ("0.50", "'0.50"),
        ("3 May 2024", "'3 May 2024"),
        ("MARCH1", "'MARCH1"),
        ("true", "'true"),
        ("Paris", "Paris"),
        ("What is the capital of country 3?", "What is the capital of country 3?"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a bell \x07 and then a nul \x00", "a bell \\x07 and then a nul \\x00"),
        ("this was \u202e turned around", "this was \\u202e turned around"),
        ("a half of an emoji \ud83d", "a half of an emoji \\ud83d"),
        ("\U0001f469\u200d\U0001f52c", "\U0001f469\u200d\U0001f52c"),
        ("", ""),
    ],
)
def test_cell_is_text_and_stays_text(answer: str, cell: str) -> None:
    """T47: no formula, no number that changes, no control character."""
    assert cell_of(answer) == cell


@given(st.text(alphabet=st.characters() | st.sampled_from("=+-@\t\r\n'\",;\x00\ud800" + string.digits), max_size=30))
def test_any_answer_comes_back_as_the_one_that_was_drawn(answer: str) -> None:
    """Whatever a model answers, also through CRLF and quotes around everything, and without its apostrophe."""
    import tempfile

    rows = [row(answer, 1, answer, answer), row(answer + "x", 2)]
    with tempfile.TemporaryDirectory() as folder:
        plain = back(rows, Path(folder))
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL, delimiter=";").writerows(
            csv.reader(io.StringIO(sheet_text(rows), newline=""))
        )
        quoted = back(rows, Path(folder), "\ufeff" + out.getvalue())
    for read in (plain, quoted):
        assert grades_in(read, rows, WRITTEN, "s.csv") == ["", ""]
        assert entry_named(read, "s.csv") == 7


def test_ten_thousand_rows_are_read_and_graded(tmp_path: Path) -> None:
    """Each in the order of the sheet, whatever the order of the file."""
    rows = [row(f'answer\n{number}, "{number}"', number) for number in range(10_000)]
    read = back(rows, tmp_path)
    assert len(read) == 10_000
    filled = [GradedRow(**{**item.__dict__, "verdict": " IN  between "}) for item in reversed(read)]
    assert grades_in(filled, rows, WRITTEN, "s.csv") == ["In between"] * 10_000
    assert len({item.row_id for item in read}) == 10_000


def test_every_wrong_line_is_named_at_once(tmp_path: Path) -> None:
    """The first as the place, the others in the message."""
    rows = [row("two\nlines", 1), row("b", 2), row("c", 3), row("d", 4)]
    text = sheet_text(rows).replace("b,,", "B,,").replace("d,,", "d,what,")
    with pytest.raises(SpecError) as caught:
        grades_in(back(rows, tmp_path, text), rows, WRITTEN, "s.csv")
    assert caught.value.where == "s.csv:4"
    assert "line 6: 'what' is no verdict: write Correct, In between or leave it blank" in caught.value.message


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "s.csv:1"),
        ("row,sample_id\n1,s1-0000000000000000\n", "s.csv:1"),
        (",".join(COLUMNS) + "\n", "s.csv:1"),
        (",".join(COLUMNS) + '\n1,s1,"a\n', "s.csv:2"),
        (",".join(COLUMNS) + "\n1,s1,a\n", "s.csv:2"),
        ("\r".join([",".join(COLUMNS), "1,s1,a"]), "s.csv:2"),
    ],
)
def test_what_is_no_sheet_is_refused_with_its_line(text: str, where: str, tmp_path: Path) -> None:
    """Never read as something else."""
    with pytest.raises(SpecError) as caught:
        back([], tmp_path, text)
    assert caught.value.where.endswith(where)
    assert caught.value.hint


def test_rows_of_two_sheets_are_told_apart() -> None:
    """A person who pastes two together is told where the second begins."""
    rows = [GradedRow(2, row_id(7, ROOT, TRIAL), "", "", "", ""), GradedRow(3, row_id(8, ROOT, TRIAL), "", "", "", "")]
    with pytest.raises(SpecError, match="another sheet") as caught:
        entry_named(rows, "s.csv")
    assert caught.value.where == "s.csv:3"


def test_id_tells_nothing_and_is_no_number() -> None:
    """Salted by the record, so the same trial has another id in another record."""
    assert row_id(7, ROOT, TRIAL).startswith("s7-")
    assert row_id(7, ROOT, TRIAL) != row_id(7, "sha256:" + "00" * 32, TRIAL)
    assert "m" not in row_id(7, ROOT, TRIAL)
