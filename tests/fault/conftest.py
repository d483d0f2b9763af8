# SPDX-License-Identifier: Apache-2.0
"""What fault tests of whole runs share: the small project of the scenarios, and commands as processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scenarios"))

from small_project import SmallProject


@pytest.fixture
def fresh(tmp_path: Path) -> SmallProject:
    """The small project before its first run."""
    return SmallProject.write(tmp_path)
