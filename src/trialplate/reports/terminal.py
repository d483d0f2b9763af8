# SPDX-License-Identifier: Apache-2.0
"""The report in a terminal: plain text, the decision first. Control characters of model text are shown, never sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from trialplate.reports.evidence_text import (
    PAIR_COLUMNS,
    RANK_COLUMNS,
    SHOWN_COLUMNS,
    about_pairs,
    about_shown,
    pair_cells,
    pairs_shown,
    rank_cells,
    resolution,
    shown_cells,
)
from trialplate.reports.reported import Reported
from trialplate.reports.words import (
    LABEL_COLUMNS,
    LABELS_WITHHELD,
    cost_text,
    counted_outcomes,
    decision_words,
    helper_text,
    helpers_total,
    label_rows,
    label_text,
    metric_text,
    part_lines,
    reading,
    remarks,
    trial_text,
)
from trialplate.verify.text import visible

__all__ = ["aligned", "render"]


def render(reported: Reported) -> Iterator[str]:
    """Yield the lines of a report."""
    record = reported.record
    pilot = " (a pilot: it never decides)" if reported.pilot else ""
    yield f"{record.plan.name}: run {record.run_id}{pilot}"
    yield reported.state.sentence
    if reported.state.adopted:
        yield f"{reported.state.adopted} lines beyond a checkpoint were taken over when the run was resumed"
    if reported.pilots:
        yield f"pilots in this ledger: {', '.join(reported.pilots)}"
    yield f"uses: {reported.uses}"
    for decision in reported.decisions:
        yield ""
        yield from decision_words(reported, decision)
    yield ""
    yield from _table(reported)
    yield from reading(record.plan)
    if record.plan.helpers:
        yield helpers_total(reported.configurations)
    for item in reported.configurations:
        if notes := remarks(item):
            yield f"  {visible(item.name)}: {notes}"
    yield ""
    yield from _shown(reported)
    yield from _standings(reported)
    if reported.by_tag:
        yield ""
        yield from _tags(reported)
    yield from _labels(reported)
    yield ""
    yield from _failures(reported)


def _table(reported: Reported) -> Iterator[str]:
    helped = ["helpers"] if reported.record.plan.helpers else []
    words = counted_outcomes(reported.configurations)
    rows = [["configuration", *reported.metrics, *words, "cost", *helped, "median ms", "p95 ms"]]
    for item in reported.configurations:
        latency = ("-", "-") if item.latency_ms is None else (str(item.latency_ms[0]), str(item.latency_ms[1]))
        counts = [str(item.outcomes[word]) for word in words]
        costs = [cost_text(item), helper_text(item)][: 1 + len(helped)]
        rows.append([item.name, *map(metric_text, item.metrics), *counts, *costs, *latency])
    yield from aligned(rows)


def _shown(reported: Reported) -> Iterator[str]:
    """Yield what each number shows, and what the rules that are estimates can hide."""
    plan = reported.record.plan
    rows = [["configuration", "metric", *SHOWN_COLUMNS]]
    for item in reported.configurations:
        rows += [[item.name, metric.name, *shown_cells(metric)] for metric in item.metrics if metric.cells]
    yield from aligned(rows, left=(0, 1))
    yield about_shown(plan.pass_mark)
    yield from resolution(plan, reported.configurations)
    yield from (item.sentence for item in reported.hidden)


def _standings(reported: Reported) -> Iterator[str]:
    """Yield which rank each configuration may have, and where two of them differ."""
    standings = reported.standings
    if not standings.ranked:
        return
    yield ""
    rows = [["rank of", "metric", *RANK_COLUMNS]]
    rows += [[item.configuration, item.metric, *rank_cells(item)] for item in standings.ranked]
    yield from aligned(rows, left=(0, 1))
    if pairs := list(pairs_shown(standings)):
        rows = [["first", "second", "metric", *PAIR_COLUMNS]]
        rows += [[pair.first, pair.second, pair.metric, *pair_cells(pair)] for pair in pairs]
        yield from aligned(rows, left=(0, 1, 2))
    yield from about_pairs(reported)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> Iterator[str]:
    """Yield rows with their columns aligned, those of `left` to the left, the others to the right.

    No row begins with `::`, whatever a tag is called: a CI log takes that for a command.
    """
    shown = [[visible(cell) for cell in row] for row in rows]
    for row in shown:
        if row[0].lstrip().startswith("::"):
            row[0] = row[0].replace(":", "\\x3a", 1)
    widths = [max(len(row[index]) for row in shown) for index in range(len(shown[0]))]
    for row in shown:
        cells = [
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _tags(reported: Reported) -> Iterator[str]:
    """Yield the table by tag: a case counts under each of its tags."""
    rows = [["tag", "cases", "configuration", *reported.metrics]]
    for found in reported.tags:
        for item in found.configurations:
            rows.append([found.tag, str(found.cases), item.name, *map(metric_text, item.metrics)])
    yield from aligned(rows)


def _labels(reported: Reported) -> Iterator[str]:
    """Yield how well labels were told apart."""
    if reported.labels is None:
        yield ""
        yield LABELS_WITHHELD
    elif reported.labels:
        yield ""
        rows = [["configuration", "scorer", "label", *LABEL_COLUMNS]]
        rows += [[t.configuration, t.scorer, label, *cells] for t, label, cells in label_rows(reported.labels)]
        yield from aligned(rows, left=(0, 1, 2))
        for table in reported.labels:
            yield f"  {visible(table.configuration)} {visible(table.scorer)}: {label_text(table)}"


def _failures(reported: Reported) -> Iterator[str]:
    """Yield the trials that were not passed, with what was answered and why it failed."""
    for failed in reported.failed:
        item = failed.trial
        told = trial_text(item.outcome, item.cause)
        yield f"{told}: {visible(item.configuration)} {visible(item.case)} repeat {item.repeat}"
        for label, text in part_lines(failed):
            yield f"    {label}: {'withheld' if text is None else text}"
    for name, number in reported.unshown.items():
        yield f"... and {number} more of {visible(name)}; --failures N shows more"
    if not reported.not_passed:
        yield "no trial failed"
