# SPDX-License-Identifier: Apache-2.0
"""One execution of a plan, in the order that makes it evidence (DESIGN section 5).

The run folder and plan.json are durable; test set and pass mark are committed; `run.start` is appended and its
checkpoint is out; `run.open` is written and signed; only then the first call. Whatever ends the run, what it has
written so far is a valid record: cancelled attempts are ended, the record is closed and signed, the ledger pins it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from trialplate.engine.commits import Commitments, commit_plan
from trialplate.engine.environment import environment_of
from trialplate.engine.prepare import Prepared
from trialplate.engine.schedule import Stop, drive
from trialplate.engine.seats import open_seats
from trialplate.engine.tally import Tally
from trialplate.engine.trial import Journal, TrialRunner
from trialplate.errors import EXIT_DONE, EXIT_INCOMPLETE, EXIT_INTERRUPTED
from trialplate.ledger.clock import utc_now
from trialplate.ledger.content import ContentWriter
from trialplate.ledger.durable import create_file, storage
from trialplate.ledger.keys import LedgerKey
from trialplate.ledger.ledger_writer import Appended, LedgerWriter
from trialplate.ledger.record_writer import RecordWriter, record_origin
from trialplate.record import codec
from trialplate.record.entries import (
    Counts,
    Pin,
    RunClose,
    RunConfiguration,
    RunEnd,
    RunOpen,
    RunStart,
    StartProof,
    TrialEnd,
)
from trialplate.record.matrix import attempt_key, configuration_digest
from trialplate.verify.ledger_view import LedgerView

__all__ = ["Finished", "run_prepared"]

PIN_EVERY_S = 60.0
SYNC_EVERY_S = 0.25


@dataclass(frozen=True)
class Finished:
    """What a run came to."""

    run_id: str
    folder: Path
    reason: str
    """complete, interrupted or infrastructure."""
    counts: Counts
    causes: Mapping[str, int]
    """Why trials ended in an error, and how many."""

    @property
    def exit_code(self) -> int:
        """Return 0 if every trial was decided, 4 if not, 130 if somebody interrupted it."""
        if self.reason == "interrupted":
            return EXIT_INTERRUPTED
        undecided = self.counts.error + self.counts.skipped + self.counts.absent
        return EXIT_INCOMPLETE if undecided else EXIT_DONE


def run_prepared(
    prepared: Prepared,
    ledger: LedgerView,
    writer: LedgerWriter,
    key: LedgerKey,
    environ: Mapping[str, str],
    *,
    at_once: int,
    started: Callable[[str, Commitments], None] = lambda run_id, made: None,
    progress: Callable[[TrialEnd, Tally], None] = lambda end, tally: None,
) -> Finished:
    """Run a prepared plan to its end, an interrupt, or five infrastructure errors in a row.

    Args:
        at_once: trials under way at the same time.
        started: told the run id and what was committed, before the first call.
        progress: told of each trial that ends.

    Raises:
        StorageError, SpecError: it could not begin, or could not go on writing; what was signed is valid.
    """
    with ExitStack() as closing:
        seats = closing.enter_context(open_seats(prepared, environ))
        run_id, folder = _new_folder(ledger.folder.absolute().parent / "runs")
        create_file(folder / "plan.json", prepared.frozen.raw)
        content = closing.enter_context(ContentWriter(folder))
        for opening in prepared.frozen.openings.values():
            content.write(opening)
        content.sync()
        commitments = commit_plan(prepared.plan, ledger, writer)
        appended = writer.append("run.start", codec.to_json(_start(prepared, run_id, commitments)))
        origin = record_origin(ledger.origin, run_id)
        record = closing.enter_context(RecordWriter.create(folder, origin, key.signer, content=content))
        record.write("run.open", codec.to_json(_open(prepared, run_id, appended)))
        record.sync()
        started(run_id, commitments)
        tally = Tally(prepared.matrix.size)
        journal = Journal(record.write, content.write)
        trial = TrialRunner(seats.by_name, prepared.cases, seats.scorers, journal, tally, seats.secrets.scrub)
        live = _Live(run_id, record, writer, tally, progress)
        reason = asyncio.run(live.run(prepared, trial, seats.close, at_once))
        return _close(run_id, folder, record, writer, tally, reason)


def _new_folder(runs: Path) -> tuple[str, Path]:
    """Make the run's folder, exclusively: its name is the run's id."""
    with storage(runs, "made"):
        runs.mkdir(exist_ok=True)
        while True:
            stamp = utc_now()
            run_id = "".join(c for c in stamp if c.isalnum()) + "-" + secrets.token_hex(4)
            try:
                (runs / run_id).mkdir()
            except FileExistsError:
                continue
            return run_id, runs / run_id


def _start(prepared: Prepared, run_id: str, commitments: Commitments) -> RunStart:
    plan, matrix = prepared.plan, prepared.matrix
    return RunStart(
        run_id=run_id,
        plan=prepared.frozen.digest,
        test_set=commitments.test_set,
        pass_mark=commitments.pass_mark,
        selection="full" if prepared.narrowing is None else "pilot",
        narrowing=prepared.narrowing,
        trials=matrix.size,
        configurations=tuple(
            RunConfiguration(name=item.name, digest=configuration_digest(item), attempt_key=attempt_key(item))
            for item in plan.configurations
            if item.name in matrix.counts
        ),
        cache=plan.cache,
        cassettes=tuple(file.digest for file in plan.cassettes),
    )


def _open(prepared: Prepared, run_id: str, appended: Appended) -> RunOpen:
    return RunOpen(
        run_id=run_id,
        start=StartProof(entry=appended.line.decode(), note=appended.checkpoint.decode(), proof=tuple(appended.proof)),
        plan=prepared.frozen.digest,
        seed=appended.digest,
        environment=environment_of(prepared.project),
    )


class _Live:
    """The asynchronous middle of a run: trials, checkpoints, pins and signals."""

    def __init__(
        self,
        run_id: str,
        record: RecordWriter,
        writer: LedgerWriter,
        tally: Tally,
        progress: Callable[[TrialEnd, Tally], None],
    ) -> None:
        self.run_id, self.record, self.writer = run_id, record, writer
        self.tally, self.progress = tally, progress
        self.pinned = False

    async def run(
        self, prepared: Prepared, trial: TrialRunner, close: Callable[[], Awaitable[None]], at_once: int
    ) -> str:
        """Run every trial; returns why the run ended."""
        stop = Stop()
        beats = [asyncio.create_task(self._beat(SYNC_EVERY_S, self.record.maybe_sync, stop))]
        beats.append(asyncio.create_task(self._beat(PIN_EVERY_S, self.pin, stop)))

        def done(end: TrialEnd) -> None:
            stop.saw(end)
            self.record.maybe_sync()
            if not self.pinned:
                self.pin()
            self.progress(end, self.tally)

        try:
            with _signals(stop):
                await drive(prepared.matrix.trials(), trial.run, done, stop, at_once)
            for beat in beats:
                if beat.done() and beat.exception() is not None:
                    raise beat.exception()  # type: ignore[misc]
        finally:
            for beat in beats:
                beat.cancel()
            await asyncio.gather(*beats, return_exceptions=True)
            await close()
        return stop.reason or "complete"

    async def _beat(self, seconds: float, action: Callable[[], object], stop: Stop) -> None:
        """Do something again and again; what it cannot do ends the run."""
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


@contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    """End the run in order at the first ctrl-C or SIGTERM, and at once at the second."""
    loop = asyncio.get_running_loop()

    def asked() -> None:
        if stop.reason == "interrupted":
            os._exit(EXIT_INTERRUPTED)
        stop.request("interrupted")

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, asked)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _close(
    run_id: str, folder: Path, record: RecordWriter, writer: LedgerWriter, tally: Tally, reason: str
) -> Finished:
    """Close and sign the record, and let the ledger say how it ended.

    An interrupted run has no run.end: it stays an open attempt until it is waived, or resumed by a version that can.
    """
    counts = tally.counts()
    complete = reason == "complete" and not counts.absent and not counts.skipped
    record.write("run.close", codec.to_json(RunClose(complete=complete, reason=reason, counts=counts)))
    record.sync()
    size, root = record.size, record.root_digest
    if reason == "interrupted":
        writer.append("run.progress", codec.to_json(Pin(run_id=run_id, size=size, root=root)))
    else:
        end = RunEnd(
            run_id=run_id, size=size, root=root, status="complete" if complete else "incomplete", counts=counts
        )
        writer.append("run.end", codec.to_json(end))
    return Finished(run_id, folder, reason, counts, tally.causes)
