# SPDX-License-Identifier: Apache-2.0
"""Who runs next: bounded, in order, and ended in order by a stop, a failure, or five outages in a row."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from fake_time import Reply, limited, play
from small_runs import ended, matrix_of, plan_of

from trialplate.engine.admission import Admission
from trialplate.engine.open_trial import OpenTrial, Step
from trialplate.engine.pace import Pace
from trialplate.engine.schedule import STOP_AFTER, Schedule, Stop, lane_of
from trialplate.record.entries import Narrowing, TrialEnd, TrialKey
from trialplate.record.matrix import narrow
from trialplate.record.values import MatrixLine, Selector

KEYS: list[TrialKey] = [("m", f"q{n}", 1) for n in range(1, 21)]


class _OneAttempt:
    """Trials of one attempt each."""

    def __init__(self, run: Callable[[TrialKey], Awaitable[TrialEnd]]) -> None:
        self._run = run

    def open(self, key: TrialKey) -> OpenTrial:
        return OpenTrial(key, range(1, 2), asks=True, reasked=False)

    async def attempt(self, trial: OpenTrial) -> Step:
        return Step(await self._run(trial.key), None, None)

    def skip(self, trial: OpenTrial) -> TrialEnd:
        raise AssertionError("nothing bounds it")

    def abandon(self, trial: OpenTrial) -> None:
        raise AssertionError("nothing waits")


async def drive(
    keys: Iterator[TrialKey],
    run: Callable[[TrialKey], Awaitable[TrialEnd]],
    done: Callable[[TrialEnd], None],
    stop: Stop,
    at_once: int,
) -> None:
    """Run a schedule of one lane."""
    admission = Admission(Pace(plan_of(1), 0.0), {})
    await Schedule({"m": enumerate(keys)}, _OneAttempt(run), admission, at_once).run(done, stop)


class Gate:
    """Trials that begin when they are called and end when they are let go."""

    def __init__(self) -> None:
        self.begun: list[TrialKey] = []
        self.cancelled: list[TrialKey] = []
        self.waiting: dict[TrialKey, asyncio.Future[TrialEnd]] = {}
        self.most = 0

    async def run(self, key: TrialKey) -> TrialEnd:
        """Be a trial."""
        self.begun.append(key)
        self.waiting[key] = asyncio.get_running_loop().create_future()
        self.most = max(self.most, len(self.waiting))
        try:
            return await self.waiting[key]
        except asyncio.CancelledError:
            self.cancelled.append(key)
            raise
        finally:
            del self.waiting[key]

    async def settle(self) -> None:
        """Let everything that can go on go on."""
        for _ in range(10):
            await asyncio.sleep(0)


async def at_once(number: int, act: Callable[[Gate, Stop], Awaitable[None]]) -> tuple[Gate, list[TrialEnd], Stop]:
    """Drive twenty trials while `act` decides when each ends."""
    gate, stop, done = Gate(), Stop(), list[TrialEnd]()

    def ended_one(end: TrialEnd) -> None:
        done.append(end)
        stop.saw(end)

    driving = asyncio.create_task(drive(iter(KEYS), gate.run, ended_one, stop, number))
    await gate.settle()
    await act(gate, stop)
    await driving
    return gate, done, stop


@pytest.mark.parametrize("number", [1, 3, 20, 50])
async def test_drive_never_has_more_under_way_and_begins_in_order(number: int) -> None:
    """The bound holds at every moment, and trials begin in the order of the matrix whichever ends first."""

    async def last_first(gate: Gate, stop: Stop) -> None:
        while gate.waiting:
            gate.waiting[list(gate.waiting)[-1]].set_result(ended(gate.begun[-1]))
            await gate.settle()

    gate, done, stop = await at_once(number, last_first)
    assert gate.most == min(number, len(KEYS))
    assert gate.begun == KEYS
    assert len(done) == len(KEYS)
    assert stop.reason is None


async def test_drive_stop_cancels_what_is_under_way_and_waits_for_it() -> None:
    """After a stop nothing new begins; what had begun is cancelled and ends before drive returns."""

    async def stop_it(gate: Gate, stop: Stop) -> None:
        gate.waiting[KEYS[0]].set_result(ended(KEYS[0]))
        await gate.settle()
        stop.request("interrupted")

    gate, done, stop = await at_once(3, stop_it)
    assert gate.begun == KEYS[:4]
    assert sorted(gate.cancelled) == sorted(KEYS[1:4])
    assert not gate.waiting
    assert ([end.trial for end in done], stop.reason) == ([KEYS[0]], "interrupted")


async def test_drive_stop_that_cuts_nothing_short_waits_for_what_is_under_way() -> None:
    """Nothing new begins, and what had begun ends by itself; it may still be cut short later."""

    async def stop_gently(gate: Gate, stop: Stop) -> None:
        stop.request("interrupted", cut=False)
        await gate.settle()
        gate.waiting[KEYS[0]].set_result(ended(KEYS[0]))
        await gate.settle()
        assert not gate.cancelled
        stop.request("interrupted")

    gate, done, stop = await at_once(3, stop_gently)
    assert gate.begun == KEYS[:3]
    assert sorted(gate.cancelled) == sorted(KEYS[1:3])
    assert ([end.trial for end in done], stop.reason) == ([KEYS[0]], "interrupted")


async def test_drive_a_stop_asked_for_by_a_trial_that_ends_begins_no_other() -> None:
    """The end that asks for a stop is the last one."""
    stop, begun = Stop(), list[TrialKey]()

    async def run(key: TrialKey) -> TrialEnd:
        begun.append(key)
        return ended(key)

    await drive(iter(KEYS), run, lambda end: stop.request("budget"), stop, 1)
    assert begun == KEYS[:1]


async def test_drive_a_raising_trial_cancels_the_others_and_is_raised() -> None:
    """A bug or a full disk ends the run; the others are cancelled first, so that they can write their end."""

    async def break_one(gate: Gate, stop: Stop) -> None:
        gate.waiting[KEYS[1]].set_exception(RuntimeError("full disk"))

    with pytest.raises(RuntimeError, match="full disk"):
        await at_once(3, break_one)


async def test_drive_a_raising_trial_lets_the_others_end() -> None:
    """What the cancelled trials do while they are cancelled is waited for."""
    written: list[str] = []
    release = asyncio.Event()

    async def run(key: TrialKey) -> TrialEnd:
        if key == KEYS[0]:
            await release.wait()
            raise RuntimeError("full disk")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            written.append(key[1])
            raise
        raise AssertionError

    driving = asyncio.create_task(drive(iter(KEYS), run, lambda end: None, Stop(), 3))
    await asyncio.sleep(0)
    release.set()
    with pytest.raises(RuntimeError):
        await driving
    assert written == ["q2", "q3"]


async def test_drive_that_is_cancelled_itself_ends_its_trials() -> None:
    """Nothing is left running behind a cancelled run."""
    gate = Gate()
    driving = asyncio.create_task(drive(iter(KEYS), gate.run, lambda end: None, Stop(), 4))
    await gate.settle()
    driving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driving
    assert sorted(gate.cancelled) == sorted(KEYS[:4])


async def test_drive_of_nothing_returns() -> None:
    """An empty iterator is no hang."""
    await drive(iter(()), Gate().run, lambda end: None, Stop(), 4)


# ---------------------------------------------------------------------------------------------------------- lanes


def test_lanes_together_are_the_matrix_in_its_order() -> None:
    """With nothing to wait for, trials begin as the matrix orders them, whatever line of it leaves out what."""
    lines = [
        MatrixLine(configurations=("a", "b"), repeats=2),
        MatrixLine(configurations=("c",), cases=Selector(id=("q2", "q3")), repeats=3),
    ]
    plan = plan_of(3, configurations=[limited(name) for name in "abc"], lines=lines)
    for matrix in (matrix_of(plan), narrow(plan, Narrowing(only=("q3", "q1"), models=("c", "b")))):
        begun = []

        async def run(key: TrialKey, begun: list[TrialKey] = begun) -> TrialEnd:
            begun.append(key)
            return ended(key)

        lanes = {name: lane_of(matrix, name, lambda key: True) for name in matrix.counts}
        schedule = Schedule(lanes, _OneAttempt(run), Admission(Pace(plan, 0.0), {}), 1)

        async def driven(schedule: Schedule = schedule) -> None:
            await schedule.run(lambda end: None, Stop())

        asyncio.run(driven())
        assert begun == list(matrix.trials())
        assert [key for _, key in lane_of(matrix, "b", lambda key: key[2] == 2)] == [
            key for key in begun if key[0] == "b" and key[2] == 2
        ]


def test_stop_counts_trials_that_wait_for_their_next_attempt() -> None:
    """A trial between two attempts is no more under way; a stop leaves it as its last attempt did."""

    def stop_it(clock: object, stop: Stop) -> None:
        if getattr(clock, "time", 0) >= 2:
            stop.request("interrupted")

    def reply(trial: OpenTrial, now: float) -> Reply:
        return Reply(status=500, delay_s=100) if trial.key[1] == "q1" else Reply()

    played = play(plan_of(1, configurations=[limited("m")]), {"m": 9}, reply, at_once=1, until=stop_it)
    assert played.attempts.abandoned == [("m", "q1", 1)]
    assert played.stop.reason == "interrupted"


def test_stop_that_cuts_nothing_short_does_not_wait_for_a_trial_to_be_due() -> None:
    """A worker that sleeps until a next attempt is due begins nothing more, and is gone."""

    def stop_it(clock: object, stop: Stop) -> None:
        if getattr(clock, "time", 0) >= 8:
            stop.request("interrupted", cut=False)

    def reply(trial: OpenTrial, now: float) -> Reply:
        return Reply(status=500, delay_s=100) if trial.key[1] == "q1" else Reply()

    played = play(plan_of(1, configurations=[limited("m")]), {"m": 9}, reply, at_once=1, until=stop_it)
    assert played.attempts.abandoned == [("m", "q1", 1)]
    assert (played.stop.reason, len(played.ends)) == ("interrupted", 8)
    assert played.time < 100


def test_time_that_is_over_begins_nothing_and_leaves_what_is_under_way() -> None:
    """No attempt starts from then on, also none of a trial that waits; running ones finish; all are accounted for."""

    def reply(trial: OpenTrial, now: float) -> Reply:
        return Reply(status=500, delay_s=50) if trial.key[1] == "q1" else Reply(takes_s=4)

    played = play(plan_of(1, configurations=[limited("m")]), {"m": 20}, reply, at_once=2, ends_at=10)
    assert max(when for when, _, _ in played.attempts.begun) < 10
    assert played.time == 13
    assert played.stop.left_out == "time"
    assert ("m", "q1", 1) in played.attempts.skipped
    assert len(played.ends) == 20
    assert sum(end.outcome == "passed" for end in played.ends) + len(played.attempts.skipped) == 20


# ------------------------------------------------------------------------------------------------- five in a row


def outage(number: int, name: str = "m") -> TrialEnd:
    """Return the end of a trial that an outage took."""
    return ended((name, f"q{number}", 1), outcome="error", cause="transport")


async def test_stop_after_five_outages_over_different_cases() -> None:
    """The fifth asks for the stop, and not the fourth."""
    stop = Stop()
    for number in range(1, STOP_AFTER + 1):
        assert stop.reason is None
        stop.saw(outage(number))
    assert stop.reason == "infrastructure"
    await stop.wait()


async def test_stop_not_for_one_case_that_fails_again_and_again() -> None:
    """Twenty repeats of one broken case are one case."""
    stop = Stop()
    for _ in range(20):
        stop.saw(outage(1))
    assert stop.reason is None


async def test_stop_counts_in_a_row_and_by_configuration() -> None:
    """An answer in between begins the count anew; another configuration's outages are its own."""
    stop = Stop()
    for number in range(1, 20):
        stop.saw(outage(number) if number % 5 else ended(("m", f"q{number}", 1)))
    assert stop.reason is None
    for number in range(1, STOP_AFTER):
        stop.saw(outage(number, "a"))
        stop.saw(outage(number, "b"))
    assert stop.reason is None
    stop.saw(outage(STOP_AFTER, "b"))
    assert stop.reason == "infrastructure"


async def test_stop_refusals_of_one_storm_count_once_and_five_storms_stop() -> None:
    """A provider that says when to come back is no outage, until nothing gets through for five times of that."""
    wave = 1
    stop = Stop(lambda name: wave)
    for number in range(1, 100):
        stop.saw(ended(("m", f"q{number}", 1), outcome="error", cause="rate_limited", status=429))
    assert stop.reason is None
    for wave in range(2, STOP_AFTER + 1):
        assert stop.reason is None
        stop.saw(ended(("m", f"r{wave}", 1), outcome="error", cause="server_error", status=529))
    assert stop.reason == "infrastructure"


async def test_stop_failures_of_the_model_are_no_outage() -> None:
    """A bad model may fail every case."""
    stop = Stop()
    for number in range(1, 20):
        stop.saw(ended(("m", f"q{number}", 1), outcome="failed"))
    assert stop.reason is None


async def test_stop_keeps_its_first_reason() -> None:
    """An interrupt that comes while the run already ends does not rename why."""
    stop = Stop()
    stop.request("infrastructure")
    stop.request("interrupted")
    assert stop.reason == "infrastructure"
