# SPDX-License-Identifier: Apache-2.0
"""How far a rule is from another result: what would turn it, and how many more cases would show it.

No decision depends on anything here, and none carries it: whoever shows a decision asks for it. Every number is found
by taking the rule's own bound again, of the same cases with some of them changed, or of more cases with the same
results. So it is as true as the bound: so many changes turn the result, and, where `exact` says so, no fewer do.

Source: docs/formats/report.md, clause 5; the bound is monotone in each case, docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

from trialplate.record.decisions import Result
from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan, PlanCase, Rule
from trialplate.rules.bounds import clopper_pearson, fewest_cases
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.judges import JudgeNumbers
from trialplate.rules.on_demand import OnDemand
from trialplate.rules.quantities import CaseValue, draws_of, kind_of, mean_of, paired
from trialplate.rules.ruling import Ruling, groups_of
from trialplate.rules.shown import Shown, judged_by, shown, shown_difference, trials_of
from trialplate.rules.told import between

__all__ = ["MOST_CASES", "Outlook", "Outlooks", "outlooks"]

MOST_CASES = 20_000
"""Of a rule whose margin is looked for: beyond it nothing is said."""
MOST_MORE = 5_000
"""Of the larger test set that would show it: beyond it nothing is said."""
MOST_REPEATS = 10
"""With more repeats of a case than that, the bound is not quite monotone in each cell, and a margin not the least."""


class Outlook(Value, kw_only=False):
    """What would turn one rule, or one copy of it."""

    shows: tuple[float, float] | None = None
    """Of an estimate: the lower and the upper bound of the same cases, at the mark's confidence, each by itself."""
    to_pass: int | None = None
    """The fewest cases that, at the best value that there is, would turn the result; None if not all of them would."""
    to_fail: int | None = None
    """The same at the worst value. Where the result is open, both are told: what passes it, and what fails it."""
    then: Result | None = None
    """What a settled result would turn into: most often it is open before it is the opposite."""
    exact: bool = True
    """No fewer would turn it; else these would, and perhaps fewer."""
    of: str = "case"
    """What is counted: cases, or a judge's answers that people graded."""
    more: int | None = None
    """How many more cases with the same results would show it, where it is open."""
    more_of: str = "case"
    """What these are: over exactly these cases, more of their trials."""
    on_mark: bool = False
    """The measured number is no better than the mark: no number of cases with the same results would show it."""
    needed: int | None = None
    """Of a rule that not even perfect results could show: how many perfect ones would; 0 if no number would."""


Outlooks = Mapping[tuple[str, str | None], Outlook]
"""By the id of a rule, and the value of its copy, None of the rule as a whole."""


def outlooks(plan: Plan, matrix: Matrix, name: str, board: Board, given: Circumstances) -> Outlooks:
    """Return the outlook of each rule that has one, for one configuration.

    Rules on single cases have none, and neither have rules over bounds whose unknown cells leave them open, those that
    a stop rule decides, comparisons with a baseline, and means that are corrected for their judge.
    """
    ruling = Ruling(plan, matrix, {item: list(board.of(matrix, item)) for item in matrix.counts}, given)
    stop = plan.pass_mark.stop
    by_counts = stop.rule if stop is not None and stop.mode == "counts" else None
    found: dict[tuple[str, str | None], Callable[[], Outlook | None]] = {}
    for rule in plan.pass_mark.rules:
        if rule.id != by_counts:
            found.update({(rule.id, copy): make for copy, make in _of_rule(ruling, name, rule)})
    return OnDemand(found)


def _of_rule(ruling: Ruling, name: str, rule: Rule) -> Iterator[tuple[str | None, Callable[[], Outlook | None]]]:
    if rule.any_of:
        alternatives = {item.id: item for item in ruling.mark.alternatives}
        for item in rule.any_of:
            if not alternatives[item].each and not alternatives[item].any_of:
                yield item, partial(_outlook, ruling, name, alternatives[item], parts=len(rule.any_of))
    elif rule.each == "configuration":
        for other in ruling.plan.configurations:
            if other.role == "candidate" and other.name in ruling.rows:
                yield other.name, partial(_outlook, ruling, other.name, rule)
    elif rule.each is not None:
        for value, cases in groups_of(rule.each, ruling.wanted(rule)).items():
            yield value, partial(_outlook, ruling, name, rule, cases)
    else:
        yield None, partial(_outlook, ruling, name, rule)


