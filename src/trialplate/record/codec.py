# SPDX-License-Identifier: Apache-2.0
"""Values to JSON and back, strictly, from the fields of their classes alone.

`decode` refuses an unknown field, a missing one, a null where a field is merely absent, a boolean for a number, and
whatever a marker of `values` forbids. It builds one reader per class the first time the class is met, because a record
of 100,000 trials is read line by line. It knows nothing of canonical form: that is `canonical`'s.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from trialplate.errors import FormatError
from trialplate.record.frozen import MISSING, AtLeast, Field, Json, Pattern, Value, fields

__all__ = ["decode", "is_required", "to_json"]

T = TypeVar("T")
_Reader = Callable[[Any], Any]
_VERSIONS = frozenset({"format", "v"})
"""Fields that name a format's version; a reader refuses those it does not know."""
_readers: dict[Any, _Reader] = {}
_writers: dict[type, tuple[tuple[str, Any], ...]] = {}
_ATOMS = frozenset({str, int, float, bool, type(None)})


def decode(cls: type[T], raw: Json, where: str = "") -> T:
    """Build a value of `cls` from parsed JSON.

    Raises:
        FormatError: "SCHEMA", or "VERSION" for a format that is not known, naming `where` and the path inside it.
    """
    try:
        value: T = (_readers.get(cls) or _reader(cls))(raw)
    except FormatError as error:
        error.where = where
        raise
    return value


def to_json(value: Any) -> Json:
    """Return the JSON form of a value: absent fields left out, tuples as lists."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in _ATOMS else to_json(item) for key, item in value.items()}
    if kind is tuple or kind is list:
        return [item if type(item) in _ATOMS else to_json(item) for item in value]
    plan = _writers.get(kind)
    if plan is None and isinstance(value, Value):
        plan = _writers[kind] = tuple((f.name, MISSING if is_required(f) else f.default) for f in fields(kind))
    if plan is not None:
        held = value.__dict__
        out = {}
        for name, default in plan:
            item = held[name]
            if item is not default and item != default:
                out[name] = item if type(item) in _ATOMS else to_json(item)
        return out
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    raise TypeError(f"no JSON form for {kind.__name__}")


def is_required(item: Field) -> bool:
    """Say whether a field is always written: without a default, or one that names a format."""
    return item.default is MISSING or item.name in _VERSIONS


def _refuse(message: str, code: str = "SCHEMA") -> FormatError:
    return FormatError(message, code=code, hint="this file was not written by this version; see schemas/")


def _reader(kind: Any) -> _Reader:
    """Return the reader of a type, made once."""
    known = _readers.get(kind)
    if known is None:
        known = _readers[kind] = _make(kind)
    return known


def _make(kind: Any) -> _Reader:
    """Make the reader of a type: the table of every type that a value may have."""
    if kind is Any:
        return lambda raw: raw
    if kind in (str, int, float, bool):
        return _scalar(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _marked(args[0], args[1:])
    if origin is Literal:
        return _literal(args)
    if origin in (Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) == 1:
            return _reader(inner[0])
    if origin is tuple:
        return _list(args[0]) if args[-1] is Ellipsis else _fixed(args)
    if origin in (dict, Mapping) or kind is Mapping:
        return _map(args[1])
    if isinstance(kind, type) and issubclass(kind, Value):
        return _object(kind)
    raise TypeError(f"no reader for {kind}")


_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def _scalar(kind: type) -> _Reader:
    accepted: tuple[type, ...] = (float, int) if kind is float else (kind,)

    def read(raw: Any) -> Any:
        if type(raw) in accepted:
            return raw
        raise _refuse(f"expected {_WORDS[kind]}, found {_shown(raw)}")

    return read


def _marked(base: Any, markers: tuple[Any, ...]) -> _Reader:
    """Read a string that must match, or an integer that must not be too small."""
    for marker in markers:
        if isinstance(marker, Pattern):
            return _text(marker)
        if isinstance(marker, AtLeast):
            return _count(marker.minimum)
    return _reader(base)


def _text(marker: Pattern) -> _Reader:
    matches = marker.check()

    def read(raw: Any) -> Any:
        if type(raw) is str and matches(raw):
            return raw
        raise _refuse(f"{_shown(raw)} does not have the form {marker.regex}")

    return read


def _count(minimum: int) -> _Reader:
    def read(raw: Any) -> Any:
        if type(raw) is int and raw >= minimum:
            return raw
        raise _refuse(f"expected an integer of at least {minimum}, found {_shown(raw)}")

    return read


def _literal(choices: tuple[Any, ...]) -> _Reader:
    allowed = {choice: type(choice) for choice in choices}

    def read(raw: Any) -> Any:
        if isinstance(raw, str | int) and allowed.get(raw) is type(raw):
            return raw
        raise _refuse(f"expected one of {', '.join(map(str, choices))}, found {_shown(raw)}")

    return read


def _list(item: Any) -> _Reader:
    inner = _reader(item)

    def read(raw: Any) -> Any:
        if type(raw) is list:
            return tuple([inner(value) for value in raw])
        raise _refuse(f"expected a list, found {_shown(raw)}")

    return read


def _fixed(items: tuple[Any, ...]) -> _Reader:
    inner = [_reader(item) for item in items]

    def read(raw: Any) -> Any:
        if type(raw) is list and len(raw) == len(inner):
            return tuple([reader(value) for reader, value in zip(inner, raw, strict=True)])
        raise _refuse(f"expected a list of {len(inner)}, found {_shown(raw)}")

    return read


def _map(item: Any) -> _Reader:
    inner = None if item is Any else _reader(item)

    def read(raw: Any) -> Any:
        if type(raw) is dict:
            return raw if inner is None else {key: inner(value) for key, value in raw.items()}
        raise _refuse(f"expected an object, found {_shown(raw)}")

    return read


def _object(cls: type) -> _Reader:
    """Read an object with exactly the fields of a value class."""
    readers: dict[str, _Reader] = {}
    _readers[cls] = lambda raw: read(raw)  # noqa: PLW0108  for a class within itself: `read` comes later
    for item in fields(cls):
        readers[item.name] = _reader(item.type)
    required = frozenset(item.name for item in fields(cls) if is_required(item))
    absent = {item.name: item.default for item in fields(cls) if item.name not in required}
    make: Callable[[type], Any] = object.__new__
    place = object.__setattr__

    def read(raw: Any) -> Any:
        if type(raw) is not dict:
            raise _refuse(f"expected an object, found {_shown(raw)}")
        held = absent.copy()
        for name, value in raw.items():
            reader = readers.get(name)
            if reader is None:
                raise _refuse(f"unknown field {name!r}")
            try:
                held[name] = reader(value)
            except FormatError as error:
                code = "VERSION" if name in _VERSIONS else error.code
                raise _refuse(f"{name}: {error.message}", code) from None
        if len(held) != len(readers):
            raise _refuse(f"missing field {', '.join(sorted(required - raw.keys()))}")
        made = make(cls)
        place(made, "__dict__", held)
        return made

    return read


def _shown(raw: Any) -> str:
    text = repr(raw)
    return text if len(text) <= 60 else text[:57] + "..."
