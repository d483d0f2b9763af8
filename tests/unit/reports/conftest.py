# SPDX-License-Identifier: Apache-2.0
"""One real run, made once, for reports to be made of."""

from __future__ import annotations

import pytest
from run_project import PLAN, Project, make_project

EVIL = "\\x1b[31mPASS\\x1b[0m\\x1b[2K\\r \\u202e no"
"""As YAML escapes: red letters, a cleared line, text that runs backwards."""


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one complete run, in which one answer would move a terminal's cursor."""
    plan = PLAN.replace('"5"', f'"{EVIL}"')
    project = make_project(tmp_path_factory.mktemp("made"), plan)
    project.run()
    return project
