# SPDX-License-Identifier: Apache-2.0
"""The scorer `token-f1`: how much of the answer and of a reference is the other's, word by word (SQuAD 1.1)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trialplate import Score
from trialplate_sentences.words import words_of

__all__ = ["TokenF1"]


class TokenF1:
    """Yields `f1` and `recall`, each the best over the references.

    Args:
        passes_from: the recall from which an answer passes; an option beside `type: token-f1`.
    """

    metrics = ("f1", "recall")

    def __init__(self, passes_from: float = 1.0) -> None:
        self.passes_from = passes_from

    def score(self, case: Any, answer: str) -> Score:
        """Return the score of one answer."""
        said = words_of(answer)
        best = max((_shares(said, words_of(str(item))) for item in case.references), default=None)
        if best is None:
            return Score(metrics={}, unknown=self.metrics, reason="the case has no reference")
        f1, recall = best
        verdict = "passed" if recall >= self.passes_from else "failed"
        return Score(metrics={"f1": f1, "recall": recall}, verdict=verdict, reason=f"f1 {f1:.3f}, recall {recall:.3f}")


def _shares(said: list[str], wanted: list[str]) -> tuple[float, float]:
    """Return F1 and recall of the words that were said."""
    common = sum((Counter(said) & Counter(wanted)).values())
    if not said or not wanted:
        return float(said == wanted), float(said == wanted)
    return 2 * common / (len(said) + len(wanted)), common / len(wanted)
