# SPDX-License-Identifier: Apache-2.0
"""Configurations beside each other, on the same cases: where a difference is shown, and which rank each may have.

Two readings, and neither is a rule. By repeats: two ranges of repeat means that have nothing in common differ; ranges
ignore that other cases would have given other means. By cases: the difference, case by case, is shown where its bounds
leave 0 on one side; all pairs together have the error of the mark, so no pair is shown apart only because there are
many. What is unknown stands at both extremes.

Source: docs/formats/report.md 2.6; T28; docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

from trialplate.record.values import PassMark
from trialplate.reports.summary import ConfigurationSummary, metric_names
from trialplate.rules.quantities import CaseValue, Row, case_passes, cases_of, mean_of, measured_cases
from trialplate.rules.shown import shown_difference
from trialplate.stats.paired import mcnemar_exact, mcnemar_midp, sign_flip_p
from trialplate.stats.ranges import Ranks, rank_ranges, separated
from trialplate.verify.record_view import RecordView

__all__ = ["MOST_COMPARED", "Pair", "Ranked", "Standings", "compare"]

MOST_COMPARED = 20
"""Configurations whose every pair is taken; of more nothing is said by cases."""
MOST_PARTS = 20_000
"""Different sums up to which the sign-flip test is made: beyond it takes longer than it tells."""
NOT_ASSESSED, SHOWN, NOT_SHOWN = "not assessed", "difference shown", "no difference shown"


@dataclass(frozen=True)
class Pair:
    """Two configurations by one metric, the first less the second."""

    metric: str
    first: str
    second: str
    cases: int
    low: Fraction
    """The difference with the unknown cells of the first at 0 and those of the second at 1."""
    high: Fraction
    lower: float
    upper: float
    by_cases: str
    by_repeats: str
    only_first: int | None
    """Cases that only the first passes; None while a cell is unknown."""
    only_second: int | None
    mcnemar: float | None
    """Exact two-sided p of these two counts."""
    mcnemar_mid: float | None
    sign_flip: float | None
    """Exact two-sided p of the differences of the case means; None also where it would take too long."""


@dataclass(frozen=True)
class Ranked:
    """Which place a configuration may have by one metric; 1 is the best."""

    metric: str
    configuration: str
    by_cases: Ranks | None
    by_repeats: Ranks | None
    """None: not assessed."""


@dataclass(frozen=True)
class Standings:
    """All pairs and ranks of a run."""

    alpha: Fraction | None
    """The error of each bound: the mark's, divided among all pairs and both sides; None where no pair was taken."""
    pairs: tuple[Pair, ...]
    ranked: tuple[Ranked, ...]


def compare(record: RecordView, items: Sequence[ConfigurationSummary]) -> Standings:
    """Return how the configurations that were asked the same cases stand to each other.

    Args:
        items: their numbers, in the order of the plan.
    """
    found = [_by_metric(record, metric, items) for metric in metric_names(record.matrix)]
    there = [item for item in found if item.ranked]
    pairs = tuple(pair for item in there for pair in item.pairs)
    alpha = next((item.alpha for item in there if item.alpha is not None), None)
    return Standings(alpha, pairs, tuple(rank for item in there for rank in item.ranked))


def _by_metric(record: RecordView, metric: str, items: Sequence[ConfigurationSummary]) -> Standings:
    about = measured_cases(metric, record.matrix)
    rows: dict[str, Row] = {}
    for item in items:
        row = [pair for pair in record.board.of(record.matrix, item.name) if pair[0] in about]
        if row and len(row) == len(about):  # what was asked fewer cases is not comparable
            rows[item.name] = row
    if len(rows) < 2:
        return Standings(None, (), ())
    ranges = {item.name: _range(item, metric) for item in items}
    alpha, pairs = None, []
    if len(rows) <= MOST_COMPARED:
        alpha = (1 - Fraction(record.plan.pass_mark.confidence)) / (len(rows) * (len(rows) - 1))
        pairs = [_pair(record, metric, one, other, rows, ranges, alpha) for one, other in combinations(rows, 2)]
    by_cases = _ranks_by_cases(list(rows), pairs) if pairs else {}
    by_repeats = _ranks_by_repeats({name: ranges[name] for name in rows})
    ranked = tuple(Ranked(metric, name, by_cases.get(name), by_repeats.get(name)) for name in rows)
    return Standings(alpha, tuple(pairs), ranked)


