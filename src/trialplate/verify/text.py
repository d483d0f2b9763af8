# SPDX-License-Identifier: Apache-2.0
"""What a verification looks like, and the words that all texts for people share.

Numbers are shown with as many digits as it takes to tell them from what they are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trialplate.record.frozen import Json
from trialplate.record.values import Selector
from trialplate.verify.findings import CHECKS, Report

__all__ = ["decimal_text", "percent_text", "report_json", "report_lines", "selector_text", "visible"]


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


def percent_text(confidence: str) -> str:
    """Return a confidence as a percentage, with no more digits than it has."""
    return f"{100 * float(confidence):.12g} %"


def selector_text(selector: Selector) -> str:
    """Return which cases a rule is about, or nothing if it is about all."""
    parts = [f"{name} {' or '.join(map(visible, given))}" for name, given in selector.__dict__.items() if given]
    return f" of {', '.join(parts)}" if parts else ""


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
