# SPDX-License-Identifier: Apache-2.0
"""Writing what opens a run's commitments: content.jsonl, one canonical line `[salt, value]` each, for the owner.

An opening goes to the kernel before the trial.end that commits to it, and is durable before the checkpoint that covers
that line. The run's record writer holds the lock; this file has no other writer.

What this module refuses to do: make a file that others may read, or leave a torn line that would spoil the next one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from trialplate.errors import FormatError
from trialplate.ledger.clock import utc_now
from trialplate.ledger.durable import PRIVATE, AppendFile, storage
from trialplate.ledger.log_writer import Clock, SetAside, set_aside
from trialplate.record import canonical, disclosure
from trialplate.record.values import Opening

__all__ = ["CONTENT", "ContentWriter"]

CONTENT = "content.jsonl"
PIECE_BYTES = 1 << 20
ASIDE = "content"
"""The git-ignored folder beside it, where a torn line is kept."""


class ContentWriter:
    """Appends openings to a run's content.jsonl; makes it if it is not there."""

    def __init__(self, folder: Path, *, clock: Clock = utc_now) -> None:
        """Open the file; a torn last line, left by a crash, is set aside.

        Args:
            folder: the run's folder.
            clock: names the file of a torn line.

        Raises:
            StorageError: it could not be opened, or the torn line not be kept.
        """
        path = folder / CONTENT
        self.set_aside: SetAside | None = None
        """Where a torn last line went."""
        self._dirty = False
        try:
            self._file = AppendFile(path, new=True, mode=PRIVATE)
        except FileExistsError:
            self._file = AppendFile(path, new=False)
            try:
                self._repair(folder, clock)
            except BaseException:
                self._file.close()
                raise

    def write(self, openings: Iterable[Opening]) -> list[str]:
        """Write openings with as few calls to the kernel as can be, and return their commitments, in order.

        Raises:
            FormatError: CANON for a value without canonical JSON, ENTRY-LIMIT for more than is ever read back.
            StorageError: they could not be written; of those before, some may be in the file.
        """
        piece, commitments = bytearray(), []
        for opening in openings:
            line = self._line(opening)
            commitments.append(disclosure.commitment_of(line))
            piece += line + b"\n"
            if len(piece) >= PIECE_BYTES:
                self._put(bytes(piece))
                piece.clear()
        if piece:
            self._put(bytes(piece))
        return commitments

    def sync(self) -> None:
        """Return once everything written so far is on disk; another thread may go on writing meanwhile.

        Raises:
            StorageError: it is not, or may not be; then every later call fails too.
        """
        if self._dirty:
            self._dirty = False  # before, not after: what is written from here on is for the next call
            try:
                self._file.sync()
            except BaseException:
                self._dirty = True
                raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _line(self, opening: Opening) -> bytes:
        """Return the line of an opening, if it can be read back."""
        line = disclosure.array_of(opening.salt, opening.value)
        if len(line) > canonical.MAX_BYTES - 1:
            message = f"an opening of {len(line)} bytes; at most {canonical.MAX_BYTES - 1} are read back"
            raise FormatError(message, where=str(self._file.path), code="ENTRY-LIMIT")
        return line

    def _put(self, piece: bytes) -> None:
        self._file.write(piece)
        self._dirty = True

    def _repair(self, folder: Path, clock: Clock) -> None:
        """Set aside what follows the last LF."""
        end = self._end_of_last_line()
        if end == self._file.length:
            return
        aside = folder / ASIDE
        with storage(aside, "made"):
            aside.mkdir(mode=0o700, exist_ok=True)
        self.set_aside = set_aside(aside, self._file.read(end, self._file.length), clock(), PRIVATE)
        self._file.cut(end)

    def _end_of_last_line(self) -> int:
        """Look for the last LF from the end, piece by piece."""
        stop = self._file.length
        while stop > 0:
            start = max(0, stop - (1 << 16))
            found = self._file.read(start, stop).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            stop = start
        return 0
