# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON: RFC 8785 bytes out, strict JSON in, and the digests of such bytes.

Writing goes through rfc8785. Reading is strict: UTF-8 without a byte order mark, at most 64 levels deep, no duplicate
key, no NaN or Infinity, integers within +-(2^53-1), floats below 2^53 in magnitude, no lone surrogate. A record is
read with `decode`, which requires that re-encoding gives the same bytes; what an author wrote is read with `parse`.

A log of 200,000 lines is read in seconds, so both directions have a fast path through the standard library's encoder.
It is taken only where its output provably equals that of rfc8785, which sorts keys by UTF-16 code unit and writes
numbers as ECMAScript does:

- no character of the document is U+E000 or above, so that order by code point is order by UTF-16 code unit;
- integers have at most 15 digits in reading, or are checked to be safe in writing;
- a float's shortest form (`repr`) has no exponent and no trailing `.0`; rfc8785 then writes that form unchanged;
- string escapes are the same in both (tests/property compares the two paths on generated and on damaged documents).

What this module refuses to do: normalise Unicode, repair input, write numbers or escapes by hand, touch a file.
Error codes: STRICT-ENCODING, -DUPKEY, -NUMBER, -DEPTH, -SURROGATE, -NONCANONICAL, -SYNTAX, -LIMIT for reading, CANON
for writing, TEXT for `text_in`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from trialplate.errors import FormatError
from trialplate.record.flaws import AS_STRING, MAX_DEPTH, MAX_INTEGER, Flaw, first_flaw, has_surrogate, short
from trialplate.record.frozen import Json

__all__ = ["MAX_BYTES", "decode", "digest", "digest_value", "encode", "parse", "text_in", "text_out"]

MAX_BYTES = 64 * 1024 * 1024
"""What `decode` and `parse` take at most unless told otherwise."""

_BOM = b"\xef\xbb\xbf"
_HIGH_LEAD_BYTE = re.compile(rb"[\xee-\xff]")
"""Begins the UTF-8 form of a character from U+E000 on, and nothing below."""
_SAFE_DIGITS = 15
_AS_THEY_ARE = frozenset({str, bool, type(None)})

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)


class _NotPlain(Exception):
    """The fast path cannot vouch for this document; the strict path will judge it."""


# -------------------------------------------------------------------------------------------------------- writing


def encode(value: Json) -> bytes:
    """Return the RFC 8785 bytes of a JSON value.

    Raises:
        FormatError: CANON, naming the place, for whatever is no canonical JSON: unsafe integers, NaN, Infinity, floats
            from 2^53 on, lone surrogates, keys that are no strings, foreign types, more than 64 levels.
    """
    try:
        raw = _ENCODER.encode(_plain(value)).encode()
        if _sorts_plainly(raw) and _is_shallow(raw, value):
            return raw
    except (_NotPlain, RecursionError, UnicodeEncodeError):
        pass
    flaw = first_flaw(value)
    if flaw is not None:
        raise FormatError(f"this value has no canonical JSON: {flaw.text} at {flaw.path}", code="CANON")
    import rfc8785  # the fast path, which vouches for nearly every document, does without it

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise FormatError(f"this value has no canonical JSON: {error}", code="CANON") from error


def digest(raw: bytes) -> str:
    """Return "sha256:<hex>" of the bytes."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def digest_value(value: Json) -> str:
    """Return the digest of the value's canonical bytes."""
    return digest(encode(value))


