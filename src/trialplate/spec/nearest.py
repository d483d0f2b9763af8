# SPDX-License-Identifier: Apache-2.0
"""The known name that a mistyped one most likely means, for error texts only: nothing is ever corrected."""

from __future__ import annotations

from collections.abc import Iterable

from trialplate import errors

__all__ = ["nearest", "suggestion"]

nearest = errors.nearest


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, else all of them."""
    names = sorted(known)
    near = nearest(word, names)
    if near is not None:
        return f'did you mean "{near}"?'
    return f"known here: {', '.join(names)}" if names else "correct it; nothing is known here"
