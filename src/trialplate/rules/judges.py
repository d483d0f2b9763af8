# SPDX-License-Identifier: Apache-2.0
"""What the checks of a judge say: how often it agrees with people, and by how much it is wrong.

Source: docs/formats/pass-mark.md, clause 4; docs/statistics.md.
"""

from __future__ import annotations

from fractions import Fraction

from trialplate.rules.bounds import clopper_pearson
from trialplate.rules.cells import MICRO
from trialplate.rules.circumstances import Grades

__all__ = ["LEAST_INFORMED", "JudgeNumbers"]

LEAST_INFORMED = Fraction(3, 10)
"""Of sensitivity + specificity - 1: a judge below it says too little to be corrected for."""


class JudgeNumbers:
    """The grades of one judge in numbers."""

    def __init__(self, grades: Grades | None) -> None:
        """Take the grades; None is a judge that was never checked."""
        self._grades = grades or Grades(equal=0, graded=0)

    @property
    def graded(self) -> int:
        """Return how many answers people graded."""
        return self._grades.graded

    @property
    def problem(self) -> str | None:
        """Return why nothing can be told of it: never checked as it is now, or a sheet was drawn and never scored."""
        if self._grades.open:
            return "judge_open"
        return "judge_stale" if not self._grades.graded else None

    @property
    def agreement(self) -> Fraction:
        """Return the share of answers on which it gave the person's verdict; 0 of none."""
        return Fraction(self._grades.equal, self._grades.graded) if self._grades.graded else Fraction(0)

    def ends(self, alpha: Fraction) -> tuple[float, float]:
        """Return the one-sided bounds of its agreement."""
        return clopper_pearson(self._grades.equal, self._grades.graded, float(alpha))

    @property
    def informative(self) -> bool:
        """Say whether it tells passes from failures well enough to be corrected for; unknown is not."""
        (found, passing), (refused, failing) = self._grades.sensitivity, self._grades.specificity
        if not passing or not failing:
            return False
        return Fraction(found, passing) + Fraction(refused, failing) - 1 >= LEAST_INFORMED

    def differences(self, metric: str) -> list[Fraction]:
        """Return, for each answer that was graded, the person's value less the judge's."""
        pairs = self._grades.pairs.get(metric, ())
        return [Fraction(person - judge, MICRO) for person, judge, number in pairs for _ in range(number)]
