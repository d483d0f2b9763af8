# SPDX-License-Identifier: Apache-2.0
"""Accuracy, and per label precision, recall and F1, from pairs of what was right and what was said.

The classes are the labels that are right for some case; what is said and is never right is no class, and lowers the
recall of the label that was right and the precision of none. Nothing said, where no answer came, is wrong. For a class:

    support    pairs of which it is the right label
    precision  of the pairs in which it was said, the share in which it was right
    recall     of its support, the share in which it was said
    F1         2 x precision x recall / (precision + recall)

and every 0/0 is 0. Accuracy is the share of all pairs that agree, macro-F1 the mean of F1 over the classes, each alike.
Everything is an exact fraction.

Source: EvalCore's classification, and scikit-learn's `f1_score(average="macro", zero_division=0)`, which agree where
everything said is a class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from trialplate.record.frozen import Value

__all__ = ["Classification", "LabelScores", "classify"]


class LabelScores(Value):
    """One class in numbers."""

    label: str
    precision: Fraction
    recall: Fraction
    f1: Fraction
    support: int


class Classification(Value):
    """All pairs in numbers; with no pair at all every number is 0."""

    pairs: int
    unanswered: int
    """Pairs of which nothing was said: they count as wrong."""
    accuracy: Fraction
    macro_f1: Fraction
    labels: tuple[LabelScores, ...]
    """In order of label."""


def classify(pairs: Iterable[tuple[str, str | None]]) -> Classification:
    """Return the numbers of (right label, said label) pairs; None is that nothing was said."""
    support: Counter[str] = Counter()
    said: Counter[str | None] = Counter()
    both: Counter[str] = Counter()
    for wanted, found in pairs:
        support[wanted] += 1
        said[found] += 1
        both[wanted] += wanted == found
    labels = tuple(_scores(label, both[label], said[label], support[label]) for label in sorted(support))
    number = support.total()
    return Classification(
        pairs=number,
        unanswered=said[None],
        accuracy=_share(both.total(), number),
        macro_f1=_share(sum((item.f1 for item in labels), Fraction(0)), len(labels)),
        labels=labels,
    )


def _scores(label: str, both: int, said: int, support: int) -> LabelScores:
    return LabelScores(
        label=label,
        precision=_share(both, said),
        recall=_share(both, support),
        f1=_share(2 * both, said + support),  # 2pr / (p + r), where 0/0 is 0 alike
        support=support,
    )


def _share(part: int | Fraction, whole: int) -> Fraction:
    return Fraction(part) / whole if whole else Fraction(0)
