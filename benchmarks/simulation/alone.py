# SPDX-License-Identifier: Apache-2.0
"""One model against a floor: how often it is accepted, how steady that is, and what more attempts do to it."""

from __future__ import annotations

from functools import partial
from random import Random

from simulation import cases as made
from simulation.deciders import (
    ALPHA,
    FLOOR,
    ICC,
    accepts,
    estimate_accepts,
    guarded_decides,
    normal_bounds,
)
from simulation.figures import Figure, Job, Line, about, at_most, between, share

DESIGNS = tuple((n, repeats) for n in (10, 20, 50, 100) for repeats in (1, 3, 5, 10))
"""Cases x repeats. The reference has sixteen designs and does not name them; these are ours."""


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
        hits = sum(accepts(made.run(rng, rate, ICC, n, repeats), repeats) for _ in range(draws))
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


def _attempts(rng: Random, draws: int) -> list[Figure]:
    """Run a model that is exactly on the floor up to three times on the same cases, until it is accepted."""
    n, repeats, rate = 100, 3, FLOOR / 100
    accepted = [0, 0, 0]
    for _ in range(draws):
        runs = [made.run(rng, rate, ICC, n, repeats)]
        seen = list(runs[0])
        for tries in (1, 2):
            runs.append(made.run_again(rng, rate, ICC, seen, tries * repeats, repeats))
            seen = [a + b for a, b in zip(seen, runs[-1], strict=True)]
        for index, first in enumerate((ALPHA, ALPHA, ALPHA / 2)):
            alphas = [first] * 3 if index == 0 else [first / 2**j for j in range(3)]
            accepted[index] += any(accepts(counts, repeats, alpha) for counts, alpha in zip(runs, alphas, strict=True))
    return [share(hits, draws) for hits in accepted]


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
            Job(
                f"clt-{rate:g}",
                (Line(f"CLT lower bound >= .90, 10 x 1: {what}", about(said)),),
                partial(_normal, rate=rate),
                5,
            )
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


def _in_three() -> list[Job]:
    ways = ("no correction", "alpha / 2^(j-1)", "alpha / 2^j (spend)")
    lines = (Line(f"guarded >= .90, 100 x 3, truly 0.9, three attempts: accepted in one, {how}") for how in ways)
    return [Job("attempts", tuple(lines), _attempts, 0.5)]


def _ranges() -> list[Job]:
    rows = ((10, between(46, 70), between(46, 70)), (100, about(74), between(56, 59)))
    return [
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
        for n, cases_said, work_said in rows
    ]


def jobs() -> list[Job]:
    """Return the rows in the order of the reference."""
    return [*_estimates(), *_bounds(), *_twice(), *_in_three(), *_ranges()]
