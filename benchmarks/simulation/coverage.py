# SPDX-License-Identifier: Apache-2.0
"""How often bounds hold: coverage over grids of scenarios, with the worst cell.

A one-sided bound of 95 % should lie on the right side of the truth in 95 of 100 test sets, at least. A grid's worst
cell is partly bad luck: the lowest of many noisy numbers is too low. So the three worst cells of each method are drawn
anew, ten times as often, and the lowest of those is what is shown.

The reference's grids are larger, and it does not list their cells; of each it gives the lowest coverage that it saw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from math import sqrt
from random import Random

from simulation import cases as made
from simulation.deciders import (
    ALPHA,
    ENOUGH,
    guarded,
    guarded_diff,
    normal_bounds,
    student,
    student_bounds,
    wilson_bounds,
)
from simulation.figures import Figure, Job, Line, at_least, share
from trialplate.rules import bounds, shares
from trialplate.rules.special import normal_quantile
from trialplate.stats.agreement import lang_reiczigel

Bounds = tuple[float, float]
Draw = Callable[[Random], tuple[float, Sequence[Bounds]]]
"""Makes up one test set: the truth, and the bounds of each method."""
AGAIN, MORE = 3, 10


def coverage(rng: Random, draws: int, cells: dict[str, Draw], methods: int) -> list[Figure]:
    """Return of each method the worst coverage over all cells, of the lower or the upper bound."""
    found: list[list[tuple[float, str, int]]] = [[] for _ in range(methods)]
    for name, draw in cells.items():
        for method, hits in enumerate(_held(rng, draws, draw, methods)):
            for side in (0, 1):
                found[method].append((hits[side], name, side))
    figures = []
    for method in range(methods):
        again = []
        for _, name, side in sorted(found[method])[:AGAIN]:
            hits = _held(rng, MORE * draws, cells[name], methods)[method][side]
            again.append(share(hits, MORE * draws, f"{name}, {('lower', 'upper')[side]}"))
        figures.append(min(again, key=lambda item: item.value))
    return figures


def _held(rng: Random, draws: int, draw: Draw, methods: int) -> list[list[int]]:
    """Return how often the lower and the upper bound of each method held."""
    held = [[0, 0] for _ in range(methods)]
    for _ in range(draws):
        truth, limits = draw(rng)
        for counts, (lower, upper) in zip(held, limits, strict=True):
            counts[0] += lower <= truth + ENOUGH
            counts[1] += upper >= truth - ENOUGH
    return held


# ------------------------------------------------------------------------------------------------------------- cells


def _mean(rng: Random, rate: float, icc: float, n: int, repeats: int) -> tuple[float, list[Bounds]]:
    counts = made.run(rng, rate, icc, n, repeats)
    bound = guarded(counts, repeats)
    return rate, [
        (bound.lower, bound.upper),
        normal_bounds(counts, repeats),
        student_bounds(counts, repeats),
        wilson_bounds(counts, repeats),
    ]


def _means(repeats: int) -> dict[str, Draw]:
    rates = (0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98)
    iccs = (0.5,) if repeats == 1 else (0.1, 0.5, 0.9)
    return {
        f"rate {rate:g}, ICC {icc:g}, {n} x {repeats}": partial(_mean, rate=rate, icc=icc, n=n, repeats=repeats)
        for rate, icc, n in product(rates, iccs, (10, 30, 100))
    }


def _difference(rng: Random, first: float, second: float, n: int, repeats: int) -> tuple[float, list[Bounds]]:
    one, other = made.field(rng, (first, second), n, repeats)
    bound = guarded_diff(one, other, repeats)
    trials = n * repeats
    off = [a - b for a, b in zip(one, other, strict=True)]
    pooled = shares.newcombe(sum(one) / trials, trials, sum(other) / trials, trials, ALPHA)
    return first - second, [(bound.lower, bound.upper), student_bounds(off, repeats), pooled]


PAIRS = ((0.5, 0.5), (0.9, 0.9), (0.87, 0.9), (0.8, 0.9), (0.95, 0.98), (0.98, 0.98))


def _differences() -> dict[str, Draw]:
    return {
        f"{a:g} against {b:g}, {n} x {repeats}": partial(_difference, first=a, second=b, n=n, repeats=repeats)
        for (a, b), n, repeats in product(PAIRS, (10, 50, 200), (1, 3))
    }


def _this_set(rng: Random, rate: float, n: int, repeats: int) -> tuple[float, list[Bounds]]:
    chances = made.rates(rng, rate, 0.5, n)
    passed = sum(made.passes(rng, chance, repeats) for chance in chances)
    return sum(chances) / n, [_exact(passed, n * repeats)]


@cache
def _exact(passed: int, trials: int) -> Bounds:
    return bounds.clopper_pearson(passed, trials, ALPHA)


def _these_sets() -> dict[str, Draw]:
    return {
        f"rate {rate:g}, {n} x {repeats}": partial(_this_set, rate=rate, n=n, repeats=repeats)
        for rate, n, repeats in product((0.5, 0.8, 0.9, 0.95, 0.98), (10, 30, 100), (1, 3))
    }


def _this_difference(rng: Random, first: float, second: float, n: int, repeats: int) -> tuple[float, list[Bounds]]:
    one, other = made.field_rates(rng, (first, second), n)
    trials = n * repeats
    a, b = (sum(made.passes(rng, chance, repeats) for chance in row) / trials for row in (one, other))
    return (sum(one) - sum(other)) / n, [shares.newcombe(a, trials, b, trials, ALPHA)]


def _these_differences() -> dict[str, Draw]:
    return {
        f"{a:g} against {b:g}, {n} x {repeats}": partial(_this_difference, first=a, second=b, n=n, repeats=repeats)
        for (a, b), n, repeats in product(PAIRS, (10, 50), (1, 3))
    }


def _clustered(rng: Random, rate: float, icc: float, sizes: tuple[int, ...]) -> tuple[float, list[Bounds]]:
    passed = [made.run(rng, rate, icc, 1, size)[0] for size in sizes]
    bound = bounds.guarded([c / size for c, size in zip(passed, sizes, strict=True)], ALPHA, sizes)
    cases, clusters = sum(sizes), len(sizes)
    mean = sum(passed) / cases
    square = sum((c - size * mean) ** 2 for c, size in zip(passed, sizes, strict=True))
    error = sqrt(square * clusters / (clusters - 1)) / cases
    away = student(1 - ALPHA, clusters - 1) * error
    return rate, [(bound.lower, bound.upper), _exact(sum(passed), cases), (mean - away, mean + away)]


def _clusters() -> dict[str, Draw]:
    shapes = {"equal": (5,), "uneven": (1, 2, 3, 4, 5, 6, 7, 12)}
    return {
        f"rate {rate:g}, ICC {icc:g}, {number} {kind} clusters": partial(
            _clustered, rate=rate, icc=icc, sizes=tuple(shape[i % len(shape)] for i in range(number))
        )
        for rate, icc, number, (kind, shape) in product((0.8, 0.9, 0.95), (0.2, 0.6), (8, 20, 50), shapes.items())
    }


def _judged(rng: Random, rate: float, judge: tuple[float, float], n: int, graded: int) -> tuple[float, list[Bounds]]:
    sensitivity, specificity = judge
    said = made.binomial(rng, rate * sensitivity + (1 - rate) * (1 - specificity), n)
    good = made.binomial(rng, rate, graded)
    found = made.binomial(rng, sensitivity, good)
    wrongly = made.binomial(rng, 1 - specificity, graded - good)
    return rate, _of_judge(said, n, good, found, wrongly, graded)


@cache
def _of_judge(said: int, n: int, good: int, found: int, wrongly: int, graded: int) -> list[Bounds]:
    judged = [1.0] * said + [0.0] * (n - said)
    missed = good - found
    off = [1.0] * missed + [-1.0] * wrongly + [0.0] * (graded - missed - wrongly)
    bound = bounds.guarded_ppi(judged, off, ALPHA)
    f, r = said / n, (missed - wrongly) / graded
    error = sqrt(f * (1 - f) / n + ((missed + wrongly) / graded - r * r) / graded)
    away = -normal_quantile(ALPHA) * error
    bad = graded - good
    cross = lang_reiczigel((said, n), (found, good), (bad - wrongly, bad), 1 - 2 * ALPHA) if good and bad else None
    return [(bound.lower, bound.upper), (f + r - away, f + r + away), cross or (0.0, 1.0), _exact(said, n)]


def _judges() -> dict[str, Draw]:
    judges = ((0.98, 0.60), (0.95, 0.90), (0.90, 0.80), (0.80, 0.95))
    return {
        f"rate {rate:g}, sensitivity {judge[0]:g}, specificity {judge[1]:g}, {n} answers, {graded} graded": partial(
            _judged, rate=rate, judge=judge, n=n, graded=graded
        )
        for rate, judge, n, graded in product((0.7, 0.8, 0.9, 0.95), judges, (50, 200), (20, 50, 100))
    }


# -------------------------------------------------------------------------------------------------------------- rows


def _grid(name: str, cells: dict[str, Draw], lines: Sequence[Line], part: float) -> Job:
    run = partial(coverage, cells=cells, methods=len(lines))
    return Job(name, tuple(Line(f"{line.what}, worst of {len(cells)} cells", line.said) for line in lines), run, part)


def jobs() -> list[Job]:
    """Return the grids, each a row for each method."""
    means = (
        ("guarded bound holds", at_least(95.0)),
        ("CLT bound holds", at_least(17.9)),
        ("Student's t holds", at_least(17.9)),
        ("Wilson on pooled trials holds", at_least(66.4)),
    )
    return [
        *(
            _grid(f"means-{r}", _means(r), [Line(f"{what}, {r} a case", said) for what, said in means], part)
            for r, part in ((1, 0.5), (3, 0.25), (10, 0.25))
        ),
        _grid(
            "differences",
            _differences(),
            [
                Line("paired guarded bound holds", at_least(93.5)),
                Line("paired t holds", at_least(28.8)),
                Line("Newcombe on pooled trials holds", at_least(73.9)),
            ],
            0.1,
        ),
        _grid(
            "this-set", _these_sets(), [Line("this_set: Clopper-Pearson on pooled trials holds", at_least(95.4))], 0.25
        ),
        _grid(
            "this-difference",
            _these_differences(),
            [Line("this_set: Newcombe on pooled trials holds", at_least(93.6))],
            0.1,
        ),
        _grid(
            "clusters",
            _clusters(),
            [
                Line("guarded bound over clusters holds", at_least(95.0)),
                Line("ignoring clusters holds", at_least(66.3)),
                Line("clustered t holds", at_least(44.7)),
            ],
            0.1,
        ),
        _grid(
            "judges",
            _judges(),
            [
                Line("guarded PPI holds", at_least(94.0)),
                Line("plain PPI holds", at_least(81.8)),
                Line("Rogan-Gladen, Lang-Reiczigel limits hold", at_least(92.5)),
                Line("judge as it is holds", at_least(0.4)),
            ],
            0.25,
        ),
    ]
