# SPDX-License-Identifier: Apache-2.0
"""An upper estimate of what a run costs, before anything is spent. Erring high is its purpose.

It adds up the bound of each attempt (`spec.limits`), which is also what a budget reserves. Retries are counted once: a
failed attempt is rarely billed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialplate.record.entries import Money
from trialplate.record.frozen import Json
from trialplate.record.matrix import Matrix
from trialplate.record.values import Case, Plan
from trialplate.spec.bounds import AttemptBounds, HelperBounds

__all__ = ["Estimate", "bounds_of", "estimate", "estimate_helpers", "trials_within"]


@dataclass(frozen=True)
class Estimate:
    """The most that one configuration should cost."""

    configuration: str
    trials: int
    input_tokens: int
    output_tokens: int
    cost: Money | None
    """None is an unknown price, never zero."""


def bounds_of(
    plan: Plan,
    matrix: Matrix,
    opened: Mapping[str, Json],
    cases: Mapping[str, Case],
    sizes: Mapping[str, int] | None = None,
) -> dict[str, AttemptBounds]:
    """Return the bounds of each configuration that is to run.

    Args:
        opened: the texts by commitment.
        cases: the cases by id.
        sizes: bytes of their files, by digest; None: they have none.
    """
    helping = HelperBounds(plan, opened, cases) if plan.helpers else None
    there = [item for item in plan.configurations if item.name in matrix.counts]
    return {item.name: AttemptBounds(item, opened, cases, helping, sizes) for item in there}


def estimate(matrix: Matrix, bounds: Mapping[str, AttemptBounds]) -> list[Estimate]:
    """Return an estimate per configuration."""
    return [_of(name, matrix, bounds[name]) for name in matrix.counts]


def estimate_helpers(
    plan: Plan,
    matrix: Matrix,
    bounds: Mapping[str, AttemptBounds],
    opened: Mapping[str, Json],
    cases: Mapping[str, Case],
) -> list[Estimate]:
    """Return an estimate per helper, over the answers of all configurations, each as long as it may be."""
    helping = HelperBounds(plan, opened, cases)
    found: dict[str, list[tuple[int, int, int, Money | None]]] = {}
    for name, row in matrix.counts.items():
        for case, repeats in zip(matrix.cases, row, strict=True):
            answer = bounds[name].of(case.id).output_tokens
            for helper, tokens, output, cost in helping.of(case.id, answer) if repeats else ():
                found.setdefault(helper, []).append((repeats, tokens, output, cost))
    made = []
    for item in plan.helpers:
        rows = found.get(item.name, [])
        cost = None
        if rows and all(money is not None for *_, money in rows):
            nano = sum(number * money.nano for number, _, _, money in rows if money is not None)
            cost = Money(nano=nano, currency=next(money.currency for *_, money in rows if money is not None))
        if rows:
            made.append(
                Estimate(
                    configuration=item.name,
                    trials=sum(number for number, *_ in rows),
                    input_tokens=sum(number * tokens for number, tokens, _, _ in rows),
                    output_tokens=sum(number * output for number, _, output, _ in rows),
                    cost=cost,
                )
            )
    return made


def _of(name: str, matrix: Matrix, bounds: AttemptBounds) -> Estimate:
    row = [
        (bounds.of(case.id), repeats)
        for case, repeats in zip(matrix.cases, matrix.counts[name], strict=True)
        if repeats
    ]
    costs = [(bound.cost, repeats) for bound, repeats in row]
    cost: Money | None = None
    if costs and all(money is not None for money, _ in costs):
        nano = sum(money.nano * repeats for money, repeats in costs if money is not None)
        cost = Money(nano=nano, currency=next(money.currency for money, _ in costs if money is not None))
    return Estimate(
        configuration=name,
        trials=sum(repeats for _, repeats in row),
        input_tokens=sum(bound.input_tokens * repeats for bound, repeats in row),
        output_tokens=sum(bound.output_tokens * repeats for bound, repeats in row),
        cost=cost,
    )


def trials_within(matrix: Matrix, bounds: Mapping[str, AttemptBounds], nano: int) -> int:
    """Return how many trials, in the order of the matrix, fit into an amount even if each costs the most it can.

    One that costs nothing fits wherever it stands.
    """
    number = 0
    for name, case, _ in matrix.trials():
        most = bounds[name].of(case).whole or 0
        nano -= most
        number += nano >= 0 or most == 0
    return number
