# SPDX-License-Identifier: Apache-2.0
"""Where the noise of a mean comes from: between cases, between the repeats of a case, between clusters of cases.

A repeat takes away noise within a case; only more cases take away noise between them. What cannot be told from the
values is None: the error of one value, the noise within cases that ran once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum, sqrt
from typing import NamedTuple

__all__ = ["Components", "anova_components", "clustered_se", "se_mean"]


class Components(NamedTuple):
    """One-way analysis of variance of cases and their repeats; variances in the square of the values' unit."""

    cases: int
    repeats: float
    """Repeats of a case; if not all have as many, the number that stands for them in the formulas."""
    mean: float | None
    """The mean of the case means."""
    msb: float | None
    """Mean square between cases."""
    msw: float | None
    """Mean square within cases, which is also the variance within one."""
    between: float | None
    """Variance between cases, beyond what their repeats' noise explains; never below 0."""
    within: float | None
    icc: float | None
    """Share of the variance that lies between cases; 1 where repeats never differ, below 0 by chance alone."""
    se: float | None
    """Standard error of the mean: sqrt(between / n + within / (n R)), or by the case means where R is 1."""


def se_mean(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean of independent values, in their unit; None of fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean = fsum(values) / n
    return sqrt(fsum((x - mean) ** 2 for x in values) / (n - 1) / n)


def clustered_se(values: Sequence[float], clusters: Sequence[Hashable], *, correction: bool = True) -> float | None:
    """Return the standard error of the mean of values that come in clusters.

    Args:
        values: one of each case.
        clusters: which cluster the case is of, in the same order.
        correction: multiply the variance by G / (G - 1), for G clusters.

    Returns:
        In the unit of the values; None with fewer than two clusters, where it would collapse to 0.

    Raises:
        ValueError: there are not as many clusters as values.

    Source: Miller 2024, arXiv 2411.00640, section 2.2; the correction as in Inspect.
    """
    if len(values) != len(clusters):
        raise ValueError("each value has its cluster")
    members: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    if len(members) < 2:
        return None
    mean = fsum(values) / len(values)
    square = fsum(fsum(x - mean for x in group) ** 2 for group in members.values())
    factor = len(members) / (len(members) - 1) if correction else 1.0
    return sqrt(square * factor) / len(values)


def anova_components(rows: Sequence[Sequence[float]]) -> Components:
    """Return the parts of the variance of cases (rows) with their repeats (columns), which need not be as many.

    Raises:
        ValueError: a case has no repeat.

    Source: Shrout and Fleiss 1979 (ICC(1,1)); Searle 1971 for unequal repeats; Miller 2024, section 3.
    """
    if any(not row for row in rows):
        raise ValueError("a case has a repeat")
    n, total = len(rows), sum(len(row) for row in rows)
    if not n:
        return Components(0, 0.0, None, None, None, None, None, None, None)
    means = [fsum(row) / len(row) for row in rows]
    mean = fsum(means) / n
    repeats = total / n if n < 2 else (total - sum(len(row) ** 2 for row in rows) / total) / (n - 1)
    msb = msw = between = icc = None
    if n > 1:
        grand = fsum(fsum(row) for row in rows) / total
        msb = fsum(len(row) * (m - grand) ** 2 for row, m in zip(rows, means, strict=True)) / (n - 1)
    if total > n:
        msw = fsum(fsum((x - m) ** 2 for x in row) for row, m in zip(rows, means, strict=True)) / (total - n)
    if msb is not None and msw is not None:
        between = max((msb - msw) / repeats, 0.0)
        whole = msb + (repeats - 1) * msw
        icc = (msb - msw) / whole if whole > 0 else None
    if between is None or msw is None:
        return Components(n, repeats, mean, msb, msw, between, msw, icc, se_mean(means) if total == n else None)
    return Components(n, repeats, mean, msb, msw, between, msw, icc, sqrt(between / n + msw / (n * repeats)))
