# SPDX-License-Identifier: Apache-2.0
"""The labels of cases and of answers, as scorers of type `label` read them, and their numbers in a plan.

A plan says of each case which class it is, and a trial which class its answer was, by number: so macro-F1 can be worked
out by who is not shown a label. Classes are numbered in the order in which their labels come in the test set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trialplate.record import canonical
from trialplate.record.matrix import selects
from trialplate.record.values import Case, PassMark, Scorer

__all__ = ["WHITE_SPACE", "LabelNumbers", "Labels", "class_metrics", "numbered"]

WHITE_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
WHITE_SPACE += "\u2028\u2029\u202f\u205f\u3000"
"""The characters of Unicode's property White_Space."""


class Labels:
    """The labels of cases and of answers, as a scorer of this type reads them."""

    def __init__(self, scorer: Scorer) -> None:
        self._ends = WHITE_SPACE if scorer.settings.get("trim", True) else ""

    def wanted(self, case: Case) -> str | None:
        """Return a case's label; None if it has none, or more than one."""
        if len(case.references) != 1:
            return None
        only = case.references[0]
        return self.said(only if isinstance(only, str) else canonical.encode(only).decode())

    def said(self, answer: str) -> str:
        """Return the label that an answer is."""
        return answer.strip(self._ends) if self._ends else answer


class LabelNumbers:
    """The classes of one metric: the number of each label, and of each case."""

    def __init__(self, metric: str, scorers: Sequence[Scorer], cases: Iterable[Case]) -> None:
        """Number the labels; a case without one label is in no class."""
        self._scorers = [item for item in scorers if item.type == "label" and metric in item.metrics]
        self.numbers: dict[str, int] = {}
        """By label."""
        self.of_case: dict[str, int] = {}
        """By the id of the case."""
        for case in cases:
            labels = self._labels(case)
            wanted = labels.wanted(case) if labels is not None else None
            if wanted is not None:
                self.of_case[case.id] = self.numbers.setdefault(wanted, len(self.numbers))

    def said(self, case: Case, answer: str) -> int | None:
        """Return the number of the label that an answer to a case is; None if it is no case's."""
        labels = self._labels(case)
        return self.numbers.get(labels.said(answer)) if labels is not None else None

    def _labels(self, case: Case) -> Labels | None:
        return next((Labels(item) for item in self._scorers if selects(item.cases, case)), None)


def class_metrics(mark: PassMark) -> list[str]:
    """Return the metrics whose macro-F1 a rule is about."""
    every = (*mark.rules, *mark.alternatives)
    return sorted({rule.of.partition(":")[2] for rule in every if rule.of and rule.of.startswith("macro_f1:")})


def numbered(scorers: Sequence[Scorer], mark: PassMark, cases: Sequence[Case]) -> Mapping[str, LabelNumbers]:
    """Return the classes of every metric whose macro-F1 a rule is about."""
    return {metric: LabelNumbers(metric, scorers, cases) for metric in class_metrics(mark)}
