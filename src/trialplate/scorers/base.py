# SPDX-License-Identifier: Apache-2.0
"""What a scorer is: it turns an answer into metrics in [0, 1], and may pass or fail the trial.

A scorer that cannot score says so with `ScorerError`: the cell is then unknown, which is neither 0 nor a pass. Which
cases a scorer applies to is the plan's to say, never the answer's. What a scorer reads is the recorded answer, the case
and the plan, so that the same score can be worked out again from these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from trialplate.errors import SpecError
from trialplate.record import values
from trialplate.record.frozen import Json
from trialplate.record.values import Case, PlanText

__all__ = [
    "NO_CONTEXT",
    "Ask",
    "Question",
    "Reply",
    "Score",
    "Scorer",
    "ScorerContext",
    "ScorerError",
    "ScorerInContext",
    "Texts",
]
__all__ += ["expected", "pass_or_fail", "quoted", "refusal", "require_settings", "text_of"]

Texts = Mapping[tuple[str, str], Json]
"""A scorer's opened texts by (role, name)."""
SNIPPET = 200
"""Characters of a text that a reason quotes."""


class ScorerError(Exception):
    """This answer could not be scored; the message says why. Its cell is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a scorer found."""

    metrics: Mapping[str, float]
    """By metric name, each in [0, 1]."""
    unknown: tuple[str, ...] = ()
    """Metrics of the scorer that it could not tell this time; the others stand."""
    verdict: Literal["passed", "failed"] | None = None
    """None leaves the trial's verdict to the other scorers."""
    reason: str = ""
    """One sentence for a person: what was expected, and the beginning of what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a scorer asks its helper."""

    text: str = ""
    """To a judge: the whole prompt, without the documents."""
    documents: tuple[PlanText, ...] = ()
    """Of the scorer: they stand before the prompt, as a model's stand before its question."""
    texts: tuple[str, ...] = ()
    """To an embedder: what is to be embedded; none is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a helper replied: whatever came, from the model that was asked."""

    text: str = ""
    """Of a judge; may hold lone surrogates. Never the word for nothing: a reply without content is an empty text."""
    unfit: str | None = None
    """Why it is no verdict whatever stands in it: it is a refusal, or was cut off."""
    vectors: tuple[tuple[float, ...], ...] = ()
    """Of an embedder, in the order of the texts."""


Ask = Callable[[Question], Awaitable[Reply]]


async def _nobody(question: Question) -> Reply:
    raise ScorerError("its helper is not asked here")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerContext:
    """What a scorer may use of the world; the deterministic ones use nothing."""

    project: Path | None = None
    """The project's folder, where programs run."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The environment that a program's allowed variables are taken from."""
    remember: Callable[[Sequence[str]], None] = lambda secrets: None
    """Told the values that must not be kept."""
    scrub: Callable[[str], str] = lambda text: text
    """Replaces known secrets in a text that will be kept."""
    transcript: Json | None = None
    """What came with the answer and is none: turns, calls of tools, reasoning. None: nothing did."""
    ask: Ask = _nobody
    """Asks the scorer's helper about this answer. Raises `ScorerError` if no reply came, with what went wrong."""
    replies: tuple[Reply, ...] = ()
    """What the helper replied about this very answer in earlier attempts, in order: it is read again first."""


NO_CONTEXT = ScorerContext()


class Scorer(Protocol):
    """One scorer of a plan, made by its module's `make_...(scorer, texts)`."""

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Args:
            case: with its references.
            answer: the text that was answered; may hold lone surrogates.
            context: what the scorer may use.

        Raises:
            ScorerError: it cannot be scored.
        """
        ...


class ScorerInContext:
    """A scorer together with what it may use of the world; its caller brings only what belongs to one answer."""

    def __init__(self, scorer: Scorer, context: ScorerContext) -> None:
        self._scorer, self._context = scorer, context

    async def score(self, case: Case, answer: str, context: ScorerContext = NO_CONTEXT) -> Score:
        """Score one answer.

        Raises:
            ScorerError: it cannot be scored.
        """
        own = replace(self._context, ask=context.ask, replies=context.replies, transcript=context.transcript)
        return await self._scorer.score(case, answer, own)


def refusal(scorer: values.Scorer, message: str, hint: str) -> SpecError:
    """Return the error of a scorer that cannot be made as the plan describes it."""
    return SpecError(message, where=f"scorers.{scorer.name}", hint=hint, code="SCORER")


def require_settings(scorer: values.Scorer, known: set[str]) -> None:
    """Refuse a setting that this type of scorer has not.

    Raises:
        SpecError: SCORER.
    """
    unknown = sorted(scorer.settings.keys() - known)
    if unknown:
        hint = f"it has {', '.join(sorted(known))}" if known else "it has none"
        raise refusal(scorer, f"{scorer.type} has no setting {', '.join(unknown)}", hint)


def text_of(scorer: values.Scorer, texts: Texts, role: str) -> Json | None:
    """Return the scorer's one text of a role, None if the plan has none.

    Raises:
        SpecError: SCORER: there are several.
    """
    names = [text.name for text in scorer.texts if text.role == role]
    if len(names) > 1:
        raise refusal(scorer, f"{scorer.type} has more than one {role}", f"give one {role}:")
    return texts[role, names[0]] if names else None


def pass_or_fail(scorer: values.Scorer, passed: bool, reason: str) -> Score:
    """Return a score of 1 that passes, or one of 0 that fails."""
    metrics = dict.fromkeys(scorer.metrics, float(passed))
    return Score(metrics=metrics, verdict="passed" if passed else "failed", reason=reason)


def quoted(text: str) -> str:
    """Return the beginning of a text in quotes, with its length if it is longer."""
    return f'"{text[:SNIPPET]}"' + (f" ... ({len(text)} characters)" if len(text) > SNIPPET else "")


def expected(texts: Sequence[str]) -> str:
    """Return the first of several accepted texts in quotes, and how many others there are."""
    others = len(texts) - 1
    return quoted(texts[0]) + (f" or one of {others} more" if others else "")
