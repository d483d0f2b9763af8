# SPDX-License-Identifier: Apache-2.0
"""Counting while a run goes on, in memory that does not grow with it: by outcome and by configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from trialplate.record.entries import Counts, TrialEnd

__all__ = ["Tally"]

OUTCOMES = ("passed", "failed", "limit", "needs_input", "error", "skipped")


@dataclass
class Tally:
    """What a run has come to so far. Trials run one after the other within themselves, so sums suffice."""

    planned: int
    by_configuration: dict[str, dict[str, int]] = field(default_factory=dict)
    attempts: int = 0
    replayed: int = 0
    reasked: int = 0
    cost_nano: int = 0
    costs_unknown: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    """Why trials ended in an error."""

    def trial_done(self, last: TrialEnd, *, attempts: int, reasked: bool) -> None:
        """Count a trial whose last attempt ended."""
        row = self.by_configuration.setdefault(last.trial[0], dict.fromkeys(OUTCOMES, 0))
        row[last.outcome] += 1
        if last.outcome == "error" and last.cause is not None:
            self.causes[last.cause] = self.causes.get(last.cause, 0) + 1
        self.attempts += attempts
        self.replayed += any(call.replayed for call in last.calls)
        self.reasked += reasked

    def spent(self, end: TrialEnd) -> None:
        """Count what one attempt cost."""
        if end.cost is None:
            self.costs_unknown += 1
        else:
            self.cost_nano += end.cost.nano

    def of(self, outcome: str) -> int:
        """Return the number of trials with an outcome."""
        return sum(row[outcome] for row in self.by_configuration.values())

    @property
    def done(self) -> int:
        """Return the number of trials that ended."""
        return sum(sum(row.values()) for row in self.by_configuration.values())

    def counts(self) -> Counts:
        """Return the counts as `run.close` states them."""
        return Counts(
            planned=self.planned,
            absent=self.planned - self.done,
            attempts=self.attempts,
            replayed=self.replayed,
            reasked=self.reasked,
            **{outcome: self.of(outcome) for outcome in OUTCOMES},
        )
