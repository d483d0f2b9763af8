# SPDX-License-Identifier: Apache-2.0
"""The report in a terminal: plain text, the decision first. Control characters of model text are shown, never sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction

from trialplate.record import canonical
from trialplate.record.entries import Decision, TrialEnd, TrialKey
from trialplate.record.frozen import Json
from trialplate.record.values import PlanCase
from trialplate.reports.summary import ConfigurationSummary, MetricSummary, failures, metric_names, summarise, tags_of
from trialplate.verify.findings import counted
from trialplate.verify.gate import Gate
from trialplate.verify.text import decimal_text, decision_lines, visible

__all__ = ["render"]

LONGEST = 200
"""Characters of an answer or a reason that are shown."""


def render(
    gate: Gate,
    decisions: Sequence[Decision],
    ends: Mapping[TrialKey, TrialEnd],
    opened: Mapping[str, Json],
    *,
    by_tag: bool,
    shown: int,
) -> Iterator[str]:
    """Yield the lines of a report.

    Args:
        gate: a verified record and its ledger.
        decisions: one per candidate configuration, derived just now.
        ends: the last attempt of the trials whose failure is shown.
        opened: what opens their private parts, by commitment; empty where content is withheld.
        by_tag: add the table by tag.
        shown: how many failures of each configuration to show.
    """
    record = gate.record
    pilot = " (a pilot: it never decides)" if record.start.selection == "pilot" else ""
    yield f"{record.plan.name}: run {record.run_id}{pilot}"
    yield from _state(gate)
    for decision in decisions:
        yield ""
        yield from decision_lines(decision, record.plan.pass_mark, gate.report)
    summaries = summarise(record)
    yield ""
    yield from _table(summaries, metric_names(record.matrix))
    yield from _remarks(summaries, record.plan.name)
    if by_tag:
        yield ""
        yield from _tags(gate)
    yield ""
    yield from _failures(gate, ends, opened, shown)


def _state(gate: Gate) -> Iterator[str]:
    """Say how far the run came, and what came before it."""
    record = gate.record
    counts = record.board.counts(record.matrix)
    done = counts.planned - counts.absent
    if record.end is None:
        yield f"UNFINISHED: {done} of {counts.planned} trials began, and the ledger has no run.end"
    elif record.closed is not None and not record.closed.complete:
        yield f"INCOMPLETE ({record.closed.reason}): {done} of {counts.planned} trials began"
    else:
        yield f"complete: {counts.planned} trials in {counts.attempts} attempts"
    if record.adopted:
        yield f"{record.adopted} lines beyond a checkpoint were taken over when the run was resumed"
    pilots = [e.body for e in gate.ledger.starts() if e.body.selection == "pilot" and e.body.run_id != record.run_id]
    if pilots:
        yield f"pilots in this ledger: {', '.join(item.run_id for item in pilots)}"
    yield f"uses: {gate.report.said.get('V18', '')}"


def _table(summaries: Sequence[ConfigurationSummary], metrics: Sequence[str]) -> Iterator[str]:
    header = ["configuration", *metrics, "passed", "failed", "limit", "error", "absent", "cost", "median ms", "p95 ms"]
    rows = [header]
    for item in summaries:
        latency = ("-", "-") if item.latency_ms is None else (str(item.latency_ms[0]), str(item.latency_ms[1]))
        counts = [str(item.outcomes[word]) for word in ("passed", "failed", "limit", "error", "absent")]
        rows.append([item.name, *map(metric_text, item.metrics), *counts, cost_text(item), *latency])
    yield from aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with their columns aligned, the first to the left, the others to the right."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in shown) for index in range(len(shown[0]))]
    for row in shown:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def metric_text(metric: MetricSummary) -> str:
    """Return a mean with its range and its coverage."""
    if not metric.cells:
        return "n/a"
    if metric.mean is None:
        return f"none of {metric.cells}"
    text = decimal_text(metric.mean)
    if metric.low is not None and metric.high is not None:
        text += f" [{decimal_text(metric.low)}..{decimal_text(metric.high)}]"
    if metric.known < metric.cells:
        text += f" over {metric.known} of {metric.cells}"
    return text


def cost_text(item: ConfigurationSummary) -> str:
    """Return what a configuration cost, or that nobody knows."""
    if item.cost_nano is None:
        return "unknown"
    return f"{decimal_text(Fraction(item.cost_nano, 10**9), digits=6)} {item.currency}"


def _remarks(summaries: Sequence[ConfigurationSummary], name: str) -> Iterator[str]:
    """Say what a reader of the table must know."""
    yield "means with the range of the repeats in brackets; a range says nothing about other cases"
    for item in summaries:
        notes = []
        if item.outcomes["error"] or item.outcomes["absent"]:
            notes.append(f"{counted(item.outcomes['error'] + item.outcomes['absent'], 'cell')} unknown")
        if item.replayed:
            notes.append(f"{counted(item.replayed, 'answer')} replayed from a cassette (cost and latency as recorded)")
        if item.reasked:
            notes.append(f"{counted(item.reasked, 'cell')} re-asked")
        if item.lost:
            notes.append(f"{counted(item.lost, 'attempt')} lost")
        if item.outcomes["limit"]:
            notes.append(f"{counted(item.outcomes['limit'], 'answer')} cut off at a limit: results may depend on it")
        if item.role == "comparison":
            notes.append("a comparison: counted, never accepted")
        if notes:
            yield f"  {visible(item.name)}: {'; '.join(notes)}"


def _tags(gate: Gate) -> Iterator[str]:
    """Yield the table by tag: a case counts under each of its tags."""
    matrix = gate.record.matrix
    metrics = metric_names(matrix)
    rows = [["tag", "cases", "configuration", *metrics]]
    for tag in tags_of(matrix):

        def tagged(case: PlanCase, tag: str = tag) -> bool:
            return tag in (case.tags or ("(untagged)",))

        number = sum(1 for case in matrix.cases if tagged(case))
        for item in summarise(gate.record, tagged):
            rows.append([tag, str(number), item.name, *map(metric_text, item.metrics)])
    yield from aligned(rows)


def _failures(gate: Gate, ends: Mapping[TrialKey, TrialEnd], opened: Mapping[str, Json], shown: int) -> Iterator[str]:
    """Yield the trials that were not passed, with what was answered and why it failed."""
    seen: dict[str, int] = {}
    for item in failures(gate.record):
        seen[item.configuration] = seen.get(item.configuration, 0) + 1
        if seen[item.configuration] > shown:
            continue
        cause = f" ({item.cause})" if item.cause else ""
        yield f"{item.outcome}{cause}: {visible(item.configuration)} {visible(item.case)} repeat {item.repeat}"
        end = ends.get((item.configuration, item.case, item.repeat))
        if end is not None:
            passed = {item.name for item in gate.record.plan.scorers if end.metrics.get(item.metric) == 1}
            yield from _opened(end, opened, passed)
    for name, number in seen.items():
        if number > shown:
            yield f"... and {number - shown} more of {visible(name)}; --failures N shows more"
    if not seen:
        yield "no trial failed"


def _opened(end: TrialEnd, opened: Mapping[str, Json], passed: Set[str]) -> Iterator[str]:
    """Yield what opens a failed trial's private parts; a scorer that it passed is no reason for it."""
    for label, commitment in (
        ("answer", end.private.answer),
        ("why", end.private.reason),
        ("error", end.private.error),
    ):
        if commitment is None:
            continue
        if commitment not in opened:
            yield f"    {label}: withheld"
            continue
        yield f"    {label}: {_shortened(_text(opened[commitment], passed))}"


def _text(value: Json, passed: Set[str]) -> str:
    if isinstance(value, dict) and list(value) != ["ascii_json"]:
        told = {name: canonical.text_in(reason) for name, reason in value.items() if name not in passed}
        return "; ".join(f"{name}: {reason}" for name, reason in told.items())
    return canonical.text_in(value)


def _shortened(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."
