# SPDX-License-Identifier: Apache-2.0
"""Counting while a run goes on, in memory that does not grow with it: by outcome, metric, cost and configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trialplate.record.entries import OUTCOMES, Counts, TrialEnd, TrialKey
from trialplate.rules.cells import Cell, micro

__all__ = ["Sums", "Tally"]


@dataclass
class Sums:
    """What the trials of one configuration add up to."""

    known: dict[str, int] = field(default_factory=dict)
    """Cells of each metric that were measured."""
    millionths: dict[str, int] = field(default_factory=dict)
    """Their sum, in 10^-6."""
    causes: dict[str, int] = field(default_factory=dict)
    """Why trials ended in an error."""
    cost_nano: int = 0
    """Known cost, in 10^-9 of the currency of the configuration's price."""
    spent_nano: int = 0
    """The part of it that was not replayed."""
    costs_unknown: int = 0
    spent_unknown: int = 0
    """Attempts that were paid for, nobody knows how much."""
    helper_nano: int = 0
    """Known cost of helpers, apart from the configuration's own."""
    helper_spent_nano: int = 0
    helpers_unknown: int = 0
    """Attempts whose helpers cost nobody knows how much."""
    unscored: str = ""
    """What was said when no score could be given, the last time."""
    unjudged: int = 0
    """Trials whose judge gave all the replies that it may give, and no verdict: nobody can ask any more."""
    reasked: int = 0
    """Trials asked again after an attempt that was lost, cut off, or had begun to be answered."""

    def add(self, metrics: Mapping[str, int | None], sign: int) -> None:
        """Count a cell's metrics, or take them back."""
        for name, value in metrics.items():
            if value is not None:
                self.known[name] = self.known.get(name, 0) + sign
                self.millionths[name] = self.millionths.get(name, 0) + sign * value


@dataclass
class Tally:
    """What a run has come to so far. Trials run one after the other within themselves, so sums suffice."""

    planned: int
    by_configuration: dict[str, dict[str, int]] = field(default_factory=dict)
    attempts: int = 0
    replayed: int = 0
    under_way: int = 0
    """Attempts that began in this session and have not ended."""
    sums: dict[str, Sums] = field(default_factory=dict)
    """By configuration."""
    incompatible: int = 0
    """Trials that nobody is ever asked, since their configuration does not take the case; of those that are skipped."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Trials of each configuration whose next attempt was not made, for want of money or time."""
    not_needed: Mapping[str, int] = field(default_factory=dict)
    """Trials of each configuration that nothing depends on any more, under a stop rule, and that did not begin."""
    unpaid: frozenset[str] = frozenset()
    """Configurations that ask nobody: what they cost was paid elsewhere."""

    def take(self, cells: Mapping[TrialKey, Cell]) -> None:
        """Count what earlier sessions left."""
        for key, cell in cells.items():
            self._count(key[0], cell.final, _cause(cell), 1)
            self.incompatible += cell.incompatible
            sums = self.of_configuration(key[0])
            sums.add(_metrics(cell), 1)
            sums.cost_nano += cell.cost_nano
            paid = not cell.replayed and key[0] not in self.unpaid
            sums.spent_nano += cell.cost_nano if paid else 0
            sums.costs_unknown += cell.cost_unknown
            sums.spent_unknown += cell.cost_unknown and paid
            sums.helper_nano += cell.helper_nano
            sums.helper_spent_nano += 0 if cell.replayed else cell.helper_nano
            sums.helpers_unknown += cell.helper_unknown
            self.attempts += cell.attempts
            self.replayed += cell.replayed
            sums.reasked += cell.reasked

    def trial_done(
        self, last: TrialEnd, *, attempts: int, reasked: bool, before: Cell | None = None, unjudged: bool = False
    ) -> None:
        """Count a trial whose last attempt ended, in the place of what an earlier session left of it.

        Args:
            attempts: made in this session.
            reasked: in this session or before.
            unjudged: its judge has no further reply, and gave no verdict.
        """
        replayed = any(call.replayed for call in (*last.calls, *last.helper_calls))
        sums = self.of_configuration(last.trial[0])
        if before is not None:
            self._count(last.trial[0], before.final, _cause(before), -1)
            sums.add(_metrics(before), -1)
            replayed = replayed or (last.answer_of is not None and before.replayed)
            self.replayed -= before.replayed
            sums.reasked -= before.reasked
        self._count(last.trial[0], last.outcome, last.cause, 1)
        self.incompatible += last.outcome == "skipped" and last.cause == "incompatible"
        sums.add({name: micro(value) for name, value in last.metrics.items()}, 1)
        self.attempts += attempts
        self.replayed += replayed
        sums.reasked += reasked
        sums.unjudged += unjudged

    def _count(self, name: str, outcome: str, cause: str | None, number: int) -> None:
        row = self.by_configuration.setdefault(name, dict.fromkeys(OUTCOMES, 0))
        row[outcome] += number
        if outcome == "error" and cause is not None:
            causes = self.of_configuration(name).causes
            causes[cause] = causes.get(cause, 0) + number

    def of_configuration(self, name: str) -> Sums:
        """Return what the trials of a configuration add up to."""
        found = self.sums.get(name)
        if found is None:
            found = self.sums[name] = Sums()
        return found

    def began(self) -> None:
        """Count an attempt that is under way from now on."""
        self.under_way += 1

    def spent(self, end: TrialEnd, said: str | None = None) -> None:
        """Count what an attempt cost that was under way, and keep what was said if it could not be scored."""
        self.under_way -= 1
        sums = self.of_configuration(end.trial[0])
        if end.cause == "scorer" and said:
            sums.unscored = said
        replayed = end.calls and all(call.replayed for call in end.calls)
        paid = not replayed and end.trial[0] not in self.unpaid
        if end.cost is None:
            sums.costs_unknown += 1
            sums.spent_unknown += paid
        else:
            sums.cost_nano += end.cost.nano
            sums.spent_nano += end.cost.nano if paid else 0
        if end.helper_cost is not None:
            sums.helper_nano += end.helper_cost.nano
            sums.helper_spent_nano += 0 if all(call.replayed for call in end.helper_calls) else end.helper_cost.nano
        elif end.helper_calls:
            sums.helpers_unknown += 1

    @property
    def unjudged(self) -> int:
        """Return how many trials no judge can be asked about any more."""
        return sum(sums.unjudged for sums in self.sums.values())

    @property
    def causes(self) -> dict[str, int]:
        """Return why trials ended in an error, and how many."""
        found: dict[str, int] = {}
        for sums in self.sums.values():
            for cause, number in sums.causes.items():
                if number:
                    found[cause] = found.get(cause, 0) + number
        return found

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
            reasked=sum(sums.reasked for sums in self.sums.values()),
            **{outcome: self.of(outcome) for outcome in OUTCOMES},
        )


def _metrics(cell: Cell) -> dict[str, int | None]:
    return {name: cell.value(name) for name in cell.metrics}


def _cause(cell: Cell) -> str | None:
    return "lost" if cell.running else cell.cause
