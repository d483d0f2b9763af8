# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a run at known moments: what it leaves verifies, says that it is unfinished, and decides nothing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from processes import KILL, Stopped, alive, blocking_project, start, wait_for
from small_project import ANSWERS_GOOD, SmallProject, plan_text

RECORD_LINES_BEFORE = 1
"""run.open."""


def check_unfinished(project: SmallProject) -> None:
    """Require everything that must be true of a run that was cut off."""
    said = project("verify", "--json", "latest")
    assert said.code == 0, said.out + said.err
    report = said.json[0]
    status = {item["id"]: item["status"] for item in report["checks"]}
    assert status["V11"] == "PASS"
    assert (status["V14"], status["V15"]) == ("SKIP", "SKIP")
    assert "RUN-UNFINISHED" in {item["code"] for item in report["findings"]}
    gate = project("gate", "latest", "--json")
    assert gate.code == 1
    assert gate.json["decision"]["decision"] == "inconclusive"
    assert "finished" in gate.json["decision"]["reasons"]
    shown = project("report")
    assert shown.code == 0
    assert "UNFINISHED" in shown.out


@pytest.mark.parametrize("done", range(8))
def test_run_killed_in_its_nth_call_verifies_as_unfinished(tmp_path: Path, done: int) -> None:
    """Killed while call n of 8 is under way, the n trials before it stand, and the one under way is lost."""
    project = blocking_project(tmp_path)
    run = Stopped(project, done)
    status, _ = run.signal(KILL)
    assert status == -KILL
    lines = (project.last / "record.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["run.open", *["trial.start", "trial.end"] * done, "trial.start"]
    check_unfinished(project)


def test_child_of_a_killed_run_dies_with_it(tmp_path: Path) -> None:
    """The program that a killed run was waiting for does not go on by itself."""
    run = Stopped(blocking_project(tmp_path), 0)
    assert alive(run.child)
    run.signal(KILL)
    wait_for(lambda: not alive(run.child))


@pytest.mark.parametrize("lines", [1, 2, 40, 400])
def test_run_killed_while_many_trials_are_under_way_verifies(tmp_path: Path, lines: int) -> None:
    """Killed at whatever moment after the n-th line of its record, with sixteen trials at once."""
    project = SmallProject.write(
        tmp_path, plan_text(f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=1000)
    )
    process = start(project, "run", "--yes", "--jobs", "16")
    wait_for(lambda: _lines(project) >= lines, process)
    process.send_signal(KILL)
    process.communicate()
    assert process.returncode == -KILL, "the run is long enough to be killed"
    if (project.last / "checkpoint").exists():
        check_unfinished(project)


def _lines(project: SmallProject) -> int:
    try:
        return (project.last / "record.jsonl").read_bytes().count(b"\n")
    except (OSError, IndexError):
        return 0


def test_run_after_a_killed_one_goes_on_and_does_not_decide(tmp_path: Path) -> None:
    """The ledger takes another run after a crash; the open attempt keeps it from deciding."""
    project = blocking_project(tmp_path)
    run = Stopped(project, 3)
    run.signal(KILL)
    project.run(CALLS=str(run.calls), BLOCK_AT="100")
    said = project("gate", "latest", "--json")
    assert said.code == 1
    assert said.json["decision"]["reasons"] == ["attempt_open"]
    assert project.codes() == set()


# ------------------------------------------------------------------------------------------- every step of the storage


def _die_at(project: SmallProject, moment: int) -> bool:
    """Run the plan in a forked process that dies by SIGKILL before its n-th step on disk; say whether it came to that."""
    child = os.fork()
    if child == 0:  # pragma: no cover  it never returns
        try:
            _count_steps(moment)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            code = project("run", "--yes").code
        except BaseException:
            code = 99
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def _count_steps(moment: int) -> None:
    """Let this process die before the n-th call that changes the disk."""
    left = moment

    def counted(call: object) -> object:
        def step(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **named)  # type: ignore[operator]

        return step

    for name in ("write", "fsync", "rename", "replace", "mkdir", "ftruncate", "unlink"):
        setattr(os, name, counted(getattr(os, name)))


def _outcomes(tmp_path: Path) -> dict[int, tuple[int, int]]:
    """Die at every step of a run in turn; return the exit codes of verify and gate by step."""
    template = SmallProject.write(tmp_path / "template", plan_text(f"  m: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=1))
    assert template("keys", "new", "small").code == 0
    assert template("ledger", "init", "small").code == 0
    found = {}
    for moment in range(1, 500):
        project = template.copy_to(tmp_path / f"moment-{moment}")
        if not _die_at(project, moment):
            return found
        found[moment] = (project("verify").code, project("gate", "latest").code)
        project.run()
        assert project("verify", "latest").code == 0
    raise AssertionError("the run never ended")


def test_run_killed_at_every_step_on_disk_leaves_a_project_that_verifies(tmp_path: Path) -> None:
    """Whatever write, fsync, rename or mkdir is the last one, verify is 0, gate is not, and the next run succeeds."""
    found = _outcomes(tmp_path)
    assert len(found) > 30
    assert {moment: code for moment, (code, _) in found.items() if code != 0} == {}
    assert {moment: code for moment, (_, code) in found.items() if code not in (1, 2)} == {}
