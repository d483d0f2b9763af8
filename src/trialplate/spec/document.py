# SPDX-License-Identifier: Apache-2.0
"""An author's file as plain values plus where each of them stands, and how its numbers were written.

Both readers, `yaml_strict` and `json_places`, end here. What a record could not hold is refused at once, with file,
line and column: a number that is not finite, an integer outside +-(2^53-1), half of a surrogate pair, a control
character in a key. Nothing is guessed and nothing is changed on the way: `0.90` keeps its text, so that a threshold is
compared as the author wrote it and never passes through binary floating point.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trialplate.errors import SpecError
from trialplate.record.flaws import MAX_INTEGER

__all__ = [
    "CASE_LISTS",
    "MAX_BYTES",
    "Document",
    "ExactFloat",
    "Path",
    "Place",
    "check_text",
    "decode_utf8",
    "named",
    "number",
    "plain",
]

MAX_BYTES = 1024 * 1024
"""An author's file is read by people: more than a mebibyte is a mistake or an attack."""
_MAX_DIGITS = 400

Path = tuple[str | int, ...]
"""Keys and indices from the top of a file to a value."""
CASE_LISTS: frozenset[Path] = frozenset({(), ("cases",)})
"""Where a file of cases has its list: it is the whole file, or stands under `cases`."""


class ExactFloat(float):
    """A float that remembers the text it was read from, for fields that must be exact."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactFloat:
        """Read the text; the caller has checked that it is a number."""
        self = super().__new__(cls, text)
        self.text = text
        return self


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, and where."""

    file: str
    value: Any
    keys: Mapping[Path, Place] = field(default_factory=dict)
    """Where the key of a mapping's item stands, by the item's path."""
    values: Mapping[Path, Place] = field(default_factory=dict)

    def where(self, path: Path, *, key: bool = False) -> str:
        """Return "file:line:column" of a value, or of its key; of the nearest thing above it, if it is not there."""
        for length in range(len(path), -1, -1):
            above = path[:length]
            place = (self.keys.get(above) if key or length < len(path) else None) or self.values.get(above)
            if place is not None:
                return f"{self.file}:{place.line}:{place.column}"
        return self.file

    def order(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return a sort key that puts problems in the order of the file."""
        _, line, column = f"{self.where(path, key=key)}:0:0".removeprefix(self.file).split(":")[:3]
        return int(line), int(column)

    def at(self, path: Path) -> Any:
        """Return the value at a path, which must exist."""
        value = self.value
        for part in path:
            value = value[part]
        return value


def decode_utf8(data: bytes, file: str, *, limit: int = MAX_BYTES) -> str:
    """Return the text of a file, without a byte-order mark.

    Raises:
        SpecError: over the limit, or not UTF-8, with the offset of the first wrong byte.
    """
    if len(data) > limit:
        raise SpecError(
            f"the file has {len(data)} bytes, more than the {limit} that are read", where=file, hint="split the file"
        )
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise SpecError(
            f"not UTF-8 at byte {problem.start} (0x{data[problem.start]:02x})",
            where=f"{file}:{line}",
            hint="save the file as UTF-8; it looks like Windows-1252, UTF-16 or another encoding",
        ) from problem


def number(text: str, where: str, *, integer: bool, path: Path = ()) -> int | ExactFloat:
    """Return the number that a text of digits stands for.

    Args:
        text: digits that the caller's grammar has accepted; "0o17" and "0x1f" for integers.
        where: for the error text.
        integer: the text has neither a point nor an exponent.
        path: to the number, for the error text.

    Raises:
        SpecError: it is no finite number, or too large to be exact.
    """
    name = f'"{named(path)}": ' if path else ""
    if len(text) > _MAX_DIGITS:
        message = f"{name}a number of {len(text)} characters"
        raise SpecError(message, where=where, hint="write it as a string, in quotes")
    if integer:
        value = int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        if abs(value) > MAX_INTEGER:
            message = f"{name}the integer {text} is outside +/-(2^53-1)"
            raise SpecError(message, where=where, hint=f'write it as a string: "{text}"')
        return value
    exact = ExactFloat(text)
    underflow = float(exact) == 0.0 and any(digit in "123456789" for digit in text.lower().partition("e")[0])
    if underflow or not math.isfinite(exact) or abs(exact) > MAX_INTEGER:
        message = f"{name}the number {text} cannot be held exactly enough"
        raise SpecError(message, where=where, hint=f'write it as a string: "{text}"')
    return exact


def named(path: Path) -> str:
    """Return a path as people write it, such as references[1].n."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def check_text(text: str, where: str) -> str:
    """Return the text if it is valid Unicode.

    Raises:
        SpecError: it holds half of a surrogate pair.
    """
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise SpecError(
            "the text holds half of a surrogate pair, which is no character",
            where=where,
            hint="write the character itself",
        )
    return text


def plain(value: Any) -> Any:
    """Return JSON of plain types: every `ExactFloat` becomes a float."""
    if isinstance(value, ExactFloat):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
