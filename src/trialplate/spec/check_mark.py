# SPDX-License-Identifier: Apache-2.0
"""Whether the rules of a mark can come to anything under a plan, before anything is committed or spent.

As in `checks`: an error is what could never be decided, a warning what is allowed and probably not meant. What a reader
refuses as well (`rules.mark_shape`, `rules.mark_in_plan`) is told here at its key.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NoReturn

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.matrix import Matrix, selects
from trialplate.record.values import Case, Configuration, Plan, Rule, Selector
from trialplate.rules.mark_in_plan import fit_flaws
from trialplate.rules.mark_shape import Flaw, has_bounds, mark_flaws
from trialplate.rules.quantities import measured_cases
from trialplate.spec.check_choose import check_choose, check_copies, check_draws, check_quantity
from trialplate.spec.check_reach import check_reach
from trialplate.spec.document import Path
from trialplate.spec.mark_quantities import is_amount
from trialplate.spec.project import Project
from trialplate.spec.resolve_mark import rule_places
from trialplate.spec.selectors import clipped, nowhere, selector_hint
from trialplate.verify.findings import counted

__all__ = ["check_mark"]

_Where = Callable[..., str]
_DO = {
    "basis": "write basis: estimate, which compares the measured number as it is",
    "of": "name another quantity, or take the rule out",
    "correct_for_judge": "take it out, or change what it does not go with",
    "choose.basis": "write basis: estimate, which compares the measured numbers as they are",
    "stop.mode": "change it, or write stop: {mode: none}",
    "stop.rule": "name such a rule, or write stop: {mode: none}",
    "stop.accept": "make the table as docs/statistics.md, section 8, does, or write stop: {mode: none}",
    "evidence.judge.scorer": "name a scorer of type judge",
    "unit": "give the mark a unit: that they share, or leave one of them out",
    "require": "add choose:, or take it out",
}
_SEALING = "a run cannot be sealed"


def check_mark(
    plan: Plan, matrix: Matrix, project: Project, candidates: Sequence[Configuration], *, reach: bool
) -> Iterator[str]:
    """Yield warnings about the rules and the choice of a mark.

    Raises:
        SpecError: at the first thing that could never be decided.
    """
    places = rule_places(project)
    where = {name: _below(project, place) for name, place in reversed(places)}
    _check_ids(places, project)
    mark = plan.pass_mark
    _check_flaws((flaw for flaw in mark_flaws(mark) if flaw.rule), where, project)
    open_for: dict[str, str] = {}
    for rule in (*mark.rules, *mark.alternatives):
        if not rule.any_of:
            yield from _check_selected(rule, matrix, project, where[rule.id])
            lacking = open_for if rule in mark.rules else {}
            yield from _check_rule(rule, plan, matrix, candidates, lacking, where[rule.id])
    yield from check_choose(plan, matrix, candidates, project.document.where)
    if len(open_for) == len(candidates):
        name, told = next(iter(open_for.items()))
        message = f"no configuration could be accepted: {name} stays inconclusive by rule {told}"
        hint = "give every candidate the cases of every rule, narrow the rules by where:, or make plans of their own"
        _refuse(project.document.where(("pass_mark", "rules")), message, hint)
    if has_bounds(mark):
        _check_twins(project, mark.unit)
    _check_flaws(chain(mark_flaws(mark), fit_flaws(plan)), where, project)
    if reach:
        yield from check_reach(plan, matrix, candidates, where, project.document.where)


def _below(project: Project, place: Path) -> _Where:
    """Return what tells the place of a rule, and of its keys."""
    return lambda *path: project.document.where((*place, *path))


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)


def _check_ids(places: Sequence[tuple[str, Path]], project: Project) -> None:
    seen: set[str] = set()
    for name, place in places:
        if name in seen:
            _refuse(project.document.where((*place, "id")), f'two rules have the id "{name}"', "rename one")
        if len(name) > 64:
            _refuse(project.document.where(place), f'the id "{name}" is longer than 64 characters', "give it an id")
        seen.add(name)


def _check_flaws(flaws: Iterator[Flaw], where: Mapping[str, _Where], project: Project) -> None:
    """Refuse the first thing that a reader would refuse, at its key."""
    for flaw in flaws:
        hint = _DO.get(flaw.key, "change it, or take it out")
        if flaw.rule:
            hint = "write stop: {mode: none}, or take the rule out" if _SEALING in flaw.message else hint
            _refuse(where[flaw.rule](flaw.key), f'rule "{flaw.rule}": {flaw.message}', hint)
        hint = "write attempts: {max: 1}" if "attempts.max" in flaw.message else hint
        _refuse(project.document.where(("pass_mark", *flaw.key.split("."))), flaw.message, hint)


def _check_twins(project: Project, unit: str) -> None:
    """Refuse two cases that ask the same but for white space and the case of letters, and are not one unit."""
    seen: dict[bytes, Case] = {}
    key = unit.removeprefix("meta.")
    for case in project.cases:
        first = seen.setdefault(canonical.encode(_alike(case.asked)), case)
        if first is case or (unit != "case" and first.meta.get(key) == case.meta.get(key)):
            continue
        message = f'cases "{first.id}" and "{case.id}" ask the same, and under a bound each would count as one more'
        hint = "leave one out, or give both the same value in meta and write unit: meta.KEY"
        _refuse(project.places[case.id], message, hint)


def _alike(asked: Json) -> Json:
    """Return what is asked, without what makes no other question of it."""
    if isinstance(asked, dict):
        return {**asked, "input": _alike(asked["input"])}
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", asked).casefold()).split())


def _check_selected(rule: Rule, matrix: Matrix, project: Project, where: _Where) -> Iterator[str]:
    """A rule over no case, or that names a case which is not there, is a mistake: the others could pass without it."""
    named, key = (rule.where, "where") if rule.must_pass is None else (rule.must_pass, "must_pass")
    if not any(selects(named, case) for case in matrix.cases):
        _refuse(where(key), f'rule "{rule.id}" selects no case', selector_hint(named, project.cases))
    for part, value in nowhere(named, project.cases):
        if part == "id":
            message = f'rule "{rule.id}" names the case "{clipped(value)}", which is not there'
            _refuse(where(key), message, selector_hint(Selector(id=(value,)), project.cases))
        yield f'{where(key)}: rule "{rule.id}" names the {part} "{clipped(value)}", which no case has'


def _check_rule(
    rule: Rule,
    plan: Plan,
    matrix: Matrix,
    candidates: Sequence[Configuration],
    open_for: dict[str, str],
    where: _Where,
) -> Iterator[str]:
    """A rule must have something to speak about, and of whom it cannot speak stays inconclusive.

    Args:
        open_for: gets the candidates that are not asked all of its cases, each with the rule and how many.
    """
    named, key = (rule.where, "of") if rule.must_pass is None else (rule.must_pass, "must_pass")
    if rule.of is not None:
        check_quantity(rule.of, f'rule "{rule.id}"', plan, where(key))
        if rule.at_least == "0" or (rule.at_most == "1" and not is_amount(rule.of)) or rule.by == "1":
            yield f'{where()}: rule "{rule.id}" holds whatever the answers are'
        if _backwards(rule):
            asked, meant = ("at_most", "at_least") if rule.at_least is None else ("at_least", "at_most")
            better = "higher" if meant == "at_least" else "lower"
            told = f'rule "{rule.id}" asks for {asked} of {rule.of}, which is better the {better} it is'
            yield f"{where(asked)}: {told}: did you mean {meant}?"
    measured = {case.id for case in matrix.cases} if rule.of is None else measured_cases(rule.of, matrix)
    wanted = [case.id in measured and selects(named, case) for case in matrix.cases]
    repeats = {
        item.name: [times for is_wanted, times in zip(wanted, matrix.counts[item.name], strict=True) if is_wanted]
        for item in candidates
    }
    reached = {name: sum(1 for times in row if times) for name, row in repeats.items()}
    if not any(reached.values()):
        _refuse(where(key), f'rule "{rule.id}" meets no case that is asked and measured', "widen it, or the matrix")
    check_copies(rule, [case for case, is_wanted in zip(matrix.cases, wanted, strict=True) if is_wanted], where)
    yield from check_draws(rule, repeats, where)
    _check_reference(rule, matrix, wanted, where)
    for name, count in reached.items():
        if count < sum(wanted):
            told = f'"{rule.id}", which is about {counted(sum(wanted), "case")}, of which it is asked {count or "none"}'
            open_for.setdefault(name, told)
            yield f"{where()}: {name} stays inconclusive by rule {told}"


def _backwards(rule: Rule) -> bool:
    """Say whether a rule holds the better, the worse the answers are. Which way a metric is good, nobody says."""
    name = (rule.of or "").partition(":")[0]
    if rule.at_least is not None:
        return rule.of == "error_rate" or is_amount(rule.of or "")
    good = ("accuracy", "agreement", "macro_f1", "pass_at", "pass_hat", "share")
    rates = ("trial_pass_rate", "case_pass_rate")
    return rule.at_most is not None and (rule.of in rates or (name in good and name != rule.of))


def _check_reference(rule: Rule, matrix: Matrix, wanted: Sequence[bool], where: _Where) -> None:
    """Refuse a comparison with a configuration that is not asked the same cases: nothing could be told."""
    row = matrix.counts.get(rule.not_worse_than or "")
    if row is None:
        return
    asked = sum(1 for times, is_wanted in zip(row, wanted, strict=True) if times and is_wanted)
    if asked < sum(wanted):
        message = f'rule "{rule.id}" compares with {rule.not_worse_than}, which is asked {asked or "none"}'
        hint = "widen the matrix, or narrow the rule by where:"
        _refuse(
            where("not_worse_than"), f"{message} of its {counted(sum(wanted), 'case')}: nothing could be told", hint
        )
