# SPDX-License-Identifier: Apache-2.0
"""What every frozen value is: fields given by name, compared by content, never changed; and the markers on its fields.

    class Money(Value):
        nano: Annotated[int, AtLeast(0)]
        currency: Annotated[str, Pattern("[A-Z]{3}")] = "EUR"

A subclass's annotations are its fields, in order; what is assigned there is a field's default. `codec` reads and writes
values by these fields, and pydantic makes their schemas, without being imported here. Type checkers read `Value` as a
frozen dataclass. It is none, since `dataclasses` takes an eighth of the time in which a verifier has to start (ADR 16).
"""

import re
from collections.abc import Callable
from typing import Any, Self, dataclass_transform

__all__ = ["MISSING", "AtLeast", "Field", "Json", "Pattern", "Value", "fields"]

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of these."""

MISSING: Any = object()
"""The default of a field that has none."""


class Pattern:
    """A string must match the whole of this regular expression (a subset that Python and ECMA 262 read alike)."""

    def __init__(self, regex: str) -> None:
        self.regex = regex

    def check(self) -> Callable[[str], object]:
        """Return a function that is truthy for a matching string."""
        return re.compile(self.regex).fullmatch

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        return {**handler(source), "pattern": f"^(?:{self.regex})$"}


class AtLeast:
    """An integer is at least this."""

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> dict[str, Any]:
        return {**handler(source), "ge": self.minimum}


class Field:
    """One field of a value class: its name, its annotation with all markers, and its default.

    The default is MISSING if there is none. It is only ever read: a value is frozen, and so is what its fields hold.
    """

    __slots__ = ("default", "name", "type")

    def __init__(self, name: str, kind: Any, default: Any) -> None:
        self.name, self.type, self.default = name, kind, default


_fields: dict[type, tuple[Field, ...]] = {}
_shapes: dict[type, tuple[tuple[str, ...], dict[str, Any], frozenset[str]]] = {}


def fields(cls: type) -> tuple[Field, ...]:
    """Return the fields of a value class, in the order in which they stand."""
    known = _fields.get(cls)
    if known is None:
        given = cls.__annotations__
        if any(isinstance(kind, str) for kind in given.values()):
            from typing import get_type_hints  # only where a module keeps its annotations as strings

            given = {name: get_type_hints(cls, include_extras=True)[name] for name in given}
        known = tuple(Field(name, kind, cls.__dict__.get(name, MISSING)) for name, kind in given.items())
        _fields[cls] = known
    return known


def _shape(cls: type) -> tuple[tuple[str, ...], dict[str, Any], frozenset[str]]:
    """Return a value class's names, its defaults, and the names without one; found out once."""
    names = tuple(cls.__annotations__)  # without `fields`, which works out what annotations kept as strings mean
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    _shapes[cls] = names, defaults, frozenset(names) - defaults.keys()
    return _shapes[cls]


@dataclass_transform(eq_default=False, kw_only_default=True, frozen_default=True)
class Value:
    """The base of every value: all its methods, written once."""

    def __init_subclass__(cls, *, kw_only: bool = True) -> None:
        """Take a class argument that only type checkers act on: `kw_only=False` for a few fields, told by place."""
        if cls.__bases__ != (Value,):
            raise TypeError(f"{cls.__name__}: a value class has its own fields and inherits none")

    def __init__(self, *placed: Any, **given: Any) -> None:
        names, defaults, required = _shapes.get(type(self)) or _shape(type(self))
        if placed:
            first = dict(zip(names, placed, strict=False))
            if len(first) != len(placed) or first.keys() & given.keys():
                raise TypeError(f"{type(self).__name__}: more values by place than fields, or a field given twice")
            given = {**first, **given}
        held = {**defaults, **given}
        if len(held) != len(names) or not required <= given.keys():
            wrong = sorted((required - given.keys()) | (given.keys() - set(names)))
            raise TypeError(f"{type(self).__name__}: missing or unknown {', '.join(wrong)}")
        self.__dict__.update(held)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, content: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use its method replace")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(self.__dict__.items()))))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={content!r}" for name, content in self.__dict__.items())
        return f"{type(self).__name__}({shown})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        """Describe the class as pydantic describes a dataclass of these fields that allows no other."""
        described = [
            {"type": "dataclass-field", "name": item.name, "kw_only": True, "schema": _described(item, handler)}
            for item in fields(cls)
        ]
        inner = {"type": "dataclass-args", "dataclass_name": cls.__name__, "fields": described}
        return {
            "type": "dataclass",
            "cls": cls,
            "ref": f"{cls.__module__}.{cls.__qualname__}:{id(cls)}",
            "schema": inner,
            "fields": [item.name for item in fields(cls)],
            "config": {"title": cls.__name__, "extra_fields_behavior": "forbid"},
        }


def _described(item: Field, handler: Any) -> dict[str, Any]:
    schema: dict[str, Any] = handler.generate_schema(item.type)
    if item.default is MISSING:
        return schema
    if isinstance(item.default, Value):  # no JSON: made when it is needed, so that no schema has to show it
        return {"type": "default", "schema": schema, "default_factory": lambda: item.default}
    return {"type": "default", "schema": schema, "default": item.default}
