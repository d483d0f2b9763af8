# SPDX-License-Identifier: Apache-2.0
"""Several models on the same cases: which is chosen, whether one is no worse, and what the best of many looks like."""

from __future__ import annotations

from functools import partial
from random import Random

from simulation import cases as made
from simulation.deciders import (
    ALPHA,
    ENOUGH,
    FLOOR,
    accepts,
    bootstrap_lower,
    estimate_accepts,
    estimate_choice,
    guarded_choice,
    guarded_diff,
    normal_bounds,
    student_bounds,
)
from simulation.figures import Figure, Job, Line, about, at_most, mean, share

FIVE = (0.75, 0.7925, 0.835, 0.8775, 0.92)
"""The cheapest first. The reference says "five models .75-.92" and not which between: these are evenly spaced."""


def _family(rng: Random, draws: int) -> list[Figure]:
    """Let ten candidates that are exactly on the floor answer the same 100 cases once, and see whether one passes."""
    passed = [0, 0, 0]
    for _ in range(draws):
        counts = made.field(rng, (FLOOR / 100,) * 10, 100, 1)
        passed[0] += any(estimate_accepts(row, 1, FLOOR) for row in counts)
        passed[1] += any(accepts(row, 1, ALPHA) for row in counts)
        passed[2] += any(accepts(row, 1, ALPHA / 10) for row in counts)
    return [share(hits, draws) for hits in passed]


def _two(rng: Random, draws: int, *, cheap: float) -> list[Figure]:
    hits = sum(estimate_choice(made.field(rng, (cheap, 0.90), 10, 3), 3, 3) == 0 for _ in range(draws))
    return [share(draws - hits if cheap == 0.90 else hits, draws)]


def _five(rng: Random, draws: int, *, n: int) -> list[Figure]:
    by_mean = [0] * len(FIVE)
    by_bound = [0] * (len(FIVE) + 1)
    for _ in range(draws):
        counts = made.field(rng, FIVE, n, 3)
        by_mean[estimate_choice(counts, 3, 3)] += 1
        chosen = guarded_choice(counts, 3, 0.03)
        by_bound[-1 if chosen is None else chosen] += 1
    numbers = (sum(by_mean[:3]), sum(by_mean[:3]), sum(by_bound[:3]), sum(by_bound[3:5]), by_bound[5])
    figures = [share(hits, draws) for hits in numbers]
    figures[1] = share(sum(by_mean[:2]), draws)
    return figures


def _equal(rng: Random, draws: int, *, n: int, choose: bool) -> list[Figure]:
    tops, chosen = [], 0
    for _ in range(draws):
        counts = made.field(rng, (0.90,) * 5, n, 3)
        tops.append(max(sum(row) for row in counts) / (3 * n) - 0.90)
        chosen += choose and guarded_choice(counts, 3, 0.03) is not None
    return [mean(tops), share(chosen, draws)] if choose else [mean(tops)]


def _not_worse(rng: Random, draws: int, *, rate: float) -> list[Figure]:
    """A candidate against a reference truly at 0.90; margin 3 points, two-sided 95 %, so 2.5 % on this side."""
    hits = [0, 0, 0, 0]
    for _ in range(draws):
        candidate, reference = made.field(rng, (rate, 0.90), 10, 1)
        off = [a - b for a, b in zip(candidate, reference, strict=True)]
        lows = (
            bootstrap_lower((off.count(-1), off.count(0), off.count(1)), 0.025),
            normal_bounds(off, 1, 0.025)[0],
            student_bounds(off, 1, 0.025)[0],
            guarded_diff(candidate, reference, 1, 0.025).lower,
        )
        for index, low in enumerate(lows):
            hits[index] += low + 0.03 > ENOUGH
    return [share(number, draws) for number in hits]


def _disjoint(rng: Random, draws: int, *, n: int) -> list[Figure]:
    apart = 0
    for _ in range(draws):
        ranges = []
        for chances in made.field_rates(rng, (0.90, 0.90), n):
            means = [sum(rng.random() < chance for chance in chances) for _ in range(3)]
            ranges.append((min(means), max(means)))
        apart += ranges[0][1] < ranges[1][0] or ranges[1][1] < ranges[0][0]
    return [share(apart, draws)]


def _ten() -> list[Job]:
    ways = ("estimate", "guarded at alpha", "guarded at alpha / 10 (family)")
    lines = (Line(f"ten candidates truly 0.9, 100 x 1, floor .90: any accepted, {how}") for how in ways)
    return [Job("family", tuple(lines), _family, 0.25)]


def _choices() -> list[Job]:
    two = [
        (0.85, "takes one truly 5 points worse", 36.1),
        (0.80, "takes one truly 10 points worse", 18.6),
        (0.75, "takes one truly 15 points worse", 8.5),
        (0.90, "misses an equal cheap one", 38.8),
    ]
    said = {
        10: (about(49.1), about(25.6), at_most(0.1), None, about(100)),
        100: (about(25.8), None, at_most(0.1), about(72), None),
        200: (None, None, at_most(0.1), about(98), None),
    }
    words = (
        "by means: more than 3 points worse chosen",
        "by means: 8 points worse or more chosen",
        "guarded: more than 3 points worse chosen",
        "guarded: one within 3 points chosen",
        "guarded: inconclusive",
    )
    return [
        *(
            Job(
                f"two-{cheap:g}",
                (Line(f"cheapest within 3 points, two models, 10 x 3: {what}", about(value)),),
                partial(_two, cheap=cheap),
                2,
            )
            for cheap, what, value in two
        ),
        *(
            Job(
                f"five-{n}x3",
                tuple(Line(f"five models, {n} x 3, {what}", of) for what, of in zip(words, said[n], strict=True)),
                partial(_five, n=n),
                part,
            )
            for n, part in ((10, 1), (100, 0.5), (200, 0.2))
        ),
        *(
            Job(
                f"equal-{n}x3",
                (
                    Line(f"five equal models at .90, {n} x 3: the best looks better than it is by", said_top, "points"),
                    *(
                        (Line(f"five equal models at .90, {n} x 3: guarded chooses one", about(98)),)
                        if n == 400
                        else ()
                    ),
                ),
                partial(_equal, n=n, choose=n == 400),
                part,
            )
            for n, said_top, part in (
                (10, about(5.5), 1),
                (50, about(2.8), 0.5),
                (100, about(2.0), 0.5),
                (400, None, 0.1),
            )
        ),
    ]


def _comparisons() -> list[Job]:
    def lines(rate: float, *said: float | None) -> tuple[Line, ...]:
        methods = ("percentile bootstrap", "z", "t", "guarded")
        return tuple(
            Line(
                f"not worse by 3 points, 10 x 1, truly {rate:g} against 0.9: passed by {method}",
                None if of is None else about(of),
            )
            for method, of in zip(methods, said, strict=True)
        )

    return [
        Job("not-worse-0.87", lines(0.87, 46.1, 31.4, 27.8, 0.02), partial(_not_worse, rate=0.87), 5),
        Job("not-worse-0.8", lines(0.80, 23.3, None, None, None), partial(_not_worse, rate=0.80), 5),
        *(
            Job(
                f"disjoint-{n}",
                (Line(f"two equal models, {n} x 3: ranges of three repeats apart", about(said)),),
                partial(_disjoint, n=n),
                part,
            )
            for n, said, part in ((10, 11.2, 1), (100, 17.8, 0.5))
        ),
    ]


def jobs() -> list[Job]:
    """Return the rows in the order of the reference."""
    return [*_ten(), *_choices(), *_comparisons()]
