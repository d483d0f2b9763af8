# SPDX-License-Identifier: Apache-2.0
"""The rules that are compared, on counts: how many of a case's repeats pass.

What is called guarded is decided by Trialplate's own `rules.bounds`. The others are what people use: the mean as it is,
bounds by the central limit theorem or by Student's t, Wilson's on all trials, and the percentile bootstrap, which is
worked out exactly here instead of by resampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import sqrt

from trialplate.rules import bounds, shares
from trialplate.rules.bounds import Bound
from trialplate.rules.special import normal_quantile
from trialplate.stats.paired import t_quantile

ALPHA = 0.05
FLOOR = 90
"""Percent."""
ICC = 0.5
"""Of one model's cases; several models are made up with 0.6, as the reference did."""
ENOUGH = bounds.ROUNDING


def estimate_accepts(counts: Sequence[int], repeats: int, percent: int) -> bool:
    """Return whether the mean is at least so many percent, in whole numbers."""
    return 100 * sum(counts) >= percent * len(counts) * repeats


# ----------------------------------------------------------------------------------------------------------- guarded


def guarded(counts: Sequence[int], repeats: int, alpha: float = ALPHA) -> Bound:
    """Return the guarded bound of cases; the same counts in another order have the same one."""
    return _guarded(tuple(counts.count(c) for c in range(repeats + 1)), alpha)


@lru_cache(maxsize=200_000)
def _guarded(tally: tuple[int, ...], alpha: float) -> Bound:
    repeats = len(tally) - 1
    return bounds.guarded([c / repeats for c, number in enumerate(tally) for _ in range(number)], alpha)


def guarded_diff(candidate: Sequence[int], reference: Sequence[int], repeats: int, alpha: float = ALPHA) -> Bound:
    """Return the guarded bound of the paired difference of two models on the same cases."""
    off = [a - b for a, b in zip(candidate, reference, strict=True)]
    return _guarded_diff(tuple(off.count(d) for d in range(-repeats, repeats + 1)), alpha)


@lru_cache(maxsize=200_000)
def _guarded_diff(tally: tuple[int, ...], alpha: float) -> Bound:
    repeats = len(tally) // 2
    off = [d - repeats for d, number in enumerate(tally) for _ in range(number)]
    return bounds.guarded_diff([max(d, 0) / repeats for d in off], [max(-d, 0) / repeats for d in off], alpha)


def accepts(counts: Sequence[int], repeats: int, alpha: float = ALPHA) -> bool:
    """Return whether the guarded bound shows the floor; a mean that is below it saves working the bound out."""
    return estimate_accepts(counts, repeats, FLOOR) and guarded(counts, repeats, alpha).lower - FLOOR / 100 > ENOUGH


def guarded_decides(counts: Sequence[int], repeats: int, floor: float) -> str:
    """Return `accepted`, `rejected` or `inconclusive` for "at least `floor`", by the guarded bound."""
    bound = guarded(counts, repeats)
    if bound.lower - floor > ENOUGH:
        return "accepted"
    return "rejected" if floor - bound.upper > ENOUGH else "inconclusive"


def guarded_choice(counts: Sequence[Sequence[int]], repeats: int, within: float) -> int | None:
    """Return the first model, in the order of cost, that is shown to be within a margin of every other; else None."""
    alpha = ALPHA / (len(counts) - 1)
    for index, mine in enumerate(counts):
        rivals = (other for place, other in enumerate(counts) if place != index)
        if all(guarded_diff(mine, other, repeats, alpha).lower + within > ENOUGH for other in rivals):
            return index
    return None


# ------------------------------------------------------------------------------------------------------------- naive


def estimate_choice(counts: Sequence[Sequence[int]], repeats: int, points: int) -> int:
    """Return the first model, in the order of cost, whose mean is within so many points of the best mean."""
    totals = [sum(row) for row in counts]
    slack = points * len(counts[0]) * repeats
    return next(i for i, total in enumerate(totals) if 100 * total >= 100 * max(totals) - slack)


@cache
def student(p: float, df: int) -> float:
    """Return a quantile of Student's t."""
    return t_quantile(p, df)


@cache
def _normal(p: float) -> float:
    return normal_quantile(p)


def mean_and_error(counts: Sequence[int], repeats: int) -> tuple[float, float]:
    """Return the mean of cases, or of differences, and its standard error; that is 0 where all are the same."""
    n, total, squares = len(counts), sum(counts), sum(c * c for c in counts)
    return total / (n * repeats), sqrt((n * squares - total * total) / (n - 1)) / (n * repeats)


def normal_bounds(counts: Sequence[int], repeats: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Return one-sided bounds of the mean by the central limit theorem (Miller 2024)."""
    mean, error = mean_and_error(counts, repeats)
    away = -_normal(alpha) * error
    return mean - away, mean + away


def student_bounds(counts: Sequence[int], repeats: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Return one-sided bounds of the mean by Student's t on case means."""
    mean, error = mean_and_error(counts, repeats)
    away = student(1 - alpha, len(counts) - 1) * error
    return mean - away, mean + away


def wilson_bounds(counts: Sequence[int], repeats: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Return Wilson's bounds, taking every trial for a case of its own."""
    trials = len(counts) * repeats
    return shares.wilson(sum(counts) / trials, trials, alpha)


@cache
def bootstrap_lower(tally: tuple[int, int, int], alpha: float) -> float:
    """Return the alpha quantile of the bootstrap distribution of a mean of differences -1, 0 and 1, exactly.

    Args:
        tally: how many differences are -1, 0 and 1.
        alpha: 0.025 for the two-sided percentile interval of 95 %.
    """
    n = sum(tally)
    chances = [number / n for number in tally]
    sums = [1.0]
    for _ in range(n):
        grown = [0.0] * (len(sums) + 2)
        for place, chance in enumerate(sums):
            for step in range(3):
                grown[place + step] += chance * chances[step]
        sums = grown
    below = 0.0
    for place, chance in enumerate(sums):
        below += chance
        if below >= alpha:
            return (place - n) / n
    return 1.0
