# SPDX-License-Identifier: Apache-2.0
"""How a plan pins a file of the project, and whether a file still is the one it pins."""

from __future__ import annotations

from pathlib import Path

from trialplate.record import canonical
from trialplate.record.values import PlanFile

__all__ = ["is_pinned", "pin_digest"]


def pin_digest(data: bytes) -> str:
    """Return the digest by which a plan pins a file: of text, as if its lines ended in LF; of other bytes, as they are.

    A clean checkout on another system may end lines in CRLF; the program is the same.
    """
    if b"\0" not in data:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return canonical.digest(data)
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return canonical.digest(data)


def is_pinned(project: Path, file: PlanFile) -> bool:
    """Say whether the file of a project is the one that a plan pins; one that cannot be read is not."""
    try:
        return pin_digest((project / file.path).read_bytes()) == file.digest
    except OSError:
        return False
