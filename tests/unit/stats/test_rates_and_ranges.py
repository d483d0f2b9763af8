# SPDX-License-Identifier: Apache-2.0
"""Rates and ranges at their edges; their numbers stand in the shared vectors."""

from __future__ import annotations

import pytest

from trialplate.stats.ranges import linear_percentile, rank_ranges, repeat_range, separated
from trialplate.stats.rates import rates


def test_rates_without_a_decided_trial_are_unknown() -> None:
    """Errors alone have an error rate, and no accuracy."""
    assert rates(0, 0, 3) == (0, None, 1)
    with pytest.raises(ValueError):
        rates(-1, 0, 0)


def test_range_needs_two_repeats() -> None:
    """One shows no scatter."""
    assert repeat_range([0.5]) is None
    assert repeat_range([0.5, 0.75, 0.25]) == (0.25, 0.75)


def test_ranks_are_those_that_the_intervals_leave_open() -> None:
    """Two that overlap share their places; those that touch overlap."""
    assert rank_ranges([(0.9, 0.95), (0.8, 0.9), (0.5, 0.6), (0.1, 0.2)]) == [(1, 2), (1, 2), (3, 3), (4, 4)]
    assert rank_ranges([(0.0, 1.0), (0.8, 0.9), (0.1, 0.2)]) == [(1, 3), (1, 2), (2, 3)]
    assert rank_ranges([(0.5, 0.5)]) == [(1, 1)]
    assert rank_ranges([]) == []


def test_percentile_of_nothing_is_unknown() -> None:
    """And of one value that value."""
    assert linear_percentile([], 0.5) is None
    assert linear_percentile([3.0], 0.95) == 3.0


def test_what_cannot_be_is_refused() -> None:
    """An interval that ends before it begins, a percentile beyond all."""
    with pytest.raises(ValueError):
        separated((1.0, 0.0), (0.0, 1.0))
    with pytest.raises(ValueError):
        linear_percentile([1.0], 1.5)
