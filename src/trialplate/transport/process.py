# SPDX-License-Identifier: Apache-2.0
"""Children: programs that are started, fed, listened to, bounded, and never left behind.

What holds for every child:
- it leads its own session, and when it ends, its process group is killed; after a timeout, a cancellation, too much
  output, or when somebody still holds its pipes, so is (on Linux) every process of the session;
- it ends with us: a watchdog process (see `guard`) kills what is left if this process dies in any way, `kill -9`
  included. A child starts behind a gate: `/bin/sh` waits for one line on its standard input, which is sent once the
  watchdog knows the child, and then becomes the program (`exec`). Dying before that ends the gate's input, and so it;
- its output and its error output are read at the same time, so that neither can block it, and both are bounded;
- one that a signal ended, as we may be about to be, is reported a moment later;
- a grandchild that holds a pipe cannot keep us waiting: once the child has ended there is `GRACE_S` for last words;
- durations are measured with a monotonic clock.

It refuses to run anything without POSIX (sessions, a shell), to use this process's whole environment, and to judge an
exit status. asyncio's own subprocesses are not used: some versions wait for the pipes and not for the child, and
they reap it before its group can be killed by a number that is certainly still its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialplate.transport import watchdog
from trialplate.transport.guard import GUARD

__all__ = ["TAIL", "ChildResult", "NotStarted", "child_environment", "resolve_program", "run_child"]

GRACE_S = 0.5
"""How long output may still come, in seconds, after the child has ended and somebody else holds its pipes."""
SHUTDOWN_S = 0.25
"""How long a child that a signal ended is looked at, in seconds, before it counts as its own end: a machine that shuts
down sends its signal to child and parent in any order, and then this wait is cancelled."""
SIGNALLED = 128
"""Above it stands the exit status of a shell whose program a signal ended."""
REAP_S = 5.0
"""How long a killed child may take to disappear."""
STDERR_BYTES = 16 * 1024
"""The end of the error output that is kept."""
TAIL = 400
"""Characters at the end of it that a message quotes."""
CHUNK = 64 * 1024
_GATE = 'read -r go && exec "$@"'
_ALLOWED = ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TZ")


class NotStarted(Exception):
    """The program could not be started; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """How a child ended, and what it said."""

    ended: Literal["exited", "timeout", "too_long"]
    status: int
    """Its exit status; a signal's number is negative (after a timeout, the one that killed it)."""
    stdout: bytes
    """What had come until it ended, at most the limit."""
    stderr: bytes
    """The end of it, at most STDERR_BYTES."""
    received: int
    """Bytes of standard output that were read."""
    duration_ms: int

    @property
    def how(self) -> str:
        """Return in words how it ended by itself: with which status, or by which signal."""
        return f"was killed by signal {-self.status}" if self.status < 0 else f"ended with {self.status}"

    def last_words(self, scrub: Callable[[str], str]) -> str:
        """Return the end of its error output for the end of a message: ": " and what it said; nothing, if it is empty.

        Args:
            scrub: replaces secrets.
        """
        said = scrub(self.stderr.decode(errors="replace")).strip()[-TAIL:]
        return f": {said}" if said else ""


def child_environment(environ: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, str]:
    """Return what a child may see of an environment: a few variables that every program needs, and the named ones."""
    wanted = {*_ALLOWED, *names}
    return {name: value for name, value in environ.items() if name in wanted or name.startswith("LC_")}


def resolve_program(name: str, cwd: Path, env: Mapping[str, str]) -> str:
    """Return the path of a program: one with a slash is relative to `cwd`, another is looked up in `env`'s PATH.

    Raises:
        NotStarted: there is no such program, or it may not be executed.
    """
    if "/" in name:
        path = cwd / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.absolute())
        raise NotStarted(f"{name} is not an executable file" if path.exists() else f"there is no program {name}")
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        raise NotStarted(f"there is no program {name!r} in PATH")
    return str(Path(found).absolute())


async def run_child(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes, timeout_s: float, limit: int
) -> ChildResult:
    """Run a program to its end and return what it said.

    Args:
        argv: the program and its arguments; no shell reads them.
        cwd: where it runs.
        env: its whole environment; see `child_environment`.
        stdin: what it reads, then end of file. It need not read it.
        timeout_s: seconds after which it is killed.
        limit: bytes of standard output after which it is killed.

    Raises:
        NotStarted: there is no such program, or the system refused to start one.
    """
    if os.name != "posix":
        raise NotStarted("programs are run on POSIX systems only: elsewhere nothing ends them with their children")
    program = resolve_program(argv[0], cwd, env)
    child = _Child(stdin, limit)
    try:
        child.start([program, *argv[1:]], cwd, env)
        try:
            async with asyncio.timeout(timeout_s):
                await child.finished()
        except TimeoutError:
            child.ended = "timeout"
    except OSError as error:
        raise NotStarted(f"{argv[0]} could not be started: {error.strerror or error}") from error
    finally:
        child.end()
    result = child.result()
    if result.ended == "exited" and (result.status < 0 or result.status > SIGNALLED):
        await asyncio.sleep(SHUTDOWN_S)
    return result


