# SPDX-License-Identifier: Apache-2.0
"""Where a trial writes what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialplate.record import codec
from trialplate.record.entries import TrialEnd, TrialStart
from trialplate.record.frozen import Json
from trialplate.record.values import Opening

__all__ = ["Journal"]


@dataclass(frozen=True)
class Journal:
    """Where a run's lines and openings go, in the order in which they are given."""

    line: Callable[[str, Json], object]
    openings: Callable[[Sequence[Opening]], Sequence[str]]
    """Returns the commitments that they open."""
    told: Callable[[TrialStart | TrialEnd], object] = lambda body: None
    """Hears of every line of a trial, once it is given."""

    def write(self, body: TrialStart | TrialEnd) -> None:
        """Give a line of a trial."""
        self.line("trial.start" if isinstance(body, TrialStart) else "trial.end", codec.to_json(body))
        self.told(body)
