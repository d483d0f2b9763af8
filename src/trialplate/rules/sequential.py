# SPDX-License-Identifier: Apache-2.0
"""What boundaries on a number of failures come to, exactly: how often they accept, reject, and after how many cases.

A count plan decides by failures among the cases so far. `accept[i]` is how many failures or fewer accept after case
i + 1, -1 if none do; `reject[i]` is how many or more reject. Everything here is exact for cases that pass or fail
independently of each other with one chance.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Characteristics", "CountPlan", "dp_plan"]


class CountPlan(NamedTuple):
    """Boundaries on the number of failures after the first, second, ... case."""

    accept: tuple[int, ...]
    reject: tuple[int, ...]


class Characteristics(NamedTuple):
    """What a count plan comes to at one defect rate."""

    accept: float
    reject: float
    undecided: float
    """The chance that all boundaries are passed without a decision."""
    expected: float
    """How many cases run on average."""


def dp_plan(plan: CountPlan, defect: float) -> Characteristics:
    """Return the exact chances of a count plan, going through its cases one by one.

    Args:
        plan: if one list is shorter, its side decides no more from there on.
        defect: the chance of a case to fail, in [0, 1].

    Raises:
        ValueError: a count would both accept and reject, or the defect rate is outside its range.

    Source: Aroian 1968 (the direct method of sequential analysis).
    """
    if not 0 <= defect <= 1:
        raise ValueError(f"a defect rate of {defect}")
    running: dict[int, float] = {0: 1.0}
    accepted = rejected = expected = 0.0
    for index in range(max(len(plan.accept), len(plan.reject))):
        low = plan.accept[index] if index < len(plan.accept) else -1
        high = plan.reject[index] if index < len(plan.reject) else index + 2
        if low >= high:
            raise ValueError(f"after {index + 1} cases {high} failures would both accept and reject")
        expected += sum(running.values())
        after: dict[int, float] = {}
        for failures, chance in running.items():
            for number, part in ((failures, chance * (1 - defect)), (failures + 1, chance * defect)):
                if number <= low:
                    accepted += part
                elif number >= high:
                    rejected += part
                else:
                    after[number] = after.get(number, 0.0) + part
        running = after
    return Characteristics(accepted, rejected, sum(running.values()), expected)
