# SPDX-License-Identifier: Apache-2.0
"""Code of one's own in this process: bounded, and unable to hold up or end the run."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from trialplate.transport import calls
from trialplate.transport.calls import CallRaised, CallTimeout, call, within


async def doubled(number: int) -> int:
    """Answer later."""
    await asyncio.sleep(0)
    return 2 * number


@pytest.mark.parametrize(
    "function", [lambda n: 2 * n, doubled, lambda n: doubled(n)], ids=["plain", "coroutine", "both"]
)
async def test_function_and_coroutine_are_called_apart_from_the_run(function: Any) -> None:
    """Whichever it is, what it returns comes back."""
    assert await call(function, 4, timeout_s=30) == 8


async def test_plain_function_runs_in_a_thread_and_coroutines_share_one_loop() -> None:
    """A client that one call opened can be used by the next."""

    async def where() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
        return asyncio.get_running_loop(), threading.current_thread()

    first, second = await call(where, timeout_s=30), await call(where, timeout_s=30)
    assert first == second
    assert first[0] is not asyncio.get_running_loop()
    thread = await call(threading.current_thread, timeout_s=30)
    assert thread is not threading.main_thread()
    assert thread.daemon


async def fail(error: BaseException) -> None:
    """Raise something."""
    raise error


def fail_plainly(error: BaseException) -> None:
    """Raise something."""
    raise error


@pytest.mark.parametrize("function", [fail, fail_plainly])
@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
async def test_whatever_it_raises_is_told_with_its_place(function: Any, error: BaseException) -> None:
    """Also what would end the process, or the loop."""
    with pytest.raises(CallRaised, match=rf"{type(error).__name__}.*\(test_calls\.py:\d+\)"):
        await call(function, error, timeout_s=30)
    assert await call(doubled, 1, timeout_s=30) == 2


async def test_coroutine_that_cancels_itself_has_raised() -> None:
    """It is not the run that was cancelled."""

    async def cancels() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CallRaised, match="CancelledError"):
        await call(cancels, timeout_s=30)


async def test_hang_of_a_thread_is_left_behind() -> None:
    """It goes on until the process ends, and holds nobody up."""
    let_go = threading.Event()
    with pytest.raises(CallTimeout):
        await call(let_go.wait, timeout_s=0.01)
    let_go.set()


async def test_hang_of_a_coroutine_is_cancelled_and_the_loop_stays() -> None:
    """A slow answer of one takes the shared client from nobody."""
    cancelled = threading.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    before = await call(loop, timeout_s=30)
    with pytest.raises(CallTimeout):
        await call(waits, timeout_s=0.01)
    assert await asyncio.to_thread(cancelled.wait, 30)
    assert await call(loop, timeout_s=30) is before


async def test_loop_that_is_blocked_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coroutine that blocks spoils its own loop, and the next one gets another."""
    monkeypatch.setattr(calls, "GRACE_S", 0.01)
    let_go = threading.Event()

    async def blocks() -> None:
        let_go.wait()

    with pytest.raises(CallTimeout):
        await call(blocks, timeout_s=0.01)
    assert await call(doubled, 3, timeout_s=30) == 6
    let_go.set()


async def test_run_that_is_cancelled_does_not_wait() -> None:
    """Ctrl-C ends an attempt at once, whatever the code does."""
    begun, let_go = threading.Event(), threading.Event()

    def waits() -> None:
        begun.set()
        let_go.wait()

    waiting = asyncio.create_task(call(waits, timeout_s=600))
    assert await asyncio.to_thread(begun.wait, 30)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    let_go.set()
    assert sys.exc_info() == (None, None, None)


def _not_made() -> Awaitable[str]:
    raise ValueError("before there was anything to await")


def _no_awaitable() -> Any:
    return 1


@pytest.mark.parametrize(("made", "words"), [(_not_made, "before there was"), (_no_awaitable, "await")])
async def test_what_makes_nothing_to_await_has_raised(made: Callable[[], Awaitable[Any]], words: str) -> None:
    """A plain function where a coroutine belongs is a failure of that code, and no end of the run."""
    with pytest.raises(CallRaised, match=words):
        await within(made, 30.0, KeyError)


async def test_what_may_pass_goes_on_as_it_is() -> None:
    """A runner's Failure and a scorer's ScorerError say more than that something was raised."""

    async def told() -> None:
        raise KeyError("told")

    with pytest.raises(KeyError):
        await within(told, 30.0, KeyError)