def _outlook(
    ruling: Ruling, name: str, rule: Rule, cases: Sequence[PlanCase] | None = None, parts: int = 1
) -> Outlook | None:
    """Return the outlook of a rule over these cases, or over all that it is about."""
    if rule.of is None or rule.must_pass is not None or rule.correct_for_judge is not None:
        return None
    alpha = ruling.alpha(name, parts=parts)
    if kind_of(rule.of) == "agreement":
        return _of_judge(ruling, rule, alpha)
    hats_of_all = rule.of.startswith("pass_hat") or not draws_of(rule.of)
    if kind_of(rule.of) != "mean" or not hats_of_all:
        return None
    about = ruling.wanted(rule) if cases is None else cases
    compared = _compared(ruling, name, rule, about) if rule.cases <= len(about) <= MOST_CASES else None
    if compared is None or not compared.own:
        return None
    if rule.basis == "estimate":
        return None if compared.other is not None else _shows(compared, 1 - Fraction(ruling.mark.confidence))
    return _Search(compared, rule, ruling.threshold(rule) or Fraction(0), alpha).outlook()


class _Compared(NamedTuple):
    """What a bound is taken of."""

    ruling: Ruling
    own: list[CaseValue]
    other: list[CaseValue] | None
    """The reference's values of the same cases, in the same order."""
    trials: tuple[int, int]

    def shown(self, own: Sequence[CaseValue], alpha: Fraction) -> Shown:
        """Return the bounds with other values of the same cases."""
        mark, units = self.ruling.mark, self.ruling.units
        if self.other is None:
            return shown(own, mark, units, alpha, self.trials[0])
        return shown_difference(own, self.other, mark, units, alpha, self.trials)


def _compared(ruling: Ruling, name: str, rule: Rule, cases: Sequence[PlanCase]) -> _Compared | None:
    """Return the values that a rule compares; None where there is nothing to compare."""
    errors, fold, quantity = ruling.errors_of(rule), ruling.plan.verdict.case, rule.of or ""
    ceiling = rule.at_most is not None
    asked = ruling.asked(name)
    wanted = [case.id for case in cases]
    if any(case not in asked for case in wanted):
        return None
    made = ruling.values(name, quantity, fold, errors, ceiling=ceiling)
    own = [made[case] for case in wanted]
    trials = trials_of(own, quantity, errors)
    if rule.not_worse_than is None:
        return _Compared(ruling, [item for item in own if item.weight], None, (trials, 0))
    there = ruling.rows.get(rule.not_worse_than)
    if there is None or rule.not_worse_than in (name, "baseline"):
        return None
    theirs = ruling.values(rule.not_worse_than, quantity, fold, "bound", rival=True)
    if any(case not in theirs for case in wanted):
        return None
    mine, its = paired(own, [theirs[case] for case in wanted])
    return _Compared(ruling, mine, its, (trials, trials_of(its, quantity, "bound")))


def _shows(compared: _Compared, alpha: Fraction) -> Outlook:
    """Return what the cases of an estimate show."""
    found = compared.shown(compared.own, alpha)
    return Outlook(shows=(min(found.worst[0], found.best[0]), max(found.worst[1], found.best[1])))


def _of_judge(ruling: Ruling, rule: Rule, alpha: Fraction) -> Outlook | None:
    """Return on how many more of the graded answers a judge would have to agree, or not to."""
    numbers = JudgeNumbers(ruling.given.grades.get((rule.of or "").partition(":")[2]))
    if numbers.problem is not None:
        return None
    graded, bar = numbers.graded, ruling.threshold(rule) or Fraction(0)
    equal = int(numbers.agreement * graded)
    if rule.basis == "estimate":
        return Outlook(shows=numbers.ends(alpha), of="answer")

    def result(change: int) -> Result:
        ends = clopper_pearson(equal + change, graded, float(alpha))
        return judged_by(ends, bar, floor=rule.at_most is None)[0]

    up, down = (1, -1) if rule.at_most is None else (-1, 1)
    room = {1: graded - equal, -1: equal}
    return _turned(result(0), lambda n: result(up * n), room[up], lambda n: result(down * n), room[down]).replace(
        of="answer"
    )


