# SPDX-License-Identifier: Apache-2.0
"""A ledger of one entry in a folder of its own, with its key in a configuration folder beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger_project import TIME, Project

from trialplate.ledger import keys
from trialplate.ledger.create import init_ledger


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A ledger that holds its genesis entry."""
    config = tmp_path / "config"
    key = keys.load_signer(keys.new_key("operator", config), {"TRIALPLATE_HOME": str(config)})
    folder = tmp_path / "project" / "ledger"
    origin = init_ledger(folder, "example.org/demo", key, config, clock=lambda: TIME)
    return Project(folder, config, key, origin, [])
