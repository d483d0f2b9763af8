# SPDX-License-Identifier: Apache-2.0
"""What cases show of the work they were taken from: one-sided bounds, each with its own error alpha.

Every bound is one-sided on each side: with alpha = 0.05 the lower one lies above the truth in at most about one of
twenty test sets, and so does the upper one below it. Together they are a two-sided interval of 90 %.

With no case at all nothing is known: the bounds are those of the quantity itself (0 and 1, or -1 and 1 of a
difference), and the mean is not a number. What cannot be (a value outside [0, 1], an alpha outside (0, 0.5), a weight
of 0) is a ValueError: the callers have checked what users wrote.

The numbers are doubles, and two machines may differ in the last bits. So a bound within `ROUNDING` of a threshold
decides nothing, and records keep nine decimals.

Score bounds of shares stand in `rules.shares`.

Source: docs/statistics.md; Clopper and Pearson 1934; Korn and Graubard 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, fsum, isnan, log, nan, sqrt
from typing import Any, NamedTuple, Protocol, TypeVar

from trialplate.rules.shares import check_alpha
from trialplate.rules.special import betaincinv, normal_quantile

__all__ = [
    "ROUNDING",
    "Bound",
    "agreement_lower",
    "clopper_pearson",
    "fewest_cases",
    "guarded",
    "guarded_between",
    "guarded_diff",
    "guarded_diff_between",
    "guarded_ppi",
    "guarded_ppi_between",
    "max_failures",
    "nearest_rank",
]

ROUNDING = 1e-9
"""A bound that is no further than this from a threshold neither reaches it nor misses it."""


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Item = TypeVar("Item", bound=_Ordered)


class Bound(NamedTuple):
    """A mean and how far the truth may lie from it, in the unit of the values."""

    mean: float
    """Of the cases as they are; not a number if there is none."""
    n_eff: float
    """How many independent pass or fail trials would tell as much; 0 without cases."""
    lower: float
    upper: float


def guarded(means: Sequence[float], alpha: float, weights: Sequence[float] | None = None) -> Bound:
    """Return the mean of cases, and one-sided bounds of the mean of the work that they are a sample of.

    A Clopper-Pearson bound on as many trials as the cases are worth. One trial a case that passes or fails gives
    Clopper-Pearson itself. Repeats count as far as the spread of the case means shows that they helped; the spread is
    taken with one all-pass and one all-fail case added, so that it never is 0. No run shows more than a run in which
    every case is perfect.

    With three repeats or more a better answer can lower a bound by some thousandths, since it can widen the spread. So
    where answers are missing, ask `guarded_between`, and not this with the missing ones at their extremes.

    Args:
        means: of each case over its repeats, in [0, 1]; or of each cluster of cases that count as one.
        alpha: the one-sided error of each bound, in (0, 0.5).
        weights: the number of cases in each cluster; without it all weigh the same.

    Raises:
        ValueError: a value is outside its range, or there are not as many weights as means.

    Source: Korn and Graubard 1998 (Clopper-Pearson at an effective sample size), with a design effect estimated after
    adding two pseudo-cases; method id `guarded/1`, docs/statistics.md.
    """
    return guarded_between(means, means, alpha, weights)[0]


def guarded_between(
    worst: Sequence[float], best: Sequence[float], alpha: float, weights: Sequence[float] | None = None
) -> tuple[Bound, Bound]:
    """Return guarded bounds that hold whatever the answers that are still missing come to.

    No completion has a lower bound below the first's, nor an upper bound above the second's: a Clopper-Pearson bound
    moves out as the share does, and as the trials are fewer; so it is taken at the worst share and at the best, both
    with the fewest effective trials that any completion could have.

    Args:
        worst: the mean of each case with its missing answers at 0, in [0, 1].
        best: with them at 1, so nowhere below `worst`.
        alpha: as for `guarded`, and `weights` too.

    Returns:
        The mean and both bounds at the worst, and those at the best. They are the same where nothing is missing.

    Raises:
        ValueError: a value is outside its range, or the lists are not as long as each other.

    Source: `guarded`, with each part of the design effect at the end of its range that gives the fewest trials.
    """
    check_alpha(alpha)
    _check_range(worst, best)
    if weights is not None and (len(weights) != len(worst) or not all(0 < w < float("inf") for w in weights)):
        raise ValueError("a weight is a number above 0, and each mean has one")
    if not worst:
        return (Bound(nan, 0.0, 0.0, 1.0),) * 2
    known = worst == best
    if weights is None:  # told apart since it is what nearly every rule asks, of every case
        total = squares = float(len(worst))
        sums = [fsum(means) for means in (worst, best)]
    else:
        total, squares = fsum(weights), fsum([x * x for x in weights])
        sums = [fsum([x * m for x, m in zip(weights, means, strict=True)]) for means in (worst, best)]
    pseudo = total / len(worst)
    low, high = ((weighted + pseudo) / (total + 2 * pseudo) for weighted in sums)
    apart = [m - low for m in worst]
    if not known:
        apart = [max(m2 - low, high - m1) for m1, m2 in zip(worst, best, strict=True)]
    if weights is not None:
        apart = [x * a for x, a in zip(weights, apart, strict=True)]
    spread = fsum([a * a for a in apart])
    spread += pseudo**2 * max((1 - centre) ** 2 + centre**2 for centre in (low, high))
    variance = spread / (squares + 2 * pseudo**2)
    cases = total**2 / squares
    n_eff = cases * max(1.0, min(low * (1 - low), high * (1 - high)) / variance)
    at_worst, at_best = (min(weighted / total, 1.0) for weighted in sums)
    first = Bound(at_worst, n_eff, *_limits(at_worst, n_eff, cases, alpha))
    return first, first if at_best == at_worst else Bound(at_best, n_eff, *_limits(at_best, n_eff, cases, alpha))


def _limits(share: float, trials: float, cases: float, alpha: float) -> tuple[float, float]:
    """Return Clopper-Pearson's limits, no further than `cases` perfect or wholly failed cases would show."""
    lower, upper = clopper_pearson(share * trials if share < 1 else trials, trials, alpha)
    perfect = alpha ** (1 / cases)
    return min(lower, perfect), max(upper, 1 - perfect)


