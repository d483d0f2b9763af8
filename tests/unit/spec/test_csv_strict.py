# SPDX-License-Identifier: Apache-2.0
"""RFC 4180, strictly, and the delimiter from the header line."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.spec import csv_strict

COLUMNS = frozenset({"id", "input", "reference", "tags"})


def rows(text: str, delimiter: str = ",") -> list[csv_strict.Row]:
    """Return all rows of a text."""
    return list(csv_strict.read(text, "t.csv", delimiter))


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.text('ab",;\n\r\t é\u2028', max_size=6), min_size=width, max_size=width), min_size=1, max_size=5
        )
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([",", ";", "\t"]),
)
def test_table_that_the_standard_library_writes_reads_back_as_it_was(
    table: list[list[str]], line_end: str, delimiter: str
) -> None:
    """Every cell comes back, character for character, whatever it holds."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(table)
    assert [cells for _, cells in rows(stream.getvalue(), delimiter)] == table


def test_rows_are_numbered_by_the_line_they_begin_on() -> None:
    """Line feeds inside quotes and blank lines count as lines, not as rows."""
    assert rows('a,b\n"x\ny",1\n\n\r\nz,2') == [(1, ["a", "b"]), (2, ["x\ny", "1"]), (6, ["z", "2"])]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a,b\n1,2,3\n", 2, "line 2 has 3 cells, the header has 2"),
        ("a,b\n1\n", 2, "line 2 has 1 cell, the header has 2"),
        ('a,b\n1,x"y\n', 2, "a quote inside an unquoted cell"),
        ('a,b\n1, "x"\n', 2, "a quote inside an unquoted cell"),
        ('a,b\n"1"x,2\n', 2, "text after a closing quote"),
        ('a,b\n1,2\n"3,4\n5,6\n', 3, "is not closed"),
        ("a,b\r1,2\r", 1, "a carriage return"),
        ('a,b\n"x\ny"z,2\n', 3, "text after a closing quote"),
    ],
)
def test_row_that_is_not_well_formed_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    """One error, at the line, before anything is loaded in part."""
    with pytest.raises(SpecError) as caught:
        rows(text)
    assert (caught.value.where, words in caught.value.message) == (f"t.csv:{line}", True), caught.value
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("id,input,reference\n", ","),
        ("id;input;reference\n1;a,b,c,d;e\n", ";"),
        ("id\tinput\n1;2;3\t4,5,6\n", "\t"),
        ("input\nwhat; and, why\n", ","),
        ('id;input;"note, more"\n', ";"),
    ],
)
def test_delimiter_comes_from_the_header_alone(text: str, delimiter: str) -> None:
    """Cells below the header are never looked at."""
    assert csv_strict.sniff(text, "t.csv", COLUMNS, "input") == delimiter


@pytest.mark.parametrize("text", ["", "question,answer\n", "id|input\n", "id;input,reference\n"])
def test_header_without_the_needed_column_is_refused_and_shown(text: str) -> None:
    """The error shows the header that was found."""
    with pytest.raises(SpecError) as caught:
        csv_strict.sniff(text, "t.csv", COLUMNS, "input")
    assert caught.value.where == "t.csv:1"
    assert (text.strip() or "(empty)") in caught.value.message
