# SPDX-License-Identifier: Apache-2.0
"""The numbers that reports show, from a verified record. Never an input to the gate.

Every number carries how many cells it rests on; a mean says what share was measured, a range says how many repeats.
Ranges show how repeats of the same cases differ; they say nothing about other cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialplate.record.entries import OUTCOMES
from trialplate.record.matrix import Matrix
from trialplate.record.values import PlanCase
from trialplate.rules.cells import MICRO, Cell
from trialplate.verify.record_view import RecordView

__all__ = ["UNTAGGED", "ConfigurationSummary", "Failed", "MetricSummary", "TagSummary"]
__all__ += ["failures", "final_of", "metric_names", "summarise", "summarise_tags", "tags_of"]

UNTAGGED = "(untagged)"
"""What cases without a tag stand under."""

Rows = list[tuple[PlanCase, list[Cell | None]]]
"""Cases of one configuration with their repeats; None is a trial that never began."""


@dataclass(frozen=True)
class MetricSummary:
    """A metric of one configuration over some cases."""

    name: str
    mean: Fraction | None
    """Over the measured cells; None if there are none."""
    known: int
    cells: int
    cases: int
    repeats: int
    """The most that any of the cases has."""
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
    cost_known_nano: int
    """What is known of it."""
    cost_unknown: int
    """Trials with an attempt of unknown cost."""
    currency: str
    helper_nano: int | None
    """Cost of helpers, apart from the candidate's; None while any call's is unknown, or no helper has a price."""
    helper_known_nano: int
    helper_unknown: int
    """Trials with a helper call of unknown cost."""
    helper_currency: str
    latency_ms: tuple[int, int] | None
    """Median and 95th percentile (nearest rank) over trials with an answer, of recorded runs those that tell a time."""
    answered: int
    """Trials over which the latency is told."""
    replayed: int
    reasked: int
    lost: int
    timeouts: int
    """Trials that stand at a time limit."""
    incompatible: int
    """Trials of cases that the model does not take."""
    attempts: int
    not_needed: int = 0
    """Absent trials that the mark's stop rule left out."""


@dataclass(frozen=True)
class Failed:
    """A trial that was not passed."""

    configuration: str
    case: str
    repeat: int
    outcome: str
    cause: str | None


@dataclass(frozen=True)
class TagSummary:
    """The cases of one tag in numbers."""

    tag: str
    cases: int
    configurations: tuple[ConfigurationSummary, ...]


def summarise(record: RecordView) -> list[ConfigurationSummary]:
    """Return a summary of each configuration over all of its cases."""
    return [_summary(record, name, rows) for name, rows in _by_configuration(record).items()]


def summarise_tags(record: RecordView) -> Iterator[TagSummary]:
    """Yield a summary of each tag, in order of tag: a case counts under each of its tags."""
    numbers = dict.fromkeys(tags_of(record.matrix), 0)
    for case in record.matrix.cases:
        for tag in case.tags or (UNTAGGED,):
            numbers[tag] += 1
    tagged: dict[str, dict[str, Rows]] = {tag: {} for tag in numbers}
    for name, rows in _by_configuration(record).items():
        for tag in numbers:
            tagged[tag][name] = []
        for case, cells in rows:
            for tag in case.tags or (UNTAGGED,):
                tagged[tag][name].append((case, cells))
    for tag, found in tagged.items():
        made = tuple(_summary(record, name, rows) for name, rows in found.items())
        yield TagSummary(tag=tag, cases=numbers[tag], configurations=made)


def _by_configuration(record: RecordView) -> dict[str, Rows]:
    by_id = {case.id: case for case in record.matrix.cases}
    return {
        name: [(by_id[case], repeats) for case, repeats in record.board.of(record.matrix, name)]
        for name in record.matrix.counts
    }


