# SPDX-License-Identifier: Apache-2.0
"""Runs that end before their last trial: what is asked, in which order, and what the record says of the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_project import Project
from stop_project import cases_text, plan_with

from trialplate.record import canonical, codec
from trialplate.record.entries import Narrowing, RunClose, RunOpen
from trialplate.record.matrix import stop_order
from trialplate.record.values import Plan


def lines(run: Path, kind: str) -> list[Any]:
    """Return the bodies of a record's lines of one type."""
    entries = [canonical.decode(line) for line in (run / "record.jsonl").read_bytes().splitlines()]
    return [entry["body"] for entry in entries if entry["type"] == kind]


def closed(run: Path) -> RunClose:
    """Return how the record was closed last."""
    return codec.decode(RunClose, lines(run, "run.close")[-1])


def order_of(run: Path) -> tuple[str, ...]:
    """Return the order of a run's cases."""
    opened = codec.decode(RunOpen, lines(run, "run.open")[0])
    plan = codec.decode(Plan, canonical.decode((run / "plan.json").read_bytes()))
    return stop_order(opened.seed, plan.test_set.cases)


def test_run_ends_each_configuration_where_its_decision_is_settled(project_of: Callable[..., Project]) -> None:
    """Of 20 cases at a floor of .80 the 16th pass accepts, and the fifth failure rejects."""
    project = project_of(plan_with({"good": [], "bad": range(1, 21)}), cases_text(20))
    finished = project.run(at_once=1)
    (run,) = project.runs
    assert (finished.reason, finished.exit_code, finished.unknown) == ("sealed", 0, 0)
    assert dict(finished.not_needed) == {"good": 4, "bad": 15}
    close = closed(run)
    assert (close.complete, close.reason, close.counts.absent) == (True, "sealed", 19)
    told = {item.configuration: (item.cases, item.trials) for item in close.not_needed}
    assert told == {"good": (16, 4), "bad": (5, 15)}
    order = order_of(run)
    starts = [tuple(item["trial"]) for item in lines(run, "trial.start")]
    assert [case for name, case, _ in starts if name == "good"] == list(order[:16])
    assert [case for name, case, _ in starts if name == "bad"] == list(order[:5])
    done = project.verify(run)
    assert done.report.findings == []
    assert "19 were not needed" in done.report.said["V11"]


@pytest.mark.parametrize("at_once", [1, 8])
def test_order_is_by_case_and_a_case_that_began_is_finished(project_of: Callable[..., Project], at_once: int) -> None:
    """All repeats of a case come before the next, whoever else runs at the same time, and no case is cut in half."""
    project = project_of(plan_with({"good": [3], "other": []}, repeats=3), cases_text(30))
    project.run(at_once=at_once)
    (run,) = project.runs
    order = order_of(run)
    for name in ("good", "other"):
        trials = [tuple(item["trial"]) for item in lines(run, "trial.start") if item["trial"][0] == name]
        (told,) = (item for item in closed(run).not_needed if item.configuration == name)
        assert trials == [(name, case, repeat) for case in order[: told.cases] for repeat in (1, 2, 3)]
        assert told.trials == 3 * (30 - told.cases)
    assert project.verify(run).report.findings == []


def test_pilot_of_a_plan_that_stops_runs_to_its_end(project_of: Callable[..., Project]) -> None:
    """A pilot decides nothing, so nothing is settled; it runs in the order of its matrix."""
    project = project_of(plan_with({"bad": range(1, 21)}), cases_text(20))
    finished = project.run(narrowing=Narrowing(limit=12), at_once=1)
    (run,) = project.runs
    assert (finished.reason, finished.counts.absent, closed(run).not_needed) == ("complete", 0, ())
    assert [item["trial"][1] for item in lines(run, "trial.start")] == [f"q{n}" for n in range(1, 13)]
    assert project.verify(run).report.holds


def test_run_that_is_settled_by_its_last_case_leaves_nothing_out(project_of: Callable[..., Project]) -> None:
    """Nothing to leave out is nothing to say."""
    project = project_of(plan_with({"good": []}, floor="1"), cases_text(3))
    finished = project.run(at_once=1)
    assert (finished.reason, closed(project.runs[0]).not_needed) == ("complete", ())
    assert project.verify(project.runs[0]).report.findings == []
