# SPDX-License-Identifier: Apache-2.0
"""Whether a decision can still change, until the one of main takes this place."""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import evaluate_all

__all__ = ["sealed"]


def sealed(plan: Plan, matrix: Matrix, board: Board, given: Circumstances) -> Mapping[str, bool]:
    """Say of each configuration whether what is unknown could still change its decision."""
    del given
    found = evaluate_all(plan, matrix, board, selection="full", finished=True)
    words = {name: {rule.result for rule in item.rules} for name, item in found.items()}
    return {name: "fail" in word or word == {"pass"} for name, word in words.items()}
