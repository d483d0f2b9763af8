# SPDX-License-Identifier: Apache-2.0
"""What a rule measures: a value for each case, and the mean of them, with unknown cells at their two extremes.

Everything is an exact fraction. Nothing is compared and nothing decided here. Quantities that no mean of cases is
(percentiles, costs, macro-F1) are in `amounts`.

A quantity is named by a text:

    METRIC, trial_pass_rate, case_pass_rate, error_rate
    pass_at:K, pass_hat:K         over K of a case's repeats
    accuracy:METRIC               of a label scorer
    share:MEASURE:LIMIT           of trials whose measure is within the limit
    p50:MEASURE and p90, p95, p99; cost:PER; tokens:PER; macro_f1:METRIC; agreement:SCORER

Source: docs/formats/pass-mark.md, clauses 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Literal, NamedTuple

from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix
from trialplate.rules.cells import MICRO, PARTS, Cell, unsettled

__all__ = [
    "MEASURES",
    "RATES",
    "CaseValue",
    "Fold",
    "Row",
    "Span",
    "case_passes",
    "cases_of",
    "draws_of",
    "fraction_text",
    "is_misspelt",
    "is_pooled",
    "kind_of",
    "mean_of",
    "paired",
    "measured_cases",
    "measured_in",
    "span_of",
    "span_over",
    "within_draws",
]

RATES = ("trial_pass_rate", "case_pass_rate", "error_rate")
"""Quantities that are always there."""
DRAWS = re.compile(r"(pass_at|pass_hat):([1-9][0-9]{0,2})")
"""Quantities over k of a case's repeats: the chance that any of them passes, or that all of them do."""
MEASURES = ("wall_s", "latency_s", "cost", "tokens", "input_tokens", "output_tokens")
"""What is measured of a trial besides its metrics: seconds, units of the currency, tokens; of all its attempts."""
KINDS = re.compile(
    rf"(?P<share>share):({'|'.join(MEASURES)}):(0|[1-9][0-9]{{0,11}})(\.[0-9]{{1,12}})?"
    rf"|(?P<percentile>p50|p90|p95|p99):({'|'.join(MEASURES)})"
    r"|(?P<per>cost|tokens):(per_case|per_trial|per_passed|total)"
    r"|(?P<label>accuracy|macro_f1):.+|(?P<agreement>agreement):.+"
)
_WORDS = re.compile(r"(pass_at|pass_hat|share|p50|p90|p95|p99|cost|tokens|accuracy|macro_f1|agreement):.*")
"""How every quantity but a metric and a rate begins."""

Fold = Literal["all", "majority", "any"]
Row = list[tuple[str, list[Cell | None]]]
"""Cases of one configuration with their repeats; None is a trial that never began."""


class CaseValue(NamedTuple):
    """What one case comes to: between low / of and high / of, both in [0,1]."""

    case: str
    low: int
    high: int
    of: int
    weight: int
    """How much it counts in the mean: 1, or its cells where the quantity is a share of trials; 0 if none is left."""
    cells: int
    unknown: int


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


def kind_of(quantity: str | None) -> str:
    """Return what a quantity is: `mean` of cases, or `percentile`, `cost`, `tokens`, `macro_f1` or `agreement`."""
    found = KINDS.fullmatch(quantity or "")
    if found is None:
        return "mean"
    if found["percentile"]:
        return "percentile"
    word = str(found["share"] or found["per"] or found["label"] or found["agreement"])
    return "mean" if word in ("share", "accuracy") else word


def is_misspelt(quantity: str) -> bool:
    """Say whether a text begins as a quantity does and is none, so that at most a metric is called so."""
    unknown = KINDS.fullmatch(quantity) is None and draws_of(quantity) is None
    return unknown and _WORDS.fullmatch(quantity) is not None


def measured_in(quantity: str | None) -> str | None:
    """Return the metric that a quantity is about, None of one that every case has."""
    text = quantity or ""
    if text in RATES or draws_of(text) or not text:
        return None
    found = KINDS.fullmatch(text)
    if found is None:
        return text
    return text.partition(":")[2] if found["label"] else None


def measured_cases(quantity: str, matrix: Matrix) -> set[str]:
    """Return the ids of the cases that a quantity speaks of: a metric, of those that its scorers apply to."""
    metric = measured_in(quantity)
    if metric is None:
        return {case.id for case in matrix.cases}
    return {case.id for case in matrix.cases if any(metric in s.metrics for s in matrix.applicable(case))}


# --------------------------------------------------------------------------------------------------- of each case


def span_of(quantity: str, row: Row, fold: Fold, errors: str, *, ceiling: bool = False, declared: bool = False) -> Span:
    """Return the extremes of the mean of a quantity over the cases of a row; arguments as of `cases_of`."""
    return span_over(cases_of(quantity, row, fold, errors, ceiling=ceiling, declared=declared))


def span_over(values: Sequence[CaseValue]) -> Span:
    """Return the extremes of the mean of a quantity whose values for the cases are known."""
    low, high = mean_of(values)
    cells, unknown = sum(item.cells for item in values), sum(item.unknown for item in values)
    return Span(low, high, cells, sum(1 for item in values if item.weight), unknown)


def paired(own: Sequence[CaseValue], other: Sequence[CaseValue]) -> tuple[list[CaseValue], list[CaseValue]]:
    """Return the cases of two lists that are compared: those of which something is left of one's own.

    Args:
        own, other: values of the same cases in the same order.
    """
    pairs = [pair for pair in zip(own, other, strict=True) if pair[0].weight]
    return [mine for mine, _ in pairs], [its for _, its in pairs]


