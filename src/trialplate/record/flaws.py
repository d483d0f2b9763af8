# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a value that is no canonical JSON, and where in it.

What this module refuses to do: repair, read text, write it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trialplate.record.frozen import Value

__all__ = ["AS_STRING", "MAX_DEPTH", "MAX_INTEGER", "Flaw", "first_flaw", "has_surrogate", "short"]

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
"""The largest integer that every reader of JSON holds exactly."""
AS_STRING = "write it as a string"


class Flaw(Value, kw_only=False):
    """What is wrong with a value; the decoder's hooks leave it in the value's place so that its path can be told."""

    code: str
    text: str
    hint: str = ""
    path: str = "$"


def first_flaw(value: Any) -> Flaw | None:
    """Return the first thing in document order that is no canonical JSON value, with its path; None if all is well."""
    levels: list[Iterator[tuple[str, Any]]] = [iter([("$", value)])]
    while levels:
        path, item = next(levels[-1], (None, None))
        if path is None:
            levels.pop()
            continue
        flaw = _scalar_flaw(item)
        if flaw is None and isinstance(item, dict | list | tuple):
            if len(levels) > MAX_DEPTH:
                return Flaw("STRICT-DEPTH", f"more than {MAX_DEPTH} levels of nesting", path=path)
            flaw = _key_flaw(item)
            levels.append(_children(path, item))
        if flaw is not None:
            return flaw.replace(path=path)
    return None


def _children(path: str, item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, dict):
        return ((_step(path, key), child) for key, child in item.items())
    return ((f"{path}[{index}]", child) for index, child in enumerate(item))


def has_surrogate(text: str) -> bool:
    """Whether a text holds a code point that is no character, and so has no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _step(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() and key.isascii() else f"{path}[{json.dumps(short(key))}]"


def _key_flaw(item: Any) -> Flaw | None:
    if not isinstance(item, dict):
        return None
    for key in item:
        if not isinstance(key, str):
            return Flaw("STRICT-KEY", f"a key that is no string, but {type(key).__name__},")
        if has_surrogate(key):
            return Flaw("STRICT-SURROGATE", f"the key {short(key)!a} holds a lone surrogate, which is no character,")
    return None


def _scalar_flaw(item: Any) -> Flaw | None:
    if isinstance(item, Flaw):
        return item
    if isinstance(item, str):
        if has_surrogate(item):
            return Flaw("STRICT-SURROGATE", "the text holds a lone surrogate, which is no character,")
    elif isinstance(item, int):
        if abs(item) > MAX_INTEGER:
            return Flaw("STRICT-NUMBER", f"an integer outside +/-(2^53-1); {AS_STRING},")
    elif isinstance(item, float):
        if not abs(item) <= MAX_INTEGER:
            return Flaw("STRICT-NUMBER", f"a float that is not finite or 2^53 or more in magnitude ({item!r})")
    elif item is not None and not isinstance(item, dict | list | tuple):
        return Flaw("STRICT-TYPE", f"a {type(item).__name__}, which is no JSON value,")
    return None


def short(text: str) -> str:
    """Return a text as an error shows it."""
    return text if len(text) <= 40 else f"{text[:32]}... ({len(text)} characters)"
