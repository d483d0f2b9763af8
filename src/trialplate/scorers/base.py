# SPDX-License-Identifier: Apache-2.0
"""What a scorer is: it turns an answer into metrics in [0, 1], and may pass or fail the trial.

A scorer that cannot score says so with `ScorerError`: the cell is then unknown, which is neither 0 nor a pass. Which
cases a scorer applies to is the plan's to say, never the answer's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from trialplate.record.entries import Usage
from trialplate.record.values import Case

__all__ = ["NO_CONTEXT", "Score", "Scorer", "ScorerContext", "ScorerError"]


class ScorerError(Exception):
    """This answer could not be scored; the message says why. Its cell is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a scorer found."""

    metrics: Mapping[str, float]
    """By metric name, each in [0, 1]."""
    verdict: Literal["passed", "failed"] | None = None
    """None leaves the trial's verdict to the other scorers."""
    reason: str = ""
    """One sentence for a person: what was expected, and the beginning of what came."""
    usage: Usage | None = None
    """Of a helper that the scorer asked; None if it asked none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerContext:
    """What a scorer may use of the world; the deterministic ones use nothing."""

    project: Path | None = None


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
