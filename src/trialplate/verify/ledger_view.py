# SPDX-License-Identifier: Apache-2.0
"""The ledger as a reader sees it: checks V01, V03 to V08 over its entries, and what they say of each run.

The key that the ledger names for itself says who signed, not whether to believe it: trust is the reader's argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical
from trialplate.record.decisions import Decision
from trialplate.record.entries import (
    LEDGER_TYPES,
    CommitPassMark,
    CommitTestSet,
    Genesis,
    Pin,
    RunEnd,
    RunStart,
    Waiver,
)
from trialplate.record.frozen import Value
from trialplate.record.note import PublicKey, parse_key
from trialplate.record.values import EntryRef
from trialplate.rules.mark_shape import mark_problems
from trialplate.verify.baseline_entries import check_baselines
from trialplate.verify.findings import Report, counted
from trialplate.verify.known import Known
from trialplate.verify.log_file import MAX_NOTE, LogFile, Signed, claimed_size, read_checkpoint, read_small, typed_entry

__all__ = ["LedgerEntry", "LedgerView", "Reader", "read_ledger"]

T = TypeVar("T")


class Reader(Value, kw_only=False):
    """Who reads: whom they trust and which checkpoints they have seen. Never taken from what is read."""

    trust: Sequence[PublicKey] = ()
    known: Mapping[str, Known] = {}
    against: Sequence[bytes] = ()
    """Notes of checkpoints that the ledger must extend."""


class LedgerEntry(Value, kw_only=False):
    """One decoded entry, with the line it stands on."""

    seq: int
    time: str
    type: str
    body: Any
    line: bytes

    @property
    def ref(self) -> EntryRef:
        """Return how other entries name this one."""
        return EntryRef(seq=self.seq, digest=canonical.digest(self.line))


class LedgerView(Value, kw_only=False):
    """A ledger that was read up to its checkpoint, or the one entry of it that a record alone carries."""

    folder: Path
    origin: str
    keys: Sequence[PublicKey]
    """The key that signs it; none where a record stands alone and nobody named one."""
    signed: Signed
    entries: Sequence[LedgerEntry]
    whole: bool = True

    def place(self, seq: int) -> str:
        """Return where an entry stands."""
        return f"{self.folder.name}/entries.jsonl:{seq + 1}"

    def body_at(self, seq: int, kind: type[T]) -> T | None:
        """Return the body of an entry, if there is one and it is of this type."""
        body = self.entries[seq].body if seq < len(self.entries) else None
        return body if isinstance(body, kind) else None

    def bodies(self, kind: type, run_id: str | None = None, before: int | None = None) -> Iterator[LedgerEntry]:
        """Yield the entries of a type, of one run, before an entry number."""
        for entry in self.entries[:before]:
            if isinstance(entry.body, kind) and (run_id is None or getattr(entry.body, "run_id", None) == run_id):
                yield entry

    def starts(self) -> list[LedgerEntry]:
        """Return every run.start."""
        return list(self.bodies(RunStart))

    def start_of(self, run_id: str) -> LedgerEntry | None:
        """Return the run.start of a run."""
        return next(self.bodies(RunStart, run_id), None)

    def pins_of(self, run_id: str, before: int | None = None) -> list[tuple[int, str, int]]:
        """Return (record size, root, entry number) of every progress, resume and end of a run."""
        found = [(e.body.size, e.body.root, e.seq) for e in self.bodies(Pin, run_id, before)]
        found += [(e.body.size, e.body.root, e.seq) for e in self.bodies(RunEnd, run_id, before)]
        return sorted(found)

    def resumes_of(self, run_id: str) -> list[LedgerEntry]:
        """Return every run.resume of a run."""
        return [entry for entry in self.bodies(Pin, run_id) if entry.type == "run.resume"]

    def end_of(self, run_id: str, before: int | None = None) -> LedgerEntry | None:
        """Return the run.end that no later run.resume undid."""
        last: LedgerEntry | None = None
        for entry in self.entries[:before]:
            if isinstance(entry.body, RunEnd) and entry.body.run_id == run_id:
                last = entry
            elif entry.type == "run.resume" and entry.body.run_id == run_id:
                last = None
        return last

    def waived(self, run_id: str, before: int | None = None) -> bool:
        """Say whether a waiver names the run."""
        return next(self.bodies(Waiver, run_id, before), None) is not None

    def decisions(self, run_id: str) -> list[LedgerEntry]:
        """Return the decisions stated about a run."""
        return list(self.bodies(Decision, run_id))


def read_ledger(folder: Path, reader: Reader, report: Report) -> LedgerView | None:
    """Read and check a ledger; None, with findings in the report, if it cannot be used.

    Performs V01, V03, V04, V05, V06, V07 and V08 on the ledger. Not performed here: anything about a record.
    """
    shown = f"{folder.name}/entries.jsonl"
    try:
        origin = _origin(read_small(folder / "origin", f"{folder.name}/origin", 1024))
        note = read_small(folder / "checkpoint", f"{folder.name}/checkpoint", MAX_NOTE)
        key = _key_of(folder, note, shown)
        signed = read_checkpoint(note, [key], origin, f"{folder.name}/checkpoint")
        report.passed("V04", f"the ledger's checkpoint is signed by {key.name}+{key.key_id.hex()}")
        report.checkpoint = str(signed)
        entries, log = _entries(folder, shown, signed, reader, report)
    except (FormatError, VerificationError) as error:
        report.caught(error)
        return None
    genesis = entries[0].body
    if genesis.origin != origin or parse_key(genesis.key) != key:
        report.found("ORIGIN-MISMATCH", f"genesis is of {genesis.origin}, the ledger calls itself {origin}", shown)
    view = LedgerView(folder, origin, [key], signed, entries)
    log.check_tail(report, "LEDGER-UNSIGNED-TAIL", note=True)
    report.passed("V01", f"{len(entries)} ledger entries are canonical")
    report.passed("V03", f"the ledger's {len(entries)} entries have the root of its checkpoint")
    report.passed("V07", f"{len(entries)} ledger entries are of known types and in order")
    _check_trust(view, reader, report)
    _check_rollback(view, log, reader, report)
    _check_commits(view, report)
    _check_runs(view, report)
    check_baselines(view, report)
    return view


def _origin(raw: bytes) -> str:
    text = raw.decode("ascii", "replace")
    if text.endswith("\r\n"):
        raise FormatError("its line end was converted to CR LF", where="ledger/origin", code="SCHEMA")
    if not text.endswith("\n") or text.count("\n") != 1:
        raise FormatError("the origin file is one line", where="ledger/origin", code="SCHEMA")
    return text[:-1]


def _key_of(folder: Path, note: bytes, shown: str) -> PublicKey:
    """Return the key that genesis names."""
    first = next(LogFile(folder / "entries.jsonl", shown, max(1, _claimed(note))).lines("LEDGER"))
    entry, body = typed_entry(first, 0, f"{shown}:1", LEDGER_TYPES)
    if not isinstance(body, Genesis):
        raise FormatError(f"a ledger begins with log.genesis, not {entry.type}", where=f"{shown}:1", code="ENTRY-ORDER")
    return parse_key(body.key)


def _entries(
    folder: Path, shown: str, signed: Signed, reader: Reader, report: Report
) -> tuple[list[LedgerEntry], LogFile]:
    """Decode every entry up to the checkpoint, and compare the root."""
    point = signed.checkpoint
    sizes = frozenset(_claimed(note) for note in _seen_notes(reader, point.origin))
    log = LogFile(folder / "entries.jsonl", shown, point.size, sizes)
    lines = list(log.lines("LEDGER"))
    if log.frontier.root() != point.root:
        raise VerificationError("its lines do not have the root of the checkpoint", where=shown, code="LEDGER-ROOT")
    entries: list[LedgerEntry] = []
    for seq, line in enumerate(lines):
        where = f"{shown}:{seq + 1}"
        entry, body = typed_entry(line, seq, where, LEDGER_TYPES)
        if entries and entry.time < entries[-1].time:
            report.found("ENTRY-ORDER", "an entry is earlier than the one before it", where)
        if seq and isinstance(body, Genesis):
            report.found("ENTRY-ORDER", "log.genesis stands once, at the beginning", where)
        entries.append(LedgerEntry(seq, entry.time, entry.type, body, line))
    if not entries:
        raise VerificationError("the checkpoint covers no entry", where=shown, code="ENTRY-ORDER")
    return entries, log


def _seen_notes(reader: Reader, origin: str) -> list[bytes]:
    known = reader.known.get(origin)
    return [*reader.against, *([known.checkpoint] if known is not None else [])]


def _claimed(note: bytes) -> int:
    """Return the size that a note speaks of, or 0 for what is none: that is told where its signature is checked."""
    try:
        return claimed_size(note, "")
    except FormatError:
        return 0


def _check_trust(view: LedgerView, reader: Reader, report: Report) -> None:
    """V05 and V20: who vouches for the key that signs this ledger."""
    own = view.keys[0]
    named = f"{own.name}+{own.key_id.hex()}"
    known = reader.known.get(view.origin)
    trusted = any(key.key == own.key for key in reader.trust)
    if known is not None and known.key.key != own.key:
        report.found("KEY-CHANGED", f"{view.origin} is signed by {named}; here it is known under {known.key.line}")
    if known is not None and known.genesis != view.entries[0].ref.digest:
        report.found("GENESIS-CHANGED", f"{view.origin} has another beginning than the one known here")
    if reader.trust and not trusted:
        report.found("KEY-UNTRUSTED", f"{named} signs this ledger and is not among the keys you trust")
    if trusted or (known is not None and known.key.key == own.key):
        report.level = "A1"
        by = "a key you named" if trusted else "the key you know for this ledger"
        report.passed("V20", f"A1: signed by {named}, {by}. Time and witnesses: not in this record")
    else:
        report.passed("V20", f"A0: self-signed by {named}; nobody you trust vouches for this key")
    report.passed("V05", f"{view.origin} is signed throughout by {named}")


def _check_rollback(view: LedgerView, log: LogFile, reader: Reader, report: Report) -> None:
    """V06: the ledger extends every checkpoint that this reader has seen."""
    checked = 0
    for note in _seen_notes(reader, view.origin):
        try:
            shown = "the checkpoint to compare with"
            seen = read_checkpoint(note, [], view.origin, shown).checkpoint  # another ledger's is told as such
            read_checkpoint(note, view.keys, view.origin, shown)
        except (FormatError, VerificationError) as error:
            report.caught(error)
            continue
        checked += 1
        if seen.size > view.signed.checkpoint.size:
            message = f"ends at {view.signed.checkpoint.size}; a checkpoint of size {seen.size} is known"
            report.found("LEDGER-ROLLED-BACK", message, f"{view.folder.name}/checkpoint")
        elif seen.size and log.roots.get(seen.size) != seen.root:
            message = f"does not extend the checkpoint of size {seen.size} that is known"
            report.found("LEDGER-FORK", message, f"{view.folder.name}/checkpoint")
    if checked:
        report.passed("V06", f"extends {checked} checkpoint{'s' if checked > 1 else ''} seen before")
    else:
        report.skip("V06", "rollback=NOT-CHECKED: no earlier checkpoint is known here; give one with --against")


def _check_commits(view: LedgerView, report: Report) -> None:
    """V08: every run names a test set and a pass mark that were committed before it."""
    starts = view.starts()
    for start in starts:
        where = view.place(start.seq)
        body: RunStart = start.body
        mark = _committed(view, body.pass_mark, CommitPassMark, start.seq, "MARK-AFTER-RESULTS", where, report)
        _committed(view, body.test_set, CommitTestSet, start.seq, "TESTSET-AFTER-RESULTS", where, report)
        if mark is not None and mark.test_set != body.test_set:
            report.found("MARK-MISMATCH", "the run's pass mark was committed for another test set", where)
    for entry in view.bodies(CommitPassMark):
        for problem in mark_problems(entry.body.mark):
            report.found("SCHEMA", problem, view.place(entry.seq))
        if entry.body.digest != canonical.digest_value(canonical.decode(entry.line)["body"]["mark"]):
            report.found("MARK-MISMATCH", "the digest is not that of the mark beside it", view.place(entry.seq))
    report.passed("V08", f"{counted(len(starts), 'run')}, each after the test set and the pass mark it names")


def _check_runs(view: LedgerView, report: Report) -> None:
    """V07: what the ledger says of a run begins with its start, and goes on after its end only with a resume."""
    state: dict[str, str] = {}
    for entry in view.entries:
        run_id = getattr(entry.body, "run_id", None)
        if run_id is None or isinstance(entry.body, Waiver):
            continue
        before = state.get(run_id)
        wrong = None
        if isinstance(entry.body, RunStart) == (before is not None):
            wrong = "a second run.start" if before else f"{entry.type} before a run.start"
        elif before == "ended" and entry.type in ("run.progress", "run.end"):
            wrong = f"{entry.type} after run.end, without run.resume"
        if wrong is not None:
            report.found("ENTRY-ORDER", f"{wrong} of run {run_id}", view.place(entry.seq))
        if isinstance(entry.body, RunEnd):
            state[run_id] = "ended"
        elif before is None or entry.type == "run.resume":
            state[run_id] = "open"


def _committed(
    view: LedgerView, ref: EntryRef, kind: type, before: int, late: str, where: str, report: Report
) -> Any | None:
    """Return the commitment that a reference names, if it stands before the entry that needs it."""
    if ref.seq >= before:
        report.found(late, f"names entry {ref.seq}, which comes after it", where)
        return None
    entry = view.entries[ref.seq]
    if entry.ref != ref or not isinstance(entry.body, kind):
        report.found("COMMIT-MISSING", f"entry {ref.seq} is not the commitment that is named", where)
        return None
    return entry.body
