# SPDX-License-Identifier: Apache-2.0
"""Programs under test: fed, read, bounded, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from attempts import failed

from trialplate.record.values import Case, Configuration, Limits
from trialplate.runners.base import Answer, Request, RunnerContext
from trialplate.runners.command import make

CASES = Path(__file__).parents[1] / "vectors" / "cases" / "process"
KEY = "PLANTED-7f3a-not-a-real-key"
Ask = Callable[..., Coroutine[Any, Any, Answer]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Make one attempt of a command in an empty project."""

    async def run(
        settings: dict[str, Any], text: str = "", *, timeout_s: float = 30.0, environ: Any = os.environ, **changes: Any
    ) -> Answer:
        asked = Configuration(name="c", model="c", profile="default", runner="command", settings=settings, **changes)
        runner = make(asked, RunnerContext(project=tmp_path, environ=environ))
        request = Request(
            configuration=asked,
            case=Case(id="q1", input=text),
            repeat=1,
            attempt=1,
            timeout_s=timeout_s,
            request_id="r",
        )
        return await runner.answer(request)

    return run


def is_alive(pid: int) -> bool:
    """Whether a process runs: a dead one that nobody has reaped yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state != "Z"


async def gone(pid: int) -> bool:
    """Wait, five seconds at most, until a process has been taken down by the kernel."""
    until = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < until:
        await asyncio.sleep(0.01)
    return not is_alive(pid)


async def test_input_goes_in_and_output_comes_out_untrimmed(ask: Ask) -> None:
    """Standard input, then its end; the answer is what was written, newline included."""
    answer = await ask({"argv": ["cat"]}, "na\u00efve\nquestion\n")
    assert answer.text == "na\u00efve\nquestion\n"
    assert answer.received == len(answer.text.encode())
    assert answer.usage is None


async def test_argv_is_read_by_no_shell_and_shell_is(ask: Ask) -> None:
    """Case A04."""
    assert (await ask({"argv": ["echo", "a", "&&", "false"]})).text == "a && false\n"
    assert (await ask({"shell": "printf a; printf b"})).text == "ab"


async def test_program_of_the_project_is_found_from_its_folder(ask: Ask, tmp_path: Path) -> None:
    """A path with a slash is relative to the project."""
    script = tmp_path / "bin" / "bot.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)
    assert (await ask({"argv": ["bin/bot.sh"]})).text == f"{tmp_path}\n"


async def test_large_input_and_output_at_once_do_not_block(ask: Ask) -> None:
    """More than the pipes hold, in both directions, and on the error output."""
    text = "x" * 3_000_000
    assert (await ask({"shell": "head -c 300000 /dev/zero >&2; cat"}, text)).text == text


async def test_program_that_does_not_read_its_input_is_heard(ask: Ask) -> None:
    """A broken pipe is none of its faults; its exit status is what counts."""
    assert (await ask({"argv": ["echo", "ok"]}, "x" * 1_000_000)).text == "ok\n"


async def test_output_that_is_no_utf8_is_kept(ask: Ask) -> None:
    """Case D08: as lone surrogates, from which the bytes can be had back."""
    answer = await ask({"shell": r"printf '\377\376ok\n'"})
    assert answer.text.encode(errors="surrogateescape") == b"\xff\xfeok\n"


async def test_exit_status_other_than_zero_is_a_failure_whatever_was_printed(ask: Ask) -> None:
    """Case P18: no scorer will see this output, so that no "does not contain" can pass."""
    vector = json.loads((CASES / "failing_runner.json").read_text())
    failure = await failed(ask({"argv": vector["runner"]["argv"]}))
    assert (failure.kind, failure.status, failure.sent) == ("exit_status", 127, True)
    assert "[FAIL] boom" in failure.message
    assert (await failed(ask({"shell": "echo Paris; exit 3"}))).status == 3


async def test_program_killed_by_a_signal_says_which(ask: Ask) -> None:
    """As a negative number, as the system reports it."""
    failure = await failed(ask({"shell": "kill -SEGV $$"}))
    assert (failure.kind, failure.status) == ("exit_status", -signal.SIGSEGV)


@pytest.mark.parametrize("argv", [["no-such-program-xyz"], ["./absent"]])
async def test_program_that_is_not_there_was_not_started(ask: Ask, argv: list[str]) -> None:
    """The harness's trouble, not the model's."""
    failure = await failed(ask({"argv": argv}))
    assert (failure.kind, failure.sent) == ("not_started", False)


async def test_grandchild_that_holds_the_pipe_dies_with_the_attempt(ask: Ask) -> None:
    """Case A01: back soon after the time is up, with nobody left."""
    script = (CASES / "grandchild.sh").read_text().replace("echo started", "echo $! > grandchild.pid; echo started")
    before = time.monotonic()
    failure = await failed(ask({"shell": script}, timeout_s=0.5))
    assert time.monotonic() - before < 2.5
    assert failure.kind == "timeout"
    assert failure.received == len("started\n")
    assert failure.latency_ms >= 500
    assert "0.5 s" in failure.message


async def test_no_process_of_a_timed_out_attempt_survives(ask: Ask, tmp_path: Path) -> None:
    """Not even one in a process group of its own, as an interactive shell makes them."""
    line = "set -m; sleep 60 & echo $! > other; sh -c 'echo $$ > same; sleep 60' & wait"
    await failed(ask({"shell": line}, timeout_s=0.5))
    for name in ("other", "same"):
        assert await gone(int((tmp_path / name).read_text()))


async def test_background_process_of_a_finished_program_does_not_keep_the_answer(ask: Ask, tmp_path: Path) -> None:
    """The program has ended and said its words: the rest of its group is taken down."""
    answer = await ask({"shell": "echo done; sleep 60 & echo $! > left"})
    assert answer.text == "done\n"
    assert await gone(int((tmp_path / "left").read_text()))


async def test_flood_of_output_is_stopped_at_the_limit(ask: Ask) -> None:
    """Case D07: memory is bounded; one byte more than the limit is too long, the limit itself is not."""
    limits = Limits(answer_bytes=1000)
    failure = await failed(ask({"argv": ["yes"]}, limits=limits))
    assert (failure.kind, failure.sent) == ("too_long", True)
    assert (await ask({"shell": "head -c 1000 /dev/zero"}, limits=limits)).received == 1000
    assert (await failed(ask({"shell": "head -c 1001 /dev/zero"}, limits=limits))).kind == "too_long"


async def test_flood_of_error_output_is_read_and_only_its_end_kept(ask: Ask) -> None:
    """It can neither block the program nor fill the record."""
    failure = await failed(ask({"shell": "head -c 5000000 /dev/zero >&2; echo the end >&2; exit 1"}))
    assert failure.message.endswith("the end")
    assert len(failure.message) < 500


async def test_cancelled_attempt_leaves_nobody(ask: Ask, tmp_path: Path) -> None:
    """Ctrl-C ends what was started."""
    task = asyncio.create_task(ask({"shell": "echo $$ > pid.tmp; mv pid.tmp pid; sleep 60"}))
    while not (tmp_path / "pid").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_child_sees_its_own_key_and_no_other(ask: Ask) -> None:
    """Case A07: and what it prints of it is replaced, in the answer as in an error."""
    environ = {**os.environ, "BOT_KEY": KEY, "OPENAI_API_KEY": "sk-of-another-model", "MODE": "fast"}
    answer = await ask({"argv": ["env"], "env": ["MODE"]}, environ=environ, secret="BOT_KEY")
    assert "BOT_KEY=[secret]" in answer.text
    assert "MODE=fast" in answer.text
    assert "sk-of-another-model" not in answer.text
    failure = await failed(ask({"shell": "echo $BOT_KEY >&2; exit 1"}, environ=environ, secret="BOT_KEY"))
    assert failure.message.endswith("[secret]")


async def test_variable_that_is_named_as_a_secret_is_replaced_too(ask: Ask) -> None:
    """Of `env`: a program that may see a key may print it, and a recording of that would be committed."""
    environ = {**os.environ, "SEARCH_API_KEY": KEY, "MODE": "fast-and-cheap"}
    names = {"env": ["SEARCH_API_KEY", "MODE"]}
    answer = await ask({"argv": ["env"], **names}, environ=environ)
    assert "SEARCH_API_KEY=[secret]" in answer.text
    assert "MODE=fast-and-cheap" in answer.text
    failure = await failed(ask({"shell": "echo $SEARCH_API_KEY >&2; exit 1", **names}, environ=environ))
    assert failure.message.endswith("[secret]")


async def test_many_programs_at_once_all_answer(ask: Ask) -> None:
    """Each gets its own answer."""
    answers = await asyncio.gather(*(ask({"argv": ["cat"]}, str(n)) for n in range(40)))
    assert [answer.text for answer in answers] == [str(n) for n in range(40)]
    assert len(os.listdir("/proc/self/fd")) < 60


PARENT = """
import asyncio, os, sys
from pathlib import Path
from trialplate.transport.process import run_child
line = "echo $$ > leader; (set -m; sleep 60 & echo $! > other); echo x > ready; sleep 60"
where, env = Path(sys.argv[1]), dict(os.environ)
asyncio.run(run_child(["sh", "-c", line], cwd=where, env=env, stdin=b"", timeout_s=60, limit=9))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_children_die_when_we_are_killed(tmp_path: Path, number: signal.Signals) -> None:
    """Whatever ended this process, kill -9 included, what it started ends too."""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, str(tmp_path))
    try:
        while not (tmp_path / "ready").exists():
            assert parent.returncode is None
            await asyncio.sleep(0.02)
        leader, other = (int((tmp_path / name).read_text()) for name in ("leader", "other"))
        assert is_alive(leader)
        assert is_alive(other)
    finally:
        parent.send_signal(number)
        await parent.wait()
    assert await gone(leader)
    assert await gone(other)


async def test_watchdog_that_was_killed_is_replaced(ask: Ask) -> None:
    """The next child is guarded again."""
    from trialplate.transport.guard import GUARD

    await ask({"argv": ["true"]})
    first = GUARD._process
    assert first is not None
    first.kill()
    first.wait()
    assert (await ask({"argv": ["echo", "ok"]})).text == "ok\n"
    assert GUARD._process is not None
    assert GUARD._process.pid != first.pid
    assert is_alive(GUARD._process.pid)


async def test_program_does_not_start_if_the_gate_is_not_opened(tmp_path: Path) -> None:
    """Dying between starting a child and telling the watchdog leaves no program running."""
    from trialplate.transport.process import _GATE

    assert shutil.which("sh") is not None
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        _GATE,
        "sh",
        shutil.which("touch") or "touch",
        str(tmp_path / "ran"),
        stdin=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() != 0
    assert not (tmp_path / "ran").exists()
