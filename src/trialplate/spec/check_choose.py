# SPDX-License-Identifier: Apache-2.0
"""Whether a choice, and the copies of a rule, can come to anything under a plan, before anything is committed or spent.

As in `checks`: an error is what could never be decided, a warning what is allowed and probably not meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from trialplate.errors import SpecError
from trialplate.record.matrix import Matrix
from trialplate.record.values import Choose, Configuration, Plan, PlanCase, Rule
from trialplate.rules.cells import under_test
from trialplate.rules.mark_shape import about_usage
from trialplate.rules.quantities import KINDS, RATES, draws_of, kind_of, measured_cases
from trialplate.rules.ruling import groups_of
from trialplate.rules.shape import costs_in
from trialplate.spec.document import Path
from trialplate.spec.mark_quantities import FORMS
from trialplate.spec.nearest import suggestion

__all__ = ["check_choose", "check_copies", "check_draws", "check_quantity"]


def check_quantity(of: str, what: str, plan: Plan, place: str) -> None:
    """Refuse a quantity that nobody measures.

    Raises:
        SpecError: no scorer gives it, and it is not always there.
    """
    metrics = {name for scorer in plan.scorers for name in scorer.metrics}
    kind = KINDS.fullmatch(of)
    if kind is not None and (kind["label"] or kind["agreement"]):
        wanted = "label" if kind["label"] else "judge"
        there = {item.metric if kind["label"] else item.name for item in plan.scorers if item.type == wanted}
        name = of.partition(":")[2]
        if name not in there:
            said = f'no scorer of type label gives "{name}"' if kind["label"] else f'there is no judge "{name}"'
            none = f"add a scorer of type {wanted} to scorers:, or take it out"
            raise SpecError(f"{what}: {said}", where=place, hint=suggestion(name, there) if there else none)
    elif of not in metrics and of not in RATES and not draws_of(of) and kind is None:
        hint = f"write of: {FORMS[of]}" if of in FORMS else suggestion(of, {*metrics, *RATES})
        raise SpecError(f'{what}: no scorer gives "{of}"', where=place, hint=hint)


def check_copies(rule: Rule, wanted: Sequence[PlanCase], where: Callable[..., str]) -> None:
    """Refuse a rule of which a copy, or the whole, has fewer cases than it asks for: nothing could pass.

    Raises:
        SpecError: naming the smallest one.
    """
    whole = rule.each in (None, "configuration")
    groups = {"": list(wanted)} if whole else groups_of(str(rule.each), wanted)
    value, cases = min(groups.items(), key=lambda item: (len(item[1]), item[0]))
    if len(cases) < rule.cases:
        what = f'rule "{rule.id}"' if whole else f'rule "{rule.id}" for the {rule.each} "{value}"'
        raise SpecError(
            f"{what} wants at least {rule.cases} cases, and there are {len(cases)}: nothing could pass",
            where=where("cases"),
            hint="add cases, lower the number, or name with where: those it is about",
        )


def check_draws(rule: Rule, repeats: Mapping[str, Sequence[int]], where: Callable[..., str]) -> Iterator[str]:
    """Yield a warning per candidate whose repeats are fewer than a chance over k of them needs.

    Args:
        repeats: how often each candidate is asked each of the rule's cases.

    Raises:
        SpecError: no candidate has so many.
    """
    k = draws_of(rule.of)
    if k is None:
        return
    short = {name: min(row, default=0) for name, row in repeats.items() if min(row, default=0) < k}
    if len(short) == len(repeats):
        message = f'rule "{rule.id}" is about {k} repeats of a case, and this plan asks some case {max(short.values())}'
        raise SpecError(f"{message} times: nothing could pass", where=where("of"), hint="raise repeats, or lower it")
    for name, least in short.items():
        yield f'{where()}: rule "{rule.id}" is about {k} repeats, and {name} has {least}: it stays inconclusive'


def check_choose(
    plan: Plan, matrix: Matrix, candidates: Sequence[Configuration], where: Callable[[Path], str]
) -> Iterator[str]:
    """Yield warnings about a choice.

    Raises:
        SpecError: it could never choose, or compares what cannot be compared.
    """
    mark, choose = plan.pass_mark, plan.pass_mark.choose
    if choose is None:
        for key, given in (("require", mark.require == "chosen"), *_only_with_choose(plan)):
            if given:
                place = where(("pass_mark", key))
                raise SpecError(f'"{key}" is about a choice, and there is no choose', where=place, hint="add choose:")
        return

    def at(*path: str) -> str:
        return where(("pass_mark", "choose", *path))

    check_quantity(choose.of, "choose", plan, at("of"))
    _check_sense(choose, plan, at)
    wanted = measured_cases(choose.of, matrix)
    asked = {
        name: sum(1 for case, times in zip(matrix.cases, row, strict=True) if times and case.id in wanted)
        for name, row in matrix.counts.items()
    }
    recorded = next((item for item in candidates if item.runner == "trace"), None)
    if choose.by == "fastest" and recorded is not None:
        message = f'"{recorded.name}" is read from traces, and how long it took is their own word'
        raise SpecError(message, where=at("by"), hint="choose by best or cheapest, or give it role: comparison")
    comparable = [item for item in candidates if asked[item.name] == len(wanted)]
    if not comparable or not wanted:
        message = f"no candidate is asked all {len(wanted)} cases that {choose.of} is measured on"
        raise SpecError(
            f"{message}: none could be chosen", where=at("of"), hint="widen the matrix, or choose over less"
        )
    for name, count in asked.items():
        if count < len(wanted):
            yield f"{at()}: {name} is asked {count} of the {len(wanted)} cases that are compared: it is never chosen"
    yield from _warnings(choose, plan, comparable, sum(n == len(wanted) for n in asked.values()), len(wanted), at)


def _only_with_choose(plan: Plan) -> Iterator[tuple[str, bool]]:
    yield "absent_rivals", plan.pass_mark.absent_rivals != "bound"
    mark = plan.pass_mark
    told = any(about_usage(rule.of) for rule in (*mark.rules, *mark.alternatives))
    yield "declared_usage", mark.declared_usage != "refuse" and not told


def _check_sense(choose: Choose, plan: Plan, at: Callable[..., str]) -> None:
    """Refuse keys that contradict each other."""
    if choose.of == "error_rate":
        raise SpecError("choose takes what is better the higher it is", where=at("of"), hint="name another quantity")
    if kind_of(choose.of) != "mean":
        raise SpecError("choose compares shares of cases", where=at("of"), hint="name a metric or a rate")
    if len(set(choose.tie_break)) < len(choose.tie_break):
        raise SpecError("a tie is broken once by each", where=at("tie_break"), hint="name each once")
    for key, default in (("against", "best"), ("best_among", "all")):
        if choose.within is None and getattr(choose, key) != default:
            message = f'"{key}" says what "within" is counted from, and there is no within'
            raise SpecError(message, where=at(key), hint="add within:, or take it out")
    if choose.against != "best" and choose.best_among != "all":
        message = f'"best_among" is about the best one, and this is against {choose.against}'
        raise SpecError(message, where=at("best_among"), hint="take one of the two out")
    found = costs_in(plan)
    if len(found) > 1:
        message = f"costs in {' and '.join(found)} cannot be compared"
        raise SpecError(message, where=at("by"), hint="give every candidate's pricing one currency")


def _warnings(
    choose: Choose, plan: Plan, comparable: Sequence[Configuration], rivals: int, number: int, at: Callable[..., str]
) -> Iterator[str]:
    if choose.within is not None and rivals == 1:
        yield f"{at('within')}: there is no rival, so it says nothing"
    elif choose.within is not None and float(choose.within) * number < 1:
        weight = f"one case of {number} weighs {100 / number:.1f} points"
        yield f"{at('within')}: {weight}, more than the {float(choose.within) * 100:g} that are allowed"
    if choose.by != "cheapest":
        return
    for item in comparable:
        own_word = under_test(item) and plan.pass_mark.declared_usage == "accept"
        if item.pricing is None and not own_word:
            yield f"{at('by')}: the price of {item.name} is unknown: if it passes, nothing can be chosen"
        elif (
            item.pricing is not None
            and (under_test(item) or item.runner == "trace")
            and plan.pass_mark.declared_usage == "refuse"
            and not item.pricing.free
        ):
            yield f"{at('by')}: {item.name} counts its own tokens: without declared_usage: accept its cost is unknown"
