# SPDX-License-Identifier: Apache-2.0
"""The scorer `trajectory`: whether the tools that were called, in their order, keep rules. It yields 1 or 0.

The rules are the plan's text of role `rules`; `spec.trajectories` says what each means. The steps are those that the
answer's transcript tells of: of a recorded run, or of a conversation in which tools were offered. Without a transcript
that does, the answer itself may be a trajectory, {"steps": [...]}. If it is none, nobody knows what was called, and the
answer cannot be scored: that is not the same as that nothing was. All rules that are broken are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialplate.errors import FormatError
from trialplate.record import values
from trialplate.record.values import Case
from trialplate.scorers.base import (
    NO_CONTEXT,
    Score,
    ScorerContext,
    ScorerError,
    Texts,
    pass_or_fail,
    refusal,
    require_settings,
    text_of,
)
from trialplate.spec.traces import read_native
from trialplate.spec.trajectories import Step, broken_rules, rule_problem, steps_in

__all__ = ["TrajectoryScorer", "make_trajectory"]


def make_trajectory(scorer: values.Scorer, texts: Texts) -> TrajectoryScorer:
    """Make a `trajectory` scorer.

    Raises:
        SpecError: a setting, no rules, or one that is none.
    """
    require_settings(scorer, set())
    rules = text_of(scorer, texts, "rules")
    if not isinstance(rules, list) or not rules:
        raise refusal(scorer, "trajectory has no rules", "add rules:")
    for number, rule in enumerate(rules, 1):
        if problem := rule_problem(rule):
            raise refusal(scorer, f"rule {number}: {problem}", "correct the rule")
    return TrajectoryScorer(scorer, rules)


class TrajectoryScorer:
    """Whether every rule is kept."""

    def __init__(self, scorer: values.Scorer, rules: Sequence[Mapping[str, Any]]) -> None:
        self._scorer, self._rules = scorer, rules

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: nobody knows what was called.
        """
        steps = _steps(answer, context)
        broken = broken_rules(self._rules, steps)
        if broken:
            return pass_or_fail(self._scorer, False, "; ".join(broken))
        called = ", ".join(dict.fromkeys(step.tool for step in steps)) or "nothing"
        return pass_or_fail(self._scorer, True, f"{len(self._rules)} rules kept; called: {called}"[:2000])


def _steps(answer: str, context: ScorerContext) -> Sequence[Step]:
    try:
        steps = steps_in(context.transcript)
    except FormatError as error:
        raise ScorerError(f"the transcript holds no trajectory: {error.message}") from None
    if steps is not None:
        return steps
    try:
        return read_native(answer).steps
    except FormatError:
        message = "nobody knows what was called: there is no record of it, and the answer is no trajectory"
        raise ScorerError(message) from None