def _summary(record: RecordView, name: str, rows: Rows) -> ConfigurationSummary:
    """Return one configuration's numbers over these rows."""
    configuration = next(item for item in record.plan.configurations if item.name == name)
    cells = [cell for _, repeats in rows for cell in repeats]
    begun = [cell for cell in cells if cell is not None]
    stopped = {item.configuration for item in record.closed.not_needed} if record.closed is not None else set()
    pricing = configuration.pricing
    unknown_cost = sum(1 for cell in begun if cell.cost_unknown or cell.running)
    known_cost = sum(cell.cost_nano for cell in begun)
    helping = next((item.pricing.currency for item in record.plan.helpers if item.pricing is not None), "")
    untold = sum(1 for cell in begun if cell.helper_unknown or (record.plan.helpers and cell.running))
    helped = sum(cell.helper_nano for cell in begun)
    recorded = configuration.runner == "trace"
    times = sorted(c.latency_ms for c in begun if c.known and (c.latency_ms or not recorded))
    return ConfigurationSummary(
        name=name,
        role=configuration.role,
        outcomes={word: _count(cells, word) for word in (*OUTCOMES, "absent")},
        metrics=tuple(_metric(metric, rows, record.matrix) for metric in metric_names(record.matrix)),
        cost_nano=None if unknown_cost or (pricing is None and not begun) else known_cost,
        cost_known_nano=known_cost,
        cost_unknown=unknown_cost,
        currency=pricing.currency if pricing is not None else "USD" if len(begun) > unknown_cost else "",
        helper_nano=None if untold or not helping else helped,
        helper_known_nano=helped,
        helper_unknown=untold,
        helper_currency=helping,
        latency_ms=_latency(times),
        answered=len(times),
        replayed=sum(cell.replayed for cell in begun),
        reasked=sum(cell.reasked for cell in begun),
        lost=sum(cell.lost + cell.running for cell in begun),
        timeouts=sum(cell.cause == "timeout" and not cell.running for cell in begun),
        incompatible=sum(cell.incompatible for cell in begun),
        attempts=sum(cell.attempts for cell in begun),
        not_needed=cells.count(None) if name in stopped else 0,
    )


def metric_names(matrix: Matrix) -> list[str]:
    """Return the metrics of a matrix, in the order of its scorers, then the pass rate of its trials."""
    return [*dict.fromkeys(name for scorer in matrix.scorers for name in scorer.metrics), "trial_pass_rate"]


def tags_of(matrix: Matrix) -> list[str]:
    """Return every tag of the matrix's cases; an untagged case stands under "(untagged)"."""
    tags = {tag for case in matrix.cases for tag in (case.tags or (UNTAGGED,))}
    return sorted(tags)


def _count(cells: Sequence[Cell | None], outcome: str) -> int:
    return sum(1 for cell in cells if (cell.final if cell is not None else "absent") == outcome)


def _metric(name: str, rows: Rows, matrix: Matrix) -> MetricSummary:
    """Return a metric over the cases that it applies to, and the range of its repeats."""
    values: list[list[int | None]] = []
    for case, repeats in rows:
        if name == "trial_pass_rate":
            values.append([_pass_value(cell) for cell in repeats])
        elif any(name in scorer.metrics for scorer in matrix.applicable(case)):
            values.append([_value(cell, name) for cell in repeats])
    cells = [value for row in values for value in row]
    known = [value for value in cells if value is not None]
    means = _repeat_means(values)
    return MetricSummary(
        name=name,
        mean=Fraction(sum(known), len(known) * MICRO) if known else None,
        known=len(known),
        cells=len(cells),
        cases=len(values),
        repeats=max(map(len, values), default=0),
        low=min(means) if len(means) > 1 else None,
        high=max(means) if len(means) > 1 else None,
    )


def _pass_value(cell: Cell | None) -> int | None:
    return None if cell is None or not cell.settled else MICRO if cell.outcome == "passed" else 0


def _value(cell: Cell | None, metric: str) -> int | None:
    """Return the metric in millionths; nothing is measured of an incompatible trial, which counts as 0."""
    return None if cell is None else 0 if cell.incompatible else cell.value(metric)


def _repeat_means(values: Sequence[Sequence[int | None]]) -> list[Fraction]:
    """Return the mean of each repeat, or nothing if any repeat has a gap: a range over gaps would mislead."""
    if not values or any(value is None for row in values for value in row):
        return []
    deepest = min(len(row) for row in values)
    columns = [[row[index] or 0 for row in values] for index in range(deepest)]
    return [Fraction(sum(column), len(column) * MICRO) for column in columns]


def _latency(times: Sequence[int]) -> tuple[int, int] | None:
    if not times:
        return None
    return times[-(-len(times) * 50 // 100) - 1], times[-(-len(times) * 95 // 100) - 1]


def failures(record: RecordView) -> Iterator[Failed]:
    """Yield the trials that were not passed, in the order of the matrix; those that were not needed did not fail."""
    stopped = {item.configuration for item in record.closed.not_needed} if record.closed is not None else set()
    for name, case, repeat in record.matrix.trials():
        cell = record.board.cells.get((name, case, repeat))
        if cell is None and name in stopped:
            continue
        if cell is None or cell.final != "passed":
            yield Failed(name, case, repeat, *final_of(cell))


def final_of(cell: Cell | None) -> tuple[str, str | None]:
    """Return the outcome and the cause that a trial stands at; a lost attempt's cause is `lost`."""
    if cell is None:
        return "absent", None
    return cell.final, "lost" if cell.running else cell.cause
