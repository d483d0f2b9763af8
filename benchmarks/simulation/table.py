# SPDX-License-Identifier: Apache-2.0
"""The rows of the reference's table "how often naive rules decide wrongly", each as a simulation."""

from __future__ import annotations

from functools import partial
from random import Random

from simulation import cases as made
from simulation.deciders import (
    ENOUGH,
    bootstrap_lower,
    estimate_accepts,
    estimate_choice,
    guarded,
    guarded_choice,
    guarded_decides,
    guarded_diff,
    normal_bounds,
    student_bounds,
)
from simulation.figures import Figure, Job, Line, about, at_most, between, mean, share

ICC = 0.5
FLOOR = 90
DESIGNS = tuple((n, repeats) for n in (10, 20, 50, 100) for repeats in (1, 3, 5, 10))
"""Cases x repeats. The reference has sixteen designs and does not name them; these are ours."""
FIVE = (0.75, 0.7925, 0.835, 0.8775, 0.92)
"""The cheapest first. The reference says "five models .75-.92" and not which between: these are evenly spaced."""


# --------------------------------------------------------------------------------------------------------- one model


def _accepted(rng: Random, draws: int, *, rate: float, n: int, repeats: int, refused: bool = False) -> list[Figure]:
    hits = sum(
        estimate_accepts(made.run(rng, rate, ICC, n, repeats), repeats, FLOOR) is not refused for _ in range(draws)
    )
    return [share(hits, draws)]


def _normal(rng: Random, draws: int, *, rate: float) -> list[Figure]:
    hits = sum(normal_bounds(made.run(rng, rate, ICC, 10, 1), 1)[0] >= FLOOR / 100 for _ in range(draws))
    return [share(hits, draws)]


def _guarded(rng: Random, draws: int, *, rate: float) -> list[Figure]:
    worst = Figure(-1.0, 0.0, 1)
    for n, repeats in DESIGNS:
        hits = 0
        for _ in range(draws):
            counts = made.run(rng, rate, ICC, n, repeats)
            if estimate_accepts(counts, repeats, FLOOR):  # a bound is never above the mean
                hits += guarded(counts, repeats).lower - FLOOR / 100 > ENOUGH
        figure = share(hits, draws, f"{n} x {repeats}")
        worst = max(worst, figure, key=lambda item: item.value)
    return [worst]


def _flips(rng: Random, draws: int, *, rate: float, n: int, repeats: int) -> list[Figure]:
    same = new = turned = 0
    for _ in range(draws):
        first = made.run(rng, rate, ICC, n, repeats)
        again = made.run_again(rng, rate, ICC, first, repeats, repeats)
        other = made.run(rng, rate, ICC, n, repeats)
        verdict = estimate_accepts(first, repeats, FLOOR)
        same += verdict != estimate_accepts(again, repeats, FLOOR)
        new += verdict != estimate_accepts(other, repeats, FLOOR)
        decided = {guarded_decides(counts, repeats, FLOOR / 100) for counts in (first, again)}
        turned += decided == {"accepted", "rejected"}
    return [share(same, draws), share(new, draws), share(turned, draws)]


def _until_it_passes(rng: Random, draws: int, *, n: int, repeats: int) -> list[Figure]:
    once = thrice = 0
    for _ in range(draws):
        counts = made.run(rng, 0.85, ICC, n, repeats)
        passed = first = estimate_accepts(counts, repeats, FLOOR)
        for tries in (1, 2):
            if passed:
                break
            again = made.run_again(rng, 0.85, ICC, counts, tries * repeats, repeats)
            passed = estimate_accepts(again, repeats, FLOOR)
            counts = [a + b for a, b in zip(counts, again, strict=True)]
        once += first
        thrice += passed
    return [share(once, draws), share(thrice, draws)]


def _range(rng: Random, draws: int, *, n: int) -> list[Figure]:
    here, there = [], []
    for rate in (0.80, 0.85, 0.90, 0.95):
        on_cases = on_work = 0
        for _ in range(draws):
            chances = made.rates(rng, rate, ICC, n)
            means = [sum(rng.random() < chance for chance in chances) / n for _ in range(3)]
            on_cases += min(means) <= sum(chances) / n <= max(means)
            on_work += min(means) - 1e-12 <= rate <= max(means) + 1e-12
        here.append(share(on_cases, draws, f"true {rate:g}"))
        there.append(share(on_work, draws, f"true {rate:g}"))
    return [pick(found, key=lambda item: item.value) for found in (here, there) for pick in (min, max)]


# ---------------------------------------------------------------------------------------------------- several models


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


# -------------------------------------------------------------------------------------------------------------- rows


