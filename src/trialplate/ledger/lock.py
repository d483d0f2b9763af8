# SPDX-License-Identifier: Apache-2.0
"""One writer at a time: a lock file beside what is written, never the written file itself.

The lock is the operating system's and goes with the process that holds it, however that process ends; the file stays
and means nothing by itself. filelock is imported here when a lock is first taken, which takes a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trialplate.errors import StorageError
from trialplate.ledger.durable import storage

__all__ = ["LOCK_NAME", "hold", "is_held"]

LOCK_NAME = ".lock"
TIMEOUT_S = 30.0
"""Appending to a ledger takes milliseconds; whoever waits this long waits for something that hangs."""
POLL_S = 0.005


def is_held(path: Path) -> bool:
    """Say whether another process holds a lock now. A lock file that is not there, or that nobody may use, is free."""
    if not path.exists():
        return False
    try:
        with hold(path, "", 0):
            return False
    except StorageError as error:
        return error.code == "LOCKED"


@contextmanager
def hold(path: Path, holder: str, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Hold the lock for the length of the block.

    Args:
        path: the lock file; made if it is not there.
        holder: who else may hold it, for the error, such as "a run, gate or waive of this project".
        timeout_s: how long to wait for it, in seconds.

    Raises:
        StorageError: somebody else held it all the while, or it cannot be made.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=timeout_s)
    with storage(path, "locked"):
        try:
            lock.acquire(poll_interval=POLL_S)
        except Timeout:
            raise StorageError(
                f"is held by another process since at least {timeout_s:g} s: {holder}",
                where=str(path),
                hint="wait until it is done, or end it; the lock goes with the process, the file may stay",
                code="LOCKED",
            ) from None
    try:
        yield
    finally:
        lock.release()
