# SPDX-License-Identifier: Apache-2.0
"""Writing the end of a log: the next line, the checkpoint over all of them, and moving aside what nobody signed.

This is the one module that makes log lines and signs checkpoints; `ledger_writer` and `record_writer` say when. The
caller holds the log's lock. A line that could not be written whole is not in the file; an earlier time than that of
the line before is never written; a checkpoint is only ever signed over lines that were added or taken over here.

What this module refuses to do: read or believe a checkpoint (its callers do, and name the root it signs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialplate.errors import FormatError, StorageError, VerificationError
from trialplate.ledger.durable import PUBLIC, AppendFile, atomic_replace, create_file
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.log import MAX_ENTRY, Frontier, leaf_hash, split_lines
from trialplate.record.note import Checkpoint, Signer, format_checkpoint, sign_note
from trialplate.verify.log_file import LogFile, typed_entry

__all__ = ["CHECKPOINT", "Clock", "LogWriter", "SetAside", "open_entries", "set_aside"]

CHECKPOINT = "checkpoint"
"""The name of a log's newest signed note, beside its entries."""

Clock = Callable[[], str]
"""Gives the time as `clock.utc_now` writes it."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Bytes that stood beyond a log's checkpoint and were moved, unchanged, to a file of their own."""

    path: Path
    lines: int
    torn: bool
    """The last line had no end."""

    def __str__(self) -> str:
        what = f"{self.lines} unsigned line{'' if self.lines == 1 else 's'}"
        return f"{what}{' and a torn one' if self.torn else ''} set aside in {self.path}"


def set_aside(folder: Path, tail: bytes, time: str, mode: int = PUBLIC) -> SetAside:
    """Keep bytes in a new file `set-aside-<time>-<n>` of the folder, durable when this returns.

    Raises:
        StorageError: they could not be kept; nothing was cut yet.
    """
    lines, torn = split_lines(tail)
    stamp = "".join(character for character in time if character.isalnum())
    number = 1
    while True:
        path = folder / f"set-aside-{stamp}-{number}"
        try:
            create_file(path, tail, mode)
        except FileExistsError:
            number += 1
        else:
            return SetAside(path, len(lines), bool(torn))


def open_entries(path: Path) -> AppendFile:
    """Open the entries of a log that must be there.

    Raises:
        VerificationError: FILE-MISSING.
        StorageError: it could not be opened.
    """
    try:
        return AppendFile(path, new=False)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            shown = f"{path.parent.name}/{path.name}"
            raise VerificationError(f"{shown} is missing", code="FILE-MISSING") from None
        raise


class LogWriter:
    """Where a log's next line goes, and what the next checkpoint will say."""

    def __init__(self, file: AppendFile, origin: str, signer: Signer, types: Mapping[str, type], clock: Clock) -> None:
        """Begin with no line accounted for.

        Args:
            file: the log's entries.
            origin: the log's name.
            signer: signs its checkpoints.
            types: the entry types that this log may hold.
            clock: the time of new lines.
        """
        self.file = file
        self.origin = origin
        self.time = ""
        """The time of the last line."""
        self._signer = signer
        self._types = types
        self._clock = clock
        self._frontier = Frontier()

    @property
    def size(self) -> int:
        """The number of lines."""
        return self._frontier.size

    @property
    def root(self) -> bytes:
        """The Merkle root over the lines."""
        return self._frontier.root()

    def take(self, line: bytes, time: str) -> None:
        """Account for a line that already stands in the file, after the ones taken before."""
        self._frontier.append(leaf_hash(line))
        self.time = time

    def take_signed(self, reader: LogFile, kind: str, root: bytes, each: Callable[[bytes], None] | None = None) -> int:
        """Begin with the lines that the reader yields, which must have this root; return the offset of their end.

        Args:
            reader: the lines of this log's file that a checkpoint covers.
            kind: "LEDGER" or "RECORD", the first word of the codes.
            root: what that checkpoint signs.
            each: told every line, before it is known whether they hold.

        Raises:
            VerificationError: FILE-MISSING, ...-TRUNCATED, ...-ROOT; ...-TRUNCATED also where it covers no line.
            FormatError: a line is too long, or the last one is no entry.
        """
        end, line = 0, b""
        for line in reader.lines(kind):
            if each is not None:
                each(line)
            end += len(line) + 1
        self._frontier = reader.frontier  # it has hashed them already
        if self.root != root:
            message = "its lines do not have the root of the checkpoint"
            raise VerificationError(message, where=reader.shown, code=f"{kind}-ROOT")
        if not self.size:
            raise VerificationError("the checkpoint covers no entry", where=reader.shown, code=f"{kind}-TRUNCATED")
        self.time = typed_entry(line, self.size - 1, f"{reader.shown}:{self.size}", self._types)[0].time
        return end

    def add(self, kind: str, body: Json, by: Sequence[str] = ()) -> bytes:
        """Write one entry with one call to the kernel, and return its line without LF.

        Raises:
            FormatError: ENTRY-TYPE for a type that this log does not hold, ENTRY-LIMIT for more than 65,535 bytes,
                CANON for a body without canonical JSON; nothing was written.
            StorageError: it could not be written; nothing of it is in the file.
        """
        if kind not in self._types:
            raise FormatError(
                f"this log holds no entries of type {kind!r}", where=str(self.file.path), code="ENTRY-TYPE"
            )
        time = max(self.time, self._clock())
        entry = {"body": body, "seq": self.size, "time": time, "type": kind, "v": 1}
        line = canonical.encode({**entry, "by": list(by)} if by else entry)
        if len(line) > MAX_ENTRY:
            raise FormatError(
                f"a {kind} entry of {len(line)} bytes; a log's line has at most {MAX_ENTRY}",
                where=str(self.file.path),
                hint="shorten what the entry lists",
                code="ENTRY-LIMIT",
            )
        self.file.write(line + b"\n")
        self.take(line, time)
        return line

    # create_file(set-aside-...), then ftruncate(entries) fsync
    def set_aside_from(self, offset: int) -> SetAside | None:
        """Move what stands from an offset on into a file of its own, and cut it off; None if nothing stands there.

        Raises:
            StorageError: it could not be kept, and still stands where it stood; or it could not be cut.
        """
        tail = self.file.read(offset, self.file.length)
        if not tail:
            return None
        aside = set_aside(self.file.path.parent, tail, self._clock())
        self.file.cut(offset)
        return aside

    @property
    def point(self) -> Checkpoint:
        """The checkpoint over the lines so far, which `sign` signs."""
        return Checkpoint(self.origin, self.size, self.root)

    # fsync(entries), then atomic_replace(checkpoint)
    def sign(self, point: Checkpoint) -> bytes:
        """Make the lines durable, then sign a checkpoint of this log and put it in place; return the note.

        Args:
            point: this log's `point`, now or when it was shorter: then lines may be added while this goes on.

        Raises:
            StorageError: the old checkpoint stands, or, if only the last step failed, the new one.
        """
        self.file.sync()
        note = sign_note(format_checkpoint(point), self._signer)
        atomic_replace(self.file.path.with_name(CHECKPOINT), note)
        return note
