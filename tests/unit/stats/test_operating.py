# SPDX-License-Identifier: Apache-2.0
"""Operating curves: the published table to its printed digits, and the model against the bound that decides."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from trialplate.rules.bounds import ROUNDING, guarded
from trialplate.stats.draws import Stream
from trialplate.stats.operating import DRAWS, Demand, Layout, Operating, Shows, Unit

STREAM = Stream(bytes(32), DRAWS)
ONCE = Unit(1, 1)


def rule(layout: Layout, threshold: str, alpha: float | None = 0.05, *, floor: bool = True) -> Operating:
    """Return a rule over a layout."""
    return Operating(layout, Demand(Fraction(threshold), floor, alpha), STREAM)


def over(cases: int, repeats: int = 1, icc: float = 0.5) -> Layout:
    """Return so many cases that are asked alike."""
    return Layout((Unit(repeats, 1),) * cases, icc)


TABLE = [
    ("0.9", 29, 0, (23, 41, 56, 75), (0.998, 0.976, 0.924)),
    ("0.9", 50, 1, (28, 56, 74, 91), (0.993, 0.967, 0.924)),
    ("0.9", 100, 4, (44, 82, 95, 99.7), (0.980, 0.953, 0.922)),
    ("0.9", 200, 12, (80, 99, 100, 100), (0.961, 0.937, 0.912)),
    ("0.9", 300, 21, (95, 100, 100, 100), (0.950, 0.928, 0.907)),
    ("0.95", 59, 0, (5, 17, 30, 55), (0.999, 0.988, 0.962)),
    ("0.95", 300, 8, (3, 45, 85, 99.6), (0.984, 0.971, 0.957)),
    ("0.8", 50, 5, (96, 99.6, 100, 100), (0.946, 0.887, 0.822)),
]
"""Floor, cases, failures allowed, percent accepted at a true .95, .97, .98 and .99, and the three qualities.

The design prints 55 where 55.53 is accepted, and every other number to the nearest digit.
"""


@pytest.mark.parametrize(("floor", "cases", "failures", "accepted", "qualities"), TABLE)
def test_table_of_single_trials(
    floor: str, cases: int, failures: int, accepted: tuple[float, ...], qualities: tuple[float, ...]
) -> None:
    """Every number of the design's table, at the digits it is printed with."""
    found = rule(over(cases), floor)
    assert found.counts is not None
    assert found.counts[0] == failures
    for truth, percent in zip((0.95, 0.97, 0.98, 0.99), accepted, strict=True):
        digits = 1 if isinstance(percent, float) else 0
        assert round(100 * found.chances(truth).accept, digits) == percent
    assert [round(found.quality(chance) or 0, 3) for chance in (0.95, 0.5, 0.1)] == list(qualities)
    assert not found.drawn


@pytest.mark.parametrize(("cases", "shown"), [(10, 0.741), (20, 0.861)])
def test_too_few_cases_accept_nothing(cases: int, shown: float) -> None:
    """Not even a perfect run, whatever is true."""
    found = rule(over(cases), "0.9")
    assert not found.reachable
    assert found.quality(0.1) is None
    assert found.chances(1.0).accept == 0
    assert round(0.05 ** (1 / cases), 3) == shown


@pytest.mark.parametrize(
    ("cases", "repeats", "truth", "percent"),
    [(10, 3, 0.80, 21.7), (10, 3, 0.85, 39.8), (10, 3, 0.95, 88.2), (10, 1, 0.80, 37.4), (10, 1, 0.85, 54.2),
     (50, 3, 0.85, 12.3), (100, 3, 0.85, 3.9)],
)  # fmt: skip
def test_estimates_pass_what_is_not_so_good_as_the_design_says(
    cases: int, repeats: int, truth: float, percent: float
) -> None:
    """The simulated rates of the design, within their own error; ours are exact under the same model."""
    found = rule(over(cases, repeats), "0.9", None).chances(truth)
    assert abs(100 * found.accept - percent) < 1
    assert found.inconclusive == 0


def test_drawn_table_is_pinned() -> None:
    """The same on every machine, digit for digit."""
    found = rule(over(40, 3), "0.8")
    assert found.drawn
    pinned = {0.7: (0.00025, 0.4885, 0.51125), 0.8: (0.03525, 0.93, 0.03475), 0.9: (0.58225, 0.41775, 0.0)}
    for truth, chances in pinned.items():
        assert tuple(found.chances(truth)) == pytest.approx(chances, abs=1e-9)


