# SPDX-License-Identifier: Apache-2.0
"""Rules on a baseline: placeholder until its branch lands."""

from __future__ import annotations

from collections.abc import Sequence

from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan, Rule
from trialplate.rules.circumstances import Former
from trialplate.rules.quantities import Row
from trialplate.rules.told import Told, nothing

__all__ = ["former_row", "no_regressions"]


def former_row(plan: Plan, former: Former | None, name: str, cases: Sequence[str]) -> Row | str:
    """Return the baseline's cells of these cases, or the reason why there are none."""
    return "baseline_missing"


def no_regressions(
    rule: Rule, plan: Plan, matrix: Matrix, row: Row, former: Former | None, name: str, errors: str
) -> Told:
    """Return what a rule against regressions comes to."""
    return nothing({"reason": "baseline_missing", "cells": 0, "cases": len(row), "unknown": 0})
