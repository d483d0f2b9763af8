# SPDX-License-Identifier: Apache-2.0
"""What a verification and a decision look like: text for people, one stable object for programs.

Numbers are shown with as many digits as it takes to tell them from what they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from trialplate.record import codec
from trialplate.record.decisions import Choice, Contender, CopyResult, Decision, RuleResult
from trialplate.record.frozen import Json
from trialplate.record.values import AttemptsRule, Choose, PassMark, Rule, Selector
from trialplate.rules.quantities import draws_of
from trialplate.verify.findings import CHECKS, Report, counted
from trialplate.verify.gate import attempt_text

__all__ = ["compared_text", "decimal_text", "decision_json", "decision_lines", "margin_text", "report_json"]
__all__ += ["report_lines", "selector_text", "visible"]

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


def visible(text: str) -> str:
    """Return text whose control, format and direction characters are shown, never sent to a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def decimal_text(value: Fraction, beside: Fraction | None = None, digits: int = 4) -> str:
    """Return a decimal form, with more digits while it would look like a different number that it is compared with."""
    for places in range(digits, 19):
        scale = 10**places
        whole = round(value * scale)
        told = whole == value * scale if value == beside else beside is None or whole != round(beside * scale)
        if told:
            sign, whole = "-" if whole < 0 else "", abs(whole)
            return f"{sign}{whole // scale}.{whole % scale:0{places}d}"
    return str(value)


def report_lines(report: Report) -> Iterator[str]:
    """Yield a verification: a line a check, the findings, and what it all means."""
    yield f"verify {visible(report.subject)}"
    for check in report.checks:
        own = [item for item in report.findings if item.check == check]
        yield f"  {check} {report.status(check)} {CHECKS[check]}: {visible(sentence_of(report, check))}"
        for item in own[:20]:
            where = f"{item.where}: " if item.where else ""
            yield f"      {'note' if item.note else 'FINDING'} {item.code} {visible(where + item.message)}"
        if own:
            if len(own) > 20:
                yield f"      ... and {len(own) - 20} more"
            yield f"      do: {own[0].hint}"
    if report.checkpoint:
        yield f"  checkpoint: {report.checkpoint}"
    skipped = sum(1 for check in report.checks if report.status(check) == "SKIP")
    failed = [check for check in report.checks if report.status(check) == "FAIL"]
    if failed:
        yield f"DOES NOT HOLD: {', '.join(failed)}"
    else:
        yield f"HOLDS: {len(report.checks) - skipped} checks passed, {skipped} could not be made"


def sentence_of(report: Report, check: str) -> str:
    """Return what a check looked at, what it found, or why it was not made; what does not hold has no level."""
    status = report.status(check)
    if status == "PASS":
        return report.said.get(check, "")
    if status == "FAIL":
        return ", ".join(dict.fromkeys(item.code for item in report.findings if item.check == check and not item.note))
    if check == "V20" and not report.holds:
        return "not said of evidence that does not hold"
    return report.skipped.get(check, "")


def report_json(report: Report) -> Json:
    """Return the stable object of `verify --json`."""
    return {
        "subject": report.subject,
        "holds": report.holds,
        "level": report.level if report.holds else None,
        "checkpoint": report.checkpoint,
        "checks": [
            {
                "id": check,
                "title": CHECKS[check],
                "status": report.status(check),
                "sentence": sentence_of(report, check),
            }
            for check in report.checks
        ],
        "findings": [
            {
                "code": item.code,
                "check": item.check,
                "severity": "note" if item.note else "finding",
                "message": item.message,
                "where": item.where,
                "do": item.hint,
            }
            for item in report.findings
        ],
    }


