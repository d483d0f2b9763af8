# SPDX-License-Identifier: Apache-2.0
"""A rule that is decided case by case: after each case the number that did not pass is held to two boundaries.

Source: docs/formats/pass-mark.md; `record.values.Stop` has the boundaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trialplate.record.decisions import Result
from trialplate.record.values import Stop

__all__ = ["ends", "walk"]


def walk(stop: Stop, verdicts: Sequence[tuple[bool | None, bool | None]]) -> tuple[Result, int]:
    """Return what the first boundary that is reached says, and after how many cases.

    The walk is made twice: with everything that is unknown failed, and with it passed. A count that is lower after
    every case reaches no boundary of `reject` earlier and none of `accept` later; so where both walks say the same,
    every completion does, and else nothing is decided.

    Args:
        stop: the boundaries, after the first case, the second, and so on; where a list has ended, it has none.
        verdicts: whether each case passes with its unknown trials failed and with them passed, in the stop's order;
            None, that nothing is left to tell it from, is unknown.

    Returns:
        pass, fail or inconclusive; how many cases were used, all of them where nothing is decided.
    """
    (worst, after_worst), (best, after_best) = _both(stop, verdicts)
    if worst == "inconclusive" or worst != best:
        return "inconclusive", len(verdicts)
    return worst, max(after_worst, after_best)


def ends(stop: Stop, verdicts: Sequence[tuple[bool | None, bool | None]]) -> tuple[Result, Result]:
    """Return what the walk comes to with everything unknown failed, and with it passed; arguments as of `walk`."""
    (worst, _), (best, _) = _both(stop, verdicts)
    return worst, best


def _both(
    stop: Stop, verdicts: Sequence[tuple[bool | None, bool | None]]
) -> tuple[tuple[Result, int], tuple[Result, int]]:
    worst = _walked(stop, (item is True for item, _ in verdicts))
    return worst, _walked(stop, (item is not False for _, item in verdicts))


def _walked(stop: Stop, passes: Iterable[bool]) -> tuple[Result, int]:
    """Return which boundary is reached first, inconclusive if none is, and after how many cases."""
    failures = number = 0
    for number, passed in enumerate(passes, 1):
        failures += not passed
        if number <= len(stop.reject) and failures >= stop.reject[number - 1]:
            return "fail", number
        if number <= len(stop.accept) and failures <= stop.accept[number - 1]:
            return "pass", number
    return "inconclusive", number
