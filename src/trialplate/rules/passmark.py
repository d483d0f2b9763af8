# SPDX-License-Identifier: Apache-2.0
"""The pass mark: what each rule comes to, and the decision they make. The one place that decides.

Arithmetic is in exact fractions of decimal text; nothing is rounded before it is compared. Unknown cells enter by each
rule's own extremes: a rule passes only if it passes with every unknown cell at its worse value, and fails only if it
fails with every one at its better value. Then the rules are combined three-valued: any fail rejects, else any
inconclusive one leaves it open. Evidence that the mark demands and the record does not show is inconclusive, never a
rejection. Where the mark has a `choose`, what `rules.choose` says of the configuration is one rule more.

Source: DESIGN sections 5 to 7; docs/formats/pass-mark.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from trialplate.record.decisions import Choice, CopyResult, DecisionWord, EvidenceResult, Result, RuleResult
from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix, selects
from trialplate.record.values import PassMark, Plan, PlanCase, Rule
from trialplate.rules.cells import Board
from trialplate.rules.choose import Standing, cost_per_trial, doubtful, median_latency, pick, within
from trialplate.rules.quantities import Fold, Row, Span, case_passes, draws_of, fraction_text, measured_cases, span_of

__all__ = ["NO_VALUE", "Evaluation", "evaluate", "evaluate_all", "groups_of"]


class Evaluation(Value, kw_only=False):
    """A configuration's own result: before other attempts are looked at."""

    decision: DecisionWord
    reasons: tuple[str, ...]
    evidence: tuple[EvidenceResult, ...]
    rules: tuple[RuleResult, ...]
    choice: Choice | None = None


def evaluate(
    plan: Plan, matrix: Matrix, configuration: str, board: Board, *, selection: str, finished: bool
) -> Evaluation:
    """Apply the plan's pass mark to one configuration's cells; as `evaluate_all`."""
    if plan.pass_mark.choose is None:
        return _alone(plan, matrix, list(board.of(matrix, configuration)), selection, finished)
    return evaluate_all(plan, matrix, board, selection=selection, finished=finished)[configuration]


def evaluate_all(
    plan: Plan, matrix: Matrix, board: Board, *, selection: str, finished: bool
) -> Mapping[str, Evaluation]:
    """Apply the plan's pass mark to every configuration's cells; under `choose` each depends on the others.

    Args:
        selection: "full" or "pilot"; a pilot never decides.
        finished: the run was closed as complete, and the ledger says that it ended.
    """
    mark = plan.pass_mark
    rows: dict[str, Row] = {name: list(board.of(matrix, name)) for name in matrix.counts}
    alone = {name: _alone(plan, matrix, row, selection, finished) for name, row in rows.items()}
    if mark.choose is None:
        return alone
    standings = _standings(plan, matrix, rows)
    stands = {name: within(mark, standings, name) for name in rows}
    eligible = {name: _decided(item.evidence, (*item.rules, stands[name])) for name, item in alone.items()}
    words: dict[DecisionWord, Result] = {"accepted": "pass", "rejected": "fail", "inconclusive": "inconclusive"}
    choice = pick(mark.choose, standings, {name: words[decision] for name, (decision, _) in eligible.items()})
    made = {}
    for name, item in alone.items():
        decision, reasons = eligible[name]
        if mark.require == "chosen" and decision == "accepted" and choice.chosen != name:
            may_be = choice.result == "open" and name in choice.possible
            decision, reasons = ("inconclusive", ("choice_open",)) if may_be else ("rejected", ("not_chosen",))
        own = choice.replace(within=stands[name])
        made[name] = Evaluation(decision, reasons, item.evidence, item.rules, own)
    return made


def _alone(plan: Plan, matrix: Matrix, row: Row, selection: str, finished: bool) -> Evaluation:
    """Return what a configuration comes to by evidence and rules, whatever the others did."""
    evidence = tuple(_evidence(plan.pass_mark, row, selection, finished))
    rules = tuple(_rule(rule, plan, matrix, row, plan.pass_mark.errors) for rule in plan.pass_mark.rules)
    return Evaluation(*_decided(evidence, rules), evidence, rules)


def _decided(
    evidence: tuple[EvidenceResult, ...], wanted: tuple[RuleResult | None, ...]
) -> tuple[DecisionWord, tuple[str, ...]]:
    """Combine evidence and rules three-valued; return the decision and its reasons."""
    rules = [rule for rule in wanted if rule is not None]
    missing = tuple(item.name for item in evidence if not item.met)
    failed = tuple(rule.id for rule in rules if rule.result == "fail")
    unclear = tuple(rule.id for rule in rules if rule.result == "inconclusive")
    if missing:
        return "inconclusive", missing
    if failed:
        return "rejected", failed
    if unclear or not rules:
        return "inconclusive", unclear or ("no_rules",)
    return "accepted", ()


