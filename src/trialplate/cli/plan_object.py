# SPDX-License-Identifier: Apache-2.0
"""What `plan --json` prints: the same numbers as the text, rounded so that every machine prints the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from trialplate.cli.cost_words import cost_object
from trialplate.engine.foreseen import Comparison, Foreseen, Foresight, Point
from trialplate.engine.prepare import Prepared
from trialplate.record.frozen import Json
from trialplate.rules.quantities import fraction_text

__all__ = ["plan_object"]

DIGITS = 4
"""Of chances and rates: the C library's last digits never show."""


def plan_object(prepared: Prepared, foresight: Foresight) -> Json:
    """Return the object; docs/reference/cli.md describes it."""
    return {
        "format": "trialplate-plan-report/1",
        **cost_object(prepared),
        "cases": len(prepared.matrix.cases),
        "reachable": foresight.reachable,
        "attempt": foresight.attempt,
        "candidates": foresight.candidates,
        "spread": {"icc": _rate(foresight.icc), "pilot": foresight.pilot, "draws": foresight.draws},
        "rules": [_rule(item) for item in foresight.rules],
        "choose": _rule(foresight.choice) if foresight.choice is not None else None,
    }


def _rule(item: Foreseen) -> Json:
    made: dict[str, Json] = {
        "id": item.id,
        "sense": item.sense,
        "basis": item.basis,
        "of": item.of,
        "threshold": _number(item.threshold),
        "part_of": item.part_of,
        "configurations": list(item.configurations),
        "each": item.each,
        "copies": [
            {"value": copy.value, "cases": copy.cases, "reachable": copy.reachable, "needs": copy.needs}
            for copy in item.copies
        ],
        "copy": item.copy,
        "cases": item.cases,
        "trials": item.trials,
        "units": item.units,
        "unit": item.unit,
        "repeats": list(item.repeats),
        "icc": _rate(item.icc),
        "alpha": fraction_text(item.alpha),
        "perfect": _apart(item.perfect, item.threshold),
        "reachable": item.reachable,
        "needs": item.needs,
        "failures": list(item.failures) if item.failures is not None else None,
        "qualities": [_rate(value) for value in item.qualities] if item.qualities is not None else None,
        "drawn": item.drawn,
        "points": [_point(point) for point in item.points],
        "hides": _point(item.hides) if item.hides is not None else None,
        "needed": [{"true": _number(need.truth), "cases": need.cases} for need in item.needed],
        "designs": [
            {"cases": design.cases, "repeats": design.repeats, "accept": _rate(design.accept)}
            for design in item.designs
        ],
        "designs_at": _number(item.designs_at),
        "as_strong": item.as_strong,
        "comparison": _comparison(item.comparison) if item.comparison is not None else None,
        "missing": item.missing,
        "left_out": item.left_out,
        "too_few": item.too_few,
        "coarse": item.coarse,
    }
    return made


def _point(point: Point) -> Json:
    return {
        "true": _number(point.truth),
        "accept": _rate(point.chances.accept),
        "inconclusive": _rate(point.chances.inconclusive),
        "reject": _rate(point.chances.reject),
        "expected_cases": None if point.expected_cases is None else round(point.expected_cases, 1),
        "measured": list(point.measured),
    }


def _comparison(comparison: Comparison) -> Json:
    rows: Sequence[Json] = [
        {"differing": _rate(row.share), "accept": _rate(row.chance), "cases": row.needed, "measured": row.measured}
        for row in comparison.rows
    ]
    return {"margin": _number(comparison.margin), "ties": _rate(comparison.ties), "rows": list(rows)}


def _number(value: Fraction | None) -> Json:
    """Return a number of the plan, or made from one: all its digits up to nine."""
    return None if value is None else round(float(value), 9)


def _apart(value: float | None, threshold: Fraction | None) -> Json:
    """Return a bound, with the digits that it takes not to look like the threshold that it misses."""
    if value is None or threshold is None:
        return _rate(value)
    bar = float(threshold)
    return next((found for n in range(DIGITS, 9) if (found := round(value, n) + 0.0) != bar), round(value, 9) + 0.0)


def _rate(value: float | None) -> Json:
    return None if value is None else round(value, DIGITS) + 0.0
