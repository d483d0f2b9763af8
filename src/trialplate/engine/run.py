# SPDX-License-Identifier: Apache-2.0
"""The beginning of a run, in the order that makes it evidence (DESIGN section 5).

The run folder, plan.json and the bytes of the cases' files are durable; test set and pass mark are committed;
`run.start` is appended and its checkpoint is out; `run.open` is written and signed; only then the first call, which is
the session's.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from trialplate.engine.before import Before
from trialplate.engine.commits import Commitments, commit_plan
from trialplate.engine.environment import environment_of
from trialplate.engine.prepare import Prepared
from trialplate.engine.seats import open_seats
from trialplate.engine.session import Finished, Session
from trialplate.engine.stopping import stopping_of
from trialplate.engine.watch import Watch
from trialplate.ledger.blobs import Blobs
from trialplate.ledger.clock import utc_now
from trialplate.ledger.content import ContentWriter
from trialplate.ledger.durable import create_file, storage
from trialplate.ledger.keys import LedgerKey
from trialplate.ledger.ledger_writer import Appended, LedgerWriter
from trialplate.ledger.record_writer import RecordWriter, record_lock, record_origin
from trialplate.record import codec
from trialplate.record.entries import RunConfiguration, RunOpen, RunStart, StartProof
from trialplate.record.matrix import attempt_key, configuration_digest
from trialplate.spec.case_files import read_blob
from trialplate.verify.ledger_view import LedgerView

__all__ = ["begin_record", "run_prepared"]


def run_prepared(
    prepared: Prepared,
    ledger: LedgerView,
    writer: LedgerWriter,
    key: LedgerKey,
    environ: Mapping[str, str],
    *,
    at_once: int,
    started: Callable[[str, Commitments], None] = lambda run_id, made: None,
    watch: Watch | None = None,
) -> Finished:
    """Run a prepared plan to its end, an interrupt, five infrastructure errors in a row, or the end of its budget.

    Args:
        at_once: attempts under way at the same time.
        started: told the run id and what was committed, before the first call.
        watch: told how it goes.

    Raises:
        StorageError, SpecError: it could not begin, or could not go on writing; what was signed is valid.
    """
    with ExitStack() as closing:
        seats = closing.enter_context(open_seats(prepared, environ))
        run_id, folder = _new_folder(ledger.folder.absolute().parent / "runs")
        closing.enter_context(record_lock(folder))
        create_file(folder / "plan.json", prepared.frozen.raw)
        root, blobs = prepared.project, prepared.blobs
        Blobs(folder).write((digest, read_blob(root, path, digest)) for digest, path in blobs.items())
        content = closing.enter_context(ContentWriter(folder))
        content.write(prepared.frozen.openings.values())
        content.sync()
        commitments = commit_plan(prepared.plan, ledger, writer)
        appended = writer.append("run.start", codec.to_json(_start(prepared, run_id, commitments)))
        record = closing.enter_context(begin_record(folder, ledger.origin, prepared, appended, key, content))
        started(run_id, commitments)
        stopping = stopping_of(prepared, folder, appended.digest, ledger, Before())
        session = Session(run_id, folder, record, content, writer, prepared, Before(), stopping=stopping)
        return session.run(seats, at_once, watch or Watch())


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


def begin_record(
    folder: Path, ledger_origin: str, prepared: Prepared, start: Appended, key: LedgerKey, content: ContentWriter
) -> RecordWriter:
    """Return the record of a run that has a run.start, opened and signed: the first call may be made.

    Raises:
        StorageError: it could not be made or signed.
    """
    opened = RunOpen(
        run_id=folder.name,
        start=StartProof(entry=start.line.decode(), note=start.checkpoint.decode(), proof=tuple(start.proof)),
        plan=prepared.frozen.digest,
        seed=start.digest,
        environment=environment_of(prepared.project),
    )
    record = RecordWriter.create(folder, record_origin(ledger_origin, folder.name), key.signer, content=content)
    try:
        record.write("run.open", codec.to_json(opened))
        record.sync()
    except BaseException:
        record.close()
        raise
    return record
