# SPDX-License-Identifier: Apache-2.0
"""What an attempt came to: the one place that turns an answer or a failure into an outcome.

Two kinds of failure are never mixed up. The model's own (`failed` or `limit` with a cause): its metrics are 0. The
infrastructure's (`error`): its cells are unknown. For a hosted provider what the network or the service does is the
infrastructure's; for those that `rules.cells.under_test` names the far end is the thing under test, and what it does
once it was asked is its own. `trialplate.verify.cell_checks` holds every line to the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

from trialplate.record import canonical
from trialplate.record.entries import Cause, Outcome
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration, Scorer
from trialplate.rules.cells import serves, under_test
from trialplate.runners.base import Answer, Failure
from trialplate.runners.scrubbed import scrubbed
from trialplate.scorers.base import NO_CONTEXT, Score, ScorerContext, ScorerError
from trialplate.scorers.base import Scorer as ScorerObject
from trialplate.scorers.reasoning import without_reasoning
from trialplate.spec.labels import LabelNumbers
from trialplate.transport.secrets import Secrets

__all__ = ["Judgement", "arrived", "judge_answer", "judge_failure", "part_reasoning", "quantised", "received"]
__all__ += ["retry_delay_s", "said_by"]


@dataclass(frozen=True)
class Judgement:
    """An attempt's outcome and everything that follows from it."""

    outcome: Outcome
    cause: Cause | None = None
    transient: bool = False
    """Worth another attempt."""
    ended_by: Literal["model", "harness"] = "model"
    metrics: Mapping[str, float] | None = None
    unknown: Mapping[str, Cause] | None = None
    verdict: Literal["passed", "failed"] | None = None
    reasons: Mapping[str, str] | None = None
    """What each scorer said."""
    error: str | None = None


def judge_failure(failure: Failure, configuration: Configuration, scorers: Sequence[Scorer]) -> Judgement:
    """Return the outcome of an attempt without an answer, as it stands if nothing further is tried."""
    far_end = under_test(configuration)
    cause, own, transient = _sorted(failure, far_end and failure.sent)
    if far_end and not failure.sent and cause in ("timeout", "closed_connection"):
        cause = "refused_connection"  # it was never asked, so it failed nothing
    if own and far_end and (configuration.runner in ("command", "python") or configuration.plugin is not None):
        transient = False  # a program that hung did so by itself; asking again would only hide it
    ended_by: Literal["model", "harness"] = "harness" if failure.kind in ("timeout", "too_long") else "model"
    if failure.kind == "max_turns":
        return Judgement("limit", cause, False, ended_by, _zero(scorers), verdict="failed", error=failure.message)
    if own:
        return Judgement("failed", cause, transient, ended_by, _zero(scorers), verdict="failed", error=failure.message)
    return Judgement("error", cause, transient, ended_by, error=failure.message)


def _sorted(failure: Failure, own_far_end: bool) -> tuple[Cause, bool, bool]:
    """Return (cause, the model's own, transient) of a failure."""
    kind = failure.kind
    if kind == "http_status":
        return _of_status(failure.status or 0, own_far_end)
    if kind in ("refused_connection", "not_started", "replay_miss"):
        return kind, False, kind == "refused_connection"
    if kind in ("exit_status", "too_long", "bad_reply", "max_turns"):
        return kind, own_far_end or kind in ("too_long", "max_turns"), False
    if kind == "transport":
        return ("closed_connection" if own_far_end else "transport"), own_far_end, True
    return kind, own_far_end, True


def _of_status(status: int, own_far_end: bool) -> tuple[Cause, bool, bool]:
    """Return (cause, the model's own, transient) of an HTTP status other than success."""
    transient = status in (408, 429) or status >= 500
    if own_far_end:
        return "http_status", True, transient
    if status in (400, 413, 422):
        return "rejected_request", True, False
    if status in (401, 403):
        return "authentication", False, False
    if status == 429:
        return "rate_limited", False, True
    return ("server_error" if transient else "http_status"), False, transient


_STRIPPED = "stripped"
"""Where a transcript holds the reasoning that was taken out of the text."""


def arrived(answer: Answer, configuration: Configuration, secrets: Secrets) -> Answer:
    """Return an answer as it is recorded: without known secrets, and its reasoning apart if the plan says so."""
    return part_reasoning(scrubbed(answer, secrets), configuration)


def part_reasoning(answer: Answer, configuration: Configuration) -> Answer:
    """Return an answer as it is recorded and scored: where the plan says so, its reasoning stands in the transcript.

    What is recorded is what was scored, so that a re-score of it needs nothing else and is the same.
    """
    if configuration.answer.reasoning == "keep":
        return answer
    text, taken = without_reasoning(answer.text)
    if not taken:
        return answer
    return replace(answer, text=text, transcript={**_held(answer.transcript), _STRIPPED: canonical.text_out(taken)})


def _held(transcript: Json | None) -> Mapping[str, Json]:
    """Return what a transcript holds by name; one of another form under a name of its own."""
    return transcript if isinstance(transcript, dict) else {} if transcript is None else {"transcript": transcript}


def _alone(scorer: Scorer) -> ScorerContext:
    return NO_CONTEXT