def _standings(plan: Plan, matrix: Matrix, rows: Mapping[str, Row]) -> dict[str, Standing]:
    """Return the numbers of every configuration over the cases that `choose` speaks of."""
    mark, choose = plan.pass_mark, plan.pass_mark.choose
    if choose is None:
        return {}
    wanted = measured_cases(choose.of, matrix)
    found = {}
    for item in plan.configurations:
        if item.name not in rows:
            continue
        row = [(case, repeats) for case, repeats in rows[item.name] if case in wanted]
        rival: Row = [
            (case, [None if cell is None or doubtful(cell) else cell for cell in repeats])
            for case, repeats in rows[item.name]
        ]
        bounded = [(case, repeats) for case, repeats in rival if case in wanted]
        floors: Result = "pass"
        if choose.best_among == "floors_met":
            results = {_rule(rule, plan, matrix, rival, "bound").result for rule in mark.rules}
            floors = next(word for word in _WORST_FIRST if word in results)
        cells = [cell for _, repeats in row for cell in repeats]
        found[item.name] = Standing(
            name=item.name,
            candidate=item.role == "candidate",
            comparable=len(row) == len(wanted),
            own=span_of(choose.of, row, plan.verdict.case, mark.errors),
            rival=span_of(choose.of, bounded, plan.verdict.case, "bound"),
            floors=floors,
            answered=any(cell is not None and cell.known for _, repeats in bounded for cell in repeats),
            cost=cost_per_trial(item.pricing, cells, mark.declared_usage == "accept"),
            currency=item.pricing.currency if item.pricing is not None else "USD",
            latency_ms=median_latency(cells),
        )
    return found


# -------------------------------------------------------------------------------------------------------- evidence


def _evidence(mark: PassMark, row: Row, selection: str, finished: bool) -> Iterable[EvidenceResult]:
    """Yield what the mark demands of the record itself, met or not."""
    wanted = mark.evidence
    cells = [cell for _, repeats in row for cell in repeats]
    total = len(cells)
    begun = [cell for cell in cells if cell is not None]
    yield _demand("selection", selection == "full", "full", selection)
    yield _demand("finished", finished, "run.end", "run.end" if finished else "unfinished")
    unfit = sum(1 for cell in begun if cell.incompatible)
    attempted = sum(1 for cell in begun if cell.final not in ("absent", "skipped")) + unfit
    share = Fraction(attempted, total) if total else Fraction(0)
    met = total > 0 and share >= Fraction(wanted.complete)
    yield _demand("complete", met, f"at least {wanted.complete}", f"{attempted} of {total} trials")
    replayed = sum(1 for cell in begun if cell.replayed)
    yield _demand(
        "calls", wanted.calls == "any" or not replayed, wanted.calls, f"{replayed} of {total} trials replayed"
    )
    reasked = sum(1 for cell in begun if cell.reasked)
    asked = total - unfit  # what nobody could be asked makes nothing else rarer
    met = Fraction(reasked) <= Fraction(wanted.reasked) * asked
    yield _demand("reasked", met, f"at most {wanted.reasked}", f"{reasked} of {asked} cells")
    if wanted.infrastructure_errors is not None:
        errors = sum(1 for cell in begun if cell.final == "error")
        met = Fraction(errors) <= Fraction(wanted.infrastructure_errors) * asked
        yield _demand(
            "infrastructure_errors", met, f"at most {wanted.infrastructure_errors}", f"{errors} of {asked} cells"
        )
    yield _demand("cases", len(row) >= wanted.cases, f"at least {wanted.cases}", str(len(row)))
    fewest = min((len(repeats) for _, repeats in row), default=0)
    yield _demand("repeats", fewest >= wanted.repeats, f"at least {wanted.repeats}", str(fewest))


def _demand(name: str, met: bool, wanted: str, found: str) -> EvidenceResult:
    return EvidenceResult(name=name, met=met, wanted=wanted, found=found)


# ----------------------------------------------------------------------------------------------------------- rules

_WORST_FIRST: tuple[Result, ...] = ("fail", "inconclusive", "pass")
NO_VALUE = {"tag": "(untagged)", "kind": "", "suite": "(no suite)"}
"""What a case without a tag or a suite stands under."""


def _rule(rule: Rule, plan: Plan, matrix: Matrix, row: Row, errors: str) -> RuleResult:
    """Return what one rule comes to; of one with `each`, what its copies come to together."""
    selector = rule.where if rule.must_pass is None else rule.must_pass
    about = None if rule.of is None else measured_cases(rule.of, matrix)
    wanted = [case for case in matrix.cases if selects(selector, case) and (about is None or case.id in about)]
    asked = dict(row)
    fold = (rule.require if rule.must_pass is not None else None) or plan.verdict.case
    threshold = None if rule.must_pass is not None else fraction_text(_threshold(rule))
    if rule.each is None:
        told = _told(rule, wanted, asked, fold, errors)
        threshold = None if told["reason"] == "not_asked" else threshold
        return RuleResult(id=rule.id, threshold=threshold, **told)
    copies = tuple(
        CopyResult(value=value, **_told(rule, cases, asked, fold, errors))
        for value, cases in sorted(groups_of(rule.each, wanted).items())
    )
    result: Result = next(
        (word for word in _WORST_FIRST if any(item.result == word for item in copies)), "inconclusive"
    )
    whole = _told(rule, wanted, asked, fold, errors)
    return RuleResult(
        id=rule.id,
        result=result,
        reason=next((item.reason for item in copies if item.result == result), "no_cases"),
        threshold=threshold,
        cells=whole["cells"],
        cases=whole["cases"],
        unknown=whole["unknown"],
        copies=copies,
    )


