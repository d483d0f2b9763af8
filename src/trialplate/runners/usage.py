# SPDX-License-Identifier: Apache-2.0
"""Token counts: their names, and what several exchanges took together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialplate.record.entries import Usage

__all__ = ["COUNTS", "added_up"]

COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")
"""The counts of a `Usage`. Those of the cache are parts of the input, reasoning is a part of the output."""


def added_up(parts: Sequence[Usage | None]) -> Usage | None:
    """Return the sum; None if nobody counted one of the parts.

    An input or output that is unknown in one part is unknown in the sum. A count that is a part of another is absent
    only if it is absent everywhere.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    total: dict[str, Any] = {}
    for name in COUNTS:
        counts = [getattr(part, name) for part in known]
        if name in ("input", "output"):
            total[name] = None if None in counts else sum(counts)
        else:
            total[name] = sum(item or 0 for item in counts) if any(item is not None for item in counts) else None
    return Usage(**total)
