# SPDX-License-Identifier: Apache-2.0
"""How JSON is found in an answer, by the rule that the plan states as `parse`.

    strict    the whole answer is one JSON value (the default: it takes nothing for an answer that is not all of it)
    fenced    or else, the one value of its fenced blocks: those called json, and those without a name
    embedded  or else, the one value of these blocks and of the objects and arrays that stand in the text around them

One value may stand there several times; two different ones are "ambiguous", and never the first by luck. A block called
json that is no JSON, and an object that begins and cannot be read, spoil the rest: what stands inside is a part of
something else. JSON is read as strictly as a record is (`record.canonical`): no duplicate key, no NaN, no number beyond
what every reader holds, no half of a surrogate pair, 64 levels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import get_args

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.flaws import MAX_DEPTH
from trialplate.record.frozen import Json
from trialplate.spec.answer_schemas import Parse

__all__ = ["PARSES", "NoJson", "json_in"]

PARSES: tuple[Parse, ...] = get_args(Parse)
_BLANKS = " \t\r\n"
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^`\n]*+)$", re.MULTILINE)
"""No part of it gives back what it took: else a line of blanks would take the square of its length."""
_OPENING = re.compile(r"""\{[ \t\r\n]*["'}]|\[[ \t\r\n]*[]"{[\-0-9tfn]""")
"""What may begin an object or an array; a dictionary of another language begins like an object, and is none."""
MAX_WORK = 200_000_000
"""Characters that may be looked at for arrays that turn out to be none: for each, the lines before it are counted."""
MAX_BLOCKS = MAX_VALUES = 1000
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Only says where a value ends; `canonical.parse` reads it."""


class NoJson(Exception):
    """The answer holds no JSON value, or not exactly one; the message says why."""


def json_in(text: str, parse: Parse) -> Json:
    """Return the JSON value of an answer.

    Raises:
        NoJson: there is none, or more than one.
    """
    try:
        return _read(text)
    except NoJson as whole:
        if parse == "strict":
            raise
        reason = whole
    seen: list[tuple[bytes, Json]] = []
    for number, value in enumerate(_candidates(text, parse)):
        raw = canonical.encode(value)
        if seen and raw != seen[0][0]:
            raise NoJson("ambiguous: two different JSON values")
        if number >= MAX_VALUES:
            raise NoJson(f"ambiguous: more than {MAX_VALUES} JSON values")
        seen = seen or [(raw, value)]
    if not seen:
        raise reason
    return seen[0][1]


def _read(text: str) -> Json:
    """Read a text that shall be one JSON value and nothing else."""
    try:
        return canonical.parse(text.strip(_BLANKS).encode("utf-8", "surrogatepass"))
    except FormatError as error:
        # The reader's own words begin alike where there is no syntax at all.
        raise NoJson(f"not JSON: {error.message.removeprefix('not JSON: ')}") from None


def _candidates(text: str, parse: Parse) -> Iterator[Json]:
    """Yield the values of the fenced blocks, and if asked for those between them."""
    for number, (kind, part) in enumerate(_parts(text)):
        if number > 2 * MAX_BLOCKS:
            raise NoJson(f"not JSON: more than {MAX_BLOCKS} fenced blocks")
        if kind == "json":
            yield _read(part)
        elif kind == "":
            try:
                yield _read(part)
            except NoJson:
                continue  # a block without a name may hold anything
        elif kind == "prose" and parse == "embedded":
            yield from _embedded(part)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield ("prose", text) and (name of a fenced block, what it holds), by the rules of CommonMark 4.5."""
    fence, name, begin = "", "prose", 0
    for match in _FENCE.finditer(text):
        if fence and not (match[1].startswith(fence) and not match[2].strip()):
            continue  # a shorter fence, or one with a name, is a line of the block
        yield name, text[begin : match.start()]
        fence, name = ("", "prose") if fence else (match[1], (match[2].split() or [""])[0].lower())
        begin = match.end()
    yield name, text[begin:]  # a block that is not closed ends with the text


def _embedded(text: str) -> Iterator[Json]:
    """Yield the objects and arrays of a text."""
    at, tries = 0, max(20, MAX_WORK // max(1, len(text)))
    while opening := _OPENING.search(text, at):
        start = opening.start()
        try:
            end = _SCANNER.raw_decode(text, start)[1]
        except RecursionError:
            raise NoJson(f"not JSON: more than {MAX_DEPTH} levels of nesting") from None
        except json.JSONDecodeError as error:
            if opening[0][0] == "{":
                raise NoJson(f"not JSON: an object at character {start + 1} cannot be read: {error.msg}") from None
            at, tries = max(start + 1, error.pos), tries - 1  # up to here it is a part of something that is no JSON
            if not tries:
                raise NoJson("not JSON: too many brackets that open none") from None
            continue
        yield _read(text[start:end])
        at = end
