# SPDX-License-Identifier: Apache-2.0
"""Commands as processes that can be stopped at a known moment, and waiting for what they do, within bounds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from small_project import SmallProject, plan_text

__all__ = ["BLOCKING", "PATIENCE_S", "Stopped", "alive", "blocking_project", "cut_short", "start", "wait_for"]

PATIENCE_S = 60.0
"""How long something that takes milliseconds may take on a busy machine before a test gives up."""

BLOCKING = """\
n=$(ls "$CALLS" | wc -l)
: > "$CALLS/$$"
if [ "$n" -ge "$BLOCK_AT" ]; then echo $$ > "$CALLS.blocked"; exec sleep 600; fi
printf 'Paris 4 blue 8'
"""
"""A model that answers BLOCK_AT questions and then never again, telling who it is."""


class Stopped:
    """A run that waits for ever in its model's call number `block_at` (from 0)."""

    def __init__(self, project: SmallProject, block_at: int, *, jobs: int = 1) -> None:
        self.project = project
        self.calls = project.root.parent / "calls"
        self.calls.mkdir()
        self.process = start(
            project, "run", "--yes", "--jobs", str(jobs), CALLS=str(self.calls), BLOCK_AT=str(block_at)
        )
        blocked = self.calls.with_name("calls.blocked")
        wait_for(lambda: blocked.exists() and blocked.read_text().endswith("\n"), self.process)
        self.child = int(blocked.read_text())

    def signal(self, number: int) -> tuple[int, str]:
        """Send a signal, ctrl-C twice, wait for the end, and return exit status and error output."""
        heard = ""
        if number == signal.SIGINT:
            heard = cut_short(self.process)
        else:
            self.process.send_signal(number)
        _, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, heard + err


MODEL = f"  good: {{runner: command, shell: {json.dumps(BLOCKING)}, env: [CALLS, BLOCK_AT]}}"


def blocking_project(folder: Path, repeats: int = 2, models: str = MODEL) -> SmallProject:
    """Return a project of four cases and one model, which is BLOCKING; it has a key and a ledger already."""
    project = SmallProject.write(folder, plan_text(models, repeats=repeats))
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    return project


def start(
    project: SmallProject,
    *arguments: str,
    prepare: Callable[[], None] | None = None,
    stdout: int = subprocess.PIPE,
    **environ: str,
) -> subprocess.Popen[str]:
    """Start a command of trialplate in the project's folder, as a user's shell would."""
    with project.environment(PYTHONDONTWRITEBYTECODE="1", **environ):
        return subprocess.Popen(
            [sys.executable, "-m", "trialplate", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=prepare,  # limits and capabilities can be set nowhere else
        )


def cut_short(process: subprocess.Popen[str]) -> str:
    """Press ctrl-C, and once more when the run has said that it waits; returns what it said so far."""
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    heard = ""
    while "to wait for; ctrl-C again" not in heard:
        said = process.stderr.readline()
        assert said, f"it ended first: {heard}"
        heard += said
    process.send_signal(signal.SIGINT)
    return heard


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until something has happened; give up after PATIENCE_S, or when the process that should do it has ended."""
    until = time.monotonic() + PATIENCE_S
    while not happened():
        if process is not None and process.poll() is not None and not happened():
            raise AssertionError(f"it ended first, with {process.returncode}: {process.communicate()[1]}")
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.002)


def alive(pid: int) -> bool:
    """Say whether a process is running: not gone, and no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


KILL = signal.SIGKILL
