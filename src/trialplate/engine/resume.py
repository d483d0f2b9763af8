# SPDX-License-Identifier: Apache-2.0
"""Going on with a run: from its plan.json and content.jsonl, never from today's author files.

Asked is only what is unknown: a decided cell is kept whatever it says, and an answer that nobody could score is scored
again without a call. Before anything is asked, the record must hold as far as it is signed; its unsigned lines are
taken over and counted; the ledger says that the run goes on (`run.resume`), then the record does (`run.reopen`). A
crash at any point of this leaves what verifies and can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from trialplate import __version__
from trialplate.engine.before import Before, Unscored
from trialplate.engine.budget import Spending
from trialplate.engine.environment import environment_of
from trialplate.engine.making import Own
from trialplate.engine.prepare import Prepared, blobs_needed
from trialplate.engine.run import begin_record
from trialplate.engine.seats import open_seats
from trialplate.engine.session import Finished, Session
from trialplate.engine.stopping import Stopping, stopping_of
from trialplate.engine.watch import Watch
from trialplate.errors import SpecError, UsageError, VerificationError
from trialplate.ledger.blobs import Blobs
from trialplate.ledger.content import CONTENT, ContentWriter
from trialplate.ledger.keys import LedgerKey
from trialplate.ledger.ledger_writer import Appended, LedgerWriter
from trialplate.ledger.record_writer import RECORD, RecordWriter, record_origin, set_record_aside
from trialplate.record import canonical, codec
from trialplate.record.entries import Pin, RunClose, RunReopen, RunStart, TrialEnd, TrialKey, TrialStart
from trialplate.record.frozen import Json
from trialplate.record.log import leaf_hash
from trialplate.record.matrix import narrow
from trialplate.record.values import Case, Plan
from trialplate.rules.cells import Board, most_attempts
from trialplate.spec.freeze import Frozen
from trialplate.spec.limits import Ceiling, check_limits, laid_over
from trialplate.spec.pins import is_pinned
from trialplate.verify.cell_checks import CellChecks
from trialplate.verify.content import openings
from trialplate.verify.findings import Report, counted
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.log_file import LogFile, record_entries
from trialplate.verify.record_view import RecordView, plan_commitments, read_plan, read_record

__all__ = ["Resumed", "resume_run"]


@dataclass(frozen=True)
class Resumed:
    """What a resumed run begins with, told before anything is asked."""

    run_id: str
    trials: int
    decided: int
    """Trials that are kept as they are."""
    to_try: int
    scored_again: int
    """Of those: an answer is there, and is scored without a call."""
    used_up: int
    """Undecided trials that have had all their attempts."""
    cost_nano: int
    """Known cost of the sessions before, in 10^-9 of the currency."""
    not_needed: int
    """Trials that nothing depends on any more, under the mark's stop rule."""
    notes: tuple[str, ...]
    """What the crash left and was taken over or set aside, and what is not as it was."""


def resume_run(
    folder: Path,
    ledger: LedgerView,
    writer: LedgerWriter,
    key: LedgerKey,
    environ: Mapping[str, str],
    *,
    at_once: int | None = None,
    ceiling: Ceiling | None = None,
    resumed: Callable[[Resumed, Prepared], None] = lambda state, prepared: None,
    watch: Watch | None = None,
    own: Own | None = None,
) -> Finished | Resumed:
    """Go on with a run until its end, an interrupt, or five infrastructure errors in a row.

    The caller holds `record_lock(folder)`, and read the ledger after it took it.

    Args:
        folder: the run's folder.
        at_once: attempts under way at the same time; the plan's number by default.
        ceiling: of cost, over all sessions of the run, and of time, from now on; the plan's budget by default.
        resumed: told what there is to do, before anything is asked.
        watch: told how it goes.
        own: the objects that the run began with.

    Returns:
        What the run came to, or, where it has ended and nothing is left to try, the state it is in.

    Raises:
        UsageError: it is no run of this ledger, it was waived, or its content is not here.
        SpecError: a file that the plan pins is not as it was, or a key is missing; nothing was written.
        VerificationError: the record does not hold; nothing was written.
        StorageError: it could not be written; what was signed is valid.
    """
    entry = _start_of(ledger, folder)
    report = Report(f"runs/{folder.name}")
    view = read_record(folder, ledger, report)
    report.require()
    prepared, opened = _prepared(folder, entry.body, own or Own())
    _check_files(prepared)
    prepared = replace(prepared, sizes=Blobs(folder).check(blobs_needed(prepared.matrix, prepared.cases)))
    _check_budget(prepared, ceiling or Ceiling())
    with ExitStack() as closing:
        seats = closing.enter_context(open_seats(prepared, environ))
        content = closing.enter_context(ContentWriter(folder))
        notes = _notes(prepared.plan, content)
        before, record = Before(), None
        if view is not None:
            record = closing.enter_context(_reopened(folder, ledger, key, content, opened, ended=view.end is not None))
            before, last = _fold(folder, prepared, record.size)
            notes += _left_by_a_crash(record)
        stopping = None if view is None else stopping_of(prepared, folder, entry.ref.digest, ledger, before)
        state = _state(folder.name, prepared, before, tuple(notes), stopping)
        if view is not None and view.end is not None and not state.to_try:
            return state
        resumed(state, prepared)
        if view is None or record is None:
            set_record_aside(folder)
            leaves = [leaf_hash(item.line) for item in ledger.entries]
            start = Appended.at(entry.seq, entry.line, leaves, ledger.signed.note)
            record = closing.enter_context(begin_record(folder, ledger.origin, prepared, start, key, content))
            stopping = stopping_of(prepared, folder, entry.ref.digest, ledger, before)
        else:
            _say_again(view, record, writer, prepared, last)
        session = Session(folder.name, folder, record, content, writer, prepared, before, ceiling, stopping)
        return session.run(seats, at_once or prepared.plan.concurrency, watch or Watch())


