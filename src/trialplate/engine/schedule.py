# SPDX-License-Identifier: Apache-2.0
"""Who runs next: a bounded number of attempts at once, until no trial is left or somebody says stop.

Each configuration has a lane of its own, in the order of the matrix. The attempt that starts is one that was to be
tried again and is due, else the earliest trial in the matrix whose lane may go on: a model that waits for its limit,
its provider or its next attempt holds up no other, and takes none of the places at once. What is under way is an
attempt, not a trial, so there is nothing that a waiting trial could keep from another.

Trials come from iterators and are forgotten when they end; a lane has few more begun ones than may run at once. So
memory does not grow with their number.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from trialplate.engine.admission import Admission, LeftOut, Permit
from trialplate.engine.open_trial import OpenTrial, Step
from trialplate.engine.pace import REFUSALS, Hold, Waiting
from trialplate.record.entries import TrialEnd, TrialKey, Usage
from trialplate.record.matrix import Matrix

__all__ = ["STOP_AFTER", "Attempts", "Clock", "Monotonic", "Schedule", "Stop", "lane_of"]

STOP_AFTER = 5
"""Trials of one configuration, over different cases, that end in an infrastructure error one after the other."""
MOST_WAITING = 16
"""Begun trials of a lane that may wait for their next attempt, beside as many as may run at once."""
GIVE_WAY_S = 0.05
"""How long trials that never wait may keep signals and checkpoints waiting."""


class Stop:
    """Why a run ends before its last trial, or leaves some out, if it does."""

    def __init__(self, wave: Callable[[str], int] = lambda name: 0) -> None:
        """Take what tells how many times the provider of a configuration was slowed down."""
        self.reason: str | None = None
        self.left_out: LeftOut | None = None
        """Why trials were left out, though the run went through all."""
        self.cut = False
        """What is under way is not waited for."""
        self._wave = wave
        self._asked, self._cut = asyncio.Event(), asyncio.Event()
        self._in_a_row: dict[str, set[str | int]] = {}

    def request(self, reason: str, *, cut: bool = True) -> None:
        """Ask the run to end, now or once what is under way has ended; the first reason stays."""
        self.reason = self.reason or reason
        self._asked.set()
        if cut:
            self.cut = True
            self._cut.set()

    def saw(self, end: TrialEnd) -> None:
        """Count infrastructure errors in a row, and ask to stop when nothing gets through any more.

        Trials that a provider refused for going too fast count once for each time it was slowed down: a hundred of
        them may end in one storm, and it says when to come back. An answer whose helper has said its last word tells
        nothing: nobody was asked again, and a resumed run would never get beyond such trials.
        """
        name, case, _ = end.trial
        said_before = end.answer_of is not None and end.private.replies and not end.helper_calls
        if end.outcome == "skipped" or (end.outcome == "error" and said_before):
            return
        if end.outcome != "error":
            self._in_a_row.pop(name, None)
            return
        met = self._in_a_row.setdefault(name, set())
        met.add(self._wave(name) if end.status in REFUSALS else case)
        if len(met) >= STOP_AFTER:
            self.request("infrastructure", cut=False)  # another model's answers may be under way, and be paid for

    async def wait(self) -> None:
        """Return once somebody asked."""
        await self._asked.wait()

    async def wait_cut(self) -> None:
        """Return once what is under way is no longer waited for."""
        await self._cut.wait()


class Clock(Protocol):
    """A clock that only goes forward, and calls back."""

    def now(self) -> float:
        """Return its time, in seconds."""
        ...

    def call_at(self, when: float, act: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back at a time, unless that is cancelled."""
        ...


