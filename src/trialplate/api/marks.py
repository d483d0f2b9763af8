# SPDX-License-Identifier: Apache-2.0
"""`PassMark`: the rules of a run, in the short form of floors and a choice, or in the whole language of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from trialplate.errors import UsageError

__all__ = ["PassMark"]

Number = int | float | str | Decimal


class PassMark:
    """What must hold, fixed before the results are seen; as a plan it stands in `entry`.

    The short form says: every floor holds; and, of the models whose `metric` is at most `tolerance_points` below the
    best one's, the one that `choose` names is taken. It is about the means that were measured (`basis: estimate`): what
    so many cases show is asked by `rules` and `from_dict`, where a bound is the default.

    Args:
        metric: what models are compared by. Needed for `choose`.
        tolerance_points: percentage points below the best that are still as good; 0 takes none but the best.
        floors: the least mean of each metric, from 0 to 1, by its name.
        choose: "cheapest", "best" or "fastest"; None chooses nothing, and needs floors.
        declared_usage: "accept" lets `cheapest` rest on costs that the thing under test tells itself, as runners of
            one's own do; "refuse" leaves such a choice inconclusive.
        require: "chosen" accepts none but the one that is chosen.

    Raises:
        UsageError: it asks for nothing, or contradicts itself.
    """

    def __init__(
        self,
        metric: str | None = None,
        tolerance_points: Number | None = None,
        floors: Mapping[str, Number] | None = None,
        choose: str | None = "cheapest",
        *,
        declared_usage: str = "refuse",
        require: str = "eligible",
    ) -> None:
        rules: list[dict[str, Any]] = [
            {"id": name, "at_least": share, "of": name, "basis": "estimate"} for name, share in (floors or {}).items()
        ]
        self.entry: dict[str, Any] = {"require": require, "declared_usage": declared_usage, "rules": rules}
        """As it stands under `pass_mark` in a plan."""
        self.needs_rivals = not rules
        """It says nothing about a model that has nobody to be compared with."""
        if choose is None:
            if not rules:
                raise _refused("this pass mark asks for nothing", "give floors={...}, or metric= and choose=")
            if tolerance_points is not None:
                raise _refused("tolerance_points belongs to choose", 'give choose="cheapest", or leave it out')
            return
        if metric is None:
            raise _refused(f'choose="{choose}" needs a metric', 'give metric="correct", or choose=None')
        if not rules:  # the language wants a rule; this one holds wherever the metric is known
            rules.append({"id": metric, "at_least": 0, "of": metric, "basis": "estimate"})
        within = _share(tolerance_points or 0)
        self.entry["choose"] = {"by": choose, "of": metric, "within": within, "basis": "estimate"}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> PassMark:
        """Return a mark in the language of a plan: what stands under `pass_mark` there. A run checks it."""
        made = cls.__new__(cls)
        made.entry, made.needs_rivals = dict(entry), False
        return made

    @classmethod
    def rules(cls, *rules: Mapping[str, Any], **others: Any) -> PassMark:
        """Return a mark of rules in the language of a plan.

        Args:
            rules: each as in a plan: `{"id": "correct", "at_least": 0.9, "of": "correct"}` compares what the cases show
                with the mark's confidence, `"basis": "estimate"` the measured number as it is.
            others: the other keys under `pass_mark`: `confidence`, `evidence`, `choose`, `errors`, `stop`, ...
        """
        return cls.from_dict({**others, "rules": [dict(rule) for rule in rules]})

    def __repr__(self) -> str:
        return f"PassMark.from_dict({self.entry!r})"


def _share(points: Number) -> str:
    """Return percentage points as a share, exactly."""
    try:
        share = Decimal(str(points)) / 100
    except InvalidOperation:
        share = Decimal(-1)
    if not 0 <= share <= 1:
        raise _refused(f"tolerance_points cannot be {points!r}", "write percentage points from 0 to 100, such as 3")
    return format(share, "f")


def _refused(message: str, hint: str) -> UsageError:
    return UsageError(message, where="PassMark", hint=hint)
