# SPDX-License-Identifier: Apache-2.0
"""A record as a reader sees it: its plan, its lines up to the checkpoint, and the cells they fold into.

Performs V01 to V04 and V07 on the record, V09 to V15 and V17. One pass, line by line: a record of any length is read in
the memory that its cells take.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical, codec
from trialplate.record.entries import (
    CommitPassMark,
    CommitTestSet,
    RunClose,
    RunOpen,
    RunReopen,
    RunStart,
    TrialEnd,
    TrialStart,
)
from trialplate.record.log import check_inclusion, leaf_hash, root_of
from trialplate.record.matrix import Matrix, attempt_key, configuration_digest, narrow
from trialplate.record.values import Configuration, Plan, PlanTool, Scorer
from trialplate.rules.cells import Board
from trialplate.rules.mark_shape import mark_problems
from trialplate.rules.shape import MOST_TRIALS, plan_problems
from trialplate.verify.cell_checks import CellChecks
from trialplate.verify.findings import Report, counted
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.log_file import MAX_NOTE, MAX_PLAN, LogFile, Signed, read_checkpoint, read_small, record_entries
from trialplate.verify.stop_checks import check_order

__all__ = ["RecordView", "board_at", "plan_commitments", "read_plan", "read_record"]


MOST_MATRIX = 10 * MOST_TRIALS
"""Cases or configurations, times what the lines of a matrix name: more is not laid out to see how many trials it is."""


class RecordView:
    """A record that was read up to its checkpoint."""

    def __init__(
        self,
        folder: Path,
        run_id: str,
        plan: Plan,
        matrix: Matrix,
        start: RunStart,
        signed: Signed,
        end: LedgerEntry | None = None,
    ) -> None:
        self.folder = folder
        self.run_id = run_id
        self.plan = plan
        self.matrix = matrix
        self.start = start
        self.signed = signed
        self.board = Board()
        self.opened: RunOpen | None = None
        self.closed: RunClose | None = None
        self.adopted = 0
        """Lines that a resume took over beyond a checkpoint."""
        self.commitments: list[str] = []
        """Every commitment of the plan, then of the record, in order."""
        self.far_texts: set[str] = set()
        """What far ends named: finish reasons, models, request ids."""
        self.roots: dict[int, bytes] = {}
        """Root at each size that the ledger speaks of."""
        self.end = end
        """The ledger's run.end."""

    @property
    def size(self) -> int:
        """Return the number of signed lines."""
        return self.signed.checkpoint.size


def read_plan(folder: Path, shown: str) -> tuple[bytes, Plan]:
    """Read plan.json strictly.

    Raises:
        FormatError, VerificationError: STRICT-..., SCHEMA, FILE-MISSING.
    """
    where = f"{shown}/plan.json"
    raw = read_small(folder / "plan.json", where, MAX_PLAN)
    plan = codec.decode(Plan, canonical.decode(raw, where, MAX_PLAN), where)
    named = sum(1 + len(line.configurations) for line in plan.matrix)
    if named * max(len(plan.test_set.cases), len(plan.configurations)) > MOST_MATRIX:
        message = f"a matrix of {counted(len(plan.matrix), 'line')} that is too large to lay out"
        raise VerificationError(message, where=where, code="STRICT-LIMIT")
    return raw, plan