def _say_again(view: RecordView, record: RecordWriter, writer: LedgerWriter, prepared: Prepared, last: str) -> None:
    """Let first the ledger and then the record say that the run goes on."""
    root = "sha256:" + view.signed.checkpoint.root.hex()
    writer.append("run.resume", codec.to_json(Pin(run_id=view.run_id, size=view.size, root=root)))
    again = RunReopen(adopted=record.adopted, reason=last, environment=environment_of(prepared.project))
    record.write("run.reopen", codec.to_json(again))
    record.sync()


# ---------------------------------------------------------------------------------------------------- what there is


def _start_of(ledger: LedgerView, folder: Path) -> LedgerEntry:
    """Return the run.start of a run that may go on."""
    run_id = folder.name
    entry = ledger.start_of(run_id)
    if entry is None:
        hint = "put the run back beside the ledger that started it"
        if not (folder / RECORD).exists():
            hint = "it ended before it began, and nothing was asked: run the plan again; the folder may go"
        raise UsageError("the ledger has no run.start for this run", where=f"runs/{run_id}", hint=hint, code="RUN")
    if ledger.waived(run_id):
        hint = "start another with `trialplate run --yes`"
        raise UsageError("this run was waived: it does not count any more", where=f"runs/{run_id}", hint=hint)
    return entry


def _prepared(folder: Path, start: RunStart, own: Own) -> tuple[Prepared, frozenset[str]]:
    """Return the run's plan with its texts, and every commitment that content.jsonl opens.

    Raises:
        UsageError: content.jsonl is not here.
        VerificationError: CONTENT-MISSING: it does not open all of the plan.
    """
    shown = f"runs/{folder.name}/{CONTENT}"
    if not (folder / CONTENT).exists():
        hint = "resume it where it ran, or bring its content.jsonl here"
        raise UsageError("the prompts of this run are not here to be asked again", where=shown, hint=hint)
    raw, plan = read_plan(folder, f"runs/{folder.name}")
    wanted = set(plan_commitments(plan))
    opened: dict[str, Json] = {}
    known: set[str] = set()
    for commitment, value in openings(folder, f"runs/{folder.name}"):
        known.add(commitment)
        if commitment in wanted:
            opened[commitment] = value
    if missing := len(wanted - opened.keys()):
        message = f"nothing opens {counted(missing, 'text')} of the plan"
        hint = "restore content.jsonl as it was written"
        raise VerificationError(message, where=shown, hint=hint, code="CONTENT-MISSING")
    frozen = Frozen(plan=plan, raw=raw, digest=start.plan, openings={})
    cases = {case.id: codec.decode(Case, opened[case.commitment], case.id) for case in plan.test_set.cases}
    project, matrix = folder.parent.parent, narrow(plan, start.narrowing)
    prepared = Prepared(project, frozen, matrix, start.narrowing, opened, cases, own=own)
    return prepared, frozenset(known)


def _check_files(prepared: Prepared) -> None:
    """Refuse to go on with other programs than those that the plan pins, of models and of scorers.

    Later answers would be another thing's, and later scores by another rule.

    Raises:
        SpecError: FILE-CHANGED, naming the file.
    """
    plan = prepared.plan
    used = [item for item in plan.configurations if item.name in prepared.matrix.counts]
    pinned = [(file, "a model") for item in used for file in item.all_files]
    pinned += [(file, "a scorer") for scorer in plan.scorers for file in scorer.files]
    for file, whose in pinned:
        if not is_pinned(prepared.project, file):
            raise SpecError(
                f"is not as it was when the run began, and {whose}'s program must stay the same within a run",
                where=file.path,
                hint="put it back as it was, or waive this run and start another",
                code="FILE-CHANGED",
            )


