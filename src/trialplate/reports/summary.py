# SPDX-License-Identifier: Apache-2.0
"""The numbers that reports show, from a verified record. Never an input to the gate.

Every number carries how many cells it rests on; a mean says what share was measured, a range says how many repeats.
Ranges show how repeats of the same cases differ; they say nothing about other cases. What the cases show of others, or
of themselves asked again, as the mark has it, is a lower and an upper bound, with unknown cells at both extremes. These
describe: the error of a decision is divided among candidates and attempts, and theirs is the whole of the mark's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum
from typing import Any

from trialplate.record.entries import OUTCOMES
from trialplate.record.matrix import Matrix
from trialplate.record.values import Plan, PlanCase
from trialplate.rules.cells import Cell
from trialplate.rules.quantities import CaseValue, Row, cases_of, mean_of, measured_cases
from trialplate.rules.shown import shown
from trialplate.stats.components import Components, anova_components, clustered_se
from trialplate.verify.record_view import RecordView

__all__ = ["UNTAGGED", "ConfigurationSummary", "Failed", "MetricSummary", "TagSummary"]
__all__ += ["failures", "final_of", "metric_names", "summarise", "summarise_tags", "tags_of"]

OTHER_RATES = ("case_pass_rate", "error_rate")
"""Besides `trial_pass_rate`, which stands with the metrics."""
UNTAGGED = "(untagged)"
"""What cases without a tag stand under."""

Rows = list[tuple[PlanCase, list[Cell | None]]]
"""Cases of one configuration with their repeats; None is a trial that never began."""


@dataclass(frozen=True)
class MetricSummary:
    """A metric of one configuration over some cases."""

    name: str
    mean: Fraction | None
    """Over cases, each by its measured cells, or over measured trials for a rate of trials; None if there are none."""
    known: int
    cells: int
    cases: int
    repeats: int
    """The most that any of the cases has."""
    low: Fraction | None
    """The lowest mean of any repeat, and the highest; None with one repeat, or where a repeat is not whole."""
    high: Fraction | None
    lower: float | None = None
    """What the cases show at least, and at most, each with the mark's confidence; None where there is no case."""
    upper: float | None = None
    units: int = 0
    """How many cases, clusters of them, or trials the bounds count as drawn at random."""
    noise: Components | None = None
    """Where the noise of the mean comes from; None while a cell is unknown."""
    se: float | None = None
    """Standard error of the mean, of clusters where the mark has some; None while a cell is unknown."""


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
    rates: tuple[MetricSummary, ...] = ()
    """The share of cases that passed, and of trials that were errors."""


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
        metrics=tuple(_metric(metric, rows, record) for metric in metric_names(record.matrix)),
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
        rates=tuple(_metric(rate, rows, record) for rate in OTHER_RATES),
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


def _metric(name: str, rows: Rows, record: RecordView) -> MetricSummary:
    """Return a quantity over the cases that it applies to: what was measured, what it shows, how repeats differ."""
    plan, about = record.plan, measured_cases(name, record.matrix)
    row: Row = [(case.id, repeats) for case, repeats in rows if case.id in about]
    values = cases_of(name, row, plan.verdict.case, "bound")
    cells, unknown = sum(item.cells for item in values), sum(item.unknown for item in values)
    table = [] if unknown else _table(name, row, values)
    means = _repeat_means(table) if name != "case_pass_rate" else []
    found = MetricSummary(
        name=name,
        mean=_mean(name, row, values, plan) if cells > unknown else None,
        known=cells - unknown,
        cells=cells,
        cases=len(values),
        repeats=max((len(repeats) for _, repeats in row), default=0),
        low=min(means) if len(means) > 1 else None,
        high=max(means) if len(means) > 1 else None,
    )
    return replace(found, **_shown(plan, rows, values), **_noise(table, row, _units(plan, rows)))


def _mean(name: str, row: Row, values: Sequence[CaseValue], plan: Plan) -> Fraction | None:
    """Return the mean with the unknown cells left out."""
    if name == "error_rate":  # of which unknown cells are never left out where it decides
        known = sum(item.cells - item.unknown for item in values)
        return sum((Fraction(item.low * item.weight, item.of) for item in values), Fraction(0)) / known
    if any(item.unknown for item in values):
        values = cases_of(name, row, plan.verdict.case, "exclude")
    return mean_of(values)[0]


def _shown(plan: Plan, rows: Rows, values: Sequence[CaseValue]) -> dict[str, Any]:
    """Return the bounds at the mark's own confidence, by its unit, of what it speaks of."""
    if not values:
        return {}
    mark = plan.pass_mark
    alpha = 1 - Fraction(mark.confidence)
    found = shown(values, mark, _units(plan, rows), alpha, sum(item.cells for item in values))
    lower, upper = min(found.worst[0], found.best[0]), max(found.worst[1], found.best[1])
    return {"lower": lower, "upper": upper, "units": found.units}


def _units(plan: Plan, rows: Rows) -> dict[str, str]:
    return {} if plan.pass_mark.unit == "case" else {case.id: case.unit for case, _ in rows if case.unit is not None}


def _table(name: str, row: Row, values: Sequence[CaseValue]) -> list[list[Fraction]]:
    """Return the value of each cell, by case, all of them known; of what all repeats make together that of the case."""
    if name == "case_pass_rate" or all(len(repeats) == 1 for _, repeats in row):
        return [[Fraction(item.low, item.of)] for item in values]
    cells = iter(cases_of(name, [(case, [cell]) for case, repeats in row for cell in repeats], "all", "bound"))
    found: dict[tuple[int, int], Fraction] = {}  # few of them differ
    table: list[list[Fraction]] = []
    for _, repeats in row:
        table.append([])
        for item in (next(cells) for _ in repeats):
            key = (item.low, item.of)
            if key not in found:
                found[key] = Fraction(*key)
            table[-1].append(found[key])
    return table


def _noise(table: Sequence[Sequence[Fraction]], row: Row, units: Mapping[str, str]) -> dict[str, Any]:
    """Return where the noise comes from, of cells all of which are known."""
    if not table:
        return {}
    known = {value: float(value) for value in {value for values in table for value in values}}
    numbers = [[known[value] for value in values] for values in table]
    noise = anova_components(numbers)
    if not units:
        return {"noise": noise, "se": noise.se}
    clusters = [units.get(case, f"case {case}") for case, _ in row]
    return {"noise": noise, "se": clustered_se([fsum(item) / len(item) for item in numbers], clusters)}


def _repeat_means(table: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return the mean of each repeat that every case has, nothing of a table with gaps: its range would mislead."""
    deepest = min((len(values) for values in table), default=0)
    found = []
    for index in range(deepest):
        counts = Counter(values[index] for values in table)
        found.append(sum((value * number for value, number in counts.items()), Fraction(0)) / len(table))
    return found


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
