# SPDX-License-Identifier: Apache-2.0
"""A process that outlives its parent by a moment, to kill what the parent started.

`process` runs this file with a bare interpreter (standard library only, nothing of Trialplate) and holds the only
write end of its standard input. Lines "+PID" and "-PID" add and remove a child, which leads its own session. When the
input ends, the parent is gone, however it died, kill -9 included: every child still listed is killed with its session.

Why not the kernel's parent-death signal: it reaches only the child itself and not its children, is tied to the thread
that forked, and has to be set between fork and exec, where Python code is unsafe in a process with threads.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

__all__ = ["READY", "kill_group", "kill_session"]

READY = b"ready\n"
"""What it writes once it listens."""
ROUNDS = 8
"""How often a session is searched for members that were forked meanwhile."""


def kill_group(leader: int) -> None:
    """Kill the process group of a leader, if anybody is left in it."""
    _signal(os.killpg, leader)


def kill_session(leader: int) -> None:
    """Kill a session: its leader's process group, and on Linux whatever else belongs to it.

    A process that made itself a new session is out of reach; containers are the answer to that.
    """
    kill_group(leader)
    for _ in range(ROUNDS):
        others = _members(leader)
        if not others:
            return
        for pid in others:
            _signal(os.kill, pid)


def _signal(send: Callable[[int, int], None], number: int) -> None:
    try:
        send(number, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _members(leader: int) -> list[int]:
    """Return the living processes of a session, as far as /proc shows them."""
    found = []
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # "pid (name, which may hold anything) state parent group session ..."
                state, _, _, session = file.read().rpartition(b") ")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(session) == leader and state not in (b"Z", b"X"):
            found.append(int(name))
    return found


def main() -> None:
    """Listen until the parent is gone, then kill what it left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.write(1, READY)
    children: set[int] = set()
    for line in sys.stdin:
        if line.endswith("\n"):  # else the parent died while it wrote
            change = children.add if line.startswith("+") else children.discard
            change(int(line[1:]))
    for leader in children:
        kill_session(leader)


if __name__ == "__main__":
    main()