def _estimates() -> list[Job]:
    rows = [
        ("10 x 3", 0.80, 10, 3, 21.7),
        ("10 x 3", 0.85, 10, 3, 39.8),
        ("10 x 1", 0.80, 10, 1, 37.4),
        ("10 x 1", 0.85, 10, 1, 54.2),
        ("50 x 3", 0.85, 50, 3, 12.3),
        ("100 x 3", 0.85, 100, 3, 3.9),
    ]
    jobs = [
        Job(
            f"estimate-{n}x{repeats}-{rate:g}",
            (Line(f"estimate >= .90, {design}: truly {rate:g} accepted", about(said)),),
            partial(_accepted, rate=rate, n=n, repeats=repeats),
            5,
        )
        for design, rate, n, repeats, said in rows
    ]
    refused = Line("estimate >= .90, 10 x 3: truly 0.95 refused", about(11.8))
    jobs.append(Job("estimate-10x3-0.95", (refused,), partial(_accepted, rate=0.95, n=10, repeats=3, refused=True), 5))
    return jobs


def _bounds() -> list[Job]:
    return [
        *(
            Job(f"clt-{rate:g}", (Line(f"CLT lower bound >= .90, 10 x 1: {what}", about(said)),), partial(_normal, rate=rate), 5)
            for rate, what, said in ((0.90, "exactly on the floor accepted", 35.4), (0.80, "truly 0.8 accepted", 10.7))
        ),
        *(
            Job(
                f"guarded-{rate:g}",
                (Line(f"guarded bound >= .90, worst of 16 designs: truly {rate:g} accepted", at_most(said)),),
                partial(_guarded, rate=rate),
                0.25,
            )
            for rate, said in ((0.90, 4.9), (0.85, 0.7))
        ),
    ]


def _twice() -> list[Job]:
    def lines(design: str, same: float, new: float | None) -> tuple[Line, ...]:
        return (
            Line(f"run twice, {design}: estimate's verdict flips, same cases", about(same)),
            Line(f"run twice, {design}: estimate's verdict flips, new cases", about(new) if new else None),
            Line(f"run twice, {design}: guarded turns from accepted to rejected or back", about(0)),
        )

    return [
        Job("twice-10x3", lines("10 x 3, truly 0.9", 19.9, 46.2), partial(_flips, rate=0.90, n=10, repeats=3)),
        Job("twice-11x1", lines("11 x 1, truly 0.88", 29.5, None), partial(_flips, rate=0.88, n=11, repeats=1)),
        *(
            Job(
                f"tries-{n}x{repeats}",
                (
                    Line(f"floor .90, truly 0.85, {n} x {repeats}: estimate accepted at once", about(once)),
                    Line(f"floor .90, truly 0.85, {n} x {repeats}: accepted in three tries", about(thrice)),
                ),
                partial(_until_it_passes, n=n, repeats=repeats),
            )
            for n, repeats, once, thrice in ((10, 3, 40.2, 57.0), (50, 3, 12.7, 22.6), (50, 1, 21.8, 41.7))
        ),
    ]


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
            Job(f"two-{cheap:g}", (Line(f"cheapest within 3 points, two models, 10 x 3: {what}", about(value)),), partial(_two, cheap=cheap), 2)
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
                    *((Line(f"five equal models at .90, {n} x 3: guarded chooses one", about(98)),) if n == 400 else ()),
                ),
                partial(_equal, n=n, choose=n == 400),
                part,
            )
            for n, said_top, part in ((10, about(5.5), 1), (50, about(2.8), 0.5), (100, about(2.0), 0.5), (400, None, 0.1))
        ),
    ]


def _comparisons() -> list[Job]:
    def lines(rate: float, *said: float | None) -> tuple[Line, ...]:
        methods = ("percentile bootstrap", "z", "t", "guarded")
        return tuple(
            Line(f"not worse by 3 points, 10 x 1, truly {rate:g} against 0.9: passed by {method}", None if of is None else about(of))
            for method, of in zip(methods, said, strict=True)
        )

    return [
        Job("not-worse-0.87", lines(0.87, 46.1, 31.4, 27.8, 0.02), partial(_not_worse, rate=0.87), 5),
        Job("not-worse-0.8", lines(0.80, 23.3, None, None, None), partial(_not_worse, rate=0.80), 5),
        *(
            Job(f"disjoint-{n}", (Line(f"two equal models, {n} x 3: ranges of three repeats apart", about(said)),), partial(_disjoint, n=n), part)
            for n, said, part in ((10, 11.2, 1), (100, 17.8, 0.5))
        ),
        *(
            Job(
                f"range-{n}",
                tuple(
                    Line(f"range of 3 repeats, {n} cases, holds the true rate on {where}: {end} of four rates", of)
                    for where, of in (("these cases", cases_said), ("the work", work_said))
                    for end in ("least", "most")
                ),
                partial(_range, n=n),
                0.5,
            )
            for n, cases_said, work_said in ((10, between(46, 70), between(46, 70)), (100, about(74), between(56, 59)))
        ),
    ]


def jobs() -> list[Job]:
    """Return the rows in the order of the reference."""
    return [*_estimates(), *_bounds(), *_twice(), *_choices(), *_comparisons()]
