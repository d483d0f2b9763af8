# SPDX-License-Identifier: Apache-2.0
"""Two-sided intervals of shares and of their differences, as reports show them beside the bounds that decide.

`conf` is two-sided here: 0.95 leaves 2.5 % on each side. What decides is one-sided and stands in `rules`, whose
functions are used where the formula is the same. A share of no trials is anywhere in [0, 1].

Order of paired counts: `b` of the n cases pass only the first time, `c` only the second; the difference is (b - c) / n.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from trialplate.rules import bounds, shares
from trialplate.rules.special import betaincinv, normal_quantile

__all__ = ["bonett_price", "clopper_pearson", "jeffreys", "newcombe", "tango", "wilson"]


def wilson(passes: int, trials: int, conf: float) -> tuple[float, float]:
    """Return Wilson's score interval of a share.

    Args:
        passes: of the `trials`, from 0 to all.
        conf: two-sided, in (0, 1).

    Raises:
        ValueError: an argument is outside its range.

    Source: Wilson 1927; Newcombe 1998, Stat Med 17:857, method 3.
    """
    return shares.wilson(_share(passes, trials), trials, _side(conf))


def clopper_pearson(passes: int, trials: int, conf: float) -> tuple[float, float]:
    """Return the exact interval of a share; arguments and errors as for `wilson`.

    Source: Clopper and Pearson 1934.
    """
    return bounds.clopper_pearson(passes, trials, _side(conf))


def jeffreys(passes: int, trials: int, conf: float) -> tuple[float, float]:
    """Return the equal-tailed interval of the Beta(1/2, 1/2) prior, whose ends are not moved to 0 or 1.

    Arguments and errors as for `wilson`.

    Source: Brown, Cai and DasGupta 2001.
    """
    _share(passes, trials)
    side = _side(conf)
    a, b = passes + 0.5, trials - passes + 0.5
    return betaincinv(a, b, side), 1 - betaincinv(b, a, side)


def newcombe(passes1: int, trials1: int, passes2: int, trials2: int, conf: float) -> tuple[float, float]:
    """Return the hybrid score interval of the first share less the second, of separate trials.

    Arguments and errors as for `wilson`; without trials on a side -1 and 1.

    Source: Newcombe 1998, Stat Med 17:873, method 10.
    """
    first, second = _share(passes1, trials1), _share(passes2, trials2)
    return shares.newcombe(first, trials1, second, trials2, _side(conf))


def bonett_price(b: int, c: int, n: int, conf: float) -> tuple[float, float]:
    """Return Wald's interval of a paired difference with one discordant case of each kind added.

    Args:
        b: cases that pass only the first time, and `c` only the second.
        n: all cases, at least b + c.
        conf: two-sided, in (0, 1).

    Raises:
        ValueError: an argument is outside its range.

    Source: Bonett and Price 2012; Fagerland, Lydersen and Laake 2014, Stat Med 33:2850.
    """
    _check_pairs(b, c, n)
    first, second = (b + 1) / (n + 2), (c + 1) / (n + 2)
    middle = first - second
    away = -normal_quantile(_side(conf)) * sqrt((first + second - middle**2) / (n + 2))
    return max(middle - away, -1.0), min(middle + away, 1.0)


def tango(b: int, c: int, n: int, conf: float) -> tuple[float, float]:
    """Return Tango's score interval of a paired difference, by bisection.

    Arguments as for `bonett_price`, with at least one case.

    Raises:
        ValueError: an argument is outside its range.

    Source: Tango 1998, Stat Med 17:891.
    """
    _check_pairs(b, c, n)
    if not n:
        return -1.0, 1.0
    z = -normal_quantile(_side(conf))
    middle = (b - c) / n
    lower = _root(lambda d: _tango_score(b, c, n, d) - z, -1.0, middle)
    upper = _root(lambda d: _tango_score(b, c, n, d) + z, middle, 1.0)
    return lower, upper


def _tango_score(b: int, c: int, n: int, d: float) -> float:
    """Return how many deviations b - c lies above what a difference of d lets expect; it falls with d."""
    linear = (2 * n - b + c) * d - b - c
    only_second = (sqrt(max(linear**2 + 8 * n * c * d * (1 - d), 0.0)) - linear) / (4 * n)
    variance = n * (2 * only_second + d * (1 - d))
    off = b - c - n * d
    if variance > 0:
        return off / sqrt(variance)
    return 0.0 if off == 0 else float("inf") if off > 0 else float("-inf")


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function changes its sign, to the last bit; an end if it does not."""
    if falling(low) <= 0:
        return low
    if falling(high) > 0:
        return high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return low


def _side(conf: float) -> float:
    """Return the error on each side."""
    if not 0 < conf < 1:
        raise ValueError(f"a confidence of {conf} is not between 0 and 1")
    return (1 - conf) / 2


def _share(passes: int, trials: int) -> float:
    if not 0 <= passes <= trials:
        raise ValueError(f"{passes} of {trials} trials is no share")
    return passes / trials if trials else 0.0


def _check_pairs(b: int, c: int, n: int) -> None:
    if b < 0 or c < 0 or b + c > n:
        raise ValueError(f"{b} and {c} of {n} cases are no pairs")