def guarded_diff(
    candidate: Sequence[float], reference: Sequence[float], alpha: float, weights: Sequence[float] | None = None
) -> Bound:
    """Return the mean of what the candidate has more than the reference, case by case, with its bounds in [-1, 1].

    Where answers are missing, ask `guarded_diff_between`.

    Args:
        candidate: the mean of each case over its repeats, in [0, 1].
        reference: of the same cases in the same order.
        alpha: the one-sided error of each bound, in (0, 0.5).
        weights: as for `guarded`.

    Raises:
        ValueError: a value is outside its range, or the cases are not as many.

    Source: `guarded` of (candidate - reference + 1) / 2, mapped back.
    """
    return guarded_diff_between((candidate, candidate), (reference, reference), alpha, weights)[0]


def guarded_diff_between(
    candidate: tuple[Sequence[float], Sequence[float]],
    reference: tuple[Sequence[float], Sequence[float]],
    alpha: float,
    weights: Sequence[float] | None = None,
) -> tuple[Bound, Bound]:
    """Return bounds of a difference that hold whatever the missing answers come to, as `guarded_between` does.

    Args:
        candidate: the means of each case with its missing answers at 0, and with them at 1.
        reference: of the same cases in the same order.
        alpha: as for `guarded`, and `weights` too.

    Returns:
        The difference and both bounds at the candidate's worst and the reference's best, and those the other way round.

    Raises:
        ValueError: a value is outside its range, or the cases are not as many.
    """
    if len({len(means) for means in (*candidate, *reference)}) != 1:
        raise ValueError("a difference is between means of the same cases")
    for means in (*candidate, *reference):
        _check_values(means, 0.0, 1.0)
    worst = [(a - b + 1) / 2 for a, b in zip(candidate[0], reference[1], strict=True)]
    best = [(a - b + 1) / 2 for a, b in zip(candidate[1], reference[0], strict=True)]
    low, high = guarded_between(worst, best, alpha, weights)
    return _doubled(low), _doubled(high)


