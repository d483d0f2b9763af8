# SPDX-License-Identifier: Apache-2.0
"""`choose`: how far a configuration may be from its reference, and which of those that pass is taken.

Everything is compared as a pair of extremes. One configuration comes before another only if it does so whatever the
unknown cells of both would have been: so no outage, and no setting that makes a rival fail, ever wins. An unknown cost
or latency is anything from zero upwards. Nothing here says who passes: that comes in.

Source: docs/formats/pass-mark.md, clause 6.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from trialplate.record.decisions import Choice, Contender, Result
from trialplate.record.frozen import Value
from trialplate.record.values import Choose, Plan, Pricing
from trialplate.rules.cells import Cell
from trialplate.rules.quantities import CaseValue, Span, fraction_text, measured_cases, paired, span_over
from trialplate.rules.ruling import Ruling
from trialplate.rules.shown import Shown, judged_by, rounded, shown_difference, trials_of
from trialplate.rules.told import Told, between, least, nothing

__all__ = ["Contest", "Standing", "cost_per_trial", "median_latency", "wrong_ones"]

_Extremes = tuple[Fraction, Fraction | None]
"""The least and the most that a number may be; None is without limit."""


class Standing(Value):
    """A configuration's numbers over the cases that `choose` speaks of."""

    name: str
    candidate: bool
    comparable: bool
    """It was asked every one of these cases."""
    own_cases: Sequence[CaseValue]
    rival_cases: Sequence[CaseValue]
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


def wrong_ones(plan: Plan, choose: Choose) -> int:
    """Return among how many configurations a wrong one could be taken for near enough.

    All candidates but the reference; where that may be a comparison, all of them.
    """
    items = plan.configurations
    number = sum(item.role == "candidate" for item in items)
    if choose.against == "best":
        outside = any(item.role == "comparison" for item in items)
    else:
        outside = any(item.name == choose.against and item.role == "comparison" for item in items)
    return max(1, number if outside else number - 1)


# ---------------------------------------------------------------------------------------------------- the reference


