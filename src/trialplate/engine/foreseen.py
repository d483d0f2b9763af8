# SPDX-License-Identifier: Apache-2.0
"""What a test set of this size and a mark can show, as `foresight` finds it and `plan` tells it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from trialplate.stats.designs import Alternative
from trialplate.stats.operating import Chances
from trialplate.verify.findings import counted
from trialplate.verify.text import decimal_text

__all__ = ["Apart", "Comparison", "Copy", "Foresight", "Foreseen", "Needed", "Point", "reach_words"]

Sense = Literal["at_least", "at_most", "must_pass", "not_worse_than", "no_regressions", "any_of"]


@dataclass(frozen=True)
class Point:
    """What a rule comes to at one true value."""

    truth: Fraction
    chances: Chances
    expected_cases: float | None = None
    """Under a stop: how many cases run on average, as far as this rule is concerned."""
    measured: tuple[str, ...] = ()
    """The configurations of which the pilot measured this value."""


@dataclass(frozen=True)
class Needed:
    """How many cases, asked once each, accept a true value four times in five; None is more than are looked for."""

    truth: Fraction
    cases: int | None


@dataclass(frozen=True)
class Copy:
    """One copy of a rule with `each`."""

    value: str
    cases: int
    reachable: bool
    needs: int | None


@dataclass(frozen=True)
class Apart:
    """How a comparison goes, if two equal configurations differ on this share of the cases."""

    share: float
    chance: float
    """That the present cases show that they are no further apart."""
    needed: int | None
    """Cases that show it four times in five; None is more than are looked for."""
    measured: bool = False


@dataclass(frozen=True)
class Comparison:
    """What a comparison of two configurations, case by case, can show."""

    margin: Fraction
    ties: float
    """How much worse the first may still be, as the bound has it, if both pass the very same cases."""
    rows: tuple[Apart, ...] = ()


@dataclass(frozen=True)
class Foreseen:
    """What one rule can show, for configurations that are asked alike."""

    id: str
    sense: Sense
    basis: Literal["estimate", "bound"]
    configurations: tuple[str, ...]
    of: str | None = None
    threshold: Fraction | None = None
    part_of: str | None = None
    """The rule with `any_of` of which it is one alternative."""
    each: str | None = None
    copies: tuple[Copy, ...] = ()
    copy: str | None = None
    """The copy that the numbers below are of: the one with the fewest cases."""
    cases: int = 0
    trials: int = 0
    units: int = 0
    """What is drawn at random: cases, clusters of them, or trials of this very set."""
    unit: Literal["case", "cluster", "trial"] = "case"
    repeats: tuple[int, int] = (0, 0)
    """The fewest and the most of a case."""
    icc: float | None = None
    """How much repeats resemble each other, where it matters."""
    alpha: Fraction | None = None
    attempt: int = 1
    """Which attempt at these configurations it is of; of several, the one that has the smallest error."""
    perfect: float | None = None
    """What a perfect run shows: the lower bound of a floor or of a difference, the upper bound of a ceiling."""
    reachable: bool = True
    needs: int | None = None
    """Units with which a perfect run passes; None if no number of them does, or none are needed."""
    failures: tuple[int, int] | None = None
    """Units that may fail and it still accepts (-1: none), and that must fail until it rejects."""
    qualities: tuple[float | None, float | None, float | None] | None = None
    """The true values that are accepted 95 %, 50 % and 10 % of the time."""
    points: tuple[Point, ...] = ()
    drawn: bool = False
    """The chances are of drawn outcomes, and not exact."""
    hides: Point | None = None
    """Of an estimate: how often a configuration passes that is truly ten points off."""
    needed: tuple[Needed, ...] = ()
    designs: tuple[Alternative, ...] = ()
    designs_at: Fraction | None = None
    """The true value at which designs are compared: the one that this one accepts half the time."""
    as_strong: int | None = None
    """Cases, asked once each, that accept that value as often."""
    comparison: Comparison | None = None
    missing: str | None = None
    """Why there is no operating curve."""
    left_out: int = 0
    """Cases that the rule is about and the matrix leaves out: nothing can be told."""
    too_few: int | None = None
    """Fewest cases that the rule wants, where it has fewer."""
    passable: bool = True
    """A perfect run passes what the numbers above are of; `reachable` speaks of all copies."""
    coarse: Literal["all", "margin"] | None = None
    """all: no case may fail, though less than all is asked; margin: one case weighs more than what is allowed."""


@dataclass(frozen=True)
class Foresight:
    """What a plan's mark can show."""

    rules: tuple[Foreseen, ...]
    choice: Foreseen | None
    candidates: int
    attempt: int
    """Which attempt it would be, of the configuration that has made the most."""
    icc: float
    pilot: str | None
    draws: int
    measured: frozenset[str] = frozenset()
    """The quantities of which the pilot tells how much repeats resemble each other."""

    @property
    def reachable(self) -> bool:
        """Say whether some run could pass every rule."""
        return not self.refusals

    @property
    def refusals(self) -> tuple[str, ...]:
        """Return the ids of the rules that no run of any configuration can pass, and that nothing else makes up for."""
        there = dict.fromkeys(item.id for item in self.rules if item.part_of is None)
        return tuple(name for name in there if self._lost(name))

    def _lost(self, name: str) -> bool:
        """Say whether no run can pass a rule, or any of its alternatives."""
        own = [item for item in self.rules if item.id == name]
        if any(item.sense == "any_of" for item in own):
            return all(self._lost(item.id) for item in self.rules if item.part_of == name)
        return not any(item.reachable for item in own)


def reach_words(item: Foreseen) -> str:
    """Return what a perfect run shows, and whether that is enough; of a rule that has such a bound."""
    units = {"case": "case", "cluster": "unit", "trial": "trial"}[item.unit]
    found = Fraction(f"{0.0 if item.perfect is None else item.perfect:.9f}")
    shown = decimal_text(found, item.threshold, 3)  # with the digits that tell it from what it falls short of
    most = "at most " if item.sense == "at_most" else ""
    perfect = f"{counted(item.units, units)}: a perfect run shows {most}{shown}"
    if item.sense == "not_worse_than":
        sign = "" if found < 0 else "+"
        perfect = f"{counted(item.units, units)}: passing all where the other passes none shows {sign}{shown}"
    if item.passable:
        return perfect
    bar = f"{float(item.threshold or 0):.4f}".rstrip("0").rstrip(".")
    needs = f"needs {item.needs}" if item.needs is not None else "no number of them can"
    sign = ">" if item.sense == "at_most" else "<"
    return f"{perfect} {sign}{'=' if found == item.threshold else ''} {bar}: cannot pass; {needs}"
