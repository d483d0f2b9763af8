# SPDX-License-Identifier: Apache-2.0
"""Reading a log from disk: up to its checkpoint and not a line further, bounded in every direction."""

from __future__ import annotations

from pathlib import Path

import pytest

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical
from trialplate.record.entries import RECORD_TYPES, TrialStart
from trialplate.record.log import MAX_ENTRY, root_of
from trialplate.record.note import Checkpoint, format_checkpoint, sign_note, signer_from_seed
from trialplate.verify.findings import Report
from trialplate.verify.log_file import LogFile, read_checkpoint, read_small, typed_entry

LINES = [b"one", b"two", b"three"]
SIGNER = signer_from_seed("TEST-ONLY", bytes(32))
OTHER = signer_from_seed("OTHER", bytes(range(32)))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file of three lines."""
    file = tmp_path / "record.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in LINES))
    return file


def opened(path: Path, size: int, pins: set[int] | None = None) -> LogFile:
    """Return a log that is read as far as its checkpoint."""
    return LogFile(path, "r", size, frozenset(pins or ()))


def test_lines_come_up_to_the_checkpoint_and_the_rest_is_only_counted(log: Path) -> None:
    """What nobody signed is not handed out."""
    file = opened(log, 2)
    assert list(file.lines("RECORD")) == LINES[:2]
    assert (file.tail, file.torn) == (1, False)
    assert file.frontier.root() == root_of(LINES[:2])


def test_lines_keep_the_roots_of_pinned_sizes(log: Path) -> None:
    """The roots that the ledger speaks of are taken while the lines go by."""
    file = opened(log, 3, {1, 3, 9})
    list(file.lines("RECORD"))
    assert file.roots == {1: root_of(LINES[:1]), 3: root_of(LINES)}


@pytest.mark.parametrize(
    ("tail", "lines", "torn"),
    [(b"", 0, False), (b"x\n", 1, False), (b"x\ny", 1, True), (b"{", 0, True), (b"\n\n", 2, False)],
)
def test_tail_is_told_as_lines_and_as_torn(log: Path, tail: bytes, lines: int, torn: bool) -> None:
    """Complete lines and a torn one beyond the checkpoint are told apart, and neither is counted."""
    log.write_bytes(log.read_bytes() + tail)
    file = opened(log, 3)
    assert list(file.lines("RECORD")) == LINES
    assert (file.tail, file.torn) == (lines, torn)
    report = Report("t")
    file.check_tail(report, "RECORD-UNSIGNED-TAIL", note=True)
    assert [item.code for item in report.findings] == ["RECORD-UNSIGNED-TAIL"] * bool(tail)
    assert report.holds


@pytest.mark.parametrize("kept", [0, 3, 4, 8, 12, 13])
@pytest.mark.parametrize("kind", ["LEDGER", "RECORD"])
def test_lines_fewer_than_the_checkpoint_covers_are_truncated(log: Path, kept: int, kind: str) -> None:
    """A log cut anywhere, within a line or between two, is told as cut."""
    log.write_bytes(log.read_bytes()[:kept])
    with pytest.raises(VerificationError) as caught:
        list(opened(log, 3).lines(kind))
    assert caught.value.code == f"{kind}-TRUNCATED"
    assert "covers 3" in caught.value.message


def test_lines_longest_entry_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    """65,535 bytes are an entry; 65,536 are not, and are not read into memory to find out."""
    file = tmp_path / "long.jsonl"
    file.write_bytes(b"x" * MAX_ENTRY + b"\n")
    assert [len(line) for line in opened(file, 1).lines("RECORD")] == [MAX_ENTRY]
    for raw in (b"x" * (MAX_ENTRY + 1) + b"\n", b"x" * (10 * MAX_ENTRY)):
        file.write_bytes(raw)
        with pytest.raises(FormatError) as caught:
            list(opened(file, 1).lines("RECORD"))
        assert (caught.value.code, caught.value.where) == ("STRICT-LIMIT", "r:1")


def test_lines_of_an_overlong_tail_are_bounded_too(log: Path) -> None:
    """Megabytes without a line feed beyond the checkpoint are a torn tail."""
    log.write_bytes(log.read_bytes() + b"x" * (3 * MAX_ENTRY))
    file = opened(log, 3)
    assert len(list(file.lines("RECORD"))) == 3
    assert (file.tail, file.torn) == (0, True)


def test_lines_of_a_missing_file_say_so(tmp_path: Path) -> None:
    """A missing file is a finding, not a traceback."""
    with pytest.raises(VerificationError) as caught:
        list(opened(tmp_path / "none", 1).lines("RECORD"))
    assert caught.value.code == "FILE-MISSING"


def test_read_small_limits_what_it_takes(tmp_path: Path) -> None:
    """At the limit it is read, beyond it refused; a folder in its place cannot be read."""
    file = tmp_path / "note"
    file.write_bytes(b"12345")
    assert read_small(file, "note", 5) == b"12345"
    with pytest.raises(FormatError) as caught:
        read_small(file, "note", 4)
    assert caught.value.code == "STRICT-LIMIT"
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(VerificationError) as missing:
            read_small(path, "note", 5)
        assert missing.value.code == "FILE-MISSING"


# ------------------------------------------------------------------------------------------------------ checkpoints


def note(origin: str = "log", size: int = 3, signer: object = SIGNER) -> bytes:
    """Return a signed checkpoint."""
    point = Checkpoint(origin=origin, size=size, root=root_of(LINES))
    return sign_note(format_checkpoint(point), signer)  # type: ignore[arg-type]


def test_read_checkpoint_of_the_right_key_and_origin() -> None:
    """What is signed and expected is returned with the key that signed it."""
    signed = read_checkpoint(note(), [OTHER.public, SIGNER.public], "log", "checkpoint")
    assert (signed.checkpoint.size, signed.key) == (3, SIGNER.public)
    assert str(signed) == f"log size 3 root {root_of(LINES).hex()}"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (note(signer=OTHER), "SIG-MISSING"),
        (note(origin="another"), "ORIGIN-MISMATCH"),
        (note().replace(b"\n3\n", b"\n4\n"), "NOTE-SIGNATURE"),
        (b"", "NOTE-MALFORMED"),
        (b"\xff", "NOTE-MALFORMED"),
        (sign_note("not a checkpoint\n", SIGNER), "CHECKPOINT-MALFORMED"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_read_checkpoint_that_cannot_be_believed_is_refused_by_its_code(raw: bytes, code: str) -> None:
    """Foreign signer, foreign origin, changed text, no note, no checkpoint: each has its name and its place."""
    with pytest.raises((FormatError, VerificationError)) as caught:
        read_checkpoint(raw, [SIGNER.public], "log", "ledger/checkpoint")
    assert (caught.value.code, caught.value.where) == (code, "ledger/checkpoint")


def test_read_checkpoint_without_any_key_checks_no_signature() -> None:
    """Where nobody named a key, the text is read and nobody is said to have signed it."""
    assert read_checkpoint(note(), [], "log", "c").key is None


# -------------------------------------------------------------------------------------------------------- entries

BODY = {"trial": ["m", "q1", 1], "attempt": 1}
ENTRY = {"v": 1, "seq": 4, "time": "2026-11-30T10:00:00.000Z", "type": "trial.start", "body": BODY}


def test_typed_entry_returns_entry_and_body() -> None:
    """A known type is decoded into its class."""
    entry, body = typed_entry(canonical.encode(ENTRY), 4, "r:5", dict(RECORD_TYPES))
    assert (entry.seq, body) == (4, TrialStart(trial=("m", "q1", 1), attempt=1))


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (canonical.encode({**ENTRY, "seq": 5}), "ENTRY-ORDER"),
        (canonical.encode({**ENTRY, "type": "trial.note"}), "ENTRY-TYPE"),
        (canonical.encode({**ENTRY, "v": 2}), "VERSION"),
        (canonical.encode({**ENTRY, "body": {**BODY, "more": 1}}), "SCHEMA"),
        (canonical.encode({**ENTRY, "extra": 1}), "SCHEMA"),
        (b"[]", "SCHEMA"),
        (b" " + canonical.encode(ENTRY), "STRICT-NONCANONICAL"),
        (b"{", "STRICT-SYNTAX"),
        (canonical.encode(ENTRY).replace(b'"v":1', b'"v":1,"v":1'), "STRICT-DUPKEY"),
    ],
)
def test_typed_entry_refuses_by_code(raw: bytes, code: str) -> None:
    """Order, type, version, fields and bytes: each fault has its code."""
    with pytest.raises(FormatError) as caught:
        typed_entry(raw, 4, "r:5", dict(RECORD_TYPES))
    assert (caught.value.code, caught.value.where) == (code, "r:5")