def _plain(value: Json) -> Json:
    """Return a value for the standard encoder: integral floats become the integers that RFC 8785 writes for them.

    What needs no change is not copied.
    """
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        made = value
        for key, item in value.items():
            if type(key) is not str:
                raise _NotPlain
            kind = type(item)
            if kind in _AS_THEY_ARE or (kind is int and -MAX_INTEGER <= item <= MAX_INTEGER):
                continue  # most are
            if (plain := _plain(item)) is not item:
                made = dict(value) if made is value else made
                made[key] = plain
        return made
    if kind is list or kind is tuple:
        return [item if type(item) in _AS_THEY_ARE else _plain(item) for item in value]
    if kind is int and -MAX_INTEGER <= value <= MAX_INTEGER:
        return value
    if kind is float and -MAX_INTEGER <= value <= MAX_INTEGER:
        if value.is_integer():
            return int(value)
        if abs(value) >= 1e-4:  # below, repr has an exponent
            return value
    raise _NotPlain


def _sorts_plainly(raw: bytes) -> bool:
    """Whether keys surely sort alike by code point and by UTF-16 code unit."""
    return raw.isascii() or _HIGH_LEAD_BYTE.search(raw) is None


def _is_shallow(raw: bytes, value: Json) -> bool:
    """Whether depth is in bounds: surely so with few brackets, else by going down level by level."""
    if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return True
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _inner(item)]
        if not level:
            return True
    return False


def _inner(item: Json) -> list[Json]:
    """Return what a container holds that may hold more."""
    held = item.values() if isinstance(item, dict) else item if isinstance(item, list | tuple) else ()
    return [child for child in held if isinstance(child, dict | list | tuple)]


# -------------------------------------------------------------------------------------------------------- reading


def decode(raw: bytes, where: str = "", limit: int = MAX_BYTES) -> Json:
    """Read canonical JSON: strict, and byte for byte what `encode` would write.

    Args:
        raw: one document, such as a line of a log without its LF.
        where: what to call it in an error.
        limit: the longest document accepted, in bytes.

    Raises:
        FormatError: a STRICT-... code, saying what is wrong and at which key.
    """
    if len(raw) <= limit and _sorts_plainly(raw):
        try:
            text = raw.decode()
            value = _PLAIN_DECODER.raw_decode(text)[0]
            # Equality also shows that no key came twice, that nothing follows, and that no escape hid a character.
            if _ENCODER.encode(value) == text and _is_shallow(raw, value):
                return value
        except (_NotPlain, ValueError, RecursionError):
            pass  # the strict path says why, or accepts what only rfc8785 can write
    value = parse(raw, where, limit)
    if encode(value) != raw:
        cr = ": its line ends were converted to CR LF" if raw.endswith(b"\r") else ""
        raise FormatError(
            f"not canonical JSON (RFC 8785){cr or ': the same value written canonically has other bytes'}",
            where=where,
            hint="this file was edited or re-formatted; take it from where it was written",
            code="STRICT-NONCANONICAL",
        )
    return value


def parse(raw: bytes, where: str = "", limit: int = MAX_BYTES) -> Json:
    """Read strict JSON as an author may write it: white space, key order and number forms are free.

    Args:
        raw: one document.
        where: what to call it in an error.
        limit: the longest document accepted, in bytes.

    Raises:
        FormatError: a STRICT-... code; the message names the key as "$.cases[3].n" where it can.
    """
    if len(raw) > limit:
        raise FormatError(f"{len(raw)} bytes, more than the {limit} allowed here", where=where, code="STRICT-LIMIT")
    text = _text(raw, where)
    if "\\u" not in text and raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:  # no surrogate, and not deep
        with suppress(_NotPlain, ValueError):
            return _FLAWLESS_DECODER.decode(text)
    try:
        value = _STRICT_DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise FormatError(message, where=where, code="STRICT-SYNTAX") from None
    except RecursionError:
        raise _too_deep(where) from None
    flaw = first_flaw(value)
    if flaw is None:
        return value
    if flaw.code == "STRICT-DEPTH":
        raise _too_deep(where)
    raise FormatError(f"{flaw.text} at {flaw.path}", where=where, hint=flaw.hint, code=flaw.code)