# ---------------------------------------------------------------------------------------------------- searching


class _Search:
    """Takes the bound of a rule again, over changed cases."""

    def __init__(self, compared: _Compared, rule: Rule, bar: Fraction, alpha: Fraction) -> None:
        self.compared, self.rule, self.bar, self.alpha = compared, rule, bar, alpha
        self.floor = rule.at_most is None

    def outlook(self) -> Outlook | None:
        """Return what would turn the rule; None where unknown cells leave it open."""
        now, open_ = self._judged(self.compared.shown(self.compared.own, self.alpha))
        if open_:
            return None
        wide = now != "inconclusive"
        better, worse = self._order(better=True, wide=wide), self._order(better=False, wide=wide)
        number = len(self.compared.own)
        found = _turned(now, lambda n: self._with(better, n, 1), number, lambda n: self._with(worse, n, 0), number)
        found = found.replace(exact=self._exact())
        if now != "inconclusive":
            return found
        return found.replace(**self._what_helps(found.to_pass is None))

    def _judged(self, found: Shown) -> tuple[Result, bool]:
        """Return what bounds come to, and whether unknown cells alone leave it open."""
        worst, best = (judged_by(end, self.bar, floor=self.floor)[0] for end in (found.worst, found.best))
        if not self.floor:
            worst, best = best, worst
        return between(worst, best), worst != best

    def _with(self, order: Sequence[int], number: int, better: int) -> Result:
        """Return what the rule comes to with the first cases of an order at the better value, or at the worse."""
        top = bool(better) == self.floor
        own = list(self.compared.own)
        for index in order[:number]:
            own[index] = own[index]._replace(low=own[index].of, high=own[index].of) if top else _nothing(own[index])
        return self._judged(self.compared.shown(own, self.alpha))[0]

    def _order(self, *, better: bool, wide: bool) -> list[int]:
        """Return the cases in the order in which a change of them moves the bound most.

        Where changes move the mean as far, the spread decides: a wider one shows less. A result that is settled is
        turned by less being shown, one that is open by more.

        Args:
            wide: the result is settled: the bound that counts is that of the unknown cells on its own side.
        """
        top = better == self.floor
        own, other = self.compared.own, self.compared.other

        def moves(index: int) -> tuple[Fraction, Fraction]:
            item = own[index]
            gap = item.of - (item.high if wide else item.low) if top else item.low if wide else item.high
            beside = Fraction(other[index].high, other[index].of) if other is not None else Fraction(0)
            return -Fraction(gap, item.of) * item.weight, beside if top == wide else -beside

        return sorted(range(len(own)), key=moves)

    def _exact(self) -> bool:
        """Say whether no fewer changes could turn the rule."""
        compared = self.compared
        if compared.ruling.mark.over == "this_set":
            return True
        alike = len({item.weight for item in compared.own}) == 1 and not compared.ruling.units
        few = all(item.cells <= MOST_REPEATS for item in (*compared.own, *(compared.other or ())))
        plain = compared.other is None or all(
            item.low == item.high and item.low in (0, item.of) for item in (*compared.own, *compared.other)
        )
        known = all(item.low == item.high for item in compared.own)  # to learn a cell narrows, to change one moves
        return alike and few and plain and known

    # ------------------------------------------------------------------------------------------------ what helps

    def _what_helps(self, unreachable: bool) -> dict[str, Any]:
        """Return how many more cases would show what the rule asks for, or why none would."""
        if unreachable:
            return {"needed": self._needed()}
        compared = self.compared
        if compared.ruling.units or (compared.other is not None and compared.ruling.mark.over == "this_set"):
            return {}
        if self._no_better():
            return {"on_mark": True}
        if compared.ruling.mark.over == "this_set":
            trials = compared.trials[0]
            if trials != sum(item.cells for item in compared.own):
                return {}  # some trials tell less than others
            more = _least(lambda n: self._at(n) == "pass", trials, max(MOST_MORE, 2 * trials))
            return {"more": None if more is None else more - trials, "more_of": "trial"}
        number = len(compared.own)
        enough = next((n for n in _doubled(number, MOST_MORE) if self._repeated(n) == "pass"), None)
        if enough is None:
            return {}
        whole = _least(lambda n: self._repeated(n * number) == "pass", enough // number // 2, enough // number) or 1
        cases = _least(lambda n: self._repeated(n) == "pass", (whole - 1) * number, whole * number)
        return {"more": None if cases is None else cases - number}

    def _needed(self) -> int:
        """Return how many perfect results would show what the rule asks for; 0 if no number would, or nobody knows."""
        if self.compared.other is not None or self.compared.ruling.units:
            return 0
        bar = float(self.bar if self.floor else 1 - self.bar)
        return fewest_cases(bar, float(self.alpha)) if 0 <= bar < 1 - 1e-6 else 0

    def _no_better(self) -> bool:
        """Say whether the measured number, its unknown cells at the worse value, is no better than the mark."""
        low, high = (mean or Fraction(0) for mean in mean_of(self.compared.own))
        if self.compared.other is not None:
            low -= mean_of(self.compared.other)[1] or 0
        return low <= self.bar if self.floor else high >= self.bar

    @cached_property
    def _ordered(self) -> list[tuple[CaseValue, CaseValue]]:
        """The cases from the worst to the best, each beside the reference's, or beside itself."""
        other = self.compared.other
        pairs = list(zip(self.compared.own, other or self.compared.own, strict=True))
        pairs.sort(key=lambda pair: _height(pair[0]) - (_height(pair[1]) if other is not None else 0))
        return pairs

    def _at(self, trials: int) -> Result:
        found = shown(self.compared.own, self.compared.ruling.mark, {}, self.alpha, trials)
        return self._judged(found)[0]

    def _repeated(self, number: int) -> Result:
        """Return what the rule comes to over so many cases whose results are spread as those of these."""
        compared = self.compared
        pairs = self._ordered
        there = len(pairs)
        drawn = [pairs[(2 * index + 1) * there // (2 * number)] for index in range(number)]
        own, other = [own for own, _ in drawn], [other for _, other in drawn]
        mark = compared.ruling.mark
        if compared.other is None:
            return self._judged(shown(own, mark, {}, self.alpha, number))[0]
        return self._judged(shown_difference(own, other, mark, {}, self.alpha, (number, number)))[0]


def _nothing(item: CaseValue) -> CaseValue:
    return item._replace(low=0, high=0)


def _doubled(number: int, most: int) -> Iterator[int]:
    """Yield twice, four, eight times a number, as long as that is not too many; twice it in any case."""
    grown = 2 * number
    while grown <= max(most, 2 * number):
        yield grown
        grown *= 2


def _height(item: CaseValue) -> Fraction:
    return Fraction(item.low, item.of)


def _turned(
    now: Result, better: Callable[[int], Result], most_better: int, worse: Callable[[int], Result], most_worse: int
) -> Outlook:
    """Return the fewest changes for the better and for the worse that turn a result.

    Args:
        better: what so many changes for the better come to, up to `most_better`; `worse` likewise.
    """
    up, down = {
        "pass": (None, lambda word: word != "pass"),
        "fail": (lambda word: word != "fail", None),
        "inconclusive": (lambda word: word == "pass", lambda word: word == "fail"),
    }[now]
    to_pass = None if up is None else _least(lambda n: up(better(n)), 1, most_better)
    to_fail = None if down is None else _least(lambda n: down(worse(n)), 1, most_worse)
    then = None
    if now != "inconclusive" and (to_pass or to_fail):
        then = better(to_pass) if to_pass else worse(to_fail or 0)
    return Outlook(to_pass=to_pass, to_fail=to_fail, then=then)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the least number from `low` to `high` from which on something holds; None if it does not at `high`."""
    if high < low or not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
