# SPDX-License-Identifier: Apache-2.0
"""A small project on disk, and the folder of real trouble with test sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from author_files import CASES, PLAN
from hypothesis import settings

settings.register_profile("trialplate", deadline=None)
settings.load_profile("trialplate")


@pytest.fixture
def load_folder() -> Path:
    """The files of the classes LOAD and CANON."""
    return Path(__file__).parents[2] / "vectors" / "cases" / "load"


@pytest.fixture
def project_at(tmp_path: Path) -> Callable[..., Path]:
    """Write a project: `plan` is trialplate.yaml, the other arguments are files by path."""

    def write(plan: str = PLAN, files: dict[str, str | bytes] | None = None) -> Path:
        for name, content in {"cases/a.csv": CASES, **(files or {}), "trialplate.yaml": plan}.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write
