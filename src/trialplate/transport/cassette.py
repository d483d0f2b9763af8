# SPDX-License-Identifier: Apache-2.0
"""Cassettes: files of recorded exchanges, `cassettes/<model>.jsonl`, for replay without a call.

- `replay` reads and never calls: its caller turns a missing exchange into a replay miss. The file is read strictly
  once, at opening (one bad or repeated line refuses it), and may be pinned by its digest.
- `auto` replays what is recorded and records the rest; what it recorded a moment ago is found too.
- `live` records. Each complete exchange goes by one write to `<model>.jsonl.new`; `close` merges that file with what
  the cassette held (a key recorded again replaces the old one), sorts by case and repeat so that reviews are readable,
  and puts the result in place with one rename. After a crash the `.new` file stays, and the next recording run takes
  its complete lines over: an answer that was paid for is not lost, and the cassette never holds half a line.

What it refuses: to be written by two processes, and to judge a reply. The runner records only replies that it could
read as an answer, with their secrets replaced; see `exchange` for the lines.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from trialplate.errors import FormatError, StorageError
from trialplate.record import canonical
from trialplate.transport.exchange import (
    LINE_BYTES,
    Index,
    encode_exchange,
    exchange_key,
    index_lines,
    packed,
    read_exchange,
)
from trialplate.transport.http import HttpReply, HttpRequest

if TYPE_CHECKING:
    import asyncio

    from filelock import BaseFileLock

__all__ = ["Cassette", "cassette_path"]


def cassette_path(project: Path, model: str) -> Path:
    """Return where a model's exchanges are kept."""
    return project / "cassettes" / f"{model}.jsonl"


