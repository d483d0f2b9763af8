# SPDX-License-Identifier: Apache-2.0
"""The scorer `choice`: multiple choice, read from the last line with a marker. It yields 1 or 0, and a verdict.

Settings:

    after    the marker (ANSWER:), found without regard to case. What stands behind its last occurrence, to the end of
             that line, is the choice. "" takes the whole answer
    options  the letters or digits that may be chosen (A to Z)

The answer is right if it names the choices of a reference, all of them and no other; see `spec.choices` for what names
a choice. A line that cannot be read is a wrong answer, and no earlier one is looked for.
"""

from __future__ import annotations

import re

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
from trialplate.spec.choices import OPTIONS, choices_of, read_choices

__all__ = ["ChoiceScorer", "make_choice"]


def make_choice(scorer: values.Scorer, texts: Texts) -> ChoiceScorer:
    """Make a `choice` scorer.

    Raises:
        SpecError: a setting that it does not have, or a value that the setting does not take.
    """
    require_settings(scorer, {"after", "options"})
    options = scorer.settings.get("options", sorted(OPTIONS))
    marker = scorer.settings.get("after", "ANSWER:")
    if not isinstance(marker, str):
        raise refusal(scorer, "after is no text", 'write after: "ANSWER:"')
    if not isinstance(options, list | tuple) or not all(isinstance(item, str) and len(item) == 1 for item in options):
        raise refusal(scorer, "options is no list of letters or digits", "write options: [A, B, C, D]")
    return ChoiceScorer(scorer, marker, frozenset(item.upper() for item in options))


class ChoiceScorer:
    """Whether the answer names the right choices."""

    def __init__(self, scorer: values.Scorer, marker: str, options: frozenset[str]) -> None:
        self._scorer, self._marker, self._options = scorer, marker, options
        self._pattern = re.compile(re.escape(marker), re.IGNORECASE)

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the case has no reference, or one that names no choice.
        """
        wanted = [choices_of(item, self._options) for item in case.references]
        if not wanted or None in wanted:
            raise ScorerError(f"case {case.id!r} has no reference that names a choice")
        shown = " or ".join(_joined(item) for item in wanted if item is not None)
        said = self._line(answer)
        if said is None:
            return pass_or_fail(self._scorer, False, f'expected {shown}; there is no "{self._marker}"')
        found = read_choices(said, self._options)
        if found is None:
            return pass_or_fail(self._scorer, False, f"expected {shown}; {quoted(said.strip())} names no choice")
        return pass_or_fail(self._scorer, found in wanted, f"expected {shown}, found {_joined(found)}")

    def _line(self, answer: str) -> str | None:
        """Return what stands behind the last marker, None if there is none."""
        if not self._marker:
            return answer
        end = None
        for match in self._pattern.finditer(answer):
            end = match.end()
        return None if end is None else answer[end:].partition("\n")[0]


def _joined(choices: frozenset[str]) -> str:
    return ", ".join(sorted(choices))
