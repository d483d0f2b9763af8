# SPDX-License-Identifier: Apache-2.0
"""Counting while a run goes on: the same sums whether a run went through at once or was resumed."""

from __future__ import annotations

from typing import Any

from trialplate.engine.tally import Sums, Tally
from trialplate.record.entries import Call, Money, TrialEnd, TrialStart
from trialplate.rules.cells import Board

CALL = Call(digest="sha256:" + "0" * 64, replayed=False)
ENDS = [
    TrialEnd(
        trial=("a", "q1", 1),
        attempt=1,
        outcome="passed",
        metrics={"m": 1, "n": 0.25},
        verdict="passed",
        cost=Money(nano=5, currency="USD"),
        calls=(CALL,),
    ),
    TrialEnd(
        trial=("a", "q2", 1),
        attempt=1,
        outcome="failed",
        metrics={"m": 0},
        verdict="failed",
        cost=Money(nano=7, currency="USD"),
        calls=(CALL.replace(replayed=True),),
    ),
    TrialEnd(trial=("b", "q1", 1), attempt=1, outcome="error", cause="timeout", metrics={}),
]


def fed(ends: list[TrialEnd]) -> tuple[Tally, Board]:
    """Return a tally and the verifier's own fold, both told of the same attempts."""
    tally, board = Tally(10), Board()
    for end in ends:
        assert board.start(TrialStart(trial=end.trial, attempt=end.attempt)) is None
        tally.began()
        tally.spent(end)
        assert board.end(end) is None
        tally.trial_done(end, attempts=1, reasked=False)
    return tally, board


def test_sums_are_those_of_the_configurations_cells() -> None:
    """Metrics in millionths with their number, costs known and unknown, causes of errors, what was paid."""
    tally, _ = fed(ENDS)
    assert tally.sums == {
        "a": Sums(known={"m": 2, "n": 1}, millionths={"m": 1_000_000, "n": 250_000}, cost_nano=12, spent_nano=5),
        "b": Sums(causes={"timeout": 1}, costs_unknown=1, spent_unknown=1),
    }
    assert tally.causes == {"timeout": 1}
    assert tally.under_way == 0


def test_attempt_is_under_way_until_it_ends() -> None:
    """Whatever comes of it."""
    tally = Tally(2)
    tally.began()
    tally.began()
    assert tally.under_way == 2
    tally.spent(ENDS[2])
    assert tally.under_way == 1


def test_tally_of_earlier_sessions_is_what_they_counted_themselves() -> None:
    """Taken from the cells of the record: what a display of the resumed run begins with."""
    tally, board = fed(ENDS)
    again = Tally(10)
    again.take(board.cells)
    assert again.sums == tally.sums
    assert again.by_configuration == tally.by_configuration
    assert again.counts() == tally.counts()


def test_trial_that_is_tried_again_is_counted_in_the_place_of_what_was_left() -> None:
    """Its error is gone from the causes, its metrics are there once, and both attempts have their cost."""
    _, board = fed(ENDS)
    tally = Tally(10)
    tally.take(board.cells)
    end = TrialEnd(
        trial=("b", "q1", 1),
        attempt=2,
        outcome="passed",
        metrics={"m": 1},
        verdict="passed",
        cost=Money(nano=3, currency="USD"),
    )
    tally.began()
    tally.spent(end)
    tally.trial_done(end, attempts=1, reasked=True, before=board.cells[end.trial])
    sums = tally.sums["b"]
    assert (sums.known, sums.millionths, sums.cost_nano, sums.costs_unknown) == ({"m": 1}, {"m": 1_000_000}, 3, 1)
    assert tally.causes == {}
    assert (tally.of("passed"), tally.of("error"), tally.done) == (2, 0, 3)


def ended(*replayed: bool, **fields: Any) -> TrialEnd:
    """Return the end of an attempt that cost 5, with these calls."""
    calls = tuple(CALL.replace(replayed=item) for item in replayed)
    plain: dict[str, Any] = {"outcome": "passed", "verdict": "passed", "cost": Money(nano=5, currency="USD")}
    return TrialEnd(**{"trial": ("m", "q1", 1), "attempt": 1, "calls": calls, **plain, **fields})


def test_spent_counts_live_calls_and_not_replayed_ones() -> None:
    """Case Q06: its line shows what it cost then; this run paid nothing for it."""
    tally = Tally(3)
    for end in (ended(False), ended(True), ended()):
        tally.spent(end)
    sums = tally.sums["m"]
    assert (sums.cost_nano, sums.spent_nano, sums.spent_unknown) == (15, 10, 0)


def test_spent_of_an_unknown_cost_is_unknown_unless_it_was_replayed() -> None:
    """Unknown is not zero; nothing is."""
    tally = Tally(2)
    tally.spent(ended(False, cost=None))
    tally.spent(ended(True, cost=None))
    sums = tally.sums["m"]
    assert (sums.spent_nano, sums.spent_unknown, sums.costs_unknown) == (0, 1, 2)


def test_trial_of_a_replayed_answer_is_counted_as_replayed() -> None:
    """By its last attempt."""
    tally = Tally(2)
    for end in (ended(True), ended(False, trial=("m", "q2", 1))):
        tally.trial_done(end, attempts=1, reasked=False)
    assert tally.counts().replayed == 1