def _text(raw: bytes, where: str) -> str:
    if raw.startswith(_BOM):
        hint = "save the file as UTF-8 without a byte order mark"
        raise FormatError("begins with a byte order mark", where=where, hint=hint, code="STRICT-ENCODING")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise FormatError(message, where=where, hint="save the file as UTF-8", code="STRICT-ENCODING") from None


def _too_deep(where: str) -> FormatError:
    return FormatError(f"more than {MAX_DEPTH} levels of nesting", where=where, code="STRICT-DEPTH")


def _plain_float(text: str) -> float:
    if "e" in text or "E" in text or text.endswith(".0"):
        raise _NotPlain
    return float(text)


class _PlainInts(dict[str, int]):
    """Integers by their text: the small ones, of which a record is full, are looked up and not parsed each time."""

    def __missing__(self, text: str) -> int:
        if len(text) > _SAFE_DIGITS:
            raise _NotPlain
        return int(text)


def _refuse_constant(text: str) -> None:
    raise _NotPlain


def _strict_float(text: str) -> float | Flaw:
    number = float(text)
    if math.isinf(number):
        return Flaw("STRICT-NUMBER", f"the number {short(text)} is too large for a float", AS_STRING)
    if abs(number) > MAX_INTEGER:
        return Flaw("STRICT-NUMBER", f"the number {short(text)} is 2^53 or more in magnitude; {AS_STRING}")
    return number


def _strict_int(text: str) -> int | Flaw:
    if len(text) > _SAFE_DIGITS + 2 or abs(int(text)) > MAX_INTEGER:
        return Flaw("STRICT-NUMBER", f"the integer {short(text)} is outside +/-(2^53-1); {AS_STRING}")
    return int(text)


def _strict_constant(text: str) -> Flaw:
    return Flaw("STRICT-NUMBER", f"{text} is no JSON number")


def _strict_object(pairs: list[tuple[str, Json]]) -> dict[str, Json] | Flaw:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    key, times = Counter(key for key, _ in pairs).most_common(1)[0]
    return Flaw("STRICT-DUPKEY", f"the key {short(key)!a} stands {times} times in the object", "keep one of them")


def _flawless(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what reads the same, and gives up at a flaw."""

    def found(given: Any) -> Any:
        value = read(given)
        if type(value) is Flaw:
            raise _NotPlain
        return value

    return found


_PLAIN_DECODER = json.JSONDecoder(
    parse_float=_plain_float,
    parse_int=_PlainInts((str(n), n) for n in range(100)).__getitem__,
    parse_constant=_refuse_constant,
)
_FLAWLESS_DECODER = json.JSONDecoder(
    parse_float=_flawless(_strict_float),
    parse_int=_flawless(_strict_int),
    parse_constant=_refuse_constant,
    object_pairs_hook=_flawless(_strict_object),
)
"""Takes what the strict decoder takes, and tells nothing of what is wrong."""
_STRICT_DECODER = json.JSONDecoder(
    parse_float=_strict_float,
    parse_int=_strict_int,
    parse_constant=_strict_constant,
    object_pairs_hook=_strict_object,
)


# ------------------------------------------------------------------------------------------------------- any text


def text_out(text: str) -> str | dict[str, str]:
    """Return any text as a JSON value: itself if it is valid Unicode, else `{"ascii_json": "..."}`.

    Two surrogates that form a pair are the character they mean, as every JSON reader takes them.
    """
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if not has_surrogate(joined):
        return joined
    return {"ascii_json": json.dumps(joined)}


def text_in(value: Json) -> str:
    """Return the text that `text_out` was given.

    Raises:
        FormatError: TEXT, if the value is not what `text_out` returns for some text.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and list(value) == ["ascii_json"] and isinstance(value["ascii_json"], str):
        try:
            text = json.loads(value["ascii_json"])
        except (ValueError, RecursionError):
            text = None
        if isinstance(text, str) and text_out(text) == value:
            return text
    raise FormatError('neither a text nor the form {"ascii_json": "..."} of an invalid one', code="TEXT")
