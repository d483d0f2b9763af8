# SPDX-License-Identifier: Apache-2.0
"""The pass mark: what each rule comes to, and the decision they make. The one place that decides.

Arithmetic is in exact fractions of decimal text; nothing is rounded before it is compared. Unknown cells enter by each
rule's own extremes: a rule passes only if it passes with every unknown cell at its worse value, and fails only if it
fails with every one at its better value. Then the rules are combined three-valued: any fail rejects, else any
inconclusive one leaves it open. Evidence that the mark demands and the record does not show is inconclusive, never a
rejection.

Source: DESIGN sections 5 to 7; docs/formats/pass-mark.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Literal

from trialplate.record.entries import DecisionWord, EvidenceResult, Result, RuleResult
from trialplate.record.frozen import Value
from trialplate.record.matrix import Matrix, selects
from trialplate.record.values import PassMark, Plan, Rule
from trialplate.rules.cells import MICRO, Board, Cell

__all__ = ["RATES", "Evaluation", "Span", "case_passes", "evaluate", "fraction_text", "mean_extremes"]

RATES = ("trial_pass_rate", "case_pass_rate", "error_rate")
"""Quantities that are always there."""

Fold = Literal["all", "majority", "any"]
Row = list[tuple[str, list[Cell | None]]]
"""Cases of one configuration with their repeats; None is a trial that never began."""


class Evaluation(Value, kw_only=False):
    """A configuration's own result: before other attempts are looked at."""

    decision: DecisionWord
    reasons: tuple[str, ...]
    evidence: tuple[EvidenceResult, ...]
    rules: tuple[RuleResult, ...]


class Span(Value, kw_only=False):
    """A quantity with its unknown cells at 0 (`low`) and at 1 (`high`); None where nothing is left to measure."""

    low: Fraction | None
    high: Fraction | None
    cells: int
    cases: int
    unknown: int


def evaluate(
    plan: Plan, matrix: Matrix, configuration: str, board: Board, *, selection: str, finished: bool
) -> Evaluation:
    """Apply the plan's pass mark to one configuration's cells.

    Args:
        selection: "full" or "pilot"; a pilot never decides.
        finished: the run was closed as complete, and the ledger says that it ended.
    """
    mark = plan.pass_mark
    row: Row = list(board.of(matrix, configuration))
    evidence = tuple(_evidence(mark, row, selection, finished))
    rules = tuple(_rule(rule, plan, matrix, row) for rule in mark.rules)
    missing = tuple(item.name for item in evidence if not item.met)
    failed = tuple(rule.id for rule in rules if rule.result == "fail")
    unclear = tuple(rule.id for rule in rules if rule.result == "inconclusive")
    if missing:
        return Evaluation("inconclusive", missing, evidence, rules)
    if failed:
        return Evaluation("rejected", failed, evidence, rules)
    if unclear or not rules:
        return Evaluation("inconclusive", unclear or ("no_rules",), evidence, rules)
    return Evaluation("accepted", (), evidence, rules)


def fraction_text(value: Fraction | None) -> str | None:
    """Return "n/d", the exact form in which decisions carry numbers."""
    return None if value is None else f"{value.numerator}/{value.denominator}"


# -------------------------------------------------------------------------------------------------------- evidence


def _evidence(mark: PassMark, row: Row, selection: str, finished: bool) -> Iterable[EvidenceResult]:
    """Yield what the mark demands of the record itself, met or not."""
    wanted = mark.evidence
    cells = [cell for _, repeats in row for cell in repeats]
    total = len(cells)
    begun = [cell for cell in cells if cell is not None]
    yield _demand("selection", selection == "full", "full", selection)
    yield _demand("finished", finished, "run.end", "run.end" if finished else "unfinished")
    attempted = sum(1 for cell in begun if cell.final not in ("absent", "skipped"))
    share = Fraction(attempted, total) if total else Fraction(0)
    met = total > 0 and share >= Fraction(wanted.complete)
    yield _demand("complete", met, f"at least {wanted.complete}", f"{attempted} of {total} trials")
    replayed = sum(1 for cell in begun if cell.replayed)
    yield _demand(
        "calls", wanted.calls == "any" or not replayed, wanted.calls, f"{replayed} of {total} trials replayed"
    )
    reasked = sum(1 for cell in begun if cell.reasked)
    met = Fraction(reasked) <= Fraction(wanted.reasked) * total
    yield _demand("reasked", met, f"at most {wanted.reasked}", f"{reasked} of {total} cells")
    if wanted.infrastructure_errors is not None:
        errors = sum(1 for cell in begun if cell.final == "error")
        met = Fraction(errors) <= Fraction(wanted.infrastructure_errors) * total
        yield _demand(
            "infrastructure_errors", met, f"at most {wanted.infrastructure_errors}", f"{errors} of {total} cells"
        )
    yield _demand("cases", len(row) >= wanted.cases, f"at least {wanted.cases}", str(len(row)))
    fewest = min((len(repeats) for _, repeats in row), default=0)
    yield _demand("repeats", fewest >= wanted.repeats, f"at least {wanted.repeats}", str(fewest))


