# SPDX-License-Identifier: Apache-2.0
"""The scorer of what is no built-in: an object that a package's entry point makes, or that a Python program gave.

It has `score(case, answer)`, plain or a coroutine, called like a runner's `run` (see `transport.calls`); or
`score(case, answer, context)`, which is what `base.Scorer` says, and is called in the run's own loop. It returns a
`Score`, or what `returned` makes one of. `metrics` (or `metric`) names what it yields.

Everything else leaves the cell unknown, and is never a score: an exception, a hang, a metric that it did not name, a
value outside [0, 1].
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from decimal import Decimal
from typing import Any

from trialplate.record import values
from trialplate.record.values import Case
from trialplate.scorers.base import NO_CONTEXT, Score, ScorerContext, ScorerError, refusal
from trialplate.scorers.function_worker import told
from trialplate.scorers.programs import THRESHOLD, TIMEOUT_MS
from trialplate.scorers.returned import REASON, score_of
from trialplate.spec.added import declared_metrics
from trialplate.transport.calls import CallRaised, CallTimeout, call, within
from trialplate.transport.function_child import TOLD

__all__ = ["OwnScorer"]


class OwnScorer:
    """Asks an object for each score."""

    def __init__(self, scorer: values.Scorer, made: Any) -> None:
        """Take an object.

        Raises:
            SpecError: it has no `score`, or says that it yields other metrics than those of the plan.
        """
        self._scorer, self._made = scorer, made
        score = getattr(made, "score", None)
        if not callable(score):
            message = f"{scorer.type} is {type(made).__name__}, which has no score"
            raise refusal(scorer, message, "give it score(case, answer), which returns a number from 0 to 1")
        self._in_context = _takes_context(score)
        self._names = declared_metrics(made, f"scorers.{scorer.name}") or scorer.metrics
        one = len(self._names) == len(scorer.metrics) == 1
        if not one and set(self._names) != set(scorer.metrics):
            message = f"it yields {', '.join(self._names)}, and the plan says {', '.join(scorer.metrics)}"
            raise refusal(scorer, message, "make the object as it was when the plan was made")
        self._threshold = Decimal(str(scorer.settings.get("threshold", THRESHOLD)))
        self._timeout_s = int(scorer.settings.get("timeout_ms", TIMEOUT_MS)) / 1000

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: the object gave no score.
        """
        try:
            result = await self._asked(case, answer, context)
        except CallTimeout:
            raise ScorerError(f"no score within {self._timeout_s:g} s") from None
        except CallRaised as error:
            raise ScorerError(context.scrub(f"the scorer raised {error}")[:TOLD]) from None
        return self._named(self._checked(result, context) if isinstance(result, Score) else self._read(result, context))

    async def _asked(self, case: Case, answer: str, context: ScorerContext) -> Any:
        if not self._in_context:
            return await call(self._made.score, case, answer, timeout_s=self._timeout_s)
        return await within(lambda: self._made.score(case, answer, context), self._timeout_s, ScorerError)

    def _read(self, result: Any, context: ScorerContext) -> Score:
        said = told(result)
        if "unusable" in said:
            raise ScorerError(context.scrub(f"the scorer returned {said['unusable']}"))
        return score_of(said["returned"], self._names, self._threshold, context.scrub)

    def _checked(self, score: Score, context: ScorerContext) -> Score:
        """Return a score as it may be kept; the values are looked at where all scorers' are."""
        wrong = sorted({*score.metrics, *score.unknown} - set(self._names))
        if wrong or set(score.metrics) & set(score.unknown):
            raise ScorerError(f"its score names {', '.join(map(str, wrong)) or 'a metric twice'}, not only its metrics")
        if set(self._names) - {*score.metrics, *score.unknown}:
            raise ScorerError(f"its score has not all of {', '.join(self._names)}")
        if score.verdict not in ("passed", "failed", None) or not isinstance(score.reason, str):
            raise ScorerError(f"its verdict is {score.verdict!r:.40}, which is neither passed, failed nor None")
        return replace(score, reason=context.scrub(score.reason)[:REASON])

    def _named(self, score: Score) -> Score:
        """Return a score under the name that the plan gives its one metric."""
        if self._names == self._scorer.metrics or len(self._names) > 1:
            return score
        names = self._scorer.metrics
        return replace(
            score, metrics=dict(zip(names, score.metrics.values(), strict=False)), unknown=names[: len(score.unknown)]
        )


def _takes_context(score: Any) -> bool:
    try:
        return "context" in inspect.signature(score).parameters
    except (TypeError, ValueError):
        return False
