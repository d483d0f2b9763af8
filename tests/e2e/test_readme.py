# SPDX-License-Identifier: Apache-2.0
"""The README's commands do what it says, and print what it shows."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from readme_blocks import README, play, same


def test_readme_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    """Each command is run in order, as a reader would, and its output compared apart from ids and digests."""
    readme = README.read_text(encoding="utf-8")

    shown = [(same(written), same(came)) for written, came in play(readme, tmp_path)]

    assert len(shown) >= 3
    for written, came in shown:
        assert came == written
