# SPDX-License-Identifier: Apache-2.0
"""The known name that a mistyped one most likely means, for error texts only: nothing is ever corrected."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from itertools import takewhile

__all__ = ["nearest", "suggestion"]


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name nearest to a word, or None if none is near: 1 is equal but for case, 0 unlike.

    Of two that are equally near, it is the one that begins alike for longer: `bases` is `basis` rather than `cases`.
    """
    by_folded = {name.casefold().replace("-", "_"): name for name in sorted(known, reverse=True)}
    folded = word.casefold().replace("-", "_")
    found = get_close_matches(folded, by_folded, n=3, cutoff=cutoff)

    def likeness(name: str) -> tuple[float, int]:
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(name, folded, strict=False))
        return SequenceMatcher(None, name, folded).ratio(), len(list(alike))

    return by_folded[max(found, key=likeness)] if found else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, else all of them."""
    names = sorted(known)
    near = nearest(word, names)
    if near is not None:
        return f'did you mean "{near}"?'
    return f"known here: {', '.join(names)}" if names else "correct it; nothing is known here"
