# SPDX-License-Identifier: Apache-2.0
"""Shares of outcomes as MindTrial counts them; nothing divided by nothing is None, where MindTrial writes 0."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

__all__ = ["Rates", "rates"]


class Rates(NamedTuple):
    """Exact shares in [0, 1]; skipped trials are in none of them."""

    pass_rate: Fraction | None
    """Passed, of passed, failed and errors."""
    accuracy: Fraction | None
    """Passed, of passed and failed."""
    error_rate: Fraction | None
    """Errors, of passed, failed and errors."""


def rates(passed: int, failed: int, error: int) -> Rates:
    """Return the shares of outcomes, of which no number is below 0.

    Raises:
        ValueError: a number is below 0.

    Source: MindTrial's formatters/utils.go.
    """
    if min(passed, failed, error) < 0:
        raise ValueError("outcomes are counted from 0")
    attempted = passed + failed + error
    return Rates(_share(passed, attempted), _share(passed, passed + failed), _share(error, attempted))


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None
