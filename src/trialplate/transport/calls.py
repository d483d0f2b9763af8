# SPDX-License-Identifier: Apache-2.0
"""Calling code of a person's own that lives in this process: bounded in time, and unable to hold up the run.

A plain function is called in a thread of its own; a coroutine runs in a loop that all such code shares for as long as
the process lives, so that a client which one call opened can be used by the next. Neither is the run's thread: whatever
blocks, exits or raises there, trials go on being journaled. A thread cannot be killed: what hangs is left behind, as a
daemon, and a shared loop that is blocked is replaced.

Code that must not be able to hurt the process is a program, and belongs to the runner or scorer `python`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from trialplate.transport.function_child import last_line

__all__ = ["CallRaised", "CallTimeout", "call", "within"]

GRACE_S = 1.0
"""How long a shared loop may take to say that it is not blocked."""
_NAME = "trialplate own code"


class CallRaised(Exception):
    """The code raised; the message is the last line of its traceback, and where that was."""


class CallTimeout(Exception):
    """The code was not done in time."""


async def call(function: Callable[..., Any], *arguments: Any, timeout_s: float) -> Any:
    """Return what a function returns, or what the awaitable that it returns comes to.

    Args:
        function: plain or a coroutine function.
        timeout_s: for all of it, in seconds.

    Raises:
        CallRaised: it raised, whatever it was, also SystemExit.
        CallTimeout: it was not done in time.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + timeout_s
    if inspect.iscoroutinefunction(function):
        return await _awaited(lambda: function(*arguments), ends)
    found = await _done(_in_thread(lambda: function(*arguments)), ends)
    return await _awaited(lambda: found, ends) if inspect.isawaitable(found) else found


async def within(made: Callable[[], Awaitable[Any]], timeout_s: float, passing: type[Exception]) -> Any:
    """Return what an awaitable comes to in the run's own loop, which it must not block.

    Args:
        made: makes it.
        timeout_s: for all of it, in seconds.
        passing: what it may raise, which goes on as it is.

    Raises:
        CallRaised: it raised anything else.
        CallTimeout: it was not done in time.
    """
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await made()
    except (passing, asyncio.CancelledError):
        raise
    except Exception as error:
        if limit.expired():
            raise CallTimeout from None
        raise CallRaised(last_line(error)) from error


async def _awaited(made: Callable[[], Awaitable[Any]], ends: float) -> Any:
    """Return what an awaitable comes to in the shared loop."""

    async def kept() -> tuple[Any, BaseException | None]:
        try:
            return await made(), None
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # SystemExit would end the loop
            return None, error

    side = _shared.get()
    try:
        return await _done(asyncio.run_coroutine_threadsafe(kept(), side), ends)
    except CallTimeout:
        await _shared.drop_if_blocked(side)
        raise


async def _done(future: Future[tuple[Any, BaseException | None]], ends: float) -> Any:
    """Wait for a call until its time is over."""
    waited = asyncio.wrap_future(future)
    try:
        done, _ = await asyncio.wait({waited}, timeout=max(0.0, ends - asyncio.get_running_loop().time()))
    finally:
        if not waited.done():
            waited.cancel()
    if not done:
        raise CallTimeout
    if waited.cancelled():
        raise CallRaised("CancelledError")
    result, error = waited.result()
    if error is not None:
        raise CallRaised(last_line(error)) from error
    return result


def _in_thread(function: Callable[[], Any]) -> Future[tuple[Any, BaseException | None]]:
    """Call a function in a thread that nothing waits for at the end."""
    future: Future[tuple[Any, BaseException | None]] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result((function(), None))
        except BaseException as error:
            future.set_result((None, error))

    threading.Thread(target=run, name=_NAME, daemon=True).start()
    return future


class _SharedLoop:
    """The loop that coroutines share; it runs in a thread of its own until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name=_NAME, daemon=True).start()
            return self._loop

    async def drop_if_blocked(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the next coroutine have another loop if this one does not turn any more."""
        turned = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
        done, _ = await asyncio.wait({turned}, timeout=GRACE_S)
        if not done:
            with self._lock:
                self._loop = None if self._loop is loop else self._loop


_shared = _SharedLoop()
