# SPDX-License-Identifier: Apache-2.0
"""Reading a log from disk: its signed checkpoint, and its lines up to that checkpoint, one at a time.

Nothing beyond the checkpoint is ever handed out: nobody signed it. Everything is bounded: a note, a line, a plan.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical, codec
from trialplate.record.entries import RECORD_TYPES, Entry
from trialplate.record.frozen import Json, Value
from trialplate.record.log import MAX_ENTRY, Frontier, leaf_hash
from trialplate.record.note import Checkpoint, PublicKey, open_note, parse_checkpoint
from trialplate.verify.findings import Report

__all__ = ["LogFile", "Signed", "claimed_size", "open_regular", "read_checkpoint", "read_small", "record_entries"]
__all__ += ["typed_entry"]

MAX_NOTE = 64 * 1024
MAX_PLAN = 256 * 1024 * 1024
MANY_LINES = 1000
"""From here on it pays to make the reader of trial lines; a short record is read before it would be made."""


def open_regular(path: Path, shown: str) -> BufferedReader:
    """Open a regular file: a pipe in its place would be waited for without end.

    Raises:
        VerificationError: FILE-MISSING: it is not there, not readable, or of another kind.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise VerificationError(f"{shown} {reason}", code="FILE-MISSING") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise VerificationError(f"{shown} is no regular file", code="FILE-MISSING")
    return os.fdopen(handle, "rb")


def read_small(path: Path, shown: str, limit: int) -> bytes:
    """Read a whole file of at most `limit` bytes.

    Raises:
        VerificationError: FILE-MISSING.
        FormatError: STRICT-LIMIT.
    """
    with open_regular(path, shown) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise FormatError(f"{shown} is larger than {limit} bytes", code="STRICT-LIMIT")
    return raw


class Signed(Value, kw_only=False):
    """A checkpoint with a verified signature, and the note that carries it."""

    checkpoint: Checkpoint
    note: bytes
    key: PublicKey | None
    """None where a record stands alone and nobody named a key to check it with."""

    def __str__(self) -> str:
        point = self.checkpoint
        return f"{point.origin} size {point.size} root {point.root.hex()}"


def claimed_size(note: bytes, shown: str) -> int:
    """Return how many lines a checkpoint speaks of, whoever signed it: that is verified elsewhere, over the same file.

    Raises:
        FormatError: NOTE-... or CHECKPOINT-MALFORMED.
    """
    try:
        return parse_checkpoint(open_note(note, ()).text).size
    except FormatError as error:
        error.where = shown
        raise


def read_checkpoint(raw: bytes, keys: Sequence[PublicKey], origin: str | None, shown: str) -> Signed:
    """Open a note that must be a checkpoint of `origin`, signed by one of `keys` (or unchecked, if there are none).

    Raises:
        FormatError: NOTE-... or CHECKPOINT-MALFORMED.
        VerificationError: NOTE-SIGNATURE, SIG-MISSING, ORIGIN-MISMATCH.
    """
    try:
        opened = open_note(raw, keys)
        checkpoint = parse_checkpoint(opened.text)
    except (FormatError, VerificationError) as error:
        error.where = shown
        raise
    if keys and not opened.verified:
        signers = ", ".join(f"{name}+{key_id.hex()}" for name, key_id in opened.unknown) or "nobody"
        wanted = ", ".join(f"{key.name}+{key.key_id.hex()}" for key in keys)
        message = f"signed by {signers}, not by the log's key {wanted}"
        raise VerificationError(message, where=shown, code="SIG-MISSING")
    if origin is not None and checkpoint.origin != origin:
        message = f"a checkpoint of {checkpoint.origin}, where {origin} is expected"
        raise VerificationError(message, where=shown, code="ORIGIN-MISMATCH")
    return Signed(checkpoint, raw, opened.verified[0] if keys else None)


class LogFile:
    """The lines of a log up to its checkpoint; roots at the sizes of `pins` are kept while they go by."""

    def __init__(self, path: Path, shown: str, size: int, pins: frozenset[int] = frozenset()) -> None:
        self.path = path
        self.shown = shown
        self.size = size
        self.pins = pins
        self.roots: dict[int, bytes] = {}
        self.frontier = Frontier()
        self.tail = 0
        """Complete lines beyond the checkpoint, known once all lines were read."""
        self.torn = False

    def lines(self, kind: str) -> Iterator[bytes]:
        """Yield each line without its LF.

        Args:
            kind: "LEDGER" or "RECORD", the first word of the codes.

        Raises:
            VerificationError: FILE-MISSING, LEDGER-TRUNCATED or RECORD-TRUNCATED.
            FormatError: STRICT-LIMIT for an over-long line.
        """
        with open_regular(self.path, self.shown) as file:
            append, pins = self.frontier.append, self.pins
            for number in range(self.frontier.size + 1, self.size + 1):
                line = file.readline(MAX_ENTRY + 2)
                if len(line) > MAX_ENTRY + 1:
                    raise FormatError("a line is too long", where=self._here(), code="STRICT-LIMIT")
                if not line.endswith(b"\n"):
                    message = f"ends after {number - 1} lines; its checkpoint covers {self.size}"
                    raise VerificationError(message, where=self.shown, code=f"{kind}-TRUNCATED")
                line = line[:-1]
                append(leaf_hash(line))
                if number in pins:
                    self.roots[number] = self.frontier.root()
                yield line
            while rest := file.readline(MAX_ENTRY + 2):
                if rest.endswith(b"\n"):
                    self.tail += 1
                else:
                    self.torn = True

    def _here(self) -> str:
        return f"{self.shown}:{self.frontier.size + 1}"

    def check_tail(self, report: Report, code: str, *, note: bool) -> None:
        """Report what stands beyond the checkpoint."""
        if self.tail or self.torn:
            what = f"{self.tail} lines" + (" and a torn one" if self.torn else "")
            message = f"{what} beyond the checkpoint of {self.size}: nobody signed them, nothing here counts them"
            report.found(code, message, self.shown, note=note)


def typed_entry(raw: bytes, seq: int, where: str, types: Mapping[str, type]) -> tuple[Entry, Json]:
    """Decode a line strictly into its entry and its typed body.

    Raises:
        FormatError: STRICT-..., SCHEMA, ENTRY-TYPE, ENTRY-ORDER.
    """
    entry = codec.decode(Entry, canonical.decode(raw, where, MAX_ENTRY), where)
    if entry.seq != seq:
        raise FormatError(f"entry {entry.seq} stands where {seq} belongs", where=where, code="ENTRY-ORDER")
    kind = types.get(entry.type)
    if kind is None:
        raise FormatError(f"unknown entry type {entry.type!r}", where=where, code="ENTRY-TYPE")
    return entry, codec.decode(kind, entry.body, where)


def record_entries(log: LogFile) -> Iterator[tuple[str, str, Json]]:
    """Yield where each line of a record stands, its time, and its typed body.

    Raises:
        FormatError, VerificationError: as `LogFile.lines` and `typed_entry`.
    """
    glance = None
    if log.size >= MANY_LINES:
        from trialplate.record.glance import trial_reader

        glance = trial_reader()
    for seq, line in enumerate(log.lines("RECORD")):
        where = f"{log.shown}:{seq + 1}"
        seen = None if glance is None else glance(line, seq)
        if seen is None:
            entry, body = typed_entry(line, seq, where, RECORD_TYPES)
            seen = entry.time, body
        yield where, *seen
