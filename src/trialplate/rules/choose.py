# SPDX-License-Identifier: Apache-2.0
"""`choose`: how far a configuration may be from its reference, and which of those that pass is taken.

Everything is compared as a pair of extremes. One configuration comes before another only if it does so whatever the
unknown cells of both would have been: so no outage, and no setting that makes a rival fail, ever wins. An unknown cost
or latency is anything from zero upwards. Nothing here says who passes: that comes in.

Source: docs/formats/pass-mark.md, clause 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from trialplate.record.decisions import Choice, Contender, Result, RuleResult
from trialplate.record.frozen import Value
from trialplate.record.values import Choose, PassMark, Pricing
from trialplate.rules.cells import Cell
from trialplate.rules.quantities import Span, fraction_text

__all__ = ["Standing", "cost_per_trial", "doubtful", "median_latency", "pick", "within"]

DOUBTFUL = frozenset({"rejected_request", "timeout"})
"""Causes that a bad setting brings about: of a rival, such a cell is unknown."""

_Extremes = tuple[Fraction, Fraction | None]
"""The least and the most that a number may be; None is without limit."""


class Standing(Value):
    """A configuration's numbers over the cases that `choose` speaks of."""

    name: str
    candidate: bool
    comparable: bool
    """It was asked every one of these cases."""
    own: Span
    """Its score, unknown cells as the mark says."""
    rival: Span
    """Its score as a rival: unknown and doubtful cells at both extremes, whatever the mark says."""
    floors: Result
    """As a rival: whether its rules hold, where the best is one of those that meet them."""
    answered: bool
    cost: tuple[Fraction, Fraction | None]
    currency: str | None
    latency_ms: int | None


def doubtful(cell: Cell) -> bool:
    """Say whether a rival's failure may lie in how it was asked, or in what its plan says that it takes."""
    return cell.cause in DOUBTFUL or cell.incompatible


def cost_per_trial(pricing: Pricing | None, cells: Sequence[Cell | None], declared: bool) -> _Extremes:
    """Return the cost of all attempts over the trials, at least and at most, in 10^-9 of the currency's unit.

    What a trial that is still unknown will cost has no limit: else whoever lost the long ones would be the cheapest.

    Args:
        pricing: None leaves what the thing under test itself says that it cost, in USD.
        declared: take tokens and costs that are the word of the thing under test.
    """
    begun = [cell for cell in cells if cell is not None]
    if pricing is not None and pricing.free:
        return Fraction(0), Fraction(0)
    unknown = any(cell.unpriced or cell.running or (cell.declared and not declared) for cell in begun)
    if not cells or unknown or (pricing is None and not all(cell.declared for cell in begun)):
        return Fraction(0), None
    mean = Fraction(sum(cell.cost_nano for cell in begun), len(cells))
    return mean, mean if sum(cell.known for cell in begun) == len(cells) else None


