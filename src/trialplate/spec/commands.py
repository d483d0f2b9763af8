# SPDX-License-Identifier: Apache-2.0
"""The words of a command: which of them are files of the project, and which only look like one.

A file that a word names is pinned; what lies outside the project, also behind a symbolic link, is a program of the
machine and cannot be. Nothing is read or started here: it is only asked what is there.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath

from trialplate.spec.document import Document
from trialplate.spec.document import Path as Place
from trialplate.spec.entries import Command
from trialplate.spec.nearest import nearest

__all__ = ["doubtful_words", "files_of", "words_of"]

_LIKE_A_FILE = re.compile(r"[\w./-]+\.[A-Za-z][A-Za-z0-9]{0,4}")
"""An ending begins with a letter: `python3.11` and `0.5` are no files."""
_NOT_BEFORE_A_FILE = frozenset({"-m", ">", ">>", ">|", "&>", ">&"})
"""What follows is the name of a module, or a file that the command itself makes."""


def words_of(command: Command) -> list[str]:
    """Return the words of a command: its argv, or what a shell would split its line into."""
    if command.argv is not None:
        return list(command.argv)
    reader = shlex.shlex(command.shell or "", posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return list(reader)
    except ValueError:  # an unclosed quote, which the shell itself will tell
        return (command.shell or "").split()


def files_of(root: Path, command: Command) -> list[str]:
    """Return the project's files that a command names, as a word or behind a "=", each once and in order of name."""
    found = set()
    for word in words_of(command):
        for name in {word, word.partition("=")[2]} - {""}:
            path = PurePosixPath(name)
            if not path.is_absolute() and ".." not in path.parts and _is_file_inside(root, name):
                found.add(path.as_posix())
    return sorted(found)


def doubtful_words(root: Path, document: Document, place: Place, command: Command) -> Iterator[str]:
    """Yield warnings about words that look like a file of the project and are none: they are not pinned.

    Args:
        root: the project's folder.
        document: the author's file, for places.
        place: where the command stands in it.
        command: the command.
    """
    words = words_of(command)
    for index, (before, word) in enumerate(pairwise(["", *words])):
        file = word.partition("=")[2] or word
        is_inside = not file.startswith("/") and ".." not in PurePosixPath(file).parts
        if before in _NOT_BEFORE_A_FILE or not is_inside or not _LIKE_A_FILE.fullmatch(file):
            continue
        where = document.where((*place, "shell") if command.argv is None else (*place, "argv", index))
        if not os.path.lexists(root / file):
            near = _beside(root, file)
            hint = f" The nearest is {near}" if near else ""
            yield f"{where}: {file} is no file of the project: misspelt?{hint}"
        elif not _is_file_inside(root, file) and not (root / file).is_dir():
            yield f"{where}: {file} leads out of the project's folder, and is not pinned"


def _beside(root: Path, file: str) -> str | None:
    """Return the file of the same folder whose name is nearest."""
    folder = PurePosixPath(file).parent
    try:
        names = [item.name for item in (root / folder).iterdir() if item.is_file()]
    except OSError:
        return None
    near = nearest(PurePosixPath(file).name, names)
    return (folder / near).as_posix() if near else None


def _is_file_inside(root: Path, name: str) -> bool:
    try:
        real = (root / name).resolve(strict=True)
        return real.is_file() and real.is_relative_to(root.resolve(strict=True))
    except (OSError, ValueError, RuntimeError):
        return False
