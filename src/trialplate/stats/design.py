# SPDX-License-Identifier: Apache-2.0
"""What a design can show before it runs: chances to accept by counts, fixed or stopped early, and sizes of differences.

A count plan (`rules.sequential`) decides by failures among the cases so far. A quality is the share of cases that would
pass, a defect rate is one less it. Everything here is exact for cases that pass or fail with one chance, independently.

With how many cases a perfect run suffices, how many failures are allowed, and what a count plan comes to, decide, and
stand in `rules.bounds` and `rules.sequential`.
"""

from __future__ import annotations

from math import floor, log, sqrt
from typing import Literal, NamedTuple

from trialplate.rules.sequential import CountPlan
from trialplate.rules.special import betainc, betaincinv, normal_quantile

__all__ = [
    "Lines",
    "curtailed_plan",
    "miller_mde",
    "miller_n",
    "oc_binomial",
    "oc_quality_at",
    "sealed",
    "sprt_lines",
    "sprt_plan",
    "wald_thresholds",
]


class Lines(NamedTuple):
    """Wald's lines: after n cases accept at failures <= s n - h1, reject at failures >= s n + h2."""

    h1: float
    h2: float
    s: float


def oc_binomial(n: int, c: int, defect: float) -> float:
    """Return the chance that at most c of n cases fail.

    Args:
        defect: the chance of a case to fail, in [0, 1].

    Raises:
        ValueError: an argument is outside its range.

    Source: NIST/SEMATECH e-Handbook 6.2.3.
    """
    if n < 0 or not 0 <= defect <= 1:
        raise ValueError(f"{n} cases that fail with chance {defect}")
    if c < 0 or c >= n:
        return 0.0 if c < 0 else 1.0
    return 1 - betainc(c + 1, n - c, defect) if defect < 0.5 else betainc(n - c, c + 1, 1 - defect)


def oc_quality_at(n: int, c: int, accept_prob: float) -> float:
    """Return the defect rate at which n cases with c failures allowed are accepted with this chance.

    Args:
        c: from 0 to n - 1.
        accept_prob: in [0, 1].

    Raises:
        ValueError: an argument is outside its range.

    Source: the inverse of `oc_binomial`; ANSI/ASQ Z1.4, tables X.
    """
    if not 0 <= c < n:
        raise ValueError(f"{c} failures allowed of {n} cases")
    return 1 - betaincinv(n - c, c + 1, accept_prob) if accept_prob < 0.5 else betaincinv(c + 1, n - c, 1 - accept_prob)


def wald_thresholds(alpha: float, beta: float) -> tuple[float, float]:
    """Return at which log likelihood ratio of the worse against the better quality to accept, and to reject.

    Args:
        alpha: the chance to reject what is good, in (0, 1); `beta` to accept what is bad. Together below 1.

    Raises:
        ValueError: an argument is outside its range.

    Source: Wald 1945.
    """
    if not (0 < alpha < 1 and 0 < beta < 1 and alpha + beta < 1):
        raise ValueError(f"errors of {alpha} and {beta} make no test")
    return log(beta / (1 - alpha)), log((1 - beta) / alpha)


def sprt_lines(p1: float, p2: float, alpha: float, beta: float) -> Lines:
    """Return Wald's lines that tell a defect rate of p1 from the larger p2.

    Args:
        alpha: the chance to reject at p1, in (0, 1); `beta` to accept at p2. Both hold without an end to the cases.

    Raises:
        ValueError: an argument is outside its range.

    Source: Wald 1945; NIST/SEMATECH e-Handbook 6.2.3.6.
    """
    if not 0 < p1 < p2 < 1:
        raise ValueError(f"defect rates of {p1} and {p2} are not apart")
    accept, reject = wald_thresholds(alpha, beta)
    worse, better = log(p2 / p1), log((1 - p1) / (1 - p2))
    return Lines(-accept / (worse + better), reject / (worse + better), better / (worse + better))


def sprt_plan(lines: Lines, most: int) -> CountPlan:
    """Return Wald's lines as counts, cut after `most` cases: there at most s n failures accept, and more reject.

    Raises:
        ValueError: there is no case.
    """
    if most < 1:
        raise ValueError("a plan has a case")
    accept = [max(floor(lines.s * n - lines.h1), -1) for n in range(1, most)]
    reject = [min(-floor(-(lines.s * n + lines.h2)), n + 1) for n in range(1, most)]
    last = floor(lines.s * most)
    return CountPlan((*accept, last), (*reject, last + 1))


def curtailed_plan(n: int, c: int) -> CountPlan:
    """Return the plan that stops once it is certain whether more than c of n cases fail.

    Args:
        c: from 0 to n - 1.

    Raises:
        ValueError: an argument is outside its range.

    Source: Phatak and Bhatt 1967 (fully curtailed sampling).
    """
    if not 0 <= c < n:
        raise ValueError(f"{c} failures allowed of {n} cases")
    return CountPlan(tuple(max(c - (n - i), -1) for i in range(1, n + 1)), (c + 1,) * n)


def sealed(n: int, c: int, passes: int, failures: int) -> Literal["pass", "fail"] | None:
    """Return what n cases with c failures allowed will come to, if that is certain by now.

    Raises:
        ValueError: more cases have run than there are.
    """
    if min(passes, failures) < 0 or passes + failures > n:
        raise ValueError(f"{passes} and {failures} of {n} cases")
    return "fail" if failures > c else "pass" if passes >= n - c else None


def miller_n(
    delta: float, omega2: float, var_a: float, var_b: float, k_a: int, k_b: int, *, alpha: float, power: float
) -> float:
    """Return how many cases show a paired difference of `delta`, by a normal approximation; round it up.

    Args:
        delta: the difference of means, above 0.
        omega2: the variance between cases of the difference of what each case would score on average.
        var_a: the variance within a case of the first configuration, and `var_b` of the second.
        k_a: repeats of the first, and `k_b` of the second.
        alpha: the two-sided error, in (0, 1).
        power: the chance to see the difference, in (0, 1).

    Raises:
        ValueError: an argument is outside its range.

    Source: Miller 2024, arXiv 2411.00640, section 5.
    """
    if delta <= 0:
        raise ValueError("no number of cases shows a difference of 0")
    return (_reach(alpha, power) / delta) ** 2 * _variance(omega2, var_a, var_b, k_a, k_b)


def miller_mde(
    n: int, omega2: float, var_a: float, var_b: float, k_a: int, k_b: int, *, alpha: float, power: float
) -> float:
    """Return the smallest paired difference that n cases show; the other arguments as for `miller_n`.

    Raises:
        ValueError: an argument is outside its range.

    Source: Miller 2024, arXiv 2411.00640, section 5.
    """
    if n < 1:
        raise ValueError("no case shows a difference")
    return _reach(alpha, power) * sqrt(_variance(omega2, var_a, var_b, k_a, k_b) / n)


def _reach(alpha: float, power: float) -> float:
    return normal_quantile(power) - normal_quantile(alpha / 2)


def _variance(omega2: float, var_a: float, var_b: float, k_a: int, k_b: int) -> float:
    if min(omega2, var_a, var_b) < 0 or min(k_a, k_b) < 1:
        raise ValueError("a variance is not below 0, and a case runs once")
    return omega2 + var_a / k_a + var_b / k_b