def read_record(folder: Path, ledger: LedgerView, report: Report) -> RecordView | None:
    """Read and check a run's record against its ledger; None, with findings, if it cannot be used."""
    shown = f"runs/{folder.name}"
    entry = ledger.start_of(folder.name)
    if entry is None and (folder / "record.jsonl").exists():
        report.found("RUN-NOT-IN-LEDGER", f"the ledger has no run.start for {folder.name}", shown)
    elif entry is None:
        report.found(
            "RUN-NEVER-STARTED", "a folder without run.start and without a record: nothing was asked", shown, note=True
        )
    if entry is None:
        return None
    start: RunStart = entry.body
    try:
        raw, plan = read_plan(folder, shown)
        _check_plan(raw, plan, entry, ledger, shown, report)
        matrix = narrow(plan, start.narrowing)
        if not (folder / "checkpoint").exists() and not ledger.pins_of(folder.name):
            message = "unfinished: it died before its record was signed and before an answer was pinned"
            report.found("RUN-UNFINISHED", message, shown, note=True)
            return None
        note = read_small(folder / "checkpoint", f"{shown}/checkpoint", MAX_NOTE)
        signed = read_checkpoint(note, ledger.keys, f"{ledger.origin}/run/{folder.name}", f"{shown}/checkpoint")
        view = RecordView(folder, folder.name, plan, matrix, start, signed, end=ledger.end_of(folder.name))
        view.commitments += plan_commitments(plan)
        log = _read_lines(view, entry, ledger, report)
    except (FormatError, VerificationError) as error:
        report.caught(error)
        return None
    _check_pins(view, log, ledger, report)
    _check_end(view, log, ledger, report)
    view.roots = log.roots
    beside = f" and {len(ledger.entries)} ledger entries" if ledger.whole else ""
    report.passed("V01", f"the plan, {log.size} record lines{beside} are canonical")
    what = (
        f"ledger ({len(ledger.entries)}) and record ({log.size})" if ledger.whole else f"the record's {log.size} lines"
    )
    report.passed("V03", f"{what} have the root{'s of their checkpoints' if ledger.whole else ' of its checkpoint'}")
    if signed.key is not None:
        report.passed("V04", f"every checkpoint is signed by {signed.key.name}+{signed.key.key_id.hex()}")
    report.passed("V07", f"{log.size} record lines are of known types and in order")
    return view


def plan_commitments(plan: Plan) -> list[str]:
    """Return every commitment a plan holds: its cases, then its texts."""
    found = [case.commitment for case in plan.test_set.cases]
    found += [case.asked for case in plan.test_set.cases if case.asked is not None]
    found += dict.fromkeys(case.unit for case in plan.test_set.cases if case.unit is not None)
    models = [*plan.configurations, *plan.helpers]
    holders: list[Configuration | Scorer | PlanTool] = [*models, *plan.scorers, *(t for m in models for t in m.tools)]
    for holder in holders:
        found += [text.commitment for text in holder.texts]
    return found


# ------------------------------------------------------------------------------------------------------------ plan


def _check_plan(raw: bytes, plan: Plan, entry: LedgerEntry, ledger: LedgerView, shown: str, report: Report) -> None:
    """V02, V09: the plan is the one that was started, and holds what was committed.

    Raises:
        VerificationError: it is another plan, or makes no sense, so that nothing can be told by it.
    """
    start: RunStart = entry.body
    where = f"{shown}/plan.json"
    if canonical.digest(raw) != start.plan:
        message = f"its digest is {canonical.digest(raw)}, the ledger started {start.plan}"
        raise VerificationError(message, where=where, code="PLAN-DIGEST")
    if ledger.whole:
        _check_commitments(plan, start, ledger, where, report)
    by_name = {item.name: item for item in plan.configurations}
    matrix = narrow(plan, start.narrowing)
    if matrix.size > MOST_TRIALS:
        raise VerificationError(f"a plan of {matrix.size} trials", where=where, code="STRICT-LIMIT")
    if (start.selection == "pilot") != (matrix.size < narrow(plan, None).size):
        report.found("START-MISMATCH", f"run.start says {start.selection} of {matrix.size} trials", where)
    if [item.name for item in start.configurations] != list(matrix.counts) or matrix.size != start.trials:
        report.found("CONFIGURATION-MISMATCH", f"the plan has {matrix.size} trials, run.start {start.trials}", where)
    for item in start.configurations:
        found = by_name.get(item.name)
        if found is None or configuration_digest(found) != item.digest or attempt_key(found) != item.attempt_key:
            report.found("CONFIGURATION-MISMATCH", f"{item.name} is not the configuration that was started", where)
    if plan.cache != start.cache or [file.digest for file in plan.cassettes] != list(start.cassettes):
        report.found("START-MISMATCH", "plan and run.start differ in how calls are cached", where)
    problems = [*plan_problems(plan), *mark_problems(plan.pass_mark)]
    for problem in problems[1:]:
        report.found("SCHEMA", problem, where)
    if problems:
        raise VerificationError(problems[0], where=where, code="SCHEMA")
    what = "; test set and pass mark are the committed ones" if ledger.whole else ""
    report.passed("V02", f"the plan has the digest that was started{what}")


