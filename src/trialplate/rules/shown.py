# SPDX-License-Identifier: Apache-2.0
"""What a run shows: the bounds of a rule's quantity, with unknown cells at their two extremes.

A unit is what is drawn at random: a case, or all cases that share what the mark's `unit` says. `over: cases` asks what
other units like these would show, by the guarded bound; `over: this_set` asks what these very cases would show if they
were asked again, by Clopper and Pearson's bounds over all trials. The means are exact; the bounds are floats, which
decisions carry with nine decimals.

Source: DESIGN section 7; docs/formats/pass-mark.md, clause 4; docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from trialplate.record.decisions import Result
from trialplate.record.values import PassMark, Plan
from trialplate.rules.bounds import (
    ROUNDING,
    clopper_pearson,
    guarded_between,
    guarded_diff_between,
    guarded_ppi_between,
)
from trialplate.rules.quantities import CaseValue, draws_of, is_pooled, mean_of
from trialplate.rules.shares import newcombe

__all__ = ["Shown", "alpha_of", "judged_by", "rounded", "shown", "shown_corrected", "shown_difference", "trials_of"]

MOST_HALVINGS = 200
"""However many attempts: alpha stays a number that a float can hold."""


class Shown(NamedTuple):
    """Bounds with the unknown cells at the worse value, and at the better one, which no value in between leaves."""

    worst: tuple[float, float]
    """(lower, upper)"""
    best: tuple[float, float]
    units: int


def alpha_of(mark: PassMark, plan: Plan, attempt: int, *, parts: int = 1, rivals: int | None = None) -> Fraction:
    """Return the error that one bound may have.

    Args:
        attempt: which attempt it is, from 1: each has half of what the one before it had.
        parts: alternatives of which one is enough; each has its part.
        rivals: under `choose`, among how many wrong ones the choice is made; the family is then not divided again.
    """
    candidates = sum(item.role == "candidate" for item in plan.configurations)
    family = rivals if rivals is not None else candidates if mark.family == "plan" else 1
    halvings = min(attempt if mark.attempts.spend else attempt - 1, MOST_HALVINGS)
    return (1 - Fraction(mark.confidence)) / (max(family, 1) * parts * (1 << halvings))


def trials_of(values: Sequence[CaseValue], quantity: str, errors: str) -> int:
    """Return how many independent trials of exactly these cases a mean over them is worth, at least.

    A share of trials is worth all of them. What the repeats of a case make together, such as its verdict, is one trial
    of that case. Other means weigh cases alike, so one with few repeats scatters them as much as if all had so few.

    Args:
        errors: "exclude" leaves unknown cells out.
    """
    counted = [item.cells - (item.unknown if errors == "exclude" else 0) for item in values if item.weight]
    if is_pooled(quantity):
        return sum(item.weight for item in values)
    together = quantity == "case_pass_rate" or (draws_of(quantity) or 1) > 1
    return len(counted) * (1 if together else min(counted, default=0))


def shown(values: Sequence[CaseValue], mark: PassMark, units: Mapping[str, str], alpha: Fraction, trials: int) -> Shown:
    """Return the bounds of a mean over cases.

    Args:
        units: the unit of each case, where it is not the case itself.
        trials: how many trials the values are worth over exactly these cases (`trials_of`).
    """
    error = float(alpha)
    if mark.over == "this_set":
        low, high = mean_of(values)
        ends = [clopper_pearson(float(mean or 0) * trials, trials, error) for mean in (low, high)]
        return Shown(ends[0], ends[1], trials)
    grouped = _grouped(values, units)
    weights = _weights([weight for _, _, weight in grouped])
    worst, best = guarded_between([low for low, _, _ in grouped], [high for _, high, _ in grouped], error, weights)
    return Shown((worst.lower, worst.upper), (best.lower, best.upper), len(grouped))


def shown_difference(
    own: Sequence[CaseValue],
    other: Sequence[CaseValue],
    mark: PassMark,
    units: Mapping[str, str],
    alpha: Fraction,
    trials: tuple[int, int],
) -> Shown:
    """Return the bounds of the difference of two means over the same cases: the worse for the first, and the better.

    Args:
        own, other: values of the same cases in the same order.
        trials: how many trials each is worth over exactly these cases (`trials_of`).
    """
    error = float(alpha)
    if mark.over == "this_set":
        (low, high), (least, most) = mean_of(own), mean_of(other)
        pairs = ((low, most), (high, least))
        ends = [newcombe(float(a or 0), trials[0], float(b or 0), trials[1], error) for a, b in pairs]
        return Shown(ends[0], ends[1], min(trials))
    mine, theirs = _grouped(own, units), _grouped(other, units)
    weights = _weights([weight for _, _, weight in mine])
    first, second = (([low for low, _, _ in side], [high for _, high, _ in side]) for side in (mine, theirs))
    worst, best = guarded_diff_between(first, second, error, weights)
    return Shown((worst.lower, worst.upper), (best.lower, best.upper), len(mine))


def shown_corrected(
    values: Sequence[CaseValue], differences: Sequence[Fraction], units: Mapping[str, str], alpha: Fraction
) -> Shown:
    """Return the bounds of a judge's mean, less what its checks say that it is wrong by.

    Args:
        differences: a person's value less the judge's, for each answer that was graded.
    """
    error, graded = float(alpha), [float(item) for item in differences]
    grouped = _grouped(values, units)
    lows, highs = [low for low, _, _ in grouped], [high for _, high, _ in grouped]
    worst, best = guarded_ppi_between(lows, highs, graded, error)
    return Shown((worst.lower, worst.upper), (best.lower, best.upper), len(grouped))


def _grouped(values: Sequence[CaseValue], units: Mapping[str, str]) -> list[tuple[float, float, int]]:
    """Return the mean of each unit, at both extremes, and its weight."""
    if not units:
        return [(item.low / item.of, item.high / item.of, item.weight) for item in values if item.weight]
    members: dict[str, list[CaseValue]] = {}
    for item in values:
        if item.weight:
            members.setdefault(units.get(item.case, f"case {item.case}"), []).append(item)
    found = []
    for items in members.values():
        low, high = mean_of(items)
        found.append((float(low or 0), float(high or 0), sum(item.weight for item in items)))
    return found


def _weights(weights: Sequence[int]) -> list[float] | None:
    """Return weights; None where all are alike."""
    return None if len(set(weights)) <= 1 else [float(item) for item in weights]


# ------------------------------------------------------------------------------------------------------ comparing


def judged_by(ends: tuple[float, float], threshold: Fraction, *, floor: bool) -> tuple[Result, str]:
    """Return whether bounds show that a quantity is at least a threshold (`floor`), or at most; and why."""
    lower, upper = ends
    bar = float(threshold)
    holds, fails = (lower - bar, bar - upper) if floor else (bar - upper, lower - bar)
    if holds > ROUNDING:
        return "pass", "met"
    if fails > ROUNDING:
        return "fail", "below" if floor else "above"
    near = abs(holds) <= ROUNDING or abs(fails) <= ROUNDING
    return "inconclusive", "within_rounding" if near else "straddles"


def rounded(value: float) -> str:
    """Return a bound as decisions carry it, with nine decimals."""
    text = f"{value:.9f}"
    return text[1:] if text == "-0.000000000" else text
