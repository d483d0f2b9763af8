# SPDX-License-Identifier: Apache-2.0
"""The report `tap`: a line for each trial in the Test Anything Protocol, version 14 (testanything.org)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["render"]


def render(reported: Any) -> Iterator[str]:
    """Yield the lines of a report on a verified run, without their line ends."""
    matrix, cells = reported.record.matrix, reported.record.board.cells
    yield "TAP version 14"
    yield f"1..{matrix.size}"
    for number, key in enumerate(matrix.trials(), start=1):
        configuration, case, repeat = key
        cell = cells.get(key)
        outcome = "absent" if cell is None else cell.final
        what = f"{configuration} {case} repeat {repeat}".replace("\\", "\\\\").replace("#", "\\#")
        if outcome in ("error", "skipped", "absent"):  # unknown is neither a pass nor a failure
            yield f"ok {number} - {what} # SKIP {outcome}"
        else:
            yield f"{'ok' if outcome == 'passed' else 'not ok'} {number} - {what}"