def _check_commitments(plan: Plan, start: RunStart, ledger: LedgerView, where: str, report: Report) -> None:
    """V02: the plan holds the test set and the pass mark that were committed."""
    _check_test_set(plan, ledger.body_at(start.test_set.seq, CommitTestSet), where, report)
    mark = ledger.body_at(start.pass_mark.seq, CommitPassMark)
    if mark is None or mark.mark != plan.pass_mark:
        report.found("MARK-MISMATCH", "its pass mark is not the one that was committed", where)


def _check_test_set(plan: Plan, commit: CommitTestSet | None, where: str, report: Report) -> None:
    """V02: the root over the plan's case commitments in order of id is the committed one; public cases open theirs."""
    test_set = plan.test_set
    ordered = sorted(test_set.cases, key=lambda case: case.id.encode("utf-16-be"))
    if len({case.id for case in ordered}) != len(ordered):
        report.found("TESTSET-MISMATCH", "two cases share an id", where)
    root = "sha256:" + root_of(case.commitment.encode() for case in ordered).hex()
    stated = (test_set.name, test_set.version, len(ordered), root, test_set.digest)
    if commit is None or root != test_set.root or stated != _stated(commit):
        report.found("TESTSET-MISMATCH", "its cases are not the test set that was committed", where)


def _stated(commit: CommitTestSet) -> tuple[Any, ...]:
    return commit.name, commit.version, commit.cases, commit.root, commit.digest


# ----------------------------------------------------------------------------------------------------------- lines


def _read_lines(view: RecordView, entry: LedgerEntry, ledger: LedgerView, report: Report) -> LogFile:
    """Fold every line up to the checkpoint, and compare the root."""
    shown = f"runs/{view.run_id}/record.jsonl"
    point = view.signed.checkpoint
    pins = frozenset(size for size, _, _ in ledger.pins_of(view.run_id))
    pins |= {entry.body.record_size for entry in ledger.decisions(view.run_id)}
    log = LogFile(view.folder / "record.jsonl", shown, point.size, pins)
    checks = CellChecks(view.plan, view.matrix, view.board, report)
    resumed = {item.body.size for item in ledger.resumes_of(view.run_id)}
    last_time = ""
    for seq, (where, time, body) in enumerate(record_entries(log)):
        if time < last_time:
            report.found("ENTRY-ORDER", "a line is earlier than the one before it", where)
        last_time = time
        _check_place(view, body, seq, where, report)
        if isinstance(body, TrialStart):
            checks.start(body, where)
        elif isinstance(body, TrialEnd):
            checks.end(body, where)
            view.commitments += body.private.commitments.values()
            view.far_texts.update(filter(None, (body.finish, body.served, *body.requests)))
        elif isinstance(body, RunOpen):
            _check_open(view, body, entry, ledger, where, report)
        elif isinstance(body, RunClose):
            view.closed = body
            if body.counts != view.board.counts(view.matrix):
                report.found("COUNTS", "its counts are not those of the lines before it", where)
        elif isinstance(body, RunReopen):
            view.closed, view.adopted = None, view.adopted + body.adopted
            checks.sessions += 1
            if ledger.whole and seq - body.adopted not in resumed:
                message = "the record was reopened, and no run.resume pins it as it was before"
                report.found("ENTRY-ORDER", message, where)
    if log.frontier.root() != point.root:
        report.found("RECORD-ROOT", "its lines do not have the root of the checkpoint", shown)
    if view.opened is None:
        raise VerificationError("a record begins with run.open", where=shown, code="ENTRY-ORDER")
    checks.finish(view.closed, view.start.selection, check_order(view, report))
    return log


def _check_place(view: RecordView, body: Any, seq: int, where: str, report: Report) -> None:
    """V07: run.open comes first and once; after run.close only run.reopen."""
    if isinstance(body, RunOpen) != (seq == 0):
        report.found("ENTRY-ORDER", "run.open stands once, at the beginning", where)
    if view.closed is not None and not isinstance(body, RunReopen):
        report.found("ENTRY-ORDER", "a line follows run.close without run.reopen", where)


