# SPDX-License-Identifier: Apache-2.0
"""Bounds of the chance behind independent trials that pass or fail, and of the difference of two: each one-sided.

Without a trial nothing is known: the bounds are the ends of the scale. What cannot be is a ValueError.

Source: Clopper and Pearson 1934; Wilson 1927; Newcombe 1998.
"""

from __future__ import annotations

from math import sqrt

from trialplate.rules.special import betaincinv, normal_quantile

__all__ = ["agreement_lower", "check_alpha", "clopper_pearson", "newcombe", "wilson"]


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


def wilson(share: float, trials: float, alpha: float) -> tuple[float, float]:
    """Return Wilson's score bounds of a probability.

    Args:
        share: of the trials that passed, in [0, 1].
        trials: 0 or more; with none the bounds are 0 and 1.
        alpha: the one-sided error of each bound, in (0, 0.5).

    Raises:
        ValueError: an argument is outside its range.

    Source: Wilson 1927, without continuity correction (Newcombe 1998, Stat Med 17:857, method 3).
    """
    check_alpha(alpha)
    if not (0 <= share <= 1 and 0 <= trials < float("inf")):
        raise ValueError(f"a share of {share} of {trials} trials")
    if not trials:
        return 0.0, 1.0
    z = -normal_quantile(alpha)
    square = z * z / trials
    centre = (share + square / 2) / (1 + square)
    away = sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    lower = max(centre - away, 0.0) if share > 0 else 0.0
    return lower, min(centre + away, 1.0) if share < 1 else 1.0


def newcombe(p1: float, n1: float, p2: float, n2: float, alpha: float) -> tuple[float, float]:
    """Return the hybrid score bounds of p1 - p2, two shares of separate trials; -1 and 1 where either has none.

    Args:
        p1: the share that passed of `n1` trials, and `p2` of `n2`; in [0, 1].
        alpha: the one-sided error of each bound, in (0, 0.5).

    Raises:
        ValueError: an argument is outside its range.

    Source: Newcombe 1998, Stat Med 17:873, method 10.
    """
    (low1, high1), (low2, high2) = wilson(p1, n1, alpha), wilson(p2, n2, alpha)
    if not n1 or not n2:
        return -1.0, 1.0
    return (
        p1 - p2 - sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2),
        p1 - p2 + sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2),
    )


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


def check_alpha(alpha: float) -> None:
    """Refuse an error of a bound that is none.

    Raises:
        ValueError: it is not between 0 and 0.5, or is not a number.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"an error of {alpha} is not between 0 and 0.5")