def test_drawn_outcomes_are_held_to_the_guarded_bound() -> None:
    """The curve accepts what the decision accepts: the same bound, asked in another way."""
    rng = random.Random(20)
    units = (*(Unit(3, 1),) * 20, *(Unit(4, 2),) * 12)
    found = rule(Layout(units, 0.5), "0.8")
    for _ in range(600):
        rate = rng.choice((0.6, 0.75, 0.85, 0.92, 0.97))
        passes = [sum(rng.random() < rate for _ in range(unit.cells)) for unit in units]
        means = [k / unit.cells for k, unit in zip(passes, units, strict=True)]
        bound = guarded(means, 0.05, [float(unit.weight) for unit in units])
        total = sum(found._step(unit) * k for k, unit in zip(passes, units, strict=True))
        first = sum(unit.weight**2 * m for m, unit in zip(means, units, strict=True))
        second = sum(unit.weight**2 * m * m for m, unit in zip(means, units, strict=True))
        told = found._judged([total], [first], [second])
        wanted = (float(bound.lower - 0.8 > ROUNDING), float(0.8 - bound.upper > ROUNDING))
        assert (told.accept, told.reject) == wanted


def test_repeats_that_always_agree_are_one_trial() -> None:
    """At a resemblance of 1 a case asked five times is a case asked once."""
    assert rule(over(100, 5, icc=1.0), "0.9").chances(0.97) == rule(over(100), "0.9").chances(0.97)


def test_repeats_help_less_the_more_they_resemble_each_other() -> None:
    """From as good as cases to no use at all."""
    accepted = [rule(over(100, 3, icc=icc), "0.9").chances(0.96).accept for icc in (0.0, 0.3, 0.6, 1.0)]
    assert accepted == sorted(accepted, reverse=True)
    assert accepted[0] - accepted[-1] > 0.2


def test_ceiling_is_a_floor_on_the_rest() -> None:
    """At most 10 % that fail is at least 90 % that do not."""
    ceiling, floor = rule(over(100), "0.1", floor=False), rule(over(100), "0.9")
    assert ceiling.chances(0.03) == floor.chances(1 - 0.03)
    assert ceiling.quality(0.5) == pytest.approx(1 - (floor.quality(0.5) or 0))
    drawn = Operating(over(40, 3), Demand(Fraction("0.2"), False, 0.05), STREAM)
    quality = drawn.quality(0.5)
    assert quality is not None
    assert drawn.chances(quality).accept >= 0.5 > drawn.chances(round(quality + 0.001, 3)).accept


def test_quality_is_where_the_curve_crosses() -> None:
    """To three decimals where outcomes are drawn."""
    found = rule(over(60, 3), "0.85")
    for chance in (0.95, 0.5, 0.1):
        quality = found.quality(chance)
        assert quality is not None
        assert found.chances(quality).accept >= chance > found.chances(round(quality - 0.001, 3)).accept


def test_never_accepts_more_than_alpha_at_its_threshold() -> None:
    """What the bound promises, under this model."""
    for repeats in (1, 2, 5):
        assert rule(over(80, repeats), "0.9").chances(0.9).accept <= 0.055


def test_lookup_of_a_frontier_is_the_bound_itself() -> None:
    """What was found for neighbours settles nothing wrongly."""
    shows = Shows(0.9, 0.05, 100)
    rng = random.Random(3)
    for _ in range(2000):
        mean, trials = rng.uniform(0.85, 1), 100 * rng.uniform(1, 3)
        wanted = 0.9 < mean < 1 and shows.exactly(mean, trials)
        assert shows.shows(mean, trials) == wanted


def test_many_kinds_of_units_are_drawn_for_an_estimate() -> None:
    """A sum over clusters of many sizes is not worked out; it lies where the exact one does."""
    units = tuple(Unit(size, size) for size in range(1, 9))
    found = rule(Layout(units * 3, 0.3), "0.8", None)
    assert found.drawn
    assert 0.3 < found.chances(0.8).accept < 0.75
    assert found.chances(1.0).accept == 1