class Cassette:
    """One cassette file, open for replay or for recording; made by `replay`, `live` or `auto`."""

    def __init__(self, path: Path, mode: Literal["live", "replay", "auto"]) -> None:
        self.path = path
        self.mode: Literal["live", "replay", "auto"] = mode
        self.under_way: dict[str, asyncio.Event] = {}
        """`auto`: by key the calls that somebody makes right now; each is set when its call has ended."""
        self.digest = canonical.digest(b"")
        """Of the whole file as it was when it was opened; of no bytes, if there was none."""
        self._file: BinaryIO | None = None
        self._index: Index = {}
        self._new: BinaryIO | None = None
        self._fresh: Index = {}
        self._fresh_file: BinaryIO | None = None
        self._lock: BaseFileLock | None = None

    @classmethod
    def replay(cls, path: Path, *, pinned: str | None = None) -> Cassette:
        """Open a cassette for replay.

        Args:
            path: the file.
            pinned: the digest that the plan names; None takes whatever is there.

        Raises:
            StorageError: CASSETTE-READ: it cannot be read.
            FormatError: a line is damaged, of another version, or repeats a key; or CASSETTE-PIN: the digest differs.
        """
        made = cls(path, "replay")
        try:
            made._load()
            if pinned is not None and pinned != made.digest:
                hint = "put the cassette back as it was when the plan was made, or make the plan again"
                raise FormatError(f"is {made.digest}, not {pinned}", where=path.name, hint=hint, code="CASSETTE-PIN")
        except OSError as error:
            made._release()
            message = f"the cassette cannot be read: {error.strerror or error}"
            hint = "put it back, record it with --cache live, or run with --cache off"
            raise StorageError(message, where=path.name, hint=hint, code="CASSETTE-READ") from error
        except FormatError:
            made._release()
            raise
        return made

    @classmethod
    def live(cls, path: Path) -> Cassette:
        """Open a cassette for recording: lock it, read what it holds, take over what a crash left.

        Raises:
            StorageError: CASSETTE-LOCKED: another process records into it; CASSETTE-WRITE: it cannot be written.
            FormatError: the cassette as it stands is damaged.
        """
        return cls._recording(path, "live")

    @classmethod
    def auto(cls, path: Path) -> Cassette:
        """Open a cassette for replaying what it holds and recording what it does not.

        Raises:
            StorageError, FormatError: as for `live`.
        """
        return cls._recording(path, "auto")

    @classmethod
    def _recording(cls, path: Path, mode: Literal["live", "auto"]) -> Cassette:
        made = cls(path, mode)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made._acquire()
            if path.exists():
                made._load()
            # Unbuffered, so that a recorded line is one write; read back through another handle, since reading
            # lines without a buffer goes byte by byte.
            made._new = _beside(path, ".new").open("ab", buffering=0)
            with _beside(path, ".new").open("rb") as left:
                made._fresh, _, end = index_lines(left, f"{path.name}.new", torn=True)
            made._new.truncate(end)
            made._fresh_file = _beside(path, ".new").open("rb")  # only now: it would remember what was cut off
        except OSError as error:
            made._release()
            raise _not_written(path, error) from error
        except (FormatError, StorageError):
            made._release()
            raise
        return made

    def __len__(self) -> int:
        return len(self._index.keys() | self._fresh.keys())

    def holds(self, request: HttpRequest, case: str, repeat: int) -> bool:
        """Say whether a reply is recorded for this very request, case and repeat."""
        key = packed(exchange_key(request, case, repeat))
        return key in self._fresh or key in self._index

    def find(self, request: HttpRequest, case: str, repeat: int) -> HttpReply | None:
        """Return the reply recorded for this very request, case and repeat; None if there is none."""
        key = packed(exchange_key(request, case, repeat))
        for file, index in ((self._fresh_file, self._fresh), (self._file, self._index)):
            if file is not None and key in index:
                reply = read_exchange(_line_at(file, index[key]), self.path.name).reply
                return HttpReply(
                    status=reply.status,
                    headers=reply.headers,
                    body=canonical.text_in(reply.body).encode(errors="surrogateescape"),
                    latency_ms=reply.latency_ms,
                    replayed=True,
                )
        return None

    def record(self, request: HttpRequest, reply: HttpReply, *, case: str, repeat: int, recorded_at: str) -> None:
        """Keep an exchange: one write, which survives the death of this process. One that is too long is not kept.

        Args:
            request: what was sent.
            reply: complete, with a status of success, its body scrubbed.
            case: the case's id.
            repeat: 1..N.
            recorded_at: RFC 3339 UTC with milliseconds.

        Raises:
            StorageError: CASSETTE-WRITE: it could not be written; nothing of it stays.
        """
        if self._new is None:
            raise RuntimeError("a cassette that is not open for recording")
        line = encode_exchange(request, reply, case=case, repeat=repeat, recorded_at=recorded_at)
        if len(line) > LINE_BYTES:
            return
        start = self._new.seek(0, os.SEEK_END)
        try:
            if self._new.write(line) != len(line):
                raise OSError("only a part of the line was written")
        except OSError as error:
            self._new.truncate(start)
            raise _not_written(self.path, error) from error
        self._fresh[packed(exchange_key(request, case, repeat))] = start

    def close(self) -> None:
        """Put what was recorded in place, and let go of the files. May be called twice.

        Raises:
            StorageError: CASSETTE-WRITE: it could not be put in place; the recorded lines stay in the `.new` file.
        """
        try:
            if self._new is not None:
                if self._fresh:
                    with _beside(self.path, ".new").open("rb") as new:
                        self._merge(new)
                _beside(self.path, ".new").unlink(missing_ok=True)
        except OSError as error:
            raise _not_written(self.path, error) from error
        finally:
            self._release()

    def _load(self) -> None:
        self._file = self.path.open("rb")
        self._index, self.digest, _ = index_lines(self._file, self.path.name, torn=False)

    def _acquire(self) -> None:
        from filelock import FileLock, Timeout

        self._lock = FileLock(_beside(self.path, ".lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            self._lock = None
            raise StorageError(
                "another run is recording into this cassette",
                where=self.path.name,
                hint="wait until it has ended, or use --cache off",
                code="CASSETTE-LOCKED",
            ) from None

    def _release(self) -> None:
        """Close and unlock whatever is open or locked."""
        for file in (self._new, self._fresh_file, self._file):
            if file is not None:
                file.close()
        self._new = self._fresh_file = self._file = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _merge(self, new: BinaryIO) -> None:
        """Write old and new lines in order to a third file, make it durable, and rename it over the cassette."""
        sources = [(new, offset) for offset in self._fresh.values()]
        if self._file is not None:
            sources += [(self._file, offset) for key, offset in self._index.items() if key not in self._fresh]
        order = []
        for file, offset in sources:
            exchange = read_exchange(_line_at(file, offset), self.path.name)
            order.append((exchange.case, exchange.repeat, exchange.key, file, offset))
        order.sort(key=lambda entry: entry[:3])
        merged = _beside(self.path, ".merged")
        try:
            with merged.open("wb") as out:
                for *_, file, offset in order:
                    out.write(_line_at(file, offset) + b"\n")
                out.flush()
                os.fsync(out.fileno())
            merged.replace(self.path)
        except OSError:
            merged.unlink(missing_ok=True)  # a disk that is full needs the room
            raise
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _line_at(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    return file.readline()[:-1]


def _not_written(path: Path, error: OSError) -> StorageError:
    message = f"the cassette cannot be written: {error.strerror or error}"
    return StorageError(message, where=path.name, hint="free some space, or use --cache off", code="CASSETTE-WRITE")
