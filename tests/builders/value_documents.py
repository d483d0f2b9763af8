# SPDX-License-Identifier: Apache-2.0
"""JSON documents of every class of `record.values`, made from the classes themselves.

Strings with a pattern are taken from short tables of good and bad examples, so that a document of a hundred digests is
drawn as quickly as one of a hundred numbers.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from trialplate.record import entries, values
from trialplate.record.frozen import MISSING, Pattern, Value, fields

VALUE_CLASSES: list[type] = sorted(
    {
        item
        for item in (*vars(values).values(), *vars(entries).values())
        if isinstance(item, type) and issubclass(item, Value) and item is not Value
    },
    key=lambda item: item.__name__,
)
"""Every class of a plan, a ledger or a record."""

GOOD: dict[str, list[str]] = {
    r"sha256:[0-9a-f]{64}": ["sha256:" + "0" * 64, "sha256:" + "9f" * 32],
    r"[A-Za-z0-9_-]{43}": ["-" * 43, "aZ_" * 14 + "9"],
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z": ["2026-11-30T10:00:00.000Z"],
    r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}": ["20261130T100000000Z-0123abcd"],
    r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}": ["a", "0" * 64, "gpt-4.1@eu:x+y_z"],
    r"[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,128}": ["m", "m/default", "x" * 129],
    "[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}": ["q1", " ", "é" * 128, "\u2028", "\U0001f600"],
    r"[ -~]{1,128}": [" ", "~" * 128, "gpt x"],
    r"[!-*,-~]{1,200}": ["demo-0123abcd", "x" * 200],
    r"[!-*,-~]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}": ["team+0123abcd+" + "A" * 44],
    r"[A-Z]{3}": ["USD", "EUR"],
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}": ["2026-11-30"],
    r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?": ["0", "0.95", "1", "999999999999.999999999999"],
    r"-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?": ["0", "-0.02", "0.03"],
    r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,95}": ["correct", "share:wall_s:8", "p" * 96],
    r"case|meta\.[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}": ["case", "meta.document"],
    r"-?[0-9]\.[0-9]{9}": ["0.741134449", "-0.032000000", "1.000000000"],
    r"[A-Za-z0-9_-]{22,64}": ["s" * 22, "S" * 64],
    r"[0-9a-f]{40,64}": ["a" * 40, "0" * 64],
    "[^\\u0000-\\u001f\\u007f-\\u009f]{1,1000}": ["a reason", "r" * 1000],
}
BAD: dict[str, list[str]] = {
    r"sha256:[0-9a-f]{64}": ["", "0" * 64, "sha256:" + "0" * 63, "sha256:" + "F" * 64, "sha256:" + "0" * 64 + "\n"],
    r"[A-Za-z0-9_-]{43}": ["a" * 42, "a" * 44, "a" * 42 + "=", "a" * 43 + "\n"],
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z": [
        "2026-11-30T10:00:00Z",
        "2026-11-30T10:00:00.000+00:00",
        "2026-11-30 10:00:00.000Z",
        "\u0662026-11-30T10:00:00.000Z",
    ],
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}": ["2026-11-3", "2026-11-30T", "26-11-30", "2026-11-30\n"],
    r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}": ["20261130T100000000Z-0123ABCD", "../20261130T100000000Z-0123abcd"],
    r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}": ["", "-a", "a" * 65, "a b", "a/b", "é", "a\n"],
    r"[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,128}": ["", "/a", "a" * 130, "a\n"],
    "[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}": ["", "a\nb", "a" * 129, "\x7f", "\x9f", "a\n"],
    r"[ -~]{1,128}": ["", "é", "a" * 129, "a\tb", "a\n"],
    r"[!-*,-~]{1,200}": ["", "a b", "a+b", "a" * 201],
    r"[!-*,-~]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}": ["team+0123abcd+" + "A" * 43, "team+0123ABCD+" + "A" * 44],
    r"[A-Z]{3}": ["usd", "USDT", "US"],
    r"-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?": ["+1", "--1", "-", "-.5", "1e3", "-01"],
    r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,95}": ["", "p" * 97, ":p", "a b", "a/b", "p\n"],
    r"case|meta\.[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}": ["Case", "meta", "meta.", "meta.a b", "meta.x\n", "cases"],
    r"-?[0-9]\.[0-9]{9}": ["10.123456789", "0.5", "1", ".123456789", "0.1234567890", "0.123456789\n"],
    r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?": ["-1", "00", "01", ".5", "1.", "1e3", "1,5", "0.1234567890123", "\u0661"],
    r"[A-Za-z0-9_-]{22,64}": ["s" * 21, "s" * 65, "+" * 22],
    r"[0-9a-f]{40,64}": ["a" * 39, "A" * 40],
    "[^\\u0000-\\u001f\\u007f-\\u009f]{1,1000}": ["", "a\x00", "r" * 1001],
}

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.sampled_from(["", "é", 0.5]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)


@cache
def documents(kind: Any) -> st.SearchStrategy[Any]:
    """Return the JSON documents of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return anything
    if kind in (str, int, float, bool):
        return {
            str: st.sampled_from(["", "a", "é\n"]),
            int: st.integers(-5, 2**53 - 1),
            float: st.sampled_from([0, 1, 0.25, 0.333333]),
            bool: st.booleans(),
        }[kind]
    if origin is Annotated:
        marker = arguments[1]
        if isinstance(marker, Pattern):
            return st.sampled_from(GOOD[marker.regex])
        return st.integers(marker.minimum, 2**53 - 1)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return documents(next(item for item in arguments if item is not type(None)))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(documents, arguments)).map(list)
    if origin is tuple:
        return st.lists(documents(arguments[0]), max_size=2)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.sampled_from(["a", "b"]), documents(arguments[1]), max_size=2)
    return _objects(kind)


def is_required(item: Any) -> bool:
    """Say whether a field is always written."""
    return item.default is MISSING or item.name in {"format", "v"}


def _objects(cls: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls, include_extras=True)
    there = {item.name: (documents(hints[item.name]), is_required(item)) for item in fields(cls)}
    return st.fixed_dictionaries(
        {name: made for name, (made, needed) in there.items() if needed},
        optional={name: made for name, (made, needed) in there.items() if not needed},
    )