class _Child:
    """One running program and the three pipes to it."""

    def __init__(self, stdin: bytes, limit: int) -> None:
        self.ended: Literal["exited", "timeout", "too_long"] = "exited"
        self._input = memoryview(b"\n" + stdin)  # the line that opens the gate, then what the program reads
        self._limit = limit
        self._output: list[bytes] = []
        self._errors = bytearray()
        self._received = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd: int | None = None
        self._watched: dict[int, Callable[[int], object]] = {}  # descriptor -> what stops the loop watching it
        self._outputs = 2  # of them have not ended
        self._over = asyncio.Event()  # it ended, or said too much
        self._silent = asyncio.Event()  # both outputs ended
        self._started = self._stopped = time.monotonic()

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        """Start it behind the gate, make it known to the watchdog, and open the gate."""
        pipe = subprocess.PIPE
        self._process = process = subprocess.Popen(
            ["/bin/sh", "-c", _GATE, "sh", *argv],
            bufsize=0,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
        GUARD.add(process.pid)
        assert process.stdin and process.stdout and process.stderr
        self._watch_end(process)
        for stream, heard in ((process.stdout, self._heard), (process.stderr, self._heard_error)):
            self._watch(stream.fileno(), heard)
        os.set_blocking(process.stdin.fileno(), False)
        asyncio.get_running_loop().add_writer(process.stdin.fileno(), self._feed)
        self._watched[process.stdin.fileno()] = asyncio.get_running_loop().remove_writer

    async def finished(self) -> None:
        """Wait until it has ended and its outputs too, or a moment longer than itself."""
        await self._over.wait()
        if self.ended == "exited":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._silent.wait()

    def end(self) -> None:
        """Kill what is left, read what it had said, and reap it. Does not wait for anything that can be killed."""
        process = self._process
        if process is None:
            return
        self._stopped = time.monotonic()
        for descriptor in list(self._watched):
            self._unwatch(descriptor)
        # Not yet reaped, so the number is certainly still its own.
        if self._over.is_set() and self._silent.is_set() and self.ended == "exited":
            watchdog.kill_group(process.pid)
        else:
            watchdog.kill_session(process.pid)
        self._drain(process)
        GUARD.discard(process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(REAP_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def result(self) -> ChildResult:
        """Return how it went; only after `end`."""
        assert self._process is not None
        return ChildResult(
            ended=self.ended,
            status=self._process.returncode if self._process.returncode is not None else 0,
            stdout=b"".join(self._output)[: self._limit],
            stderr=bytes(self._errors[-STDERR_BYTES:]),
            received=self._received,
            duration_ms=round((self._stopped - self._started) * 1000),
        )

    def _watch(self, descriptor: int, heard: Callable[[bytes], None]) -> None:
        """Give what comes from a pipe to `heard` until the pipe ends."""

        def readable() -> None:
            chunk = _read(descriptor)
            if chunk is None:
                return
            if chunk:
                heard(chunk)
                return
            self._unwatch(descriptor)
            self._outputs -= 1
            if not self._outputs:
                self._silent.set()

        loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        loop.add_reader(descriptor, readable)
        self._watched[descriptor] = loop.remove_reader

    def _unwatch(self, descriptor: int) -> None:
        stop = self._watched.pop(descriptor, None)
        if stop is not None:
            stop(descriptor)

    def _watch_end(self, process: subprocess.Popen[bytes]) -> None:
        """Set `_over` when it ends: by a descriptor for it where there are such, else by a waiting thread."""
        loop = asyncio.get_running_loop()
        if hasattr(os, "pidfd_open"):
            self._pidfd = os.pidfd_open(process.pid)
            loop.add_reader(self._pidfd, self._over.set)
            self._watched[self._pidfd] = loop.remove_reader
            return

        def wait() -> None:
            process.wait()
            with contextlib.suppress(RuntimeError):  # the loop may be closed by then
                loop.call_soon_threadsafe(self._over.set)

        threading.Thread(target=wait, daemon=True).start()

    def _heard(self, chunk: bytes) -> None:
        if self._received <= self._limit:
            self._output.append(chunk)
        self._received += len(chunk)
        if self._received > self._limit and self.ended == "exited":
            self.ended = "too_long"
            self._over.set()

    def _heard_error(self, chunk: bytes) -> None:
        self._errors += chunk
        del self._errors[:-STDERR_BYTES]

    def _feed(self) -> None:
        """Write what the pipe takes; a program that does not read its input is none of our concern."""
        assert self._process is not None and self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        try:
            self._input = self._input[os.write(descriptor, self._input[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:
            self._input = memoryview(b"")
        if not self._input:
            self._unwatch(descriptor)
            self._process.stdin.close()

    def _drain(self, process: subprocess.Popen[bytes]) -> None:
        """Read what still stands in the pipes, without waiting."""
        for stream, heard in ((process.stdout, self._heard), (process.stderr, self._heard_error)):
            while stream is not None and self._received <= self._limit:
                chunk = _read(stream.fileno())
                if not chunk:
                    break
                heard(chunk)


def _read(descriptor: int) -> bytes | None:
    """Return a chunk, b"" at the end, None if nothing is there yet."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