class Contest:
    """The configurations of a run side by side, over the cases that `choose` speaks of."""

    def __init__(self, ruling: Ruling) -> None:
        """Take what the rules come to. The mark has a `choose`."""
        if ruling.mark.choose is None:
            raise ValueError("the mark chooses nothing")
        self.ruling, self.mark, self.choose = ruling, ruling.mark, ruling.mark.choose
        self.standings = self._standings()
        self._within: dict[str, Told | None] = {}

    def _standings(self) -> dict[str, Standing]:
        """Return the numbers of every configuration."""
        ruling, choose, mark = self.ruling, self.choose, self.mark
        wanted = measured_cases(choose.of, ruling.matrix)
        fold, declared = ruling.plan.verdict.case, mark.declared_usage == "accept"
        found = {}
        for item in ruling.plan.configurations:
            if item.name not in ruling.rows:
                continue
            row = [(case, repeats) for case, repeats in ruling.rows[item.name] if case in wanted]
            floors: Result = "pass"
            if choose.best_among == "floors_met":
                floors = least(ruling.rule(item.name, rule, rival=True).result for rule in mark.rules)
            cells = [cell for _, repeats in row for cell in repeats]
            ours = ruling.values(item.name, choose.of, fold, mark.errors)
            theirs = ruling.values(item.name, choose.of, fold, "bound", rival=True)
            own, rival = ([made[case] for case, _ in row] for made in (ours, theirs))
            beside = ruling.asked(item.name, rival=True)
            found[item.name] = Standing(
                name=item.name,
                candidate=item.role == "candidate",
                comparable=len(row) == len(wanted),
                own_cases=own,
                rival_cases=rival,
                own=span_over(own),
                rival=span_over(rival),
                floors=floors,
                answered=any(cell is not None and cell.known for case, _ in row for cell in beside[case]),
                cost=cost_per_trial(item.pricing, cells, declared),
                currency=item.pricing.currency if item.pricing is not None else "USD",
                latency_ms=median_latency(cells),
            )
        return found

    # ------------------------------------------------------------------------------------------------ the reference

    def within(self, name: str) -> Told | None:
        """Return how a configuration stands to the reference, as a rule over the difference of their scores.

        None if the mark has no such demand. A configuration that was not asked every case cannot be compared.
        """
        if name not in self._within:
            self._within[name] = self._stands(self.standings[name])
        return self._within[name]

    def _stands(self, me: Standing) -> Told | None:
        choose = self.choose
        counts = {"cells": me.own.cells, "cases": me.own.cases, "unknown": me.own.unknown}
        if not me.comparable:
            return nothing({**counts, "reason": "coverage_differs"})
        if choose.within is None:
            return None
        if choose.against == "best":
            rivals = [item for item in self.standings.values() if item is not me and self._counts(item)]
        else:
            reference = self.standings.get(choose.against)
            if reference is None or not reference.comparable:
                return nothing({**counts, "reason": "reference_differs"})
            rivals = [] if reference is me else [reference]
        if me.own.low is None or me.own.high is None:
            return nothing({**counts, "reason": "no_metric"})
        fields = {**counts, "threshold": fraction_text(-Fraction(choose.within))}
        if choose.basis == "bound":
            return self._shown(me, rivals, fields)
        return self._measured(me, rivals, fields)

    def _counts(self, rival: Standing) -> bool:
        """Say whether a rival may be the best one."""
        absent = self.mark.absent_rivals == "drop" and not rival.answered
        return rival.comparable and rival.floors != "fail" and not absent

    def _measured(self, me: Standing, rivals: Sequence[Standing], fields: Mapping[str, Any]) -> Told:
        """Compare the measured scores as they are."""
        low, high = _distances(me, rivals)
        threshold = -Fraction(self.choose.within or "0")
        worst: Result = "pass" if low is None or low >= threshold else "fail"
        best: Result = "fail" if high is not None and high < threshold else "pass"
        result = between(worst, best)
        met = "met" if low is not None else "no_rival"
        reason = {"pass": met, "fail": "below", "inconclusive": "unknown_cells"}[result]
        ends = {"low": fraction_text(low), "high": fraction_text(high)}
        return Told(result, worst, best, {**fields, **ends, "reason": reason})

    def _shown(self, me: Standing, rivals: Sequence[Standing], fields: Mapping[str, Any]) -> Told:
        """Ask whether the cases show, against every rival, that it is no further away; each with its part of alpha."""
        low, high = _distances(me, rivals)
        ends = {"low": fraction_text(low), "high": fraction_text(high)}
        if not rivals:
            return Told("pass", "pass", "pass", {**fields, "reason": "no_rival"})
        alpha = self.ruling.alpha(me.name, rivals=wrong_ones(self.ruling.plan, self.choose))
        threshold = -Fraction(self.choose.within or "0")
        found = [self._beside(me, rival, alpha) for rival in rivals]
        worst = [judged_by(item.worst, threshold, floor=True) for item in found]
        # A rival that may yet fail its own rules stands in the way, and never shows that somebody is too far away.
        firm = [rival.floors == "pass" for rival in rivals]
        best = [judged_by(item.best, threshold, floor=True) for item in found]
        softened: list[Result] = [
            "inconclusive" if word == "fail" and not sure else word for (word, _), sure in zip(best, firm, strict=True)
        ]
        least_worst, least_best = least(word for word, _ in worst), least(softened)
        result = between(least_worst, least_best)
        reason = next((why for word, why in worst if word == least_worst), "straddles")
        fields = {
            **fields,
            **ends,
            "reason": reason if least_worst == least_best else "unknown_cells",
            "alpha": fraction_text(alpha),
            "lower": rounded(min(min(item.worst[0], item.best[0]) for item in found)),
            "upper": rounded(min(max(item.worst[1], item.best[1]) for item in found)),
            "units": min(item.units for item in found),
        }
        return Told(result, least_worst, least_best, fields)

    def _beside(self, me: Standing, rival: Standing, alpha: Fraction) -> Shown:
        mine, other = paired(me.own_cases, rival.rival_cases)
        of = self.choose.of
        trials = trials_of(mine, of, self.mark.errors), trials_of(other, of, "bound")
        return shown_difference(mine, other, self.mark, self.ruling.units, alpha, trials)

    # --------------------------------------------------------------------------------------------------- the choice

    def pick(self, eligible: Mapping[str, Result], hopeful: Container[str]) -> Choice:
        """Return which of the candidates that pass is chosen: one that comes before every other that may pass.

        Args:
            eligible: whether each passes by its own results.
            hopeful: those of which it is open and that may pass once what is unknown is known. Under a bound the
                others that are open are not shown to pass, whatever comes, and stand in nobody's way.
        """
        made = pick(self.choose, self.standings, eligible, hopeful)
        return made if made.chosen is not None else made.replace(keep=self.choose.keep)


def _distances(me: Standing, rivals: Sequence[Standing]) -> tuple[Fraction | None, Fraction | None]:
    """Return how far a score is above the highest rival's, at least and at most; None is that no rival says so."""
    most = [item.rival.high for item in rivals if item.rival.high is not None]
    fewest = [item.rival.low for item in rivals if item.rival.low is not None and item.floors == "pass"]
    low, high = me.own.low, me.own.high
    if low is None or high is None:
        return None, None
    return (low - max(most) if most else None), (high - max(fewest) if fewest else None)


# ------------------------------------------------------------------------------------------------------- the choice


def pick(
    choose: Choose, standings: Mapping[str, Standing], eligible: Mapping[str, Result], hopeful: Container[str]
) -> Choice:
    """Return the choice; arguments as of `Contest.pick`, with the standings in the order of the plan."""
    bound = choose.basis == "bound"
    may_be = {name for name, word in eligible.items() if word == "inconclusive" and (name in hopeful or not bound)}
    running = {name for name, word in eligible.items() if word == "pass"} | may_be
    there = [item for item in standings.values() if item.candidate and item.comparable and item.name in running]
    shut_out = any(item.candidate and eligible[item.name] == "inconclusive" for item in standings.values())
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
        result, reason = "none", "none_shown" if shut_out and bound else "none_eligible"
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
