# SPDX-License-Identifier: Apache-2.0
"""What each rule comes to for one configuration, three-valued, with the numbers that say so.

Unknown cells enter by each rule's own extremes: a rule passes only if it passes with every unknown cell at its worse
value, and fails only if it fails with every one at its better value. So a rule has two more results beside its own,
`worst` and `best`: where they are the same no unknown cell could change it.

Source: docs/formats/pass-mark.md, clauses 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property

from trialplate.record.decisions import Result
from trialplate.record.matrix import Matrix, selects
from trialplate.record.values import Configuration, Plan, PlanCase, Rule
from trialplate.rules.cells import Cell
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.one_rule import OneRule
from trialplate.rules.quantities import CaseValue, Fold, Row, cases_of, fraction_text, measured_cases
from trialplate.rules.rivals import as_rival
from trialplate.rules.shown import alpha_of
from trialplate.rules.told import WORST_FIRST, Told, least, nothing

__all__ = ["NO_VALUE", "Ruling", "groups_of"]

NO_VALUE = {"tag": "(untagged)", "kind": "", "suite": "(no suite)"}
"""What a case without a tag or a suite stands under."""


def groups_of(each: str, cases: Iterable[PlanCase]) -> dict[str, list[PlanCase]]:
    """Return the cases by tag, kind or suite; a case with two tags stands under both."""
    found: dict[str, list[PlanCase]] = {}
    for case in cases:
        values = case.tags if each == "tag" else (case.kind if each == "kind" else case.suite,)
        for value in values or (None,):
            found.setdefault(value or NO_VALUE[each], []).append(case)
    return found


class Ruling:
    """Applies the rules of a plan to the cells of its configurations."""

    def __init__(self, plan: Plan, matrix: Matrix, rows: Mapping[str, Row], given: Circumstances) -> None:
        self.plan, self.matrix, self.rows, self.given = plan, matrix, rows, given
        self.mark = plan.pass_mark
        self._wanted: dict[str, list[PlanCase]] = {}
        self._asked: dict[tuple[str, bool], Mapping[str, list[Cell | None]]] = {}
        self._values: dict[tuple[str, str, str, bool, Fold, bool], Mapping[str, CaseValue]] = {}
        self._alternatives = {rule.id: rule for rule in self.mark.alternatives}
        self._configurations = {item.name: item for item in plan.configurations}

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The unit of each case; empty where each case is its own."""
        if self.mark.unit == "case":
            return {}
        return {case.id: case.unit for case in self.matrix.cases if case.unit is not None}

    def alpha(self, name: str, *, parts: int = 1, rivals: int | None = None) -> Fraction:
        """Return the error of a configuration's bounds."""
        return alpha_of(self.mark, self.plan, self.given.attempts.get(name, 1), parts=parts, rivals=rivals)

    def errors_of(self, rule: Rule, *, rival: bool = False) -> str:
        """Return what unknown cells do to a rule: as the mark says, but that an outage must not keep a ceiling."""
        if rival or (self.mark.errors == "zero" and rule.at_most is not None):
            return "bound"  # 0 is the better value there
        return self.mark.errors

    def wanted(self, rule: Rule) -> list[PlanCase]:
        """Return the cases that a rule is about; worked out once for all configurations."""
        found = self._wanted.get(rule.id)
        if found is None:
            selector = rule.where if rule.must_pass is None else rule.must_pass
            about = None if rule.of is None else measured_cases(rule.of, self.matrix)
            cases = [case for case in self.matrix.cases if about is None or case.id in about]
            found = self._wanted[rule.id] = [case for case in cases if selects(selector, case)]
        return found

    def asked(self, name: str, *, rival: bool = False) -> Mapping[str, list[Cell | None]]:
        """Return the cells of each case that a configuration was asked."""
        key = (name, rival)
        if key not in self._asked:
            self._asked[key] = dict(as_rival(self.rows[name]) if rival else self.rows[name])
        return self._asked[key]

    def values(
        self, name: str, quantity: str, fold: Fold, errors: str, *, ceiling: bool = False, rival: bool = False
    ) -> Mapping[str, CaseValue]:
        """Return what each case that a configuration was asked comes to; worked out once for all rules.

        Args:
            rival: its cells count as a rival's; see `rivals`.
        """
        key = (name, quantity, errors, ceiling, fold, rival)
        found = self._values.get(key)
        if found is None:
            row = list(self.asked(name, rival=rival).items())
            declared = self.mark.declared_usage == "accept"
            made = cases_of(quantity, row, fold, errors, ceiling=ceiling, declared=declared)
            found = self._values[key] = {item.case: item for item in made}
        return found

    def rule(self, name: str, rule: Rule, *, rival: bool = False, parts: int = 1) -> Told:
        """Return what one rule comes to for a configuration.

        Args:
            rival: judge its cells as a rival's: what may lie in how it was asked is unknown, whatever the mark says.
            parts: of how many alternatives, one of which is enough, it is one.
        """
        if rule.any_of:
            return self._any_of(name, rule, rival, parts)
        if rule.each == "configuration":
            there = [item.name for item in self.plan.configurations if item.role == "candidate"]
            alone = rule.replace(each=None)
            told = {item: self.rule(item, alone, parts=parts) for item in there if item in self.rows}
            return self._together(rule, told, self.rule(name, alone, rival=rival, parts=parts))
        one = OneRule(self, name, rule, rival, parts)
        wanted = self.wanted(rule)
        if rule.each is None:
            return one.told(wanted)
        copies = {value: one.told(cases) for value, cases in sorted(groups_of(rule.each, wanted).items())}
        return self._together(rule, copies, one.told(wanted))

    def _any_of(self, name: str, rule: Rule, rival: bool, parts: int) -> Told:
        """Return Kleene's or of the alternatives, each with its part of alpha."""
        parts *= len(rule.any_of)
        found = {item: self.rule(name, self._alternatives[item], rival=rival, parts=parts) for item in rule.any_of}

        def most(words: Iterable[Result]) -> Result:
            return max(words, key=WORST_FIRST.index)

        worst, best = most(item.worst for item in found.values()), most(item.best for item in found.values())
        result = most(item.result for item in found.values())
        reason = next(str(item.fields["reason"]) for item in found.values() if item.result == result)
        total = {key: max(int(item.fields[key]) for item in found.values()) for key in ("cells", "cases", "unknown")}
        copies = tuple(item.as_copy(value) for value, item in found.items())
        return Told(result, worst, best, {"reason": reason, "copies": copies, **total})

    def _together(self, rule: Rule, copies: Mapping[str, Told], whole: Told) -> Told:
        """Return what copies come to, all of which must hold, with the counts of the rule as a whole."""
        kept = {key: whole.fields[key] for key in ("cells", "cases", "unknown")}
        kept["threshold"] = fraction_text(self.threshold(rule))
        if not copies:
            return nothing({"reason": "no_cases", **kept})
        result = least(item.result for item in copies.values())
        worst, best = least(item.worst for item in copies.values()), least(item.best for item in copies.values())
        reason = next(item.fields["reason"] for item in copies.values() if item.result == result)
        there = tuple(item.as_copy(value) for value, item in copies.items())
        return Told(result, worst, best, {"reason": reason, **kept, "copies": there})

    def threshold(self, rule: Rule) -> Fraction | None:
        """Return what a rule compares with; None of one that compares with nothing."""
        if rule.not_worse_than is not None:
            return -Fraction(rule.by or "0")
        text = rule.at_least if rule.at_least is not None else rule.at_most
        return None if text is None else Fraction(text)

    def configuration(self, name: str) -> Configuration:
        """Return a configuration of the plan."""
        return self._configurations[name]