def _doubled(half: Bound) -> Bound:
    """Return a bound of values in [0, 1] as one of differences in [-1, 1]."""
    return Bound(2 * half.mean - 1, half.n_eff, 2 * half.lower - 1, 2 * half.upper - 1)


def guarded_ppi(judged: Sequence[float], differences: Sequence[float], alpha: float) -> Bound:
    """Return a mean by a judge, put right by what people said of some of the same answers, with its bounds.

    Both variances are taken with two pseudo-values added, the ends of the range, so that neither is ever 0. Where
    answers are missing, ask `guarded_ppi_between`.

    Args:
        judged: of each case what the judge says, in [0, 1].
        differences: what people say less what the judge says, of each answer that people graded, in [-1, 1].
        alpha: the one-sided error of each bound, in (0, 0.5).

    Returns:
        The mean of both together, which can lie outside [0, 1] and outside the bounds; bounds within [0, 1]; n_eff is
        the number of independent trials that would have the same variance at the guarded mean. Without a case, or
        without a graded answer, nothing is known.

    Raises:
        ValueError: a value is outside its range.

    Source: Angelopoulos et al. 2023 (prediction-powered inference), with pseudo-values; docs/statistics.md.
    """
    return guarded_ppi_between(judged, judged, differences, alpha)[0]


def guarded_ppi_between(
    worst: Sequence[float], best: Sequence[float], differences: Sequence[float], alpha: float
) -> tuple[Bound, Bound]:
    """Return bounds of a mean by a judge that hold whatever the missing answers come to, as `guarded_between` does.

    Args:
        worst: of each case what the judge says, with its missing answers at 0, in [0, 1].
        best: with them at 1, so nowhere below `worst`.
        differences: as for `guarded_ppi`, and `alpha` too.

    Returns:
        The mean and both bounds at the worst, and those at the best, both with the largest variance that any completion
        could have.

    Raises:
        ValueError: a value is outside its range, or the lists are not as long as each other.
    """
    check_alpha(alpha)
    _check_range(worst, best)
    _check_values(differences, -1.0, 1.0)
    if not worst or not differences:
        return (Bound(nan, 0.0, 0.0, 1.0),) * 2
    n, m = len(worst), len(differences)
    low, high = ((fsum(values) + 1) / (n + 2) for values in (worst, best))
    judge_variance = (fsum(f * f for f in best) + 1) / (n + 2) - low * low
    off = fsum(differences) / (m + 2)
    difference_variance = (fsum(r * r for r in differences) + 2) / (m + 2) - off * off
    variance = judge_variance / (n + 2) + difference_variance / (m + 2)
    away = -normal_quantile(alpha) * sqrt(variance)

    def at(values: Sequence[float], centre: float) -> Bound:
        inside = min(max(centre + off, 0.0), 1.0)
        mean = fsum(values) / n + fsum(differences) / m
        lower, upper = max(centre + off - away, 0.0), min(centre + off + away, 1.0)
        return Bound(mean, inside * (1 - inside) / variance, lower, upper)

    return at(worst, low), at(best, high)


def clopper_pearson(passes: float, trials: float, alpha: float) -> tuple[float, float]:
    """Return the exact bounds of a probability of which `passes` of `trials` independent trials came out.

    Args:
        passes: from 0 to `trials`; it need not be whole.
        trials: 0 or more.
        alpha: the one-sided error of each bound, in (0, 0.5).

    Raises:
        ValueError: an argument is outside its range.

    Source: Clopper and Pearson 1934, by quantiles of the beta distribution.
    """
    check_alpha(alpha)
    if not 0 <= passes <= trials < float("inf"):
        raise ValueError(f"{passes} of {trials} trials is no share")
    lower = betaincinv(passes, trials - passes + 1, alpha) if passes > 0 else 0.0
    upper = 1 - betaincinv(trials - passes, passes + 1, alpha) if passes < trials else 1.0
    return lower, upper


