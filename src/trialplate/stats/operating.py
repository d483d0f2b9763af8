# SPDX-License-Identifier: Apache-2.0
"""What a rule comes to, and how often, if a configuration truly has a certain rate: its operating curve.

A `Layout` says what is asked: units, each with its cells and its weight. An `Operating` is a rule over a layout. Three
ways lead to its chances:

- one pass or fail a unit, all alike: by counts, exactly;
- an estimate over repeats: exactly, by the distribution of the sum;
- a bound over repeats or clusters: by drawing outcomes, since the bound depends on how far the cases lie apart.

Everything inside speaks of a floor. A ceiling of t on a rate is a floor of 1 - t on what is left of it.

Source: docs/statistics.md; docs/adr/0053.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import NamedTuple

from trialplate.rules.bounds import ROUNDING, max_failures
from trialplate.rules.special import betainc
from trialplate.stats.design import oc_binomial, oc_quality_at
from trialplate.stats.draws import Binomial, Stream, beta_binomial, powers_of

__all__ = ["DRAWS", "Chances", "Demand", "Operating", "Layout", "Shows", "Unit"]

DRAWS = 4000
"""Outcomes drawn for each true rate: a chance of a half is then within 1.6 points in 19 of 20 tables."""
MOST_STRATA = 4
"""Of more kinds of units the sum is drawn, and not worked out."""
GRID = 512
"""Steps of the mean between which a frontier is looked up."""
MOST_TRIALS = 1e12
"""No layout is worth more independent trials."""


class Unit(NamedTuple):
    """What is drawn at random: a case, or cases that count as one."""

    cells: int
    """Pass or fail results in it, which resemble each other; 1 if its repeats are folded into one verdict."""
    weight: int
    """How much it counts in the mean."""


class Chances(NamedTuple):
    """What a rule comes to at one true rate."""

    accept: float
    inconclusive: float
    reject: float


class Demand(NamedTuple):
    """What a rule asks of a mean."""

    threshold: Fraction
    floor: bool
    """At least, and not at most."""
    alpha: float | None
    """The error of its bounds; None of an estimate."""


@dataclass(frozen=True)
class Layout:
    """The units of a design, and how much the cells of one resemble each other."""

    units: tuple[Unit, ...]
    icc: float

    @cached_property
    def strata(self) -> list[tuple[Unit, int]]:
        """The kinds of units, with how many there are of each."""
        return sorted(Counter(self.units).items())

    @property
    def weight(self) -> int:
        """Return the sum of all weights."""
        return sum(unit.weight for unit in self.units)

    @property
    def counts(self) -> bool:
        """Say whether it is no more than a number of passes."""
        return self.alike and (self.units[0].cells == 1 or self.icc >= 1)

    @property
    def alike(self) -> bool:
        """Say whether all units are of one kind."""
        return len(self.strata) == 1

    @property
    def cases(self) -> float:
        """Return how many units of one weight would tell as much, if every one passed."""
        return self.weight**2 / sum(unit.weight**2 for unit in self.units)


# ------------------------------------------------------------------------------------------------------ the bound


class Shows:
    """Whether a mean shows at least a threshold, by the guarded bound, as `rules.bounds.guarded` has it.

    It asks whether the bound lies above, and not where it lies, which takes a tenth of the time: the share of what lies
    below the threshold is held to alpha. What was found for one mean and one worth in trials settles all that are
    better in both, or worse in both.
    """

    def __init__(self, threshold: float, alpha: float, cases: float) -> None:
        """Take a floor, the error, and how many units of one weight there are."""
        self.threshold, self.alpha, self.cases = threshold, alpha, cases
        self.reachable = bool(alpha ** (1 / cases) - threshold > ROUNDING)
        self._ends: dict[int, tuple[float, float]] = {}

    def shows(self, mean: float, trials: float) -> bool:
        """Say whether a mean that is worth so many independent trials shows it."""
        if not self.reachable or mean <= self.threshold:
            return False
        if mean >= 1:
            return True
        step = int(mean * GRID)
        if trials >= self._end(step)[1]:
            return True
        if step + 1 < GRID and trials <= self._end(step + 1)[0]:
            return False
        return self.exactly(mean, trials)

    def exactly(self, mean: float, trials: float) -> bool:
        """Say so for a mean above the threshold and below 1, without looking anything up."""
        passes = mean * trials
        return betainc(passes, trials - passes + 1, self.threshold + ROUNDING) < self.alpha

    def _end(self, step: int) -> tuple[float, float]:
        """Return, for a mean at a step of the grid, how many trials are too few, and how many are enough."""
        if step not in self._ends:
            self._ends[step] = self._found(step / GRID)
        return self._ends[step]

    def _found(self, mean: float) -> tuple[float, float]:
        if mean <= self.threshold:
            return MOST_TRIALS, MOST_TRIALS
        if self.exactly(mean, self.cases):
            return 0.0, self.cases
        low, high = self.cases, 2 * self.cases
        while not self.exactly(mean, high):
            low, high = high, 2 * high
            if high > MOST_TRIALS:
                return MOST_TRIALS, MOST_TRIALS
        while high > 1.02 * low:
            middle = (low + high) / 2
            low, high = (low, middle) if self.exactly(mean, middle) else (middle, high)
        return low, high


# ------------------------------------------------------------------------------------------------ the operating curve


class Operating:
    """A rule over a layout."""

    def __init__(self, layout: Layout, demand: Demand, stream: Stream) -> None:
        """Take a rule; nothing is worked out before it is asked for.

        Args:
            layout: at least one unit.
            stream: from which outcomes are drawn, if it comes to that.
        """
        self.layout, self.demand, self.stream = layout, demand, stream
        bar = demand.threshold
        self.bar = bar if demand.floor else 1 - bar
        self._known: dict[float, Chances] = {}

    def chances(self, truth: float) -> Chances:
        """Return how often it accepts, stays inconclusive and rejects, at a true value of what it measures."""
        rate = truth if self.demand.floor else 1 - truth
        if rate not in self._known:
            self._known[rate] = self._chances(rate)
        return self._known[rate]

    def quality(self, chance: float) -> float | None:
        """Return the true value that is accepted with a chance in (0, 1); None if none is.

        Drawn tables give it to three decimals.
        """
        if self.counts is not None:
            accept, _ = self.counts
            n = len(self.layout.units)
            if accept < 0:
                return None
            rate = 1.0 if accept >= n else 1 - oc_quality_at(n, accept, chance)
            return rate if self.demand.floor else 1 - rate
        found = self._searched(chance)
        return None if found is None else (found if self.demand.floor else 1000 - found) / 1000

    @cached_property
    def counts(self) -> tuple[int, int] | None:
        """How many failures at most accept (-1: none do), and how many at least reject; None where that does not tell.

        Units that do not pass are counted, or that pass, under a ceiling.
        """
        if not self.layout.counts:
            return None
        n, alpha = len(self.layout.units), self.demand.alpha
        if alpha is None:
            most = floor(n * (1 - self.bar))
            return most, most + 1
        most_failing = max_failures(n, float(self.bar), alpha)
        most_passing = max_failures(n, float(1 - self.bar), alpha)
        return -1 if most_failing is None else most_failing, n + 1 if most_passing is None else n - most_passing

    @property
    def drawn(self) -> bool:
        """Say whether its chances are those of drawn outcomes, and not exact."""
        return self.counts is None and (self.demand.alpha is not None or len(self.layout.strata) > MOST_STRATA)

    @cached_property
    def reachable(self) -> bool:
        """Say whether a perfect run would be accepted."""
        if self.demand.alpha is None:
            return True
        return Shows(float(self.bar), self.demand.alpha, self.layout.cases).reachable

    def _chances(self, rate: float) -> Chances:
        if self.counts is not None:
            accept, reject = self.counts
            n = len(self.layout.units)
            yes, no = oc_binomial(n, accept, 1 - rate), oc_binomial(n, n - reject, rate)
            return Chances(yes, max(1 - yes - no, 0.0) if reject > accept + 1 else 0.0, no)
        if not self.drawn:
            yes = self._summed(rate)
            return Chances(yes, 0.0, 1 - yes)
        return self._drawn(rate)

    def _searched(self, chance: float) -> int | None:
        """Return the lowest rate in thousandths that is accepted so often, seeking from where a guess lies."""
        if not self.reachable:
            return None

        def enough(step: int) -> bool:
            truth = step / 1000
            return self.chances(truth if self.demand.floor else 1 - truth).accept >= chance

        low, high = 0, 1000
        guess = max(min(round(1000 * self._guess(chance)), 1000), 0)
        width = 4
        if enough(guess):
            high = guess
            while high - width > 0 and enough(high - width):
                high, width = high - width, 2 * width
            low = max(high - width, 0)
        else:
            low = guess
            while low + width < 1000 and not enough(low + width):
                low, width = low + width, 2 * width
            high = min(low + width, 1000)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def _guess(self, chance: float) -> float:
        """Return about where the quality lies, by as many independent trials as the units are worth."""
        worth = sum(unit.cells / (1 + (unit.cells - 1) * self.layout.icc) for unit in self.layout.units)
        n = max(round(worth), 1)
        if self.demand.alpha is None:
            most: int | None = floor(n * (1 - self.bar))
        else:
            most = max_failures(n, float(self.bar), self.demand.alpha)
        if most is None or most >= n:
            return 0.99
        return 1 - oc_quality_at(n, most, chance)

    # ------------------------------------------------------------------------------------------------ over repeats

    @cached_property
    def _scale(self) -> int:
        """In how many parts weight one is counted, so that every sum is a whole number."""
        return lcm(*(Fraction(unit.weight, unit.cells).denominator for unit, _ in self.layout.strata))

    def _step(self, unit: Unit) -> int:
        """Return what one passing cell of a unit adds to the sum."""
        return int(Fraction(unit.weight, unit.cells) * self._scale)

    def _summed(self, rate: float) -> float:
        """Return the chance that the mean reaches the threshold, from the distribution of the sum."""
        sums: dict[int, float] = {0: 1.0}
        for unit, number in self.layout.strata:
            first, chances = powers_of(beta_binomial(unit.cells, rate, self.layout.icc), number)
            step = self._step(unit)
            after: dict[int, float] = {}
            for total, chance in sums.items():
                for place, item in enumerate(chances, first):
                    key = total + place * step
                    after[key] = after.get(key, 0.0) + chance * item
            sums = after
        least = ceil(self.bar * self.layout.weight * self._scale)
        return min(sum(chance for total, chance in sums.items() if total >= least), 1.0)

    def _drawn(self, rate: float) -> Chances:
        """Return the shares of drawn outcomes that come to each."""
        draws = self.stream.draws
        totals, firsts, seconds = [0] * draws, [0.0] * draws, [0.0] * draws
        column = 0
        for unit, number in self.layout.strata:
            passes, squares, column = self._outcomes(unit, number, rate, column)
            step, w2 = self._step(unit), unit.weight**2
            by_one, by_two = w2 / unit.cells, w2 / unit.cells**2
            for draw in range(draws):
                totals[draw] += step * passes[draw]
                firsts[draw] += by_one * passes[draw]
                seconds[draw] += by_two * squares[draw]
        if self.demand.alpha is None:
            least = ceil(self.bar * self.layout.weight * self._scale)
            yes = sum(total >= least for total in totals) / draws
            return Chances(yes, 0.0, 1 - yes)
        return self._judged(totals, firsts, seconds)

    def _outcomes(self, unit: Unit, number: int, rate: float, column: int) -> tuple[list[int], list[int], int]:
        """Return, of each draw, how many cells of so many units pass, and the sum of the squares of these numbers.

        Args:
            column: the first column of the stream to use; the next free one is returned with them.
        """
        chances = beta_binomial(unit.cells, rate, self.layout.icc)
        if number > unit.cells:
            return (*self._by_level(chances, number, column), column + unit.cells)
        draws = self.stream.draws
        passes, squares = [0] * draws, [0] * draws
        sums: list[float] = []
        for chance in chances[:-1]:
            sums.append(chance + (sums[-1] if sums else 0.0))
        for place in range(number):
            for draw, u in enumerate(self.stream.column(column + place)):
                k = bisect_right(sums, u)
                passes[draw] += k
                squares[draw] += k * k
        return passes, squares, column + number

    def _by_level(self, chances: Sequence[float], number: int, column: int) -> tuple[list[int], list[int]]:
        """Draw how many units have all cells passed, then of the others all but one, and so on."""
        draws = self.stream.draws
        passes, squares, rest = [0] * draws, [0] * draws, [number] * draws
        left = 1.0
        for place, k in enumerate(range(len(chances) - 1, 0, -1)):
            share = min(max(chances[k] / left, 0.0), 1.0) if left > 0 else 0.0
            left -= chances[k]
            if share <= 0:
                continue
            tables = {n: Binomial(n, share) for n in set(rest)}
            for draw, u in enumerate(self.stream.column(column + place)):
                n = rest[draw]
                if n:
                    table = tables[n]
                    hits = table.first + bisect_right(table.sums, u)
                    rest[draw] = n - hits
                    passes[draw] += k * hits
                    squares[draw] += k * k * hits
        return passes, squares

    @cached_property
    def _tests(self) -> tuple[Shows, Shows]:
        """Whether a mean shows the threshold, and whether what is left of it shows that it is missed."""
        alpha, cases = self.demand.alpha or 0.05, self.layout.cases
        return Shows(float(self.bar), alpha, cases), Shows(float(1 - self.bar), alpha, cases)

    def _judged(self, totals: Sequence[int], firsts: Sequence[float], seconds: Sequence[float]) -> Chances:
        """Hold the bounds of drawn outcomes to the threshold; `rules.bounds.guarded` has the formula."""
        holds, fails = self._tests
        units, weight, cases = len(self.layout.units), self.layout.weight, self.layout.cases
        squared = sum(unit.weight**2 for unit in self.layout.units)
        pseudo, bar, scale = weight / units, float(self.bar), self._scale
        accepted = rejected = 0
        for total, first, second in zip(totals, firsts, seconds, strict=True):
            mean = total / (scale * weight)
            centre = (mean * weight + pseudo) / (weight + 2 * pseudo)
            spread = second - 2 * centre * first + centre * centre * squared
            spread += pseudo * pseudo * ((1 - centre) ** 2 + centre * centre)
            variance = spread / (squared + 2 * pseudo * pseudo)
            trials = cases * max(1.0, centre * (1 - centre) / variance)
            if mean > bar:
                accepted += holds.shows(mean, trials)
            else:
                rejected += fails.shows(1 - mean, trials)
        draws = len(totals)
        return Chances(accepted / draws, (draws - accepted - rejected) / draws, rejected / draws)
