# SPDX-License-Identifier: Apache-2.0
r"""Test sets: CSV, JSON Lines, JSON and YAML files to cases, merged, with the place each case comes from.

What is never done: guess a type (a CSV cell is a text), normalise a text, drop a row, renumber an id. Ids that are not
written come from the place in the file (`row-3` for the third row of a CSV, `case-7` for line 7 of a JSONL file or the
seventh case of a list), so that neither a limit nor a shuffle changes them.

Line ends: records may end in LF or CRLF, and that never enters a case. A CRLF inside a quoted cell, or written as
"\r\n" in a JSON string, is content: it stays, and it changes the test set's digest (case C06 of the collection, and
DESIGN section 4, "parsed values are hashed as they are", over T3, which would make it an LF). A warning names the
cell, since a Windows checkout may have put it there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from trialplate.errors import FormatError, SpecError, TrialplateError
from trialplate.record import canonical, values
from trialplate.record.frozen import Json
from trialplate.record.values import Case, CaseTool
from trialplate.spec import csv_strict, json_places, yaml_strict
from trialplate.spec.case_fields import COLUMNS, check_columns, from_cells, from_document
from trialplate.spec.case_files import Access, Beside, CaseFiles, Detail
from trialplate.spec.document import Document, Place, decode_utf8
from trialplate.spec.nearest import suggestion

__all__ = [
    "ENDINGS",
    "MAX_CASES",
    "MAX_FILE_BYTES",
    "Labels",
    "LoadedCases",
    "Loader",
    "Source",
    "first_few",
    "label_from",
]
__all__ += ["load", "merge"]

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A test set is held in memory: what is larger is no test set but a corpus."""
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_CASES = 1_000_000
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".yaml", ".yml")
"""Of files that hold cases: they say how a file is read."""
_HEAD = frozenset({"name", "version", "cases"})
_MOST_TOLD = 5
"""Warnings of one kind that are told one by one."""
_SHORT = re.compile(values.Short.__metadata__[0].regex)  # type: ignore[attr-defined]

Loader = Callable[[bytes, str], Iterable[Mapping[str, Any]]]
"""A package's way to read a file of cases: from its bytes and its path to cases, each as JSON would have it."""

_Found = tuple[str, Case, bool]
"""The place of a case, the case, and whether its id comes from the place."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of cases as a plan names it: its bytes, and what a case of it gets that does not say otherwise."""

    file: str
    data: bytes
    suite: str | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Json] = field(default_factory=dict)
    context: tuple[str, ...] = ()
    answer_format: str | None = None
    max_turns: int | None = None
    tools: tuple[CaseTool, ...] = ()
    files: CaseFiles | None = None
    """Reads the files that its cases name; None: they cannot be read, and cases name none."""
    access: tuple[Access, ...] = ("native", "local")
    image_detail: Detail | None = None

    @property
    def beside(self) -> Beside:
        """Return what its cases need to name files."""
        return Beside(self.file, self.files, self.access, self.image_detail)


@dataclass(frozen=True, slots=True)
class Labels:
    """What a file of cases calls itself; labels are no part of any digest of its cases."""

    name: str | None = None
    name_at: str = ""
    version: str | None = None
    version_at: str = ""


@dataclass(frozen=True, slots=True)
class LoadedCases:
    """Cases in file order, where each comes from, and what deserves a look."""

    cases: tuple[Case, ...]
    places: Mapping[str, str]
    """Case id to "file:line"."""
    warnings: tuple[str, ...] = ()
    automatic: tuple[str, ...] = ()
    """Ids that were not written, and come from the place in the file."""
    labels: Labels = Labels()


def load(source: Source, loader: Loader | None = None) -> LoadedCases:
    """Read one file.

    Args:
        source: the file.
        loader: reads it, if it is not read as its ending says.

    Raises:
        SpecError: with file and line, at the first case that is not well-formed; nothing is loaded in part.
    """
    name = source.file.lower()
    labels = Labels()
    if loader is not None:
        found: Iterable[_Found] = _loaded(source, loader)
    elif name.endswith((".csv", ".tsv")):
        found = _csv(source)
    elif name.endswith((".jsonl", ".ndjson")):
        found = _jsonl(source)
    elif name.endswith(ENDINGS):
        found, labels = _listed(source)
    else:
        ending = PurePosixPath(name).suffix or "no ending"
        hint = f"save it as .csv, .jsonl, .json or .yaml, or install a package that reads {ending}"
        raise SpecError("the file's name does not say how to read it", where=source.file, hint=hint)
    cases: list[Case] = []
    places: dict[str, str] = {}
    automatic: list[str] = []
    for place, case, is_automatic in found:
        _take(case, place, cases, places)
        if is_automatic:
            automatic.append(case.id)
    if not cases:
        hint = "add at least one, or leave the file out; an empty test set proves nothing"
        raise SpecError("there are no cases in this file", where=source.file, hint=hint)
    warnings = tuple(_unnamed(automatic, name, places))
    return LoadedCases(tuple(_with_defaults(cases, source)), places, warnings, tuple(automatic), labels)


