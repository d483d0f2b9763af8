# SPDX-License-Identifier: Apache-2.0
"""Writing a record: lines at once, checkpoints in groups, and what a resumed record takes over."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from trialplate.errors import FormatError, StorageError, UsageError, VerificationError
from trialplate.ledger.content import ContentWriter
from trialplate.ledger.record_writer import RecordWriter, record_lock, record_origin, set_record_aside
from trialplate.record import canonical
from trialplate.record.disclosure import commit
from trialplate.record.log import root_of
from trialplate.record.note import open_note, parse_checkpoint, signer_from_seed
from trialplate.record.values import Opening

SIGNER = signer_from_seed("operator", bytes(32))
ORIGIN = record_origin("example.org/demo-0123abcd", "20261130T090000000Z-0123abcd")
TIME = "2026-11-30T09:00:00.000Z"
BODY = {"trial": ["m/p", "case", 1], "attempt": 1}


class Clocks:
    """A wall clock and a steady one that the test moves."""

    def __init__(self) -> None:
        self.time, self.now = TIME, 100.0


@pytest.fixture
def clocks() -> Clocks:
    """Clocks that stand still until moved."""
    return Clocks()


def begin(folder: Path, clocks: Clocks, content: ContentWriter | None = None) -> RecordWriter:
    return RecordWriter.create(
        folder, ORIGIN, SIGNER, content=content, clock=lambda: clocks.time, ticks=lambda: clocks.now
    )


def reopen(folder: Path, *, closed: bool = False) -> RecordWriter:
    return RecordWriter.open_existing(folder, ORIGIN, SIGNER, closed=closed, clock=lambda: TIME)


def written(folder: Path, signed: int, more: int = 0) -> None:
    """A record that was left by a crash: so many lines under its checkpoint, so many beyond it."""
    with begin(folder, Clocks()) as record:
        for _ in range(signed):
            record.write("trial.start", BODY)
        record.sync()
        for _ in range(more):
            record.write("trial.start", BODY)


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "record.jsonl").read_bytes().split(b"\n")[:-1]


def test_write_puts_each_line_into_the_file_before_it_returns(tmp_path: Path, clocks: Clocks) -> None:
    """Whoever reads the file after `write` sees the line, whether or not the process lives on."""
    with begin(tmp_path, clocks) as record:
        for number in range(3):
            assert number == record.write("trial.start", BODY)
            assert number + 1 == len(lines_of(tmp_path)) == record.size
            entry = canonical.decode(lines_of(tmp_path)[-1])
            assert {"v": 1, "seq": number, "time": TIME, "type": "trial.start", "body": BODY} == entry

        assert root_of(lines_of(tmp_path)) == record.root
        assert f"sha256:{record.root.hex()}" == record.root_digest
        assert not (tmp_path / "checkpoint").exists()


def test_sync_signs_what_was_written_and_does_nothing_twice(tmp_path: Path, clocks: Clocks) -> None:
    """The checkpoint has the record's origin, size and root."""
    with begin(tmp_path, clocks) as record:
        assert record.sync().size == 0
        assert not (tmp_path / "checkpoint").exists()
        record.write("trial.start", BODY)
        point = record.sync()

        note = (tmp_path / "checkpoint").read_bytes()
        assert (record.note, (ORIGIN, 1)) == (note, (point.origin, point.size))
        assert point == parse_checkpoint(open_note(note, [SIGNER.public]).text)
        before = (tmp_path / "checkpoint").stat().st_ino
        record.sync()
        assert before == (tmp_path / "checkpoint").stat().st_ino


