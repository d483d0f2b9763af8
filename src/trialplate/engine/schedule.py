# SPDX-License-Identifier: Apache-2.0
"""Who runs next: a bounded number of trials at once, in the matrix's order, until none is left or somebody says stop.

Trials come from an iterator and are forgotten when they end, so memory does not grow with their number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from trialplate.record.entries import TrialEnd, TrialKey

__all__ = ["STOP_AFTER", "Stop", "drive"]

STOP_AFTER = 5
"""Trials of one configuration, over different cases, that end in an infrastructure error one after the other."""


class Stop:
    """Why a run ends before its last trial, if it does."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._event = asyncio.Event()
        self._in_a_row: dict[str, set[str]] = {}

    def request(self, reason: str) -> None:
        """Ask the run to end; the first reason stays."""
        self.reason = self.reason or reason
        self._event.set()

    def saw(self, end: TrialEnd) -> None:
        """Count infrastructure errors in a row, and ask to stop when nothing gets through any more."""
        name, case, _ = end.trial
        if end.outcome != "error":
            self._in_a_row.pop(name, None)
            return
        cases = self._in_a_row.setdefault(name, set())
        cases.add(case)
        if len(cases) >= STOP_AFTER:
            self.request("infrastructure")

    async def wait(self) -> None:
        """Return once somebody asked."""
        await self._event.wait()


async def drive(
    trials: Iterator[TrialKey],
    run_trial: Callable[[TrialKey], Awaitable[TrialEnd]],
    done: Callable[[TrialEnd], None],
    stop: Stop,
    at_once: int,
) -> None:
    """Run trials until the iterator is empty or a stop is asked for; then cancel what is under way and wait for it.

    Raises:
        Exception: whatever a trial raised besides being cancelled; the others were cancelled first.
    """

    async def work() -> None:
        for key in trials:
            end = await run_trial(key)
            done(end)
            if stop.reason is not None:
                return

    workers = [asyncio.create_task(work()) for _ in range(at_once)]
    watcher = asyncio.create_task(stop.wait())
    try:
        pending: set[asyncio.Task[None]] = set(workers)
        while pending and stop.reason is None:
            finished, pending = await asyncio.wait({*pending, watcher}, return_when=asyncio.FIRST_COMPLETED)
            pending.discard(watcher)
            if any(task is not watcher and task.exception() is not None for task in finished):
                break
    finally:
        for task in (*workers, watcher):
            task.cancel()
        results = await asyncio.gather(*workers, watcher, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
