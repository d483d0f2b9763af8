# SPDX-License-Identifier: Apache-2.0
"""Whether any run could meet a mark's bounds: what so many perfect cases show, and how many it takes.

A mark that no run could reach is refused before it is committed. What a perfect run shows is worked out by what decides
(`rules.shown`), with the error that each bound has at the first attempt. Where two configurations are compared, a
warning says from how many cases on one that is equal to its reference would pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, NoReturn

from trialplate.errors import SpecError
from trialplate.record.matrix import Matrix
from trialplate.record.values import Configuration, PassMark, Plan, PlanCase, Rule
from trialplate.rules.bounds import agreement_lower, fewest_cases, guarded_ppi
from trialplate.rules.choose import wrong_ones
from trialplate.rules.mark_in_plan import about
from trialplate.rules.quantities import CaseValue, is_pooled, kind_of, measured_cases
from trialplate.rules.ruling import groups_of
from trialplate.rules.shown import alpha_of, judged_by, shown, shown_difference, trials_of
from trialplate.verify.text import decimal_text

__all__ = ["alpha_words", "check_reach"]

_Where = Callable[..., str]
MOST_CASES = 20_000
"""Of a test set that is looked for: whoever needs more is told so."""
_NONE = "no number of"
WELL_CHECKED = 10_000
"""Graded answers of a judge that is never wrong: with fewer, less is shown."""


class _Short(NamedTuple):
    """What a perfect run lacks."""

    found: str
    """What the cases show at best, in words."""
    takes: str
    """What would do."""


def check_reach(
    plan: Plan,
    matrix: Matrix,
    candidates: Sequence[Configuration],
    where: Mapping[str, _Where],
    at: Callable[[tuple[str | int, ...]], str],
) -> Iterator[str]:
    """Yield warnings about what the bounds of a mark can show.

    Args:
        candidates: the configurations that may be accepted.
        where: tells the place of each rule, and of its keys.
        at: tells the place of anything in the file.

    Raises:
        SpecError: a rule that not even a perfect run could pass.
    """
    reach = _Reach(plan, matrix, candidates, where)
    for rule in plan.pass_mark.rules:
        yield from reach.of_rule(rule)
    yield from _of_judge(plan.pass_mark, at)
    yield from reach.of_choice(at)


def alpha_words(plan: Plan, *, parts: int = 1, rivals: int | None = None, attempt: int = 1) -> str:
    """Return the error of a bound in words: "95 % confidence (alpha 0.05 / 2 candidates)".

    Args:
        attempt: which attempt it is; each has half the error of the one before.
    """
    mark = plan.pass_mark
    candidates = sum(item.role == "candidate" for item in plan.configurations)
    alpha = 1 - Fraction(mark.confidence)
    family = f" / {candidates} candidates" if mark.family == "plan" and candidates > 1 else ""
    if rivals is not None:
        family = f" / {rivals} that may be taken wrongly" if rivals > 1 else ""
    halvings = attempt if mark.attempts.spend else attempt - 1
    which = "the first attempt" if attempt == 1 else f"attempt {attempt}"
    spent = f" / {f'2^{halvings}' if halvings > 1 else '2'} for {which}" if halvings else ""
    split = f" / {parts} alternatives" if parts > 1 else ""
    divided = f" (alpha {float(alpha):g}{family}{spent}{split})" if family or spent or split else ""
    return f"{float(Fraction(mark.confidence)) * 100:g} % confidence{divided}"


class _Reach:
    """What a plan's cases can show at best."""

    def __init__(
        self, plan: Plan, matrix: Matrix, candidates: Sequence[Configuration], where: Mapping[str, _Where]
    ) -> None:
        self.plan, self.mark, self.matrix, self.where = plan, plan.pass_mark, matrix, where
        self.candidates = [item.name for item in candidates]
        self.units = {} if self.mark.unit == "case" else {case.id: case.unit or "" for case in matrix.cases}
        self.noun = "cases" if self.mark.unit == "case" else f"different values of {self.mark.unit}"
        self.counted = "trials of these cases" if self.mark.over == "this_set" else self.noun
        self._alternatives = {rule.id: rule for rule in self.mark.alternatives}
        self._known: dict[tuple[object, ...], _Short | None] = {}

    # ------------------------------------------------------------------------------------------------------- rules

    def of_rule(self, rule: Rule, parts: int = 1) -> Iterator[str]:
        """Yield warnings about a rule of the mark; refuse one that cannot hold."""
        told = self._told(rule, parts)
        if told is not None:
            more = "repeats" if self.mark.over == "this_set" else "cases"
            hint = f"{'' if told[1].startswith(_NONE) else f'add {more}, '}lower the mark, or write basis: estimate"
            _refuse(self.where[rule.id](), f"{told[0]}: no run could pass; {told[1]}", hint)
        yield from self._notes(rule, parts)

    def _told(self, rule: Rule, parts: int) -> tuple[str, str] | None:
        """Return why no run could make a rule hold and what it takes, None if one could."""
        if rule.any_of:
            members = [self._told(self._alternatives[name], parts * len(rule.any_of)) for name in rule.any_of]
            first = members[0] if members else None
            return first if None not in members else None
        short = self._short_for_all(rule, parts)
        if short is None:
            return None
        wants = f"wants {rule.at_least}" if rule.at_least is not None else f"wants at most {rule.at_most}"
        wants = wants if rule.by is None else f"allows {rule.by} less than {rule.not_worse_than}"
        confidence = alpha_words(self.plan, parts=parts)
        return f'rule "{rule.id}" {wants} with {confidence}, and {short.found}', short.takes

    def _short_for_all(self, rule: Rule, parts: int) -> _Short | None:
        """Return what a perfect run lacks, if it does whatever candidate it is of."""
        if rule.basis != "bound" or rule.of is None:
            return None
        alpha = alpha_of(self.mark, self.plan, 1, parts=parts)
        if kind_of(rule.of) == "agreement":
            return None
        found: _Short | None = None
        cases = about(rule, self.matrix)
        grouped = rule.each is not None and rule.each != "configuration"
        for group in groups_of(rule.each or "", cases).values() if grouped else [cases]:
            shorts = [self._short(rule, name, group, alpha) for name in self.candidates]
            found = found or (shorts[0] if shorts and None not in shorts else None)
        return found

    def _short(self, rule: Rule, name: str, cases: Sequence[PlanCase], alpha: Fraction) -> _Short | None:
        """Return what a perfect run of a configuration over these cases lacks."""
        row = self._row(name, cases)
        key = (rule.id, tuple(row), alpha)
        if key not in self._known:
            self._known[key] = self._lacking(rule, row, alpha) if row else None
        return self._known[key]

    def _row(self, name: str, cases: Sequence[PlanCase]) -> list[tuple[str, int]]:
        """Return the cases that a configuration is asked, with their repeats."""
        wanted = {case.id for case in cases}
        row = self.matrix.counts[name]
        return [(c.id, n) for c, n in zip(self.matrix.cases, row, strict=True) if n and c.id in wanted]

    def _lacking(self, rule: Rule, row: Sequence[tuple[str, int]], alpha: Fraction) -> _Short | None:
        floor = rule.at_most is None
        if rule.by is not None:
            ends = self._compared(row, rule.of or "", alpha, (1, 0))
            bar, needed = -Fraction(rule.by), (1 - Fraction(rule.by)) / 2
        else:
            bar = Fraction(rule.at_least or rule.at_most or "0")
            needed = bar if floor else 1 - bar
            values = _values(row, rule.of or "", 1 if floor else 0)
            if rule.correct_for_judge is not None:
                perfect = guarded_ppi([1.0] * len(row), [0.0] * WELL_CHECKED, float(alpha))
                ends = (perfect.lower, perfect.upper)
            else:
                ends = shown(values, self.mark, self.units, alpha, trials_of(values, rule.of or "", "bound")).best
        if judged_by(ends, bar, floor=floor)[0] == "pass":
            return None
        best = ends[0] if floor else ends[1]
        return _Short(self._found(row, rule.of or "", best, bar), self._takes(rule, needed, bar, alpha))

    def _found(self, row: Sequence[tuple[str, int]], of: str, best: float, bar: Fraction) -> str:
        told = decimal_text(Fraction(f"{best:.9f}"), bar, 3)
        if self.mark.over == "this_set":
            return f"{_trials(row, of)} trials can show {told} at best"
        number = len({self.units.get(case, case) for case, _ in row})
        return f"{number} {self.noun} can show {told} at best"

    def _takes(self, rule: Rule, needed: Fraction, bar: Fraction, alpha: Fraction) -> str:
        """Return how many cases, or trials of the same cases, it takes."""
        noun = self.counted
        if rule.correct_for_judge is not None:
            return _it_takes(_fewest(lambda n: self._corrected(n, bar, alpha)), noun)
        if rule.by is not None and self.mark.over == "this_set":
            return _it_takes(_fewest(lambda n: self._pair_passes(n, (1, 0), bar, alpha)), noun)
        try:
            return _it_takes(fewest_cases(float(needed), float(alpha)), noun)
        except ValueError:
            return f"{_NONE} {noun} shows that"

    def _corrected(self, cases: int, bar: Fraction, alpha: Fraction) -> bool:
        perfect = guarded_ppi([1.0] * cases, [0.0] * WELL_CHECKED, float(alpha))
        return judged_by((perfect.lower, perfect.upper), bar, floor=True)[0] == "pass"

    # --------------------------------------------------------------------------------------------------- comparing

    def _compared(
        self, row: Sequence[tuple[str, int]], of: str, alpha: Fraction, means: tuple[int, int]
    ) -> tuple[float, float]:
        """Return the bounds of a difference where every case of the one, and of the other, has this mean."""
        own, other = (_values(row, of, mean) for mean in means)
        trials = trials_of(own, of, "bound")
        return shown_difference(own, other, self.mark, self.units, alpha, (trials, trials)).best

    def _pair_passes(self, cases: int, means: tuple[int, int], bar: Fraction, alpha: Fraction) -> bool:
        row = [(str(number), 1) for number in range(cases)]
        own, other = (_values(row, "", mean) for mean in means)
        ends = shown_difference(own, other, self.mark, {}, alpha, (cases, cases)).best
        return judged_by(ends, bar, floor=True)[0] == "pass"

    def _notes(self, rule: Rule, parts: int) -> Iterator[str]:
        """Yield what is told of a rule that some run could pass."""
        place = self.where[rule.id]
        alpha = alpha_of(self.mark, self.plan, 1, parts=parts)
        for name in rule.any_of:
            member, within = self._alternatives[name], parts * len(rule.any_of)
            told = self._told(member, within)
            if told is not None:
                yield f"{self.where[name]()}: {told[0]}: it never holds; {told[1]}"
            else:
                yield from self._notes(member, within)
        if rule.basis != "bound" or rule.of is None:
            return
        if kind_of(rule.of) == "agreement" and rule.at_least is not None:
            yield from _graded(place(), f'rule "{rule.id}"', rule.at_least, alpha, self.mark)
        elif rule.by is not None:
            ties = self._ties(self._size(about(rule, self.matrix), rule.of), Fraction(rule.by), alpha)
            if ties is not None:
                yield f'{place()}: rule "{rule.id}": a configuration that is equal to its reference {ties}'

    def _ties(self, size: int, within: Fraction, alpha: Fraction) -> str | None:
        """Return from which size on two that are equal are shown to be, None if this one is enough."""
        if within <= 0:
            return "never passes: there is no room between equal ones"
        if size and self._pair_passes(size, (1, 1), -within, alpha):
            return None
        fewest = _fewest(lambda n: self._pair_passes(n, (1, 1), -within, alpha))
        return f"passes only from {fewest or f'more than {MOST_CASES}'} {self.counted} on"

    def _size(self, cases: Sequence[PlanCase], of: str) -> int:
        """Return what a bound counts of these cases: their trials, their units, or themselves."""
        if self.mark.over == "this_set":
            return min(_trials(self._row(name, cases), of) for name in self.candidates)
        return len({self.units.get(case.id, case.id) for case in cases})

    def of_choice(self, at: Callable[[tuple[str | int, ...]], str]) -> Iterator[str]:
        """Yield what is told of a choice over bounds."""
        choose = self.mark.choose
        if choose is None:
            return
        if self.mark.stop is not None and self.mark.stop.mode == "sealed" and choose.by != "best":
            place = at(("pass_mark", "stop"))
            yield f"{place}: which one is the {choose.by} is open to the last trial: hardly any run is sealed earlier"
        if choose.basis != "bound" or choose.within is None or len(self.plan.configurations) < 2:
            return
        place = at(("pass_mark", "choose", "within"))
        wrong = wrong_ones(self.plan, choose)
        alpha, within = alpha_of(self.mark, self.plan, 1, rivals=wrong), Fraction(choose.within)
        wanted = measured_cases(choose.of, self.matrix)
        size = self._size([case for case in self.matrix.cases if case.id in wanted], choose.of)
        confidence = alpha_words(self.plan, rivals=wrong)
        if not self._pair_passes(size, (1, 0), -within, alpha):
            takes = _it_takes(_fewest(lambda n: self._pair_passes(n, (1, 0), -within, alpha)), self.counted)
            never = f"{size} {self.counted} never show with {confidence} that one is near enough"
            yield f"{place}: {never}: nothing is chosen; {takes}"
            return
        ties = self._ties(size, within, alpha)
        if ties is not None:
            yield f"{place}: with {confidence}, one that is equal to its rivals {ties}"