def test_maybe_sync_begins_a_group_before_it_is_as_far_behind_as_it_may_be(tmp_path: Path, clocks: Clocks) -> None:
    """Checkpoints come in groups, soon enough to be out within 250 ms or 500 lines, and never for nothing."""
    with begin(tmp_path, clocks) as record:
        clocks.now += 10
        assert not record.maybe_sync()
        record.sync()
        record.write("trial.start", BODY)
        clocks.now += 0.12
        assert not record.maybe_sync()
        clocks.now += 0.01
        assert record.maybe_sync()
        assert record.sync().size == 1
        for _ in range(374):
            record.write("trial.start", BODY)
            assert not record.maybe_sync()
        record.write("trial.start", BODY)
        assert record.maybe_sync()
        assert record.sync().size == 376
        assert parse_checkpoint(open_note(record.note, [SIGNER.public]).text).size == 376


class Disk:
    """Stands in for the one function that makes data durable: it waits, or fails, and tells which file it was given."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.fails = False
        self.durable: list[tuple[str, int]] = []
        """Names, and how long each file was."""
        monkeypatch.setattr("trialplate.ledger.durable.fsync", self)

    def __call__(self, fd: int) -> None:
        """Make one file durable, once the test lets it."""
        self.asked.set()
        assert self.go_on.wait(30)
        if self.fails:
            raise OSError(errno.EIO, "no such luck")
        found = os.fstat(fd)
        names = {(self.folder / name).stat().st_ino: name for name in ("content.jsonl", "record.jsonl")}
        self.durable.append((names.get(found.st_ino, "checkpoint"), found.st_size))

    def begin(self, record: RecordWriter) -> None:
        """Let a group begin, and return while the thread is at its first file."""
        assert record.maybe_sync()
        assert self.asked.wait(30)


def test_lines_written_while_a_group_is_under_way_are_not_in_its_checkpoint(
    tmp_path: Path, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint never covers what is not durable, nor content that is not: the next group takes both."""
    with ContentWriter(tmp_path) as content, begin(tmp_path, clocks, content) as record:
        content.write([Opening(salt="a" * 22, value="answer")])
        record.write("trial.start", BODY)
        disk = Disk(tmp_path, monkeypatch)
        clocks.now += 0.13
        disk.begin(record)
        content.write([Opening(salt="b" * 22, value="answer")])
        record.write("trial.start", BODY)
        assert not record.maybe_sync()
        assert not (tmp_path / "checkpoint").exists()
        disk.go_on.set()
        clocks.now += 0.13
        assert record.maybe_sync()
        assert parse_checkpoint(open_note(record.note, [SIGNER.public]).text).size == 1
        assert record.sync().size == 2

    assert [name for name, _ in disk.durable] == ["content.jsonl", "record.jsonl", "checkpoint"] * 2
    assert disk.durable[3][1] == (tmp_path / "content.jsonl").stat().st_size


