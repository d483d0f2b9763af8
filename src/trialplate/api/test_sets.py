# SPDX-License-Identifier: Apache-2.0
"""`load_test_set`: a file of cases, read as a plan reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from trialplate.engine.fetching import fetch
from trialplate.plugins import PACKAGES
from trialplate.record.values import Case
from trialplate.spec.project import load_cases

__all__ = ["TestSet", "load_test_set"]


@dataclass(frozen=True, slots=True)
class TestSet:
    """The cases of one file. A run reads the file again, and refuses one that has changed since."""

    __test__ = False
    """It is no test, whatever a test runner makes of its name."""

    path: Path
    """Absolute."""
    cases: tuple[Case, ...] = field(repr=False)
    """In file order; each has `id`, `input`, `references`, `tags`, `suite`, `meta`, `context` and `files`."""
    name: str | None = None
    """What the file calls itself; a plan takes the file's name without its ending, if it says nothing."""
    version: str | None = None
    warnings: tuple[str, ...] = ()
    """What deserves a look, each with file and line."""
    files: tuple[str, ...] = field(default=(), repr=False)
    """The files that its cases name, relative to its folder."""
    loader: str | None = None

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.cases)


def load_test_set(path: str | os.PathLike[str], *, loader: str | None = None) -> TestSet:
    """Read a test set: .csv, .tsv, .jsonl, .ndjson, .json, .yaml, .yml, or what an installed package reads.

    What its cases name by an address is fetched once, and kept beside it.

    Args:
        path: to the file; files of its cases are in its folder or below it.
        loader: the name of a package's loader, if it is not the one of the file's ending.

    Raises:
        SpecError: with file and line, at the first case that is not well-formed; nothing is loaded in part.
    """
    loaded, files = load_cases(path, fetch, PACKAGES, loader)
    return TestSet(
        path=Path(os.path.abspath(path)),
        cases=loaded.cases,
        name=loaded.labels.name,
        version=loaded.labels.version,
        warnings=loaded.warnings,
        files=files,
        loader=loader,
    )