def agreement_lower(equal: int, graded: int, alpha: float) -> float:
    """Return the lower bound of how often a judge agrees with people: 0 where nothing was graded.

    Args:
        equal: of the `graded` answers, those of which both say the same.
        alpha: the one-sided error, in (0, 0.5).

    Raises:
        ValueError: an argument is outside its range.

    Source: Clopper and Pearson 1934. 20 of 20 show 0.861.
    """
    return clopper_pearson(equal, graded, alpha)[0]


def fewest_cases(threshold: float, alpha: float) -> int:
    """Return with how many cases, at the least, a perfect run shows more than the threshold.

    ceil(ln alpha / ln threshold), but where that many would show just the threshold, one more: see `ROUNDING`.

    Args:
        threshold: in [0, 1).
        alpha: the one-sided error, in (0, 0.5).

    Raises:
        ValueError: the threshold is 1 or as good as 1, which no number of cases shows, or an argument is out of range.

    Source: the success-run theorem.
    """
    check_alpha(alpha)
    needed = threshold + ROUNDING
    if threshold < 0 or not needed < 1:
        raise ValueError(f"no number of cases shows {threshold}")
    cases = max(ceil(log(alpha) / log(needed)), 1)
    while not alpha ** (1 / cases) - threshold > ROUNDING:
        cases += 1
    while cases > 1 and alpha ** (1 / (cases - 1)) - threshold > ROUNDING:
        cases -= 1
    return cases


def max_failures(n: int, threshold: float, alpha: float) -> int | None:
    """Return how many of n cases, with one pass or fail trial each, may fail and the lower bound still reach it.

    Args:
        threshold: in [0, 1].
        alpha: the one-sided error, in (0, 0.5).

    Returns:
        From 0 to n - 1; None if not even a perfect run reaches the threshold.

    Raises:
        ValueError: an argument is outside its range.
    """
    check_alpha(alpha)
    if n < 0 or not 0 <= threshold <= 1:
        raise ValueError(f"a threshold of {threshold} with {n} cases")

    def reaches(failures: int) -> bool:
        return _limits((n - failures) / n, n, n, alpha)[0] - threshold > ROUNDING

    if not n or not reaches(0):
        return None
    good, bad = 0, n
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if reaches(middle) else (good, middle)
    return good


def nearest_rank(values: Sequence[Item], q: Fraction) -> Item:
    """Return the smallest value that at least the share q of the values does not exceed; always one of them.

    Args:
        values: at least one, in any order.
        q: above 0 and at most 1, exact: 0.4 as a double would be a little more than two of five.

    Raises:
        ValueError: there is no value, or q is outside its range.
    """
    if not values or not 0 < q <= 1:
        raise ValueError(f"no percentile at {q} of {len(values)} values")
    return sorted(values)[ceil(q * len(values)) - 1]


def _check_range(worst: Sequence[float], best: Sequence[float]) -> None:
    _check_values(worst, 0.0, 1.0)
    if worst == best:
        return
    _check_values(best, 0.0, 1.0)
    if len(worst) != len(best) or any(low > high for low, high in zip(worst, best, strict=True)):
        raise ValueError("each case has a worst mean and a best one that is not below it")


def _check_values(values: Sequence[float], low: float, high: float) -> None:
    # As fast as can be, since every bound asks it of every case; a sum is no number if one of the values is none.
    if values and not (low <= min(values) and max(values) <= high and not isnan(sum(values))):
        raise ValueError(f"a value is outside [{low:g}, {high:g}]")
