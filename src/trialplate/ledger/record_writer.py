# SPDX-License-Identifier: Apache-2.0
"""Writing a run's record: each line goes to the kernel at once, fsync and checkpoint follow in groups.

A process that dies loses no line it wrote; a machine that loses power loses at most what came after the last `sync`.
While a run goes on, a thread of its own makes a group durable and signs it (content, then lines, then the checkpoint
over exactly those lines), so that trials need not wait for the disk, unless it falls behind.
After a crash, complete lines beyond the checkpoint are taken over and counted, since answers in them were paid for;
a torn one is set aside. `run.reopen` states how many, so that everybody sees it.

A run has one writer: whoever writes holds the run folder's lock, from before it looks at the record until it is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from trialplate.errors import FormatError, UsageError, VerificationError
from trialplate.ledger.clock import utc_now
from trialplate.ledger.content import ContentWriter
from trialplate.ledger.durable import AppendFile, fsync_dir, storage
from trialplate.ledger.lock import LOCK_NAME, hold
from trialplate.ledger.log_writer import CHECKPOINT, Clock, LogWriter, SetAside, open_entries, set_aside
from trialplate.record.entries import RECORD_TYPES
from trialplate.record.frozen import Json
from trialplate.record.log import MAX_ENTRY, split_lines
from trialplate.record.note import Checkpoint, Signer
from trialplate.verify.log_file import MAX_NOTE, LogFile, read_checkpoint, read_small, typed_entry

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["RECORD", "RecordWriter", "record_lock", "record_origin", "set_record_aside"]

RECORD = "record.jsonl"
SYNC_SECONDS = 0.25
SYNC_LINES = 500
"""How far the checkpoint may stay behind: at either of these, a group is waited for."""
GROUP_SECONDS = SYNC_SECONDS / 2
GROUP_LINES = 3 * SYNC_LINES // 4
"""When a group is begun: early enough that it is done before anybody waits, and not oftener."""
_HOLDER = "another run or resume is writing this record"
_LOCK_TIMEOUT_S = 2.0


def record_origin(ledger_origin: str, run_id: str) -> str:
    """Return the name of a run's record as a log."""
    return f"{ledger_origin}/run/{run_id}"


def record_lock(folder: Path) -> AbstractContextManager[None]:
    """Return what holds a run's folder for its one writer.

    Raises:
        StorageError: LOCKED: another process is writing this record; or the folder cannot be written.
    """
    return hold(folder / LOCK_NAME, _HOLDER, _LOCK_TIMEOUT_S)


def set_record_aside(folder: Path) -> SetAside | None:
    """Move a record that was never signed out of the way, unchanged; the caller holds `record_lock(folder)`.

    Raises:
        StorageError: it could not be moved.
    """
    path = folder / RECORD
    if not path.exists():
        return None
    with storage(path, "read"):
        aside = set_aside(folder, path.read_bytes(), utc_now())
    with storage(path, "moved"):
        path.unlink()
    fsync_dir(folder)
    return aside


