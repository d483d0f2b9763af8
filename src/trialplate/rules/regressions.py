# SPDX-License-Identifier: Apache-2.0
"""Rules on a baseline: what an earlier run shows of the same cases, and which of them are worse now.

The baseline is a reference like any other, so a cell of it that tells nothing of the model counts against whoever is
compared with it: what is unknown there counts as passed. A case that is not the same there and here has no former
result, and must pass.

Source: docs/formats/pass-mark.md, clause 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from trialplate.record import canonical, codec
from trialplate.record.decisions import CopyResult, Result
from trialplate.record.matrix import attempt_key, selects
from trialplate.record.values import PassMark, Plan, Rule, Selector
from trialplate.rules.cells import unsettled
from trialplate.rules.circumstances import Former
from trialplate.rules.quantities import Fold, Row, case_passes, measured_in
from trialplate.rules.rivals import as_rival
from trialplate.rules.told import Told, between, counts_of, least, nothing

__all__ = ["baseline_rules", "former_row", "no_regressions", "scored_alike"]

Kind = Literal["unchanged", "changed", "new", "removed", "allowed"]
KINDS: tuple[Kind, ...] = ("unchanged", "changed", "new", "removed", "allowed")
"""How a case stands to the baseline, in the order in which they are told."""
_BY_CASE = ("tag", "kind", "suite")


# ------------------------------------------------------------------------------------------------------ of the mark


def baseline_rules(mark: PassMark) -> set[str]:
    """Return the ids of the mark's rules, and of its alternatives, that rest on a baseline."""
    every = {rule.id: rule for rule in (*mark.rules, *mark.alternatives)}
    found = {name for name, rule in every.items() if rule.no_regressions or rule.not_worse_than == "baseline"}
    while more := {name for name, rule in every.items() if name not in found and not found.isdisjoint(rule.any_of)}:
        found |= more
    return found


# --------------------------------------------------------------------------------------------------- of the baseline


def former_row(plan: Plan, former: Former | None, name: str, cases: Sequence[str], of: str | None) -> Row | str:
    """Return the baseline's cells of these cases, or the reason why there are none to compare with.

    The cases must be the same on both sides, and scored in the same way: else a difference would not be the model's.

    Args:
        name: the configuration that is compared; so is the baseline's, where the mark names no other.
        of: the quantity.
    """
    row = _row(plan, former, name)
    if row is None or former is None:
        return "baseline_missing"
    if former.plan.test_set.root != plan.test_set.root:
        return "test_set_differs"
    if not scored_alike(plan, former.plan, of):
        return "scorers_differ"
    there = dict(row)
    if any(case not in there for case in cases):
        return "not_asked"
    return [(case, there[case]) for case in cases]


def _row(plan: Plan, former: Former | None, name: str) -> Row | None:
    """Return the cells of what a configuration is compared with, None where the baseline is not here or lacks it."""
    if former is None:
        return None
    named = plan.pass_mark.baseline
    wanted = name if named is None or named.configuration is None else named.configuration
    return list(former.board.of(former.matrix, wanted)) if wanted in former.matrix.counts else None


def scored_alike(plan: Plan, former: Plan, of: str | None = None) -> bool:
    """Say whether two plans over one test set score what a quantity is about in the same way; all of it without one."""
    if of is not None and of.startswith(("share:", "p50:", "p90:", "p95:", "p99:", "cost:", "tokens:")):
        return True  # measured, and not scored
    metric = measured_in(of)
    now, then = (_ways(item, metric) for item in (plan, former))
    return all(now[case.id] == then.get(case.id) for case in plan.test_set.cases)


def _ways(plan: Plan, metric: str | None = None) -> Mapping[str, frozenset[str]]:
    """Return the ways in which each case of a plan is scored, or those that yield one metric, as digests.

    What a scorer is called and which other cases it applies to is no part of them; the model that it asks is.
    """
    helpers = {item.name: attempt_key(item) for item in plan.helpers}
    ways = {}
    for item in plan.scorers:
        alone = codec.to_json(item.replace(name="scorer", cases=Selector(), helper=None))
        ways[item.name] = canonical.digest_value({"scorer": alone, "helper": helpers.get(item.helper or "")})
    scorers = [item for item in plan.scorers if metric is None or metric in item.metrics]
    return {
        case.id: frozenset(ways[item.name] for item in scorers if selects(item.cases, case))
        for case in plan.test_set.cases
    }


# --------------------------------------------------------------------------------------------------- case by case


