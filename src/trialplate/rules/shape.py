# SPDX-License-Identifier: Apache-2.0
"""What a plan and a pass mark must be, beyond their fields: nothing that a reader sees and no rule looks at."""

from __future__ import annotations

from collections.abc import Iterator

from trialplate.record.matrix import selects
from trialplate.record.values import PassMark, Plan, Rule, Selector
from trialplate.rules.quantities import RATES, draws_of

MOST_TRIALS = 10_000_000
"""Of a run: no record is longer, and no reader shall count what a plan only claims."""
__all__ = ["MOST_TRIALS", "costs_in", "has_bounds", "mark_problems", "plan_problems"]


def mark_problems(mark: PassMark) -> Iterator[str]:
    """Yield what makes a pass mark ambiguous: a rule of no or of two kinds, a part that its kind ignores, a twin id."""
    ids = [rule.id for rule in mark.rules]
    if len(set(ids)) != len(ids) or not ids:
        yield "a pass mark has rules, and each its own id"
    for rule in mark.rules:
        if _kinds(rule) != 1:
            yield f"rule {rule.id} is not exactly one of at_least, at_most and must_pass"
        elif rule.must_pass is not None and (rule.of is not None or rule.each or rule.where != Selector()):
            yield f"rule {rule.id}: must_pass takes no of:, no each: and no where:"
        elif rule.must_pass is None and (rule.of is None or rule.require is not None):
            yield f"rule {rule.id}: a threshold needs of:, and takes no require:"
    choose = mark.choose
    if choose is None and (mark.require, mark.absent_rivals, mark.declared_usage) != ("eligible", "bound", "refuse"):
        yield "require, absent_rivals and declared_usage say how a choice is made, and there is no choose"
    if choose is not None and (choose.of == "error_rate" or len(set(choose.tie_break)) != len(choose.tie_break)):
        yield "choose compares what is better the higher it is, and names what breaks a tie once"
    if choose is not None and choose.within is None and (choose.against, choose.best_among) != ("best", "all"):
        yield "choose: against and best_among say what within is counted from, and there is no within"


def _kinds(rule: Rule) -> int:
    return sum(item is not None for item in (rule.at_least, rule.at_most, rule.must_pass))


def has_bounds(mark: PassMark) -> bool:
    """Say whether anything in a mark is decided by a bound, and so by how many attempts were made."""
    by_bound = any(rule.basis == "bound" for rule in (*mark.rules, *mark.alternatives))
    by_counts = mark.stop is not None and mark.stop.mode == "counts"
    return by_bound or by_counts or (mark.choose is not None and mark.choose.basis == "bound")


def costs_in(plan: Plan) -> list[str]:
    """Return the currencies in which `choose` would compare candidates; one that is free has none."""
    choose = plan.pass_mark.choose
    if choose is None or (choose.by != "cheapest" and "cost" not in choose.tie_break):
        return []
    prices = [item.pricing for item in plan.configurations if item.role == "candidate"]
    own = ["USD"] if None in prices and plan.pass_mark.declared_usage == "accept" else []  # what a far end says it cost
    return list(dict.fromkeys([*(item.currency for item in prices if item is not None and not item.free), *own]))


def plan_problems(plan: Plan) -> Iterator[str]:
    """Yield what makes a plan ambiguous: names that stand twice or nowhere, two scorers for one metric of one case."""
    names = [item.name for item in plan.configurations]
    scorers = [item.name for item in plan.scorers]
    twice = any(len({tool.name for tool in item.tools}) < len(item.tools) for item in plan.configurations)
    if twice or len(set(names)) != len(names) or len(set(scorers)) != len(scorers):
        yield "two configurations, two scorers, or two tools of a configuration share a name"
    if any(name not in names for line in plan.matrix for name in line.configurations):
        yield "the matrix names a configuration that is not in the plan"
    if any(name in RATES or draws_of(name) for item in plan.scorers for name in item.metrics):
        yield "a scorer's metric has the name of a rate"
    helpers = [item.name for item in plan.helpers]
    if len({*helpers, *names}) < len(helpers) + len(names) or {s.helper for s in plan.scorers} - {*helpers, None}:
        yield "a helper's name stands twice, or a scorer names one that is not in the plan"
    choose = plan.pass_mark.choose
    if len(costs_in(plan)) > 1:
        yield "choose compares costs in two currencies"
    if choose is not None and choose.against not in ("best", *names):
        yield "choose names a reference that is not in the plan"
    if any(len({*case.tags}) < len(case.tags) for case in plan.test_set.cases):
        yield "a case has a tag twice, and would count twice under it"
    for case in plan.test_set.cases:
        metrics = [name for item in plan.scorers if selects(item.cases, case) for name in item.metrics]
        if len(set(metrics)) != len(metrics):
            yield f"two scorers give one metric on case {case.id}"
            return
