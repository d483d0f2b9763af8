# SPDX-License-Identifier: Apache-2.0
"""What a function under test may return instead of a text: `from trialplate import RunOutput`.

It is imported by the program in which the function runs, so it stays as light as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["RunOutput"]


class RunOutput(NamedTuple):
    """An answer with what it cost, or a failure that the function tells itself."""

    output: str = ""
    cost_usd: float | None = None
    """What the answer cost in USD, by the function's own word; None is unknown, never zero."""
    tokens: Mapping[str, int] | None = None
    """Counts by the function's own word: `input`, `output`, and if known `cache_read`, `cache_write`, `reasoning`."""
    failed: str | None = None
    """Why there is no answer; the trial fails, and this stands in its error text."""