def _range(item: ConfigurationSummary, metric: str) -> tuple[float, float] | None:
    found = next(summary for summary in item.metrics if summary.name == metric)
    return None if found.low is None or found.high is None else (float(found.low), float(found.high))


def _ranks_by_cases(names: Sequence[str], pairs: Sequence[Pair]) -> dict[str, Ranks]:
    above: dict[str, int] = dict.fromkeys(names, 0)
    below: dict[str, int] = dict.fromkeys(names, 0)
    for pair in pairs:
        if pair.by_cases == SHOWN:
            higher, lower = (pair.first, pair.second) if pair.lower > 0 else (pair.second, pair.first)
            above[lower] += 1
            below[higher] += 1
    return {name: Ranks(1 + above[name], len(names) - below[name]) for name in names}


def _ranks_by_repeats(ranges: dict[str, tuple[float, float] | None]) -> dict[str, Ranks]:
    known = [item for item in ranges.values() if item is not None]
    return dict(zip(ranges, rank_ranges(known), strict=True)) if len(known) == len(ranges) else {}


# -------------------------------------------------------------------------------------------------------- one pair


def _pair(
    record: RecordView,
    metric: str,
    first: str,
    second: str,
    rows: dict[str, Row],
    ranges: dict[str, tuple[float, float] | None],
    alpha: Fraction,
) -> Pair:
    plan, mark = record.plan, record.plan.pass_mark
    own, other = (cases_of(metric, rows[name], plan.verdict.case, "bound") for name in (first, second))
    (low, high), (least, most) = mean_of(own), mean_of(other)
    trials = (sum(item.cells for item in own), sum(item.cells for item in other))
    found = shown_difference(own, other, mark, _units(record, mark), alpha, trials)
    lower, upper = min(found.worst[0], found.best[0]), max(found.worst[1], found.best[1])
    unknown = any(item.unknown for item in (*own, *other))
    only = None if unknown else _only(rows[first], rows[second], plan.verdict.case)
    one, two = ranges[first], ranges[second]
    zero = Fraction(0)
    return Pair(
        metric=metric,
        first=first,
        second=second,
        cases=len(own),
        low=(low or zero) - (most or zero),
        high=(high or zero) - (least or zero),
        lower=lower,
        upper=upper,
        by_cases=SHOWN if lower > 0 or upper < 0 else NOT_SHOWN,
        by_repeats=NOT_ASSESSED if one is None or two is None else SHOWN if separated(one, two) else NOT_SHOWN,
        only_first=None if only is None else only[0],
        only_second=None if only is None else only[1],
        mcnemar=None if only is None else float(mcnemar_exact(*only)),
        mcnemar_mid=None if only is None else float(mcnemar_midp(*only)),
        sign_flip=None if unknown else _sign_flip(own, other),
    )


def _units(record: RecordView, mark: PassMark) -> dict[str, str]:
    return {} if mark.unit == "case" else {c.id: c.unit for c in record.matrix.cases if c.unit is not None}


def _only(one: Row, other: Row, fold: str) -> tuple[int, int]:
    """Return how many cases pass for one alone, and for the other alone."""
    first, second = ([case_passes(repeats, fold, "bound")[0] for _, repeats in row] for row in (one, other))  # type: ignore[arg-type]
    pairs = list(zip(first, second, strict=True))
    return pairs.count((True, False)), pairs.count((False, True))


def _sign_flip(own: Sequence[CaseValue], other: Sequence[CaseValue]) -> float | None:
    """Return the two-sided p of the differences of case means."""
    off = [Fraction(a.low, a.of) - Fraction(b.low, b.of) for a, b in zip(own, other, strict=True)]
    scale = lcm(*(item.denominator for item in off))
    if scale * sum(map(abs, off)) > MOST_PARTS:
        return None
    up, down = sign_flip_p(off), sign_flip_p([-item for item in off])
    return None if up is None or down is None else float(min(2 * min(up, down), Fraction(1)))
