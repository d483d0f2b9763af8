# SPDX-License-Identifier: Apache-2.0
"""Writes that are whole or not at all, and on disk when they return. The system calls stand above each function.

What is promised: a file made or replaced here is never seen half-written, not even after a power cut; an append that
fails is cut back, so that nothing half-written stays in the file. Every failure is a StorageError in words.
What is not: a disk that says it has written what it has not; file systems without atomic rename, such as some network
ones.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from trialplate.errors import StorageError

__all__ = ["PRIVATE", "AppendFile", "atomic_replace", "create_file", "create_private", "fsync", "fsync_dir"]
__all__ += ["put_private", "replacing", "storage"]

PRIVATE = 0o600
"""Only the owner may read: keys, and everything that opens a commitment."""
PUBLIC = 0o666
"""Less the user's umask."""

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space, then run it again: what was recorded so far is intact"),
    errno.EDQUOT: ("the disk quota is used up", "free some space, then run it again: what was recorded is intact"),
    errno.EFBIG: ("the file may not grow further", "raise the limit on file size (ulimit -f), then run it again"),
    errno.EROFS: ("the file system is read-only", "work in a writable copy of the project"),
    errno.EACCES: ("you may not write there", "give yourself permission to write there, or work in a copy"),
    errno.EPERM: ("you may not write there", "give yourself permission to write there, or work in a copy"),
    errno.ELOOP: ("a symbolic link stands in its place", "put a plain file or nothing in its place"),
    errno.ENOENT: ("it, or the folder it belongs in, is missing", "restore it, or correct the path"),
}
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def storage(path: Path, doing: str = "written") -> AbstractContextManager[None]:
    """Turn an OSError of the block into a StorageError about the path, with one thing to do.

    A FileExistsError passes through: what it means is the caller's to say.
    """
    return _Storage(path, doing)


class _Storage(AbstractContextManager[None]):
    """The block of `storage`; a class, since every line of a record passes through one."""

    __slots__ = ("_doing", "_path")

    def __init__(self, path: Path, doing: str) -> None:
        self._path, self._doing = path, doing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            number = error.errno or 0
            reason, hint = _REASONS.get(number, (os.strerror(number).lower(), "check the disk"))
            raise StorageError(f"cannot be {self._doing}: {reason}", where=str(self._path), hint=hint) from error


# fsync(fd), or on macOS fcntl(fd, F_FULLFSYNC), since fsync there stops at the drive's cache
def fsync(fd: int) -> None:
    """Return once the file's data is on disk."""
    try:
        from fcntl import F_FULLFSYNC, fcntl  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        os.fsync(fd)
    else:
        fcntl(fd, F_FULLFSYNC)


# open(folder, O_RDONLY) fsync close
def fsync_dir(folder: Path) -> None:
    """Return once the folder's entries (files made, renamed, removed) are on disk."""
    if os.name == "nt":  # a folder cannot be opened there; renames are journalled
        return
    with storage(folder):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


# _write_new(path), open(folder) fsync close
def create_file(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Make a new file, durable when this returns.

    Args:
        path: where; nothing may stand there.
        data: the whole content.
        mode: permissions from the first moment on, less the umask.

    Raises:
        FileExistsError: something stands there.
        StorageError: it could not be written; nothing is left of it.
    """
    _write_new(path, data, mode)
    fsync_dir(path.parent)


# open(path, O_WRONLY|O_CREAT|O_EXCL, mode) write... fsync close; on failure unlink(path)
def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Make a new file whose data is on disk when this returns; its name may not be yet."""
    with storage(path):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, mode)
        try:
            try:
                _write_all(fd, data)
                fsync(fd)
            finally:
                os.close(fd)
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise


def create_private(path: Path, data: bytes) -> None:
    """Make a new file that only the owner may read, from the first moment on; otherwise as `create_file`."""
    create_file(path, data, PRIVATE)


