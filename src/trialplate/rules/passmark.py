# SPDX-License-Identifier: Apache-2.0
"""The pass mark: what its rules decide together. The one place that decides.

The rules are combined three-valued: any fail rejects, else any inconclusive one leaves it open. Evidence that the mark
demands and the record does not show is inconclusive, never a rejection. Where the mark has a `choose`, what
`rules.choose` says of the configuration is one rule more.

Source: DESIGN sections 5 to 7; docs/formats/pass-mark.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialplate.record.decisions import Choice, DecisionWord, EvidenceResult, Result, RuleResult
from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan
from trialplate.rules.cells import Board
from trialplate.rules.choose import Contest
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.evidence import evidence_of
from trialplate.rules.quantities import Row
from trialplate.rules.ruling import Ruling
from trialplate.rules.told import Told, least

__all__ = ["Evaluation", "evaluate", "evaluate_all", "sealed"]


class Evaluation(Value, kw_only=False):
    """A configuration's own result: before other attempts are looked at."""

    decision: DecisionWord
    reasons: tuple[str, ...]
    evidence: tuple[EvidenceResult, ...]
    rules: tuple[RuleResult, ...]
    choice: Choice | None = None


def evaluate(plan: Plan, matrix: Matrix, configuration: str, board: Board, given: Circumstances) -> Evaluation:
    """Apply the plan's pass mark to one configuration's cells; as `evaluate_all`."""
    if plan.pass_mark.choose is None:
        return _Assessment(plan, matrix, board, given).alone(configuration)
    return evaluate_all(plan, matrix, board, given)[configuration]


def evaluate_all(plan: Plan, matrix: Matrix, board: Board, given: Circumstances) -> Mapping[str, Evaluation]:
    """Apply the plan's pass mark to every configuration's cells; under `choose` each depends on the others."""
    assessment = _Assessment(plan, matrix, board, given)
    if plan.pass_mark.choose is None:
        return {name: assessment.alone(name) for name in assessment.rows}
    return assessment.compared()


def sealed(plan: Plan, matrix: Matrix, board: Board, given: Circumstances) -> Mapping[str, bool]:
    """Say of each configuration whether its decision is the same whatever its unknown cells would come to.

    Evidence has no part in it: what a record must show besides its answers, it must show of those that were asked for.
    """
    assessment = _Assessment(plan, matrix, board, given)
    told = {name: assessment.told(name) for name in assessment.rows}
    settled = {name: _settled(items) for name, items in told.items()}
    if plan.pass_mark.choose is None:
        return settled
    contest = assessment.contest()
    for name in settled:
        within = contest.within(name)
        settled[name] = _settled([*told[name], *([] if within is None else [within])])
    open_choice = assessment.choice(contest).result == "open"
    return dict.fromkeys(settled, all(settled.values()) and not open_choice)


def _settled(told: Sequence[Told]) -> bool:
    """Say whether rules that all must hold are settled: one of them has failed, or each is as it will be.

    One that is open for another reason than an unknown cell may be told later, by a check of its judge, say. So an open
    rule settles nothing for the others.
    """
    return any(item.best == "fail" for item in told) or all(item.worst == item.best for item in told)


class _Assessment:
    """The mark over all cells of a run, each thing worked out once."""

    def __init__(self, plan: Plan, matrix: Matrix, board: Board, given: Circumstances) -> None:
        self.plan, self.mark, self.given = plan, plan.pass_mark, given
        self.rows: dict[str, Row] = {name: list(board.of(matrix, name)) for name in matrix.counts}
        self.ruling = Ruling(plan, matrix, self.rows, given)
        self._told: dict[str, list[Told]] = {}
        self._evidence: dict[str, tuple[EvidenceResult, ...]] = {}

    def told(self, name: str) -> list[Told]:
        """Return what each rule comes to for a configuration."""
        if name not in self._told:
            self._told[name] = [self.ruling.rule(name, rule) for rule in self.mark.rules]
        return self._told[name]

    def evidence(self, name: str) -> tuple[EvidenceResult, ...]:
        """Return what the mark demands of the record itself, met or not."""
        if name not in self._evidence:
            self._evidence[name] = tuple(evidence_of(self.mark, name, self.rows[name], self.given))
        return self._evidence[name]

    def alone(self, name: str) -> Evaluation:
        """Return what a configuration comes to by evidence and rules, whatever the others did."""
        return Evaluation(*self._decided(name), self.evidence(name), self._results(name))

    def compared(self) -> Mapping[str, Evaluation]:
        """Return what every configuration comes to where one of them is chosen."""
        contest = self.contest()
        choice = self.choice(contest)
        made = {}
        for name in self.rows:
            stands = contest.within(name)
            decision, reasons = self._decided(name, stands)
            if self.mark.require == "chosen" and decision == "accepted" and choice.chosen != name:
                may_be = choice.result == "open" and name in choice.possible
                decision, reasons = ("inconclusive", ("choice_open",)) if may_be else ("rejected", ("not_chosen",))
            own = choice.replace(within=stands.as_rule("within") if stands is not None else None)
            made[name] = Evaluation(decision, reasons, self.evidence(name), self._results(name), own)
        return made

    def contest(self) -> Contest:
        """Return the comparison that `choose` asks for."""
        return Contest(self.ruling)

    def choice(self, contest: Contest) -> Choice:
        """Return which of the candidates that pass is chosen."""
        eligible: dict[str, Result] = {}
        hopeful = set()
        words: dict[DecisionWord, Result] = {"accepted": "pass", "rejected": "fail", "inconclusive": "inconclusive"}
        for name in self.rows:
            within = contest.within(name)
            decision, _ = self._decided(name, within)
            eligible[name] = words[decision]
            told = [*self.told(name), *([] if within is None else [within])]
            unmet = not all(item.met for item in self.evidence(name))
            if decision == "inconclusive" and (unmet or least(item.best for item in told) == "pass"):
                hopeful.add(name)
        return contest.pick(eligible, hopeful)

    def _results(self, name: str) -> tuple[RuleResult, ...]:
        return tuple(told.as_rule(rule.id) for rule, told in zip(self.mark.rules, self.told(name), strict=True))

    def _decided(self, name: str, within: Told | None = None) -> tuple[DecisionWord, tuple[str, ...]]:
        """Combine evidence and rules three-valued; return the decision and its reasons.

        Args:
            within: how the configuration stands to the reference of a choice, which is one rule more.
        """
        results = [(rule.id, item.result) for rule, item in zip(self.mark.rules, self.told(name), strict=True)]
        if within is not None:
            results.append(("within", within.result))
        missing = tuple(item.name for item in self.evidence(name) if not item.met)
        failed = tuple(rule for rule, result in results if result == "fail")
        unclear = tuple(rule for rule, result in results if result == "inconclusive")
        if missing:
            return "inconclusive", missing
        if failed:
            return "rejected", failed
        if unclear or not results:
            return "inconclusive", unclear or ("no_rules",)
        return "accepted", ()
