# SPDX-License-Identifier: Apache-2.0
"""The kinds of field that author files are made of, and the base of their models.

A model says what a file may hold, strictly: unknown keys, a number for a text or a text for a number are errors. Each
model notes its known keys while it reads, so that an error can name the nearest one (see `problems`). Thresholds,
prices and durations are read from the number's own text and are never binary floats.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from trialplate.record import values
from trialplate.spec.document import ExactFloat

__all__ = [
    "Author",
    "AuthorSelector",
    "EnvName",
    "Exact",
    "FilePath",
    "Many",
    "Margin",
    "Milliseconds",
    "Money",
    "Name",
    "OneOrMany",
    "Share",
    "Short",
    "Text",
    "added_name",
    "check_path",
    "money",
    "refused",
]

T = TypeVar("T")
_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_DECIMAL_COMMA = re.compile(r"([0-9]{0,12}),([0-9]{1,12})")
_DECIMAL_TEXT = re.compile(values.DecimalText.__metadata__[0].regex)  # type: ignore[attr-defined]


class Author(BaseModel):
    """The base of every model of an author file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _note_known_keys(cls, value: Any, info: ValidationInfo) -> Any:
        known = (info.context or {}).get("known")
        if known is not None and isinstance(value, dict):
            known[id(value)] = frozenset(field.alias or name for name, field in cls.model_fields.items())
        return value


def refused(message: str, do: str, key: str = "") -> PydanticCustomError:
    """Return an error of a file's model.

    Args:
        message: what is wrong, beginning where `"key": ` has been said.
        do: one thing to do about it.
        key: the key below the mapping that it is about, if that stands there.
    """
    return PydanticCustomError("refused", "{message}", {"message": message, "do": do, "key": key})


def added_name(value: Any, info: ValidationInfo, key: str, built_in: Collection[str]) -> None:
    """Check that the name under a key is one that a package, or the program, adds; see `added`.

    A schema alone knows of no package, and lets any name pass.

    Raises:
        PydanticCustomError: nobody has this name; the nearest of all that are there is told.
    """
    added = (info.context or {}).get("added")
    if added is None or not isinstance(value, dict):
        return
    names = set(added.names(f"{key if key == 'runner' else 'scorer'}s"))
    if value.get(key) not in names:
        there = ", ".join([*built_in, *sorted(names)])
        raise PydanticCustomError("nobodys_name", "there is {there}", {"there": there, "key": key})