class Monotonic:
    """The machine's monotonic clock: setting its date changes nothing."""

    now = staticmethod(time.monotonic)

    def call_at(self, when: float, act: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back at a time."""
        return asyncio.get_running_loop().call_later(max(0.0, when - time.monotonic()), act)


class Attempts(Protocol):
    """What makes attempts and writes them down: `TrialRunner`."""

    def open(self, key: TrialKey) -> OpenTrial:
        """Begin with a trial; nothing is written."""
        ...

    async def attempt(self, trial: OpenTrial) -> Step:
        """Make its next attempt."""
        ...

    def skip(self, trial: OpenTrial) -> TrialEnd:
        """Write down that its next attempt is not made."""
        ...

    def abandon(self, trial: OpenTrial) -> None:
        """Count it as it stands; its next attempt is not made now."""
        ...


def lane_of(
    matrix: Matrix, name: str, wants: Callable[[TrialKey], bool], order: Sequence[str] = ()
) -> Iterator[tuple[int, TrialKey]]:
    """Yield the trials of one configuration that are wanted, each with its place in the order of all trials.

    Args:
        wants: asked of each trial when its turn has come.
        order: case ids; where they are given, all trials of a case come before those of the next. Else the order is
            the matrix's, repeat outermost.
    """
    row, width = matrix.counts[name], len(matrix.cases)
    if order:
        deepest = max(map(matrix.repeats, matrix.counts)) + 1
        repeats = {case.id: number for case, number in zip(matrix.cases, row, strict=True)}
        for index, case_id in enumerate(order):
            for repeat in range(1, repeats[case_id] + 1):
                if wants(key := (name, case_id, repeat)):
                    yield index * deepest + repeat, key
        return
    for repeat in range(1, max(row, default=0) + 1):
        for index, case in enumerate(matrix.cases):
            if repeat <= row[index] and wants(key := (name, case.id, repeat)):
                yield repeat * width + index, key


class _Lane:
    """The trials of one configuration: those to be tried again by the time they are due, and the next new one."""

    def __init__(self, number: int, name: str, trials: Iterator[tuple[int, TrialKey]]) -> None:
        self.number, self.name, self.trials = number, name, trials
        self.has_more = False
        """There is a trial that has not begun."""
        self.again: list[tuple[float, int, OpenTrial]] = []
        self.begun = 0
        """Trials that have begun and not ended."""
        self.hold: Hold | None = None


_Fresh = tuple[int, int, _Lane, OpenTrial]
"""A trial that has not begun, by its place in the matrix and its lane's number."""


class Schedule:
    """One session's attempts, from its lanes to their ends."""

    def __init__(
        self,
        lanes: Mapping[str, Iterator[tuple[int, TrialKey]]],
        attempts: Attempts,
        admission: Admission,
        at_once: int,
        clock: Clock | None = None,
    ) -> None:
        """Take lanes by configuration, in its order; a lane's places rise.

        Args:
            at_once: attempts under way at the same time.
        """
        self._attempts, self._admission, self._at_once = attempts, admission, at_once
        self._clock = clock or Monotonic()
        self._lanes = [_Lane(number, name, trials) for number, (name, trials) in enumerate(lanes.items())]
        self._fresh: list[_Fresh] = []
        for lane in self._lanes:
            self._take_up(lane)
        self._again = self._under_way = self._count = 0
        self._next_at = math.inf
        self._sleepers: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._gave_way = self._clock.now()

    async def run(self, done: Callable[[TrialEnd], None], stop: Stop) -> None:
        """Run every trial, or until a stop is asked for.

        What is under way then is waited for, or cancelled and waited for, as the stop says.

        Args:
            done: told of each trial that ends, or is left out.

        Raises:
            Exception: whatever an attempt raised besides being cancelled; the others were cancelled first.
        """
        workers = [asyncio.create_task(self._work(done, stop)) for _ in range(self._at_once)]
        draining, watcher = asyncio.create_task(self._drained(stop)), asyncio.create_task(stop.wait_cut())
        try:
            pending: set[asyncio.Task[None]] = set(workers)
            while pending and not stop.cut:
                finished, pending = await asyncio.wait({*pending, watcher}, return_when=asyncio.FIRST_COMPLETED)
                pending.discard(watcher)
                if any(task is not watcher and task.exception() is not None for task in finished):
                    break
        finally:
            for task in (*workers, draining, watcher):
                task.cancel()
            results = await asyncio.gather(*workers, draining, watcher, return_exceptions=True)
            if self._timer is not None:
                self._timer.cancel()
            for lane in self._lanes:
                for _, _, trial in lane.again:
                    self._attempts.abandon(trial)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _drained(self, stop: Stop) -> None:
        """Let the workers that wait for something to begin see that nothing begins any more."""
        await stop.wait()
        self._wake(len(self._sleepers))

    @property
    def exhausted(self) -> bool:
        """Say whether no trial is left to begin, or to be tried again."""
        return not (self._fresh or self._again)

    def take_back(self, needs: Callable[[TrialKey], bool]) -> None:
        """Begin no trial that is not needed any more. What is under way, or will be tried again, goes on."""
        gone = [item for item in self._fresh if not needs(item[3].key)]
        self._fresh = [item for item in self._fresh if needs(item[3].key)]
        heapq.heapify(self._fresh)
        for _, _, lane, _ in gone:
            self._take_up(lane)

    def waiting(self) -> list[Waiting]:
        """Return what trials wait for now, in the order of the configurations; what several wait for stands once."""
        now = self._clock.now()
        found: dict[tuple[str, str, float | None], int] = {}
        for lane in self._lanes:
            hold, number = lane.hold, len(lane.again)
            if hold is not None and (hold.until is None or hold.until > now):
                found[hold] = found.get(hold, 0) + number + lane.has_more
            elif number and lane.again[0][0] > now:
                found[lane.name, "to be tried again", lane.again[0][0]] = number
        return [Waiting(who, reason, trials, until) for (who, reason, until), trials in found.items()]

    # ------------------------------------------------------------------------------------------------ one worker

    async def _work(self, done: Callable[[TrialEnd], None], stop: Stop) -> None:
        """Make one attempt after the other, of whichever trial may go on."""
        while stop.reason is None:
            now = self._clock.now()
            found = self._next(now)
            if found is None:
                if not (self._fresh or self._again or self._under_way):
                    self._wake(len(self._sleepers))
                    return
                await self._sleep()
                continue
            self._wake(1)  # there may be more that can start
            lane, trial, permit = found
            if isinstance(permit, str):
                stop.left_out = stop.left_out or permit
                lane.begun -= 1
                done(self._attempts.skip(trial))
            else:
                await self._attempt(lane, trial, permit, done)
            if now - self._gave_way > GIVE_WAY_S:
                self._gave_way = now
                await asyncio.sleep(0)

    async def _attempt(self, lane: _Lane, trial: OpenTrial, permit: Permit, done: Callable[[TrialEnd], None]) -> None:
        self._under_way += 1
        trial.place_given_back = False
        trial.answered = partial(self._answered, trial, permit)
        try:
            step = await self._attempts.attempt(trial)
        finally:
            self._under_way -= 1
        now = self._clock.now()
        self._admission.settle(trial, permit, step, now)
        if step.delay_s is None:
            lane.begun -= 1
            done(step.end)
        else:
            self._count += 1
            self._again += 1
            heapq.heappush(lane.again, (now + step.delay_s, self._count, trial))

    def _answered(self, trial: OpenTrial, permit: Permit, usage: Usage | None) -> None:
        """Let another attempt take the place of one whose answer has come."""
        self._admission.answered(trial, permit, usage, self._clock.now())
        self._wake(1)

    def _next(self, now: float) -> tuple[_Lane, OpenTrial, Permit | LeftOut] | None:
        """Return an attempt that may start, everything it needs taken, or one that is left out; None if all wait."""
        ends_at = self._admission.ends_at
        self._next_at = math.inf if ends_at is None or ends_at <= now else ends_at
        for lane in self._lanes if self._again else ():
            if lane.again and (permit := self._asked(lane, lane.again[0][2], now, lane.again[0][0])) is not None:
                self._again -= 1
                return lane, heapq.heappop(lane.again)[2], permit
        held: list[_Fresh] = []
        found = None
        while self._fresh and found is None:
            item = heapq.heappop(self._fresh)
            _, _, lane, trial = item
            # What has begun comes first once it is due; a lane does not begin ever more beside it.
            permit = None if lane.begun >= self._at_once + MOST_WAITING else self._asked(lane, trial, now)
            if permit is None:
                held.append(item)
            else:
                found = lane, trial, permit
                lane.begun += 1
                self._take_up(lane)
        for item in held:
            heapq.heappush(self._fresh, item)
        return found

    def _take_up(self, lane: _Lane) -> None:
        """Look at the next new trial of a lane, if it has one."""
        place, key = next(lane.trials, (0, None))
        lane.has_more = key is not None
        if key is not None:
            heapq.heappush(self._fresh, (place, lane.number, lane, self._attempts.open(key)))

    def _asked(self, lane: _Lane, trial: OpenTrial, now: float, due: float = -math.inf) -> Permit | LeftOut | None:
        """Ask for an attempt; None if it waits, which is noted."""
        ends_at = self._admission.ends_at
        if due > now and (ends_at is None or now < ends_at):
            self._next_at = min(self._next_at, due)
            return None
        answer = self._admission.ask(trial, now)
        if isinstance(answer, Hold):
            lane.hold = answer
            if answer.until is not None:
                self._next_at = min(self._next_at, answer.until)
            return None
        lane.hold = None
        return answer

    # ---------------------------------------------------------------------------------------------------- waiting

    async def _sleep(self) -> None:
        """Wait until something ends, or until the time at which something could start."""
        if not self._under_way and self._next_at == math.inf:
            raise RuntimeError("every trial waits, and nothing is under way that could end it")
        if self._next_at < math.inf:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._clock.call_at(self._next_at, lambda: self._wake(1))
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        await sleeper

    def _wake(self, number: int) -> None:
        """Let some workers look again."""
        while self._sleepers and number:
            sleeper = self._sleepers.pop()
            if not sleeper.done():
                sleeper.set_result(None)
                number -= 1
