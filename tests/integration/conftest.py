# SPDX-License-Identifier: Apache-2.0
"""What integration tests share: the misbehaving server, and one client for a test."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trialplate.transport.http import HttpClient

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client that is closed after the test."""
    made = HttpClient()
    yield made
    await made.close()
