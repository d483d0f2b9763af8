# SPDX-License-Identifier: Apache-2.0
"""What is measured, how sure that is, and what the reference says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from random import Random
from typing import NamedTuple

REFERENCE_DRAWS = 1500
"""The reference says 1,500 to 40,000 draws a figure, and not which: the fewest make its own error the largest."""


class Figure(NamedTuple):
    """A measured number, in percent or in points."""

    value: float
    deviation: float
    """Of a single draw."""
    draws: int
    note: str = ""
    """In which cell of a grid."""

    @property
    def error(self) -> float:
        """The standard error of the simulation."""
        return self.deviation / sqrt(self.draws)


class Said(NamedTuple):
    """A figure of the reference: a number, or a limit or two."""

    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    what: str
    said: Said | None = None
    unit: str = "%"


@dataclass(frozen=True)
class Job:
    """One simulation, which fills one or more lines from the same draws."""

    name: str
    lines: tuple[Line, ...]
    run: Callable[[Random, int], Sequence[Figure]]
    share: float = 1.0
    """Of the draws asked for: rows that are cheap take more, rows that are dear fewer."""


def about(value: float) -> Said:
    """Say a number."""
    return Said(value, value, f"{value:g}")


def at_most(value: float) -> Said:
    """Say an upper limit."""
    return Said(-inf, value, f"<= {value:g}")


def at_least(value: float) -> Said:
    """Say a lower limit."""
    return Said(value, inf, f">= {value:g}")


def between(low: float, high: float) -> Said:
    """Say that a number was seen from here to there."""
    return Said(low, high, f"{low:g}-{high:g}")


def share(hits: int, draws: int, note: str = "") -> Figure:
    """Return a share in percent; its error is taken with one draw of each kind added, so that it never is 0."""
    p = (hits + 1) / (draws + 2)
    return Figure(100 * hits / draws, 100 * sqrt(p * (1 - p)), draws, note)


def mean(values: Sequence[float], factor: float = 100) -> Figure:
    """Return the mean of one value a draw, in points."""
    n = len(values)
    middle = sum(values) / n
    spread = sqrt(sum((x - middle) ** 2 for x in values) / (n - 1)) if n > 1 else 0.0
    return Figure(factor * middle, factor * spread, n)


def mark(figure: Figure, said: Said | None) -> str:
    """Return how a figure stands to the reference's: "" if they agree, "~" or "!" if not.

    "~": more than three standard errors of this simulation apart, but no more than the reference's own draws may have
    strayed, if they were as few as it says. "!": further apart than that.
    """
    if said is None:
        return ""
    off = max(figure.value - said.high, said.low - figure.value, 0.0)
    if off <= 3 * figure.error + 0.05:  # the reference gives one decimal
        return ""
    both = figure.deviation * sqrt(1 / figure.draws + 1 / REFERENCE_DRAWS)
    return "~" if off <= 3 * both + 0.05 else "!"
