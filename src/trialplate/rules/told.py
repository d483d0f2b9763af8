# SPDX-License-Identifier: Apache-2.0
"""What a rule comes to, three-valued, and what it would come to with its unknown cells at either extreme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trialplate.record.decisions import CopyResult, Result, RuleResult
from trialplate.rules.cells import unsettled
from trialplate.rules.quantities import Row

__all__ = ["WORST_FIRST", "Told", "between", "counts_of", "least", "nothing"]

WORST_FIRST: tuple[Result, ...] = ("fail", "inconclusive", "pass")


class Told(NamedTuple):
    """What a rule, or a copy of it, comes to."""

    result: Result
    worst: Result
    best: Result
    fields: Mapping[str, Any]
    """Of a `RuleResult` or `CopyResult`, but for its name and result."""

    def as_copy(self, value: str) -> CopyResult:
        """Return it as a copy."""
        kept = {name: item for name, item in self.fields.items() if name not in ("threshold", "copies")}
        return CopyResult(value=value, result=self.result, **kept)

    def as_rule(self, identity: str) -> RuleResult:
        """Return it as a rule's result."""
        return RuleResult(id=identity, result=self.result, **self.fields)


def least(results: Iterable[Result]) -> Result:
    """Return what holds only if all hold."""
    there = set(results)
    return next((word for word in WORST_FIRST if word in there), "pass")


def between(worst: Result, best: Result) -> Result:
    """Return what is so whatever the unknown cells are."""
    return worst if worst == best else "inconclusive"


def counts_of(row: Row) -> dict[str, Any]:
    """Return what every result counts; as unknown, the cells that there is something left to try of."""
    unknown = sum(unsettled(repeats) for _, repeats in row)
    return {"cells": sum(len(repeats) for _, repeats in row), "cases": len(row), "unknown": unknown}


def nothing(fields: Mapping[str, Any], *, moves: bool = False) -> Told:
    """Return that nothing can be told; `moves` says that known cells might tell."""
    worst: Result = "fail" if moves else "inconclusive"
    best: Result = "pass" if moves else "inconclusive"
    return Told("inconclusive", worst, best, fields)
