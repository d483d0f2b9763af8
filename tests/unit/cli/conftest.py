# SPDX-License-Identifier: Apache-2.0
"""What tests of commands share: a copy of their module's project as the current folder, and a command line to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from run_project import Project

from trialplate.cli.main import main


@pytest.fixture
def project(finished: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the project that the module's `finished` made, the current folder of this process."""
    made = finished.copied(tmp_path)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
    return made


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line; return its exit code, its output and what it said aside."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
