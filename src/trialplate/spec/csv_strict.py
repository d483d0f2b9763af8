# SPDX-License-Identifier: Apache-2.0
"""Comma-separated cells by RFC 4180, strictly, with the line each row begins on.

Refused, with the line: a quote inside an unquoted cell, anything between a closing quote and the next delimiter, an
unclosed quote, a row with more or fewer cells than the header, a bare carriage return. Cells are texts: nothing is
trimmed, no number is read, no escape is known but the doubled quote.

The delimiter is found from the header line alone: a comma, a semicolon (what spreadsheets write where the comma is the
decimal sign) or a tab. No cell below it is ever looked at for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trialplate.errors import SpecError
from trialplate.spec.nearest import nearest

__all__ = ["DELIMITERS", "Row", "read", "sniff"]

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}

Row = tuple[int, list[str]]
"""The line on which a row begins, from 1, and its cells."""

_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')
_PLAIN = {delimiter: re.compile(f'[^{delimiter}"\r\n]*') for delimiter in DELIMITERS}


def sniff(text: str, file: str, wanted: frozenset[str], needed: str) -> str:
    """Return the delimiter of a file.

    Args:
        text: the whole file.
        file: its name, for the error.
        wanted: column names that are known; of several delimiters the one that finds the most of them is taken.
        needed: the column without which it is no table of ours.

    Raises:
        SpecError: no delimiter finds that column.
    """
    best, score, near = "", 0, None
    for delimiter in DELIMITERS:
        try:
            _, header = next(_rows(text, file, delimiter))
        except (SpecError, StopIteration):
            continue
        names = [name.strip() for name in header]
        near = near or nearest(needed, names)
        found = len(wanted.intersection(names))
        if needed in names and found > score:
            best, score = delimiter, found
    if not best:
        shown = text.split("\n", 1)[0].rstrip("\r")[:200]
        meant = f'is "{near}" the column "{needed}"? Else ' if near else ""
        raise SpecError(
            f'no column "{needed}" in the header: {shown or "(empty)"}',
            where=f"{file}:1",
            hint=meant + "begin with a header such as id,input,reference,tags; comma, semicolon or tab parts cells",
        )
    return best


def read(text: str, file: str, delimiter: str) -> Iterator[Row]:
    """Yield the header, then every row, all of one length; blank lines are no rows.

    Raises:
        SpecError: at the first row that is not exactly well-formed.
    """
    width = 0
    for line, cells in _rows(text, file, delimiter):
        if width and len(cells) != width:
            hint = f"quote a cell that holds a {DELIMITERS[delimiter]}, and double the quotes in it"
            raise SpecError(
                f"line {line} has {_count(len(cells))}, the header has {width}", where=f"{file}:{line}", hint=hint
            )
        width = width or len(cells)
        yield line, cells


def _count(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"


def _rows(text: str, file: str, delimiter: str) -> Iterator[Row]:
    """Yield rows of any length."""
    offset, line, end = 0, 1, len(text)
    while offset < end:
        if text.startswith(("\n", "\r\n"), offset):
            offset, line = text.index("\n", offset) + 1, line + 1
            continue
        cells: list[str] = []
        first, more = line, True
        while more:
            cell, offset, line = _cell(text, offset, line, file, delimiter)
            cells.append(cell)
            more = text.startswith(delimiter, offset)
            if more:
                offset += 1
        if offset < end:
            if not text.startswith(("\n", "\r\n"), offset):
                _misplaced(text[offset], file, line)
            offset, line = text.index("\n", offset) + 1, line + 1
        yield first, cells


def _cell(text: str, offset: int, line: int, file: str, delimiter: str) -> tuple[str, int, int]:
    """Read one cell: its text, the offset after it, and the line it ends on."""
    if not text.startswith('"', offset):
        found = _PLAIN[delimiter].match(text, offset)
        return (found.group(), found.end(), line) if found else ("", offset, line)
    found = _QUOTED.match(text, offset)
    if found is None:
        raise SpecError(
            "a quoted cell begins here and is not closed", where=f"{file}:{line}", hint="close it with a quote"
        )
    cell = found.group(1)
    return cell.replace('""', '"'), found.end(), line + cell.count("\n")


def _misplaced(char: str, file: str, line: int) -> None:
    where = f"{file}:{line}"
    if char == '"':
        raise SpecError(
            "a quote inside an unquoted cell",
            where=where,
            hint='put the whole cell in quotes and double those in it: "{""answer"": 1}"',
        )
    if char == "\r":
        raise SpecError(
            "a carriage return without a line feed", where=where, hint="save the file with LF or CRLF line ends"
        )
    raise SpecError("text after a closing quote", where=where, hint="double the quotes that belong to the cell")
