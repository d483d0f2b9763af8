# SPDX-License-Identifier: Apache-2.0
"""What a plan must be, beyond its fields: nothing that a reader sees and no rule looks at."""

from __future__ import annotations

from collections.abc import Iterator

from trialplate.record.matrix import selects
from trialplate.record.values import Plan
from trialplate.rules.mark_in_plan import fit_flaws
from trialplate.rules.mark_shape import mark_flaws
from trialplate.rules.quantities import KINDS, RATES, draws_of

MOST_TRIALS = 10_000_000
"""Of a run: no record is longer, and no reader shall count what a plan only claims."""
__all__ = ["MOST_TRIALS", "costs_in", "plan_problems"]


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
    given = {name for item in plan.scorers for name in item.metrics}
    if any(name in RATES or draws_of(name) or KINDS.fullmatch(name) for name in given):
        yield "a scorer's metric has the name of a rate, or of another quantity"
    helpers = [item.name for item in plan.helpers]
    if len({*helpers, *names}) < len(helpers) + len(names) or {s.helper for s in plan.scorers} - {*helpers, None}:
        yield "a helper's name stands twice, or a scorer names one that is not in the plan"
    if len(costs_in(plan)) > 1:
        yield "choose compares costs in two currencies"
    if not any(mark_flaws(plan.pass_mark)):
        yield from map(str, fit_flaws(plan))
    if any(len({*case.tags}) < len(case.tags) for case in plan.test_set.cases):
        yield "a case has a tag twice, and would count twice under it"
    for case in plan.test_set.cases:
        metrics = [name for item in plan.scorers if selects(item.cases, case) for name in item.metrics]
        if len(set(metrics)) != len(metrics):
            yield f"two scorers give one metric on case {case.id}"
            return
