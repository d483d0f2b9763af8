# SPDX-License-Identifier: Apache-2.0
"""Hypothesis without a time limit per example, and a fresh project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from run_project import CASES, PLAN, Project, make_project

settings.register_profile("trialplate", deadline=None)
settings.load_profile("trialplate")


@pytest.fixture
def project_of(tmp_path: Path) -> Callable[..., Project]:
    """Make a project with these files, its ledger begun."""

    def made(plan: str = PLAN, cases: str = CASES) -> Project:
        return make_project(tmp_path, plan, cases)

    return made