class RecordWriter:
    """The one writer of a run's record. Use `create` or `open_existing`; close it, or use it as a context."""

    def __init__(
        self, log: LogWriter, closing: ExitStack, content: ContentWriter | None, ticks: Callable[[], float]
    ) -> None:
        """Take over an open log, and what is to be closed with it."""
        self._log = log
        self._closing = closing
        self._content = content
        self._ticks = ticks
        self._synced = 0
        self._synced_at = ticks()
        self._under_way: Future[bytes] | None = None
        """The group that the thread makes durable; it returns the checkpoint's note."""
        self._begun = 0
        self._begun_at = 0.0
        self._thread: ThreadPoolExecutor | None = None
        self.note = b""
        """The newest checkpoint's note; empty before the first `sync`."""
        self.adopted = 0
        """`open_existing`: lines beyond the checkpoint that were taken over."""
        self.set_aside: SetAside | None = None
        """`open_existing`: where a torn last line went."""

    @classmethod
    def create(
        cls,
        folder: Path,
        origin: str,
        signer: Signer,
        *,
        content: ContentWriter | None = None,
        clock: Clock = utc_now,
        ticks: Callable[[], float] = time.monotonic,
    ) -> RecordWriter:
        """Begin the record of a new run; no checkpoint is out before the first `sync`.

        The caller holds `record_lock(folder)` until the writer is closed.

        Args:
            folder: the run's folder, which exists.
            origin: the record's name, `record_origin(...)`.
            signer: the ledger's key.
            content: made durable before each checkpoint.
            clock: the time of entries.
            ticks: a clock in seconds that never goes back.

        Raises:
            UsageError: the run has a record already.
            StorageError: it could not be made.
        """
        with ExitStack() as closing:
            try:
                file = AppendFile(folder / RECORD, new=True)
            except FileExistsError:
                hint = "start another run"
                raise UsageError("this run has a record already", where=str(folder / RECORD), hint=hint) from None
            closing.callback(file.close)
            return cls(LogWriter(file, origin, signer, RECORD_TYPES, clock), closing.pop_all(), content, ticks)

    @classmethod
    def open_existing(
        cls,
        folder: Path,
        origin: str,
        signer: Signer,
        *,
        closed: bool,
        adopts: Callable[[Json], bool] = lambda body: True,
        content: ContentWriter | None = None,
        clock: Clock = utc_now,
        ticks: Callable[[], float] = time.monotonic,
    ) -> RecordWriter:
        """Open a run's record to go on with it: what its checkpoint covers, and complete lines beyond it.

        The caller holds `record_lock(folder)` since before it read the record, until the writer is closed.

        Args:
            closed: the ledger says that this record ended (run.end): then nothing may stand beyond its checkpoint.
            adopts: told the typed body of each line beyond the checkpoint in turn; the first that it does not take
                is set aside with all that follow.
            folder, origin, signer, content, clock, ticks: as for `create`.

        Raises:
            VerificationError: FILE-MISSING, SIG-MISSING, NOTE-SIGNATURE, ORIGIN-MISMATCH, RECORD-TRUNCATED,
                RECORD-ROOT, RECORD-TAIL-AFTER-END, RECORD-UNSIGNED-TAIL (a line beyond the checkpoint that is no
                entry): the record does not hold; nothing was written.
            FormatError: the checkpoint is none, or a line is over-long.
            StorageError: it could not be opened.
        """
        with ExitStack() as closing:
            shown = f"{folder.name}/{CHECKPOINT}"
            note = read_small(folder / CHECKPOINT, shown, MAX_NOTE)
            point = read_checkpoint(note, [signer.public], origin, shown).checkpoint
            file = open_entries(folder / RECORD)
            closing.callback(file.close)
            log = LogWriter(file, origin, signer, RECORD_TYPES, clock)
            reader = LogFile(file.path, f"{folder.name}/{RECORD}", point.size)
            end = log.take_signed(reader, "RECORD", point.root)
            writer = cls(log, closing, content, ticks)
            writer._synced, writer.note = point.size, note
            writer._take_tail(end, closed, adopts)
            writer._closing = closing.pop_all()
            return writer

    @property
    def size(self) -> int:
        """The number of lines written so far."""
        return self._log.size

    @property
    def root(self) -> bytes:
        """The Merkle root over the lines written so far."""
        return self._log.root

    @property
    def root_digest(self) -> str:
        """The root as run.progress, run.resume and run.end state it."""
        return f"sha256:{self.root.hex()}"

    def write(self, kind: str, body: Json) -> int:
        """Write one entry with one call to the kernel, and return its number.

        Raises:
            FormatError: ENTRY-TYPE, ENTRY-LIMIT, CANON; nothing was written.
            StorageError: it could not be written; nothing of it is in the file.
        """
        self._log.add(kind, body)
        return self._log.size - 1

    def maybe_sync(self) -> bool:
        """Keep the checkpoint at most 500 lines or 250 ms behind; return whether a group of lines was begun.

        The lines so far are made durable and signed by a thread; this waits for it only where it is late.

        Raises:
            StorageError: an earlier group could not be made durable; the checkpoint in place covers less.
        """
        now = self._ticks()
        if self._under_way is not None:
            late = self._log.size - self._synced >= SYNC_LINES or now - self._begun_at >= SYNC_SECONDS - GROUP_SECONDS
            if not late and not self._under_way.done():
                return False
            self._take_in()
        waiting = self._log.size - self._synced
        if waiting == 0 or (waiting < GROUP_LINES and now - self._synced_at < GROUP_SECONDS):
            return False
        from concurrent.futures import ThreadPoolExecutor

        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "record")
        self._begun, self._begun_at = self._log.size, now
        self._under_way = self._thread.submit(self._make_durable, self._log.point)
        return True

    def sync(self) -> Checkpoint:
        """Make content and lines durable and put the checkpoint over them in place; return it. Nothing new is no work.

        Raises:
            StorageError: the checkpoint in place covers less; lines written so far stay with the kernel.
        """
        self._take_in()
        point = self._log.point
        if self._log.size != self._synced:
            self.note = self._make_durable(point)
            self._synced = self._log.size
        elif self._content is not None:
            self._content.sync()
        self._synced_at = self._ticks()
        return point

    def close(self) -> None:
        """Close the record; `sync` first if the lines are to be signed."""
        if self._thread is not None:
            self._thread.shutdown()
        self._closing.close()

    # fsync(content), fsync(record), atomic_replace(checkpoint)
    def _make_durable(self, point: Checkpoint) -> bytes:
        """Make what stands in the files durable, then sign these lines of it. The thread touches nothing else."""
        if self._content is not None:
            self._content.sync()
        return self._log.sign(point)

    def _take_in(self) -> None:
        """Wait for the group under way, if there is one, and account for it."""
        group, self._under_way = self._under_way, None
        if group is not None:
            self.note = group.result()
            self._synced, self._synced_at = self._begun, self._begun_at

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take_tail(self, end: int, closed: bool, adopts: Callable[[Json], bool]) -> None:
        """Account for complete lines beyond the checkpoint, which ends at `end`, and set the rest aside."""
        file = self._log.file
        tail = file.read(end, file.length)
        shown = f"{file.path.parent.name}/{RECORD}"
        if closed and tail:
            raise VerificationError(
                f"{len(tail)} bytes stand beyond the checkpoint of a record that ended",
                where=shown,
                hint="cut the record back to its checkpoint; nobody signed the rest",
                code="RECORD-TAIL-AFTER-END",
            )
        for line in split_lines(tail)[0]:
            time, body = self._next_entry(line, f"{shown}:{self._log.size + 1}")
            if not adopts(body):
                break
            self._log.take(line, time)
            self.adopted += 1
            end += len(line) + 1
        self.set_aside = self._log.set_aside_from(end)

    def _next_entry(self, line: bytes, where: str) -> tuple[str, Json]:
        """Return the time and the body of an unsigned line that is an entry and the next one."""
        try:
            if len(line) > MAX_ENTRY:
                raise FormatError("a line is too long", where=where, code="STRICT-LIMIT")
            entry, body = typed_entry(line, self._log.size, where, RECORD_TYPES)
            if entry.time < self._log.time:
                raise FormatError("an entry is earlier than the one before it", where=where, code="ENTRY-ORDER")
        except FormatError as error:
            raise VerificationError(
                f"a line beyond the checkpoint is no entry of this record: {error.message}",
                where=error.where or where,
                hint="this is no trace of a crash; cut the record back to its checkpoint, or waive the run",
                code="RECORD-UNSIGNED-TAIL",
            ) from error
        return entry.time, body
