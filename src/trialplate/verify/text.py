# SPDX-License-Identifier: Apache-2.0
"""What a verification and a decision look like: text for people, one stable object for programs.

Numbers are shown with as many digits as it takes to tell them from what they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trialplate.record import codec
from trialplate.record.entries import Decision, RuleResult
from trialplate.record.frozen import Json
from trialplate.record.values import PassMark, Rule, Selector
from trialplate.verify.findings import CHECKS, Report, counted
from trialplate.verify.gate import attempt_text

__all__ = ["decimal_text", "decision_json", "decision_lines", "margin_text", "report_json", "report_lines", "visible"]

REASONS = {
    "waived": "this run was waived: it does not count, and so it cannot decide",
    "pilot": "a pilot (a run of less than its plan) never decides",
    "selection": "the mark asks for a full run",
    "finished": "the run is unfinished: it does not decide; wait if it is still going on, else resume or waive it",
    "complete": "planned trials were not attempted",
    "calls": "answers were replayed, and the mark asks for live calls",
    "reasked": "too many cells were asked again after an answer had begun to arrive, or a time limit had cut it off",
    "infrastructure_errors": "too many trials were lost to the infrastructure",
    "cases": "too few cases",
    "repeats": "too few repeats",
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
            return f"{whole // scale}.{whole % scale:0{places}d}"
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
    for result, rule in zip(decision.rules, mark.rules, strict=True):
        yield f"  rule {result.id}: {rule_text(rule, result, mark.errors)}"
    for item in decision.evidence:
        if not item.met:
            yield f"  evidence {item.name}: wanted {item.wanted}, found {item.found}"
    for reason in decision.reasons:
        if reason in REASONS:
            yield f"  because: {REASONS[reason]}"
    for attempt in decision.attempts:
        yield f"  attempt: run {attempt.run_id} {attempt_text(attempt)}"
    if not decision.attempts:
        yield "  attempts: there is no other full run of this configuration on these cases"
    for note in report.findings:
        yield f"  note {note.code}: {visible(note.message)}"
    yield f"  level: {visible(report.said.get('V20', ''))}"
    yield f"  checkpoint: {report.checkpoint}"


def rule_text(rule: Rule, result: RuleResult, errors: str) -> str:
    """Return one rule's numbers in words; `errors` is the mark's policy on unknown cells."""
    word = {"pass": "holds", "fail": "does not hold", "inconclusive": "cannot be told"}[result.result]
    if rule.must_pass is not None:
        named = f"; {', '.join(map(visible, result.failing))}" if result.failing else ""
        many = f"{counted(result.cases, 'case')}{selector_text(rule.must_pass)}"
        return f"{many} must pass; it {word} ({result.reason}{named})"
    sign = "at least" if rule.at_least is not None else "at most"
    chosen = selector_text(rule.where)
    text = f"{rule.of}{chosen} {sign} {rule.at_least or rule.at_most}: {span_text(result)}; it {word}"
    return f"{text} ({margin_text(rule, result, errors)})"


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
        return result.reason
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


def decision_json(decision: Decision, report: Report) -> Json:
    """Return the stable object of `gate --json`."""
    return {"decision": codec.to_json(decision), "level": report.level, "verification": report_json(report)}