@pytest.mark.parametrize("late", ["lines", "time"])
def test_maybe_sync_waits_for_a_disk_that_falls_behind(
    tmp_path: Path, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """At 500 lines, or 250 ms, the run waits for the disk."""
    with ContentWriter(tmp_path) as content, begin(tmp_path, clocks, content) as record:
        record.write("trial.start", BODY)
        disk = Disk(tmp_path, monkeypatch)
        clocks.now += 0.13
        disk.begin(record)
        for _ in range(498):
            record.write("trial.start", BODY)
            assert not record.maybe_sync()
        if late == "lines":
            record.write("trial.start", BODY)
        clocks.now += 0.13 if late == "time" else 0
        asked = threading.Thread(target=record.maybe_sync)
        asked.start()
        assert not (tmp_path / "checkpoint").exists()
        disk.go_on.set()
        asked.join(30)
        assert record.note
        record.sync()


def test_group_that_failed_is_told_at_the_next_occasion_and_ever_after(
    tmp_path: Path, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the thread could not make durable is an error of the run, and no later checkpoint covers it."""
    with ContentWriter(tmp_path) as content, begin(tmp_path, clocks, content) as record:
        content.write([Opening(salt="a" * 22, value="answer")])
        record.write("trial.start", BODY)
        disk = Disk(tmp_path, monkeypatch)
        disk.fails = True
        disk.go_on.set()
        clocks.now += 0.13
        disk.begin(record)
        clocks.now += 0.13
        with pytest.raises(StorageError):
            record.maybe_sync()
        disk.fails = False
        for _ in range(2):
            with pytest.raises(StorageError, match="may have lost data"):
                record.sync()

    assert not (tmp_path / "checkpoint").exists()


def test_write_while_the_clock_goes_back_never_writes_an_earlier_time(tmp_path: Path, clocks: Clocks) -> None:
    """An hour lost to daylight saving or NTP does not show as an earlier entry."""
    with begin(tmp_path, clocks) as record:
        record.write("trial.start", BODY)
        clocks.time = "2026-11-30T08:00:00.000Z"
        record.write("trial.start", BODY)

    assert [canonical.decode(line)["time"] for line in lines_of(tmp_path)] == [TIME, TIME]


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("waiver", {}, "ENTRY-TYPE"),
        ("trial.end", {"text": "x" * 70_000}, "ENTRY-LIMIT"),
        ("trial.end", {"x": 2**53}, "CANON"),
    ],
)
def test_write_of_what_no_reader_would_take_is_refused(
    tmp_path: Path, clocks: Clocks, kind: str, body: object, code: str
) -> None:
    """The log goes on as if nothing had been tried."""
    with begin(tmp_path, clocks) as record:
        with pytest.raises(FormatError) as caught:
            record.write(kind, body)
        assert code == caught.value.code
        assert record.write("trial.start", BODY) == 0

    assert len(lines_of(tmp_path)) == 1


def test_create_where_a_record_is_leaves_it(tmp_path: Path, clocks: Clocks) -> None:
    """A run's record is begun once."""
    written(tmp_path, 1)
    before = (tmp_path / "record.jsonl").read_bytes()

    with pytest.raises(UsageError, match="already"):
        begin(tmp_path, clocks)

    assert before == (tmp_path / "record.jsonl").read_bytes()
    reopen(tmp_path).close()


def test_record_has_one_writer_and_whoever_else_asks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is held from before the record is read; a resume beside it is told so, and may go on once it is free."""
    monkeypatch.setattr("trialplate.ledger.record_writer._LOCK_TIMEOUT_S", 0.01)
    with record_lock(tmp_path):
        with pytest.raises(StorageError) as caught, record_lock(tmp_path):
            pass
        assert caught.value.code == "LOCKED"
        assert "another run or resume" in caught.value.message
    with record_lock(tmp_path):
        pass


def test_open_existing_sets_aside_from_the_first_line_that_is_not_taken_over(tmp_path: Path) -> None:
    """What the caller does not take, and all that follows it, is kept apart, unchanged."""
    written(tmp_path, 2, more=3)
    whole = (tmp_path / "record.jsonl").read_bytes()
    taken = iter([True, False])
    with RecordWriter.open_existing(
        tmp_path, ORIGIN, SIGNER, closed=False, adopts=lambda body: next(taken), clock=lambda: TIME
    ) as record:
        assert (record.size, record.adopted) == (3, 1)
        assert record.set_aside is not None
        assert (tmp_path / "record.jsonl").read_bytes() + record.set_aside.path.read_bytes() == whole


def test_record_that_was_never_signed_is_set_aside_whole(tmp_path: Path) -> None:
    """Nothing of it was evidence; it is kept, and another may be begun in its place."""
    (tmp_path / "record.jsonl").write_bytes(b"half a li")
    aside = set_record_aside(tmp_path)
    assert aside is not None
    assert aside.path.read_bytes() == b"half a li"
    assert not (tmp_path / "record.jsonl").exists()
    assert set_record_aside(tmp_path) is None


def test_open_existing_goes_on_where_the_record_ended(tmp_path: Path, clocks: Clocks) -> None:
    """A clean end: nothing adopted, nothing set aside, the same root, and the next line follows."""
    written(tmp_path, 3)

    with reopen(tmp_path) as record:
        assert (record.size, record.adopted, record.set_aside) == (3, 0, None)
        assert root_of(lines_of(tmp_path)) == record.root
        assert (tmp_path / "checkpoint").read_bytes() == record.note
        assert record.write("run.reopen", {"adopted": 0, "reason": "resume"}) == 3
        assert record.sync().size == 4


@pytest.mark.parametrize("torn", [b"", b'{"body":{"tr', b"\x00\x00"])
def test_open_existing_after_a_crash_adopts_complete_lines_and_sets_a_torn_one_aside(
    tmp_path: Path, torn: bytes
) -> None:
    """Paid answers are kept and counted; half a line is kept apart."""
    written(tmp_path, 2, more=3)
    whole = (tmp_path / "record.jsonl").read_bytes()
    (tmp_path / "record.jsonl").write_bytes(whole + torn)

    with reopen(tmp_path) as record:
        assert (record.size, record.adopted) == (5, 3)
        assert whole == (tmp_path / "record.jsonl").read_bytes()
        if torn:
            assert record.set_aside is not None
            assert (torn, tmp_path) == (record.set_aside.path.read_bytes(), record.set_aside.path.parent)
        else:
            assert record.set_aside is None
        record.write("run.reopen", {"adopted": 3, "reason": "resume"})
        assert record.sync().size == 6

    with reopen(tmp_path) as record:
        assert (record.size, record.adopted) == (6, 0)


def edit(name: str, old: bytes, new: bytes) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        raw = (folder / name).read_bytes()
        assert old in raw
        (folder / name).write_bytes(raw.replace(old, new, 1))

    return change


def add(tail: bytes) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        with (folder / "record.jsonl").open("ab") as file:
            file.write(tail)

    return change


def entry(seq: int, **fields: object) -> bytes:
    value = {"v": 1, "seq": seq, "time": TIME, "type": "trial.start", "body": BODY, **fields}
    return canonical.encode(value) + b"\n"


DAMAGE: list[tuple[str, Callable[[Path], object], str]] = [
    ("a line edited", edit("record.jsonl", b'"attempt":1', b'"attempt":2'), "RECORD-ROOT"),
    (
        "a line gone",
        lambda folder: (folder / "record.jsonl").write_bytes(lines_of(folder)[0] + b"\n"),
        "RECORD-TRUNCATED",
    ),
    ("no record", lambda folder: (folder / "record.jsonl").unlink(), "FILE-MISSING"),
    ("no checkpoint", lambda folder: (folder / "checkpoint").unlink(), "FILE-MISSING"),
    ("a size edited", edit("checkpoint", b"\n2\n", b"\n1\n"), "NOTE-SIGNATURE"),
    ("a number skipped", add(entry(3)), "RECORD-UNSIGNED-TAIL"),
    ("no entry", add(b"{}\n"), "RECORD-UNSIGNED-TAIL"),
    ("an unknown type", add(entry(2, type="waiver")), "RECORD-UNSIGNED-TAIL"),
    ("an earlier time", add(entry(2, time="2025-01-01T00:00:00.000Z")), "RECORD-UNSIGNED-TAIL"),
    ("too long", add(entry(2, body={"x": "y" * 70_000})), "RECORD-UNSIGNED-TAIL"),
    ("another body", add(entry(2, body={})), "RECORD-UNSIGNED-TAIL"),
]


@pytest.mark.parametrize(("what", "damage", "code"), DAMAGE, ids=[item[0] for item in DAMAGE])
def test_open_existing_of_a_record_that_does_not_hold_is_refused_and_writes_nothing(
    tmp_path: Path, what: str, damage: Callable[[Path], object], code: str
) -> None:
    """A crash leaves none of these."""
    written(tmp_path, 2)
    damage(tmp_path)
    before = {item.name: item.read_bytes() for item in tmp_path.iterdir()}

    with pytest.raises(VerificationError) as caught:
        reopen(tmp_path)

    assert code == caught.value.code, what
    assert before == {item.name: item.read_bytes() for item in tmp_path.iterdir()}


@pytest.mark.parametrize("tail", [b"torn", entry(2)])
def test_open_existing_of_a_closed_record_with_anything_beyond_is_refused(tmp_path: Path, tail: bytes) -> None:
    """The ledger pinned its end, so nothing can come from a crash."""
    written(tmp_path, 2)
    reopen(tmp_path, closed=True).close()
    with (tmp_path / "record.jsonl").open("ab") as file:
        file.write(tail)

    with pytest.raises(VerificationError) as caught:
        reopen(tmp_path, closed=True)

    assert caught.value.code == "RECORD-TAIL-AFTER-END"


def test_open_existing_under_another_origin_or_key_is_refused(tmp_path: Path) -> None:
    """A record belongs to its run and its ledger."""
    written(tmp_path, 1)

    with pytest.raises(VerificationError) as origin:
        RecordWriter.open_existing(tmp_path, ORIGIN + "0", SIGNER, closed=False)
    with pytest.raises(VerificationError) as key:
        RecordWriter.open_existing(tmp_path, ORIGIN, signer_from_seed("operator", bytes(range(32))), closed=False)

    assert [origin.value.code, key.value.code] == ["ORIGIN-MISMATCH", "SIG-MISSING"]


def test_content_is_private_and_opens_its_commitments(tmp_path: Path) -> None:
    """Mode 0600, one canonical line each, whatever the text."""
    openings = [Opening(salt="a" * 22, value="line\nbreak"), Opening(salt="b" * 22, value={"n": 1, "t": "é\u2028"})]
    written = []
    with ContentWriter(tmp_path) as content:
        for opening in openings:
            written += content.write([opening])
        content.sync()

    path = tmp_path / "content.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = [canonical.decode(line) for line in path.read_bytes().split(b"\n")[:-1]]
    assert [[item.salt, item.value] for item in openings] == read
    assert [commit(item.salt, item.value) for item in openings] == written


@pytest.mark.parametrize("length", [10, 65_536, 200_000])
def test_content_with_a_torn_line_is_continued_after_the_last_whole_one(tmp_path: Path, length: int) -> None:
    """A torn line would run into the next one; it is kept apart, as private as the rest."""
    with ContentWriter(tmp_path) as content:
        content.write([Opening(salt="a" * 22, value="first")])
    with (tmp_path / "content.jsonl").open("ab") as file:
        file.write(b"x" * length)

    with ContentWriter(tmp_path) as content:
        content.write([Opening(salt="b" * 22, value="second")])
        aside = content.set_aside

    assert aside is not None
    assert b"x" * length == aside.path.read_bytes()
    assert stat.S_IMODE(aside.path.stat().st_mode) == 0o600
    assert tmp_path / "content" == aside.path.parent
    values = [canonical.decode(line)[1] for line in (tmp_path / "content.jsonl").read_bytes().split(b"\n")[:-1]]
    assert values == ["first", "second"]


def test_content_of_nothing_but_a_torn_line_begins_anew(tmp_path: Path) -> None:
    """Also where no line was ever whole."""
    (tmp_path / "content.jsonl").write_bytes(b"torn")

    with ContentWriter(tmp_path) as content:
        assert content.set_aside is not None
    assert (tmp_path / "content.jsonl").read_bytes() == b""


def test_sync_makes_content_durable_before_the_checkpoint_that_covers_it(
    tmp_path: Path, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of the system calls, seen at the one function that makes data durable."""
    order: list[str] = []
    with ContentWriter(tmp_path) as content, begin(tmp_path, clocks, content) as record:
        names = {(tmp_path / name).stat().st_ino: name for name in ("content.jsonl", "record.jsonl")}

        def note(fd: int) -> None:
            order.append(names.get(os.fstat(fd).st_ino, "checkpoint.tmp"))

        monkeypatch.setattr("trialplate.ledger.durable.fsync", note)
        content.write([Opening(salt="a" * 22, value="answer")])
        record.write("trial.start", BODY)
        record.sync()
        record.sync()

    assert order == ["content.jsonl", "record.jsonl", "checkpoint.tmp"]
