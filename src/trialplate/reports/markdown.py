# SPDX-License-Identifier: Apache-2.0
"""The report as GitHub-flavoured Markdown, for a pull request's comment or a pipeline's summary.

Whatever a model, a file or an author said stands in code spans or in a fenced block whose fence is longer than any run
of backquotes in it. There a renderer obeys nothing: no markup, no HTML, no link, no mention. Control characters, line
ends among them, are shown as escapes first, so that no text begins a line of its own: a runner that reads its log for
commands (`::error`) finds none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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

__all__ = ["code", "fenced", "render"]


def render(reported: Reported) -> Iterator[str]:
    """Yield the lines of a report."""
    record = reported.record
    yield f"## {_banner(reported)}"
    yield ""
    yield f"{code(record.plan.name)}, run {code(record.run_id)}: {reported.state.sentence}"
    if reported.state.adopted:
        yield f"{reported.state.adopted} lines beyond a checkpoint were taken over when the run was resumed"
    yield ""
    yield from _numbers(reported)
    yield ""
    if record.plan.helpers:
        yield f"{helpers_total(reported.configurations)}  "
    for line in reading(record.plan):
        yield f"- {line}"
    for item in reported.configurations:
        if notes := remarks(item):
            yield f"- {code(item.name)}: {notes}"
    yield ""
    yield "### What it shows"
    yield ""
    yield from _shown(reported)
    yield from _standings(reported)
    if reported.by_tag:
        yield ""
        yield "### By tag"
        yield ""
        yield from _tags(reported)
    yield from _labels(reported)
    yield ""
    yield "### Why"
    yield ""
    yield from fenced(_why(reported))
    yield ""
    yield "### Failures"
    yield ""
    yield from _failures(reported)


def code(text: str, *, in_table: bool = False) -> str:
    """Return a text as a code span that nothing in the text can end.

    Args:
        in_table: show `|` as an escape: cells are parted before spans are seen.
    """
    shown = visible(text)
    if in_table:
        shown = shown.replace("|", "\\x7c")
    if not shown.strip():
        shown = repr(shown)  # a span of blanks is no span
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def fenced(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines as a code block that nothing in them can end."""
    held = [visible(line) for line in lines]
    longest = max((len(run) for line in held for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from held
    yield fence


def _banner(reported: Reported) -> str:
    """Return the decisions in words."""
    if reported.pilot:
        return "PILOT: a run of less than its plan never decides"
    if not reported.decisions:
        return "NO DECISION: this run has no candidate"
    return ", ".join(f"{item.decision.upper()} {code(item.configuration)}" for item in reported.decisions)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _numbers(reported: Reported) -> Iterator[str]:
    names = [code(name, in_table=True) for name in reported.metrics]
    helped = ["helpers"] if reported.record.plan.helpers else []
    words = counted_outcomes(reported.configurations)
    header = ["configuration", *names, *words, "cost", *helped, "median ms", "p95 ms"]
    yield _row(header)
    yield _row(["---", *["---:"] * (len(header) - 1)])
    for item in reported.configurations:
        latency = ("-", "-") if item.latency_ms is None else (str(item.latency_ms[0]), str(item.latency_ms[1]))
        counts = [str(item.outcomes[word]) for word in words]
        means = [metric_text(metric) for metric in item.metrics]
        costs = [cost_text(item), helper_text(item)][: 1 + len(helped)]
        yield _row([code(item.name, in_table=True), *means, *counts, *costs, *latency])


def _shown(reported: Reported) -> Iterator[str]:
    """Yield what each number shows, and what the rules that are estimates can hide."""
    plan = reported.record.plan
    yield _row(["configuration", "metric", *SHOWN_COLUMNS])
    yield _row(["---", "---", *["---:"] * len(SHOWN_COLUMNS)])
    for item in reported.configurations:
        for metric in (*item.metrics, *item.rates):
            if metric.cells:
                yield _row([code(item.name, in_table=True), code(metric.name, in_table=True), *shown_cells(metric)])
    yield ""
    yield f"- {about_shown(plan.pass_mark)}"
    for line in resolution(plan, reported.configurations):
        yield f"- {line}"
    for found in reported.hidden:
        yield f"- {found.sentence}"


def _standings(reported: Reported) -> Iterator[str]:
    """Yield which rank each configuration may have, and where two of them differ."""
    standings = reported.standings
    if not standings.ranked:
        return
    yield ""
    yield "### Beside each other"
    yield ""
    yield _row(["rank of", "metric", *RANK_COLUMNS])
    yield _row(["---", "---", *["---:"] * len(RANK_COLUMNS)])
    for item in standings.ranked:
        names = [code(item.configuration, in_table=True), code(item.metric, in_table=True)]
        yield _row([*names, *rank_cells(item)])
    if pairs := list(pairs_shown(standings)):
        yield ""
        yield _row(["first", "second", "metric", *PAIR_COLUMNS])
        yield _row([*["---"] * 3, *["---:"] * len(PAIR_COLUMNS)])
        for pair in pairs:
            names = [code(text, in_table=True) for text in (pair.first, pair.second, pair.metric)]
            yield _row([*names, *pair_cells(pair)])
    yield ""
    for line in about_pairs(reported):
        yield f"- {line}"


def _tags(reported: Reported) -> Iterator[str]:
    header = ["tag", "cases", "configuration", *(code(name, in_table=True) for name in reported.metrics)]
    yield _row(header)
    yield _row(["---", "---:", "---", *["---:"] * (len(header) - 3)])
    for found in reported.tags:
        for item in found.configurations:
            means = [metric_text(metric) for metric in item.metrics]
            yield _row([code(found.tag, in_table=True), str(found.cases), code(item.name, in_table=True), *means])


def _labels(reported: Reported) -> Iterator[str]:
    """Yield how well labels were told apart."""
    if reported.labels == ():
        return
    yield ""
    yield "### Labels"
    yield ""
    if reported.labels is None:
        yield f"{LABELS_WITHHELD}."
        return
    yield _row(["configuration", "scorer", "label", *LABEL_COLUMNS])
    yield _row([*["---"] * 3, *["---:"] * len(LABEL_COLUMNS)])
    for table, label, cells in label_rows(reported.labels):
        yield _row([*(code(text, in_table=True) for text in (table.configuration, table.scorer, label)), *cells])
    yield ""
    for table in reported.labels:
        yield f"- {code(table.configuration)} {code(table.scorer)}: {label_text(table)}"


def _why(reported: Reported) -> Iterator[str]:
    """Yield each decision with its rules, evidence, attempts and level."""
    yield f"uses: {reported.uses}"
    if reported.pilots:
        yield f"pilots in this ledger: {', '.join(reported.pilots)}"
    for decision in reported.decisions:
        yield from decision_words(reported, decision)


def _failures(reported: Reported) -> Iterator[str]:
    for failed in reported.failed:
        item = failed.trial
        told = trial_text(item.outcome, item.cause)
        yield f"- {told}: {code(item.configuration)} {code(item.case)} repeat {item.repeat}"
        for label, text in part_lines(failed):
            yield f"  - {label}: {'withheld' if text is None else code(text)}"
    for name, number in reported.unshown.items():
        yield f"- and {number} more of {code(name)}: `--failures N` shows more"
    if not reported.not_passed:
        yield "No trial failed."
