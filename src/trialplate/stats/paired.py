# SPDX-License-Identifier: Apache-2.0
"""Tests of whether two configurations differ on the same cases: information beside a bound, never a rule.

McNemar's and the sign-flip test count exactly, in rationals. Those on Student's t assume that case differences are
about normal, which they are not on few cases; they are here to be compared with what others report.

Order of paired counts: `b` of the cases pass only the first time, `c` only the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import comb, fsum, lcm, sqrt
from typing import Literal

from trialplate.rules.special import betainc, betaincinv

__all__ = [
    "holm",
    "mcnemar_exact",
    "mcnemar_midp",
    "mcnemar_one_sided",
    "noninferiority_p",
    "sign_flip_p",
    "t_cdf",
    "t_quantile",
    "tost_p",
]

MOST_SUMS = 200_000
"""Different sums that the sign-flip test keeps; beyond it there is no p, rather than one that takes minutes."""


def mcnemar_exact(b: int, c: int) -> Fraction:
    """Return McNemar's exact two-sided p; 1 where no case differs.

    Raises:
        ValueError: a count is below 0.

    Source: McNemar 1947; Fagerland, Lydersen and Laake 2013, BMC Med Res Methodol 13:91.
    """
    return min(Fraction(1), 2 * mcnemar_one_sided(max(b, c), min(b, c), "b>c"))


def mcnemar_midp(b: int, c: int) -> Fraction:
    """Return the two-sided mid-p: half of the probability of what was seen is left out on each side.

    Raises:
        ValueError: a count is below 0.

    Source: Fagerland, Lydersen and Laake 2013, eq. 2 and the supplement (b = c).
    """
    exact = mcnemar_exact(b, c)
    seen = Fraction(comb(b + c, b), 2 ** (b + c))
    return 1 - seen / 2 if b == c else exact - seen


def mcnemar_one_sided(b: int, c: int, alternative: Literal["b>c", "c>b"]) -> Fraction:
    """Return the chance that so few of b + c differing cases go the other way, if either way were as likely.

    Raises:
        ValueError: a count is below 0.
    """
    if b < 0 or c < 0:
        raise ValueError(f"{b} and {c} are no counts")
    fewer = c if alternative == "b>c" else b
    return Fraction(sum(comb(b + c, k) for k in range(fewer + 1)), 2 ** (b + c))


def sign_flip_p(differences: Sequence[Fraction | Decimal | int | float]) -> Fraction | None:
    """Return the exact chance of a sum as large as this one, if each case's difference had either sign alike.

    Args:
        differences: of each case, candidate less reference. A double is read as the decimal that it prints as, so that
            0.1 + 0.2 and 0.3 are the same sum.

    Returns:
        One-sided p, 1 where no case differs; None if there are more than 200,000 different sums to count.

    Source: Fisher's randomisation test for pairs (Edgington and Onghena 2007), by convolution.
    """
    exact = [Fraction(str(x)) if isinstance(x, float) else Fraction(x) for x in differences]
    scale = lcm(*(x.denominator for x in exact)) if exact else 1
    sizes = [abs(int(x * scale)) for x in exact if x]
    observed = sum(int(x * scale) for x in exact)
    ways = {0: 1}
    for size in sizes:
        grown: dict[int, int] = {}
        for total, number in ways.items():
            for moved in (total + size, total - size):
                grown[moved] = grown.get(moved, 0) + number
        if len(grown) > MOST_SUMS:
            return None
        ways = grown
    return Fraction(sum(number for total, number in ways.items() if total >= observed), 2 ** len(sizes))


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted for being several, in the order given; none above 1.

    Raises:
        ValueError: a p is outside [0, 1].

    Source: Holm 1979.
    """
    if any(not 0 <= value <= 1 for value in p):
        raise ValueError("a p-value lies in [0, 1]")
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted


def noninferiority_p(candidate: Sequence[float], reference: Sequence[float], margin: float) -> float | None:
    """Return the p of the candidate's mean being lower by `margin` or more, by the paired t-test.

    Args:
        candidate: the mean of each case, and `reference` of the same cases in the same order.
        margin: in the unit of the means; 0.03 is three points.

    Returns:
        One-sided p; None with fewer than two cases, or where all differences are the same.

    Raises:
        ValueError: the cases are not as many.

    Source: Student 1908; Miller 2024, arXiv 2411.00640, section 4.2 (paired differences).
    """
    if len(candidate) != len(reference):
        raise ValueError("a difference is between means of the same cases")
    n = len(candidate)
    if n < 2:
        return None
    off = [a - b for a, b in zip(candidate, reference, strict=True)]
    mean = fsum(off) / n
    error = sqrt(fsum((x - mean) ** 2 for x in off) / (n - 1) / n)
    if max(off) - min(off) < 1e-12:  # equal but for the last bits of doubles
        return None
    return t_cdf(-(mean + margin) / error, n - 1)


def tost_p(candidate: Sequence[float], reference: Sequence[float], low: float, high: float) -> float | None:
    """Return the p of the mean difference lying outside (low, high): the larger of two one-sided tests.

    Arguments, None and errors as for `noninferiority_p`.

    Source: Schuirmann 1987.
    """
    below = noninferiority_p(candidate, reference, -low)
    above = noninferiority_p(reference, candidate, high)
    return None if below is None or above is None else max(below, above)


def t_cdf(t: float, df: float) -> float:
    """Return the chance that Student's t with `df` degrees of freedom is at most t.

    Raises:
        ValueError: df is not above 0, or an argument is not a number.

    Source: DLMF 8.17, Abramowitz and Stegun 26.7.1.
    """
    square = t * t
    if square < df:  # the middle, since df / (df + square) is near 1 and has lost digits
        tail = (1 - betainc(0.5, df / 2, square / (df + square))) / 2
    else:
        tail = betainc(df / 2, 0.5, df / (df + square)) / 2
    return tail if t < 0 else 1 - tail


def t_quantile(p: float, df: float) -> float:
    """Return the t that Student's t with `df` degrees of freedom does not exceed with probability p.

    Args:
        p: above 0 and below 1.
        df: above 0.

    Raises:
        ValueError: an argument is outside its range.
    """
    if not 0 < p < 1:
        raise ValueError(f"no quantile of Student's t at p={p}")
    tail = min(p, 1 - p)
    if tail < 0.25:
        x = betaincinv(df / 2, 0.5, 2 * tail)
        ratio = (1 - x) / x if x else float("inf")
    else:  # the complement, since x is near 1
        y = betaincinv(0.5, df / 2, 1 - 2 * tail)
        ratio = y / (1 - y)
    t = sqrt(df * ratio)
    return -t if p < 0.5 else t