class _Change(NamedTuple):
    """How one case stands to the baseline, and whether it may be so, with its unknown repeats failed and passed."""

    case: str
    kind: Kind
    worst: bool
    best: bool


def no_regressions(rule: Rule, plan: Plan, row: Row, former: Former | None, name: str, errors: str) -> Told:
    """Return what a rule against regressions comes to, case by case.

    A case regressed if it passed in the baseline and fails now, if it is new or changed and fails, or if it is gone.
    It is open if it regressed only with its unknown repeats failed.

    Args:
        row: the configuration's cells of the cases that the rule is about.
        errors: the mark's policy on unknown cells; the baseline's count as passed under each.
    """
    counts = counts_of(row)
    before = _row(plan, former, name)
    if before is None or former is None:
        return nothing({**counts, "reason": "baseline_missing"}, moves=True)
    changes = list(_changes(rule, plan, row, former, as_rival(before), errors))
    if not changes:
        return nothing({**counts, "reason": "no_cases"})
    by_kind = {kind: [item for item in changes if item.kind == kind] for kind in KINDS}
    copies = tuple(_copy(kind, there, row) for kind, there in by_kind.items() if there)
    worst: Result = least(_word(item.worst) for item in changes)
    best: Result = least(_word(item.best) for item in changes)
    result = between(worst, best)
    fields = {**counts, "reason": _reason(result), "failing": _in_the_way(changes), "copies": copies}
    return Told(result, worst, best, fields)


def _changes(rule: Rule, plan: Plan, row: Row, former: Former, before: Row, errors: str) -> Iterator[_Change]:
    """Yield how each case stands to the baseline: those of now in their order, then those that are gone."""
    fold: Fold = plan.verdict.case
    then = {case.id: case for case in former.matrix.cases}
    now = {case.id: case for case in plan.test_set.cases}
    passed = {case: case_passes(repeats, fold, "bound")[1] is True for case, repeats in before}
    alike = _same_cases(plan, former.plan)
    for case, repeats in row:
        kind: Kind = "new" if case not in passed else "unchanged" if case in alike else "changed"
        worst, best = case_passes(repeats, fold, errors)
        holds, may_hold = worst is True, best is not False
        if kind == "unchanged" and not passed[case]:
            holds = may_hold = True
        yield _allowed(rule, _Change(case, kind, holds, may_hold))
    for case in passed:
        if selects(rule.where, then[case]) and not (case in now and selects(rule.where, now[case])):
            yield _allowed(rule, _Change(case, "removed", False, False))


def _same_cases(plan: Plan, former: Plan) -> set[str]:
    """Return the cases that are the same in both, down to what they are scored by."""
    then = {case.id: case.commitment for case in former.test_set.cases}
    same = [case for case in plan.test_set.cases if then.get(case.id) == case.commitment]
    if (plan.scorers, plan.helpers) == (former.scorers, former.helpers):
        return {case.id for case in same}
    ways, others = _ways(plan), _ways(former)
    return {case.id for case in same if ways[case.id] == others[case.id]}


def _allowed(rule: Rule, change: _Change) -> _Change:
    """Return a change as one that may be, where the rule names its case and it would not hold by itself."""
    needs = not change.worst and change.case in rule.allow
    return _Change(change.case, "allowed", True, True) if needs else change


def _word(holds: bool) -> Result:
    return "pass" if holds else "fail"


def _reason(result: Result) -> str:
    return {"fail": "regressed", "inconclusive": "unknown_cells", "pass": "met"}[result]


def _in_the_way(changes: Sequence[_Change]) -> tuple[str, ...]:
    """Return the first ten cases that regressed, or, where none did, that may have."""
    regressed = [item.case for item in changes if not item.best]
    return tuple((regressed or [item.case for item in changes if not item.worst])[:10])


def _copy(kind: Kind, changes: Sequence[_Change], row: Row) -> CopyResult:
    """Return what the cases of one kind come to; of those that are allowed to be worse, which they are."""
    there = {item.case for item in changes}
    cells = [cell for case, repeats in row if case in there for cell in repeats]
    result = between(least(_word(item.worst) for item in changes), least(_word(item.best) for item in changes))
    named = tuple(item.case for item in changes[:10]) if kind == "allowed" else _in_the_way(changes)
    return CopyResult(
        value=kind,
        result=result,
        reason=_reason(result),
        cells=len(cells),
        cases=len(changes),
        unknown=unsettled(cells),
        failing=named,
    )
