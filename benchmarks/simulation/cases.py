# SPDX-License-Identifier: Apache-2.0
"""Cases and answers made up by chance, of models whose true rate is known.

A case has a rate, the chance that a model's trial of it passes. Over the work that cases are taken from, rates are
Beta-distributed around the model's true rate, with an intraclass correlation `icc`: the share of a trial's variance
that lies between cases. 0 would be coins that are all alike, 1 a model that always or never solves a case.

Several models meet the same cases. How hard a case is for one goes with how hard it is for another: their rates are the
quantiles of their Beta distributions at correlated normal variables (a Gaussian copula), of correlation `shared`.

Random numbers come from `random.Random` and a seed that is a text, so that every machine draws the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from math import comb, erfc, sqrt
from random import Random

from trialplate.rules.special import betaincinv

STEPS = 1024
"""Where rates themselves are needed, a Beta distribution stands as that many quantiles; counts alone are exact."""


def shape(rate: float, icc: float) -> tuple[float, float]:
    """Return the two parameters of the Beta distribution of case rates."""
    both = (1 - icc) / icc
    return rate * both, (1 - rate) * both


@cache
def _cumulative(a: float, b: float, repeats: int) -> tuple[float, ...]:
    """Return the chances of at most 0, 1, ... passes of a case in `repeats` trials (the beta-binomial distribution)."""
    chance = 1.0
    for i in range(repeats):
        chance *= (b + i) / (a + b + i)
    chances = [chance]
    for c in range(repeats):
        chance *= (repeats - c) / (c + 1) * (a + c) / (b + repeats - c - 1)
        chances.append(chance)
    return tuple(accumulate(chances))


def run(rng: Random, rate: float, icc: float, cases: int, repeats: int) -> list[int]:
    """Return how many trials of each of new cases pass."""
    return rng.choices(range(repeats + 1), cum_weights=_cumulative(*shape(rate, icc), repeats), k=cases)


def run_again(rng: Random, rate: float, icc: float, before: Sequence[int], trials: int, repeats: int) -> list[int]:
    """Return how many trials pass in one more run of cases of which `before` passed, in `trials` trials each.

    What a case did tells of its rate: the new passes are beta-binomial with that counted in, which is exact.
    """
    a, b = shape(rate, icc)
    each = range(repeats + 1)
    return [
        rng.choices(each, cum_weights=_cumulative(a + passed, b + trials - passed, repeats))[0] for passed in before
    ]


def passes(rng: Random, rate: float, repeats: int) -> int:
    """Return how many trials of one case pass."""
    return sum(rng.random() < rate for _ in range(repeats))


@cache
def _quantiles(rate: float, icc: float) -> tuple[float, ...]:
    a, b = shape(rate, icc)
    return tuple(betaincinv(a, b, (i + 0.5) / STEPS) for i in range(STEPS))


def rates(rng: Random, rate: float, icc: float, cases: int) -> list[float]:
    """Return the rates of new cases."""
    return rng.choices(_quantiles(rate, icc), k=cases)


def field_rates(
    rng: Random, models: Sequence[float], cases: int, *, icc: float = 0.6, shared: float = 0.8
) -> list[list[float]]:
    """Return for each model, told by its true rate, its rates of the same new cases."""
    tables = [_quantiles(rate, icc) for rate in models]
    common, own = sqrt(shared), sqrt(1 - shared)
    found: list[list[float]] = [[] for _ in models]
    for _ in range(cases):
        hard = common * rng.gauss(0, 1)
        for table, row in zip(tables, found, strict=True):
            below = erfc(-(hard + own * rng.gauss(0, 1)) / sqrt(2)) / 2
            row.append(table[min(int(below * STEPS), STEPS - 1)])
    return found


def field(
    rng: Random, models: Sequence[float], cases: int, repeats: int, *, icc: float = 0.6, shared: float = 0.8
) -> list[list[int]]:
    """Return for each model, told by its true rate, how many trials of each of the same new cases pass."""
    found = field_rates(rng, models, cases, icc=icc, shared=shared)
    return [[passes(rng, chance, repeats) for chance in row] for row in found]


def binomial(rng: Random, chance: float, trials: int) -> int:
    """Return how many of `trials` independent trials come out."""
    cumulative = _binomial(chance, trials)
    return rng.choices(range(trials + 1), cum_weights=cumulative)[0]


@cache
def _binomial(chance: float, trials: int) -> tuple[float, ...]:
    return tuple(accumulate(comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)))
