# SPDX-License-Identifier: Apache-2.0
"""The files that cases name: found, read and pinned by the digest of their bytes.

A path is relative to the folder of the file that holds the cases, and stays inside the project. What a case keeps of a
file is its digest; where its bytes lie is remembered here, for the run that stores them with its content.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical
from trialplate.spec.reading import read_inside
from trialplate.spec.traces import read_trace

__all__ = ["CaseFiles", "Check", "check_trace", "read_blob"]

MAX_BYTES = 64 * 1024 * 1024
"""No model takes more in one request."""


Check = Callable[[bytes, str, str], None]
"""From the bytes of a file, its path and the place that names it; raises SpecError for bytes that cannot be used."""


@dataclass
class CaseFiles:
    """The files that the cases of a project name."""

    root: Path
    """The project's folder."""
    blobs: dict[str, str] = field(default_factory=dict)
    """Where their bytes lie, relative to the project's folder, by digest."""
    _known: dict[tuple[str, Check | None], str] = field(default_factory=dict)

    def pin(self, beside: str, path: str, where: str, check: Check | None = None) -> str:
        """Return the digest of a file's bytes.

        Args:
            beside: the file of cases, relative to the project's folder.
            path: as it is written there.
            where: the place that names it.
            check: refuses bytes that cannot be used.

        Raises:
            SpecError: it leads out of the project, is not there, or is no regular file of a size that can be sent; or
                what `check` raises.
        """
        if not path or path.startswith(("/", "~")) or "\\" in path or "\0" in path or ":" in path.partition("/")[0]:
            hint = "write a path such as images/cat.png, relative to the file of cases"
            raise SpecError("expected a path inside the project's folder", where=where, hint=hint)
        name = posixpath.normpath(posixpath.join(posixpath.dirname(beside), path))
        if name.startswith("../"):
            raise SpecError(f"{path} leads out of the project's folder", where=where, hint="copy it into the project")
        if (name, check) not in self._known:
            data = read_inside(self.root, name, where, MAX_BYTES)
            if check is not None:
                check(data, path, where)
            digest = self._known[name, check] = canonical.digest(data)
            self.blobs.setdefault(digest, name)
        return self._known[name, check]


def check_trace(data: bytes, path: str, where: str) -> None:
    """Refuse a recorded run that cannot be read, before anything is committed or spent.

    Raises:
        SpecError: TRACE, with the reason.
    """
    try:
        read_trace(data)
    except FormatError as error:
        raise SpecError(f"{path}: {error.message}", where=where, hint=error.hint, code="TRACE") from None


def read_blob(root: Path, path: str, digest: str) -> bytes:
    """Return the bytes that a case names, if they still are what was pinned.

    Raises:
        SpecError: FILE-CHANGED; as `read_inside`.
    """
    data = read_inside(root, path, path, MAX_BYTES)
    if canonical.digest(data) != digest:
        hint = "leave it alone while a run begins, then run again"
        raise SpecError("changed while it was read", where=path, hint=hint, code="FILE-CHANGED")
    return data