def groups_of(each: str, cases: Iterable[PlanCase]) -> dict[str, list[PlanCase]]:
    """Return the cases by tag, kind or suite; a case with two tags stands under both."""
    found: dict[str, list[PlanCase]] = {}
    for case in cases:
        values = case.tags if each == "tag" else (case.kind if each == "kind" else case.suite,)
        for value in values or (None,):
            found.setdefault(value or NO_VALUE[each], []).append(case)
    return found


def _told(
    rule: Rule, wanted: list[PlanCase], asked: Mapping[str, list[Any]], fold: Fold, errors: str
) -> dict[str, Any]:
    """Return what a rule comes to over these cases, as the fields of a result.

    It cannot be told where the matrix leaves out cases that it is about: the mark and the test set are committed and
    the matrix is not, else it could leave out the hard ones. Nor where there are fewer cases than the rule wants.
    """
    chosen: Row = [(case.id, asked[case.id]) for case in wanted if case.id in asked]
    if len(wanted) > len(chosen):
        left = tuple(case.id for case in wanted if case.id not in asked)[:10]
        cells = sum(len(repeats) for _, repeats in chosen)
        return _fields("inconclusive", "not_asked", cells, len(wanted), 0, failing=left)
    if rule.must_pass is not None:
        told = _must_pass(chosen, fold, errors)
    else:
        if errors == "zero" and rule.at_most is not None:
            errors = "bound"  # 0 is the better value there: an outage must not keep a ceiling
        ceiling = rule.at_most is not None
        told = _compared(rule, chosen, span_of(rule.of or "", chosen, fold, errors, ceiling=ceiling), errors)
    if 0 < len(chosen) < rule.cases:
        told.update(result="inconclusive", reason="too_few_cases")
    return told


def _fields(result: Result, reason: str, cells: int, cases: int, unknown: int, **more: Any) -> dict[str, Any]:
    return {"result": result, "reason": reason, "cells": cells, "cases": cases, "unknown": unknown, **more}


def _must_pass(row: Row, fold: Fold, errors: str) -> dict[str, Any]:
    """Fold each named case; all of them must pass."""
    failed, unclear = [], []
    cells = unknown = 0
    for case, repeats in row:
        cells += len(repeats)
        unknown += sum(1 for cell in repeats if cell is None or not cell.settled)
        worst, best = case_passes(repeats, fold, errors)
        if best is False:
            failed.append(case)
        elif not worst:
            unclear.append(case)
    result: Result = "fail" if failed else "inconclusive" if unclear or not row else "pass"
    reason = {"fail": "case_failed", "inconclusive": "unknown_cells", "pass": "met"}[result]
    return _fields(
        result, reason if row else "no_cases", cells, len(row), unknown, failing=tuple((failed or unclear)[:10])
    )


def _threshold(rule: Rule) -> Fraction:
    return Fraction((rule.at_least if rule.at_least is not None else rule.at_most) or "0")


def _compared(rule: Rule, row: Row, span: Span, errors: str) -> dict[str, Any]:
    """Compare a span with the rule's threshold; both ends inclusive."""
    threshold = _threshold(rule)
    result: Result = "inconclusive"
    reason = "unknown_cells"
    short = tuple(_with_fewer_than(draws_of(rule.of) or 0, row, errors))[:10]
    if short:
        return _fields(result, "k_exceeds_repeats", span.cells, span.cases, span.unknown, failing=short)
    if span.low is None or span.high is None:
        reason = "no_metric"
    elif rule.at_least is not None:
        if span.low >= threshold:
            result, reason = "pass", "met"
        elif span.high < threshold:
            result, reason = "fail", "below"
    elif span.high <= threshold:
        result, reason = "pass", "met"
    elif span.low > threshold:
        result, reason = "fail", "above"
    low, high = fraction_text(span.low), fraction_text(span.high)
    return _fields(result, reason, span.cells, span.cases, span.unknown, low=low, high=high)


def _with_fewer_than(k: int, row: Row, errors: str) -> Iterable[str]:
    """Yield the cases with fewer repeats than k: a chance over k of them is not known, and not that of the others."""
    for case, repeats in row:
        if sum(1 for cell in repeats if errors != "exclude" or (cell is not None and cell.settled)) < k:
            yield case
