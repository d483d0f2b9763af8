# SPDX-License-Identifier: Apache-2.0
"""The scorer `label`: classification. The answer is the case's one label. It yields 1 or 0, and a verdict.

Settings:

    labels  where the right label stands: reference, which is all there is so far. One that is no text is its canonical
            JSON (42, true)
    trim    white space at both ends of the answer and of the label is taken off (true). Nothing else is: labels differ
            by the case of a letter

Reports work out precision, recall and F1 from the same pairs (`spec.labels`).
"""

from __future__ import annotations

from trialplate.record import values
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    pass_or_fail,
    quoted,
    refusal,
    require_settings,
)
from trialplate.spec.labels import Labels

__all__ = ["LabelScorer", "make_label"]


def make_label(scorer: values.Scorer, texts: Texts) -> LabelScorer:
    """Make a `label` scorer.

    Raises:
        SpecError: a setting that it does not have, or a value that the setting does not take.
    """
    require_settings(scorer, {"labels", "trim"})
    if scorer.settings.get("labels", "reference") != "reference":
        raise refusal(scorer, f"labels cannot be {scorer.settings['labels']!r}", "write labels: reference")
    if not isinstance(scorer.settings.get("trim", True), bool):
        raise refusal(scorer, "trim is neither true nor false", "write trim: true")
    return LabelScorer(scorer)


class LabelScorer:
    """Whether the answer is the case's label."""

    def __init__(self, scorer: values.Scorer) -> None:
        self._scorer, self._labels = scorer, Labels(scorer)

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the case has no label, or more than one.
        """
        wanted = self._labels.wanted(case)
        if wanted is None:
            raise ScorerError(f"case {case.id!r} has {len(case.references)} references, and a label is exactly one")
        said = self._labels.said(answer)
        return pass_or_fail(self._scorer, said == wanted, f"expected {quoted(wanted)}, found {quoted(said)}")
