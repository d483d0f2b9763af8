# SPDX-License-Identifier: Apache-2.0
"""Ranges of a mean over its repeats, whether two of them are apart, and the ranks that a model may have.

A range says how far repeats of the same cases scatter. It ignores that other cases would have given other means, so two
that are apart are no evidence about other cases. For that, give bounds in place of ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import NamedTuple

__all__ = ["Ranks", "linear_percentile", "rank_ranges", "repeat_range", "separated"]

Interval = tuple[float, float]
"""Its lower and its upper end, which both belong to it."""


class Ranks(NamedTuple):
    """The first and the last place that a model may have; 1 is the best."""

    best: int
    worst: int


def repeat_range(means: Sequence[float]) -> Interval | None:
    """Return the smallest and the largest of the means of each repeat; None of fewer than two, which show no scatter.

    Source: Trialmark's range.
    """
    return (min(means), max(means)) if len(means) > 1 else None


def separated(a: Interval, b: Interval) -> bool:
    """Return whether two ranges have no value in common; those that touch have one.

    Raises:
        ValueError: an interval ends before it begins.
    """
    if a[0] > a[1] or b[0] > b[1]:
        raise ValueError("an interval ends before it begins")
    return a[1] < b[0] or b[1] < a[0]


def rank_ranges(intervals: Sequence[Interval]) -> list[Ranks]:
    """Return the ranks that each model may have among these, whose value lies somewhere in its interval.

    The best is one more than the models that lie wholly above it; the worst is the number of models, less those that
    lie wholly below.

    Raises:
        ValueError: an interval ends before it begins.
    """
    found = []
    for mine in intervals:
        apart = [other for other in intervals if separated(mine, other)]
        above = sum(other[0] > mine[1] for other in apart)
        found.append(Ranks(1 + above, len(intervals) - (len(apart) - above)))
    return found


def linear_percentile(values: Sequence[float], q: float) -> float | None:
    """Return a percentile between the two values around it, for display; None of no values.

    Args:
        values: in any order.
        q: in [0, 1].

    Raises:
        ValueError: q is outside [0, 1].

    Source: Hyndman and Fan 1996, type 7, which is numpy's default. What decides is `rules.bounds.nearest_rank`.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"no percentile at {q}")
    if not values:
        return None
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = floor(place)
    return ordered[below] + (place - below) * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])
