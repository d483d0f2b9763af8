# SPDX-License-Identifier: Apache-2.0
"""Runs killed again and again while they are resumed: the same trials in the end, each decided once, all of it signed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from processes import KILL, Stopped, blocking_project, cut_short, start, wait_for
from small_project import ANSWERS_GOOD, SmallProject, plan_text
from test_run_killed import die_at

DECIDED = {"passed", "failed", "limit", "needs_input"}


def lines(project: SmallProject) -> list[dict[str, Any]]:
    """Return the entries of the newest record."""
    return [json.loads(line) for line in (project.last / "record.jsonl").read_bytes().splitlines()]


def decided(project: SmallProject) -> Counter[tuple[Any, ...]]:
    """Return how often each trial was decided."""
    bodies = [line["body"] for line in lines(project) if line["type"] == "trial.end"]
    return Counter(tuple(body["trial"]) for body in bodies if body["outcome"] in DECIDED)


def check_whole(project: SmallProject, trials: int) -> dict[str, Any]:
    """Require that every planned trial is decided exactly once and that everything verifies; returns the counts."""
    assert project.codes() == set()
    closed: dict[str, Any] = lines(project)[-1]["body"]
    assert closed["complete"]
    assert set(decided(project).values()) == {1}
    assert len(decided(project)) == closed["counts"]["planned"] == trials
    return dict(closed["counts"])


def test_run_and_its_resumes_killed_forty_times_end_with_the_same_trials(tmp_path: Path) -> None:
    """Forty processes in turn die at a random step on disk, of the run or of a resume; what is left verifies each time.

    Nothing that was answered is asked again, and every attempt that a kill cut off is counted as lost.
    """
    plan = plan_text(f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=100)
    project = SmallProject.write(tmp_path, plan)
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    moments = random.Random(20261130)
    assert die_at(project, 150, "run", "--yes")
    for number in range(39):
        died = die_at(project, moments.randrange(1, 90), "resume", "latest")
        assert died, f"the run ended after {number} resumes: it is long enough for forty"
        assert project.codes() == set()
        assert project("gate", "latest", "--no-append").code == 1
    assert project("resume", "latest").code == 0
    counts = check_whole(project, 400)
    kinds = Counter(line["type"] for line in lines(project))
    lost = kinds["trial.start"] - kinds["trial.end"]
    assert counts["attempts"] == kinds["trial.start"] == 400 + lost
    assert 0 < counts["reasked"] <= lost
    wanted = "inconclusive" if counts["reasked"] > 0.02 * 400 else "accepted"  # as the mark's evidence says
    assert project("gate", "latest", "--json").json["decision"]["decision"] == wanted


TRIAL_LINES = ("trial.start", "trial.end")


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A run that died with signed lines, unsigned ones and a trial under way."""
    folder = tmp_path_factory.mktemp("interrupted")
    plan = plan_text(f"  m: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=2)
    project = SmallProject.write(folder, plan)
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    assert die_at(project, 120, "run", "--yes")
    assert lines(project)[-1]["type"] in TRIAL_LINES
    return project


@pytest.mark.slow
def test_resume_killed_at_every_step_in_turn_verifies_and_the_next_one_finishes(
    interrupted: SmallProject, tmp_path: Path
) -> None:
    """Whatever write, fsync or rename of a resume was the last: nothing is untrusted, and another resume ends it."""
    for number in range(1, 400):
        project = interrupted.copy_to(tmp_path / str(number))
        if not die_at(project, number, "resume", "latest"):
            assert number > 40
            check_whole(project, 8)
            return
        assert project.codes() == set(), f"killed before step {number}"
        assert project("resume", "latest").code == 0
        check_whole(project, 8)
        shutil.rmtree(project.root.parent)
    raise AssertionError("the resume never ended")


@pytest.mark.parametrize("done", [0, 3, 7])
def test_killed_run_asks_only_for_what_was_not_answered(tmp_path: Path, done: int) -> None:
    """Answered calls are not made again; the one that was under way is, and is counted as re-asked."""
    project = blocking_project(tmp_path)
    run = Stopped(project, done)
    run.signal(KILL)
    said = project("resume", "latest", CALLS=str(run.calls), BLOCK_AT="100")
    assert said.code == 0, said.err
    assert len(list(run.calls.iterdir())) == 8 + 1
    assert check_whole(project, 8)["reasked"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupted_run_is_finished_by_a_resume(tmp_path: Path, number: signal.Signals) -> None:
    """An orderly interrupt leaves a closed record; the resume reopens it and says how it had ended (case S03)."""
    project = blocking_project(tmp_path)
    run = Stopped(project, 5)
    run.signal(number)
    assert project("resume", "latest", CALLS=str(run.calls), BLOCK_AT="100").code == 0
    reopened = next(line["body"] for line in lines(project) if line["type"] == "run.reopen")
    assert (reopened["adopted"], reopened["reason"]) == (0, "interrupted")
    check_whole(project, 8)


def test_resume_that_is_itself_interrupted_can_be_resumed(tmp_path: Path) -> None:
    """Each session has its own reopen and close; the last one ends the run."""
    project = blocking_project(tmp_path)
    run = Stopped(project, 2)
    run.signal(KILL)
    second = start(project, "resume", "latest", "--jobs", "1", CALLS=str(run.calls), BLOCK_AT="5")
    blocked = run.calls.with_name("calls.blocked")
    first = run.child
    wait_for(lambda: blocked.exists() and blocked.read_text().strip() not in ("", str(first)), second)
    cut_short(second)
    _, err = second.communicate(timeout=60)
    assert second.returncode == 130, err
    assert project("resume", "latest", CALLS=str(run.calls), BLOCK_AT="100").code == 0
    assert [line["body"]["reason"] for line in lines(project) if line["type"] == "run.reopen"] == [
        "killed",
        "interrupted",
    ]
    check_whole(project, 8)


def test_program_under_test_that_is_killed_has_failed_and_is_not_asked_again(tmp_path: Path) -> None:
    """The thing under test died by itself: that is its own failure, decided, and a resume leaves it so."""
    project = blocking_project(tmp_path)
    run = Stopped(project, 3)
    blocked = run.calls.with_name("calls.blocked")
    os.kill(run.child, KILL)
    wait_for(lambda: blocked.read_text().strip() not in ("", str(run.child)), run.process)
    run.signal(signal.SIGINT)
    assert project("resume", "latest", CALLS=str(run.calls), BLOCK_AT="100").code == 0
    causes = [line["body"].get("cause") for line in lines(project) if line["type"] == "trial.end"]
    assert causes.count("exit_status") == 1
    assert check_whole(project, 8)["failed"] == 1


@pytest.mark.parametrize("spin", range(4))
def test_machine_that_stops_at_any_moment_leaves_a_run_that_can_be_finished(tmp_path: Path, spin: int) -> None:
    """A copy of all files while the process stands still: pages are kept, the checkpoint is behind, and it goes on."""
    project = SmallProject.write(
        tmp_path, plan_text(f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=500)
    )
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    process = start(project, "run", "--yes", "--jobs", "8")
    wait_for(lambda: _written(project) > 100 + 300 * spin, process)
    process.send_signal(signal.SIGSTOP)
    copy = project.copy_to(tmp_path / "copy")
    process.send_signal(KILL)
    process.communicate()
    assert copy.codes() == set()
    assert copy("resume", "latest").code == 0
    check_whole(copy, 2000)


def _written(project: SmallProject) -> int:
    try:
        return (project.last / "record.jsonl").read_bytes().count(b"\n")
    except (OSError, IndexError):
        return 0
