# SPDX-License-Identifier: Apache-2.0
"""What a pass mark and the rest of its plan must be to each other, so that its bounds keep what they promise.

Source: DESIGN section 7; docs/formats/pass-mark.md, clauses 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from trialplate.record.matrix import Matrix, narrow, selects
from trialplate.record.values import PassMark, Plan, PlanCase, Rule, Stop
from trialplate.rules.bounds import ROUNDING
from trialplate.rules.mark_shape import Flaw, has_bounds
from trialplate.rules.quantities import KINDS, draws_of, is_misspelt, is_pooled, measured_cases
from trialplate.rules.sequential import CountPlan, dp_plan
from trialplate.rules.shown import alpha_of

__all__ = ["about", "false_acceptance", "fit_flaws", "twins"]

MOST_SEALED_REPEATS = 10
"""Up to so many repeats the guarded bound was found never to fall by a better answer."""
MOST_COPIES = 100_000
"""Of rules with `each`, and of comparisons of two configurations under `choose`, in all: a minute's work."""


def fit_flaws(plan: Plan) -> Iterator[Flaw]:
    """Yield what of a mark does not fit its plan. The mark itself is sound."""
    mark = plan.pass_mark
    every = (*mark.rules, *mark.alternatives)
    names = {item.name for item in plan.configurations}
    for rule in every:
        if rule.not_worse_than is not None and rule.not_worse_than not in {*names, "baseline"}:
            yield Flaw("it compares with a configuration that is not in the plan", "not_worse_than", rule.id)
        yield from (flaw._replace(rule=rule.id) for flaw in _scored(rule, plan))
    choose = mark.choose
    if choose is not None and _meant_otherwise(choose.of, plan):
        yield Flaw(f"{choose.of} begins as a quantity does, and is none", "choose.of")
    if choose is not None and ({choose.against, choose.keep} - {"best", None, *names}):
        yield Flaw("choose names a configuration that is not in the plan", "choose.against")
    if mark.evidence.judge is not None and mark.evidence.judge.scorer not in _judges(plan):
        yield Flaw(f"{mark.evidence.judge.scorer} is no judge of the plan", "evidence.judge.scorer")
    copies = _copies(plan)
    if copies > MOST_COPIES:
        yield Flaw(f"{copies} copies of rules and comparisons: at most {MOST_COPIES} are worked out", "rules")
    if any((case.unit is None) != (mark.unit == "case") for case in plan.test_set.cases):
        yield Flaw("a case has a unit where the mark says what it is, and nowhere else", "unit")
    if has_bounds(mark):
        yield from _of_bounds(plan, narrow(plan, None))


def twins(cases: Iterator[PlanCase]) -> tuple[PlanCase, PlanCase] | None:
    """Return the first two cases that ask the same and do not share a unit; None if there are none."""
    seen: dict[str, PlanCase] = {}
    for case in cases:
        if case.asked is None:
            continue
        first = seen.setdefault(case.asked, case)
        if first is not case and (case.unit is None or case.unit != first.unit):
            return first, case
    return None


def about(rule: Rule, matrix: Matrix) -> list[PlanCase]:
    """Return the cases that a rule over a quantity is about."""
    measured = measured_cases(rule.of or "", matrix)
    return [case for case in matrix.cases if case.id in measured and selects(rule.where, case)]


def false_acceptance(stop: Stop, at_least: str) -> float:
    """Return how often counts accept what is just at the threshold, each case failing with chance 1 - threshold."""
    return dp_plan(CountPlan(stop.accept, stop.reject), 1 - float(at_least)).accept


def _copies(plan: Plan) -> int:
    """Return how many copies of rules, and comparisons for `choose`, a decision on every configuration takes."""
    mark, cases, configurations = plan.pass_mark, plan.test_set.cases, plan.configurations
    values = {
        "tag": 1 + len({tag for case in cases for tag in case.tags}),
        "kind": len({case.kind for case in cases}),
        "suite": len({case.suite for case in cases}),
        "configuration": sum(item.role == "candidate" for item in configurations),
    }
    each = sum(values[rule.each] for rule in (*mark.rules, *mark.alternatives) if rule.each is not None)
    return len(configurations) * (each + (len(configurations) if mark.choose is not None else 0))


def _judges(plan: Plan) -> set[str]:
    return {item.name for item in plan.scorers if item.type == "judge"}


def _meant_otherwise(of: str, plan: Plan) -> bool:
    """Say whether a quantity is misspelt, and is not the name of a metric either."""
    return is_misspelt(of) and not any(of in item.metrics for item in plan.scorers)


