# SPDX-License-Identifier: Apache-2.0
"""What a run came to, once it has ended: a table, what is unknown and why, and the next command to type.

A first look, from what was counted while it ran; the report works everything out again from the signed record.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from trialplate.cli.events import event_line, totals
from trialplate.cli.view import View, money
from trialplate.engine.budget import Purse
from trialplate.engine.prepare import Prepared
from trialplate.engine.session import Finished
from trialplate.engine.tally import Sums, Tally
from trialplate.record import codec
from trialplate.record.entries import OUTCOMES
from trialplate.reports.summary import metric_names
from trialplate.reports.terminal import aligned
from trialplate.reports.words import curtailed
from trialplate.rules.cells import MICRO
from trialplate.verify.findings import counted
from trialplate.verify.locate import ledger_above
from trialplate.verify.text import decimal_text, visible

__all__ = ["ended_event", "next_commands", "result", "summary_lines"]

REASONS = {
    "sealed": "complete, since nothing more could change a decision",
    "counts": "complete, since nothing more could change a decision",
    "interrupted": "interrupted",
    "infrastructure": "stopped, since one trial after the other could not be measured",
    "budget": "stopped at the budget",
    "time": "stopped at the time limit",
}
SAID = 300
"""Characters that are told of why there was no score."""
WHY = {
    "authentication": "the key was refused: check the variable that `secret:` names",
    "bad_reply": "the reply was none that can be read: is `url:` the base address of the interface, as .../v1?",
    "budget": "left out by the budget",
    "closed_connection": "the connection was closed",
    "http_status": "the server answered with an HTTP error: see its words in the report, then `url:` and `model:`",
    "incompatible": "the model does not take what the case holds: see `accepts:`",
    "interrupted": "interrupted",
    "lost": "the run ended before the answer came",
    "not_started": "the program could not be started",
    "rate_limited": "the provider asked for fewer requests: try --jobs 1",
    "refused_connection": "nobody answers at the model's address: is the server running?",
    "replay_miss": "not in the cassette: record it with --cache live",
    "scorer": "a scorer gave no score",
    "server_error": "the server failed",
    "timeout": "no answer in time",
    "transport": "the network failed",
    "wrong_model": "another model answered: if it is the same, list its id under `served:`",
}
"""A trial's cause in words, with what helps where something does."""


def summary_lines(finished: Finished, prepared: Prepared, view: View) -> Iterator[str]:
    """Yield how it ended, for a person."""
    counts = finished.counts
    unknown = finished.unknown
    not_needed = sum(finished.not_needed.values())
    numbers = {word: getattr(counts, word) for word in OUTCOMES}
    numbers |= {"absent": counts.absent - not_needed, "not needed": not_needed}
    told = ", ".join(f"{number} {word}" for word, number in numbers.items() if number or word in ("passed", "failed"))
    reason = REASONS.get(finished.reason, "incomplete" if unknown else "complete")
    yield f"{reason}: {told} of {counted(counts.planned, 'trial')} in {counted(counts.attempts, 'attempt')}"
    if view.tally is not None and view.done:
        yield from aligned(list(_table(prepared, view, view.tally)))
        yield from _remarks(prepared, view, view.tally)
        if finished.reason == "budget" and finished.purse is not None:
            yield _budget_text(finished.purse, view.tally)
    if unknown:
        words = f"{counted(unknown, 'trial')} unknown, neither passed nor failed; the record is signed and valid"
        yield f"{words} (exit {finished.exit_code})"
    for index, (command, why) in enumerate(next_commands(finished, prepared, view.whole)):
        yield f"{'next:' if not index else '     '} {command}{f'   # {why}' if why else ''}"


def _table(prepared: Prepared, view: View, tally: Tally) -> Iterator[list[str]]:
    """Yield a row of each configuration."""
    metrics = metric_names(prepared.matrix)
    rows = {name: view.row(name) for name in view.planned}
    shown = [word for word in OUTCOMES if word in ("passed", "failed") or any(row[word] for row in rows.values())]
    absent = any(sum(row.values()) < view.needed(name) for name, row in rows.items())
    left_out = any(view.needed(name) < view.planned[name] for name in rows)
    helped = ["helpers"] if prepared.plan.helpers else []
    more = [*(["absent"] if absent else []), *(["not needed"] if left_out else [])]
    yield ["configuration", *shown, *more, *metrics, "cost", *helped]
    for name, row in rows.items():
        sums = tally.of_configuration(name)
        cells = [str(row[word]) for word in shown]
        if absent:
            cells.append(str(view.needed(name) - sum(row.values())))
        if left_out:
            cells.append(str(view.planned[name] - view.needed(name)))
        means = [_mean_text(*_mean(metric, prepared, name, sums, row)) for metric in metrics]
        yield [name, *cells, *means, _cost_text(view, name, sums), *([_helper_text(view, sums)] if helped else [])]