async def judge_answer(
    answer: Answer,
    case: Case,
    configuration: Configuration,
    scorers: Sequence[tuple[Scorer, ScorerObject]],
    asking: Callable[[Scorer], ScorerContext] = _alone,
) -> Judgement:
    """Return the outcome of an answer: whether it counts at all, then what the scorers make of it.

    Args:
        asking: gives a scorer what belongs to this very answer: its helper, and what that replied before.
    """
    plain = [scorer for scorer, _ in scorers]
    if not serves(configuration, answer.served):
        message = f"asked {configuration.model_id}, answered by {answer.served or 'no named model'}"
        hint = "list the id under `served:` if it is the same model"
        return Judgement("error", "wrong_model", error=f"{message}; {hint}")
    if answer.finish == "length":
        return Judgement(
            "limit", "truncated", metrics=_zero(plain), verdict="failed", error="cut off at its token limit"
        )
    if answer.refusal or answer.finish == "content_filter":
        return Judgement("failed", "refusal", metrics=_zero(plain), verdict="failed")
    if not answer.text.strip():
        why = "only reasoning" if _STRIPPED in _held(answer.transcript) else None
        return Judgement("failed", "empty", metrics=_zero(plain), verdict="failed", error=why)
    if answer.unreadable is not None:
        return Judgement("failed", "bad_format", metrics=_zero(plain), verdict="failed", error=answer.unreadable)
    return await _score(answer, case, scorers, asking)


def said_by(numbers: Mapping[str, LabelNumbers], judgement: Judgement, case: Case, text: str) -> dict[str, int]:
    """Return which class an answer that was scored says the case is, for each metric that needs to know.

    Args:
        numbers: the classes, by metric.
        judgement: what the scorers made of the answer.
        case: what was asked.
        text: the answer.
    """
    if not numbers or judgement.cause not in (None, "scorer"):
        return {}
    found = {name: each.said(case, text) for name, each in numbers.items() if name in (judgement.metrics or {})}
    return {name: number for name, number in found.items() if number is not None}


async def _score(
    answer: Answer,
    case: Case,
    scorers: Sequence[tuple[Scorer, ScorerObject]],
    asking: Callable[[Scorer], ScorerContext],
) -> Judgement:
    """Fold the scorers' verdicts: any failure fails, else any doubt leaves it unknown, else it passed.

    A further metric that its scorer could not tell is unknown by itself: the scorer's verdict stands, if it gave one.
    """
    metrics: dict[str, float] = {}
    unknown: dict[str, Cause] = {}
    reasons: dict[str, str] = {}
    doubtful: list[str] = []
    failed = voted = False
    for scorer, scores in scorers:
        try:
            context = replace(asking(scorer), transcript=answer.transcript)
            score = await scores.score(case, answer.text, context)
            metrics |= {name: _metric(score, name) for name in scorer.metrics if name not in score.unknown}
            unknown |= dict.fromkeys(score.unknown, "scorer")
            failed = failed or score.verdict == "failed"
            voted = voted or score.verdict is not None
            reasons[scorer.name] = score.reason
            if scorer.metric in score.unknown or (score.unknown and score.verdict is None):
                doubtful.append(scorer.name)
        except ScorerError as error:
            metrics = {name: value for name, value in metrics.items() if name not in scorer.metrics}
            unknown |= dict.fromkeys(scorer.metrics, "scorer")
            doubtful.append(scorer.name)
            reasons[scorer.name] = f"no score: {error}"
    if failed:
        return Judgement("failed", metrics=metrics, unknown=unknown, verdict="failed", reasons=reasons)
    if not voted:
        metrics, unknown = {}, {name: "scorer" for scorer, _ in scorers for name in scorer.metrics}
    if doubtful or not voted:
        told = "; ".join(f"{name}: {reasons[name]}" for name in doubtful or reasons) or "no scorer gave a verdict"
        return Judgement("error", "scorer", metrics=metrics, unknown=unknown, reasons=reasons, error=told)
    return Judgement("passed", metrics=metrics, unknown=unknown, verdict="passed", reasons=reasons)


def _metric(score: Score, metric: str) -> float:
    """Return the metric, quantised; a value that is none is a scorer's failure, shown and never clamped."""
    value = score.metrics.get(metric)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ScorerError(f"{metric} is {value!r}, which is no number in [0,1]")
    return quantised(value)


def quantised(value: float) -> float:
    """Return a metric value half-even to 6 decimals, by its decimal text."""
    return float(Decimal(repr(value)).quantize(Decimal("0.000001"), ROUND_HALF_EVEN))


def _zero(scorers: Sequence[Scorer]) -> dict[str, float]:
    return {name: 0 for scorer in scorers for name in scorer.metrics}


def retry_delay_s(failure: Failure, configuration: Configuration, attempt: int, spread: float) -> float:
    """Return how long to wait before the next attempt, in seconds.

    Doubles from `initial_delay_ms`, no more than `max_delay_ms`, spread over [half, whole] so that many do not come
    back at once. A wait that the far end asked for is a floor, within the same cap.

    Args:
        attempt: the attempt that failed, from 1.
        spread: in [0,1), random.
    """
    retry = configuration.retry
    longest = retry.max_delay_ms / 1000
    backoff = min(longest, retry.initial_delay_ms / 1000 * 2.0 ** min(attempt - 1, 16)) * (0.5 + spread / 2)
    return min(longest, max(backoff, failure.retry_after_s or 0.0))


def received(answer: Answer | None, failure: Failure | None) -> int:
    """Return the bytes of answer that had arrived; the body of an HTTP error is none."""
    if answer is not None:
        return answer.received
    if failure is None or failure.kind == "http_status":
        return 0
    return failure.received
