# SPDX-License-Identifier: Apache-2.0
"""The numbered procedure: in which order the checks are made, and which need which.

    V20 V05 V06   who signs, who vouches for them, and does the log extend what the reader has seen
    V01 V07       every line is canonical, of a known type, in order
    V03 V04       the lines have the root that the checkpoint signs
    V08           test set and pass mark were committed before the run started
    V02 V09       plan, start and record bind each other
    V10 V15       the record still has every root that the ledger pinned, and ends as it says
    V11-V14 V17   the trials are the planned ones, in order, and say what follows from them
    V16           what opens the private parts matches, and nothing private stands in the open
    V22           which answers people graded to check a judge, where they did
    V18 V19       the other attempts, and every decision derived again

Nothing is written, run, scored or fetched. A check that could not be made is SKIP, with the reason.
"""

from __future__ import annotations

from pathlib import Path

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical, codec
from trialplate.record.entries import Entry, RunOpen, RunStart
from trialplate.record.log import MAX_ENTRY
from trialplate.record.note import parse_checkpoint
from trialplate.verify.content import check_content
from trialplate.verify.findings import Report
from trialplate.verify.gate import Gate, Others
from trialplate.verify.judges import check_judge_entries
from trialplate.verify.ledger_view import LedgerEntry, LedgerView, Reader, read_ledger
from trialplate.verify.locate import Found
from trialplate.verify.log_file import MAX_NOTE, LogFile, Signed, read_checkpoint, read_small
from trialplate.verify.record_view import RecordView, read_record

__all__ = ["Verified", "verify"]


class Verified:
    """What was found, and the gate to a decision where ledger and record could both be read."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.ledger: LedgerView | None = None
        self.record: RecordView | None = None
        self.gate: Gate | None = None


def verify(found: Found, reader: Reader, others: Others | None = None) -> Verified:
    """Verify a ledger, or a run with its ledger, or a run alone as far as that goes.

    Args:
        others: records of one ledger's runs that were read before; filled as more are read.
    """
    report = Report(f"runs/{found.run.name}" if found.run is not None else "ledger")
    done = Verified(report)
    if found.ledger is not None:
        done.ledger = read_ledger(found.ledger, reader, report)
    elif found.run is not None:
        done.ledger = _from_record(found.run, reader, report)
    if done.ledger is not None and done.ledger.whole:
        check_judge_entries(done.ledger, report)
    if done.ledger is not None and found.run is None:
        _say_missing(done.ledger, report)
    if done.ledger is not None and found.run is not None:
        _verify_run(done, found.run, done.ledger, {} if others is None else others)
    _skip_rest(report, found.run is None)
    return done


def _verify_run(done: Verified, run: Path, ledger: LedgerView, others: Others) -> None:
    record = read_record(run, ledger, done.report)
    done.record = record
    if record is None:
        return
    check_content(record, ledger, done.report)
    if ledger.whole:
        done.gate = Gate(ledger, record, run.parent, done.report, others)
        done.gate.judges.check()
        done.gate.check_stop()
        done.gate.check_baseline()
        done.gate.check_decisions()
        done.gate.check_attempts()


def _say_missing(ledger: LedgerView, report: Report) -> None:
    """Name the runs that the ledger started and whose folders are not beside it."""
    started = [entry.body.run_id for entry in ledger.starts()]
    missing = [run_id for run_id in started if not (ledger.folder.parent / "runs" / run_id).is_dir()]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        report.found("RUN-MISSING", f"{len(missing)} of {len(started)} runs are not here: {shown}", note=True)


def _skip_rest(report: Report, ledger_only: bool) -> None:
    """Give every check that nobody made its reason."""
    for check in report.checks:
        if check not in report.said and check not in report.skipped and report.status(check) != "FAIL":
            reason = "this is about a run; a ledger alone was given" if ledger_only else "not reached: see the findings"
            report.skip(check, reason)


def _from_record(run: Path, reader: Reader, report: Report) -> LedgerView | None:
    """Return what a record that stands alone shows of its ledger: the run.start entry and the checkpoint over it.

    The key is one that the reader trusts or knows for that ledger. Without one nothing is known about who signed.
    """
    shown = f"runs/{run.name}"
    try:
        note = read_small(run / "checkpoint", f"{shown}/checkpoint", MAX_NOTE)
        point = parse_checkpoint(note.decode().partition("\n\n")[0] + "\n")
        first = next(LogFile(run / "record.jsonl", f"{shown}/record.jsonl", 1).lines("RECORD"))
        first_entry = codec.decode(Entry, canonical.decode(first, shown, MAX_ENTRY), shown)
        opened = codec.decode(RunOpen, first_entry.body, shown)
        line = opened.start.entry.encode()
        entry = codec.decode(Entry, canonical.decode(line, shown, MAX_ENTRY), shown)
        start = codec.decode(RunStart, entry.body, shown)
        origin = point.origin.removesuffix(f"/run/{start.run_id}")
        known = reader.known.get(origin)
        keys = [*reader.trust] or ([known.key] if known is not None else [])
        signed = read_checkpoint(opened.start.note.encode(), keys, origin, f"{shown}/record.jsonl:1")
    except (FormatError, VerificationError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError):
            error = FormatError("a checkpoint is UTF-8", where=f"{shown}/checkpoint", code="NOTE-MALFORMED")
        report.caught(error)
        return None
    _say_alone(report, signed)
    found = LedgerEntry(entry.seq, entry.time, entry.type, start, line)
    return LedgerView(run, origin, keys, signed, [found], whole=False)


def _say_alone(report: Report, signed: Signed) -> None:
    """Say what a record without its ledger cannot show."""
    alone = "the ledger is not here: give it with --ledger"
    for check in ("V05", "V06", "V08", "V18", "V19"):
        report.skip(check, alone)
    report.checkpoint = str(signed)
    if signed.key is None:
        report.skip("V04", "no key is named to check the signature with: give one with --trust")
        report.passed("V20", "A0: nobody you trust vouches for this record, and its signature was not checked")
    else:
        report.level = "A1"
        signer = f"{signed.key.name}+{signed.key.key_id.hex()}"
        report.passed("V20", f"A1: signed by {signer}, a key you know; without its ledger")
