# SPDX-License-Identifier: Apache-2.0
"""What is told while a run goes on, by a clock that the test holds: lines off a terminal, events for a program."""

from __future__ import annotations

import io
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from run_project import Project, make_project

from trialplate.cli import progress as module
from trialplate.cli.progress import Manner, Progress
from trialplate.engine.prepare import Prepared, prepare
from trialplate.engine.run import run_prepared
from trialplate.engine.tally import Tally
from trialplate.record.entries import TrialEnd

PLAN = """
trialplate: 1
name: many
test_sets: [{file: cases/q.csv}]
models:
  good: {runner: stand-in, answers: {q1: Paris, q2: "4", q3: blue}}
repeats: REPEATS
scorers: {correct: {type: contains}}
pass_mark: {rules: [{id: c, at_least: 0.5, of: correct, basis: estimate}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project of twelve trials."""
    return make_project(tmp_path)


@pytest.fixture
def prepared(project: Project) -> Prepared:
    """Its plan, ready to be run."""
    return prepare(project.folder / "trialplate.yaml", project.key().secret)


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Told:
    """A progress off a terminal, its clock, and the trials that it hears of; its thread is never started."""

    def __init__(self, prepared: Prepared, manner: Manner) -> None:
        self.clock = Clock()
        self.progress = Progress(manner, clock=self.clock, environ={})
        self.progress.plan(prepared, at_once=2)
        self.tally = Tally(prepared.matrix.size)
        self.progress.view.tally = self.tally
        self.progress.view.speed.saw(self.clock.now, 0)
        self.trials = iter(prepared.matrix.trials())

    def end(self, number: int) -> None:
        """Let so many trials pass."""
        for _ in range(number):
            end = TrialEnd(trial=next(self.trials), attempt=1, outcome="passed", verdict="passed")
            self.tally.began()
            self.tally.spent(end)
            self.tally.trial_done(end, attempts=1, reasked=False)
            self.progress.ended(end, self.tally)

    def after(self, seconds: float) -> None:
        """Let time pass, and look as the thread does."""
        self.clock.now += seconds
        self.progress.look()


