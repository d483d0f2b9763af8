# SPDX-License-Identifier: Apache-2.0
"""How other full runs of the same thing on the same cases count: the whole truth table."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trialplate.record.decisions import AttemptResult
from trialplate.record.values import AttemptsRule
from trialplate.rules.attempts import combine, number_of

_OTHERS: dict[str, AttemptResult] = {
    "accepted": AttemptResult(run_id="a", status="decided", decision="accepted"),
    "rejected": AttemptResult(run_id="b", status="decided", decision="rejected"),
    "inconclusive": AttemptResult(run_id="c", status="decided", decision="inconclusive"),
    "open": AttemptResult(run_id="d", status="open"),
    "missing": AttemptResult(run_id="e", status="missing"),
    "waived": AttemptResult(run_id="f", status="waived"),
}
_BLOCKS = {"rejected": "rejected", "open": "inconclusive", "missing": "inconclusive"}


@pytest.mark.parametrize("own", ["accepted", "rejected", "inconclusive"])
@pytest.mark.parametrize("others", [(), *itertools.combinations(_OTHERS, 1), *itertools.combinations(_OTHERS, 2)])
def test_combine_own_result_and_others_follows_the_table(own: Any, others: tuple[str, ...]) -> None:
    """One rejected attempt rejects; else an open or missing one leaves it open; accepted, waived and open-ended ones do not block."""
    reasons = () if own == "accepted" else ("floor",)
    words = {own, *(_BLOCKS[item] for item in others if item in _BLOCKS)}
    expected = next(word for word in ("rejected", "inconclusive", "accepted") if word in words)
    decision, told = combine(own, reasons, [_OTHERS[item] for item in others])
    assert decision == expected
    assert ("floor" in told) == (own == expected and own != "accepted")
    assert ("attempt_rejected" in told) == ("rejected" in others)
    assert ("attempt_open" in told) == (expected == "inconclusive" and bool({"open", "missing"} & {*others}))


@pytest.mark.parametrize("order", list(itertools.permutations(["accepted", "rejected", "open"])))
def test_combine_in_any_order_says_the_same(order: tuple[str, ...]) -> None:
    """The order of the ledger decides nothing."""
    assert combine("accepted", (), [_OTHERS[item] for item in order]) == ("rejected", ("attempt_rejected",))


# ------------------------------------------------------------------------------------------------ use: last, and max

MINE = "20261130T100000000Z-00000005"


def other(place: int, word: str, configuration: str | None = None) -> AttemptResult:
    """Return an attempt by the place of its run in the ledger; the shown run has place 5."""
    return _OTHERS[word].replace(run_id=f"20261130T100000000Z-{place:08d}", configuration=configuration)


LATER = frozenset(f"20261130T100000000Z-{place:08d}" for place in range(6, 10))
LAST = AttemptsRule(use="last")


@pytest.mark.parametrize("earlier", ["rejected", "open", "missing", "inconclusive"])
def test_last_attempt_is_decided_by_itself(earlier: str) -> None:
    """Under `use: last` whatever came before the last run does not count."""
    assert combine("accepted", (), [other(1, earlier)], LAST, MINE, LATER) == ("accepted", ())
    assert combine("rejected", ("floor",), [other(1, earlier)], LAST, MINE, LATER) == ("rejected", ("floor",))


@pytest.mark.parametrize(
    ("later", "expected"), [("rejected", "rejected"), ("open", "inconclusive"), ("accepted", "accepted")]
)
def test_earlier_attempt_waits_for_the_last_one(later: str, expected: str) -> None:
    """A run that was followed by another is what both of them come to, and no other counts."""
    attempts = [other(1, "rejected"), other(6, "rejected"), other(7, later)]
    assert combine("accepted", (), attempts, LAST, MINE, LATER)[0] == expected


def test_last_attempt_that_was_waived_is_not_the_last() -> None:
    """A waived run does not count, not even as the last."""
    attempts = [other(1, "rejected"), other(6, "rejected"), other(7, "waived")]
    assert combine("accepted", (), attempts, LAST, MINE, LATER)[0] == "rejected"
    assert combine("accepted", (), [other(7, "waived")], LAST, MINE, LATER)[0] == "accepted"


def test_two_configurations_of_the_last_run_both_count() -> None:
    """Two names for one thing in one run were made at the same time: neither is the later one."""
    assert combine("accepted", (), [other(5, "rejected", "twin")], LAST, MINE, LATER)[0] == "rejected"


def test_attempt_beyond_the_highest_number_is_rejected_and_those_before_are_not() -> None:
    """The third of two allowed is rejected; the second is what it came to, also once there is a third."""
    rule = AttemptsRule(max=2)
    earlier, later = [other(1, "inconclusive")], [other(7, "inconclusive")]
    assert combine("accepted", (), [*earlier, other(2, "accepted")], rule, MINE, LATER) == (
        "rejected",
        ("attempt_max",),
    )
    assert combine("accepted", (), [*earlier, *later], rule, MINE, LATER) == ("accepted", ())
    assert number_of([*earlier, *later], LATER) == 2


def test_waived_attempt_leaves_the_number_and_a_twin_is_in_it() -> None:
    """What was waived was no attempt; who tries two at once has tried twice."""
    assert number_of([other(1, "waived"), other(2, "accepted")], LATER) == 2
    assert number_of([other(5, "accepted", "twin")], LATER) == 2
    assert combine("accepted", (), [other(5, "accepted", "twin")], AttemptsRule(max=1), MINE, LATER)[0] == "rejected"
