# SPDX-License-Identifier: Apache-2.0
"""Other runs on the same cases: which are attempts at the same thing, and which attempt a run is.

What a plan that is not here would tell is taken as strictly as can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical
from trialplate.record.decisions import Decision
from trialplate.record.entries import RunConfiguration, RunStart
from trialplate.record.frozen import Value
from trialplate.record.matrix import model_key, narrow
from trialplate.record.values import Plan
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.record_view import RecordView, read_plan

__all__ = ["OtherRuns"]


def _asked(plan: Plan) -> set[str]:
    """Return what tells a plan's cases apart by what is asked: a tag that changes does not make another question."""
    return {commitment for case in plan.test_set.cases for commitment in (case.commitment, case.asked) if commitment}


class _Standing(Value):
    """How another run stands to the one that is decided on; where its plan is not here, as strictly as can be."""

    shares: bool
    """They have a case in common."""
    whole: bool
    """It was of its whole plan, and so is an attempt."""
    untold: bool
    """Its plan is not here, and the ledger alone does not tell."""


class OtherRuns:
    """The runs of a ledger beside one of them: which of them used its cases, and which are attempts at the same."""

    def __init__(self, ledger: LedgerView, record: RecordView, runs: Path) -> None:
        self.ledger, self.record, self.runs = ledger, record, runs
        self.unseen: set[str] = set()
        """Runs that a stated decision counts and whose plans or records are not here."""
        self._standings: dict[str, _Standing] = {}
        """How other runs stand to this one, by run id."""
        self._mine = {item.name: item for item in record.start.configurations}
        self._by_key: dict[str, dict[str, list[RunConfiguration]]] = {}
        """Configurations by attempt key, of each run: thousands of them are not looked through for each other."""
        self._models: dict[str, Mapping[str, str] | None] = {}
        """Model keys by configuration, of a run; None where its plan is not here."""

    def alike(
        self, configuration: str, before: int | None, stated: Decision | None
    ) -> Iterator[tuple[RunStart, RunConfiguration]]:
        """Yield each attempt's run and the configuration that made it."""
        mine = self._mine.get(configuration)
        if mine is None:
            return  # run.start and plan differ: that is a finding of its own
        for entry in self.uses:
            other: RunStart = entry.body
            if before is not None and entry.seq >= before:
                return
            alike = self._same(other, mine, stated)
            if other.run_id == self.record.run_id:
                alike = [item for item in alike if item.name != configuration]
            standing = self._standing(other)
            named = stated is None or any(item.run_id == other.run_id for item in stated.attempts)
            if alike and standing.untold and not named:
                self.unseen.add(other.run_id)  # its plan was here when that was decided; today it counts
            elif alike and standing.whole:
                yield from ((other, same) for same in alike)

    @cached_property
    def rests_on_unseen(self) -> bool:
        """Say whether a run that may be an attempt at the same is told by its run.start alone."""
        return any(self._standing(entry.body).untold for entry in self.uses)

    def number(self, configuration: str, before: int | None, stated: Decision | None) -> int:
        """Return which attempt at a configuration this run is; of an earlier decision, at least what it said."""
        earlier = sum(
            other.run_id not in self.later and not self.ledger.waived(other.run_id, before)
            for other, _ in self.alike(configuration, before, stated)
        )
        told = stated.attempt if stated is not None and self.unseen else 0
        return max(1 + earlier, told)

    def _same(self, other: RunStart, mine: RunConfiguration, stated: Decision | None) -> list[RunConfiguration]:
        """Return the configurations of a run that are the same thing, or of the same model if the mark counts so.

        Where another run's plan is not here, each of its configurations may be of this model.
        """
        if other.run_id not in self._by_key:
            found = self._by_key[other.run_id] = {}
            for item in other.configurations:
                found.setdefault(item.attempt_key, []).append(item)
        same = self._by_key[other.run_id].get(mine.attempt_key, [])
        if self.record.plan.pass_mark.attempts.scope == "configuration":
            return same
        keys, own = self._model_keys(other), self._model_keys(self.record.start)
        if keys is not None and own is not None:
            return [item for item in other.configurations if keys.get(item.name) == own.get(mine.name)]
        if stated is None:
            return list(other.configurations)
        self.unseen.add(other.run_id)
        named = {item.configuration or mine.name for item in stated.attempts if item.run_id == other.run_id}
        return [item for item in other.configurations if item in same or item.name in named]

    def _model_keys(self, run: RunStart) -> Mapping[str, str] | None:
        if run.run_id not in self._models:
            plan = self._plan_of(run)
            keys = None if plan is None else {item.name: model_key(item) for item in plan.configurations}
            self._models[run.run_id] = keys
        return self._models[run.run_id]

    @cached_property
    def later(self) -> frozenset[str]:
        """The runs that were started after this one."""
        runs = [entry.body.run_id for entry in self.ledger.starts()]
        return frozenset(runs[runs.index(self.record.run_id) + 1 :])

    @cached_property
    def uses(self) -> list[LedgerEntry]:
        """Every run.start on some of these cases."""
        return [entry for entry in self.ledger.starts() if self._standing(entry.body).shares]

    def _standing(self, other: RunStart) -> _Standing:
        """Return how another run stands to this one; told once, since telling may read its plan."""
        if other.run_id not in self._standings:
            self._standings[other.run_id] = self._tell(other)
        return self._standings[other.run_id]

    def _tell(self, other: RunStart) -> _Standing:
        same_cases = other.test_set == self.record.start.test_set
        if same_cases and other.selection == "full":
            return _Standing(shares=True, whole=True, untold=False)
        plan = self._plan_of(other)
        if plan is None:
            return _Standing(shares=True, whole=True, untold=True)
        shares = same_cases or not _asked(self.record.plan).isdisjoint(_asked(plan))
        return _Standing(shares=shares, whole=self._whole(other, plan), untold=False)

    def _whole(self, other: RunStart, plan: Plan) -> bool:
        """Say whether a run was of its whole plan: calling it a pilot does not make it less.

        Nor does a narrowing that is not the one it ran under: the trials it began and ended with say so.
        """
        if other.selection == "full" or other.narrowing is None:
            return True
        size, end = narrow(plan, other.narrowing).size, self.ledger.end_of(other.run_id)
        told = {other.trials} if end is None else {other.trials, end.body.counts.planned}
        return told != {size} or size == narrow(plan, None).size

    def _plan_of(self, other: RunStart) -> Plan | None:
        """Return the plan of another run, if it is here and is the one that was started."""
        if other.plan == self.record.start.plan:
            return self.record.plan
        try:
            raw, plan = read_plan(self.runs / other.run_id, f"runs/{other.run_id}")
        except (FormatError, VerificationError):
            return None
        return plan if canonical.digest(raw) == other.plan else None
