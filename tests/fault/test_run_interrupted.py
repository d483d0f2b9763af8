# SPDX-License-Identifier: Apache-2.0
"""ctrl-C (twice: nothing is waited for) and SIGTERM: exit 130, a closed and signed record that verifies, and no program left behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import BLOCKING, PATIENCE_S, Stopped, alive, blocking_project, cut_short, start, wait_for
from small_project import SmallProject, plan_text

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)

WAITING = f"sh -c {shlex.quote(BLOCKING)}; exit $?"
"""The same in a shell that waits for it, and tells its end by its own status."""

STUBBORN = """\
import asyncio, pathlib, sys
from trialplate.cli.main import main
from trialplate.runners.stand_in import StandInRunner

async def answer(self, request, tools=()):
    while True:
        try:
            pathlib.Path("asked").touch()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pathlib.Path("cancelled").touch()

StandInRunner.answer = answer
sys.exit(main(["run", "--yes"]))
"""
"""A run whose model takes no notice of being cancelled."""

WAITS = ": > asked.$$; while [ ! -e go ]; do sleep 0.01; done; printf 'Paris 4 blue 8'"
"""A model that answers once it may."""


def close_of(project: SmallProject) -> dict[str, object]:
    """Return the body of the record's last line, which must be run.close."""
    last = json.loads((project.last / "record.jsonl").read_bytes().splitlines()[-1])
    assert last["type"] == "run.close"
    body: dict[str, object] = last["body"]
    return body


@SIGNALS
@pytest.mark.parametrize("done", [0, 3])
def test_interrupted_run_ends_with_130_and_a_record_that_verifies(
    tmp_path: Path, number: signal.Signals, done: int
) -> None:
    """The attempt under way is ended as interrupted, the record is closed and signed, and the ledger pins it."""
    project = blocking_project(tmp_path)
    run = Stopped(project, done)
    status, err = run.signal(number)
    assert status == 130
    assert "Traceback" not in err
    assert "interrupted" in err
    closed = close_of(project)
    assert (closed["complete"], closed["reason"]) == (False, "interrupted")
    assert project.codes() == set()
    assert "RUN-UNFINISHED" in project.notes()
    assert project.types()[-1] == "run.progress"
    gate = project("gate", "latest", "--json")
    assert (gate.code, gate.json["decision"]["decision"]) == (1, "inconclusive")
    assert "UNFINISHED" in project("report").out


@SIGNALS
def test_interrupted_run_leaves_no_program_behind(tmp_path: Path, number: signal.Signals) -> None:
    """The program that was being waited for is gone when the run is."""
    run = Stopped(blocking_project(tmp_path), 0)
    assert alive(run.child)
    run.signal(number)
    wait_for(lambda: not alive(run.child))


def test_interrupted_attempts_are_unknown_and_not_failed(tmp_path: Path) -> None:
    """What was under way at the interrupt counts as an error of nobody's, never as a wrong answer."""
    project = blocking_project(tmp_path)
    Stopped(project, 3).signal(signal.SIGINT)
    counts = close_of(project)["counts"]
    assert isinstance(counts, dict)
    assert (counts["passed"], counts["failed"], counts["error"], counts["absent"]) == (3, 0, 1, 4)


def interrupted(project: SmallProject, at_once: int) -> int:
    """Interrupt a run once so many answers are under way, let them arrive when it has said so; return its exit code."""
    process = start(project, "run", "--yes", "--jobs", str(at_once))
    wait_for(lambda: len(list(project.root.glob("asked.*"))) == at_once, process)
    process.send_signal(signal.SIGINT)
    stderr = process.stderr
    assert stderr is not None
    wait_for(lambda: f"stopping: {at_once} answers under way to wait for" in stderr.readline(), process)
    (project.root / "go").touch()
    process.communicate(timeout=PATIENCE_S)
    return process.returncode


def test_interrupt_waits_for_the_answers_under_way(tmp_path: Path) -> None:
    """ctrl-C begins nothing more and lets what is under way arrive: nothing is re-asked, and the resumed run decides."""
    project = SmallProject.write(tmp_path, plan_text(f"  good: {{runner: command, shell: {json.dumps(WAITS)}}}"))
    assert interrupted(project, at_once=2) == 130
    closed = close_of(project)
    counts = closed["counts"]
    assert isinstance(counts, dict)
    assert (counts["passed"], counts["error"], counts["reasked"], closed["reason"]) == (2, 0, 0, "interrupted")
    assert project("resume", "latest").code == 0
    assert project("gate", "latest").code == 0


def test_interrupt_while_the_last_answers_are_under_way_leaves_a_complete_run(tmp_path: Path) -> None:
    """Where nothing else was left to ask, there is nothing to resume: the run has ended as it would have."""
    project = SmallProject.write(
        tmp_path, plan_text(f"  good: {{runner: command, shell: {json.dumps(WAITS)}}}", repeats=1)
    )
    assert interrupted(project, at_once=4) == 0
    assert close_of(project)["complete"] is True
    assert project.types()[-1] == "run.end"


@pytest.mark.parametrize("shell", [False, True], ids=["itself", "by its shell"])
def test_program_that_a_shutdown_ends_with_us_has_not_failed(tmp_path: Path, shell: bool) -> None:
    """A machine that shuts down sends SIGTERM to every process, ours last perhaps: that is nobody's wrong answer."""
    models = f"  good: {{runner: command, shell: {json.dumps(WAITING if shell else BLOCKING)}, env: [CALLS, BLOCK_AT]}}"
    run = Stopped(blocking_project(tmp_path, models=models), 0, jobs=4)
    wait_for(lambda: len(list(run.calls.iterdir())) == 4)
    for call in run.calls.iterdir():
        os.kill(int(call.name), signal.SIGTERM)
    status, _ = run.signal(signal.SIGTERM)
    assert status == 130
    counts = close_of(run.project)["counts"]
    assert isinstance(counts, dict)
    assert (counts["failed"], counts["error"]) == (0, 4)


def test_third_interrupt_ends_a_run_that_heeds_none(tmp_path: Path) -> None:
    """Where something hangs on though it was cut short, ctrl-C ends the process at once; what was signed verifies."""
    project = SmallProject.write(tmp_path, plan_text("  m: {runner: stand-in, answers: [x]}", repeats=1))
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN, encoding="utf-8")
    with project.environment():
        process = subprocess.Popen(
            [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    wait_for(lambda: (project.root / "asked").exists(), process)
    heard = cut_short(process)
    wait_for(lambda: (project.root / "cancelled").exists(), process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in heard + err
    assert project.codes() == set()
    assert project("gate", "latest").code == 1
