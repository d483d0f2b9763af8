# SPDX-License-Identifier: Apache-2.0
"""Two-sided intervals at their edges; their numbers stand in the shared vectors and against statsmodels."""

from __future__ import annotations

import pytest

from trialplate.stats import intervals


def test_paired_intervals_of_a_worked_example() -> None:
    """Airway hyper-responsiveness (Bentur et al. 2009), 1 and 7 discordant of 21: Bonett-Price by hand, Tango near it."""
    assert intervals.bonett_price(1, 7, 21, 0.95) == pytest.approx((-0.5084, -0.0134), abs=5e-5)
    low, high = intervals.tango(1, 7, 21, 0.95)
    assert -0.53 < low < -6 / 21 < high < -0.01


def test_paired_intervals_turn_around_with_the_roles() -> None:
    """What one is better by, the other is worse by."""
    for function in (intervals.bonett_price, intervals.tango):
        low, high = function(3, 8, 40, 0.9)
        assert function(8, 3, 40, 0.9) == pytest.approx((-high, -low), abs=1e-12)


def test_intervals_at_their_edges() -> None:
    """Nothing known without cases; no width lost where no case differs, and none beyond the scale."""
    assert intervals.wilson(0, 0, 0.95) == intervals.clopper_pearson(0, 0, 0.95) == (0.0, 1.0)
    assert intervals.newcombe(0, 0, 3, 4, 0.95) == (-1.0, 1.0)
    assert intervals.tango(0, 0, 0, 0.95) == (-1.0, 1.0)
    low, high = intervals.tango(0, 0, 50, 0.95)
    assert -0.08 < low < 0 < high < 0.08
    assert intervals.tango(5, 0, 5, 0.95)[1] == 1.0
    assert intervals.tango(0, 5, 5, 0.95)[0] == -1.0
    assert intervals.bonett_price(0, 2, 2, 0.999)[0] == -1.0


def test_what_cannot_be_is_refused() -> None:
    """Counts that are no share, pairs that are no cases, a confidence that is none."""
    for refused in (
        lambda: intervals.wilson(3, 2, 0.95),
        lambda: intervals.jeffreys(-1, 2, 0.95),
        lambda: intervals.wilson(1, 2, 1.0),
        lambda: intervals.bonett_price(2, 2, 3, 0.95),
        lambda: intervals.tango(-1, 2, 3, 0.95),
    ):
        with pytest.raises(ValueError):
            refused()