def mean_of(values: Sequence[CaseValue]) -> tuple[Fraction | None, Fraction | None]:
    """Return the weighted mean over cases of their lows, and of their highs; None of no case."""
    whole = sum(item.weight for item in values)
    if not whole:
        return None, None
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    for _, least, most, of, weight, _, _ in values:  # by denominator: one fraction for each, and not one for each case
        low[of] = low.get(of, 0) + least * weight
        high[of] = high.get(of, 0) + most * weight
    return _total(low) / whole, _total(high) / whole


def _total(sums: Mapping[int, int]) -> Fraction:
    return sum((Fraction(number, of) for of, number in sums.items()), Fraction(0))


def cases_of(
    quantity: str, row: Row, fold: Fold, errors: str, *, ceiling: bool = False, declared: bool = False
) -> list[CaseValue]:
    """Return what each case of a row comes to.

    An incompatible cell is known, and the worst that there is: nobody gains by not taking a case.

    Args:
        fold: how a case's repeats make the case's verdict.
        errors: "bound" keeps unknown cells at both extremes, "zero" puts them at 0, "exclude" leaves them out.
        ceiling: less is better, so that the worst is 1 and not 0.
        declared: take tokens and costs that are the word of the thing under test.
    """
    if quantity == "case_pass_rate":
        return _folded(row, lambda repeats: case_passes(repeats, fold, errors, ceiling=ceiling))
    if draws_of(quantity):
        return _folded(row, lambda repeats: within_draws(quantity, *_tally(repeats, errors, ceiling)))
    value = _value_of(quantity, MICRO if ceiling else 0, declared)
    if value is None:
        raise ValueError(f"{quantity} is no mean of cases")
    policy = "bound" if quantity == "error_rate" else errors
    return _means(row, value, policy, pooled=is_pooled(quantity))


def is_pooled(quantity: str) -> bool:
    """Say whether a quantity is a share of trials, in which each trial counts the same, and not each case."""
    named = KINDS.fullmatch(quantity) is not None and kind_of(quantity) == "mean"
    return named or quantity in ("trial_pass_rate", "error_rate")


def _value_of(quantity: str, worst: int, declared: bool = False) -> Callable[[Cell], int | None] | None:
    """Return what reads a cell's value in millionths, None while unknown; None for what all repeats make together."""
    if quantity == "case_pass_rate" or draws_of(quantity):
        return None
    read = _reader(quantity, declared)

    def value(cell: Cell) -> int | None:
        found = read(cell)
        return worst if found is None and cell.incompatible else found

    return value


def _reader(quantity: str, declared: bool) -> Callable[[Cell], int | None]:
    if quantity == "trial_pass_rate":
        return _passed
    if quantity == "error_rate":
        return _errored
    found = KINDS.fullmatch(quantity)
    if found is not None and found["share"]:
        _, measure, limit = quantity.split(":")
        bar = int(Fraction(limit) * PARTS.get(measure, 1))  # what is counted in whole parts keeps the part below
        return lambda cell: _within(cell, measure, bar, declared)
    metric = measured_in(quantity) or ""
    return lambda cell: cell.value(metric)


def _passed(cell: Cell) -> int | None:
    return (MICRO if cell.outcome == "passed" else 0) if cell.known else None


def _errored(cell: Cell) -> int | None:
    return {"error": MICRO, "skipped": None}.get(cell.final, 0)


def _within(cell: Cell, measure: str, limit: int, declared: bool) -> int | None:
    """Say whether a trial kept a limit, as 1 or 0; one that its own time limit ended did not, however long it took."""
    if not cell.known:
        return None
    if cell.cause == "timeout":
        return 0
    found = cell.amount(measure, declared=declared)
    return None if found is None else MICRO if found <= limit else 0


def _means(row: Row, value: Callable[[Cell], int | None], errors: str, *, pooled: bool) -> list[CaseValue]:
    found = []
    for case, repeats in row:
        low = gaps = 0
        for cell in repeats:
            item = None if cell is None else value(cell)
            if item is None:
                gaps += 1
            else:
                low += item
        cells = len(repeats)
        weight = cells - gaps if errors == "exclude" else cells
        high = low + gaps * MICRO if errors == "bound" else low
        counted = weight if pooled else 1 if weight else 0
        found.append(CaseValue(case, low, high, max(weight, 1) * MICRO, counted, cells, gaps))
    return found


def _folded(row: Row, extremes: Callable[[list[Cell | None]], tuple[Fraction | int | None, ...]]) -> list[CaseValue]:
    """Return a number that all repeats of a case make together."""
    found = []
    for case, repeats in row:
        worst, best = extremes(repeats)
        unknown = unsettled(repeats)
        if worst is None or best is None:
            found.append(CaseValue(case, 0, 0, 1, 0, len(repeats), unknown))
            continue
        low, high = Fraction(worst), Fraction(best)
        of = low.denominator * high.denominator
        found.append(CaseValue(case, int(low * of), int(high * of), of, 1, len(repeats), unknown))
    return found


def _tally(repeats: list[Cell | None], errors: str, ceiling: bool) -> tuple[int, int, int]:
    """Return how many repeats passed, how many may have, and of how many."""
    passed = sum(1 for cell in repeats if cell is not None and cell.known and cell.outcome == "passed")
    passed += sum(1 for cell in repeats if ceiling and cell is not None and cell.incompatible)
    unknown = unsettled(repeats)
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
