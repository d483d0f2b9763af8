# SPDX-License-Identifier: Apache-2.0
"""The rows and sentences by which the text and the Markdown report tell what the numbers show, and of whom they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from trialplate.record.values import PassMark, Plan
from trialplate.reports.comparing import MOST_COMPARED, Pair, Ranked, Standings
from trialplate.reports.reported import Reported
from trialplate.reports.summary import ConfigurationSummary, MetricSummary
from trialplate.reports.words import share_text
from trialplate.stats.ranges import Ranks
from trialplate.verify.findings import counted
from trialplate.verify.text import decimal_text, percent_text

__all__ = [
    "PAIR_COLUMNS",
    "RANK_COLUMNS",
    "SHOWN_COLUMNS",
    "about_pairs",
    "about_shown",
    "pair_cells",
    "pairs_shown",
    "rank_cells",
    "resolution",
    "shown_cells",
]

SHOWN_COLUMNS = ("estimate", "at least", "at most", "measured", "cases", "repeats", "range", "error", "ICC")
"""Of one metric of one configuration; `error` is the standard error of the mean."""
RANK_COLUMNS = ("by cases", "by repeats")
PAIR_COLUMNS = ("first less second", "at least", "at most", "by cases", "by repeats")
MOST_PAIRS = 6
"""Pairs of configurations that a text lists; the object has all of them."""


def about_shown(mark: PassMark) -> str:
    """Return how the bounds of the table are to be read."""
    spoken = {"cases": "of work like these cases", "this_set": "of exactly these cases, asked again"}[mark.over]
    unit = "" if mark.unit == "case" else f", cases that share {mark.unit} counted as one"
    sure = percent_text(mark.confidence)
    return f"what this shows {spoken}{unit}: at least, and at most, each with {sure} confidence; they decide nothing"


def shown_cells(metric: MetricSummary) -> list[str]:
    """Return the cells of a metric, in the order of `SHOWN_COLUMNS`."""
    ends = ("-", "-")
    if metric.lower is not None and metric.upper is not None:
        ends = (_bound_text(metric.lower), _bound_text(metric.upper))
    range_ = "one repeat" if metric.repeats == 1 else "-"
    if metric.low is not None and metric.high is not None:
        range_ = f"{share_text(metric.low)}..{share_text(metric.high)}"
    icc = metric.noise.icc if metric.noise is not None else None
    return [
        "-" if metric.mean is None else share_text(metric.mean),
        *ends,
        f"{metric.known} of {metric.cells}",
        str(metric.cases),
        str(metric.repeats),
        range_,
        "-" if metric.se is None else f"{metric.se:.4f}",
        "-" if icc is None else f"{icc:.2f}",
    ]


def _bound_text(value: float) -> str:
    return share_text(Fraction(f"{value:.9f}"))


def resolution(plan: Plan, items: Sequence[ConfigurationSummary]) -> Iterator[str]:
    """Yield that one case outweighs what `choose` lets a configuration be away from its reference (T27)."""
    choose = plan.pass_mark.choose
    if choose is None or choose.within is None:
        return
    numbers = [m.cases for item in items for m in (*item.metrics, *item.rates) if m.name == choose.of and m.cases]
    if numbers and Fraction(1, max(numbers)) > Fraction(choose.within):
        weight = decimal_text(Fraction(100, max(numbers)), digits=1)
        allowed = decimal_text(100 * Fraction(choose.within), digits=1)
        yield f"one case of {max(numbers)} weighs {weight} points, more than the {allowed} that choose lets pass"


# ------------------------------------------------------------------------------------------------------ comparisons


def about_pairs(reported: Reported) -> Iterator[str]:
    """Yield how ranks and differences are to be read."""
    standings = reported.standings
    if standings.alpha is not None:
        sure = percent_text(reported.record.plan.pass_mark.confidence)
        yield f"by cases: paired case by case, {sure} confidence for all pairs together; information, and no rule"
    else:
        yield f"by cases: not assessed, with more than {counted(MOST_COMPARED, 'configuration')}"
    yield "by repeats: ranges that have nothing in common; they ignore that other cases would give other means"


def rank_cells(item: Ranked) -> list[str]:
    """Return the ranks that a configuration may have, in the order of `RANK_COLUMNS`."""
    return [_rank_text(item.by_cases), _rank_text(item.by_repeats)]


def _rank_text(ranks: Ranks | None) -> str:
    if ranks is None:
        return "not assessed"
    return str(ranks.best) if ranks.best == ranks.worst else f"{ranks.best} to {ranks.worst}"


def pairs_shown(standings: Standings) -> Iterable[Pair]:
    """Return the pairs that a text lists: all of a few, else none."""
    metrics = {pair.metric for pair in standings.pairs}
    return standings.pairs if len(standings.pairs) <= MOST_PAIRS * len(metrics) else ()


def pair_cells(pair: Pair) -> list[str]:
    """Return the cells of a pair, in the order of `PAIR_COLUMNS`."""
    low, high = decimal_text(pair.low), decimal_text(pair.high)
    told = low if low == high else f"{low}..{high}"
    ends = [decimal_text(Fraction(f"{end:.9f}"), Fraction(0)) for end in (pair.lower, pair.upper)]
    return [told, *ends, pair.by_cases, pair.by_repeats]
