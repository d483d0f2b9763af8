# SPDX-License-Identifier: Apache-2.0
"""Counting while a run goes on, in memory that does not grow with it: by outcome and by configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trialplate.record.entries import Counts, TrialEnd, TrialKey
from trialplate.rules.cells import Cell

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
    left_out: dict[str, int] = field(default_factory=dict)
    """Trials of each configuration whose next attempt was not made, for want of money or time."""

    def take(self, cells: Mapping[TrialKey, Cell]) -> None:
        """Count what earlier sessions left."""
        for key, cell in cells.items():
            self._count(key[0], cell.final, _cause(cell), 1)
            self.attempts += cell.attempts
            self.replayed += cell.replayed
            self.reasked += cell.reasked
            self.cost_nano += cell.cost_nano
            self.costs_unknown += cell.cost_unknown

    def trial_done(self, last: TrialEnd, *, attempts: int, reasked: bool, before: Cell | None = None) -> None:
        """Count a trial whose last attempt ended, in the place of what an earlier session left of it.

        Args:
            attempts: made in this session.
            reasked: in this session or before.
        """
        replayed = any(call.replayed for call in last.calls)
        if before is not None:
            self._count(last.trial[0], before.final, _cause(before), -1)
            replayed = replayed or (last.answer_of is not None and before.replayed)
            self.replayed -= before.replayed
            self.reasked -= before.reasked
        self._count(last.trial[0], last.outcome, last.cause, 1)
        self.attempts += attempts
        self.replayed += replayed
        self.reasked += reasked

    def _count(self, name: str, outcome: str, cause: str | None, number: int) -> None:
        row = self.by_configuration.setdefault(name, dict.fromkeys(OUTCOMES, 0))
        row[outcome] += number
        if outcome == "error" and cause is not None:
            self.causes[cause] = self.causes.get(cause, 0) + number

    def spent(self, end: TrialEnd) -> None:
        """Count what one attempt cost; what was replayed costs nothing again, whatever its line says it did."""
        if end.calls and all(call.replayed for call in end.calls):
            return
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


def _cause(cell: Cell) -> str | None:
    return "lost" if cell.running else cell.cause
