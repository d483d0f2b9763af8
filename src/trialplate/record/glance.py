# SPDX-License-Identifier: Apache-2.0
"""Lines read at a glance: one regular expression for each kind of line that a long record has by the hundred thousand.

Reading a trial line strictly (parse, write again, compare, check each field) takes 15 us; recognising one takes 4. The
expressions of trial lines are made from the definitions that the strict decoder is made from. What an expression
accepts, the strict path accepts with the same value (tests/property compares the two on sound lines and on lines that
were damaged byte by byte). Everything else, be it damaged or merely unusual, gets no answer here: the strict path
reads it, and says what is wrong.

Why a line that matches is canonical: its fields stand in their order without white space; integers have no sign, zero
or digit too many; a string holds no escape, or only those that RFC 8785 writes; lists and maps of any length are cut
out and read strictly by themselves; nothing nests deeper than the types of the fields do.

What this module refuses to do: judge a line, report an error, read a ledger's entries.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from trialplate.errors import FormatError
from trialplate.record import canonical, codec
from trialplate.record.entries import TrialEnd, TrialStart
from trialplate.record.frozen import AtLeast, Json, Pattern, Value, fields
from trialplate.record.log import MAX_ENTRY
from trialplate.record.values import Count, Salt, Time

__all__ = ["opening_reader", "trial_reader"]

_Groups = tuple[Any, ...]
_Read = Callable[[_Groups, int], Any] | None
"""Takes what an expression's groups caught, and which of them begins the value; returns the value. None: the text."""
_Form = tuple[str, int, _Read]
"""A type's expression, the number of the group after its own, and what reads the value."""
_CLASS = r"\[(?:\\.|[^\]\\])+\]"
_ESCAPED = ('"', "\\", *map(chr, range(0x20)))
"""What a canonical string holds escaped only."""
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))[^"\\\x00-\x1f]*+)*+"'
"""Any canonical string: RFC 8785, 3.2.2.2."""
_NOTHING = "((?!))"
"""Matches no text: a line that has such a field is read strictly."""
_MOST_PARTS = 1024
"""Metrics are the same few over and over."""


def opening_reader() -> Callable[[bytes], Json]:
    """Return what reads the value of an opening that is a string, or a map of one string; None for any other line."""
    read = json.JSONDecoder().raw_decode
    matches = re.compile(rf"\[{_string(Salt)},({_STRING}|\{{{_STRING}:{_STRING}\}})\]").fullmatch

    def glance(raw: bytes) -> Json:
        try:
            match = matches(raw.decode())
        except UnicodeDecodeError:
            return None
        if match is None:
            return None
        text = match[2]
        return text[1:-1] if text[0] == '"' and "\\" not in text else read(text)[0]

    return glance


def trial_reader() -> Callable[[bytes, int], tuple[str, TrialStart | TrialEnd] | None]:
    """Return what reads a trial line, given its number, into its time and body; it returns None for any other line.

    Making it takes as long as reading 500 lines strictly.
    """
    start, end = _line("trial.start", TrialStart), _line("trial.end", TrialEnd)

    def glance(raw: bytes, seq: int) -> tuple[str, TrialStart | TrialEnd] | None:
        if len(raw) > MAX_ENTRY:
            return None
        try:
            text = raw.decode()
            found = start(text) or end(text)
        except (UnicodeDecodeError, FormatError):
            return None
        return found[1:] if found is not None and found[0] == seq else None

    return glance


def _line(kind: str, cls: type) -> Callable[[str], tuple[int, str, Any] | None]:
    """Return the reader of one entry type without approvers: (number, time, body)."""
    body, seq, read = _object(cls, 0)
    number, time = _form(Count, seq)[0], _form(Time, seq + 1)[0]
    line = rf'\{{"body":{body},"seq":{number},"time":{time},"type":"{re.escape(kind)}","v":1\}}'
    matches = re.compile(line).fullmatch

    def found(text: str) -> tuple[int, str, Any] | None:
        match = matches(text)
        if match is None:
            return None
        caught = match.groups()
        return int(caught[seq]), caught[seq + 1], read(caught, 0)

    return found


def _form(kind: Any, at: int) -> _Form:
    """Return the form of a type whose first group, which catches the whole value, is number `at`."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and len(inner := [arg for arg in args if arg is not type(None)]) == 1:
        return _form(inner[0], at)
    if origin is Annotated and isinstance(args[1], Pattern):
        return _string(kind), at + 1, None
    if origin is Annotated and isinstance(args[1], AtLeast) and args[1].minimum in (0, 1):
        return ("(0|[1-9][0-9]{0,14}+)", "([1-9][0-9]{0,14}+)")[args[1].minimum], at + 1, _integer
    if kind is int:
        return "(0|-?[1-9][0-9]{0,14}+)", at + 1, _integer
    if kind is bool:
        return "(true|false)", at + 1, lambda caught, at: caught[at] == "true"
    if origin is Literal and all(type(arg) is str and arg.isidentifier() for arg in args):
        return f'"({"|".join(args)})"', at + 1, None
    if origin is tuple and args[-1] is not Ellipsis:
        return _fixed(args, at)
    if isinstance(kind, type) and issubclass(kind, Value):
        return _object(kind, at)
    if origin is Mapping or origin is tuple:
        return (r"(\{[^{}]*+\})" if origin is Mapping else r"(\[[^\[\]]*+\])"), at + 1, _part(kind)
    return _NOTHING, at + 1, None


def _object(cls: type, at: int) -> tuple[str, int, Callable[[_Groups, int], Any]]:
    """Recognise the fields of a value class in their canonical order; each brings the comma behind it."""
    pattern, after = "", at + 1
    readers: list[tuple[str, int, _Read]] = []
    for item in sorted(fields(cls), key=lambda item: item.name):
        value, following, read = _form(item.type, after)
        one = rf'"{item.name}":{value}(?:,|(?=\}}))'
        pattern += one if codec.is_required(item) else f"(?:{one})?+"
        readers.append((item.name, after, read))
        after = following
    absent = {item.name: item.default for item in fields(cls) if not codec.is_required(item)}
    make: Callable[[type], Any] = object.__new__
    place = object.__setattr__

    def object_of(caught: _Groups, at: int) -> Any:
        held = absent.copy()
        for name, first, read in readers:
            text = caught[first]
            if text is not None:
                held[name] = text if read is None else read(caught, first)
        made = make(cls)
        place(made, "__dict__", held)
        return made

    return rf"(\{{{pattern}(?<!,)\}})", after, object_of


def _fixed(items: tuple[Any, ...], at: int) -> _Form:
    """Recognise a list of so many values."""
    patterns: list[str] = []
    readers: list[tuple[int, _Read]] = []
    after = at + 1
    for item in items:
        value, following, read = _form(item, after)
        patterns.append(value)
        readers.append((after, read))
        after = following

    def list_of(caught: _Groups, at: int) -> Any:
        return tuple([caught[first] if read is None else read(caught, first) for first, read in readers])

    return rf"(\[{','.join(patterns)}\])", after, list_of


def _string(kind: Any) -> str:
    """Recognise a string that has the form of its type and needs no escape."""
    form: str = get_args(kind)[1].regex
    classes = re.findall(_CLASS, form)
    unsafe = any(re.match(one, character) for one in classes for character in _ESCAPED)
    if not unsafe and re.fullmatch(r"(?:[A-Za-z0-9:{},-]|\\\.)*", re.sub(_CLASS, "", form)):
        return f'"({form})"'
    if re.fullmatch(_CLASS + r"\{[0-9,]+\}", form):  # one class, so many times: each character is looked at first
        return rf'"((?:(?!["\\\x00-\x1f]){classes[0]}){form[len(classes[0]) :]}+)"'
    return _NOTHING


def _part(kind: Any) -> _Read:
    """Read a list or a map of any length by the strict path, once for each text while they are few."""
    decoded = lru_cache(_MOST_PARTS)(lambda text: codec.decode(kind, canonical.decode(text.encode())))
    return lambda caught, at: decoded(caught[at])


def _integer(caught: _Groups, at: int) -> int:
    return int(caught[at])
