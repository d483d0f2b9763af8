# SPDX-License-Identifier: Apache-2.0
"""Quantities that are no mean of cases: percentiles, costs, tokens, macro-F1. Rules over them are estimates.

None of them has extremes that follow from its unknown cells, so one unknown cell leaves it unknown. `errors: exclude`
leaves such cells out, but never of a cost: what a trial that is still unknown will cost has no limit.

Source: docs/formats/pass-mark.md, clause 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from trialplate.record.values import Pricing
from trialplate.rules.bounds import nearest_rank
from trialplate.rules.cells import Cell
from trialplate.rules.classification import classify
from trialplate.rules.quantities import Fold, Row, kind_of

__all__ = ["Amount", "amount_of"]


class Amount(NamedTuple):
    """One number, or why there is none."""

    value: Fraction | None
    reason: str = ""


def amount_of(
    quantity: str,
    row: Row,
    fold: Fold,
    errors: str,
    *,
    pricing: Pricing | None,
    declared: bool,
    classes: Mapping[str, int],
) -> Amount:
    """Return what a quantity comes to over the cases of a row.

    Args:
        fold: how a case's repeats make the case's verdict.
        errors: "exclude" leaves unknown cells out.
        pricing: of the configuration; one that is free costs nothing, whatever its tokens.
        declared: take tokens and costs that are the word of the thing under test.
        classes: the number of each case's label, for macro-F1.
    """
    cells = [cell for _, repeats in row for cell in repeats]
    if not cells:
        return Amount(None, "no_cases")
    kind, _, what = quantity.partition(":")
    if kind == "macro_f1":
        return _macro_f1(what, row, errors, classes)
    if kind_of(quantity) == "percentile":
        return _percentile(int(kind[1:]), what, cells, errors, declared)
    free = kind == "cost" and pricing is not None and pricing.free
    # What was never asked, since its configuration does not take it, did not cost nothing: it is unknown.
    found = [Fraction(0) if free else _measure(cell, kind, declared) for cell in cells]
    if None in found:
        return Amount(None, "unknown_cost" if kind == "cost" else "unknown_cells")
    total = sum((item for item in found if item is not None), Fraction(0))
    return _per(what, total, cells, row, fold)


def _measure(cell: Cell | None, name: str, declared: bool) -> Fraction | None:
    return None if cell is None else cell.measure(name, declared=declared)


def _per(what: str, total: Fraction, cells: Sequence[Cell | None], row: Row, fold: Fold) -> Amount:
    if what == "per_passed":
        passed = sum(1 for cell in cells if cell is not None and cell.known and cell.outcome == "passed")
        return Amount(total / passed) if passed else Amount(None, "no_passes")
    number = {"per_case": len(row), "per_trial": len(cells)}.get(what, 1)
    return Amount(total / number)


def _percentile(percent: int, measure: str, cells: Sequence[Cell | None], errors: str, declared: bool) -> Amount:
    found = [_measure(cell, measure, declared) for cell in cells]
    values = [item for item in found if item is not None]
    if len(values) < len(found) and (errors != "exclude" or not values):
        return Amount(None, "unknown_cost" if measure == "cost" else "unknown_cells")
    return Amount(nearest_rank(values, Fraction(percent, 100)))


def _macro_f1(metric: str, row: Row, errors: str, classes: Mapping[str, int]) -> Amount:
    """Return macro-F1 over trials; one that failed without an answer said none of the labels."""
    pairs: list[tuple[str, str | None]] = []
    for case, repeats in row:
        if case not in classes:
            return Amount(None, "no_metric")
        for cell in repeats:
            known = cell is not None and (cell.incompatible or cell.value(metric) is not None)
            if not known and errors == "exclude":
                continue
            if not known and errors != "zero":
                return Amount(None, "unknown_cells")
            said = None if cell is None or not known else cell.said.get(metric)
            pairs.append((str(classes[case]), None if said is None else str(said)))
    return Amount(classify(pairs).macro_f1) if pairs else Amount(None, "no_metric")