def median_latency(cells: Sequence[Cell | None]) -> int | None:
    """Return the median in milliseconds (nearest rank); None if a cell is unknown, since no extreme bounds it."""
    times = [cell.latency_ms for cell in cells if cell is not None and cell.known]
    if not times or len(times) < len(cells):
        return None
    return sorted(times)[-(-len(times) // 2) - 1]


# ---------------------------------------------------------------------------------------------------- the reference


def within(mark: PassMark, standings: Mapping[str, Standing], name: str) -> RuleResult | None:
    """Return how a configuration stands to the reference, as a rule over the difference of their scores.

    None if the mark has no such demand. A configuration that was not asked every case cannot be compared.
    """
    choose, me = mark.choose, standings[name]
    if choose is None:
        return None
    if not me.comparable:
        return _related("inconclusive", "coverage_differs", me.own)
    if choose.within is None:
        return None
    if choose.against == "best":
        rivals = [item for item in standings.values() if item is not me and _counts(item, mark)]
    else:
        reference = standings.get(choose.against)
        if reference is None or not reference.comparable:
            return _related("inconclusive", "reference_differs", me.own)
        rivals = [] if reference is me else [reference]
    most = [item.rival.high for item in rivals if item.rival.high is not None]
    least = [item.rival.low for item in rivals if item.rival.low is not None and item.floors == "pass"]
    if me.own.low is None or me.own.high is None:
        return _related("inconclusive", "no_metric", me.own)
    threshold = -Fraction(choose.within)
    low = me.own.low - max(most) if most else None
    high = me.own.high - max(least) if least else None
    result: Result = "inconclusive"
    if low is None or low >= threshold:
        result = "pass"
    elif high is not None and high < threshold:
        result = "fail"
    reason = {"pass": "met" if most else "no_rival", "fail": "below", "inconclusive": "unknown_cells"}[result]
    return _related(result, reason, me.own, threshold, low, high)


def _counts(rival: Standing, mark: PassMark) -> bool:
    """Say whether a rival may be the best one."""
    absent = mark.absent_rivals == "drop" and not rival.answered
    return rival.comparable and rival.floors != "fail" and not absent


def _related(
    result: Result,
    reason: str,
    span: Span,
    threshold: Fraction | None = None,
    low: Fraction | None = None,
    high: Fraction | None = None,
) -> RuleResult:
    return RuleResult(
        id="within",
        result=result,
        reason=reason,
        threshold=fraction_text(threshold),
        low=fraction_text(low),
        high=fraction_text(high),
        cells=span.cells,
        cases=span.cases,
        unknown=span.unknown,
    )


# ------------------------------------------------------------------------------------------------------- the choice


def pick(choose: Choose, standings: Mapping[str, Standing], eligible: Mapping[str, Result]) -> Choice:
    """Return which of the candidates that pass is chosen: one that comes before every other that may pass.

    Args:
        standings: in the order of the plan.
        eligible: whether each passes by its own results.
    """
    there = [
        item for item in standings.values() if item.candidate and item.comparable and eligible[item.name] != "fail"
    ]
    keys = {item.name: _keys(choose, item, index) for index, item in enumerate(standings.values())}
    sure = [item.name for item in there if eligible[item.name] == "pass"]
    possible = tuple(
        item.name
        for item in there
        if not any(_before(keys[other], keys[item.name]) for other in sure if other != item.name)
    )
    result: Literal["chosen", "none", "open"] = "open"
    chosen = None
    if not there:
        result, reason = "none", "none_eligible"
    elif any(name not in sure for name in possible):
        reason = "eligibility_open"
    elif len(possible) == 1 and keys[possible[0]][0][1] is not None:
        result, reason, chosen = "chosen", choose.by, possible[0]
    else:
        unknown = any(keys[name][0][1] is None for name in possible)
        reason = {"cheapest": "unknown_cost", "fastest": "unknown_latency"}.get(choose.by, "") if unknown else ""
    return Choice(
        result=result,
        reason=reason or "unknown_order",
        chosen=chosen,
        possible=possible if result == "open" else (),
        contenders=tuple(_contender(item, eligible) for item in standings.values()),
    )


def _keys(choose: Choose, item: Standing, index: int) -> list[_Extremes]:
    """Return what configurations are ordered by, the smaller first."""
    low, high = item.rival.low, item.rival.high
    latency = None if item.latency_ms is None else Fraction(item.latency_ms)
    known: dict[str, _Extremes] = {
        "cost": item.cost,
        "latency": (latency or Fraction(0), latency),
        "score": (Fraction(-1), None) if low is None or high is None else (-high, -low),
        "order": (Fraction(index), Fraction(index)),
    }
    first = {"cheapest": "cost", "fastest": "latency", "best": "score"}[choose.by]
    return [known[name] for name in (first, *choose.tie_break, "order")]


def _before(one: Sequence[_Extremes], other: Sequence[_Extremes]) -> bool:
    """Say whether one comes before the other whatever is unknown; equal numbers leave it to the next."""
    for (low, high), (other_low, other_high) in zip(one, other, strict=True):
        if high is not None and high < other_low:
            return True
        if high is None or other_high is None or not low == high == other_low == other_high:
            return False
    return False


def _contender(item: Standing, eligible: Mapping[str, Result]) -> Contender:
    return Contender(
        configuration=item.name,
        eligible=eligible[item.name] if item.candidate else None,
        comparable=item.comparable,
        low=fraction_text(item.own.low),
        high=fraction_text(item.own.high),
        cost=fraction_text(item.cost[1]),
        currency=item.currency if item.cost[1] is not None else None,
        latency_ms=item.latency_ms,
    )
