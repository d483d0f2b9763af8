# SPDX-License-Identifier: Apache-2.0
r"""Test sets: CSV and JSON Lines files to cases, merged, with the place each case comes from.

What is never done: guess a type (a CSV cell is a text), normalise a text, drop a row, renumber an id. Ids that are not
written come from the place in the file (`row-3` for the third row of a CSV, `case-7` for line 7 of a JSONL file), so
that neither a limit nor a shuffle changes them.

Line ends: records may end in LF or CRLF, and that never enters a case. A CRLF inside a quoted cell, or written as
"\r\n" in a JSON string, is content: it stays, and it changes the test set's digest (case C06 of the collection, and
DESIGN section 4, "parsed values are hashed as they are", over T3, which would make it an LF). A warning names the
cell, since a Windows checkout may have put it there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical
from trialplate.record.values import Case
from trialplate.spec import csv_strict
from trialplate.spec.case_fields import COLUMNS, check_columns, from_cells, from_object
from trialplate.spec.document import decode_utf8
from trialplate.spec.later import CASE_FILE_ENDINGS

__all__ = ["MAX_CASES", "MAX_FILE_BYTES", "LoadedCases", "Source", "load", "merge"]

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A test set is held in memory: what is larger is no test set but a corpus."""
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_CASES = 1_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """One file of cases as a plan names it: its bytes, and what every case of it gets."""

    file: str
    data: bytes
    suite: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedCases:
    """Cases in file order, where each comes from, and what deserves a look."""

    cases: tuple[Case, ...]
    places: Mapping[str, str]
    """Case id to "file:line"."""
    warnings: tuple[str, ...] = ()


def load(source: Source) -> LoadedCases:
    """Read one file.

    Raises:
        SpecError: with file and line, at the first case that is not well-formed; nothing is loaded in part.
    """
    name = source.file.lower()
    for ending, sentence in CASE_FILE_ENDINGS.items():
        if name.endswith(ending):
            raise SpecError(sentence, where=source.file, hint="write the cases as .csv or .jsonl")
    if name.endswith((".csv", ".tsv")):
        found = _csv(source)
    elif name.endswith((".jsonl", ".ndjson")):
        found = _jsonl(source)
    else:
        raise SpecError("the file's name says not how to read it", where=source.file, hint="name it .csv or .jsonl")
    cases: list[Case] = []
    places: dict[str, str] = {}
    warnings: list[str] = []
    for place, case, notes in found:
        _take(case, place, cases, places)
        warnings += notes
    if not cases:
        hint = "add at least one, or leave the file out; an empty test set proves nothing"
        raise SpecError("there are no cases in this file", where=source.file, hint=hint)
    return LoadedCases(tuple(_with_defaults(cases, source)), places, tuple(warnings))


def merge(parts: Sequence[LoadedCases], where: str = "") -> LoadedCases:
    """Merge files in order.

    Args:
        parts: the files' cases.
        where: what names the files, for the error about an empty test set.

    Raises:
        SpecError: two cases share an id, or ids that look the same; or there is no case at all.
    """
    cases: list[Case] = []
    places: dict[str, str] = {}
    for part in parts:
        for case in part.cases:
            _take(case, part.places[case.id], cases, places)
    _check_look_alikes(cases, places)
    warnings = [warning for part in parts for warning in part.warnings]
    return LoadedCases(tuple(cases), places, (*warnings, *_oddities(cases, places)))


def _take(case: Case, place: str, cases: list[Case], places: dict[str, str]) -> None:
    """Add a case whose id is new."""
    first = places.get(case.id)
    if first is not None:
        shown = f"line {first.rpartition(':')[2]}" if first.rpartition(":")[0] == place.rpartition(":")[0] else first
        raise SpecError(
            f'duplicate case id "{case.id}" (first used at {shown})',
            where=place,
            hint="give each case an id of its own; ids are unique over all files of the plan",
        )
    if len(cases) >= MAX_CASES:
        raise SpecError(f"more than {MAX_CASES} cases", where=place, hint="split the test set")
    places[case.id] = place
    cases.append(case)


