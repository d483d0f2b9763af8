# SPDX-License-Identifier: Apache-2.0
"""How many cases a claim needs, and what else the same trials could be spent on.

Source: docs/statistics.md; docs/adr/0053.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from trialplate.rules.bounds import ROUNDING
from trialplate.rules.special import betainc, normal_quantile
from trialplate.stats.design import oc_binomial
from trialplate.stats.draws import Binomial, Stream
from trialplate.stats.operating import Demand, Operating, Sample, Shows, Unit

__all__ = ["MOST_CASES", "Alternative", "alternatives", "cases_for", "cases_for_pair", "paired_power"]

MOST_CASES = 20_000
"""More cases are not looked for."""
RARE = 1e-10
"""Numbers of cases that are less likely than this are left out."""
SLACK = 10
"""A number of cases also does with up to so many more."""
REPEATS = (1, 2, 3, 5, 10)
"""Of these numbers of repeats designs are compared."""


class Alternative(NamedTuple):
    """A design with as many trials, and what it comes to."""

    cases: int
    repeats: int
    accept: float


def cases_for(threshold: Fraction, alpha: float, truth: float, power: float) -> int | None:
    """Return with how many cases, asked once each, a true rate is accepted with a chance of `power`.

    The chance jumps up where one more failure is allowed, and falls with each case until the next jump. So a number is
    taken that also holds with up to ten cases more: nobody plans to the case.

    Args:
        threshold: a floor, in [0, 1).
        alpha: the error of the bound.
        truth: the true rate, in (0, 1].

    Returns:
        None if it is beyond 20,000, or if no number is enough.
    """
    bar = float(threshold)
    if truth <= bar or bar + ROUNDING >= 1:
        return None
    failures = first = good = 0
    for n in range(1, MOST_CASES + 1):
        if _allows(n, failures + bool(first), bar, alpha):
            failures += bool(first)
            first = first or n
        if not first:
            continue
        good = good + 1 if oc_binomial(n, failures, 1 - truth) >= power else 0
        if good > SLACK:
            return n - SLACK
    return None


def _allows(n: int, failures: int, bar: float, alpha: float) -> bool:
    """Say whether so many failures of n cases still show more than the bar."""
    if failures >= n or (n - failures) / n <= bar:
        return False
    if not failures:
        return bool(alpha ** (1 / n) - bar > ROUNDING)
    return betainc(n - failures, failures + 1, bar + ROUNDING) < alpha


def alternatives(sample: Sample, demand: Demand, stream: Stream, truth: float) -> list[Alternative]:
    """Return what as many trials come to at one true rate, spent on more cases or on more repeats.

    Args:
        sample: of units that are all alike, with as many cells as repeats.
        truth: of the same quantity as the demand.
    """
    unit, n = sample.units[0], len(sample.units)
    trials = n * unit.cells
    found = []
    for repeats in sorted({*REPEATS, unit.cells}):
        cases = trials // repeats
        if cases < 2:
            continue
        other = Sample((Unit(repeats, 1),) * cases, sample.icc)
        found.append(Alternative(cases, repeats, Operating(other, demand, stream).chances(truth).accept))
    return found


# ------------------------------------------------------------------------------------------------ two side by side


def paired_power(n: int, margin: float, differing: float, alpha: float, difference: float = 0.0) -> float:
    """Return the chance to show that one configuration is at most `margin` worse than another, over the same cases.

    Each case is asked once, and passes or fails with either.

    Args:
        differing: the share of cases that one of them passes and the other fails, in [0, 1].
        alpha: the error of the bound.
        difference: how much better the first truly is, from -`differing` to `differing`.
    """
    if differing <= 0:
        return float(_enough(Shows((1 - margin) / 2, alpha, n), n, 0, 0))
    shows = Shows((1 - margin) / 2, alpha, n)
    better = (differing + difference) / (2 * differing)
    among = Binomial(n, min(differing, 1.0))
    before, total, fewest = 0.0, 0.0, 0
    for apart, below in enumerate([*among.sums, 1.0], among.first):
        chance, before = below - before, below
        if chance < RARE:
            continue
        while fewest <= apart and not _enough(shows, n, apart, fewest):
            fewest += 1  # with one more case apart, and no more of them won, it is only harder
        if fewest <= apart:
            total += chance * oc_binomial(apart, apart - fewest, 1 - better)
    return min(total, 1.0)


def _enough(shows: Shows, n: int, apart: int, better: int) -> bool:
    """Say whether winning so many of the cases that are apart shows it."""
    mean = 0.5 + (2 * better - apart) / (2 * n)
    if not shows.reachable or mean <= shows.threshold:
        return False
    return mean >= 1 or shows.exactly(mean, _worth(n, apart, better))


def _worth(n: int, apart: int, better: int) -> float:
    """Return how many independent trials n paired cases are worth; `rules.bounds.guarded` has the formula."""
    mean = 0.5 + (2 * better - apart) / (2 * n)
    centre = (n * mean + 1) / (n + 2)
    ties = n - apart
    spread = ties * (0.5 - centre) ** 2 + better * (1 - centre) ** 2 + (apart - better) * centre**2
    spread += (1 - centre) ** 2 + centre**2
    return n * max(1.0, centre * (1 - centre) / (spread / (n + 2)))


def cases_for_pair(margin: float, differing: float, alpha: float, power: float) -> int | None:
    """Return how many cases show with a chance of `power` that two equal configurations are no further apart.

    None beyond 20,000, or if the margin is not above 0. A normal approximation says where to look.
    """
    if margin <= 0:
        return None
    wanted = normal_quantile(power) - normal_quantile(alpha)
    n = (wanted / margin) ** 2 * differing
    for _ in range(3):
        if n > MOST_CASES:
            return None
        n = max(n, 4.0)
        there = min(max(paired_power(round(n), margin, differing, alpha), 0.01), 0.999)
        n *= (wanted / (normal_quantile(there) - normal_quantile(alpha))) ** 2
    high = max(ceil(1.01 * n) + 2, 2)
    while paired_power(high, margin, differing, alpha) < power:
        high = ceil(1.05 * high) + 1
        if high > MOST_CASES:
            return None
    low = high
    while low > 1 and paired_power(low, margin, differing, alpha) >= power:
        low, high = int(0.97 * low) - 1, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if paired_power(middle, margin, differing, alpha) >= power else (middle, high)
    return high