def decision_lines(decision: Decision, mark: PassMark, report: Report) -> Iterator[str]:
    """Yield a decision in words: each rule with its numbers and margin, the evidence, the attempts, the level."""
    yield f"{decision.decision.upper()} {decision.configuration} in run {decision.run_id}"
    if decision.choice is not None and mark.choose is not None:
        yield from choice_lines(decision, decision.choice, mark.choose)
    by_id = {rule.id: rule for rule in mark.rules}
    for result in decision.rules:
        yield f"  rule {result.id}: {rule_text(by_id[result.id], result, mark.errors)}"
        for copy in _worth_showing(result.copies):
            told = copy_text(by_id[result.id], result, copy, mark.errors)
            yield f"    {_copy_name(by_id[result.id], copy)}: {told}"
    if decision.cut is not None:
        told = ", ".join(f"{counted(getattr(decision.cut, part), part[:-1])}" for part in _CUT)
        yield f"  cut: too long for a line of the ledger, so only what stands in the way is stated; in all {told}"
    for item in decision.evidence:
        if not item.met:
            yield f"  evidence {item.name}: wanted {item.wanted}, found {item.found}"
    for reason in decision.reasons:
        if reason in REASONS:
            yield f"  because: {REASONS[reason]}"
    if decision.stopped is not None:
        found = next((item.found for item in decision.evidence if item.name == "complete"), "some trials")
        yield f"  curtailed: it ended by the mark's stop rule ({decision.stopped}), {found}; means are not unbiased"
    yield from _attempt_lines(decision, mark.attempts)
    if mark.baseline is not None:
        which = "each with its own name" if mark.baseline.configuration is None else mark.baseline.configuration
        yield f"  baseline: run {mark.baseline.run_id}, {which}"
    for note in report.findings:
        yield f"  note {note.code}: {visible(note.message)}"
    yield f"  level: {visible(report.said.get('V20', ''))}"
    yield f"  checkpoint: {report.checkpoint}"


_CUT = ("rules", "copies", "attempts", "contenders")
_MOST_COPIES = 20


def _worth_showing(copies: Sequence[CopyResult]) -> Sequence[CopyResult]:
    """Return the copies that have a line of their own: all of a few, else those that do not hold."""
    return copies if len(copies) <= _MOST_COPIES else [item for item in copies if item.result != "pass"][:_MOST_COPIES]


def _attempt_lines(decision: Decision, rule: AttemptsRule) -> Iterator[str]:
    if decision.attempt:
        yield f"  attempt {decision.attempt} of {rule.max} allowed"
    what = "configuration" if rule.scope == "configuration" else "model"
    for attempt in decision.attempts:
        yield f"  attempt: run {attempt.run_id} {attempt_text(attempt)}"
    if decision.attempts and rule.use == "last":
        yield "  attempts: only the last of them counts"
    if not decision.attempts and decision.cut is None:
        yield f"  attempts: there is no other full run of this {what} on these cases"


def choice_lines(decision: Decision, choice: Choice, choose: Choose) -> Iterator[str]:
    """Yield whether a configuration is eligible and which one is chosen, with the numbers that say so."""
    own = next((item for item in choice.contenders if item.configuration == decision.configuration), None)
    eligible = _YES[own.eligible] if own is not None and own.eligible else "no"
    yield f"  eligible: {eligible}; chosen: {chosen_text(choice)}"
    if choice.within is not None:
        yield f"  {within_text(choose, choice.within)}"
    for item in choice.contenders:
        yield f"  {contender_text(item, choose)}"


_HOLDS = {"pass": "holds", "fail": "does not hold", "inconclusive": "cannot be told"}
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
    if choice.result == "none":
        return "none, since none passes"
    between = f" between {' and '.join(choice.possible)}" if len(choice.possible) > 1 else ""
    return f"cannot be told{between} ({_OPEN.get(choice.reason, choice.reason)})"


def within_text(choose: Choose, result: RuleResult) -> str:
    """Return how far a configuration is from its reference, in words."""
    word = _HOLDS[result.result]
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
        ends = [_distance(Fraction(end), bar) for end in (result.low, result.high) if end is not None]
        told = ends[0] if len(set(ends)) == 1 else f"between {' and '.join(ends)}"
    return f"choose: {choose.of} within {choose.within} of {beside}: {told}; it {word} ({result.reason})"


