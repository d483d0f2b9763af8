# SPDX-License-Identifier: Apache-2.0
"""YAML 1.2 (core schema) for author files, read from PyYAML's events.

PyYAML's own constructors read YAML 1.1: `no` is false, `12:30` is 750, `1_000` is 1000, a date is a date, and of two
equal keys the last one wins in silence. Here a plain word is null, a boolean, an integer or a float only in the forms
of YAML 1.2's core schema (section 10.3.2), and everything else is a string.

Refused, with file, line and column: duplicate keys, keys that are not strings, merge keys, tags, several documents,
aliases to what is still open, too many aliases, anything deeper or larger than the limits of `document`. A file whose
name ends in `.json` is read as JSON by the same entry point, with the same errors.

This module and PyYAML are only ever loaded by commands that read author files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from trialplate.errors import SpecError
from trialplate.record.flaws import MAX_DEPTH
from trialplate.spec import json_places
from trialplate.spec.document import (
    CASE_LISTS,
    MAX_BYTES,
    Document,
    Path,
    Place,
    check_text,
    decode_utf8,
    number,
)

__all__ = ["MAX_ALIASES", "MAX_NODES", "load"]

MAX_ALIASES = 100
MAX_NODES = 100_000
"""Counted with every alias written out: a few lines of aliases to aliases stand for billions of values. In a file of
cases, each case is counted by itself."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_BREAKS = re.compile("[\u0085\u2028\u2029]")


def load(data: bytes, file: str, *, limit: int = MAX_BYTES, each: Callable[[Document], None] | None = None) -> Document:
    """Read one author file.

    Args:
        data: the file's bytes.
        file: its name, as errors shall show it; `.json` selects the JSON grammar.
        limit: the largest file that is read, in bytes.
        each: takes the items of a list of cases one by one, as `json_places.load` says. Such a file may be large, and
            is parsed by libyaml where PyYAML has it: 15 times as fast, with the same values (ADR 21).

    Raises:
        SpecError: anything that is not exactly one well-formed document within the limits.
    """
    text = decode_utf8(data, file, limit=limit)
    if file.lower().endswith(".json"):
        return json_places.load(text, file, each=each)
    if found := yaml.reader.Reader.NON_PRINTABLE.search(text):
        raise SpecError(
            f"the character U+{ord(found.group()):04X} is not allowed in YAML",
            where=_where(file, text, found.start()),
            hint="remove it, or write it as an escape inside double quotes",
        )
    if found := _BREAKS.search(text):
        # YAML 1.1, and so PyYAML, would end the line here; YAML 1.2 does not.
        escape = f"\\u{ord(found.group()):04x}"
        raise SpecError(
            f"the character U+{ord(found.group()):04X} stands in the file as it is",
            where=_where(file, text, found.start()),
            hint=f'write "{escape}" inside double quotes',
        )
    parser = yaml.SafeLoader if each is None else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Composer(yaml.parse(text, Loader=parser), file, each).document()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        sentence = " ".join(part for part in (problem.context, problem.problem) if part)
        lines = text.split("\n")[mark.line : mark.line + 1] if mark else []  # none, if it is told after the last
        tab = any(line.startswith("\t", mark.column) for line in lines if mark)
        raise SpecError(
            f"no valid YAML: {sentence}",
            where=f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file,
            hint="indent with spaces, not tabs" if tab else "mind the indentation, and quote texts that hold : # [ {",
        ) from problem


def _where(file: str, text: str, offset: int) -> str:
    """Return the place of a character of the text."""
    line_start = text.rfind("\n", 0, offset) + 1
    return f"{file}:{text.count(chr(10), 0, offset) + 1}:{offset - line_start + 1}"


def _place(event: Event) -> Place:
    mark = event.start_mark
    assert mark is not None  # noqa: S101  events of the parser have marks
    return Place(mark.line + 1, mark.column + 1)