def _demand(name: str, met: bool, wanted: str, found: str) -> EvidenceResult:
    return EvidenceResult(name=name, met=met, wanted=wanted, found=found)


# ----------------------------------------------------------------------------------------------------------- rules


def _rule(rule: Rule, plan: Plan, matrix: Matrix, row: Row) -> RuleResult:
    """Return what one rule comes to."""
    by_id = {case.id: case for case in matrix.cases}
    if rule.must_pass is not None:
        named = rule.must_pass
        chosen = [(case, repeats) for case, repeats in row if selects(named, by_id[case])]
        wanted = [case.id for case in matrix.cases if selects(named, case)]
        if len(wanted) > len(chosen):
            return _not_asked(rule, wanted, chosen)
        return _must_pass(rule, chosen, rule.require or plan.verdict.case, plan.pass_mark.errors)
    quantity = rule.of or ""
    chosen = [(case, repeats) for case, repeats in row if selects(rule.where, by_id[case])]
    if quantity not in RATES:
        metric_cases = {case.id for case in matrix.cases if any(s.metric == quantity for s in matrix.applicable(case))}
        chosen = [(case, repeats) for case, repeats in chosen if case in metric_cases]
    wanted = [case.id for case in matrix.cases if selects(rule.where, case)]
    if quantity not in RATES:
        wanted = [case for case in wanted if case in metric_cases]
    if len(wanted) > len(chosen):
        return _not_asked(rule, wanted, chosen)
    errors = plan.pass_mark.errors
    if errors == "zero" and rule.at_most is not None:
        errors = "bound"  # 0 is the better value there: an outage must not keep a ceiling
    return _compare(rule, _span(quantity, chosen, plan.verdict.case, errors))


def _not_asked(rule: Rule, wanted: list[str], chosen: Row) -> RuleResult:
    """Return that a rule cannot be told: the matrix leaves out cases that it is about. Absent is not passed.

    The mark and the test set are committed and the matrix is not: else it could leave out the hard ones.
    """
    asked = {case for case, _ in chosen}
    return RuleResult(
        id=rule.id,
        result="inconclusive",
        reason="not_asked",
        cells=sum(len(repeats) for _, repeats in chosen),
        cases=len(wanted),
        unknown=0,
        failing=tuple(case for case in wanted if case not in asked)[:10],
    )


def _span(quantity: str, row: Row, fold: Fold, errors: str) -> Span:
    """Return the extremes of a quantity over the chosen cases."""
    if quantity == "case_pass_rate":
        return _case_rate(row, fold, errors)
    if quantity == "trial_pass_rate":
        return mean_extremes(row, _passed, errors, pooled=True)
    if quantity == "error_rate":
        return mean_extremes(row, _errored, "bound", pooled=True)
    return mean_extremes(row, lambda cell: cell.value(quantity), errors, pooled=False)


def _passed(cell: Cell) -> int | None:
    return (MICRO if cell.outcome == "passed" else 0) if cell.known else None


def _errored(cell: Cell) -> int | None:
    return {"error": MICRO, "skipped": None}.get(cell.final, 0)


