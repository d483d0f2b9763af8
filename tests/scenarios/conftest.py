# SPDX-License-Identifier: Apache-2.0
"""What scenarios share: one finished and gated run, made once and copied for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_project import SmallProject

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run, one configuration accepted and one rejected. It is read and copied, never changed."""
    made = SmallProject.write(tmp_path_factory.mktemp("template"))
    made.run()
    assert made("gate", "latest", "--model", "good").code == 0
    assert made("gate", "latest", "--model", "bad").code == 1
    return made


@pytest.fixture
def finished(template: SmallProject, tmp_path: Path) -> SmallProject:
    """A copy of the finished run, as its owner sees it."""
    return template.copy_to(tmp_path)


@pytest.fixture
def fresh(tmp_path: Path) -> SmallProject:
    """The small project before its first run."""
    return SmallProject.write(tmp_path)
