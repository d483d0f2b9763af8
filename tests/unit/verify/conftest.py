# SPDX-License-Identifier: Apache-2.0
"""One real run, made once, and a copy of it for each test that damages it."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_project import Project, make_project


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one complete run; not to be changed."""
    project = make_project(tmp_path_factory.mktemp("made"))
    project.run()
    return project


@pytest.fixture
def project(made: Project, tmp_path: Path) -> Project:
    """A copy of it."""
    return made.copied(tmp_path)
