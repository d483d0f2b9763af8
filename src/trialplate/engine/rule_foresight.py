# SPDX-License-Identifier: Apache-2.0
"""What one rule can show, for configurations that are asked alike.

Whether a perfect run passes needs no model. The rest is told under one: how the cases' rates lie apart, see
`stats.draws`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from trialplate.engine.foreseen import Apart, Comparison, Copy, Foreseen, Needed, Point, Sense
from trialplate.engine.rule_design import (
    Asked,
    around,
    asked_of,
    demand_of,
    flipped,
    has_curve,
    layout_of,
    no_case_may_fail,
    ten_points_off,
)
from trialplate.engine.spread import Spread
from trialplate.record.values import PlanCase, Rule, Stop
from trialplate.rules.bounds import ROUNDING, fewest_cases, guarded_diff
from trialplate.rules.quantities import kind_of
from trialplate.rules.ruling import Ruling, groups_of
from trialplate.rules.shares import newcombe
from trialplate.stats.designs import alternatives, cases_for, cases_for_pair, paired_power
from trialplate.stats.draws import Stream
from trialplate.stats.operating import Demand, Layout, Operating
from trialplate.stats.stopped import Boundaries, expected_cases

__all__ = ["RuleForesight", "Way"]

POWER = 0.8
"""A design that shows what is true four times in five."""
QUALITIES = (0.95, 0.5, 0.1)
SHARES = (0.05, 0.1, 0.2)
"""Shares of the cases on which two equal configurations may differ."""
MOST_SEALED = 3_000
"""Of more cases the end of a run that seals itself is not worked out."""


@dataclass(frozen=True)
class Way:
    """How rules are looked at."""

    spread: Spread
    stream: Stream
    truths: tuple[Fraction, ...] = ()
    """True values of which to tell; without them some around each threshold."""
    short: bool = False
    """Only what takes no time."""


class _Reach(NamedTuple):
    reachable: bool
    needs: int | None


class RuleForesight:
    """One rule for configurations that are asked alike."""

    def __init__(self, way: Way, ruling: Ruling, rule: Rule, names: Sequence[str], alpha: Fraction) -> None:
        """Take a rule.

        Args:
            alpha: the error of its bound, if it has one.
        """
        self.way, self.ruling, self.rule, self.names = way, ruling, rule, tuple(names)
        self.mark = ruling.mark
        self.alpha = alpha if rule.basis == "bound" and rule.must_pass is None else None

    def foreseen(self, wanted: Sequence[PlanCase]) -> Foreseen:
        """Return what the rule can show over these cases; with `each`, what its smallest copy can."""
        if self.rule.each in (None, "configuration"):
            return replace(self._over(wanted), each=self.rule.each)
        groups = sorted(groups_of(str(self.rule.each), wanted).items(), key=lambda item: (len(item[1]), item[0]))
        if not groups:
            return replace(self._over([]), each=self.rule.each)
        found = [(value, self._bare(cases)) for value, cases in groups]
        copies = tuple(Copy(value, item.cases, item.reachable, item.needs) for value, item in found)
        reachable = all(item.reachable for item in copies)
        whole = self._over(groups[0][1])
        return replace(whole, each=self.rule.each, copies=copies, copy=groups[0][0], reachable=reachable)

    # -------------------------------------------------------------------------------------------- without a chance

    def _bare(self, wanted: Sequence[PlanCase]) -> Foreseen:
        """Return what is asked, and what a perfect run would show."""
        rule, asked = self.rule, asked_of(wanted, self.ruling, self.names[0])
        by_itself = rule.must_pass is None and rule.no_regressions is None
        base = Foreseen(
            id=rule.id,
            sense=self._sense(),
            basis=rule.basis if by_itself else "estimate",
            configurations=self.names,
            of=rule.of,
            threshold=self.ruling.threshold(rule),
            cases=len(asked.cases),
            trials=asked.trials,
            repeats=(min(asked.repeats, default=0), max(asked.repeats, default=0)),
            alpha=self.alpha,
            missing=has_curve(rule, asked, self.mark.over) if rule.not_worse_than is None else None,
            left_out=asked.left_out,
            too_few=rule.cases if 0 < len(asked.cases) < rule.cases else None,
        )
        if not asked.cases:
            return replace(base, missing="it has no case")
        return self._reached(base, asked)

    def _sense(self) -> Sense:
        for name in ("must_pass", "not_worse_than", "no_regressions", "at_least"):
            held = getattr(self.rule, name)
            if held is not None:
                return name
        return "at_most"

    def _reached(self, base: Foreseen, asked: Asked) -> Foreseen:
        """Add what is drawn at random, and what a perfect run would show."""
        rule, bar = self.rule, base.threshold or Fraction(0)
        if kind_of(rule.of) == "agreement" and self.alpha is not None:
            return replace(base, needs=_fewest(bar, self.alpha))
        if rule.no_regressions is not None or kind_of(rule.of) != "mean":
            return base
        layout = layout_of(rule, asked, self.ruling, self._icc)
        base = replace(base, units=len(layout.units))
        if self.mark.over == "this_set" and rule.must_pass is None:
            base = replace(base, unit="trial")
        elif len(layout.units) < base.cases:
            base = replace(base, unit="cluster")
        if self.alpha is None or rule.correct_for_judge is not None:
            return base
        if base.sense == "not_worse_than":
            best = self._best_pair(layout)
            # the bound of a difference is that of (difference + 1) / 2
            reach = _reach(best - float(bar), (1 + bar) / 2, self.alpha)
            return replace(base, perfect=best, reachable=reach.reachable, passable=reach.reachable, needs=reach.needs)
        floor = bar if base.sense == "at_least" else 1 - bar
        best = float(self.alpha) ** (1 / layout.cases)
        reach = _reach(best - float(floor), floor, self.alpha)
        shown = best if base.sense == "at_least" else 1 - best
        return replace(base, perfect=shown, reachable=reach.reachable, passable=reach.reachable, needs=reach.needs)

    def _best_pair(self, layout: Layout) -> float:
        """Return the lower bound of a difference where one passes everything and the other nothing."""
        alpha, n = float(self.alpha or 0), layout.cases
        return newcombe(1, n, 0, n, alpha)[0] if self.mark.over == "this_set" else float(2 * alpha ** (1 / n) - 1)

    @property
    def _icc(self) -> float:
        return self.way.spread.of(self.rule.of or "")

    # ------------------------------------------------------------------------------------------------------ chances

    def _over(self, wanted: Sequence[PlanCase]) -> Foreseen:
        """Return what the rule can show over these cases."""
        base = self._bare(wanted)
        if base.sense == "not_worse_than" and base.cases:
            return self._compared(base)
        if base.missing is not None:
            return base
        asked = asked_of(wanted, self.ruling, self.names[0])
        layout, demand = layout_of(self.rule, asked, self.ruling, self._icc), demand_of(self.rule, self.alpha)
        operating = Operating(layout, demand, self.way.stream)
        stop = self._stop(base)
        base = replace(
            base,
            icc=None if layout.counts and layout.units[0].cells == 1 else self._icc,
            failures=operating.counts if stop is None else None,
            coarse="all" if base.sense != "must_pass" and no_case_may_fail(demand, base.repeats, base.units) else None,
        )
        if base.basis == "estimate" and base.sense in ("at_least", "at_most"):
            off = ten_points_off(demand)
            base = replace(base, hides=Point(off, operating.chances(float(off))))
        if self.way.short:
            return base
        table = Boundaries(stop.accept, stop.reject, base.cases) if stop is not None else operating
        most, half, least = (table.quality(chance) for chance in QUALITIES)
        base = replace(
            base,
            drawn=stop is None and operating.drawn,
            points=tuple(self._points(base, table, demand)),
            qualities=(most, half, least),
        )
        return base if stop is not None else self._sized(base, layout, demand)

    def _stop(self, base: Foreseen) -> Stop | None:
        """Return the boundaries that decide this rule, if any do."""
        stop = self.mark.stop
        return stop if stop is not None and stop.mode == "counts" and stop.rule == base.id else None

    def _points(self, base: Foreseen, table: Operating | Boundaries, demand: Demand) -> Iterator[Point]:
        measured: dict[Fraction, list[str]] = {}
        for name in self.names:
            rate = self.way.spread.rates.get((base.of or "", name))
            if rate is not None:
                measured.setdefault(Fraction(round(rate * 1000), 1000), []).append(name)
        for truth in sorted({*(self.way.truths or around(demand)), *measured}):
            chances, expected = table.chances(float(truth)), self._expected(base, table, demand, truth)
            yield Point(truth, chances, expected, tuple(measured.get(truth, ())))

    def _expected(self, base: Foreseen, table: Operating | Boundaries, demand: Demand, truth: Fraction) -> float | None:
        """Return how many cases run on average under the mark's stop, where it can be told exactly."""
        if isinstance(table, Boundaries):
            return table.expected(float(truth))
        stop = self.mark.stop
        if stop is None or stop.mode != "sealed" or table.counts is None:
            return None
        if base.unit != "case" or base.repeats != (1, 1) or base.cases > MOST_SEALED:
            return None
        return expected_cases(base.cases, *table.counts, float(1 - truth if demand.floor else truth))

    # --------------------------------------------------------------------------------------------------------- sizes

    def _sized(self, base: Foreseen, layout: Layout, demand: Demand) -> Foreseen:
        """Add how many cases a claim needs, and what else as many trials could be spent on."""
        if demand.alpha is None or base.unit != "case":
            return base
        base = replace(base, needed=tuple(self._needed(demand, demand.alpha)))
        half = base.qualities[1] if base.qualities else None
        unit, (least, most) = layout.units[0], base.repeats
        if half is None or not base.reachable or not layout.alike or not unit.cells == least == most:
            return base
        truth = Fraction(round(half * 1000), 1000)
        found = alternatives(layout, demand, self.way.stream, float(truth))
        own = next((item.accept for item in found if item.repeats == most), 0.0)
        floor, rate = flipped(demand, demand.threshold), float(flipped(demand, truth))
        strong = cases_for(floor, demand.alpha, rate, own) if own and most > 1 else None
        return replace(base, designs=tuple(found), designs_at=truth, as_strong=strong)

    def _needed(self, demand: Demand, alpha: float) -> Iterator[Needed]:
        floor = flipped(demand, demand.threshold)
        for part in (Fraction(1, 2), Fraction(3, 10), Fraction(1, 10)):
            rate = 1 - (1 - floor) * part
            if floor < rate < 1:
                yield Needed(flipped(demand, rate), cases_for(floor, alpha, float(rate), POWER))

    # ---------------------------------------------------------------------------------------------------- comparing

    def _compared(self, base: Foreseen) -> Foreseen:
        """Add what a comparison case by case can show."""
        margin = -(base.threshold or Fraction(0))
        if 0 < margin < Fraction(1, base.cases):
            base = replace(base, coarse="margin")
        if self.alpha is None or base.unit != "case":
            return base
        n, error = base.units, float(self.alpha)
        ties = guarded_diff([0.5] * n, [0.5] * n, error).lower
        rows = () if self.way.short or margin <= 0 else tuple(self._apart(base, float(margin), error))
        return replace(base, comparison=Comparison(margin, ties, rows))

    def _apart(self, base: Foreseen, margin: float, error: float) -> Iterator[Apart]:
        found = self.way.spread.differing.get(base.of or "")
        shares = dict.fromkeys(SHARES, False)
        if found:
            shares[round(found, 3)] = True
        for share, measured in sorted(shares.items()):
            chance = paired_power(base.units, margin, share, error)
            yield Apart(share, chance, cases_for_pair(margin, share, error, POWER), measured)


def _reach(room: float, floor: Fraction, alpha: Fraction) -> _Reach:
    """Return whether a perfect run passes, and with how many units one would; `room` is by how much it does."""
    if room > ROUNDING:
        return _Reach(True, None)
    return _Reach(False, _fewest(floor, alpha))


def _fewest(floor: Fraction, alpha: Fraction) -> int | None:
    try:
        return fewest_cases(max(float(floor), 0.0), float(alpha))
    except ValueError:
        return None
