# SPDX-License-Identifier: Apache-2.0
"""Chances that are the same on every machine."""

from __future__ import annotations

import hashlib
from itertools import product
from math import isclose, prod

import pytest
from oracles import oracle

from trialplate.stats.draws import Binomial, Stream, beta_binomial, powers_of


def test_stream_is_sha256_of_the_seed_and_a_counter() -> None:
    """Anybody can make the same numbers."""
    stream = Stream(bytes(32), 3)
    digests = [hashlib.sha256(bytes(32) + counter.to_bytes(8, "big")).digest() for counter in range(6)]
    numbers = [int.from_bytes(digest[:8], "big") / 2**64 for digest in digests]
    second, first = stream.column(1), stream.column(0)
    assert first == pytest.approx(numbers[:3], abs=1e-15)
    assert second == pytest.approx(numbers[3:], abs=1e-15)
    assert stream.column(0) is first
    assert all(0 <= number < 1 for number in first)


@pytest.mark.parametrize("cells", [1, 2, 5, 40])
@pytest.mark.parametrize("rate", [0.01, 0.5, 0.93])
@pytest.mark.parametrize("icc", [0.02, 0.5, 0.95])
def test_beta_binomial_is_that_of_scipy(cells: int, rate: float, icc: float) -> None:
    """Held to an implementation by others."""
    whole = (1 - icc) / icc
    other = oracle("scipy.stats").betabinom(cells, rate * whole, (1 - rate) * whole)
    found = beta_binomial(cells, rate, icc)
    assert found == pytest.approx([float(other.pmf(k)) for k in range(cells + 1)], abs=1e-12)
    mean = sum(k * chance for k, chance in enumerate(found)) / cells
    assert isclose(mean, rate, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("rate", "icc", "chances"),
    [
        (0.0, 0.5, [1, 0, 0]),
        (1.0, 0.0, [0, 0, 1]),
        (0.25, 1.0, [0.75, 0, 0.25]),
        (0.25, 0.0, [0.5625, 0.375, 0.0625]),
    ],
)
def test_beta_binomial_at_its_ends(rate: float, icc: float, chances: list[float]) -> None:
    """Cases that never differ, repeats that never do, and both."""
    assert beta_binomial(2, rate, icc) == pytest.approx(chances, abs=1e-15)


def test_many_cells_neither_overflow_nor_vanish() -> None:
    """A cluster of a thousand cases is a sum of one."""
    assert isclose(sum(beta_binomial(1000, 0.999, 0.0)), 1.0, abs_tol=1e-12)
    assert isclose(sum(beta_binomial(1000, 0.001, 0.01)), 1.0, abs_tol=1e-12)


def test_binomial_sums_are_those_of_scipy() -> None:
    """From the first number that is worth counting on."""
    found = Binomial(30, 0.4)
    other = oracle("scipy.stats").binom(30, 0.4)
    assert found.sums == pytest.approx([float(other.cdf(found.first + k)) for k in range(len(found.sums))], abs=1e-12)
    assert (Binomial(0, 0.4).first, Binomial(0, 0.4).sums) == (0, [])
    assert (Binomial(7, 1.0).first, Binomial(7, 1.0).sums) == (7, [])


def test_powers_are_sums_of_independent_draws() -> None:
    """Three draws, by going through all of them."""
    chances = [0.2, 0.5, 0.3]
    first, found = powers_of(chances, 3)
    by_hand = [0.0] * 7
    for ks in product(range(3), repeat=3):
        by_hand[sum(ks)] += prod(chances[k] for k in ks)
    assert first == 0
    assert found == pytest.approx(by_hand, abs=1e-15)
    assert powers_of([0.0, 0.0, 1.0], 4) == (8, [1.0])