class _Composer:
    """Turns events into values, keeping the place of each."""

    def __init__(self, events: Iterator[Event], file: str, each: Callable[[Document], None] | None) -> None:
        self._events = events
        self._each = each
        self._file = file
        self._keys: dict[Path, Place] = {}
        self._values: dict[Path, Place] = {}
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._open: set[str] = set()
        self._nodes = 0
        self._aliases = 0

    def document(self) -> Document:
        """Read the one document of the stream."""
        self._take(StreamStartEvent)
        start = next(self._events)
        if isinstance(start, StreamEndEvent):
            raise SpecError("the file is empty", where=f"{self._file}:1:1", hint="write what it shall say")
        assert isinstance(start, DocumentStartEvent)  # noqa: S101  the parser's grammar: nothing else follows
        if start.tags or (start.version and tuple(start.version) != (1, 2)):
            self._refuse(start, "a YAML directive other than %YAML 1.2", "remove the line")
        value, _, _ = self._node(next(self._events), (), 1)
        self._take(DocumentEndEvent)
        after = next(self._events)
        if not isinstance(after, StreamEndEvent):
            self._refuse(after, "a second document begins here", "keep one document in a file; remove the ---")
        return Document(self._file, value, self._keys, self._values)

    def _take(self, kind: type[Event]) -> None:
        event = next(self._events)
        assert isinstance(event, kind)  # noqa: S101  the parser's grammar

    def _refuse(self, event: Event, message: str, hint: str) -> NoReturn:
        raise SpecError(message, where=self._at(event), hint=hint)

    def _at(self, event: Event) -> str:
        place = _place(event)
        return f"{self._file}:{place.line}:{place.column}"

    def _node(self, event: Event, path: Path, depth: int) -> tuple[Any, int, int]:
        """Read one value: itself, the number of values in it, and how many levels it has."""
        self._values[path] = _place(event)
        if depth > MAX_DEPTH:
            self._refuse(event, f"more than {MAX_DEPTH} levels deep", "flatten the structure")
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        assert isinstance(event, ScalarEvent | CollectionStartEvent)  # noqa: S101  the parser's grammar
        if event.tag is not None:
            self._refuse(event, f"the tag {event.tag}", "remove it; quotes make a text, nothing else needs a tag")
        anchor = event.anchor
        if anchor is not None:
            self._open.add(anchor)
        if isinstance(event, ScalarEvent):
            made: tuple[Any, int, int] = (self._scalar(event, path), 1, 1)
        elif isinstance(event, SequenceStartEvent):
            made = self._sequence(path, depth)
        else:
            made = self._mapping(path, depth)
        self._count(event, 1)
        if anchor is not None:
            self._open.discard(anchor)
            self._anchors[anchor] = made
        return made

    def _count(self, event: Event, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self._refuse(event, f"more than {MAX_NODES} values, aliases written out", "split the file")

    def _alias(self, event: AliasEvent, depth: int) -> tuple[Any, int, int]:
        self._aliases += 1
        if event.anchor in self._open:
            self._refuse(event, f"*{event.anchor} stands inside what it names", "write the value out")
        if event.anchor not in self._anchors:
            self._refuse(event, f"*{event.anchor} names no &{event.anchor} above it", "write the value out")
        if self._aliases > MAX_ALIASES:
            self._refuse(event, f"more than {MAX_ALIASES} aliases", "write the values out")
        value, nodes, levels = self._anchors[event.anchor]
        self._count(event, nodes)
        if depth + levels - 1 > MAX_DEPTH:
            self._refuse(event, f"more than {MAX_DEPTH} levels deep", "flatten the structure")
        return value, nodes, levels

    def _sequence(self, path: Path, depth: int) -> tuple[Any, int, int]:
        items: list[Any] = []
        nodes, levels = 1, 0
        apart = self._each is not None and path in CASE_LISTS
        while not isinstance(event := next(self._events), SequenceEndEvent):
            if apart:
                self._case(event, depth + 1)
                continue
            value, inner, below = self._node(event, (*path, len(items)), depth + 1)
            items.append(value)
            nodes, levels = nodes + inner, max(levels, below)
        return items, nodes, levels + 1

    def _case(self, event: Event, depth: int) -> None:
        """Read an item of a list of cases, hand it over and forget it."""
        outer, each = (self._keys, self._values), self._each
        self._keys, self._values, self._each, self._nodes = {}, {}, None, 0
        value, _, _ = self._node(event, (), depth)
        assert each is not None  # noqa: S101  or the list would not be read this way
        each(Document(self._file, value, self._keys, self._values))
        (self._keys, self._values), self._each = outer, each

    def _mapping(self, path: Path, depth: int) -> tuple[Any, int, int]:
        items: dict[str, Any] = {}
        nodes, levels = 1, 0
        while not isinstance(event := next(self._events), MappingEndEvent):
            if items and isinstance(event, ScalarEvent) and not event.style and event.value.isdecimal():
                self._refuse_decimal_comma(event, items, path)
            key = self._key(event)
            here = (*path, key)
            if key in items:
                first = self._keys[here]
                self._refuse(event, f'duplicate key "{key}" (first at line {first.line})', "keep one of them")
            self._keys[here] = _place(event)
            value, inner, below = self._node(next(self._events), here, depth + 1)
            items[key] = value
            nodes, levels = nodes + inner, max(levels, below)
        return items, nodes, levels + 1

    def _refuse_decimal_comma(self, event: ScalarEvent, items: dict[str, Any], path: Path) -> None:
        """Refuse `{at_least: 0,9}`: to YAML, the comma ends the value and 9 is the next key."""
        key, before = next(reversed(items.items()))
        number_at, here = self._values[(*path, key)], _place(event)
        if type(before) is int and here == Place(number_at.line, number_at.column + len(str(before)) + 1):
            hint = f"write {before}.{event.value}"
            self._refuse(event, f'"{key}": a number has a decimal point, not a comma', hint)

    def _key(self, event: Event) -> str:
        if not isinstance(event, ScalarEvent) or event.tag is not None or event.anchor is not None:
            self._refuse(event, "a key must be a plain text", "write the key out")
        if not event.style and event.value == "<<":
            self._refuse(event, "merge keys (<<) are not YAML 1.2", "write the keys out")
        key = self._scalar(event, ())
        if not isinstance(key, str):
            self._refuse(event, f"the key {event.value or '(empty)'} is not a text", f'quote it: "{event.value}"')
        return key

    def _scalar(self, event: ScalarEvent, path: Path) -> Any:
        """Return the value of a scalar by the core schema; a quoted or block scalar, which has a style, is a string."""
        text = event.value
        where = self._at(event)
        if event.style:
            return check_text(text, where)
        if text in _NULL:
            return None
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        if _INTEGER.fullmatch(text):
            return number(text, where, integer=True, path=path)
        if _FLOAT.fullmatch(text):
            return number(text, where, integer=False, path=path)
        if _NOT_FINITE.fullmatch(text):
            raise SpecError(f"{text} is not a number that a record can hold", where=where, hint="write a finite number")
        return check_text(text, where)
