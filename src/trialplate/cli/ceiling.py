# SPDX-License-Identifier: Apache-2.0
"""--max-cost and --max-time: how they are written, and what is said of a budget before it is spent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from trialplate.engine.estimate import Estimate, estimate, trials_within
from trialplate.errors import UsageError
from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan
from trialplate.spec.bounds import AttemptBounds
from trialplate.spec.limits import Ceiling

__all__ = ["budget_warning", "budget_words", "read_ceiling"]

_COST = re.compile(r"([0-9]{1,7})(?:\.([0-9]{1,9}))?|\.([0-9]{1,9})", re.ASCII)
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(s|m|h)?", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def read_ceiling(max_cost: str | None, max_time: str | None) -> Ceiling:
    """Return what the two options say.

    Raises:
        UsageError: one of them is no amount, or no time.
    """
    return Ceiling(cost_nano=_cost(max_cost), wall_time_ms=_time(max_time))


def _cost(text: str | None) -> int | None:
    if text is None:
        return None
    found = _COST.fullmatch(text.strip())
    if found is None:
        hint = "write an amount in the currency of your prices, such as 5 or 0.25"
        raise UsageError(f"--max-cost {text!r} is no amount", hint=hint)
    return int(Fraction(f"0{text.strip()}") * 10**9)


def _time(text: str | None) -> int | None:
    if text is None:
        return None
    found = _TIME.fullmatch(text.strip())
    milliseconds = int(Fraction(found[1]) * _SECONDS[found[2] or "s"] * 1000) if found else 0
    if not 0 < milliseconds <= 2**31:
        raise UsageError(
            f"--max-time {text!r} is no time", hint="write seconds, or a number with its unit: 90, 90s, 30m, 2h"
        )
    return milliseconds


def budget_words(plan: Plan) -> Iterator[str]:
    """Say what bounds the run, if anything does."""
    if plan.budget is None:
        return
    parts = []
    if plan.budget.cost_nano is not None:
        parts.append(f"{plan.budget.cost_nano / 1e9:.4f} {plan.budget.currency}")
    if plan.budget.wall_time_ms is not None:
        parts.append(f"{plan.budget.wall_time_ms / 1000:g} s")
    yield f"budget: {' and '.join(parts)}; no attempt begins that could go beyond it"


def budget_warning(
    plan: Plan, matrix: Matrix, bounds: Mapping[str, AttemptBounds], helping: Sequence[Estimate]
) -> Iterator[str]:
    """Say how many trials are sure to fit, where the estimate, helpers included, is above the budget."""
    if plan.budget is None or plan.budget.cost_nano is None or plan.cache == "replay":
        return
    most = sum(item.cost.nano for item in (*estimate(matrix, bounds), *helping) if item.cost is not None)
    if most > plan.budget.cost_nano:
        fit = trials_within(matrix, bounds, plan.budget.cost_nano)
        told = f"the estimate, {most / 1e9:.4f} {plan.budget.currency}, is above the budget"
        yield f"{told}: {fit} of {matrix.size} trials are sure to fit; the others may be left out"
