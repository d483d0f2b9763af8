# SPDX-License-Identifier: Apache-2.0
"""Whether a better answer ever makes a bound worse, and how wide the bound of a difference of nothing is.

Stopping early and bounding what is unknown rest on the first: a bound that only rises with each pass is known to lie
between its values with all unknown cells failed and all passed.
"""

from __future__ import annotations

from functools import partial
from random import Random

from simulation import cases as made
from simulation.deciders import ALPHA, ENOUGH, guarded, guarded_diff, student_bounds
from simulation.figures import Figure, Job, Line, about, at_most, share
from trialplate.rules import bounds

Bounds = tuple[float, float]


def _steps(rng: Random, draws: int, *, fewest: int, most: int) -> list[Figure]:
    """Make one trial more pass, and see whether a bound goes down, which none should; the note says by how much."""
    down, worst = [0] * 4, [0.0] * 4
    for _ in range(draws):
        n, repeats, rate = rng.randrange(fewest, most + 1), rng.randrange(1, 11), rng.choice((0.5, 0.8, 0.9, 0.97))
        sizes = [rng.randrange(1, 10) for _ in range(n)]
        before = made.run(rng, rate, 0.5, n, repeats)
        rival = made.run(rng, 0.9, 0.5, n, repeats)
        clusters = [made.run(rng, rate, 0.5, 1, size * repeats)[0] for size in sizes]
        place = rng.randrange(n)
        before[place] = min(before[place], repeats - 1)
        clusters[place] = min(clusters[place], sizes[place] * repeats - 1)
        old, new = (
            _four(counts, rival, repeats, of, sizes)
            for counts, of in ((before, clusters), (_more(before, place), _more(clusters, place)))
        )
        for method in range(4):
            drop = max(old[method][side] - new[method][side] for side in (0, 1))
            down[method] += drop > ENOUGH
            worst[method] = max(worst[method], drop)
    return [share(hits, draws, f"by {drop:.4f} at most") for hits, drop in zip(down, worst, strict=True)]


def _more(counts: list[int], place: int) -> list[int]:
    return [*counts[:place], counts[place] + 1, *counts[place + 1 :]]


def _four(
    counts: list[int], rival: list[int], repeats: int, clusters: list[int], sizes: list[int]
) -> tuple[Bounds, ...]:
    """Return the bounds of cases, of their difference to a rival, of that by Student's t, and of clusters."""
    off = [a - b for a, b in zip(counts, rival, strict=True)]
    means = [c / (size * repeats) for c, size in zip(clusters, sizes, strict=True)]
    one, paired = guarded(counts, repeats), guarded_diff(counts, rival, repeats)
    weighted = bounds.guarded(means, ALPHA, sizes)
    return (
        (one.lower, one.upper),
        (paired.lower, paired.upper),
        student_bounds(off, repeats),
        (weighted.lower, weighted.upper),
    )


def _completions(rng: Random, draws: int) -> list[Figure]:
    """Leave up to three trials unknown, make up what they come to, and see whether that leaves the bounds before it.

    The bounds before it are those with the unknown trials failed and passed, each by itself; and those that decide,
    by `guarded_between`. A list of sizes makes clusters of the cases.
    """
    left, worst = [0] * 4, [0.0] * 4
    for _ in range(draws):
        n, repeats, rate = rng.randrange(3, 31), rng.randrange(1, 11), rng.choice((0.5, 0.8, 0.9, 0.97))
        clusters = [rng.randrange(1, 10) for _ in range(n)]
        for offset, sizes in ((0, [1] * n), (2, clusters)):
            trials = [size * repeats for size in sizes]
            low = [made.run(rng, rate, 0.5, 1, number)[0] for number in trials]
            true, high = list(low), list(low)
            for place in rng.sample(range(n), 3):
                if high[place] < trials[place]:
                    high[place] += 1
                    true[place] += rng.random() < rate
            at_low, found, at_high = (
                [c / number for c, number in zip(counts, trials, strict=True)] for counts in (low, true, high)
            )
            now = bounds.guarded(found, ALPHA, sizes)
            ends = bounds.guarded(at_low, ALPHA, sizes), bounds.guarded(at_high, ALPHA, sizes)
            pairs = ends, bounds.guarded_between(at_low, at_high, ALPHA, sizes)
            for method, (first, last) in enumerate(pairs):
                off = max(first.lower - now.lower, now.upper - last.upper)
                left[offset + method] += off > ENOUGH
                worst[offset + method] = max(worst[offset + method], off)
    return [share(hits, draws, f"by {off:.4f} at most") for hits, off in zip(left, worst, strict=True)]


def _ties(_rng: Random, _draws: int) -> list[Figure]:
    """Two models that did the same in every case: how far down the bound of their difference still reaches."""
    return [Figure(100 * guarded_diff([1] * n, [1] * n, 1).lower, 0.0, 1) for n in (10, 100)]


def jobs() -> list[Job]:
    """Return the rows on steps and ties."""
    return [
        *(
            Job(
                f"steps-{fewest}",
                tuple(
                    Line(
                        f"one more pass lowers a bound, {fewest} to {most} cases: {what}",
                        said if fewest == 10 else None,
                    )
                    for what, said in (
                        ("guarded", at_most(0)),
                        ("paired guarded", at_most(0)),
                        ("paired t", at_most(23)),
                        ("guarded over clusters", None),
                    )
                ),
                partial(_steps, fewest=fewest, most=most),
                5,
            )
            for fewest, most in ((10, 30), (3, 9))
        ),
        Job(
            "unknown",
            tuple(
                Line(f"unknown trials leave the bounds taken {what}")
                for what in (
                    "at both ends",
                    "by guarded_between",
                    "at both ends, over clusters",
                    "by guarded_between, over clusters",
                )
            ),
            _completions,
            2,
        ),
        Job(
            "ties",
            (
                Line("two models alike in 10 of 10 cases: lower bound of the difference", about(-22.5), "points"),
                Line("two models alike in 100 of 100 cases: lower bound of the difference", about(-2.3), "points"),
            ),
            _ties,
        ),
    ]