def mean_extremes(row: Row, value: Callable[[Cell], int | None], errors: str, *, pooled: bool) -> Span:
    """Return the mean of the cases' means, or of all cells if `pooled`, with unknown cells at 0 and at 1.

    Args:
        value: the cell's value in millionths, None while unknown.
        errors: "bound" keeps unknown cells at both extremes, "zero" puts them at 0, "exclude" leaves them out.
    """
    sums: dict[int, list[int]] = {}
    cells = cases = unknown = 0
    for _, repeats in row:
        known = [value(cell) if cell is not None else None for cell in repeats]
        gaps = known.count(None)
        cells += len(known)
        unknown += gaps
        weight = len(known) - gaps if errors == "exclude" else len(known)
        if not weight:
            continue
        cases += 1
        low = sum(item for item in known if item is not None)
        group = sums.setdefault(1 if pooled else weight, [0, 0, 0])
        group[0] += low
        group[1] += low + (gaps * MICRO if errors == "bound" else 0)
        group[2] += weight if pooled else 1
    if not cases:
        return Span(None, None, cells, 0, unknown)
    number = sum(group[2] for group in sums.values())
    low_sum = sum((Fraction(group[0], weight) for weight, group in sums.items()), Fraction(0))
    high_sum = sum((Fraction(group[1], weight) for weight, group in sums.items()), Fraction(0))
    return Span(low_sum / (number * MICRO), high_sum / (number * MICRO), cells, cases, unknown)


def _case_rate(row: Row, fold: Fold, errors: str) -> Span:
    """Return the share of cases whose repeats pass together."""
    low = high = cases = cells = unknown = 0
    for _, repeats in row:
        cells += len(repeats)
        unknown += sum(1 for cell in repeats if cell is None or not cell.known)
        worst, best = case_passes(repeats, fold, errors)
        if worst is None:
            continue
        cases += 1
        low += worst
        high += bool(best)
    if not cases:
        return Span(None, None, cells, 0, unknown)
    return Span(Fraction(low, cases), Fraction(high, cases), cells, cases, unknown)


def case_passes(repeats: list[Cell | None], fold: Fold, errors: str) -> tuple[bool | None, bool | None]:
    """Return whether a case passes with its unknown repeats failed, and with them passed; None if none is left.

    A majority is strictly more than half of the planned repeats, or of the known ones under "exclude".
    """
    passed = sum(1 for cell in repeats if cell is not None and cell.known and cell.outcome == "passed")
    unknown = sum(1 for cell in repeats if cell is None or not cell.known)
    total = len(repeats)
    if errors == "exclude":
        total, unknown = total - unknown, 0
    if errors == "zero":
        unknown = 0
    if not total:
        return None, None

    def folded(count: int) -> bool:
        return {"all": count == total, "majority": 2 * count > total, "any": count > 0}[fold]

    return folded(passed), folded(passed + unknown)


def _must_pass(rule: Rule, row: Row, fold: Fold, errors: str) -> RuleResult:
    """Fold each named case; all of them must pass."""
    failed, unclear = [], []
    cells = unknown = 0
    for case, repeats in row:
        cells += len(repeats)
        unknown += sum(1 for cell in repeats if cell is None or not cell.known)
        worst, best = case_passes(repeats, fold, errors)
        if best is False:
            failed.append(case)
        elif not worst:
            unclear.append(case)
    result: Result = "fail" if failed else "inconclusive" if unclear or not row else "pass"
    reason = {"fail": "case_failed", "inconclusive": "unknown_cells", "pass": "met"}[result]
    return RuleResult(
        id=rule.id,
        result=result,
        reason=reason if row else "no_cases",
        cells=cells,
        cases=len(row),
        unknown=unknown,
        failing=tuple((failed or unclear)[:10]),
    )


def _compare(rule: Rule, span: Span) -> RuleResult:
    """Compare a span with the rule's threshold; both ends inclusive."""
    text = rule.at_least if rule.at_least is not None else rule.at_most
    threshold = Fraction(text or "0")
    result: Result = "inconclusive"
    reason = "unknown_cells"
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
    return RuleResult(
        id=rule.id,
        result=result,
        reason=reason,
        threshold=fraction_text(threshold),
        low=fraction_text(span.low),
        high=fraction_text(span.high),
        cells=span.cells,
        cases=span.cases,
        unknown=span.unknown,
    )
