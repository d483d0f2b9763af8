# SPDX-License-Identifier: Apache-2.0
"""The words that the text and the Markdown report share: numbers with what they rest on, and what readers must know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from trialplate.record.decisions import Decision
from trialplate.record.entries import OUTCOMES
from trialplate.record.values import Plan
from trialplate.reports.labels import LabelTable
from trialplate.reports.reported import FailedTrial, Reported
from trialplate.reports.summary import ConfigurationSummary, MetricSummary
from trialplate.verify.decision_text import decision_lines
from trialplate.verify.findings import counted
from trialplate.verify.text import decimal_text, visible

__all__ = [
    "amount_text",
    "cost_text",
    "counted_outcomes",
    "curtailed",
    "metric_text",
    "part_lines",
    "reading",
    "remarks",
]
__all__ += ["LABELS_WITHHELD", "LABEL_COLUMNS", "helper_text", "helpers_total", "label_rows", "label_text"]
__all__ += ["decision_words", "share_text", "shortened", "trial_text"]

LABELS_WITHHELD = "labels are withheld: the answers are not shown here"
LABEL_COLUMNS = ("precision", "recall", "F1", "support")
_COUNTED = ("passed", "failed", "limit", "error", "absent")
"""The outcomes that a table always shows."""
LONGEST = 200
"""Characters of an answer or a reason that are shown."""


def decision_words(reported: Reported, decision: Decision) -> Iterator[str]:
    """Yield a decision in the words in which `gate` prints it."""
    gate = reported.gate
    outlooks = gate.outlooks(decision.configuration)
    yield from decision_lines(decision, gate.record.plan.pass_mark, gate.report, outlooks)


def counted_outcomes(items: Sequence[ConfigurationSummary]) -> list[str]:
    """Return the outcomes that a table shows, so many that each row adds up to its trials."""
    return [word for word in (*OUTCOMES, "absent") if word in _COUNTED or any(item.outcomes[word] for item in items)]


def metric_text(metric: MetricSummary) -> str:
    """Return a mean with its range and its coverage."""
    if not metric.cells:
        return "n/a"
    if metric.mean is None:
        return f"none of {metric.cells}"
    text = share_text(metric.mean)
    if metric.low is not None and metric.high is not None:
        text += f" [{share_text(metric.low)}..{share_text(metric.high)}]"
    if metric.known < metric.cells:
        text += f" over {metric.known} of {metric.cells}"
    return text


def cost_text(item: ConfigurationSummary) -> str:
    """Return what a configuration cost, or that nobody knows."""
    if item.cost_nano is None:
        return "unknown"
    return amount_text(item.cost_nano, item.currency)


def helper_text(item: ConfigurationSummary) -> str:
    """Return what helpers cost for a configuration's answers, or that nobody knows."""
    return "unknown" if item.helper_nano is None else amount_text(item.helper_nano, item.helper_currency)


def helpers_total(items: Sequence[ConfigurationSummary]) -> str:
    """Return what helpers cost in all, in words."""
    known = sum(item.helper_known_nano for item in items)
    unknown = sum(item.helper_unknown for item in items)
    currency = next((item.helper_currency for item in items if item.helper_currency), "")
    text = amount_text(known, currency) if currency else "an unknown amount"
    more = f", and an unknown amount in {counted(unknown, 'trial')}" if unknown and currency else ""
    return f"helpers cost {text}{more} in all, apart from the cost of the models"


def amount_text(nano: int, currency: str) -> str:
    """Return an amount of money with so many digits that a little never looks like nothing."""
    return f"{decimal_text(Fraction(nano, 10**9), Fraction(0), digits=6)} {currency}"


def share_text(value: Fraction) -> str:
    """Return a number in [0,1] with so many digits that it looks neither like 0 nor like 1 unless it is."""
    return decimal_text(value, Fraction(round(value)))


def reading(plan: Plan) -> Iterator[str]:
    """Yield how the table is to be read."""
    yield "means with the range of the repeats in brackets; a range says nothing about other cases"
    if plan.verdict.case != "all":
        yield f"a case passes if {plan.verdict.case} of its repeats pass"
    if plan.helpers:
        from trialplate.spec.helper_checks import related  # it brings the room of the author's files

        yield from (f"{sentence}: it may favour its own answers" for _, sentence in related(plan))


def remarks(item: ConfigurationSummary) -> str:
    """Return what a reader of a configuration's numbers must know, or nothing."""
    unknown = item.outcomes["error"] + item.outcomes["absent"] + item.outcomes["skipped"] - item.incompatible
    unknown -= item.not_needed
    notes = [f"{counted(unknown, 'cell')} unknown"] if unknown else []
    if item.not_needed:
        notes.append(curtailed(item.not_needed, sum(item.outcomes.values())))
    if item.incompatible:
        notes.append(f"{counted(item.incompatible, 'trial')} incompatible: not asked, and without credit")
    if item.replayed:
        notes.append(f"{counted(item.replayed, 'answer')} replayed from a cassette (cost and latency as recorded)")
    if item.reasked:
        notes.append(f"{counted(item.reasked, 'cell')} re-asked")
    if item.lost:
        notes.append(f"{counted(item.lost, 'attempt')} lost")
    if item.outcomes["limit"]:
        notes.append(f"{counted(item.outcomes['limit'], 'answer')} cut off at a limit: results may depend on it")
    if item.timeouts:
        notes.append(f"{counted(item.timeouts, 'trial')} ended by a time limit: results may depend on the machine")
    if item.role == "comparison":
        notes.append("a comparison: counted, never accepted")
    return "; ".join(notes)


def curtailed(not_needed: int, planned: int) -> str:
    """Return what a reader must know of means that a stop rule decided to be taken no further."""
    return f"curtailed: {not_needed} of {counted(planned, 'trial')} were not needed, so its means are not unbiased"


def trial_text(outcome: str, cause: str | None) -> str:
    """Return an outcome with its cause."""
    return f"{outcome} ({cause})" if cause else outcome


def shortened(text: str) -> str:
    """Return the beginning of a text with its control characters shown."""
    shown = visible(text[: LONGEST + 1])
    return shown if len(text) <= LONGEST and len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."


def label_rows(tables: Iterable[LabelTable]) -> Iterator[tuple[LabelTable, str, list[str]]]:
    """Yield each class of each table: its label, and its numbers in the order of `LABEL_COLUMNS`."""
    for table in tables:
        for item in table.numbers.labels:
            shares = [share_text(value) for value in (item.precision, item.recall, item.f1)]
            yield table, item.label, [*shares, str(item.support)]


def label_text(table: LabelTable) -> str:
    """Return what a table comes to, in words."""
    numbers = table.numbers
    text = f"accuracy {share_text(numbers.accuracy)} and macro-F1 {share_text(numbers.macro_f1)}"
    text += f" over {counted(numbers.pairs, 'trial')}"
    if numbers.unanswered:
        text += f", of which {numbers.unanswered} without an answer that counts stand as wrong"
    return text


def part_lines(failed: FailedTrial) -> Iterator[tuple[str, str | None]]:
    """Yield the private parts of a failed trial, shortened; None is withheld."""
    for label, text in failed.parts:
        yield label, None if text is None else shortened(text)