def _check_open(
    view: RecordView, body: RunOpen, entry: LedgerEntry, ledger: LedgerView, where: str, report: Report
) -> None:
    """V09: the record opens with the very run.start line that the signed ledger held."""
    view.opened = body
    line = body.start.entry.encode()
    if line != entry.line or body.run_id != view.run_id or body.plan != view.start.plan:
        report.found("START-MISMATCH", "the record opens with another run.start than the ledger's", where)
    if body.seed != canonical.digest(entry.line):
        report.found("START-MISMATCH", "the seed is not the digest of the run.start line", where)
    try:
        seen = read_checkpoint(body.start.note.encode(), ledger.keys, ledger.origin, where).checkpoint
    except (FormatError, VerificationError) as error:
        report.found("START-PROOF", f"the ledger's checkpoint in it does not hold: {error.message}", where)
        return
    proof = [bytes.fromhex(item.removeprefix("sha256:")) for item in body.start.proof]
    if not check_inclusion(leaf_hash(line), entry.seq, seen.size, proof, seen.root):
        report.found("START-PROOF", "the proof does not show run.start in the signed ledger", where)
    report.passed("V09", "the record opens with the ledger's run.start, its signed checkpoint and a proof of both")


# ------------------------------------------------------------------------------------------------- pins and the end


def _check_pins(view: RecordView, log: LogFile, ledger: LedgerView, report: Report) -> None:
    """V10: at every size that the ledger pinned, the record still has the pinned root."""
    pins = ledger.pins_of(view.run_id)
    for size, root, seq in pins:
        seen = log.roots.get(size)
        if size > view.size:
            message = f"has {view.size} signed lines; ledger entry {seq} pinned {size}"
            report.found("RUN-REWRITTEN", message, log.shown)
        elif size and (seen is None or "sha256:" + seen.hex() != root):
            report.found("RUN-REWRITTEN", f"its first {size} lines are not those that entry {seq} pinned", log.shown)
    if pins:
        report.passed("V10", f"the record extends all {len(pins)} roots that the ledger pinned")
    elif ledger.whole:
        report.skip("V10", "the ledger has pinned no root of this run yet")
    else:
        report.skip("V10", "the ledger is not here: give it with --ledger")


def _check_end(view: RecordView, log: LogFile, ledger: LedgerView, report: Report) -> None:
    """V14, V15, and what stands beyond the checkpoint."""
    end = view.end
    log.check_tail(report, "RECORD-TAIL-AFTER-END" if end else "RECORD-UNSIGNED-TAIL", note=end is None)
    if view.closed is None:
        report.skip("V14", "unfinished: the record has no run.close")
    else:
        report.passed("V14", f"run.close counts {view.closed.counts.planned} trials as the lines do")
    if not ledger.whole:
        report.skip("V15", "the ledger is not here: give it with --ledger")
        return
    if end is None:
        if ledger.waived(view.run_id):
            report.skip("V15", "unfinished, and waived: the run does not count")
            return
        report.skip("V15", "unfinished: the ledger has no run.end")
        message = f"unfinished: {view.matrix.size - len(view.board.cells)} of {view.matrix.size} trials never began"
        report.found("RUN-UNFINISHED", message, log.shown, note=True)
        return
    body, closed = end.body, view.closed
    if closed is None or body.size != view.size or body.counts != closed.counts:
        report.found("RUN-END", "the ledger's run.end is not about the record as it stands", log.shown)
    elif (body.status == "complete") != closed.complete:
        report.found("RUN-END", "run.end and run.close disagree on whether the run is complete", log.shown)
    report.passed("V15", "the ledger's run.end has this record's size, root, status and counts")


def board_at(folder: Path, plan: Plan, size: int) -> tuple[Board, RunClose | None]:
    """Fold the first `size` lines of a record again; used to re-derive a decision that was made earlier.

    Not checked here: anything. The record was verified before.
    """
    board, closed = Board(), None
    log = LogFile(folder / "record.jsonl", f"runs/{folder.name}/record.jsonl", size)
    for _, _, body in record_entries(log):
        if isinstance(body, TrialStart):
            board.start(body)
        elif isinstance(body, TrialEnd):
            board.end(body)
        elif isinstance(body, RunClose | RunReopen):
            closed = body if isinstance(body, RunClose) else None
    return board, closed