# unlink(path.tmp), _put(path.tmp, path)
def atomic_replace(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Put new content in a file's place; a reader sees the old or the new one. The caller holds the file's lock.

    Raises:
        StorageError: it could not be written. The old content then still stands, or, if only the last step failed,
            the new one does.
    """
    fresh = path.with_name(path.name + ".tmp")
    with storage(path, "replaced"):
        fresh.unlink(missing_ok=True)  # left by a crash; a lock is held, so nobody is writing it
    _put(fresh, path, data, mode)


# mkdir(folder)..., _put(path.<random>.tmp, path)
def put_private(path: Path, data: bytes) -> None:
    """Put a file in its place, whole or not at all, for its owner alone; the folders above it are made.

    Several may put the same file at once: each has its own, and the last one's stands.

    Raises:
        StorageError: it could not be written.
    """
    with storage(path.parent, "made"):
        path.parent.mkdir(parents=True, exist_ok=True)
    _put(path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp"), path, data, PRIVATE)


# _write_new(fresh), rename(fresh, path), open(folder) fsync close
def _put(fresh: Path, path: Path, data: bytes, mode: int) -> None:
    """Write a new file and let it take its place."""
    _write_new(fresh, data, mode)
    with storage(path, "replaced"):
        try:
            fresh.replace(path)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
    fsync_dir(path.parent)


# open(path.<random>.tmp, O_EXCL) write... fsync close, rename(tmp, path), open(folder) fsync close
@contextmanager
def replacing(path: Path) -> Iterator[Callable[[str], object]]:
    """Hand out a function that takes a new file's text piece by piece; the file takes its place when the block ends.

    If the block raises, nothing of it is left, and what stood there still stands. Several may write the same file at
    once: each has its own, and the last one's stands.

    Raises:
        StorageError: it could not be written.
    """
    fresh = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    with storage(path):
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, PUBLIC)
    try:
        with open(fd, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:

            def write(text: str) -> None:
                with storage(path):
                    file.write(text)

            yield write
            with storage(path):
                file.flush()
                fsync(file.fileno())
        with storage(path, "replaced"):
            fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
    fsync_dir(path.parent)


class AppendFile:
    """A file that only grows, in whole pieces: a piece that could not be written is cut back at once."""

    def __init__(self, path: Path, *, new: bool, mode: int = PUBLIC) -> None:
        """Open the file for appending.

        Args:
            path: where.
            new: make it; nothing may stand there. Else it must be there.
            mode: permissions of a new file.

        Raises:
            FileExistsError: `new`, and something stands there.
            StorageError: it could not be opened.
        """
        # open(path, O_RDWR|O_APPEND[|O_CREAT|O_EXCL], mode) [open(folder) fsync close]
        flags = os.O_RDWR | os.O_APPEND | _NO_LINK | (os.O_CREAT | os.O_EXCL if new else 0)
        self.path = path
        self._torn = False
        self._unsure = False
        with storage(path, "opened for writing"):
            self._fd = os.open(path, flags, mode)
            self.length = os.fstat(self._fd).st_size
        if new:
            fsync_dir(path.parent)

    # write(fd, data), more than once only if the kernel took part of it; on failure ftruncate(fd, length before)
    def write(self, data: bytes) -> None:
        """Hand one piece to the kernel: it survives this process, and after `sync` the machine.

        Raises:
            StorageError: nothing of it is in the file.
        """
        with storage(self.path):
            if self._torn:  # an earlier piece could not even be cut back
                os.ftruncate(self._fd, self.length)
                self._torn = False
            try:
                _write_all(self._fd, data)
            except BaseException:
                self._torn = True
                os.ftruncate(self._fd, self.length)
                self._torn = False
                raise
        self.length += len(data)

    # fsync(fd)
    def sync(self) -> None:
        """Return once everything written is on disk.

        Raises:
            StorageError: it is not, or may not be. Then every later call fails too: the kernel reports lost data once.
        """
        if self._unsure:
            hint = "run it again: what the checkpoint covers is intact"
            raise StorageError("may have lost data: an earlier write failed", where=str(self.path), hint=hint)
        with storage(self.path):
            try:
                fsync(self._fd)
            except OSError:
                self._unsure = True
                raise

    # ftruncate(fd, length) fsync(fd)
    def cut(self, length: int) -> None:
        """Drop everything from an offset on, durably."""
        with storage(self.path, "cut"):
            os.ftruncate(self._fd, length)
            fsync(self._fd)
        self.length = length

    # pread(fd, ..., offset)...
    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from one offset to another, or to the end."""
        pieces = []
        with storage(self.path, "read"):
            while start < stop and (piece := os.pread(self._fd, min(stop - start, 1 << 20), start)):
                pieces.append(piece)
                start += len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Close the file; what was written stays with the kernel."""
        os.close(self._fd)


def _write_all(fd: int, data: bytes) -> None:
    """Write it all: the kernel takes a piece at once, or says on the next call why it took only part of it."""
    rest = memoryview(data)[os.write(fd, data) :]
    while rest:
        rest = rest[os.write(fd, rest) :]