def _scored(rule: Rule, plan: Plan) -> Iterator[Flaw]:
    """Yield what a rule needs of scorers that are not there."""
    if _meant_otherwise(rule.of or "", plan):
        yield Flaw(f"{rule.of} begins as a quantity does, and is none", "of")
    found = KINDS.fullmatch(rule.of or "")
    what = (rule.of or "").partition(":")[2]
    if found is not None and found["agreement"] and what not in _judges(plan):
        yield Flaw(f"{what} is no judge of the plan", "of")
    if found is not None and found["label"]:
        giving = {item.type for item in plan.scorers if what in item.metrics}
        if giving != {"label"}:
            yield Flaw(f"{what} is no metric of label scorers alone", "of")
    if rule.correct_for_judge is not None:
        giving = {item.name for item in plan.scorers if rule.of in item.metrics}
        if giving != {rule.correct_for_judge} or rule.correct_for_judge not in _judges(plan):
            yield Flaw(f"{rule.of} is not given by one judge alone", "correct_for_judge")


def _of_bounds(plan: Plan, matrix: Matrix) -> Iterator[Flaw]:
    mark = plan.pass_mark
    both = twins(iter(plan.test_set.cases))
    if both is not None:
        yield Flaw(f"cases {both[0].id} and {both[1].id} ask the same and share no unit", "unit")
    if any(case.asked is None for case in plan.test_set.cases):
        yield Flaw("under a bound every case says which question it is", "unit")
    for rule in (*mark.rules, *mark.alternatives):
        if rule.basis == "bound" and rule.of is not None:
            yield from (flaw._replace(rule=rule.id) for flaw in _of_repeats(rule, rule.of, matrix, mark))
    if mark.stop is not None and mark.stop.mode == "counts":
        yield from _of_counts(plan, matrix, mark.stop)
    choose = mark.choose
    if choose is not None and choose.basis == "bound" and choose.within is not None and _sealed(mark):
        wanted = measured_cases(choose.of, matrix)
        rows = _repeats([case for case in matrix.cases if case.id in wanted], matrix)
        if any(not _steady(row, choose.of) for row in rows):
            yield Flaw(_UNSTEADY, "choose.of")


_UNSTEADY = f"a run cannot be sealed by a bound of more than {MOST_SEALED_REPEATS} repeats, or of unequal ones"


def _sealed(mark: PassMark) -> bool:
    return mark.stop is not None and mark.stop.mode == "sealed"


def _of_repeats(rule: Rule, of: str, matrix: Matrix, mark: PassMark) -> Iterator[Flaw]:
    if draws_of(of) is None and not _sealed(mark):
        return
    rows = _repeats(about(rule, matrix), matrix)
    if of.startswith("pass_hat") and any(set(row) - {draws_of(of)} for row in rows):
        yield Flaw(f"a bound of {of} is known where every case has so many repeats", "basis")
    if _sealed(mark) and mark.over == "cases" and any(not _steady(row, of) for row in rows):
        yield Flaw(_UNSTEADY, "of")


def _repeats(cases: list[PlanCase], matrix: Matrix) -> list[list[int]]:
    """Return how often each configuration is asked each of these cases, where it is."""
    wanted = {case.id for case in cases}
    rows = matrix.counts.values()
    return [[n for case, n in zip(matrix.cases, row, strict=True) if n and case.id in wanted] for row in rows]


def _steady(row: list[int], of: str) -> bool:
    return max(row, default=0) <= MOST_SEALED_REPEATS and not (is_pooled(of) and len(set(row)) > 1)


def _of_counts(plan: Plan, matrix: Matrix, stop: Stop) -> Iterator[Flaw]:
    """The table must keep the rule's own promise, at every attempt that the mark allows."""
    mark = plan.pass_mark
    rule = next((rule for rule in mark.rules if rule.id == stop.rule), None)
    if rule is None or rule.at_least is None or mark.attempts.max is None:
        return  # said of the mark by itself
    cases = len(about(rule, matrix))
    if len(stop.accept) > cases:
        yield Flaw(f"the lists have {len(stop.accept)} numbers, and there are {cases} cases", "stop.accept")
    if any(most >= least for most, least in zip(stop.accept, stop.reject, strict=False)):
        return
    alpha = alpha_of(mark, plan, mark.attempts.max)
    chance = false_acceptance(stop, rule.at_least)
    if chance > float(alpha) + ROUNDING:
        message = f"the counts accept what is just at {rule.at_least} in {chance:.4f} of runs"
        yield Flaw(f"{message}, more than the {float(alpha):.4f} that its bound may err", "stop.accept")