def _trials(row: Sequence[tuple[str, int]], of: str) -> int:
    """Return how many trials of exactly these cases a quantity is worth."""
    return trials_of(_values(row, of, 1), of, "bound")


def _values(row: Sequence[tuple[str, int]], of: str, mean: int) -> list[CaseValue]:
    """Return cases that all have one value."""
    return [CaseValue(case, mean, mean, 1, n if is_pooled(of) else 1, n, 0) for case, n in row]


def _fewest(passes: Callable[[int], bool]) -> int | None:
    """Return the smallest number of cases that passes, None beyond `MOST_CASES`; more cases show more."""
    good = 1
    while not passes(good):
        good *= 2
        if good > MOST_CASES:
            return None
    bad = good // 2
    while good - bad > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if passes(middle) else (good, middle)
    return good


def _it_takes(fewest: int | None, noun: str) -> str:
    return f"it takes {fewest} {noun}" if fewest is not None else f"it takes more than {MOST_CASES} {noun}"


def _of_judge(mark: PassMark, at: Callable[[tuple[str | int, ...]], str]) -> Iterator[str]:
    """Yield how many graded answers a demand on a judge takes; its alpha is not divided."""
    wanted = mark.evidence.judge
    if wanted is not None:
        place = at(("pass_mark", "evidence", "judge"))
        yield from _graded(place, "evidence.judge", wanted.agreement, 1 - Fraction(mark.confidence), mark)


def _graded(place: str, what: str, agreement: str, alpha: Fraction, mark: PassMark) -> Iterator[str]:
    """Yield how many answers must be graded, where the mark's own demand is for fewer.

    Raises:
        SpecError: no number of them is enough.
    """
    graded = mark.evidence.judge.graded if mark.evidence.judge is not None else 0
    try:
        fewest = fewest_cases(float(Fraction(agreement)), float(alpha))
    except ValueError:
        message = f"{what} wants an agreement of {agreement}, which no number of graded answers shows"
        _refuse(place, message, "lower it")
    if graded < fewest:
        lower = Fraction(f"{agreement_lower(graded, graded, float(alpha)):.9f}") if graded else Fraction(0)
        shows = f"; {graded} show {decimal_text(lower, Fraction(agreement), 3)}" if graded else ""
        yield f"{place}: {what}: an agreement of {agreement} takes {fewest} graded answers or more, all equal{shows}"


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)
