# SPDX-License-Identifier: Apache-2.0
"""A run's large private bytes: the files and traces of its cases, in content/, each called by its SHA-256 in hex.

They are written before the run begins, once, and never again; so a run goes on from what it began with, whatever became
of the project's files. What is read back has the digest of its name, or is not handed out.

What this module refuses to do: write into a run that has begun, or make a folder for a run that has no files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trialplate.errors import StorageError, VerificationError
from trialplate.ledger.content import ASIDE
from trialplate.ledger.durable import create_private, fsync_dir, storage
from trialplate.record import canonical
from trialplate.record.values import Case
from trialplate.verify.log_file import read_small

__all__ = ["Blobs", "blobs_of"]

MAX_BLOB = 1 << 30
"""More is never read back."""


def blobs_of(case: Case) -> tuple[str, ...]:
    """Return the digests of the bytes that a case needs beside its fields."""
    return (*(file.digest for file in case.files), *((case.trace,) if case.trace is not None else ()))


class Blobs:
    """The bytes of one run, by digest."""

    def __init__(self, folder: Path) -> None:
        """Take the run's folder; nothing is made or read yet."""
        self._run, self._folder = folder, folder / ASIDE

    def write(self, blobs: Iterable[tuple[str, bytes]]) -> None:
        """Store bytes, durably; those that are there already are left as they are.

        Args:
            blobs: each with its digest, which the caller has checked.

        Raises:
            StorageError: they could not be written.
        """
        made = False
        for digest, data in blobs:
            if not made:
                with storage(self._folder, "made"):
                    self._folder.mkdir(mode=0o700, exist_ok=True)
                fsync_dir(self._run)
                made = True
            path = self._path(digest)
            if not path.exists():
                create_private(path, data)

    def read(self, digest: str) -> bytes:
        """Return the bytes that have a digest.

        Raises:
            StorageError: they are not here.
            VerificationError: CONTENT-MISMATCH: what is here is not what was stored.
        """
        path = self._path(digest)
        if not path.exists():
            hint = "restore the run's content folder as it was written"
            raise StorageError("a file of a case is missing", where=str(path), hint=hint)
        shown = f"runs/{self._run.name}/{ASIDE}/{path.name}"
        data = read_small(path, shown, MAX_BLOB)
        if canonical.digest(data) != digest:
            hint = "restore the run's content folder as it was written"
            message = "the bytes are not those of the case's file"
            raise VerificationError(message, where=shown, hint=hint, code="CONTENT-MISMATCH")
        return data

    def check(self, digests: Iterable[str]) -> dict[str, int]:
        """Return how many bytes each is, if all are here as they were stored; else as `read`."""
        return {digest: len(self.read(digest)) for digest in sorted(set(digests))}

    def _path(self, digest: str) -> Path:
        return self._folder / digest.removeprefix("sha256:")
