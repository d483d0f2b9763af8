# SPDX-License-Identifier: Apache-2.0
"""What a rule measures: shares and means over cells, with unknown cells at their two extremes, in exact fractions.

Nothing is compared and nothing decided here.

Source: docs/formats/pass-mark.md, clauses 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Literal

from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix
from trialplate.rules.cells import MICRO, Cell

__all__ = [
    "RATES",
    "Fold",
    "Row",
    "Span",
    "case_passes",
    "draws_of",
    "fraction_text",
    "mean_extremes",
    "measured_cases",
    "span_of",
    "within_draws",
]

RATES = ("trial_pass_rate", "case_pass_rate", "error_rate")
"""Quantities that are always there."""
DRAWS = re.compile(r"(pass_at|pass_hat):([1-9][0-9]{0,2})")
"""Quantities over k of a case's repeats: the chance that any of them passes, or that all of them do."""

Fold = Literal["all", "majority", "any"]
Row = list[tuple[str, list[Cell | None]]]
"""Cases of one configuration with their repeats; None is a trial that never began."""


class Span(Value, kw_only=False):
    """A quantity with its unknown cells at 0 (`low`) and at 1 (`high`); None where nothing is left to measure."""

    low: Fraction | None
    high: Fraction | None
    cells: int
    cases: int
    unknown: int


def fraction_text(value: Fraction | None) -> str | None:
    """Return "n/d", the exact form in which decisions carry numbers."""
    return None if value is None else f"{value.numerator}/{value.denominator}"


def draws_of(quantity: str | None) -> int | None:
    """Return the k of `pass_at:k` and `pass_hat:k`, None of any other quantity."""
    found = DRAWS.fullmatch(quantity or "")
    return int(found[2]) if found else None


def measured_cases(quantity: str, matrix: Matrix) -> set[str]:
    """Return the ids of the cases that a quantity speaks of: a metric, of those that its scorers apply to."""
    if quantity in RATES or draws_of(quantity):
        return {case.id for case in matrix.cases}
    return {case.id for case in matrix.cases if any(quantity in s.metrics for s in matrix.applicable(case))}


def span_of(quantity: str, row: Row, fold: Fold, errors: str, *, ceiling: bool = False) -> Span:
    """Return the extremes of a quantity over the cases of a row.

    An incompatible cell is known, and the worst that there is: nobody gains by not taking a case.

    Args:
        fold: how a case's repeats make the case's verdict.
        errors: "bound" keeps unknown cells at both extremes, "zero" puts them at 0, "exclude" leaves them out.
        ceiling: less is better, so that the worst is 1 and not 0.
    """
    worst = MICRO if ceiling else 0

    def counted(value: Callable[[Cell], int | None]) -> Callable[[Cell], int | None]:
        return lambda cell: worst if cell.incompatible else value(cell)

    if quantity == "case_pass_rate":
        return _mean_of_cases(row, lambda repeats: case_passes(repeats, fold, errors, ceiling=ceiling))
    if quantity == "trial_pass_rate":
        return mean_extremes(row, counted(_passed), errors, pooled=True)
    if quantity == "error_rate":
        return mean_extremes(row, counted(_errored), "bound", pooled=True)
    if draws_of(quantity):
        return _mean_of_cases(row, lambda repeats: within_draws(quantity, *_tally(repeats, errors, ceiling)))
    return mean_extremes(row, counted(lambda cell: cell.value(quantity)), errors, pooled=False)


def _passed(cell: Cell) -> int | None:
    return (MICRO if cell.outcome == "passed" else 0) if cell.known else None


def _errored(cell: Cell) -> int | None:
    return {"error": MICRO, "skipped": None}.get(cell.final, 0)


def mean_extremes(row: Row, value: Callable[[Cell], int | None], errors: str, *, pooled: bool) -> Span:
    """Return the mean of the cases' means, or of all cells if `pooled`, with unknown cells at 0 and at 1.

    Args:
        value: the cell's value in millionths, None while unknown.
        errors: as for `span_of`.
    """
    sums: dict[int, list[int]] = {}
    cells = cases = unknown = 0
    for _, repeats in row:
        known = [value(cell) if cell is not None else None for cell in repeats]
        gaps = known.count(None)
        cells += len(known)
        unknown += gaps
        weight = len(known) - gaps if errors == "exclude" else len(known)
        if not weight:
            continue
        cases += 1
        low = sum(item for item in known if item is not None)
        group = sums.setdefault(1 if pooled else weight, [0, 0, 0])
        group[0] += low
        group[1] += low + (gaps * MICRO if errors == "bound" else 0)
        group[2] += weight if pooled else 1
    if not cases:
        return Span(None, None, cells, 0, unknown)
    number = sum(group[2] for group in sums.values())
    low_sum = sum((Fraction(group[0], weight) for weight, group in sums.items()), Fraction(0))
    high_sum = sum((Fraction(group[1], weight) for weight, group in sums.items()), Fraction(0))
    return Span(low_sum / (number * MICRO), high_sum / (number * MICRO), cells, cases, unknown)


def _mean_of_cases(row: Row, extremes: Callable[[list[Cell | None]], tuple[Fraction | int | None, ...]]) -> Span:
    """Return the mean over cases of a number that all repeats of a case make together."""
    low: Fraction | int = 0
    high: Fraction | int = 0
    cases = cells = unknown = 0
    for _, repeats in row:
        cells += len(repeats)
        unknown += sum(1 for cell in repeats if cell is None or not cell.settled)
        worst, best = extremes(repeats)
        if worst is None or best is None:
            continue
        cases += 1
        low += worst
        high += best
    if not cases:
        return Span(None, None, cells, 0, unknown)
    return Span(Fraction(low) / cases, Fraction(high) / cases, cells, cases, unknown)


def _tally(repeats: list[Cell | None], errors: str, ceiling: bool) -> tuple[int, int, int]:
    """Return how many repeats passed, how many may have, and of how many."""
    passed = sum(1 for cell in repeats if cell is not None and cell.known and cell.outcome == "passed")
    passed += sum(1 for cell in repeats if ceiling and cell is not None and cell.incompatible)
    unknown = sum(1 for cell in repeats if cell is None or not cell.settled)
    total = len(repeats) - (unknown if errors == "exclude" else 0)
    return passed, passed + (unknown if errors == "bound" else 0), total


def case_passes(
    repeats: list[Cell | None], fold: Fold, errors: str, *, ceiling: bool = False
) -> tuple[bool | None, bool | None]:
    """Return whether a case passes with its unknown repeats failed, and with them passed; None if none is left.

    A majority is strictly more than half of the planned repeats, or of the known ones under "exclude".
    """
    worst, best, total = _tally(repeats, errors, ceiling)
    if not total:
        return None, None

    def folded(count: int) -> bool:
        return {"all": count == total, "majority": 2 * count > total, "any": count > 0}[fold]

    return folded(worst), folded(best)


def within_draws(quantity: str, worst: int, best: int, total: int) -> tuple[Fraction | None, Fraction | None]:
    """Return the chance that k repeats drawn without replacement have a pass (`pass_at`), or are passes (`pass_hat`).

    Args:
        worst: how many of the `total` repeats passed, and `best` how many may have.

    Returns:
        For the one and for the other; None if there are fewer than k repeats.
    """
    k = draws_of(quantity) or 0
    if total < k:
        return None, None
    if quantity.startswith("pass_hat"):
        return Fraction(comb(worst, k), comb(total, k)), Fraction(comb(best, k), comb(total, k))
    return 1 - Fraction(comb(total - worst, k), comb(total, k)), 1 - Fraction(comb(total - best, k), comb(total, k))
