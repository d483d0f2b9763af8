# SPDX-License-Identifier: Apache-2.0
"""Parts of the noise where they cannot be told; their numbers stand in the shared vectors and against scipy."""

from __future__ import annotations

import pytest

from trialplate.stats.components import anova_components, clustered_se, se_mean


def test_one_value_or_one_cluster_has_no_error() -> None:
    """None, where a formula would collapse to 0."""
    assert se_mean([]) is se_mean([1.0]) is None
    assert clustered_se([1.0, 0.0], ["a", "a"]) is None


def test_cases_that_ran_once_tell_nothing_of_noise_within() -> None:
    """The error is that of the case means; what lies between and within stays unknown."""
    found = anova_components([[1.0], [0.0], [1.0]])
    assert found.se == se_mean([1.0, 0.0, 1.0])
    assert (found.within, found.between, found.icc, found.msw) == (None, None, None, None)
    assert found.msb == pytest.approx(1 / 3)


def test_one_case_with_repeats_tells_nothing_of_noise_between() -> None:
    """And so nothing of the error of the mean."""
    found = anova_components([[1.0, 0.0]])
    assert (found.cases, found.repeats, found.mean, found.within) == (1, 2.0, 0.5, 0.5)
    assert (found.msb, found.between, found.icc, found.se) == (None, None, None, None)
    assert anova_components([]).mean is None


def test_noise_between_is_never_below_nothing() -> None:
    """Cases more alike than their repeats: the share between is below 0 by chance, the variance is 0."""
    found = anova_components([[1.0, 0.0], [0.0, 1.0]])
    assert (found.between, found.icc, found.se) == (0.0, -1.0, pytest.approx((0.5 / 4) ** 0.5))


def test_alike_in_everything_has_no_share_of_noise() -> None:
    """0 of 0 is undefined."""
    found = anova_components([[1.0, 1.0], [1.0, 1.0]])
    assert (found.icc, found.se) == (None, 0.0)


def test_unequal_repeats_have_a_number_that_stands_for_them() -> None:
    """Searle's: below their mean, and the same where all are equal."""
    found = anova_components([[1.0, 0.0, 1.0], [0.0], [1.0, 1.0]])
    assert found.repeats == pytest.approx((6 - 14 / 6) / 2)


def test_what_cannot_be_is_refused() -> None:
    """A case without a repeat, a value without its cluster."""
    with pytest.raises(ValueError):
        anova_components([[1.0], []])
    with pytest.raises(ValueError):
        clustered_se([1.0], [])
