# SPDX-License-Identifier: Apache-2.0
"""A run on a real terminal (a pseudo-terminal): the block that is drawn again, its end, and ctrl-C.

The server holds every reply back until the test has seen what it waits for: nothing here depends on a clock.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from chat_server import ChatServer
from run_project import Project, make_project

PLAN = """
trialplate: 1
name: small
test_sets: [{{file: cases/q.csv}}]
models:
  first: {{runner: openai-compatible, url: "{url}", model: m-small, pricing: {{input: "1000", output: "2000"}}}}
  second: {{runner: openai-compatible, url: "{url}", model: m-small, pricing: {{input: "1000", output: "2000"}}}}
repeats: 2
scorers: {{correct: {{type: contains}}}}
pass_mark: {{rules: [{{id: c, at_least: 0.5, of: correct, basis: estimate}}]}}
run: {{concurrency: 4}}
"""


class HeldServer(ChatServer):
    """A chat server that holds every reply back until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Semaphore(0)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        await self.gate.acquire()
        return await super()._handle(request)


class Held:
    """That server on a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = HeldServer()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> Held:
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.server.start(), self.loop).result(30)
        return self

    def let(self, number: int) -> None:
        """Let so many replies go."""
        for _ in range(number):
            self.loop.call_soon_threadsafe(self.server.gate.release)

    def __exit__(self, *error: object) -> None:
        self.let(1000)
        asyncio.run_coroutine_threadsafe(self.server.__aexit__(None, None, None), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        self.loop.close()


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, project: Project, *arguments: str, columns: int = 100, **environ: str) -> None:
        self.came = ""
        command = [sys.executable, "-m", "trialplate", *arguments]
        variables = {**project.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path), **environ}
        self.child, self.master = pty.fork()
        if self.child == 0:
            fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.chdir(project.folder)
            os.execve(sys.executable, command, variables)

    def until(self, pattern: str) -> str:
        """Read until a pattern has come; returns all that came since the last time."""
        while not re.search(pattern, self.came):
            ready, _, _ = select.select([self.master], [], [], 60)
            assert ready, self.came
            try:
                more = os.read(self.master, 65536)
            except OSError:  # the program has ended
                more = b""
            assert more, self.came
            self.came += more.decode()
        came, self.came = self.came, ""
        return came

    def end(self) -> tuple[int, str]:
        """Read to the end; returns the exit code and what came."""
        while True:
            try:
                more = os.read(self.master, 65536)
            except OSError:
                break
            if not more:
                break
            self.came += more.decode()
        _, status = os.waitpid(self.child, 0)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status), self.came


@pytest.fixture
def held() -> Iterator[Held]:
    """The server."""
    with Held() as made:
        yield made


def project_of(folder: Path, held: Held) -> Project:
    """Return a project whose two models are on the server: 12 trials."""
    project = make_project(folder)
    project.write(PLAN.format(url=held.server.url))
    return project


def screen(came: str) -> list[str]:
    """Return what a terminal would show: only the movements that a block makes are known."""
    lines, at = [""], 0
    for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r?\n|[^\x1b\r\n]+", came):
        if part.endswith("\n"):
            at += 1
            lines += [""] * (at - len(lines) + 1)
        elif part.startswith("\x1b["):
            kind = part[-1]
            if kind == "F":
                at -= int(part[2:-1])
                assert at >= 0, "the cursor left the top"
            elif part == "\x1b[2K":
                lines[at] = ""
            elif part == "\x1b[J":
                del lines[at:]
                lines.append("")
            else:
                assert kind == "m", part
        else:
            lines[at] += part
    return lines


def test_block_is_drawn_again_and_leaves_only_the_summary(held: Held, tmp_path: Path) -> None:
    """Counts of each configuration as they come, spend, what is under way; at the end none of it is left."""
    project = project_of(tmp_path, held)
    terminal = Terminal(project, "run", "--yes")
    came = terminal.until(r"0/12 trials .* 4 under way")
    held.let(5)
    came += terminal.until(r"5/12 trials .* of at most ")
    shown = screen(came)
    assert sum(text.startswith("  first ") for text in shown) == 1, "drawn over, not below"
    assert sum(text.startswith("  second ") for text in shown) == 1
    held.let(100)
    code, rest = terminal.end()
    shown = screen(came + rest)
    assert code == 0
    assert not any("under way" in text or " trials  " in text for text in shown)
    assert any(re.match(r"complete: 4 passed, 8 failed of 12 trials in 12 attempts", text) for text in shown)
    assert any(text.startswith("next: trialplate report ") for text in shown)
    assert project.verify().report.holds


def test_colour_on_a_terminal_and_none_where_it_is_unwanted(held: Held, tmp_path: Path) -> None:
    """NO_COLOR takes the colour and leaves the block; a dumb terminal gets lines."""
    held.let(1000)
    project = project_of(tmp_path, held)
    code, came = Terminal(project, "run", "--yes").end()
    assert code == 0
    assert "\x1b[32m4 passed\x1b[0m" in came
    _, came = Terminal(project, "run", "--yes", NO_COLOR="1").end()
    assert not re.search(r"\x1b\[\d+m", came)
    _, came = Terminal(project, "run", "--yes", TERM="dumb").end()
    assert "\x1b" not in came
    _, came = Terminal(project, "run", "--yes", "--color", "never").end()
    assert not re.search(r"\x1b\[\d+m", came)
    _, came = Terminal(project, "run", "--yes", "--quiet").end()
    assert came == f"{project.runs[-1].name}\r\n"


def test_block_fits_a_narrow_terminal(held: Held, tmp_path: Path) -> None:
    """A line that wraps could not be drawn over."""
    project = project_of(tmp_path, held)
    terminal = Terminal(project, "run", "--yes", "--color", "never", columns=24)
    came = terminal.until(r"0/12 trials")
    held.let(100)
    _, rest = terminal.end()
    drawn = re.findall(r"\x1b\[2K([^\r\n]*)", came + rest)
    assert drawn
    assert max(map(len, drawn)) <= 23


def test_ctrl_c_is_answered_at_once_and_leads_to_resume(held: Held, tmp_path: Path) -> None:
    """It says what it waits for; the next one cuts that short: 130, and the command that it names goes on with the run."""
    project = project_of(tmp_path, held)
    terminal = Terminal(project, "run", "--yes")
    held.let(3)
    terminal.until(r"3/12 trials")
    os.write(terminal.master, b"\x03")
    terminal.until(r"ctrl-C again to cut them short")
    os.write(terminal.master, b"\x03")
    code, came = terminal.end()
    assert code == 130
    shown = screen(came[came.rindex("interrupted") :])
    assert any("neither passed nor failed; the record is signed and valid (exit 130)" in text for text in shown)
    named = re.search(r"next: trialplate (resume \S+)", came)
    assert named
    held.let(1000)
    code, came = Terminal(project, *named[1].split()).end()
    assert code == 0, came
    assert "next: trialplate report" in came
    assert project.verify().report.holds
