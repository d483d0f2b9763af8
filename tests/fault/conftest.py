# SPDX-License-Identifier: Apache-2.0
"""What fault tests of whole runs share: the small project of the scenarios, and commands as processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("scenarios", "servers", "integration")]

from small_project import SmallProject  # noqa: E402  tests/scenarios is no package


@pytest.fixture
def fresh(tmp_path: Path) -> SmallProject:
    """The small project before its first run."""
    return SmallProject.write(tmp_path)
