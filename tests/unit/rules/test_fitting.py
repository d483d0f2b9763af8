# SPDX-License-Identifier: Apache-2.0
"""A decision that is too long for a log line: cut in one fixed way, counted, and bound by the digest of the whole."""

from __future__ import annotations

from typing import Any

import pytest
from small_runs import DIGEST

from trialplate.record import canonical, codec
from trialplate.record.decisions import AttemptResult, Choice, Contender, CopyResult, Decision, RuleResult
from trialplate.record.log import MAX_ENTRY
from trialplate.record.values import EntryRef
from trialplate.rules.fitting import MOST_BYTES, fitted

RUN = "20261130T100000000Z-0123abcd"


def copies(number: int, length: int = 8, result: str = "pass") -> tuple[CopyResult, ...]:
    """Return copies with values of this length."""
    return tuple(
        CopyResult(value=f"{n:0{length}d}", result=result, reason="met", cells=1, cases=1, unknown=0)  # type: ignore[arg-type]
        for n in range(number)
    )


def rule(name: str = "r", result: str = "pass", **fields: Any) -> RuleResult:
    """Return a rule's result."""
    return RuleResult(**{"id": name, "result": result, "reason": "met", "cells": 1, "cases": 1, "unknown": 0, **fields})


def attempt(number: int, decision: str = "accepted") -> AttemptResult:
    """Return another attempt."""
    run_id = f"20261130T{number:09d}Z-0123abcd"
    return AttemptResult(run_id=run_id, status="decided", decision=decision)  # type: ignore[arg-type]


def decision(**fields: Any) -> Decision:
    """Return a decision with these lists."""
    made: dict[str, Any] = {
        "run_id": RUN,
        "configuration": "m",
        "decision": "accepted",
        "reasons": (),
        "plan": DIGEST,
        "pass_mark": EntryRef(seq=2, digest=DIGEST),
        "record_size": 9,
        "record_root": DIGEST,
        "evidence": (),
        "rules": (),
        "attempts": (),
    }
    return Decision(**{**made, **fields})


def size(made: Decision) -> int:
    """Return the bytes of a decision's canonical form."""
    return len(canonical.encode(codec.to_json(made)))


def test_decision_that_fits_is_stated_whole() -> None:
    """Nothing is cut from what has room; so whatever was stated before is stated so again."""
    whole = decision(rules=(rule(copies=copies(300)),), attempts=tuple(map(attempt, range(100))))
    assert size(whole) < MOST_BYTES
    assert fitted(whole) is whole


LONG = {
    "copies": decision(rules=(rule(copies=(*copies(5000), *copies(3, 9, "fail"))),)),
    "failing copies": decision(rules=(rule(result="fail", copies=copies(5000, 8, "fail")),)),
    "long tags": decision(rules=(rule(result="fail", copies=copies(50, 9000, "fail")),)),
    "one endless tag": decision(rules=(rule(result="fail", copies=copies(1, 90_000, "fail")),)),
    "attempts": decision(attempts=(*map(attempt, range(900)), attempt(999, "rejected"))),
    "rejected attempts": decision(attempts=tuple(attempt(n, "rejected") for n in range(900))),
    "rules": decision(
        reasons=tuple(f"{n:064d}" for n in range(1400)),
        rules=tuple(rule(f"{n:064d}", "fail", failing=("\U0001f600" * 128,) * 10) for n in range(1400)),
    ),
    "contenders": decision(
        choice=Choice(
            result="open",
            reason="unknown_cost",
            possible=tuple(f"{n:0128d}" for n in range(400)),
            contenders=tuple(Contender(configuration=f"{n:0128d}") for n in range(400)),
        )
    ),
}


@pytest.mark.parametrize("whole", LONG.values(), ids=LONG)
def test_decision_that_is_too_long_fits_once_it_is_cut(whole: Decision) -> None:
    """Whichever list is long, what is stated fits into a line with room around it, and reads back the same."""
    assert size(whole) > MOST_BYTES
    cut = fitted(whole)
    assert size(cut) <= MOST_BYTES < MAX_ENTRY - 1000
    assert codec.decode(Decision, canonical.decode(canonical.encode(codec.to_json(cut)))) == cut
    assert (cut.decision, cut.evidence) == (whole.decision, whole.evidence)
    assert cut.cut is not None
    assert cut.cut.digest == canonical.digest_value(codec.to_json(whole))
    assert cut.cut.attempts == len(whole.attempts)
    assert cut.cut.copies == sum(len(item.copies) for item in whole.rules)


def test_cut_keeps_what_stands_in_the_way() -> None:
    """Of five thousand copies the three that fail are stated, of nine hundred attempts the one that was rejected."""
    assert [item.result for item in fitted(LONG["failing copies"]).rules[0].copies] == ["fail"] * 40
    assert fitted(LONG["copies"]).rules == ()  # the rule itself passed
    failing = LONG["copies"].replace(rules=(LONG["copies"].rules[0].replace(result="fail"),))
    assert [len(copy.value) for copy in fitted(failing).rules[0].copies] == [9, 9, 9]
    assert [item.decision for item in fitted(LONG["attempts"]).attempts] == ["rejected"]


def test_cut_binds_what_it_leaves_out() -> None:
    """Two decisions that differ only in what is cut out have different digests."""
    other = LONG["copies"].replace(rules=(LONG["copies"].rules[0].replace(copies=copies(5003)),))
    one, two = fitted(LONG["copies"]), fitted(other)
    assert one.replace(cut=None) == two.replace(cut=None)
    assert one.cut != two.cut
