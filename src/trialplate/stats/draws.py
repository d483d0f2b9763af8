# SPDX-License-Identifier: Apache-2.0
"""Numbers that stand for chance, the same on every machine, and how many of a case's repeats pass.

A case has a rate of its own, drawn from a beta distribution; its repeats pass with that rate. How far the rates lie
apart is the intraclass correlation: 0, every case is alike and repeats are as good as cases; 1, a case always does the
same and repeats tell nothing.

Chances are made by adding, multiplying and dividing alone, which every machine does alike; no logarithm has a part.

Source: the beta-binomial distribution (Skellam 1948); a counter stream of SHA-256; docs/adr/0053.
"""

from __future__ import annotations

import hashlib
from itertools import accumulate

__all__ = ["Binomial", "Stream", "beta_binomial", "powers_of"]

NEGLIGIBLE = 1e-18
"""What is this much smaller than the largest chance is left out."""


class Stream:
    """Columns of numbers in [0, 1): number i is the first eight bytes of SHA-256 of the seed and i, over 2^64."""

    def __init__(self, seed: bytes, draws: int) -> None:
        """Begin a stream.

        Args:
            seed: of 32 bytes.
            draws: how many numbers a column has.
        """
        self.seed, self.draws = seed, draws
        self._columns: list[list[float]] = []

    def column(self, index: int) -> list[float]:
        """Return a column, the same one whenever it is asked for: designs are compared over the same chances."""
        while len(self._columns) <= index:
            start = len(self._columns) * self.draws
            self._columns.append([self._number(start + place) for place in range(self.draws)])
        return self._columns[index]

    def _number(self, counter: int) -> float:
        digest = hashlib.sha256(self.seed + counter.to_bytes(8, "big")).digest()
        return (int.from_bytes(digest[:8], "big") >> 11) / 9007199254740992  # 53 bits: all that a double holds


def beta_binomial(cells: int, rate: float, icc: float) -> list[float]:
    """Return the chance that 0, 1, ... of the repeats of a case pass.

    Args:
        cells: how many repeats, at least 1.
        rate: the mean of the cases' rates, in [0, 1].
        icc: the intraclass correlation of repeats, in [0, 1].
    """
    if rate <= 0 or rate >= 1:
        return [float(k == (cells if rate >= 1 else 0)) for k in range(cells + 1)]
    if icc >= 1:
        return [1 - rate, *[0.0] * (cells - 1), rate]
    if icc <= 0:
        ratios = [(cells - k) / (k + 1) * (rate / (1 - rate)) for k in range(cells)]
    else:
        whole = (1 - icc) / icc
        a, b = rate * whole, (1 - rate) * whole
        ratios = [(cells - k) / (k + 1) * ((a + k) / (b + cells - k - 1)) for k in range(cells)]
    return _scaled(ratios, next((k for k, ratio in enumerate(ratios) if ratio < 1), cells))


def _scaled(ratios: list[float], top: int) -> list[float]:
    """Return chances from the ratio of each to the one before, begun at one of the larger so that nothing overflows."""
    found = [0.0] * (len(ratios) + 1)
    found[top] = 1.0
    for k in range(top, len(ratios)):
        found[k + 1] = found[k] * ratios[k]
    for k in range(top - 1, -1, -1):
        found[k] = found[k + 1] / ratios[k]
    total = sum(found)
    return [item / total for item in found]


class Binomial:
    """How many of n pass at one rate, as running sums from the first number that is worth counting."""

    def __init__(self, n: int, rate: float) -> None:
        """Take the chances of n trials that pass independently of each other."""
        self.first, chances = _binomial(n, rate)
        self.sums = list(accumulate(chances))
        self.sums.pop()  # the last number takes what rounding has left


def _binomial(n: int, rate: float) -> tuple[int, list[float]]:
    """Return the first number that is worth counting, and the chances from there on.

    It begins at the likeliest one and goes to both sides: of many thousands, a few hundred are worth it.
    """
    if not n or rate <= 0 or rate >= 1:
        return (n if rate >= 1 else 0), [1.0]
    odds = rate / (1 - rate)
    first = last = min(int((n + 1) * rate), n)
    below, above = [], [1.0]
    chance = 1.0
    while last < n and (chance := chance * ((n - last) / (last + 1) * odds)) > NEGLIGIBLE:
        above.append(chance)
        last += 1
    chance = 1.0
    while first > 0 and (chance := chance / ((n - first + 1) / first * odds)) > NEGLIGIBLE:
        below.append(chance)
        first -= 1
    found = [*reversed(below), *above]
    total = sum(found)
    return first, [item / total for item in found]


def powers_of(chances: list[float], times: int) -> tuple[int, list[float]]:
    """Return the chances of the sum of so many independent draws from a distribution over 0, 1, ...

    Returns:
        The first sum that is worth counting, and the chances from there on.
    """
    result: tuple[int, list[float]] = (0, [1.0])
    square = _trimmed(0, list(chances))
    while times:
        if times & 1:
            result = _sum(result, square)
        times >>= 1
        if times:
            square = _sum(square, square)
    return result


def _sum(one: tuple[int, list[float]], other: tuple[int, list[float]]) -> tuple[int, list[float]]:
    (first, a), (second, b) = one, other
    if len(a) > len(b):
        a, b = b, a
    out = [0.0] * (len(a) + len(b) - 1)
    for shift, chance in enumerate(a):
        for place, item in enumerate(b, shift):
            out[place] += chance * item
    return _trimmed(first + second, out)


def _trimmed(first: int, chances: list[float]) -> tuple[int, list[float]]:
    least = max(chances) * NEGLIGIBLE
    there = [k for k, chance in enumerate(chances) if chance > least]
    return first + there[0], chances[there[0] : there[-1] + 1]
