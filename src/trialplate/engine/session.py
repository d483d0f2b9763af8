# SPDX-License-Identifier: Apache-2.0
"""One session of a run: from an opened record to its close, whether the run begins here or goes on.

Whatever ends a session, what it has written so far is a valid record: cancelled attempts are ended, the record is
closed and signed, the ledger pins it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from trialplate.engine.admission import Admission
from trialplate.engine.before import Before
from trialplate.engine.budget import Purse
from trialplate.engine.journal import Journal
from trialplate.engine.pace import Pace
from trialplate.engine.prepare import Prepared
from trialplate.engine.schedule import Monotonic, Schedule, Stop, lane_of
from trialplate.engine.seats import Seats
from trialplate.engine.stopping import Stopping
from trialplate.engine.tally import Tally
from trialplate.engine.trial import TrialRunner
from trialplate.engine.watch import Watch
from trialplate.errors import EXIT_DONE, EXIT_INCOMPLETE, EXIT_INTERRUPTED
from trialplate.ledger.blobs import Blobs
from trialplate.ledger.content import ContentWriter
from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.ledger.record_writer import RecordWriter
from trialplate.record import codec
from trialplate.record.entries import Counts, Pin, RunClose, RunEnd, TrialEnd, TrialKey
from trialplate.record.values import Budget
from trialplate.spec.limits import Ceiling, laid_over

__all__ = ["Finished", "Session"]

PIN_EVERY_S = 60.0
SYNC_EVERY_S = 0.1
LOOK_EVERY_S = 0.25
"""How often whoever watches hears what is waited for."""


@dataclass(frozen=True)
class Finished:
    """What a run came to."""

    run_id: str
    folder: Path
    reason: str
    """complete, sealed or counts (nothing more was needed), interrupted, infrastructure, budget or time."""
    counts: Counts
    causes: Mapping[str, int]
    """Why trials ended in an error, and how many."""
    left_out: Mapping[str, int]
    """How many trials of each configuration the budget or the time left out in this session."""
    purse: Purse | None = None
    """What the budget came to, if money was bounded."""
    incompatible: int = 0
    """Trials that nobody is ever asked, since their configuration does not take the case; of those that are skipped."""
    unjudged: int = 0
    """Trials in an error whose judge has no further reply, so that nobody can be asked."""
    not_needed: Mapping[str, int] = field(default_factory=dict)
    """Trials of each configuration that the mark's stop rule left out; they are absent, and not unknown."""

    @property
    def exit_code(self) -> int:
        """Return 0 if no trial is unknown, 4 if one is, 130 if somebody interrupted it."""
        if self.reason == "interrupted":
            return EXIT_INTERRUPTED
        return EXIT_INCOMPLETE if self.unknown else EXIT_DONE

    @property
    def unknown(self) -> int:
        """Return the number of trials that are neither decided nor incompatible, and that are needed."""
        left = self.counts.error + self.counts.skipped + self.counts.absent
        return left - self.incompatible - sum(self.not_needed.values())


