# SPDX-License-Identifier: Apache-2.0
"""A clock that stands still until it is told to go on, and attempts that take as long on it as they are told to."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from small_runs import ended

from trialplate.engine.admission import Admission
from trialplate.engine.budget import Purse
from trialplate.engine.open_trial import OpenTrial, Step
from trialplate.engine.pace import Pace, Waiting
from trialplate.engine.schedule import Schedule, Stop
from trialplate.record.entries import Money, TrialEnd, TrialKey, Usage
from trialplate.record.values import Configuration, Plan, PlanCase
from trialplate.runners.base import Failure
from trialplate.spec.bounds import Bound


class _Handle:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeClock:
    """Time that passes only in `pass_on`."""

    def __init__(self) -> None:
        self.time, self.number = 0.0, 0
        self.calls: list[tuple[float, int, _Handle, Callable[[], None]]] = []

    def now(self) -> float:
        """Return its time."""
        return self.time

    def call_at(self, when: float, act: Callable[[], None]) -> Any:
        """Call back once the time has come."""
        self.number += 1
        handle = _Handle()
        heapq.heappush(self.calls, (when, self.number, handle, act))
        return handle

    async def sleep(self, seconds: float) -> None:
        """Take so long."""
        woken = asyncio.get_running_loop().create_future()
        handle = self.call_at(self.time + seconds, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            handle.cancel()

    def pass_on(self) -> bool:
        """Go to the next moment at which somebody is called; False if there is none."""
        while self.calls:
            when, _, handle, act = heapq.heappop(self.calls)
            if not handle.cancelled:
                self.time = max(self.time, when)
                act()
                return True
        return False


@dataclass
class Reply:
    """What becomes of one attempt."""

    takes_s: float = 1.0
    status: int | None = None
    """Of a refusal or a failure; None: an answer."""
    asked_s: float | None = None
    delay_s: float | None = None
    """Until the next attempt; None: the trial ends."""
    tokens: int | None = None
    cost: int | None = 0


class FakeAttempts:
    """Attempts that come to what a function says, and a note of when each began and ended."""

    def __init__(self, clock: FakeClock, reply: Callable[[OpenTrial, float], Reply], retries: int = 2) -> None:
        self.clock, self.reply, self.retries = clock, reply, retries
        self.begun: list[tuple[float, TrialKey, int]] = []
        self.skipped: list[TrialKey] = []
        self.abandoned: list[TrialKey] = []
        self.under_way = self.most = 0

    def open(self, key: TrialKey) -> OpenTrial:
        """Begin."""
        return OpenTrial(key, range(1, self.retries + 2), asks=True, reasked=False)

    async def attempt(self, trial: OpenTrial) -> Step:
        """Take as long as told, and come to what was told."""
        self.begun.append((self.clock.time, trial.key, trial.number))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        number = trial.number
        told = self.reply(trial, self.clock.time)
        try:
            if told.takes_s:
                await self.clock.sleep(told.takes_s)
        finally:
            self.under_way -= 1
        usage = None if told.tokens is None else Usage(input=told.tokens, output=0)
        cost = None if told.cost is None else Money(nano=told.cost, currency="USD")
        if told.status is None:
            trial.end = ended(trial.key, number, usage=usage, cost=cost)
            return Step(trial.end, None, None)
        last = number >= trial.attempts[-1]
        delay = None if last else told.delay_s
        cause = "rate_limited" if told.status == 429 else "server_error"
        trial.end = ended(trial.key, number, "error", cause=cause, status=told.status, retry=delay is not None)
        failure = Failure("http_status", "no", status=told.status, retry_after_s=told.asked_s, sent=True)
        return Step(trial.end, failure, delay)

    def skip(self, trial: OpenTrial) -> TrialEnd:
        """Note it."""
        self.skipped.append(trial.key)
        return TrialEnd(trial=trial.key, attempt=trial.number, outcome="skipped", cause="budget")

    def abandon(self, trial: OpenTrial) -> None:
        """Note it."""
        self.abandoned.append(trial.key)


class FlatBounds:
    """The same bound for every case."""

    def __init__(self, tokens: int = 0, nano: int | None = 0) -> None:
        cost = None if nano is None else Money(nano=nano, currency="USD")
        self.bound = Bound(tokens, 0, True, cost, first_tokens=tokens)

    def of(self, case_id: str) -> Bound:
        """Return it."""
        return self.bound


def lanes_of(plan: Plan, counts: Mapping[str, int]) -> dict[str, Iterator[tuple[int, TrialKey]]]:
    """Return lanes of so many trials each, q1, q2, ..."""

    def lane(name: str, number: int) -> Iterator[tuple[int, TrialKey]]:
        return ((index, (name, f"q{index}", 1)) for index in range(1, number + 1))

    return {item.name: lane(item.name, counts.get(item.name, 0)) for item in plan.configurations}


@dataclass
class Played:
    """What came of a schedule."""

    attempts: FakeAttempts
    ends: list[TrialEnd]
    stop: Stop
    time: float
    waited: list[list[Waiting]]


def play(
    plan: Plan,
    counts: Mapping[str, int],
    reply: Callable[[OpenTrial, float], Reply],
    *,
    at_once: int = 4,
    bounds: Mapping[str, Any] | None = None,
    limit_nano: int | None = None,
    ends_at: float | None = None,
    retries: int = 2,
    until: Callable[[FakeClock, Stop], None] = lambda clock, stop: None,
) -> Played:
    """Run a schedule to its end on a clock of its own.

    Raises:
        AssertionError: it waits, and nothing will ever wake it.
    """

    async def played() -> Played:
        clock = FakeClock()
        attempts = FakeAttempts(clock, reply, retries)
        pace = Pace(plan, clock.now())
        purse = None if limit_nano is None else Purse(limit_nano)
        given = bounds or {item.name: FlatBounds() for item in plan.configurations}
        schedule = Schedule(lanes_of(plan, counts), attempts, Admission(pace, given, purse, ends_at), at_once, clock)
        stop, ends, waited = Stop(pace.wave), list[TrialEnd](), list[list[Waiting]]()

        def done(end: TrialEnd) -> None:
            ends.append(end)
            stop.saw(end)

        running = asyncio.create_task(schedule.run(done, stop))
        while not running.done():
            for _ in range(3 * at_once + 10):  # let everything that can go on go on
                await asyncio.sleep(0)
            if running.done():
                break
            waited.append(schedule.waiting())
            asked = stop.reason is not None
            until(clock, stop)
            if stop.reason is None:
                assert clock.pass_on(), "it waits, and nothing will ever wake it"
            elif asked and not stop.cut:
                clock.pass_on()
        await running
        return Played(attempts, ends, stop, clock.time, waited)

    return asyncio.run(played())


def limited(name: str, cases: Sequence[PlanCase] = (), **fields: Any) -> Configuration:
    """Return a configuration of a hosted model."""
    return Configuration(
        **{"name": name, "model": name, "profile": "default", "runner": "openai-compatible", "model_id": "m", **fields}
    )


def most_within(times: Iterable[float], seconds: float) -> int:
    """Return the largest number of moments in any window of so many seconds."""
    ordered = sorted(times)
    most = first = 0
    for index, time in enumerate(ordered):
        while ordered[first] <= time - seconds + 1e-6:
            first += 1
        most = max(most, index - first + 1)
    return most