def _distance(difference: Fraction, bar: Fraction) -> str:
    text = decimal_text(abs(difference), abs(bar))
    return f"{text} {'below' if difference < 0 else 'above'}" if difference else "level with it"


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


def rule_text(rule: Rule, result: RuleResult, errors: str) -> str:
    """Return one rule's numbers in words; `errors` is the mark's policy on unknown cells."""
    word = _HOLDS[result.result]
    if rule.must_pass is not None:
        named = f"; {', '.join(map(visible, result.failing))}" if result.failing else ""
        many = f"{counted(result.cases, 'case')}{selector_text(rule.must_pass)}"
        return f"{many} must pass; it {word} ({result.reason}{named})"
    if rule.no_regressions is not None:
        among = ", ".join(f"{item.cases} {_kind_text(item)}" for item in result.copies) or _reason_text(rule, result)
        return f"no case{selector_text(rule.where)} worse than in the baseline: {among}; it {word} ({result.reason})"
    sign = "at least" if rule.at_least is not None else "at most"
    text = f"{rule.of}{selector_text(rule.where)} {sign} {rule.at_least or rule.at_most}"
    text = text if rule.not_worse_than is None else compared_text(rule)
    if rule.each is not None:
        held = sum(copy.result == "pass" for copy in result.copies)
        many = f"{held} of {len(result.copies)} hold; " if result.copies else ""
        return f"{text} for each {rule.each}: {many}it {word} ({_reason_text(rule, result)})"
    if rule.not_worse_than is not None:
        return f"{text}: {_difference_text(result)}; it {word} ({_reason_text(rule, result)})"
    return f"{text}: {span_text(result)}; it {word} ({margin_text(rule, result, errors)})"


def copy_text(rule: Rule, result: RuleResult, copy: CopyResult, errors: str) -> str:
    """Return what one copy of a rule came to, in words."""
    word = _HOLDS[copy.result]
    if rule.no_regressions is not None and rule.each is None:
        return _changed_text(copy)
    fields = {name: value for name, value in copy.__dict__.items() if name != "value"}
    alone = result.replace(copies=(), **fields)
    if rule.not_worse_than is not None:
        return f"{_difference_text(alone)}; it {word} ({_reason_text(rule, alone)})"
    return f"{span_text(alone)}; it {word} ({margin_text(rule, alone, errors)})"


def compared_text(rule: Rule) -> str:
    """Return what a comparison asks for: how far from its reference a quantity may be, or must be above it."""
    by, of = Fraction(rule.by or "0"), f"{rule.of}{selector_text(rule.where)}"
    beside = "the baseline" if rule.not_worse_than == "baseline" else rule.not_worse_than
    if by < 0:
        return f"{of} at least {str(rule.by).removeprefix('-')} above {beside}"
    return f"{of} not more than {rule.by} below {beside}" if by else f"{of} not below {beside}"


def _difference_text(result: RuleResult) -> str:
    """Return how far a quantity is from its reference, with the unknown cells of both at their extremes."""
    if result.low is None or result.high is None or result.threshold is None:
        return f"nothing compared in {counted(result.cells, 'cell')}"
    bar = Fraction(result.threshold)
    ends = list(dict.fromkeys(_distance(Fraction(end), bar) for end in (result.low, result.high)))
    unknown = f", {result.unknown} unknown" if result.unknown else ""
    bounds = f", shown between {result.lower} and {result.upper}" if result.lower is not None else ""
    told = ends[0] if len(ends) == 1 else f"between {' and '.join(ends)}"
    return f"{told} over {counted(result.cells, 'cell')} of {counted(result.cases, 'case')}{unknown}{bounds}"