class Session:
    """The trials of one session: journal, checkpoints, pins and signals."""

    def __init__(
        self,
        run_id: str,
        folder: Path,
        record: RecordWriter,
        content: ContentWriter,
        writer: LedgerWriter,
        prepared: Prepared,
        before: Before,
        ceiling: Ceiling | None = None,
        stopping: Stopping | None = None,
    ) -> None:
        """Take over a record that is open and signed as far as it goes.

        Args:
            ceiling: what bounds this session in place of the plan's budget.
            stopping: what may end the run before its last trial, if its mark has such a rule.
        """
        self.run_id, self.folder = run_id, folder
        self.record, self.content, self.writer = record, content, writer
        self.prepared, self.before = prepared, before
        self.ceiling, self.stopping = ceiling or Ceiling(), stopping
        unpaid = frozenset(name for name, bounds in prepared.bounds.items() if not bounds.asks)
        self.tally = Tally(prepared.matrix.size, unpaid=unpaid)
        self.tally.take(before.cells)
        self.pinned = False
        self.purse: Purse | None = None

    def run(self, seats: Seats, at_once: int, watch: Watch) -> Finished:
        """Try every trial that is not decided, and close the record.

        Args:
            at_once: attempts under way at the same time.
            watch: told how it goes.

        Raises:
            StorageError: it could not go on writing; what was signed is valid.
        """
        journal = Journal(self.record.write, self.content.write)
        if self.stopping is not None:
            journal = replace(journal, told=self.stopping.heard)
            self.tally.not_needed = dict(self.stopping.trials_not_needed())
        blob = Blobs(self.folder).read
        trial = TrialRunner(seats, self.prepared.cases, journal, self.tally, self.before, blob)
        return self._close(asyncio.run(self._drive(trial, seats, at_once, watch)))

    async def _drive(self, trial: TrialRunner, seats: Seats, at_once: int, watch: Watch) -> str:
        """Run every trial; returns why the session ended."""
        admission = self._admission(trial)
        trial.pace, trial.further = admission.pace, admission.further
        asked, stopping = self.prepared.asked, self.stopping

        def wants(key: TrialKey) -> bool:
            return trial.may_try(key) and (stopping is None or stopping.needs(key))

        order = () if stopping is None else stopping.order
        lanes = {name: lane_of(asked, name, wants, order) for name in asked.counts}
        schedule = Schedule(lanes, trial, admission, at_once)
        stop = Stop(admission.pace.wave)
        beats = [asyncio.create_task(self._beat(SYNC_EVERY_S, self.record.maybe_sync, stop))]
        beats.append(asyncio.create_task(self._beat(PIN_EVERY_S, self.pin, stop)))
        beats.append(asyncio.create_task(self._beat(LOOK_EVERY_S, lambda: watch.beat(schedule.waiting()), stop)))
        watch.begun(self.tally)
        for key in self.prepared.incompatible_trials():
            if self.before.wants(key):
                watch.ended(trial.leave_out(key), self.tally)

        def done(end: TrialEnd) -> None:
            stop.saw(end)
            if stopping is not None and stopping.trial_ended():
                schedule.take_back(stopping.needs)
                self.tally.not_needed = dict(stopping.trials_not_needed())
            self.record.maybe_sync()
            if not self.pinned:
                self.pin()
            watch.ended(end, self.tally)

        try:
            with _signals(stop, watch, lambda: watch.stopping(self.tally, cut=stop.cut)):
                await schedule.run(done, stop)
            for beat in beats:
                if beat.done() and beat.exception() is not None:
                    raise beat.exception()  # type: ignore[misc]
        finally:
            for beat in beats:
                beat.cancel()
            await asyncio.gather(*beats, return_exceptions=True)
            await seats.close()
        if stop.reason == "interrupted" and schedule.exhausted and not stop.cut:
            return stop.left_out or "complete"  # what was under way was all that was left
        return stop.reason or stop.left_out or "complete"

    def _admission(self, trial: TrialRunner) -> Admission:
        """Return what bounds this session: the plan's budget, or what the command line says over it."""
        plan, now = self.prepared.plan, Monotonic.now()
        bounds = self.prepared.bounds
        budget = laid_over(plan.budget, (*plan.configurations, *plan.helpers), self.ceiling) or Budget()
        bounded = budget.cost_nano is not None and plan.cache != "replay"  # a replay spends nothing
        self.purse = Purse(budget.cost_nano or 0, self.before.spent_nano) if bounded else None
        ends_at = None if budget.wall_time_ms is None else now + budget.wall_time_ms / 1000
        if plan.cache != "auto":
            return Admission(Pace(plan, now), bounds, self.purse, ends_at)
        return Admission(Pace(plan, now), bounds, self.purse, ends_at, trial.recorded)

    async def _beat(self, seconds: float, action: Callable[[], object], stop: Stop) -> None:
        """Do something again and again; what it cannot do ends the session."""
        while True:
            await asyncio.sleep(seconds)
            try:
                action()
            except Exception:
                stop.request("storage")
                raise

    def pin(self) -> None:
        """Let the ledger say what the record holds: from then on it cannot be rewritten unseen."""
        self.record.sync()
        pin = Pin(run_id=self.run_id, size=self.record.size, root=self.record.root_digest)
        self.writer.append("run.progress", codec.to_json(pin))
        self.pinned = True

    def _close(self, reason: str) -> Finished:
        """Close and sign the record, and let the ledger say how it ended.

        An interrupted run has no run.end: it stays an open attempt until it is resumed or waived.
        """
        counts = self.tally.counts()
        left_out = () if self.stopping is None or reason != "complete" else self.stopping.not_needed()
        absent = counts.absent - sum(item.trials for item in left_out)
        complete = reason == "complete" and not absent and counts.skipped == self.tally.incompatible
        if complete and left_out and self.stopping is not None:
            reason = self.stopping.mode
        not_needed = left_out if complete else ()  # what is not complete leaves nothing out for good
        self.tally.not_needed = {item.configuration: item.trials for item in not_needed}
        closed = RunClose(complete=complete, reason=reason, counts=counts, not_needed=not_needed)
        self.record.write("run.close", codec.to_json(closed))
        self.record.sync()
        size, root = self.record.size, self.record.root_digest
        if reason == "interrupted":
            self.writer.append("run.progress", codec.to_json(Pin(run_id=self.run_id, size=size, root=root)))
        else:
            end = RunEnd(
                run_id=self.run_id,
                size=size,
                root=root,
                status="complete" if complete else "incomplete",
                counts=counts,
            )
            self.writer.append("run.end", codec.to_json(end))
        return Finished(
            self.run_id,
            self.folder,
            reason,
            counts,
            self.tally.causes,
            self.tally.left_out,
            self.purse,
            self.tally.incompatible,
            self.tally.unjudged,
            self.tally.not_needed,
        )


@contextmanager
def _signals(stop: Stop, watch: Watch, told: Callable[[], None]) -> Iterator[None]:
    """End the run in order at ctrl-C, sooner at the next one or SIGTERM, and at once at the one after.

    Only the main thread hears signals. In another, whoever waits for it is told how to ask for the end, and the third
    time ends nothing more: the process is not the run's.

    An answer that is cut short must be asked for again, and counts as re-asked; so ctrl-C lets those under way arrive.
    Whoever sends SIGTERM kills soon afterwards.
    """
    loop = asyncio.get_running_loop()
    main = threading.current_thread() is threading.main_thread()

    def asked(*, cut: bool) -> None:
        if stop.cut and main:
            os._exit(EXIT_INTERRUPTED)
        stop.request("interrupted", cut=cut or stop.reason is not None)
        told()

    if not main:
        watch.interruptible(lambda: loop.call_soon_threadsafe(partial(asked, cut=False)))
        yield
        return
    numbers = {signal.SIGINT: False, signal.SIGTERM: True}
    before = {number: signal.getsignal(number) for number in numbers}
    for number, cut in numbers.items():
        loop.add_signal_handler(number, partial(asked, cut=cut))
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            if before[number] is not None:  # else it was not Python's, and is the default now
                signal.signal(number, before[number])
