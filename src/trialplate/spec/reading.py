# SPDX-License-Identifier: Apache-2.0
"""Reading a file of the project: a regular one, inside the project's folder, of bounded size, or a clear error."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from trialplate.errors import SpecError
from trialplate.spec.nearest import nearest

__all__ = ["near_hint", "read_inside"]


def read_inside(root: Path, name: str, where: str, limit: int, written: str | None = None) -> bytes:
    """Return the bytes of a regular file inside the project.

    Args:
        root: the project's folder.
        name: the file's path below it.
        where: the place that names it.
        limit: the most bytes that it may have.
        written: how the place names it, if that is not so.

    Raises:
        SpecError: it is not there, not inside, not a regular file, not readable or too large.
    """
    file = root / name
    try:
        real = file.resolve(strict=True)
        if not real.is_relative_to(root.resolve(strict=True)):
            raise SpecError(f"{name} leads out of the project's folder", where=where, hint="copy it into the project")
        # Without O_NONBLOCK, opening a pipe that has no writer would wait for ever.
        handle = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise SpecError(f"{name} is not a regular file", where=where, hint="name a file")
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise SpecError(f"{name} does not exist", where=where, hint=_beside(file, written or name)) from None
    except (OSError, RuntimeError) as problem:
        words = getattr(problem, "strerror", None) or str(problem)
        hint = "mind the path and its permissions"
        raise SpecError(f"{name} cannot be read: {words}", where=where, hint=hint) from None
    if len(data) > limit:
        raise SpecError(f"{name} is larger than {limit} bytes", where=where, hint="split it")
    return data


_RELATIVE = "paths are relative to the plan's folder, those in a file of cases to that file's"


def _beside(file: Path, name: str) -> str:
    """Return a hint for a file that is missing: the one most like it, and never all that are there."""
    if not os.path.isdir(file.parent):
        return f"the folder is not there either; {_RELATIVE}"
    return near_hint(file, folder=name[: name.rfind("/") + 1]) or f"correct the name; {_RELATIVE}"


def near_hint(path: Path, *, folders: bool = False, folder: str = "") -> str:
    """Return a hint with the name nearest to a missing one, or "" if none is near.

    Args:
        folders: it may be the name of a folder.
        folder: what stands before the name where it is written.
    """
    try:
        names = [item.name for item in path.parent.iterdir() if item.is_file() or (folders and item.is_dir())]
    except OSError:
        return ""
    near = nearest(path.name, names)
    return f'did you mean "{folder}{near}"?' if near else ""
