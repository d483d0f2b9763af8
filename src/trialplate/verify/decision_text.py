# SPDX-License-Identifier: Apache-2.0
"""What a decision looks like: text for people, one stable object for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from trialplate.record import codec
from trialplate.record.decisions import Choice, Contender, CopyResult, Decision, RuleResult
from trialplate.record.frozen import Json
from trialplate.record.values import Choose, PassMark, Rule
from trialplate.rules.mark_shape import has_bounds
from trialplate.rules.outlook import Outlooks
from trialplate.verify.findings import Report, counted
from trialplate.verify.gate import attempt_text
from trialplate.verify.rule_text import (
    HOLDS,
    Beside,
    alternative_text,
    copy_text,
    difference_shown,
    distance_text,
    kind_text,
    rule_text,
    shows_text,
)
from trialplate.verify.text import decimal_text, report_json, visible

__all__ = ["chosen_text", "decision_json", "decision_lines", "within_text"]

REASONS = {
    "waived": "this run was waived: it does not count, and so it cannot decide",
    "pilot": "a pilot (a run of less than its plan) never decides",
    "selection": "the mark asks for a full run",
    "finished": "the run is unfinished or incomplete: it does not decide; wait if it goes on, else resume or waive it",
    "complete": "planned trials were not attempted",
    "calls": "answers were replayed, and the mark asks for live calls",
    "reasked": "too many cells were asked again after an attempt was lost, cut off, or had begun to be answered: "
    "waive the run, and run again",
    "infrastructure_errors": "too many trials were lost to the infrastructure",
    "cases": "too few cases",
    "repeats": "too few repeats",
    "within": "it is further from its reference than the mark allows, or that cannot be told",
    "not_chosen": "the mark asks for the chosen configuration, and this is not the one",
    "choice_open": "the mark asks for the chosen configuration, and which one that is cannot be told",
    "attempt_max": "the mark allows fewer attempts than have been made at this",
    "attempt_rejected": "another run of this configuration on these cases was rejected",
    "attempt_open": "another run of this configuration on these cases is open or missing: resume or waive it",
}


def decision_lines(
    decision: Decision, mark: PassMark, report: Report, outlooks: Outlooks | None = None
) -> Iterator[str]:
    """Yield a decision in words: each rule with its numbers and margin, the evidence, the attempts, the level.

    Args:
        outlooks: what would turn the rules, as `Gate.outlooks` has it; without it that is not said of bounds.
    """
    yield f"{decision.decision.upper()} {decision.configuration} in run {decision.run_id}"
    if decision.choice is not None and mark.choose is not None:
        yield from choice_lines(decision, decision.choice, mark.choose)
    by_id = {rule.id: rule for rule in mark.rules}
    beside = Beside(mark, outlooks or {})
    for result in decision.rules:
        yield from _rule_lines(by_id[result.id], result, mark, beside)
    if decision.cut is not None:
        told = ", ".join(f"{counted(getattr(decision.cut, part), part[:-1])}" for part in _CUT)
        yield f"  cut: too long for a line of the ledger, so only what stands in the way is stated; in all {told}"
    yield from _mark_lines(mark)
    for item in decision.evidence:
        shown = f", which shows at least {decimal_text(Fraction(item.lower))}" if item.lower is not None else ""
        if not item.met:
            yield f"  evidence {item.name}: wanted {item.wanted}, found {item.found}{shown}"
        elif item.name == "judge":
            yield f"  evidence {item.name}: {item.found}{shown}; wanted {item.wanted}"
    for reason in decision.reasons:
        if reason in REASONS:
            yield f"  because: {REASONS[reason]}"
    if decision.stopped is not None:
        found = next((item.found for item in decision.evidence if item.name == "complete"), "some trials")
        yield f"  curtailed: it ended by the mark's stop rule ({decision.stopped}), {found}; means are not unbiased"
    yield from _attempt_lines(decision, mark)
    if mark.baseline is not None:
        which = "each with its own name" if mark.baseline.configuration is None else mark.baseline.configuration
        yield f"  baseline: run {mark.baseline.run_id}, {which}"
    for note in report.findings:
        yield f"  note {note.code}: {visible(note.message)}"
    yield f"  level: {visible(report.said.get('V20', ''))}"
    yield f"  checkpoint: {report.checkpoint}"


def _rule_lines(rule: Rule, result: RuleResult, mark: PassMark, beside: Beside) -> Iterator[str]:
    """Yield a rule in words, what the cases of an estimate show, and its copies."""
    yield f"  rule {result.id}: {rule_text(rule, result, mark.errors, beside)}"
    if shows := shows_text(rule, result, beside):
        yield f"    {shows}"
    alternatives = {item.id: item for item in mark.alternatives}
    for copy in _worth_showing(result.copies):
        if rule.any_of:
            told = alternative_text(alternatives[copy.value], result, copy, mark.errors, beside)
        else:
            told = copy_text(rule, result, copy, mark.errors, beside)
        yield f"    {_copy_name(rule, copy)}: {told}"


def _copy_name(rule: Rule, copy: CopyResult) -> str:
    """Return what a line about a copy begins with."""
    if rule.no_regressions is not None and rule.each is None:
        return f"{counted(copy.cases, 'case')} {kind_text(copy)}"
    return f"{rule.each or 'alternative'} {visible(copy.value)}"


def _mark_lines(mark: PassMark) -> Iterator[str]:
    """Yield what bounds speak of, and what the mark makes of unknown cells where it leaves nothing open."""
    if has_bounds(mark):
        unit = "" if mark.unit == "case" else f"; cases that share {mark.unit} count as one"
        spoken = {
            "cases": "work of which these cases are a sample",
            "this_set": "exactly these cases, asked again: they say nothing of others",
        }[mark.over]
        yield f"  bounds: of {spoken}{unit}"
    if mark.errors != "bound":
        made = {"zero": "count as 0", "exclude": "are left out"}[mark.errors]
        yield f"  errors: unknown cells {made}, as the mark says (errors: {mark.errors})"


_CUT = ("rules", "copies", "attempts", "contenders")
_MOST_COPIES = 20


def _worth_showing(copies: Sequence[CopyResult]) -> Sequence[CopyResult]:
    """Return the copies that have a line of their own: all of a few, else those that do not hold."""
    return copies if len(copies) <= _MOST_COPIES else [item for item in copies if item.result != "pass"][:_MOST_COPIES]


def _attempt_lines(decision: Decision, mark: PassMark) -> Iterator[str]:
    rule = mark.attempts
    error = _error_text(decision.attempt, mark)
    if decision.attempt and (rule.max is not None or error):
        limit = f" of {rule.max} allowed" if rule.max is not None else ""
        yield f"  attempt {decision.attempt}{limit}{error}"
    what = "configuration" if rule.scope == "configuration" else "model"
    for attempt in decision.attempts:
        yield f"  attempt: run {attempt.run_id} {attempt_text(attempt)}"
    if decision.attempts and rule.use == "last":
        yield "  attempts: only the last of them counts"
    if not decision.attempts and decision.cut is None:
        yield f"  attempts: there is no other full run of this {what} on these cases"


def _error_text(attempt: int, mark: PassMark) -> str:
    """Return how much of the error the bounds of an attempt have, where it is not all of it."""
    halvings = attempt if mark.attempts.spend else attempt - 1
    if halvings < 1 or not has_bounds(mark):
        return ""
    part = "half" if halvings == 1 else f"1/{2**halvings} of" if halvings < 20 else f"1/2^{halvings} of"
    return f": its bounds have {part} the error of {'the mark' if mark.attempts.spend else 'the first'}"


def choice_lines(decision: Decision, choice: Choice, choose: Choose) -> Iterator[str]:
    """Yield whether a configuration is eligible and which one is chosen, with the numbers that say so."""
    own = next((item for item in choice.contenders if item.configuration == decision.configuration), None)
    eligible = _YES[own.eligible] if own is not None and own.eligible else "no"
    yield f"  eligible: {eligible}; chosen: {chosen_text(choice)}"
    if choice.within is not None:
        yield f"  {within_text(choose, choice.within)}"
    for item in choice.contenders:
        yield f"  {contender_text(item, choose)}"


_YES = {"pass": "yes", "fail": "no", "inconclusive": "cannot be told"}
_OPEN = {
    "eligibility_open": "whether one passes that would come first is not known",
    "unknown_cost": "a cost is unknown, which is not zero",
    "unknown_latency": "a latency is unknown",
    "unknown_order": "unknown cells leave open which comes first",
}


def chosen_text(choice: Choice) -> str:
    """Return which configuration is chosen, or why none is."""
    if choice.chosen is not None:
        return f"{choice.chosen} ({choice.reason} of those that pass)"
    keep = f"; keep {choice.keep}" if choice.keep is not None else ""
    if choice.reason == "none_shown":
        return f"none, since none is shown to pass{keep}"
    if choice.result == "none":
        return f"none, since none passes{keep}"
    between = f" between {' and '.join(choice.possible)}" if len(choice.possible) > 1 else ""
    return f"cannot be told{between} ({_OPEN.get(choice.reason, choice.reason)}){keep}"


def within_text(choose: Choose, result: RuleResult) -> str:
    """Return how far a configuration is from its reference, in words."""
    word = HOLDS[result.result]
    among = {"all": "all", "floors_met": "those that meet the rules"}[choose.best_among]
    beside = f"the best of {among}" if choose.against == "best" else choose.against
    if result.threshold is None:
        told = {
            "coverage_differs": "it was not asked every case that this compares",
            "reference_differs": "the reference was not asked every case that this compares",
        }.get(result.reason, "nothing was measured")
        return f"choose: {choose.of} beside {beside}: {told}; it {word} ({result.reason})"
    told = "there is no rival, so this says nothing"
    if result.low is not None:
        bar = Fraction(result.threshold)
        ends = [distance_text(Fraction(end), bar) for end in (result.low, result.high) if end is not None]
        told = ends[0] if len(set(ends)) == 1 else f"between {' and '.join(ends)}"
        told += difference_shown(result, bar)
    return f"choose: {choose.of} within {choose.within} of {beside}: {told}; it {word} ({result.reason})"


def contender_text(item: Contender, choose: Choose) -> str:
    """Return one configuration's numbers in the comparison."""
    role = "comparison" if item.eligible is None else f"passes: {_YES[item.eligible]}"
    if not item.comparable:
        return f"contender {item.configuration}: {role}; not comparable, since it was not asked every case"
    score = "not measured"
    if item.low is not None and item.high is not None:
        low, high = decimal_text(Fraction(item.low)), decimal_text(Fraction(item.high))
        score = low if low == high else f"between {low} and {high}"
    cost = "unknown"
    if item.cost is not None:
        cost = f"{decimal_text(Fraction(item.cost) / 10**9, digits=6)} {item.currency} a trial"
    latency = "unknown" if item.latency_ms is None else f"{item.latency_ms} ms"
    return f"contender {item.configuration}: {role}; {choose.of} {score}, cost {cost}, median latency {latency}"


def decision_json(decisions: Sequence[Decision], report: Report) -> Json:
    """Return the stable object of `gate --json`.

    `decision` is the one that was asked for, null where the mark chooses none of several; `eligible` is what it came to
    before it is asked whether it is the chosen one; `chosen` is the configuration that the mark chooses.
    """
    made = [codec.to_json(item) for item in decisions]
    choice, alone = decisions[0].choice, len(decisions) == 1
    contenders = choice.contenders if choice is not None and alone else ()
    own = next((item for item in contenders if item.configuration == decisions[0].configuration), None)
    return {
        "decision": made[0] if alone else None,
        "decisions": made,
        "eligible": own.eligible if own is not None else None,
        "chosen": choice.chosen if choice is not None else None,
        "level": report.level,
        "verification": report_json(report),
    }
