# SPDX-License-Identifier: Apache-2.0
"""What a decision depends on besides the cells of its own run.

How the run ended, which attempt it is, and what the ledger says of its judges and its baseline. Whoever reads the
ledger gathers it; the rules only look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan
from trialplate.rules.cells import Board

__all__ = ["Circumstances", "Former", "Grades"]


class Grades(Value):
    """What people found of one judge, over all checks of it that the ledger holds; of two graders, the lower one."""

    equal: int
    """Answers on which the judge gave the person's verdict."""
    graded: int
    blank: int = 0
    """Answers of these sheets that nobody graded."""
    open: int = 0
    """Sheets that were drawn and never scored."""
    stale: int = 0
    """Answers that were graded of another judge: another model, other rules."""
    pairs: Mapping[str, Sequence[tuple[int, int, int]]] = {}
    """By metric: a person's value and the judge's, in millionths, and how many answers had these two."""
    sensitivity: tuple[int, int] = (0, 0)
    """Of the answers that pass for a person, how many pass for the judge; (part, whole)."""
    specificity: tuple[int, int] = (0, 0)
    """Of the answers that fail for a person, how many fail for the judge; (part, whole)."""


class Former(Value, kw_only=False):
    """The baseline: an earlier run, verified like any other."""

    plan: Plan
    matrix: Matrix
    board: Board


class Circumstances(Value):
    """What surrounds a run's cells."""

    selection: str = "full"
    """full or pilot; a pilot never decides."""
    finished: bool = True
    """The run was closed as complete, and the ledger says that it ended."""
    attempts: Mapping[str, int] = {}
    """Which attempt at each configuration it is; 1, the first, where none is told."""
    grades: Mapping[str, Grades] = {}
    """By judge, as the plan's scorers are called; one that was never checked is not there."""
    baseline: Former | None = None
    """None where the mark has none, or where it is not here."""
    order: Sequence[str] = ()
    """Under a stop rule: the case ids in the order in which they ran."""
    not_needed: Mapping[str, int] = {}
    """Trials of each configuration that the stop rule left out."""