def label_from(text: str) -> str:
    """Return a text in the form that names of plans have: other characters become hyphens."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", text).lstrip("-._@") or "cases"


def _unnamed(automatic: Sequence[str], file: str, places: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning about ids by place, but for JSON Lines, where they are usual."""
    if automatic and not file.endswith((".jsonl", ".ndjson")):
        what = "there is no column id; cases" if file.endswith((".csv", ".tsv")) else "cases without an id"
        form = automatic[0].partition("-")[0]
        place = "row" if form == "row" else "place in the list"
        yield f"{places[automatic[0]]}: {what} are named {form}-1, {form}-2, ... by their {place}"


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
    automatic = tuple(case_id for part in parts for case_id in part.automatic)
    return LoadedCases(tuple(cases), places, (*warnings, *_oddities(cases, places)), automatic)


def _take(case: Case, place: str, cases: list[Case], places: dict[str, str]) -> None:
    """Add a case whose id is new."""
    first = places.get(case.id)
    if first is not None:
        shown = f"line {first.rpartition(':')[2]}" if first.rpartition(":")[0] == place.rpartition(":")[0] else first
        raise SpecError(
            f'duplicate case id "{case.id}" (first used at {shown})',
            where=place,
            hint="give each case an id of its own, a written one; ids are unique over all files of the plan",
        )
    if len(cases) >= MAX_CASES:
        raise SpecError(f"more than {MAX_CASES} cases", where=place, hint="split the test set")
    places[case.id] = place
    cases.append(case)


def _with_defaults(cases: Iterable[Case], source: Source) -> Iterator[Case]:
    """Give cases their file's tags and meta beside their own, and whatever else it says where they say nothing."""
    if source == Source(
        source.file, source.data, files=source.files, access=source.access, image_detail=source.image_detail
    ):
        yield from cases
        return
    for case in cases:
        tags = sorted({*case.tags, *source.tags}, key=lambda tag: tag.encode("utf-16-be"))
        given = case.replace(
            suite=case.suite or source.suite,
            tags=tuple(tags),
            meta={**source.meta, **case.meta},
            context=case.context or source.context,
        )
        if case.trace is not None:  # nobody is asked, so how is not to be said
            yield given
            continue
        yield given.replace(
            answer_format=case.answer_format
            if case.answer_schema is not None
            else case.answer_format or source.answer_format,
            max_turns=case.max_turns or source.max_turns,
            tools=case.tools or source.tools,
        )


def _loaded(source: Source, loader: Loader) -> Iterator[_Found]:
    """Yield the cases that a loader makes, with their places: the first, the second, ...

    They are held to what every case is held to, and what is no JSON is refused: nothing is made of it.
    """
    number = 0
    try:
        for number, made in enumerate(loader(source.data, source.file), start=1):
            where = f"{source.file} (case {number})"
            try:
                value = canonical.parse(canonical.encode(dict(made)))
            except (FormatError, TypeError, ValueError) as problem:
                told = problem.message if isinstance(problem, FormatError) else str(problem)
                hint = "a loader gives mappings of texts, numbers, true, false, lists and mappings"
                raise SpecError(f"this is no case: {told}", where=where, hint=hint) from None
            case = from_document(Document(where, value), f"case-{number}", source.beside)
            yield where, case, "id" not in made
    except TrialplateError:
        raise
    except Exception as problem:
        message = f"its loader ended with {type(problem).__name__} after {number} cases: {str(problem)[:200]}"
        raise SpecError(message, where=source.file, hint="correct the file, or ask the loader's authors") from problem


def _csv(source: Source) -> Iterator[_Found]:
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
        automatic = None if has_ids else f"row-{number}"
        yield where, from_cells(dict(zip(names, cells, strict=True)), automatic, where), not has_ids


def _jsonl(source: Source) -> Iterator[_Found]:
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
        automatic = f"case-{number}"
        try:
            case = from_document(Document(source.file, value, values={(): Place(number, 1)}), automatic, source.beside)
        except SpecError:
            # Only now is it worth to find out where on the line its parts stand.
            text = raw.removesuffix(b"\r").decode()
            case = from_document(json_places.load(text, source.file, line=number), automatic, source.beside)
        yield where, case, "id" not in value


