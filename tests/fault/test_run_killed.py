# SPDX-License-Identifier: Apache-2.0
"""A run killed with kill -9 at known moments: what it leaves verifies, says that it is unfinished, and decides nothing."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import KILL, Stopped, alive, blocking_project, start, wait_for
from small_project import ANSWERS_GOOD, SmallProject, plan_text


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
    assert [json.loads(line)["type"] for line in lines] == [
        "run.open",
        *["trial.start", "trial.end"] * done,
        "trial.start",
    ]
    check_unfinished(project)


def test_child_of_a_killed_run_dies_with_it(tmp_path: Path) -> None:
    """The program that a killed run was waiting for does not go on by itself."""
    run = Stopped(blocking_project(tmp_path), 0)
    assert alive(run.child)
    run.signal(KILL)
    wait_for(lambda: not alive(run.child))


def test_run_whose_terminal_is_closed_leaves_what_a_killed_one_does(tmp_path: Path) -> None:
    """A hang-up ends the run and the program it was waiting for; the record verifies as unfinished."""
    project = blocking_project(tmp_path)
    run = Stopped(project, 2)
    run.signal(signal.SIGHUP)
    wait_for(lambda: not alive(run.child))
    check_unfinished(project)


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


def die_at(project: SmallProject, moment: int, *command: str) -> bool:
    """Run a command in a forked process that dies by SIGKILL before its n-th step on disk; say whether it came to that."""
    code = forked(project, moment, *command)
    assert code in (None, 0)
    return code is None


def forked(project: SmallProject, moment: int, *command: str) -> int | None:
    """Run a command as `die_at`; return None if it died, else its exit status."""
    child = os.fork()
    if child == 0:  # pragma: no cover  it never returns
        try:
            _count_steps(moment)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            code = project(*command).code
        except BaseException:
            code = 99
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    return os.waitstatus_to_exitcode(status)


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


@dataclass(frozen=True)
class Moment:
    """What a run left behind that died before its n-th step on disk, and what is said of it."""

    number: int
    has_folder: bool
    has_checkpoint: bool
    """The record was signed once."""
    ended: bool
    """The ledger has its run.end."""
    verify: int
    gate: int
    next_run: int
    """The exit code of the run after it; -1 where none was tried."""


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Moment]:
    """A run that dies at every step in turn, until one lives to its end."""
    folder = tmp_path_factory.mktemp("moments")
    plan = plan_text(f"  m: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=1)
    template = SmallProject.write(folder / "template", plan)
    assert template("keys", "new", "small").code == 0
    assert template("ledger", "init", "small").code == 0
    found: list[Moment] = []
    for number in range(1, 500):
        project = template.copy_to(folder / str(number))
        if not die_at(project, number, "run", "--yes"):
            return found
        found.append(_seen(project, number))
    raise AssertionError("the run never ended")


def _seen(project: SmallProject, number: int) -> Moment:
    folders = list((project.root / "runs").iterdir()) if (project.root / "runs").exists() else []
    return Moment(
        number=number,
        has_folder=bool(folders),
        has_checkpoint=any((folder / "checkpoint").exists() for folder in folders),
        verify=project("verify").code,
        gate=project("gate", "latest", "--no-append").code,
        ended=b'"run.end"' in (project.ledger / "entries.jsonl").read_bytes(),
        next_run=project("run", "--yes").code if number % 5 == 0 else -1,
    )


@pytest.mark.slow
def test_run_killed_at_any_step_after_its_record_was_signed_verifies(moments: list[Moment]) -> None:
    """Whatever write, fsync or rename was the last: verify is 0, and the gate says inconclusive until run.end is in."""
    signed = [moment for moment in moments if moment.has_checkpoint]
    assert len(signed) > 50
    assert [moment for moment in signed if moment.verify != 0] == []
    assert [moment for moment in signed if moment.gate != 1 and not (moment.ended and moment.gate == 0)] == []


@pytest.mark.slow
def test_run_killed_before_anything_was_made_leaves_nothing_to_complain_about(moments: list[Moment]) -> None:
    """Before the run folder is there, the project is as it was."""
    untouched = [moment for moment in moments if not moment.has_folder]
    assert untouched
    assert {(moment.verify, moment.gate) for moment in untouched} == {(0, 2)}


@pytest.mark.slow
def test_run_killed_at_any_step_is_never_accepted_before_its_end_and_does_not_stop_the_next(
    moments: list[Moment],
) -> None:
    """No moment of dying makes an acceptance, and none keeps the next run from its end."""
    assert len(moments) > 100
    assert [moment for moment in moments if moment.gate == 0 and not moment.ended] == []
    assert {moment.next_run for moment in moments} == {-1, 0}


@pytest.mark.slow
def test_run_killed_before_its_record_was_signed_is_unfinished_and_not_untrusted(moments: list[Moment]) -> None:
    """A kill -9 leaves a project that verifies, at the earliest moments too."""
    early = [moment for moment in moments if moment.has_folder and not moment.has_checkpoint]
    assert len(early) > 50
    assert [moment for moment in early if moment.verify != 0] == []
