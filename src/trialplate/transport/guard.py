# SPDX-License-Identifier: Apache-2.0
"""This process's end of the watchdog: starts it with the first child, and keeps it told which children are alive.

One per process, shared by every event loop and thread in it. A fork of this process gets a watchdog of its own with its
first child; one that somebody killed is replaced when the next child starts or ends. It refuses to go on if the
watchdog does not come up: a child that could outlive us is not started.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

from trialplate.errors import RunError
from trialplate.transport import watchdog

__all__ = ["GUARD", "Guard"]

STOP_S = 5.0
"""How long the watchdog may take to end once it has nothing to guard."""
_LIBRARIES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter may need to start; nothing else of the environment goes to it."""


class Guard:
    """The children that are alive, and the process that knows them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._children: set[int] = set()

    def add(self, pid: int) -> None:
        """Make a child known."""
        with self._lock:
            if self._owner != os.getpid():  # never started, or we are a fork of who started it
                self._children.clear()
                self._start()
            self._children.add(pid)
            self._tell(f"+{pid}\n")

    def discard(self, pid: int) -> None:
        """Forget a child that is dead and about to be reaped."""
        with self._lock:
            if pid in self._children:
                self._children.discard(pid)
                self._tell(f"-{pid}\n")

    def stop(self) -> None:
        """Let it end, and reap it."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            assert process.stdin is not None
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)

    def _tell(self, line: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
        except BrokenPipeError:  # somebody killed it
            self.stop()
            self._start()
            for pid in self._children:
                self._process.stdin.write(f"+{pid}\n".encode())

    def _start(self) -> None:
        """Start it and wait, some 15 ms, until it listens."""
        environment = {name: os.environ[name] for name in _LIBRARIES if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        with self._process.stdout as out:
            if out.read(len(watchdog.READY)) != watchdog.READY:
                raise RunError(
                    "the process that would end our children did not start",
                    hint=f"try: {sys.executable} -I -S {Path(watchdog.__file__).name}",
                    code="WATCHDOG",
                )
        self._owner = os.getpid()


GUARD = Guard()
atexit.register(GUARD.stop)