def _exact(value: Any) -> str:
    """Return a non-negative number as the decimal text of a record, from its own digits."""
    text = value.text if isinstance(value, ExactFloat) else value
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if isinstance(text, str) and (comma := _DECIMAL_COMMA.fullmatch(text)):
        written = f"{comma.group(1) or '0'}.{comma.group(2)}"
        raise PydanticCustomError("decimal_comma", "a number has a decimal point, not a comma", {"written": written})
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise PydanticCustomError("exact", "expected a number that is not negative")
    # Equal marks shall have equal digests, so 0.90, .9 and 9e-1 are one text.
    plain = format(Decimal(text), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    if not _DECIMAL_TEXT.fullmatch(plain):
        raise PydanticCustomError("exact", "at most twelve digits stand before the point and twelve after it")
    return plain


def _margin(value: Any) -> str:
    """Return a number from -1 to 1 as the signed decimal text of a record."""
    text = value.text if isinstance(value, ExactFloat) else str(value) if type(value) is int else value
    below = isinstance(text, str) and text.startswith("-")
    number = text[1:] if below else text
    is_number = isinstance(number, str) and (_DECIMAL.fullmatch(number) or _DECIMAL_COMMA.fullmatch(number))
    if not is_number or Decimal(plain := _exact(number)) > 1:
        raise PydanticCustomError("margin", "expected a number between -1 and 1, such as 0.03 for 3 points")
    return f"-{plain}" if below and plain != "0" else plain


def _share(value: str) -> str:
    if Decimal(value) > 1:
        raise PydanticCustomError("share", "expected a share between 0 and 1, such as 0.90 for 90 %")
    return value


def _milliseconds(value: Any) -> int:
    """Return seconds as whole milliseconds."""
    scaled = Decimal(_exact(value)) * 1000
    if scaled != int(scaled) or scaled > 2**31:
        raise PydanticCustomError("seconds", "expected seconds, with at most three digits after the point")
    return int(scaled)


def money(value: Any) -> int:
    """Return an amount as whole 10^-9 of the currency's unit, from its own digits.

    Raises:
        PydanticCustomError: no such amount.
    """
    scaled = Decimal(_exact(value)) * 10**9
    if scaled != int(scaled) or scaled > 10**15:
        raise PydanticCustomError("money", "expected an amount up to 1,000,000, with at most nine decimals")
    return int(scaled)


def _one_or_many(value: Any) -> Any:
    if not isinstance(value, str | list | tuple):
        raise PydanticCustomError("one_or_many", "expected a text, or a list of texts; a number needs quotes")
    return [value] if isinstance(value, str) else value


def check_path(value: str) -> str:
    """Return a path that could not leave the project's folder, before any file is touched.

    Raises:
        PydanticCustomError: it is none.
    """
    parts = value.split("/")
    if value.startswith(("/", "~")) or "\\" in value or ":" in parts[0] or {"", ".", ".."} & set(parts):
        raise PydanticCustomError("path", "expected a path inside the project's folder, such as cases/contract.csv")
    return value


def _text(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("text", "expected a text that is not blank")
    return value


_NUMBER_SCHEMA = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]{1,3})?$"},
    ]
}
_MARGIN_SCHEMA = {
    "anyOf": [
        {"type": "number", "minimum": -1, "maximum": 1},
        {"type": "string", "pattern": "^-?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]{1,3})?$"},
    ]
}
_TEXTS_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}


def _named(annotated: Any) -> Any:
    """Return the constraint that a marker of `values` puts on a text, as pydantic's regular expressions read it."""
    return StringConstraints(pattern=f"^(?:{annotated.__metadata__[0].regex})$")


Exact = Annotated[str, BeforeValidator(_exact), WithJsonSchema(_NUMBER_SCHEMA)]
"""A non-negative decimal number, exact, as text."""
Share = Annotated[str, BeforeValidator(_exact), AfterValidator(_share), WithJsonSchema(_NUMBER_SCHEMA)]
"""An exact number between 0 and 1."""
Margin = Annotated[str, BeforeValidator(_margin), WithJsonSchema(_MARGIN_SCHEMA)]
"""An exact number between -1 and 1."""
Milliseconds = Annotated[int, BeforeValidator(_milliseconds), WithJsonSchema(_NUMBER_SCHEMA)]
"""Written in seconds."""
Money = Annotated[int, BeforeValidator(money), WithJsonSchema(_NUMBER_SCHEMA)]
"""Written in units of the currency, kept in 10^-9 of one."""
Name = Annotated[str, _named(values.Name)]
Short = Annotated[str, _named(values.Short)]
EnvName = Annotated[str, StringConstraints(pattern="^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
Text = Annotated[str, AfterValidator(_text)]
"""Not blank."""
FilePath = Annotated[str, AfterValidator(check_path), Field(min_length=1, max_length=512)]
"""Relative to the author file's folder, with forward slashes."""
Many = Annotated[tuple[T, ...], Strict(False)]
"""A list."""
OneOrMany = Annotated[
    tuple[T, ...], Strict(False), BeforeValidator(_one_or_many), Field(min_length=1), WithJsonSchema(_TEXTS_SCHEMA)
]
"""A text, or a list of them."""


class AuthorSelector(Author):
    """Which cases something applies to: every key given must match; a list matches by any of its values."""

    tag: OneOrMany[Text] = ()
    kind: OneOrMany[Literal["prompt", "trace"]] = ()
    suite: OneOrMany[Text] = ()
    id: OneOrMany[Text] = ()

    def resolved(self) -> values.Selector:
        """Return the selector of a record, each value once."""

        def once(items: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(items))

        return values.Selector(tag=once(self.tag), kind=once(self.kind), suite=once(self.suite), id=once(self.id))
