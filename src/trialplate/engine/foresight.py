# SPDX-License-Identifier: Apache-2.0
"""What a plan's test set and mark can show, worked out before anything is spent.

Each rule is taken as the decision will take it: the same cases, the same error, the same bound. Configurations that are
asked alike share one answer.

Source: DESIGN section 7; docs/statistics.md; docs/adr/0053.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from trialplate.engine.foreseen import Foreseen, Foresight
from trialplate.engine.rule_design import asked_of
from trialplate.engine.rule_foresight import RuleForesight, Way
from trialplate.engine.spread import Spread
from trialplate.record import canonical, codec
from trialplate.record.entries import CommitTestSet
from trialplate.record.matrix import Matrix, attempt_key
from trialplate.record.values import Plan, Rule
from trialplate.rules.choose import wrong_ones
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.quantities import measured_cases
from trialplate.rules.ruling import Ruling
from trialplate.stats.draws import Stream
from trialplate.stats.operating import DRAWS
from trialplate.verify.ledger_view import LedgerView

__all__ = ["attempt_numbers", "foresee", "short_foresight"]


def foresee(
    plan: Plan,
    matrix: Matrix,
    spread: Spread,
    attempts: Mapping[str, int] | None = None,
    truths: Sequence[Fraction] = (),
) -> Foresight:
    """Return what each rule of a plan's mark, and its choice, can show.

    Args:
        matrix: of the whole plan.
        attempts: which attempt at each configuration it would be; 1 where none is told.
        truths: true values of which to tell; without them some around each threshold.
    """
    way = Way(spread, Stream(_seed(plan, matrix), DRAWS), tuple(truths))
    return _Looking(plan, matrix, way, attempts or {}).foresight()


def short_foresight(plan: Plan, matrix: Matrix, attempts: Mapping[str, int] | None = None) -> Foresight:
    """Return what takes no time: what a perfect run shows at its attempt, and what an estimate hides."""
    return _Looking(plan, matrix, Way(Spread(), Stream(bytes(32), DRAWS), short=True), attempts or {}).foresight()


def attempt_numbers(plan: Plan, ledger: LedgerView) -> dict[str, int]:
    """Return which attempt at each candidate a run of the plan would be, as far as the ledger alone tells.

    It counts full runs of the same thing on this very test set that were not waived. Under another version of the test
    set there may be more of them; the decision looks into their plans.
    """
    sets = {entry.ref: entry.body.root for entry in ledger.bodies(CommitTestSet)}
    made = [
        item.attempt_key
        for entry in ledger.starts()
        if entry.body.selection == "full" and not ledger.waived(entry.body.run_id)
        if sets.get(entry.body.test_set) == plan.test_set.root
        for item in entry.body.configurations
    ]
    return {item.name: 1 + made.count(attempt_key(item)) for item in plan.configurations if item.role == "candidate"}


def _seed(plan: Plan, matrix: Matrix) -> bytes:
    """Return what outcomes are drawn from: of what a design is, and of nothing that differs between two machines."""
    design = {
        "trialplate": "plan/1",
        "mark": codec.to_json(plan.pass_mark),
        "counts": {name: list(row) for name, row in matrix.counts.items()},
        "units": [case.unit or "" for case in matrix.cases],
    }
    return hashlib.sha256(canonical.encode(design)).digest()


class _Looking:
    """The mark of a plan, looked at rule by rule."""

    def __init__(self, plan: Plan, matrix: Matrix, way: Way, attempts: Mapping[str, int]) -> None:
        self.plan, self.mark, self.way, self.attempts = plan, plan.pass_mark, way, attempts
        self.ruling = Ruling(plan, matrix, {}, Circumstances(attempts=attempts))
        named = [item.name for item in plan.configurations if item.role == "candidate"]
        self.candidates = [name for name in named if name in matrix.counts]

    def foresight(self) -> Foresight:
        """Return what every rule, and the choice, can show."""
        return Foresight(
            rules=tuple(item for rule in self.mark.rules for item in self._rule(rule, 1, None)),
            choice=self._choice(),
            candidates=len(self.candidates),
            attempt=self._attempt(self.candidates),
            icc=self.way.spread.icc,
            pilot=self.way.spread.run_id,
            draws=self.way.stream.draws,
            measured=frozenset(self.way.spread.measured),
        )

    def _attempt(self, names: Sequence[str]) -> int:
        return max((self.attempts.get(name, 1) for name in names), default=1)

    def _rule(self, rule: Rule, parts: int, part_of: str | None) -> Iterator[Foreseen]:
        """Yield what a rule can show; an `any_of` before its alternatives.

        Args:
            parts: of how many alternatives, one of which is enough, it is one.
        """
        if rule.any_of:
            attempt = self._attempt(self.candidates)
            yield Foreseen(rule.id, "any_of", "estimate", tuple(self.candidates), part_of=part_of, attempt=attempt)
            members = {item.id: item for item in self.mark.alternatives}
            for name in rule.any_of:
                yield from self._rule(members[name], parts * len(rule.any_of), rule.id)
            return
        wanted = self.ruling.wanted(rule)
        groups: dict[tuple[tuple[tuple[str, int], ...], Fraction], list[str]] = {}
        for name in self.candidates:
            if name != rule.not_worse_than:
                asked = asked_of(wanted, self.ruling, name)
                alike = tuple(zip((case.id for case in asked.cases), asked.repeats, strict=True))
                groups.setdefault((alike, self.ruling.alpha(name, parts=parts)), []).append(name)
        for (_, alpha), names in groups.items():
            found = RuleForesight(self.way, self.ruling, rule, names, alpha).foreseen(wanted)
            yield replace(found, part_of=part_of, attempt=self._attempt(names))

    def _choice(self) -> Foreseen | None:
        """Return what the mark's choice can show; None if it asks for no distance."""
        choose = self.mark.choose
        if choose is None or choose.within is None or not self.candidates:
            return None
        rivals = wrong_ones(self.plan, choose)
        alpha = min(self.ruling.alpha(name, rivals=rivals) for name in self.candidates)
        about = measured_cases(choose.of, self.ruling.matrix)
        wanted = [case for case in self.ruling.matrix.cases if case.id in about]
        rule = Rule(id="choose", basis=choose.basis, of=choose.of, not_worse_than=choose.against, by=choose.within)
        names = [name for name in self.candidates if name != choose.against]
        found = RuleForesight(self.way, self.ruling, rule, names or self.candidates, alpha).foreseen(wanted)
        return replace(found, attempt=self._attempt(self.candidates))
