# SPDX-License-Identifier: Apache-2.0
"""How a configuration's cells count where it is what another one is compared with."""

from __future__ import annotations

from trialplate.rules.cells import Cell
from trialplate.rules.quantities import Row

__all__ = ["as_rival"]

DOUBTFUL = frozenset({"rejected_request", "timeout"})
"""Causes that a bad setting brings about: of a rival, such a cell is unknown."""


def as_rival(row: Row) -> Row:
    """Return a row in which a failure that may lie in how it was asked, or in what its plan takes, is unknown."""
    return [(case, [None if cell is None or _doubtful(cell) else cell for cell in repeats]) for case, repeats in row]


def _doubtful(cell: Cell) -> bool:
    return cell.cause in DOUBTFUL or cell.incompatible