def _check_budget(prepared: Prepared, ceiling: Ceiling) -> None:
    """Refuse a budget that could not hold: it may be other than the one that the run began with."""
    plan = prepared.plan
    plan = plan.replace(budget=laid_over(plan.budget, (*plan.configurations, *plan.helpers), ceiling))
    check_limits(plan, prepared.asked, prepared.bounds, lambda path: f"plan.json: {'.'.join(map(str, path))}")


def _notes(plan: Plan, content: ContentWriter) -> list[str]:
    """Say what is not as a finished session would have left it."""
    notes = [str(content.set_aside)] if content.set_aside is not None else []
    if plan.software != f"trialplate/{__version__}":
        notes.append(f"the plan was made by {plan.software}, and this is trialplate/{__version__}")
    return notes


def _reopened(
    folder: Path, ledger: LedgerView, key: LedgerKey, content: ContentWriter, opened: frozenset[str], *, ended: bool
) -> RecordWriter:
    """Return the record, open behind its last line that can be taken over; nothing is written yet."""

    def adopts(body: Json) -> bool:
        if isinstance(body, TrialEnd):  # after a power cut, content may have lost more than the record
            return all(item in opened for item in body.private.commitments.values())
        return isinstance(body, TrialStart | RunClose)

    origin = record_origin(ledger.origin, folder.name)
    return RecordWriter.open_existing(folder, origin, key.signer, closed=ended, adopts=adopts, content=content)


def _left_by_a_crash(record: RecordWriter) -> list[str]:
    """Say what stood beyond the checkpoint."""
    notes = [f"{counted(record.adopted, 'unsigned line')} taken over"] if record.adopted else []
    return [*notes, str(record.set_aside)] if record.set_aside is not None else notes


def _fold(folder: Path, prepared: Prepared, size: int) -> tuple[Before, str]:
    """Return what the first `size` lines of a record leave to do, and how its last session ended.

    The lines beyond the checkpoint are held to the same rules as all others: once signed, they could not be undone.

    Raises:
        VerificationError: one of them breaks a rule.
    """
    board, report = Board(), Report(f"runs/{folder.name}")
    checks = CellChecks(prepared.plan, prepared.matrix, board, report)
    unscored: dict[TrialKey, TrialEnd] = {}
    last = "killed"
    spending = Spending(prepared.bounds)
    log = LogFile(folder / RECORD, f"runs/{folder.name}/{RECORD}", size)
    for where, _, body in record_entries(log):
        if isinstance(body, TrialStart):
            checks.start(body, where)
            spending.start(body)
        elif isinstance(body, TrialEnd):
            checks.end(body, where)
            spending.end(body)
            unscored.pop(body.trial, None)
            if (cell := board.cells.get(body.trial)) is not None and cell.answer is not None:
                unscored[body.trial] = body
        elif isinstance(body, RunClose):
            last = body.reason
        elif isinstance(body, RunReopen):
            checks.sessions += 1
            last = "killed"
    report.require()
    return Before(board.cells, checks.sessions, _opened(folder, unscored), spending.nano), last


def _opened(folder: Path, unscored: Mapping[TrialKey, TrialEnd]) -> dict[TrialKey, Unscored]:
    """Return the answers that are to be scored again, with what came with each and what helpers replied about it."""
    wanted = {item for end in unscored.values() for item in end.private.commitments.values()}
    shown = f"runs/{folder.name}"
    texts = {c: value for c, value in (openings(folder, shown) if wanted else ()) if c in wanted}
    return {
        key: Unscored(
            end,
            canonical.text_in(texts[end.private.answer]),
            texts.get(end.private.transcript or ""),
            {name: tuple(texts[item] for item in items) for name, items in end.private.replies.items()},
        )
        for key, end in unscored.items()
        if end.private.answer in texts
    }


def _state(
    run_id: str, prepared: Prepared, before: Before, notes: tuple[str, ...], stopping: Stopping | None
) -> Resumed:
    """Return what there is to do."""
    retries = {item.name: item.retry for item in prepared.plan.configurations}
    wanted = [key for key in prepared.matrix.trials() if before.wants(key)]
    left = [key for key in wanted if stopping is None or stopping.needs(key)]
    used_up = sum(
        1
        for key in left
        if (cell := before.cells.get(key)) is not None
        and cell.attempts >= most_attempts(retries[key[0]], before.sessions + 1)
    )
    return Resumed(
        run_id=run_id,
        trials=prepared.matrix.size,
        decided=prepared.matrix.size - len(wanted),
        to_try=len(left) - used_up,
        scored_again=len(before.unscored),
        used_up=used_up,
        not_needed=len(wanted) - len(left),
        cost_nano=sum(cell.cost_nano for cell in before.cells.values()),
        notes=notes,
    )
