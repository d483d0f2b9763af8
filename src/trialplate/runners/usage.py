# SPDX-License-Identifier: Apache-2.0
"""Token counts: their names, and what several exchanges took together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER

__all__ = ["COUNTS", "added_up"]

COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")
"""The counts of a `Usage`. Those of the cache are parts of the input, reasoning is a part of the output."""


def added_up(parts: Sequence[Usage | None]) -> Usage | None:
    """Add up; None if one is unknown. So is a count that one leaves out, but for those that are parts of another.

    A sum beyond what a record can hold is unknown too: no far end's counts come to that.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    total: dict[str, Any] = {}
    for name in COUNTS:
        counts = [getattr(part, name) for part in known]
        given = [count for count in counts if count is not None]
        told = bool(given) if name not in ("input", "output") else len(given) == len(counts)
        total[name] = sum(given) if told and sum(given) <= MAX_INTEGER else None
    return Usage(**total)