def _mean(
    metric: str, prepared: Prepared, name: str, sums: Sums, row: Mapping[str, int]
) -> tuple[Fraction | None, int, int]:
    """Return the mean of a metric over its known cells, how many these are, and how many there should be.

    What is incompatible is known, and 0.
    """
    matrix, unfit = prepared.matrix, prepared.incompatible[name]
    is_rate = metric == "trial_pass_rate"
    about = [
        (case.id in unfit, repeats)
        for case, repeats in zip(matrix.cases, matrix.counts[name], strict=True)
        if is_rate or any(metric in scorer.metrics for scorer in matrix.applicable(case))
    ]
    cells, left_out = sum(repeats for _, repeats in about), sum(repeats for is_unfit, repeats in about if is_unfit)
    if is_rate:
        known = row["passed"] + row["failed"] + row["limit"] + row["needs_input"] + left_out
        return Fraction(row["passed"], known) if known else None, known, cells
    known = sums.known.get(metric, 0) + left_out
    return Fraction(sums.millionths.get(metric, 0), known * MICRO) if known else None, known, cells


def _mean_text(mean: Fraction | None, known: int, cells: int) -> str:
    if not cells:
        return "n/a"
    if mean is None:
        return f"none of {cells}"
    return decimal_text(mean) + (f" over {known} of {cells}" if known < cells else "")


def _cost_text(view: View, name: str, sums: Sums) -> str:
    """Return what a configuration cost, the part that is known."""
    if name not in view.currencies:
        return "unknown"
    text = money(sums.cost_nano, view.currencies[name])
    return f"{text} + {sums.costs_unknown} unknown" if sums.costs_unknown else text


def _helper_text(view: View, sums: Sums) -> str:
    """Return what helpers cost for a configuration's answers, the part that is known."""
    if view.helper_currency is None:
        return "unknown"
    text = money(sums.helper_nano, view.helper_currency)
    return f"{text} + {sums.helpers_unknown} unknown" if sums.helpers_unknown else text


def _helpers_total(view: View, tally: Tally) -> str:
    """Say what helpers cost in all."""
    total = Sums()
    for sums in tally.sums.values():
        total.helper_nano += sums.helper_nano
        total.helpers_unknown += sums.helpers_unknown
    return f"helpers cost {_helper_text(view, total)} in all, apart from the models' own cost"


def _remarks(prepared: Prepared, view: View, tally: Tally) -> Iterator[str]:
    """Yield what a reader of the table must know."""
    if prepared.plan.helpers:
        yield _helpers_total(view, tally)
    if tally.replayed:
        yield f"{counted(tally.replayed, 'answer')} replayed from a cassette: cost as recorded, nothing was paid"
        if prepared.plan.pass_mark.evidence.calls == "live" and prepared.narrowing is None:
            yield "the pass mark asks for live calls: a gate on this run is inconclusive at best"
    allowed = Fraction(prepared.plan.pass_mark.evidence.reasked)
    for name in view.planned if prepared.narrowing is None else ():
        again, planned = tally.of_configuration(name).reasked, view.planned[name]
        if again > allowed * planned:
            yield f"re-asked: {again} of {counted(planned, 'trial')} of {visible(name)}: an attempt was lost or cut off"
            told = f"the pass mark allows a share of {decimal_text(allowed, digits=2)}: a gate on it is inconclusive"
            yield f"{told} at best; `trialplate waive RUN --reason TEXT` and a new run begin again"
    endpoints = {item.name: item.endpoint for item in prepared.plan.configurations}
    for name in view.planned:
        for cause, number in tally.of_configuration(name).causes.items():
            if number:
                why = WHY.get(cause, "the report shows each")
                if cause == "refused_connection" and (endpoint := endpoints.get(name)):
                    why = f"nobody answers at {visible(endpoint)}: is the server running?"
                if cause == "scorer" and (said := tally.of_configuration(name).unscored):
                    why = f"{why}; the last: {visible(said[:SAID])}"
                yield f"unknown: {visible(name)}: {number} {cause}: {why}"
        if unfit := sorted(set(prepared.incompatible[name].values())):
            number = sum(prepared.matrix.counts[name]) - sum(prepared.asked.counts[name])
            why = visible(", ".join(unfit))
            yield f"incompatible: {number} of {visible(name)}, not asked and without credit: {why}"
        if not_needed := tally.not_needed.get(name):
            yield f"{visible(name)} is {curtailed(not_needed, view.planned[name])}"
        if left_out := tally.left_out.get(name):
            yield f"left out: {left_out} of {visible(name)}: the budget's money or time did not suffice"


