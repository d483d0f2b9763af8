# SPDX-License-Identifier: Apache-2.0
"""How many cases a claim needs, and what else the same trials could be spent on.

Source: docs/statistics.md; docs/adr/0053.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from trialplate.rules.bounds import ROUNDING
from trialplate.rules.special import betainc, normal_quantile
from trialplate.stats.design import oc_binomial
from trialplate.stats.draws import Binomial, Stream
from trialplate.stats.operating import Demand, Layout, Operating, Shows, Unit

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


def alternatives(layout: Layout, demand: Demand, stream: Stream, truth: float) -> list[Alternative]:
    """Return what as many trials come to at one true rate, spent on more cases or on more repeats.

    Args:
        layout: of units that are all alike, with as many cells as repeats.
        truth: of the same quantity as the demand.
    """
    unit, n = layout.units[0], len(layout.units)
    trials = n * unit.cells
    found = []
    for repeats in sorted({*REPEATS, unit.cells}):
        cases = trials // repeats
        if cases < 2:
            continue
        other = Layout((Unit(repeats, 1),) * cases, layout.icc)
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
    shows = Shows((1 - margin) / 2, alpha, n)
    if not shows.reachable:
        return 0.0
    if differing <= 0:
        return float(_enough(shows, n, 0, 0))
    better = (differing + difference) / (2 * differing)
    among = Binomial(n, min(differing, 1.0))
    chances = _steps(among)
    leads = _leads(shows, n, min(chances), max(chances))
    total = 0.0
    for apart, chance in chances.items():
        fewest = max(-(-(apart + leads[apart]) // 2), 0)
        if fewest <= apart:
            total += chance * oc_binomial(apart, apart - fewest, 1 - better)
    return min(total, 1.0)


def _steps(among: Binomial) -> dict[int, float]:
    """Return the numbers that are worth counting, with their chances."""
    found, before = {}, 0.0
    for number, below in enumerate([*among.sums, 1.0], among.first):
        if below - before >= RARE:
            found[number] = below - before
        before = below
    return found


def _leads(shows: Shows, n: int, first: int, last: int) -> dict[int, int]:
    """Return, for each number of cases that are apart, by how many more of them the first must be the better one.

    With more cases apart it is harder, so the lead never falls; where two numbers have one lead, all between have it.
    """
    found = {first: _lead(shows, n, first, floor((2 * shows.threshold - 1) * n))}
    found[last] = _lead(shows, n, last, found[first])
    open_ = [(first, last)]
    while open_:
        low, high = open_.pop()
        if found[low] == found[high]:
            found.update(dict.fromkeys(range(low, high), found[low]))
        elif high - low > 1:
            middle = (low + high) // 2
            found[middle] = _lead(shows, n, middle, found[low])
            open_ += [(low, middle), (middle, high)]
    return found


def _lead(shows: Shows, n: int, apart: int, least: int) -> int:
    """Return the smallest lead, from `least` on, that shows it; more than all that are apart: none does."""
    low, high, step = least - 1, least, 1
    while not _enough(shows, n, apart, high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _enough(shows, n, apart, middle) else (middle, high)
    return high


def _enough(shows: Shows, n: int, apart: int, lead: int) -> bool:
    """Say whether such a lead among the cases that are apart, or all of them if it is more, shows it."""
    mean = 0.5 + lead / (2 * n)
    if mean >= 1:
        return True
    return mean > shows.threshold and shows.exactly(mean, _worth(n, max(apart, abs(lead)), lead))


def _worth(n: int, apart: int, lead: int) -> float:
    """Return how many independent trials n paired cases are worth; `rules.bounds.guarded` has the formula."""
    centre = (n / 2 + lead / 2 + 1) / (n + 2)
    spread = (n - apart) * (0.5 - centre) ** 2
    spread += (apart + lead) / 2 * (1 - centre) ** 2 + (apart - lead) / 2 * centre**2
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
    for _ in range(2):
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
        low, high = max(int(0.985 * low) - 1, 1), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if paired_power(middle, margin, differing, alpha) >= power else (middle, high)
    return high
