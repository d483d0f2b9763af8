# SPDX-License-Identifier: Apache-2.0
"""What a run counts while it goes on: money is counted once, and what was replayed costs nothing again."""

from __future__ import annotations

from typing import Any

from trialplate.engine.tally import Tally
from trialplate.record.entries import Call, Money, TrialEnd

DIGEST = "sha256:" + "0" * 64


def ended(*replayed: bool, **fields: Any) -> TrialEnd:
    """Return the end of an attempt that cost 5, with these calls."""
    calls = tuple(Call(digest=DIGEST, replayed=item) for item in replayed)
    plain: dict[str, Any] = {"outcome": "passed", "verdict": "passed", "cost": Money(nano=5, currency="USD")}
    return TrialEnd(**{"trial": ("m", "q1", 1), "attempt": 1, "calls": calls, **plain, **fields})


def test_spent_counts_live_calls_and_not_replayed_ones() -> None:
    """Case Q06: its line shows what it cost then; this run paid nothing for it."""
    tally = Tally(3)
    for end in (ended(False), ended(True), ended()):
        tally.spent(end)
    assert (tally.cost_nano, tally.costs_unknown) == (10, 0)


def test_spent_of_an_unknown_cost_is_unknown_unless_it_was_replayed() -> None:
    """Unknown is not zero; nothing is."""
    tally = Tally(2)
    tally.spent(ended(False, cost=None))
    tally.spent(ended(True, cost=None))
    assert (tally.cost_nano, tally.costs_unknown) == (0, 1)


def test_trial_of_a_replayed_answer_is_counted_as_replayed() -> None:
    """By its last attempt."""
    tally = Tally(2)
    for end in (ended(True), ended(False, trial=("m", "q2", 1))):
        tally.trial_done(end, attempts=1, reasked=False)
    assert tally.counts().replayed == 1
