# SPDX-License-Identifier: Apache-2.0
"""How soon a run ends that may stop before its last case, for cases that pass or fail once.

Source: docs/statistics.md; Phatak and Bhatt 1967 (curtailed sampling); Aroian 1968.
"""

from __future__ import annotations

from collections.abc import Sequence

from trialplate.rules.sequential import CountPlan, dp_plan
from trialplate.stats.operating import Chances

__all__ = ["Boundaries", "expected_cases"]


def expected_cases(n: int, accept: int, reject: int, defect: float) -> float:
    """Return after how many cases, on average, nothing that is missing could change what a rule comes to.

    Args:
        n: cases in all.
        accept: so many failures or fewer accept; -1: none do.
        reject: so many or more reject; what lies between is inconclusive, and may be certain early as well.
        defect: the chance of a case to fail, in [0, 1].
    """
    running: dict[int, float] = {0: 1.0}
    expected = 0.0
    for index in range(1, n + 1):
        expected += sum(running.values())
        left = n - index
        after: dict[int, float] = {}
        for failures, chance in running.items():
            for number, part in ((failures, chance * (1 - defect)), (failures + 1, chance * defect)):
                most = number + left
                sealed = most <= accept or number >= reject or (number > accept and most < reject)
                if not sealed and part > 1e-15:
                    after[number] = after.get(number, 0.0) + part
        running = after
    return expected


class Boundaries:
    """A rule that is decided by counts, case by case."""

    def __init__(self, accept: Sequence[int], reject: Sequence[int], cases: int) -> None:
        """Take the boundaries after the first, second, ... case, as far as there are cases."""
        self.plan = CountPlan(tuple(accept[:cases]), tuple(reject[:cases]))

    def chances(self, truth: float) -> Chances:
        """Return the exact chances at a true case pass rate."""
        found = dp_plan(self.plan, 1 - truth)
        return Chances(found.accept, found.undecided, found.reject)

    def expected(self, truth: float) -> float:
        """Return how many cases run on average."""
        return dp_plan(self.plan, 1 - truth).expected

    def quality(self, chance: float) -> float | None:
        """Return the true case pass rate that is accepted with a chance, to three decimals."""
        low, high = 0, 1000
        if self.chances(1.0).accept < chance:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chances(middle / 1000).accept >= chance else (middle, high)
        return high / 1000
