# SPDX-License-Identifier: Apache-2.0
"""How other full runs of the same thing on the same cases count: the whole truth table."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trialplate.record.entries import AttemptResult
from trialplate.rules.attempts import combine

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