def _listed(source: Source) -> tuple[list[_Found], Labels]:
    """Return the cases of a JSON or YAML file, and what the file calls itself: a list, or an object with `cases`."""
    found: list[_Found] = []

    def take(document: Document) -> None:
        where = document.where(()).rpartition(":")[0]
        case = from_document(document, f"case-{len(found) + 1}", source.beside)
        found.append((where, case, "id" not in document.value))
        if len(found) > MAX_CASES:
            raise SpecError(f"more than {MAX_CASES} cases", where=where, hint="split the test set")

    document = yaml_strict.load(source.data, source.file, limit=MAX_FILE_BYTES, each=take)
    head = document.value
    if isinstance(head, list):
        return found, Labels()
    if not isinstance(head, dict) or not isinstance(head.get("cases", []), list):
        place = document.where(("cases",) if isinstance(head, dict) else ())
        raise SpecError("expected a list of cases", where=place, hint='write cases: [{id: q1, input: "..."}]')
    for name in head:
        if name not in _HEAD:
            hint = f"{suggestion(name, _HEAD)}; a file is a list of cases, or has the list under cases"
            raise SpecError(f'unknown key "{name}"', where=document.where((name,), key=True), hint=hint)
    if "cases" not in head:
        raise SpecError('the key "cases" is missing', where=document.where(()), hint="write the list of cases under it")
    return found, _labels(document)


def _labels(document: Document) -> Labels:
    """Return name and version as the file has them."""
    for key in ("name", "version"):
        item = document.value.get(key, "x")
        if not isinstance(item, str) or not item.strip() or (key == "version" and not _SHORT.fullmatch(item)):
            form = "a text that is not blank" if key == "name" else "a text of 1 to 128 printable ASCII characters"
            message = f'"{key}": expected {form}'
            raise SpecError(message, where=document.where((key,)), hint="put it in quotes, or leave it out")
    name, version = (document.value.get(key) for key in ("name", "version"))
    return Labels(name, document.where(("name",)), version, document.where(("version",)))


def _on_line(problem: FormatError, where: str) -> SpecError:
    """Return the error with the file's own line: the reader of a line calls every line the first."""
    column = re.search(r" at line 1 column ([0-9]+)$", problem.message)
    message = problem.message.removesuffix(column.group()) if column else problem.message
    hint = problem.hint or "write one JSON object on a line"
    return SpecError(message, where=f"{where}:{column.group(1)}" if column else where, hint=hint)


def _check_look_alikes(cases: Sequence[Case], places: Mapping[str, str]) -> None:
    """Refuse two ids that are one to the eye: the same in composed form, or but for characters that show nothing."""
    seen: dict[str, str] = {}
    for case in cases:
        composed = case.id if case.id.isascii() else _seen(case.id)
        other = seen.setdefault(composed, case.id)
        if other != case.id:
            raise SpecError(
                f'the case id "{case.id}" looks the same as another (at {places[other]}) and has other characters',
                where=places[case.id],
                hint="give one of them another id; accents are written in two ways, or something invisible is in it",
            )


def _seen(text: str) -> str:
    """Return what the eye sees of an id: composed, and without format characters such as a zero-width space."""
    return "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf")


def _oddities(cases: Sequence[Case], places: Mapping[str, str]) -> Iterator[str]:
    """Yield warnings about what is allowed and probably not meant, of each kind the first few."""
    told: dict[str, list[str]] = {}
    asked: dict[tuple[object, ...], str] = {}
    for case in cases:
        where = places[case.id]
        files = tuple(sorted((file.type, file.digest) for file in case.files))
        other = asked.setdefault((" ".join(case.input.split()).casefold(), files, case.trace), case.id)
        if other != case.id:
            message = f'{where}: case "{case.id}" asks the same as "{other}"; a question asked twice counts twice'
            told.setdefault("cases ask what another asks", []).append(message)
        answers = [("reference", item) for item in case.references if isinstance(item, str)]
        for name, text in (("id", case.id), *answers):
            if not text.isascii() and not unicodedata.is_normalized("NFC", text):
                message = (
                    f'{where}: the {name} of case "{case.id}" is not in Unicode normal form C; it is used as it is'
                )
                told.setdefault("texts are not in Unicode normal form C", []).append(message)
        for name, text in (("input", case.input), *answers):
            if "\r" in text:
                message = f'{where}: the {name} of case "{case.id}" holds a carriage return, which is part of the text'
                told.setdefault("texts hold a carriage return", []).append(message)
    for kind, messages in told.items():
        yield from first_few(messages, kind)


def first_few(messages: Sequence[str], kind: str) -> Iterator[str]:
    """Yield the first of many warnings of one kind, and how many more there are."""
    yield from messages[:_MOST_TOLD]
    if len(messages) > _MOST_TOLD:
        yield f"{len(messages) - _MOST_TOLD} more {kind}"
