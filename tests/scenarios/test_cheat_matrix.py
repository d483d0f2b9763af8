# SPDX-License-Identifier: Apache-2.0
"""Cheat: trials are dropped, added, repeated or put in another order, and everything is signed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from forger import Forger, forge, gate
from small_project import SmallProject


def test_repeat_dropped_from_a_record_that_says_it_is_complete_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """A bad repeat that is left out leaves a hole in the planned matrix."""
    stranger = forge(finished, tmp_path, lambda forger: forger.drop_trial("good", "q2", 1))
    assert stranger.codes() == {"MATRIX-INCOMPLETE"}
    assert gate(stranger) == 3


def test_repeat_dropped_and_counted_as_absent_does_not_decide(finished: SmallProject, tmp_path: Path) -> None:
    """Where the forger admits the hole, the record holds and the gate cannot decide on it."""

    def change(forger: Forger) -> None:
        forger.drop_trial("good", "q2", 1)
        forger.record[-1]["body"].update(complete=False, reason="infrastructure")
        forger.of("run.end")["body"]["status"] = "incomplete"

    stranger = forge(finished, tmp_path, change)
    assert stranger.codes() == set()
    assert gate(stranger) == 1


def test_plan_shrunk_so_that_the_bad_repeats_were_never_planned_is_found(
    finished: SmallProject, tmp_path: Path
) -> None:
    """A plan with fewer repeats than the record has makes those that are left unplanned."""
    stranger = forge(finished, tmp_path, lambda forger: forger.plan["matrix"][0].update(repeats=1), recount=False)
    assert "MATRIX-UNPLANNED" in stranger.codes()
    assert gate(stranger) == 3


def test_start_that_counts_other_trials_than_the_plan_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """run.start fixes the number of trials before the first call."""
    forger = Forger(finished)
    forger.of("run.start")["body"]["trials"] = 8
    forger.drop("decision")
    forger.sign(restate_start=False)
    stranger = finished.as_stranger(tmp_path)
    assert "CONFIGURATION-MISMATCH" in stranger.codes()
    assert gate(stranger) == 3


@pytest.mark.parametrize("where", ["before the close", "after the close"])
def test_trial_asked_again_after_it_was_decided_is_found(finished: SmallProject, tmp_path: Path, where: str) -> None:
    """A second, better attempt at a failed trial is an attempt after a decided one, wherever it stands."""

    def change(forger: Forger) -> None:
        wanted = ["good", "q2", 1]
        pair = [e for e in forger.record if e["body"].get("trial") == wanted]
        again = json.loads(json.dumps(pair))
        for entry in again:
            entry["body"]["attempt"] = 2
        again[1]["body"].update(outcome="passed", verdict="passed", metrics={"correct": 1})
        close = len(forger.record) - 1
        at = close if where == "before the close" else close + 1
        forger.record[at:at] = again
        for entry in forger.record:
            entry["time"] = forger.record[-1]["time"]
        if where == "before the close":
            forger.recount()

    stranger = forge(finished, tmp_path, change, recount=False)
    assert "ATTEMPT-AFTER-DECIDED" in stranger.codes()
    assert gate(stranger) == 3


@pytest.mark.parametrize(("errors", "code"), [(2, None), (3, "ATTEMPT-TOO-MANY"), (9, "ATTEMPT-TOO-MANY")])
def test_more_attempts_than_the_plan_allows_are_found(
    finished: SmallProject, tmp_path: Path, errors: int, code: str | None
) -> None:
    """Two retries are three attempts: a trial that was asked until it passed is a finding."""

    def change(forger: Forger) -> None:
        start, end = (e for e in forger.record if e["body"].get("trial") == ["good", "q1", 1])
        start["body"]["attempt"] = end["body"]["attempt"] = errors + 1
        lost = {"trial": ["good", "q1", 1], "outcome": "error", "cause": "transport", "retry": True}
        for number in range(1, errors + 1):
            at = forger.record.index(start)
            first = {**start, "body": {"trial": ["good", "q1", 1], "attempt": number}}
            second = {**end, "time": start["time"], "body": {**lost, "attempt": number}}
            forger.record[at:at] = [first, second]

    stranger = forge(finished, tmp_path, change)
    assert stranger.codes() == ({code} if code else set())
    assert gate(stranger) == (3 if code else 0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda f: f.trial("good", "q1").update(attempt=2), "ATTEMPT-ORDER"),
        (lambda f: f.record.insert(1, f.record.pop()), "ENTRY-ORDER"),
        (lambda f: f.record.append({**f.record[0]}), "ENTRY-ORDER"),
        (lambda f: f.record[5].update(time="2001-01-01T00:00:00.000Z"), "ENTRY-ORDER"),
        (lambda f: f.rename_trial(["good", "q2", 1], ["good", "q9", 1]), "MATRIX-UNPLANNED"),
        (lambda f: f.rename_trial(["good", "q2", 1], ["good", "q2", 3]), "MATRIX-UNPLANNED"),
    ],
    ids=["end without start", "close first", "opened twice", "earlier time", "unplanned case", "unplanned repeat"],
)
def test_record_whose_lines_cannot_have_happened_in_that_order_is_found(
    finished: SmallProject, tmp_path: Path, change: Callable[[Forger], object], code: str
) -> None:
    """Lines that contradict the order of a run are findings, though all is signed."""
    stranger = forge(finished, tmp_path, change, recount=False)
    assert code in stranger.codes()
    assert gate(stranger) == 3
