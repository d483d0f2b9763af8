# SPDX-License-Identifier: Apache-2.0
"""Appending to a project's ledger: an append whose checkpoint is not out has not happened.

Under the ledger's lock, and each time anew:

1. the checkpoint must carry this key's signature and this ledger's origin;
2. the lines up to it must have its root, and must extend the newest checkpoint known on this machine; else nothing is
   written;
3. what stands beyond the checkpoint is set aside in a file, reported, and never signed: a crash or a forger left it;
4. the new lines are written and durable, then the new checkpoint is put in place, then it is remembered.

What this module refuses to do: repair, rewrite or shorten what a checkpoint covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trialplate.errors import FormatError, StorageError, VerificationError
from trialplate.ledger import known as memory
from trialplate.ledger.clock import utc_now
from trialplate.ledger.lock import LOCK_NAME, TIMEOUT_S, hold
from trialplate.ledger.log_writer import CHECKPOINT, Clock, LogWriter, SetAside, open_entries
from trialplate.record import canonical, codec
from trialplate.record.entries import LEDGER_TYPES
from trialplate.record.frozen import Json
from trialplate.record.log import inclusion_proof, leaf_hash
from trialplate.record.note import Checkpoint, Signer
from trialplate.record.values import EntryRef
from trialplate.verify.known import Known, read_known
from trialplate.verify.log_file import MAX_NOTE, LogFile, read_checkpoint, read_small

__all__ = ["ENTRIES", "ORIGIN", "Appended", "LedgerWriter", "read_origin"]

ENTRIES = "entries.jsonl"
ORIGIN = "origin"
_HOLDER = "a run, gate, commit or waive of this project is appending"
_MAX_ORIGIN = 1024


@dataclass(frozen=True, slots=True)
class Appended:
    """An entry that is in the ledger, and what shows it."""

    seq: int
    line: bytes
    """The entry as it stands, without LF."""
    digest: str
    """SHA-256 of the line."""
    checkpoint: bytes
    """The signed note that covers it."""
    proof: tuple[str, ...]
    """The inclusion proof of the line under that checkpoint, as digests."""

    @classmethod
    def at(cls, seq: int, line: bytes, leaves: Sequence[bytes], note: bytes) -> Appended:
        """Return an entry of a ledger with the proof that its signed checkpoint holds it.

        Args:
            leaves: the hash of each line that the checkpoint covers.
            note: the checkpoint.
        """
        proof = tuple(f"sha256:{step.hex()}" for step in inclusion_proof(leaves, seq))
        return cls(seq, line, canonical.digest(line), note, proof)

    @property
    def ref(self) -> EntryRef:
        """How other entries name this one."""
        return EntryRef(seq=self.seq, digest=self.digest)


@dataclass(slots=True)
class _Open:
    """A ledger that was read and holds, open at its end."""

    log: LogWriter
    note: bytes
    """The checkpoint over what was read."""
    leaves: list[bytes]
    """The hash of each line, for inclusion proofs."""
    genesis: str
    """The digest of the first line."""

    def keep(self, line: bytes) -> None:
        """Keep what the next append needs of a line."""
        self.genesis = self.genesis or canonical.digest(line)
        self.leaves.append(leaf_hash(line))


def read_origin(folder: Path) -> str:
    """Return the name of the ledger in a folder.

    Raises:
        VerificationError: FILE-MISSING.
        FormatError: the file is not one line.
    """
    shown = f"{folder.name}/{ORIGIN}"
    raw = read_small(folder / ORIGIN, shown, _MAX_ORIGIN)
    if raw.count(b"\n") != 1 or not raw.endswith(b"\n") or not raw.isascii():
        raise FormatError("the origin file is one line of ASCII", where=shown, code="SCHEMA")
    return raw[:-1].decode("ascii")


class LedgerWriter:
    """The one way to append to the ledger in a folder. It keeps nothing between two appends."""

    def __init__(
        self,
        folder: Path,
        signer: Signer,
        config: Path,
        *,
        clock: Clock = utc_now,
        on_set_aside: Callable[[SetAside], None] | None = None,
        lock_timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Name the ledger; nothing is read yet.

        Args:
            folder: the ledger's folder.
            signer: its key.
            config: the user's configuration folder, where known checkpoints are kept.
            clock: the time of new entries.
            on_set_aside: told when unsigned lines were moved away.
            lock_timeout_s: how long to wait for another process, in seconds.
        """
        self.folder = folder
        self._signer = signer
        self._config = config
        self._clock = clock
        self._on_set_aside = on_set_aside
        self._lock_timeout_s = lock_timeout_s

    def append(self, kind: str, body: Json, *, at: int | None = None) -> Appended:
        """Append one entry and return it with its checkpoint; see `append_many`."""
        return self.append_many([(kind, body)], at=at)[0]

    def append_many(self, entries: Sequence[tuple[str, Json]], *, at: int | None = None) -> list[Appended]:
        """Append entries under one lock and one checkpoint: all of them, or none.

        Args:
            entries: type and body of each, the body as JSON.
            at: the number that the first of them must get, where it says something about all entries before it.

        Raises:
            FormatError: an entry or a file is not of its format; nothing was appended.
            VerificationError: FILE-MISSING, SIG-MISSING, NOTE-SIGNATURE, ORIGIN-MISMATCH, LEDGER-TRUNCATED,
                LEDGER-ROOT, LEDGER-ROLLED-BACK, LEDGER-FORK, KEY-CHANGED, GENESIS-CHANGED: the ledger does not hold;
                nothing was written.
            StorageError: it could not be locked or written; nothing was appended. Only with the code KNOWN-NOT-KEPT it
                was appended, but could not be remembered on this machine. LEDGER-MOVED: it does not end at `at`.
        """
        for kind, body in entries:
            if kind == "log.genesis":
                raise FormatError("log.genesis stands once, at the beginning of a ledger", code="ENTRY-ORDER")
            if kind in LEDGER_TYPES:  # an unknown type is refused by the log itself
                codec.decode(LEDGER_TYPES[kind], body, f"a new {kind} entry")
        with self._opened() as ledger:
            first = ledger.log.size
            if at is not None and first != at:
                message = f"{first - at} entries were appended to the ledger meanwhile"
                hint = "do it again: it would be about the ledger as it was"
                raise StorageError(message, where=str(self.folder), hint=hint, code="LEDGER-MOVED")
            lines = self._write(ledger, entries)
            self._remember(ledger)
            ledger.leaves += [leaf_hash(line) for line in lines]
            return [Appended.at(seq, line, ledger.leaves, ledger.note) for seq, line in enumerate(lines, start=first)]

    def settle(self) -> Checkpoint:
        """Check the ledger and set aside what stands beyond its checkpoint, without appending; return the checkpoint.

        Raises:
            FormatError, VerificationError, StorageError: as `append_many`.
        """
        with self._opened() as ledger:
            self._remember(ledger)
            return Checkpoint(ledger.log.origin, ledger.log.size, ledger.log.root)

    @contextmanager
    def _opened(self) -> Iterator[_Open]:
        """Hold the lock over a ledger that was checked and ends at its checkpoint."""
        origin = read_origin(self.folder)
        with (
            memory.hold_origin(self._config, origin, _HOLDER, self._lock_timeout_s),
            hold(self.folder / LOCK_NAME, _HOLDER, self._lock_timeout_s),
        ):
            file = open_entries(self.folder / ENTRIES)
            try:
                log = LogWriter(file, origin, self._signer, LEDGER_TYPES, self._clock)
                ledger, end = self._read(log)
                aside = log.set_aside_from(end)
                if aside is not None and self._on_set_aside is not None:
                    self._on_set_aside(aside)
                yield ledger
            finally:
                file.close()

    def _read(self, log: LogWriter) -> tuple[_Open, int]:
        """Read the ledger up to its checkpoint and check it; return it, and the offset at which the checkpoint ends."""
        shown = f"{self.folder.name}/{CHECKPOINT}"
        note = read_small(self.folder / CHECKPOINT, shown, MAX_NOTE)
        point = read_checkpoint(note, [self._signer.public], log.origin, shown).checkpoint
        known = read_known(self._config).get(log.origin)
        seen = None
        if known is not None:
            seen = read_checkpoint(known.checkpoint, [known.key], log.origin, "the checkpoint known here").checkpoint
        shown = f"{self.folder.name}/{ENTRIES}"
        reader = LogFile(log.file.path, shown, point.size, frozenset({seen.size} if seen is not None else ()))
        ledger = _Open(log, note, [], "")
        end = log.take_signed(reader, "LEDGER", point.root, ledger.keep)
        if known is not None and seen is not None:
            self._check_known(ledger, known, seen, reader)
        return ledger, end

    def _check_known(self, ledger: _Open, known: Known, seen: Checkpoint, reader: LogFile) -> None:
        """Refuse a ledger that is not the one known on this machine, or an older state of it."""
        where = f"{self.folder.name}/{CHECKPOINT}"
        memory.check_same_log(self._config, seen.origin, known, self._signer.public, ledger.genesis)
        if seen.size > ledger.log.size:
            raise VerificationError(
                f"ends at {ledger.log.size}; this machine knows a checkpoint of size {seen.size}",
                where=where,
                hint="fetch the newest state of the ledger (git pull); somebody has put an older one here",
                code="LEDGER-ROLLED-BACK",
            )
        if reader.roots.get(seen.size) != seen.root:
            raise VerificationError(
                f"does not extend the checkpoint of size {seen.size} that this machine knows",
                where=where,
                hint="keep both: two checkpoints that do not extend each other prove a fork; fetch the right ledger",
                code="LEDGER-FORK",
            )

    def _write(self, ledger: _Open, entries: Sequence[tuple[str, Json]]) -> list[bytes]:
        """Write lines and checkpoint; if the checkpoint is not out, cut the lines back."""
        before = ledger.log.file.length
        try:
            lines = [ledger.log.add(kind, body) for kind, body in entries]
            ledger.note = ledger.log.sign(ledger.log.point)
        except BaseException:
            if self._note_is(ledger.note):  # else the new one is out, and covers the lines
                with suppress(StorageError):  # what cannot be cut now is set aside by the next append
                    ledger.log.file.cut(before)
            raise
        return lines

    def _note_is(self, note: bytes) -> bool:
        try:
            return (self.folder / CHECKPOINT).read_bytes() == note
        except OSError:
            return False

    def _remember(self, ledger: _Open) -> None:
        try:
            memory.remember(self._config, ledger.log.origin, self._signer.public, ledger.genesis, ledger.note)
        except StorageError as error:
            raise StorageError(
                f"the ledger stands signed at size {ledger.log.size}, but this could not be remembered: {error}",
                where=str(self.folder),
                hint="make the configuration folder writable (TRIALPLATE_HOME); do not repeat the command blindly",
                code="KNOWN-NOT-KEPT",
            ) from error