def _with_defaults(cases: Iterable[Case], source: Source) -> Iterator[Case]:
    """Give cases their file's suite where they have none, and its tags beside their own."""
    for case in cases:
        if (source.suite and case.suite is None) or source.tags:
            tags = sorted({*case.tags, *source.tags}, key=lambda tag: tag.encode("utf-16-be"))
            yield case.replace(suite=case.suite or source.suite, tags=tuple(tags))
        else:
            yield case


def _csv(source: Source) -> Iterator[tuple[str, Case, list[str]]]:
    """Yield the cases of a CSV file with their places."""
    text = decode_utf8(source.data, source.file, limit=MAX_FILE_BYTES)
    delimiter = csv_strict.sniff(text, source.file, COLUMNS, "input")
    rows = csv_strict.read(text, source.file, delimiter)
    line, header = next(rows)
    names = [name.strip() for name in header]
    for name in names:
        if not name or names.count(name) > 1:
            what = f'two columns are called "{name}"' if name else "a column has no name"
            raise SpecError(what, where=f"{source.file}:{line}", hint="name each column once")
    check_columns(names, f"{source.file}:{line}")
    has_ids = "id" in names
    for number, (line, cells) in enumerate(rows, start=1):
        where = f"{source.file}:{line}"
        warnings = []
        if number == 1 and not has_ids:
            warnings.append(f"{where}: there is no column id; cases are named row-1, row-2, ... by their row")
        automatic = None if has_ids else f"row-{number}"
        yield where, from_cells(dict(zip(names, cells, strict=True)), automatic, where), warnings


def _jsonl(source: Source) -> Iterator[tuple[str, Case, list[str]]]:
    """Yield the cases of a JSON Lines file with their places; only LF ends a line."""
    if len(source.data) > MAX_FILE_BYTES:
        decode_utf8(source.data, source.file, limit=MAX_FILE_BYTES)
    data = source.data.removeprefix(b"\xef\xbb\xbf")
    for number, raw in enumerate(data.split(b"\n"), start=1):
        line = raw.strip(b" \t\r")
        if not line:
            continue
        where = f"{source.file}:{number}"
        try:
            value: Any = canonical.parse(line, where, MAX_LINE_BYTES)
        except FormatError as problem:
            raise _on_line(problem, where) from None
        yield where, from_object(value, f"case-{number}", where), []


def _on_line(problem: FormatError, where: str) -> SpecError:
    """Return the error with the file's own line: the reader of a line calls every line the first."""
    column = re.search(r" at line 1 column ([0-9]+)$", problem.message)
    message = problem.message.removesuffix(column.group()) if column else problem.message
    hint = problem.hint or "write one JSON object on a line"
    return SpecError(message, where=f"{where}:{column.group(1)}" if column else where, hint=hint)


def _check_look_alikes(cases: Sequence[Case], places: Mapping[str, str]) -> None:
    """Refuse two ids that are one to the eye: the same under Unicode's canonical composition."""
    seen: dict[str, str] = {}
    for case in cases:
        composed = case.id if case.id.isascii() else unicodedata.normalize("NFC", case.id)
        other = seen.setdefault(composed, case.id)
        if other != case.id:
            raise SpecError(
                f'the case id "{case.id}" looks the same as another (at {places[other]}) and has other characters',
                where=places[case.id],
                hint="give one of them another id; accents are written in two ways here",
            )


def _oddities(cases: Sequence[Case], places: Mapping[str, str]) -> Iterator[str]:
    """Yield warnings about what is allowed and probably not meant."""
    inputs: dict[str, str] = {}
    for case in cases:
        where = places[case.id]
        other = inputs.setdefault(" ".join(case.input.split()).casefold(), case.id)
        if other != case.id:
            yield f'{where}: case "{case.id}" asks the same as "{other}"; a question asked twice counts twice'
        texts = [("id", case.id), *(("reference", item) for item in case.references if isinstance(item, str))]
        for name, text in texts:
            if not text.isascii() and not unicodedata.is_normalized("NFC", text):
                yield f'{where}: the {name} of case "{case.id}" is not in Unicode normal form C; it is used as it is'
        for name, text in [("input", case.input), *texts[1:]]:
            if "\r" in text:
                yield f'{where}: the {name} of case "{case.id}" holds a carriage return, which is part of the text'
