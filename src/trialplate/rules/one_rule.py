# SPDX-License-Identifier: Apache-2.0
"""One rule for one configuration, over whatever cases it is asked: a function for each kind of rule.

Source: docs/formats/pass-mark.md, clauses 3, 4, 8 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from trialplate.record.decisions import Result
from trialplate.record.values import PlanCase, Rule
from trialplate.rules.amounts import amount_of
from trialplate.rules.judges import JudgeNumbers
from trialplate.rules.quantities import (
    CaseValue,
    Fold,
    Row,
    Span,
    case_passes,
    cases_of,
    draws_of,
    fraction_text,
    kind_of,
    mean_of,
    paired,
    span_over,
)
from trialplate.rules.regressions import former_row, no_regressions
from trialplate.rules.rivals import as_rival
from trialplate.rules.shown import Shown, judged_by, rounded, shown, shown_corrected, shown_difference, trials_of
from trialplate.rules.told import Told, between, counts_of, nothing
from trialplate.rules.walk import ends

if TYPE_CHECKING:
    from trialplate.rules.ruling import Ruling

__all__ = ["OneRule"]


class OneRule:
    """One rule for one configuration, over whatever cases it is asked."""

    def __init__(self, ruling: Ruling, name: str, rule: Rule, rival: bool, parts: int) -> None:
        self.ruling, self.name, self.rule, self.parts = ruling, name, rule, parts
        self.rival = rival
        self.asked = ruling.asked(name, rival=rival)
        self.errors = ruling.errors_of(rule, rival=rival)
        self.fold: Fold = (rule.require if rule.must_pass is not None else None) or ruling.plan.verdict.case
        self.declared = ruling.mark.declared_usage == "accept"

    def told(self, wanted: Sequence[PlanCase]) -> Told:
        """Return what the rule comes to over these cases.

        It cannot be told where the matrix leaves out cases that it is about: the mark and the test set are committed
        and the matrix is not, else it could leave out the hard ones. Nor where there are fewer cases than it wants.
        """
        chosen: Row = [(case.id, self.asked[case.id]) for case in wanted if case.id in self.asked]
        if len(wanted) > len(chosen):
            left = tuple(case.id for case in wanted if case.id not in self.asked)[:10]
            counts = {**counts_of(chosen), "cases": len(wanted), "unknown": 0}
            return nothing({**counts, "reason": "not_asked", "failing": left})
        told = self._kind()(chosen)
        if 0 < len(chosen) < self.rule.cases:
            fields = {**told.fields, "reason": "too_few_cases"}
            told = Told("inconclusive", "inconclusive", "inconclusive", fields)
        return told

    def _kind(self) -> Callable[[Row], Told]:
        rule, kind = self.rule, kind_of(self.rule.of)
        stop = self.ruling.mark.stop
        if stop is not None and stop.mode == "counts" and stop.rule == rule.id:
            return self._by_counts
        if rule.must_pass is not None:
            return self._must_pass
        if rule.no_regressions is not None:
            return self._no_regressions
        if rule.not_worse_than is not None:
            return self._not_worse
        if kind == "agreement":
            return self._agreement
        return self._mean if kind == "mean" else self._amount

    def _by_counts(self, row: Row) -> Told:
        """Hold the number of cases that did not pass, after each case, to the boundaries of the mark's stop."""
        stop, asked = self.ruling.mark.stop, dict(row)
        there = [asked[case] for case in self.ruling.given.order if case in asked]
        counts = {**counts_of(row), "threshold": self._threshold_text}
        if stop is None or len(there) < len(row):
            return nothing({**counts, "reason": "incomplete"})  # nobody knows in which order they came
        worst, best = ends(stop, [case_passes(repeats, self.fold, "bound") for repeats in there])
        result = between(worst, best)
        reason = {"pass": "met", "fail": "below", "inconclusive": "straddles" if worst == best else "unknown_cells"}
        return Told(result, worst, best, {**counts, "reason": reason[result]})

    # ------------------------------------------------------------------------------------------------- thresholds

    def _mean(self, row: Row) -> Told:
        """Compare a mean over cases, or what it shows, with the threshold."""
        of = self.rule.of or ""
        values = self._values(row)
        span = span_over(values)
        short = tuple(_with_fewer_than(draws_of(of) or 0, row, self.errors))[:10]
        counts = {"cells": span.cells, "cases": span.cases, "unknown": span.unknown, "threshold": self._threshold_text}
        if short:
            return nothing({**counts, "reason": "k_exceeds_repeats", "failing": short})
        if span.low is None or span.high is None:
            return nothing({**counts, "reason": "no_metric"})
        if self.rule.correct_for_judge is not None:
            return self._corrected(values, span, counts)
        numbers = {**counts, "low": fraction_text(span.low), "high": fraction_text(span.high)}
        if self.rule.basis == "estimate":
            return self._estimated(span.low, span.high, numbers)
        alpha = self._alpha
        trials = trials_of(values, of, self.errors)
        found = shown(values, self.ruling.mark, self.ruling.units, alpha, trials)
        return self._bounded(found, numbers, alpha, lambda: self._reachable(values, alpha, trials))

    def _reachable(self, values: Sequence[CaseValue], alpha: Fraction, trials: int) -> bool:
        """Say whether any answers to so many cases could have shown what the rule wants."""
        ideal = [
            item._replace(low=item.of, high=item.of) if self._floor else item._replace(low=0, high=0) for item in values
        ]
        best = shown(ideal, self.ruling.mark, self.ruling.units, alpha, trials)
        return judged_by(best.best, self._threshold, floor=self._floor)[0] == "pass"

    def _values(self, row: Row) -> list[CaseValue]:
        ceiling, of = self.rule.at_most is not None, self.rule.of or ""
        made = self.ruling.values(self.name, of, self.fold, self.errors, ceiling=ceiling, rival=self.rival)
        return [made[case] for case, _ in row]

    def _amount(self, row: Row) -> Told:
        """Compare a percentile, a cost, a number of tokens or macro-F1 with the threshold."""
        of = self.rule.of or ""
        metric = of.partition(":")[2]
        classes = {case.id: case.classes[metric] for case in self.ruling.matrix.cases if metric in case.classes}
        pricing = self.ruling.configuration(self.name).pricing
        found = amount_of(of, row, self.fold, self.errors, pricing=pricing, declared=self.declared, classes=classes)
        counts = {**counts_of(row), "threshold": self._threshold_text}
        if found.value is not None:
            exact = fraction_text(found.value)
            return self._estimated(found.value, found.value, {**counts, "low": exact, "high": exact})
        if found.reason == "no_passes" and self.rule.at_most is not None:
            return Told("fail", "fail", "fail", {**counts, "reason": "no_passes"})
        return nothing({**counts, "reason": found.reason}, moves=bool(counts["unknown"]))

    def _estimated(self, low: Fraction, high: Fraction, numbers: Mapping[str, Any]) -> Told:
        """Compare numbers as they are; both ends count as holding."""
        bar, floor = self._threshold, self._floor
        ends = (low, high) if floor else (high, low)
        words: list[Result] = ["pass" if (end >= bar if floor else end <= bar) else "fail" for end in ends]
        worst, best = words
        result = between(worst, best)
        reason = {"pass": "met", "fail": "below" if floor else "above", "inconclusive": "unknown_cells"}[result]
        return Told(result, worst, best, {**numbers, "reason": reason})

    def _bounded(
        self, found: Shown, numbers: Mapping[str, Any], alpha: Fraction, reachable: Callable[[], bool] | None = None
    ) -> Told:
        """Compare bounds with the threshold."""
        ends = (found.worst, found.best) if self._floor else (found.best, found.worst)
        (worst, why), (best, _) = (judged_by(end, self._threshold, floor=self._floor) for end in ends)
        result = between(worst, best)
        reason = why if worst == best else "unknown_cells"
        if reason == "straddles" and reachable is not None and not reachable():
            reason = "unreachable"
        fields = {
            **numbers,
            "reason": reason,
            "alpha": fraction_text(alpha),
            "lower": rounded(min(found.worst[0], found.best[0])),
            "upper": rounded(max(found.worst[1], found.best[1])),
            "units": found.units,
        }
        return Told(result, worst, best, fields)

    # ----------------------------------------------------------------------------------------------------- judges

    def _agreement(self, row: Row) -> Told:
        """Compare a judge's agreement with people; the cells of the run have no part in it."""
        judge = (self.rule.of or "").partition(":")[2]
        numbers = JudgeNumbers(self.ruling.given.grades.get(judge))
        counts = {"cells": numbers.graded, "cases": numbers.graded, "unknown": 0, "threshold": self._threshold_text}
        if numbers.problem is not None:
            return nothing({**counts, "reason": numbers.problem})
        exact = fraction_text(numbers.agreement)
        shares = {**counts, "low": exact, "high": exact}
        if self.rule.basis == "estimate":
            return self._estimated(numbers.agreement, numbers.agreement, shares)
        ends = numbers.ends(self._alpha)
        return self._bounded(Shown(ends, ends, numbers.graded), shares, self._alpha)

    def _corrected(self, values: Sequence[CaseValue], span: Span, counts: Mapping[str, Any]) -> Told:
        """Compare a judge's mean, less its errors as its checks show them."""
        numbers = JudgeNumbers(self.ruling.given.grades.get(self.rule.correct_for_judge or ""))
        problem = numbers.problem or (None if numbers.informative else "judge_uninformative")
        differences = numbers.differences(self.rule.of or "")
        if problem is None and not differences:
            problem = "judge_stale"
        if problem is not None or span.low is None or span.high is None:
            return nothing({**counts, "reason": problem or "no_metric"})
        off = sum(differences, Fraction(0)) / len(differences)
        shares = {**counts, "low": fraction_text(span.low + off), "high": fraction_text(span.high + off)}
        alpha = self._alpha
        found = shown_corrected(values, differences, self.ruling.units, alpha)
        return self._bounded(found, shares, alpha)

    # -------------------------------------------------------------------------------------------------- comparing

    def _not_worse(self, row: Row) -> Told:
        """Compare with a reference, case by case."""
        theirs = self._reference(row)
        counts = {**counts_of(row), "unknown": 0, "threshold": self._threshold_text}
        if theirs == "no_rival":
            return Told("pass", "pass", "pass", {**counts, "reason": theirs})
        if isinstance(theirs, str):
            return nothing({**counts, "reason": theirs}, moves=theirs == "baseline_missing")
        mine, its = paired(self._values(row), theirs)
        (low, high), (least_other, most_other) = mean_of(mine), mean_of(its)
        counts["unknown"] = sum(item.unknown for item in (*mine, *its))
        if low is None or high is None or least_other is None or most_other is None:
            return nothing({**counts, "reason": "no_metric"})
        low, high = low - most_other, high - least_other
        numbers = {**counts, "low": fraction_text(low), "high": fraction_text(high)}
        if self.rule.basis == "estimate":
            return self._estimated(low, high, numbers)
        alpha = self._alpha
        trials = trials_of(mine, self.rule.of or "", self.errors), trials_of(its, self.rule.of or "", "bound")
        found = shown_difference(mine, its, self.ruling.mark, self.ruling.units, alpha, trials)
        return self._bounded(found, numbers, alpha)

    def _reference(self, row: Row) -> list[CaseValue] | str:
        """Return what the same cases of the reference come to, as a rival's, or why there is nothing to compare."""
        wanted = self.rule.not_worse_than or ""
        if wanted == self.name:
            return "no_rival"
        cases = [case for case, _ in row]
        if wanted == "baseline":
            found = former_row(self.ruling.plan, self.ruling.given.baseline, self.name, cases, self.rule.of)
            if isinstance(found, str):
                return found
            return cases_of(self.rule.of or "", as_rival(found), self.fold, "bound", declared=self.declared)
        there: Mapping[str, CaseValue] = {}
        if wanted in self.ruling.rows:
            there = self.ruling.values(wanted, self.rule.of or "", self.fold, "bound", rival=True)
        if any(case not in there for case in cases):
            return "not_asked"
        return [there[case] for case in cases]

    def _no_regressions(self, row: Row) -> Told:
        ruling = self.ruling
        return no_regressions(self.rule, ruling.plan, row, ruling.given.baseline, self.name, self.errors)

    def _must_pass(self, row: Row) -> Told:
        """Fold each named case; all of them must pass."""
        failed, unclear = [], []
        for case, repeats in row:
            worst, best = case_passes(repeats, self.fold, self.errors)
            if best is False:
                failed.append(case)
            elif not worst:
                unclear.append(case)
        counts = counts_of(row)
        if not row:
            return nothing({**counts, "reason": "no_cases"})
        result: Result = "fail" if failed else "inconclusive" if unclear else "pass"
        reason = {"fail": "case_failed", "inconclusive": "unknown_cells", "pass": "met"}[result]
        fields = {**counts, "reason": reason, "failing": tuple((failed or unclear)[:10])}
        return Told(result, "fail" if failed or unclear else "pass", "fail" if failed else "pass", fields)

    # --------------------------------------------------------------------------------------------------- the rule

    @property
    def _floor(self) -> bool:
        return self.rule.at_most is None

    @property
    def _threshold(self) -> Fraction:
        return self.ruling.threshold(self.rule) or Fraction(0)

    @property
    def _threshold_text(self) -> str | None:
        return fraction_text(self.ruling.threshold(self.rule))

    @property
    def _alpha(self) -> Fraction:
        return self.ruling.alpha(self.name, parts=self.parts)


def _with_fewer_than(k: int, row: Row, errors: str) -> Iterable[str]:
    """Yield the cases with fewer repeats than k: a chance over k of them is not known, and not that of the others."""
    for case, repeats in row if k else ():
        if sum(1 for cell in repeats if errors != "exclude" or (cell is not None and cell.settled)) < k:
            yield case
