# SPDX-License-Identifier: Apache-2.0
"""JSON (RFC 8259) for author files, keeping the place of every value.

The standard library's reader keeps the last of two equal keys, takes NaN, and tells no line for a value that is
well-formed and wrong. Strings are still its work (`json.decoder.scanstring`, strict); the structure is read here.
Records are not read by this module: they are `record.canonical`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from trialplate.errors import SpecError
from trialplate.record.flaws import MAX_DEPTH
from trialplate.spec.document import CASE_LISTS, Document, Path, Place, check_text, number

__all__ = ["load"]

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[0-9],([0-9]+)")
_WORD = re.compile(r"[A-Za-z]+|-[A-Za-z]+")
_WORDS = {"null": None, "true": True, "false": False}


def load(text: str, file: str, *, line: int = 1, each: Callable[[Document], None] | None = None) -> Document:
    """Read one JSON document.

    Args:
        text: the document.
        file: its name, for errors.
        line: the line on which it begins.
        each: takes the items of a list of cases (`CASE_LISTS`) one by one, each as a document of its own, so that the
            places of a whole test set are never held at once; the list is then left empty.

    Raises:
        SpecError: with file, line and column.
    """
    reader = _Reader(text, file, line, each)
    offset = reader.skip(0)
    value, offset = reader.value(offset, (), 1)
    offset = reader.skip(offset)
    if offset != len(text):
        reader.refuse(
            offset,
            "text after the end of the document",
            "keep one JSON value in a file; a file with one on each line is called .jsonl",
        )
    return Document(file, value, reader.keys, reader.values)


class _Reader:
    """A reader by recursive descent; depth is bounded."""

    def __init__(self, text: str, file: str, line: int, each: Callable[[Document], None] | None) -> None:
        self.keys: dict[Path, Place] = {}
        self.values: dict[Path, Place] = {}
        self._text = text
        self._file = file
        self._each = each
        self._line = line
        self._line_start = 0
        self._seen = 0

    def skip(self, offset: int) -> int:
        """Return the offset after white space."""
        found = _SPACE.match(self._text, offset)
        return found.end() if found else offset

    def place(self, offset: int) -> Place:
        """Return line and column; offsets are asked for in rising order, so that a file is counted once."""
        if (newline := self._text.rfind("\n", self._seen, offset)) >= 0:
            self._line += self._text.count("\n", self._seen, offset)
            self._line_start = newline + 1
        self._seen = max(self._seen, offset)
        return Place(self._line, offset - self._line_start + 1)

    def refuse(self, offset: int, message: str, hint: str) -> NoReturn:
        """Raise the error for this place."""
        place = self.place(offset)
        raise SpecError(message, where=f"{self._file}:{place.line}:{place.column}", hint=hint)

    def value(self, offset: int, path: Path, depth: int) -> tuple[Any, int]:
        """Read one value at this offset; return it and the offset after it."""
        place = self.values[path] = self.place(offset)
        if depth > MAX_DEPTH:
            self.refuse(offset, f"more than {MAX_DEPTH} levels deep", "flatten the structure")
        char = self._text[offset : offset + 1]
        if char == "{":
            return self._object(offset + 1, path, depth)
        if char == "[":
            return self._array(offset + 1, path, depth)
        where = f"{self._file}:{place.line}:{place.column}"
        if char == '"':
            return self._string(offset, where)
        found = _NUMBER.match(self._text, offset)
        if found:
            whole = found.group(1) is None and found.group(2) is None
            return number(found.group(), where, integer=whole, path=path), found.end()
        word = _WORD.match(self._text, offset)
        if word and word.group() in _WORDS:
            return _WORDS[word.group()], word.end()
        if word:
            self.refuse(offset, f"{word.group()} is no JSON value", "write a finite number, or a string in quotes")
        self.refuse(offset, "no valid JSON: a value is missing here", "look for a comma too many or a bracket too few")

    def _string(self, offset: int, where: str) -> tuple[str, int]:
        try:
            text, end = scanstring(self._text, offset + 1, True)
        except JSONDecodeError as problem:
            self.refuse(problem.pos, f"no valid JSON: {problem.msg}", "close the quotes; write line ends as \\n")
        return check_text(text, where), end

    def _object(self, offset: int, path: Path, depth: int) -> tuple[dict[str, Any], int]:
        items: dict[str, Any] = {}
        key = ""
        offset = self.skip(offset)
        if self._text.startswith("}", offset):
            return items, offset + 1
        while True:
            comma = _DECIMAL_COMMA.match(self._text, offset - 2) if items else None
            if comma and type(items[key]) is int:
                hint = f"write {items[key]}.{comma.group(1)}"
                self.refuse(offset, f'"{key}": a number has a decimal point, not a comma', hint)
            if not self._text.startswith('"', offset):
                self.refuse(
                    offset,
                    "no valid JSON: a key in double quotes is missing here",
                    "keys have double quotes; remove a comma too many",
                )
            place = self.place(offset)
            key, end = self._string(offset, f"{self._file}:{place.line}:{place.column}")
            here = (*path, key)
            if key in items:
                self.refuse(offset, f'duplicate key "{key}" (first at line {self.keys[here].line})', "keep one of them")
            self.keys[here] = place
            offset = self.skip(end)
            if not self._text.startswith(":", offset):
                self.refuse(offset, "no valid JSON: a colon is missing here", "write a colon after the key")
            items[key], offset = self.value(self.skip(offset + 1), here, depth + 1)
            offset = self.skip(offset)
            if self._text.startswith("}", offset):
                return items, offset + 1
            offset = self._comma(offset, "}")

    def _array(self, offset: int, path: Path, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        offset = self.skip(offset)
        if self._text.startswith("]", offset):
            return items, offset + 1
        apart = self._each is not None and path in CASE_LISTS
        while True:
            if apart:
                offset = self._case(offset, depth + 1)
            else:
                item, offset = self.value(offset, (*path, len(items)), depth + 1)
                items.append(item)
            offset = self.skip(offset)
            if self._text.startswith("]", offset):
                return items, offset + 1
            offset = self._comma(offset, "]")

    def _case(self, offset: int, depth: int) -> int:
        """Read an item of a list of cases, hand it over and forget it; return the offset after it."""
        outer, each = (self.keys, self.values), self._each
        self.keys, self.values, self._each = {}, {}, None
        value, offset = self.value(offset, (), depth)
        assert each is not None  # noqa: S101  or the list would not be read this way
        each(Document(self._file, value, self.keys, self.values))
        (self.keys, self.values), self._each = outer, each
        return offset

    def _comma(self, offset: int, closing: str) -> int:
        if not self._text.startswith(",", offset):
            self.refuse(offset, f"no valid JSON: a comma or {closing} is missing here", "look at the line before it")
        return self.skip(offset + 1)