def _copy_name(rule: Rule, copy: CopyResult) -> str:
    """Return what a line about a copy begins with."""
    if rule.no_regressions is not None and rule.each is None:
        return f"{counted(copy.cases, 'case')} {_kind_text(copy)}"
    return f"{rule.each or 'alternative'} {visible(copy.value)}"


def _kind_text(copy: CopyResult) -> str:
    """Return how the cases of a copy stand to the baseline, in words."""
    return "worse, as allowed" if copy.value == "allowed" else visible(copy.value)


def _changed_text(copy: CopyResult) -> str:
    """Return which cases of a kind regressed, or may have, or are allowed to."""
    named = ", ".join(map(visible, copy.failing)) + (" are the first" if len(copy.failing) == 10 else "")
    if copy.value in ("removed", "allowed"):
        return named
    if copy.result == "pass":
        return "none regressed" if copy.value == "unchanged" else "none fails"
    verb = "regressed" if copy.value == "unchanged" else "fails"
    return f"{verb}: {named}" if copy.result == "fail" else f"unknown whether it {verb}: {named}"


def _reason_text(rule: Rule, result: RuleResult | CopyResult) -> str:
    """Return a reason, with what it is about."""
    if result.reason == "too_few_cases":
        return f"{result.reason}: fewer than {rule.cases}"
    named = f": {', '.join(map(visible, result.failing))}" if result.failing else ""
    return f"{result.reason}{named}"


def selector_text(selector: Selector) -> str:
    """Return which cases a rule is about, or nothing if it is about all."""
    parts = [f"{name} {' or '.join(map(visible, given))}" for name, given in selector.__dict__.items() if given]
    return f" of {', '.join(parts)}" if parts else ""


def span_text(result: RuleResult) -> str:
    """Return what was measured, with the unknown cells at both extremes."""
    if result.low is None or result.high is None or result.threshold is None:
        return f"nothing measured in {counted(result.cells, 'cell')}"
    low, high, beside = Fraction(result.low), Fraction(result.high), Fraction(result.threshold)
    shown = decimal_text(low, beside)
    if high != low:
        shown = f"between {shown} and {decimal_text(high, beside)}"
    unknown = f", {result.unknown} unknown" if result.unknown else ""
    return f"{shown} over {counted(result.cells, 'cell')} of {counted(result.cases, 'case')}{unknown}"


def margin_text(rule: Rule, result: RuleResult, errors: str) -> str:
    """Return how far the result is from turning: the fewest cases, or trials for a rate of trials, that it would take.

    A case weighs the same whatever its repeats, so a mean is told in whole cases that score 0 instead of 1, or 1
    instead of 0.
    """
    if result.low is None or result.high is None or result.threshold is None or not result.cells:
        return _reason_text(rule, result)
    if result.reason == "too_few_cases" or draws_of(rule.of):
        return _reason_text(rule, result)
    low, high, threshold = Fraction(result.low), Fraction(result.high), Fraction(result.threshold)
    if result.result == "inconclusive":
        return f"{counted(result.unknown, 'unknown cell')} could turn it"
    passes, floor = result.result == "pass", rule.at_least is not None
    by_trial = rule.of in ("trial_pass_rate", "error_rate")
    unit, weighed = ("trial", result.cells) if by_trial else ("case", result.cases)
    if rule.of == "trial_pass_rate" and errors == "exclude":
        weighed -= result.unknown
    down = floor == passes
    if (passes and threshold == (0 if floor else 1)) or (not passes and floor and threshold > 1):
        return "nothing could turn it"
    gap = abs((low if down else high) - threshold) * weighed
    number = int(gap) + 1 if passes else -int(-gap // 1)
    if rule.of == "error_rate":
        return f"{counted(number, 'fewer error' if down else 'more error')} would turn it"
    return f"{counted(number, f'more failing {unit}' if down else f'more passing {unit}')} would turn it"


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