def test_line_is_written_every_ten_seconds_and_no_more_often(
    prepared: Prepared, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where nothing ended: a log that says nothing looks like a program that hangs."""
    told = Told(prepared, Manner())
    for _ in range(99):
        told.after(0.1)
    assert capsys.readouterr().err == ""
    told.after(0.2)
    assert capsys.readouterr().err.startswith("0/12; 0 passed, 0 failed")
    told.after(9.0)
    assert capsys.readouterr().err == ""
    told.after(1.0)
    assert capsys.readouterr().err.count("\n") == 1


def test_quarter_of_the_trials_has_a_line_unless_one_was_just_written(
    prepared: Prepared, capsys: pytest.CaptureFixture[str]
) -> None:
    """Milestones; a run that is over in a second has none."""
    told = Told(prepared, Manner())
    told.end(3)
    told.after(1.0)
    assert capsys.readouterr().err == ""
    told.after(1.0)
    assert capsys.readouterr().err.startswith("3/12; ")
    told.end(2)
    told.after(3.0)
    assert capsys.readouterr().err == ""
    told.end(1)
    told.after(0.0)
    assert capsys.readouterr().err.startswith("6/12; ")
    told.end(6)
    told.after(3.0)
    assert capsys.readouterr().err == "", "the end is told by the summary"


def test_line_off_a_terminal_has_no_control_character_unless_colour_is_forced(
    prepared: Prepared, capsys: pytest.CaptureFixture[str]
) -> None:
    """And never moves the cursor."""
    told = Told(prepared, Manner())
    told.end(1)
    told.after(10.0)
    assert "\x1b" not in capsys.readouterr().err
    told = Told(prepared, Manner(colour="always"))
    told.end(1)
    told.after(10.0)
    err = capsys.readouterr().err
    assert "\x1b[32m1 passed\x1b[0m" in err
    assert "\x1b[2K" not in err
    assert "\r" not in err


def test_events_are_json_lines_with_stable_names(prepared: Prepared, capsys: pytest.CaptureFixture[str]) -> None:
    """Each trial at once, the counts every ten seconds."""
    told = Told(prepared, Manner(json=True))
    told.end(2)
    told.after(0.1)
    events = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert [event["event"] for event in events] == ["trial.ended", "trial.ended"]
    assert set(events[0]) == {
        *("event", "time", "configuration", "case", "repeat", "outcome", "cause", "attempts", "done", "planned")
    }
    assert (events[1]["done"], events[1]["planned"], events[1]["cause"]) == (2, 12, None)
    told.after(10.0)
    (event,) = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert event["event"] == "progress"
    assert event["done"] == 2
    assert event["left_s"] is None
    assert event["waiting"] == []
    assert sum(row["passed"] for row in event["configurations"].values()) == 2


def test_events_that_nobody_reads_are_dropped_and_counted(
    prepared: Prepared, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with a reader who sleeps; he is told what he missed."""
    monkeypatch.setattr(module, "MOST_EVENTS", 3)
    told = Told(prepared, Manner(json=True))
    told.end(5)
    told.after(0.1)
    events = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert [event["event"] for event in events] == ["trial.ended"] * 3 + ["events.dropped"]
    assert events[-1]["events"] == 2


class Stuck(io.StringIO):
    """A terminal that stands still until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.released = threading.Event(), threading.Event()

    def isatty(self) -> bool:
        """It is one."""
        return True

    def write(self, text: str) -> int:
        """Hold up the thread that draws, and nobody else."""
        if threading.current_thread().name == "progress":
            self.reached.set()
            assert self.released.wait(60)
        return super().write(text)


@pytest.mark.parametrize("as_json", [False, True])
def test_terminal_that_stands_still_holds_up_no_trial(
    project: Project, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """The run reaches its end, signed, while not a single character gets out."""
    stuck = Stuck()
    monkeypatch.setattr(sys, "stderr", stuck)
    project.write(PLAN.replace("REPEATS", "3"))
    plan = prepare(project.folder / "trialplate.yaml", project.key().secret)

    class Watched(Progress):
        def ended(self, end: TrialEnd, tally: Tally) -> None:
            super().ended(end, tally)
            self._wake.set()
            assert stuck.reached.wait(60), "the thread is in the middle of a write from the first trial on"

    progress = Watched(Manner(json=as_json), environ={"TERM": "xterm"})
    progress.plan(plan, at_once=2)
    try:
        finished = run_prepared(
            plan, project.view(), project.writer(), project.key(), project.environ, at_once=2, watch=progress
        )
        assert finished.counts.passed == 9
        assert project.verify().report.holds
        assert stuck.getvalue() == ""
        leaving = threading.Thread(target=progress.__exit__, args=(None, None, None))
        leaving.start()
        leaving.join(1.5)
        assert leaving.is_alive(), "two that write at once tear each other's lines"
    finally:
        stuck.released.set()
    leaving.join(60)
    if as_json:
        events = [json.loads(text) for text in stuck.getvalue().splitlines()]
        assert [event["done"] for event in events] == list(range(1, 10))


def run_json(project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    """Run the command in this process; return its code, its object and its events."""
    from trialplate.cli.main import main

    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(project.home))
    capsys.readouterr()
    code = main(["run", "--yes", "--json", *flags])
    out, err = capsys.readouterr()
    return code, json.loads(out), [json.loads(text) for text in err.splitlines()]


def test_run_in_json_prints_one_object_and_tells_events_aside(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Counts, means with their coverage, costs that are unknown as null, and what to type next."""
    code, said, events = run_json(project, monkeypatch, capsys)
    assert code == 0
    assert said["run_id"] == project.runs[0].name
    assert (said["reason"], said["exit_code"], said["pilot"]) == ("complete", 0, False)
    assert said["counts"]["passed"] == 6
    good, bad = said["configurations"]
    assert good["metrics"]["correct"] == {"mean": 1.0, "known": 6, "cells": 6}
    assert good["cost"] == {"currency": "USD", "nano": 0}
    assert bad["cost"] is None
    assert bad["outcomes"]["failed"] == 6
    assert said["next"] == [
        f"trialplate report {said['run_id']}",
        f"trialplate gate {said['run_id']} --model good",
    ]
    names = [event["event"] for event in events]
    assert names[0] == "run.started"
    assert names[-1] == "run.ended"
    assert names.count("trial.ended") == 12
    assert events[0]["run_id"] == events[-1]["run_id"] == said["run_id"]
    assert (events[-1]["done"], events[-1]["under_way"]) == (12, 0)


def test_events_and_result_hold_no_private_text(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No question, no reference, no answer: a log of a pipeline is read by many."""
    _, said, events = run_json(project, monkeypatch, capsys)
    told = json.dumps([said, events])
    for private in ("capital of France", "two and two", "clear sky", "Paris", "blue"):
        assert private not in told
