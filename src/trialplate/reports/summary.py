# SPDX-License-Identifier: Apache-2.0
"""The numbers that reports show, from a verified record. Never an input to the gate.

Every number carries how many cells it rests on; a mean says what share was measured, a range says how many repeats.
Ranges show how repeats of the same cases differ; they say nothing about other cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialplate.record.matrix import Matrix
from trialplate.record.values import PlanCase
from trialplate.rules.cells import MICRO, Cell
from trialplate.verify.record_view import RecordView

__all__ = ["ConfigurationSummary", "Failed", "MetricSummary", "failures", "metric_names", "summarise", "tags_of"]

OUTCOMES = ("passed", "failed", "limit", "needs_input", "error", "skipped", "absent")


@dataclass(frozen=True)
class MetricSummary:
    """A metric of one configuration over some cases."""

    name: str
    mean: Fraction | None
    """Over the measured cells; None if there are none."""
    known: int
    cells: int
    low: Fraction | None
    """The lowest mean of any repeat, and the highest; None with one repeat, or where a repeat is not whole."""
    high: Fraction | None


@dataclass(frozen=True)
class ConfigurationSummary:
    """One configuration's cells in numbers."""

    name: str
    role: str
    outcomes: dict[str, int]
    metrics: tuple[MetricSummary, ...]
    cost_nano: int | None
    """Candidate cost in 10^-9 of the currency; None while any attempt's is unknown."""
    currency: str
    latency_ms: tuple[int, int] | None
    """Median and 95th percentile (nearest rank) over trials with an answer."""
    replayed: int
    reasked: int
    lost: int
    attempts: int


@dataclass(frozen=True)
class Failed:
    """A trial that was not passed."""

    configuration: str
    case: str
    repeat: int
    outcome: str
    cause: str | None


def summarise(record: RecordView, keep: Callable[[PlanCase], bool] = lambda case: True) -> list[ConfigurationSummary]:
    """Return a summary of each configuration over the cases that `keep` takes."""
    by_name = {item.name: item for item in record.plan.configurations}
    found = []
    for name in record.matrix.counts:
        rows = [(case, cells) for case, cells in _rows(record, name) if keep(case)]
        cells = [cell for _, repeats in rows for cell in repeats]
        begun = [cell for cell in cells if cell is not None]
        pricing = by_name[name].pricing
        unknown_cost = pricing is None or any(cell.cost_unknown or cell.running for cell in begun)
        found.append(
            ConfigurationSummary(
                name=name,
                role=by_name[name].role,
                outcomes={word: _count(cells, word) for word in OUTCOMES},
                metrics=tuple(_metric(metric, rows, record.matrix) for metric in metric_names(record.matrix)),
                cost_nano=None if unknown_cost else sum(cell.cost_nano for cell in begun),
                currency=pricing.currency if pricing is not None else "",
                latency_ms=_latency(begun),
                replayed=sum(cell.replayed for cell in begun),
                reasked=sum(cell.reasked for cell in begun),
                lost=sum(cell.lost + cell.running for cell in begun),
                attempts=sum(cell.attempts for cell in begun),
            )
        )
    return found


def metric_names(matrix: Matrix) -> list[str]:
    """Return the metrics of a matrix, in the order of its scorers, then the pass rate of its trials."""
    return [*dict.fromkeys(scorer.metric for scorer in matrix.scorers), "trial_pass_rate"]


def tags_of(matrix: Matrix) -> list[str]:
    """Return every tag of the matrix's cases; an untagged case stands under "(untagged)"."""
    tags = {tag for case in matrix.cases for tag in (case.tags or ("(untagged)",))}
    return sorted(tags)


def _rows(record: RecordView, configuration: str) -> Iterator[tuple[PlanCase, list[Cell | None]]]:
    by_id = {case.id: case for case in record.matrix.cases}
    for case, repeats in record.board.of(record.matrix, configuration):
        yield by_id[case], repeats


def _count(cells: Sequence[Cell | None], outcome: str) -> int:
    return sum(1 for cell in cells if (cell.final if cell is not None else "absent") == outcome)


def _metric(name: str, rows: Sequence[tuple[PlanCase, list[Cell | None]]], matrix: Matrix) -> MetricSummary:
    """Return a metric over the cases that it applies to, and the range of its repeats."""
    values: list[list[int | None]] = []
    for case, repeats in rows:
        if name == "trial_pass_rate":
            values.append([_pass_value(cell) for cell in repeats])
        elif any(scorer.metric == name for scorer in matrix.applicable(case)):
            values.append([cell.value(name) if cell is not None else None for cell in repeats])
    cells = [value for row in values for value in row]
    known = [value for value in cells if value is not None]
    means = _repeat_means(values)
    return MetricSummary(
        name=name,
        mean=Fraction(sum(known), len(known) * MICRO) if known else None,
        known=len(known),
        cells=len(cells),
        low=min(means) if len(means) > 1 else None,
        high=max(means) if len(means) > 1 else None,
    )


def _pass_value(cell: Cell | None) -> int | None:
    return None if cell is None or not cell.known else MICRO if cell.outcome == "passed" else 0


def _repeat_means(values: Sequence[Sequence[int | None]]) -> list[Fraction]:
    """Return the mean of each repeat, or nothing if any repeat has a gap: a range over gaps would mislead."""
    if not values or any(value is None for row in values for value in row):
        return []
    deepest = min(len(row) for row in values)
    columns = [[row[index] or 0 for row in values] for index in range(deepest)]
    return [Fraction(sum(column), len(column) * MICRO) for column in columns]


def _latency(cells: Sequence[Cell]) -> tuple[int, int] | None:
    times = sorted(cell.latency_ms for cell in cells if cell.known)
    if not times:
        return None
    return times[-(-len(times) * 50 // 100) - 1], times[-(-len(times) * 95 // 100) - 1]


def failures(record: RecordView) -> Iterator[Failed]:
    """Yield the trials that were not passed, in the order of the matrix."""
    for name, case, repeat in record.matrix.trials():
        cell = record.board.cells.get((name, case, repeat))
        if cell is None or cell.final != "passed":
            outcome = cell.final if cell is not None else "absent"
            yield Failed(name, case, repeat, outcome, cell.cause if cell is not None else None)