def _budget_text(purse: Purse, tally: Tally) -> str:
    """Say how much of a budget is taken, and how much of that nobody knows."""
    known = sum(sums.spent_nano + sums.helper_spent_nano for sums in tally.sums.values())
    text = f"budget: {purse.spent / 1e9:.6f} of {purse.limit / 1e9:.6f} count as spent"
    if (unknown := purse.spent - known) > 0:
        text += f", {unknown / 1e9:.6f} of it the most that attempts of unknown cost could come to"
    return text


def next_commands(finished: Finished, prepared: Prepared, whole: str | None) -> Iterator[tuple[str, str]]:
    """Yield what to type next, as it works from the folder where the run was started, and what it is for.

    Args:
        whole: the command that runs the plan in full, where it is known.
    """
    named = shlex.quote(_named(finished.folder))
    counts = finished.counts
    if finished.reason == "budget":
        yield f"trialplate resume {named} --max-cost AMOUNT", "asks what was left out; the amount is of the whole run"
        yield f"trialplate report {named}", ""
        return
    if finished.unknown and finished.unknown == finished.unjudged:
        yield f"trialplate report {named}", ""
        why = "its judge has no further reply to any: mend rules or judge, then run again"
        yield f"trialplate waive {named} --reason TEXT", why
        return
    if finished.exit_code:
        why = "asks what is unknown, keeps what is decided"
        if finished.reason == "time":
            why = "asks what was left out, within as much time again; --max-time gives another"
        yield f"trialplate resume {named}", why
        yield f"trialplate report {named}", ""
        return
    wrong = counts.planned - counts.passed - sum(finished.not_needed.values())
    yield f"trialplate report {named}", f"shows the {counted(wrong, 'trial')} not passed" if wrong else ""
    if prepared.narrowing is not None:
        if whole is not None:
            yield whole, "the whole plan: a pilot never decides"
        return
    if prepared.plan.pass_mark.choose is not None:
        yield f"trialplate gate {named}", "exit 0 only if one is chosen, and accepted"
        return
    candidates = [item.name for item in prepared.plan.configurations if item.role == "candidate"]
    there = [name for name in candidates if name in prepared.matrix.counts]
    if there:
        yield f"trialplate gate {named} --model {shlex.quote(there[0])}", "exit 0 only if it is accepted"


def _named(folder: Path) -> str:
    """Return how the run is named from here: its id inside its project, else its path."""
    above = ledger_above(Path.cwd())
    inside = above is not None and above.parent == folder.parent.parent
    return folder.name if inside else os.path.relpath(folder)


# ------------------------------------------------------------------------------------------------- for programs


def result(finished: Finished, prepared: Prepared, view: View) -> dict[str, Any]:
    """Return the object that `--json` prints: stable names; what is unknown is null, and never 0."""
    tally = view.tally or Tally(view.total)
    rows: list[dict[str, Any]] = []
    for name in view.planned:
        sums, row = tally.of_configuration(name), view.row(name)
        metrics = {}
        for metric in metric_names(prepared.matrix):
            mean, known, cells = _mean(metric, prepared, name, sums, row)
            metrics[metric] = {"mean": None if mean is None else round(float(mean), 6), "known": known, "cells": cells}
        priced = name in view.currencies and not sums.costs_unknown
        rows.append(
            {
                "name": name,
                "planned": view.planned[name],
                "not_needed": finished.not_needed.get(name, 0),
                "outcomes": row,
                "metrics": metrics,
                "cost": {"currency": view.currencies[name], "nano": sums.cost_nano} if priced else None,
                "causes": {cause: number for cause, number in sums.causes.items() if number},
            }
        )
        if prepared.plan.helpers:
            told = view.helper_currency is not None and not sums.helpers_unknown
            rows[-1]["helper_cost"] = {"currency": view.helper_currency, "nano": sums.helper_nano} if told else None
    return {
        "run_id": finished.run_id,
        "reason": finished.reason,
        "exit_code": finished.exit_code,
        "pilot": prepared.narrowing is not None,
        "counts": codec.to_json(finished.counts),
        "configurations": rows,
        "next": [command for command, _ in next_commands(finished, prepared, view.whole)],
    }


def ended_event(finished: Finished, view: View) -> str:
    """Return the last event of a run."""
    said = {"run_id": finished.run_id, "reason": finished.reason, "exit_code": finished.exit_code}
    return event_line("run.ended", **said, **totals(view))
