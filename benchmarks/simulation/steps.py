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
            "ties",
            (
                Line("two models alike in 10 of 10 cases: lower bound of the difference", about(-22.5), "points"),
                Line("two models alike in 100 of 100 cases: lower bound of the difference", about(-2.3), "points"),
            ),
            _ties,
        ),
    ]
