# SPDX-License-Identifier: Apache-2.0
"""Paired tests at their edges; their numbers stand in the shared vectors and against scipy and statsmodels."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from trialplate.stats import paired


def test_mid_p_with_as_many_each_way_leaves_out_half() -> None:
    """By the supplement of Fagerland, Lydersen and Laake 2013; with no case it is a half less what was certain."""
    assert paired.mcnemar_midp(2, 2) == 1 - Fraction(6, 16) / 2
    assert paired.mcnemar_midp(0, 0) == Fraction(1, 2)
    assert paired.mcnemar_exact(2, 2) == 1


def test_sign_flips_read_numbers_as_they_are_written() -> None:
    """0.1 + 0.2 is as large as 0.3; nothing that differs is a p of 1; too many sums are no p."""
    assert paired.sign_flip_p([0.1, 0.2, -0.3]) == paired.sign_flip_p([Decimal("0.1"), Decimal("0.2"), Decimal("-0.3")])
    assert paired.sign_flip_p([0.1, 0.2, -0.3]) == Fraction(5, 8)
    assert paired.sign_flip_p([]) == paired.sign_flip_p([0, 0]) == 1
    assert paired.sign_flip_p([Fraction(1, 3), Fraction(1, 3)]) == Fraction(1, 4)
    assert paired.sign_flip_p([Fraction(1, 3**power) for power in range(24)]) is None


def test_tests_on_means_need_two_cases_that_differ() -> None:
    """Of one case, or of cases that all differ alike, there is no spread to compare with."""
    assert paired.noninferiority_p([1.0], [0.9], 0.05) is None
    assert paired.noninferiority_p([1.0, 0.8], [0.9, 0.7], 0.05) is None
    assert paired.tost_p([1.0, 0.8], [0.9, 0.7], -0.05, 0.05) is None


def test_students_t_has_its_middle_and_its_ends() -> None:
    """Half below 0, and all below infinity."""
    assert paired.t_cdf(0.0, 5) == 0.5
    assert (paired.t_cdf(float("inf"), 5), paired.t_cdf(float("-inf"), 5)) == (1.0, 0.0)
    assert paired.t_quantile(0.5, 5) == 0.0
    assert paired.t_quantile(0.6, 5) == pytest.approx(-paired.t_quantile(0.4, 5), abs=1e-14)


def test_what_cannot_be_is_refused() -> None:
    """Counts below 0, other cases, probabilities beyond 1."""
    for refused in (
        lambda: paired.mcnemar_exact(-1, 2),
        lambda: paired.mcnemar_midp(-1, -1),
        lambda: paired.holm([0.5, 1.5]),
        lambda: paired.noninferiority_p([1.0], [1.0, 1.0], 0.05),
        lambda: paired.t_quantile(0.0, 5),
        lambda: paired.t_cdf(1.0, 0),
    ):
        with pytest.raises(ValueError):
            refused()
