# SPDX-License-Identifier: Apache-2.0
"""The report as CSV (RFC 4180, with LF): a row for each trial, or with `--by-tag` a row for each tag and metric.

No private text stands in it. A text cell that a spreadsheet would take for a formula gets an apostrophe in front; so
does one that begins with an apostrophe, so that taking one away (`plain`) always gives the text back. Rows stream:
first the trials that ended, in the order of the record, then those whose last attempt was lost or that never began.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor

from trialplate.record.entries import TrialEnd, TrialKey
from trialplate.reports.reported import Reported
from trialplate.reports.summary import final_of
from trialplate.reports.trials import timed
from trialplate.rules.cells import Cell

__all__ = ["plain", "render", "safe"]

_FORMULA = re.compile(r"[\s\u200b-\u200f\u2060-\u2064\ufeff\x00-\x1f\x7f-\x9f]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet may run, also behind what it leaves out: blanks, zero-width and control characters."""
COLUMNS = ["configuration", "case", "repeat", "outcome", "cause", "verdict", "attempts"]
BY_TAG = ["tag", "cases", "configuration", "metric", "mean", "n", "cells", "unknown", "repeats", "low", "high"]
BOUNDS = ["metric_cases", "lower", "upper"]
"""Last in the table by tag: over how many cases, and what these show at least and at most."""
MORE = [
    "cost",
    "currency",
    "helper_cost",
    "helper_currency",
    "input_tokens",
    "output_tokens",
    "latency_ms",
    "replayed",
    "reasked",
    "tags",
]


def safe(text: str) -> str:
    """Return a text as a cell that is no formula, and as the first of a line no command to a CI log (`::error`)."""
    return "'" + text if text.lstrip().startswith(("'", "::")) or _FORMULA.match(text) else text


def plain(cell: str) -> str:
    """Return the text that `safe` was given."""
    return cell.removeprefix("'")


def render(reported: Reported) -> Iterator[str]:
    """Yield the lines of the table; a line may hold the line ends of a quoted cell."""
    yield from _by_tag(reported) if reported.by_tag else _trials(reported)


def _line(cells: Sequence[object]) -> str:
    """Return one row; None is an empty cell, which says that nobody knows."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


# ------------------------------------------------------------------------------------------------------------ trials


def _trials(reported: Reported) -> Iterator[str]:
    record = reported.record
    metrics = [name for name in reported.metrics if name != "trial_pass_rate"]
    yield _line([*COLUMNS, *map(safe, metrics), *MORE])
    prices = {item.name: item.pricing for item in record.plan.configurations}
    runners = {item.name: item.runner for item in record.plan.configurations}
    helping = next((item.pricing.currency for item in record.plan.helpers if item.pricing is not None), None)
    tags = {case.id: ";".join(case.tags) for case in record.matrix.cases}

    def row(key: TrialKey, cell: Cell | None, end: TrialEnd | None) -> str:
        pricing = prices[key[0]]
        outcome, cause = final_of(cell)
        known = cell is not None and not (cell.cost_unknown or cell.running) and pricing is not None
        usage = end.usage if end is not None else None
        return _line(
            [
                safe(key[0]),
                safe(key[1]),
                key[2],
                outcome,
                cause,
                cell.verdict if cell is not None and not cell.running else None,
                cell.attempts if cell is not None else 0,
                *(_number(end, name) for name in metrics),
                _money(cell.cost_nano) if cell is not None and known else None,
                pricing.currency if pricing is not None else None,
                _money(cell.helper_nano) if helping and cell is not None and not cell.helper_unknown else None,
                helping,
                usage.input if usage is not None else None,
                usage.output if usage is not None else None,
                timed(end, runners[key[0]]) if end is not None and cell is not None and cell.known else None,
                _yes(cell is not None and cell.replayed and not cell.running),
                _yes(cell is not None and cell.reasked),
                safe(tags[key[1]]),
            ]
        )

    for end in reported.ends():
        yield row(end.trial, record.board.cells[end.trial], end)
    for key in record.matrix.trials():
        cell = record.board.cells.get(key)
        if cell is None or cell.running:
            yield row(key, cell, None)


def _number(end: TrialEnd | None, metric: str) -> str | None:
    """Return a metric's value as plain decimal text; None where it is unknown or does not apply."""
    if end is None or metric not in end.metrics:
        return None
    return f"{end.metrics[metric]:.6f}".rstrip("0").rstrip(".")


def _money(nano: int) -> str:
    return f"{nano // 10**9}.{nano % 10**9:09d}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


# -------------------------------------------------------------------------------------------------------------- tags


def _by_tag(reported: Reported) -> Iterator[str]:
    yield _line(
        ["tag", "cases", "configuration", "metric", "mean", "n", "cells", "unknown", "repeats", "low", "high", *BOUNDS]
    )
    for found in reported.tags:
        for item in found.configurations:
            for metric in (*item.metrics, *item.rates):
                counts = [metric.known, metric.cells, metric.cells - metric.known, metric.repeats]
                range_ = [_decimal(metric.low), _decimal(metric.high)]
                name = [safe(found.tag), found.cases, safe(item.name), safe(metric.name)]
                bounds = [metric.cases, _outwards(metric.lower, floor), _outwards(metric.upper, ceil)]
                yield _line([*name, _decimal(metric.mean), *counts, *range_, *bounds])


def _outwards(value: float | None, rounded: Callable[[float], int]) -> str | None:
    """Return a bound with six decimals, rounded to the side on which it still holds."""
    return None if value is None else f"{rounded(value * 10**6) / 10**6:.6f}"


def _decimal(value: Fraction | None) -> str | None:
    return None if value is None else f"{float(value):.6f}"
