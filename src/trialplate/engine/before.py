# SPDX-License-Identifier: Apache-2.0
"""What earlier sessions of a run left: cells that are decided, attempts that were made, answers nobody could score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trialplate.record.entries import TrialEnd, TrialKey
from trialplate.record.frozen import Json
from trialplate.rules.cells import Cell

__all__ = ["Before", "Unscored"]


@dataclass(frozen=True)
class Unscored:
    """An answer of an earlier session that nobody could score: it is scored again, and nobody is asked."""

    end: TrialEnd
    """Of the attempt that it came in."""
    text: str
    transcript: Json | None = None
    replies: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    """What helpers replied about it so far, by scorer."""


@dataclass(frozen=True)
class Before:
    """What the sessions before this one left; nothing, if the run begins here."""

    cells: Mapping[TrialKey, Cell] = field(default_factory=dict)
    sessions: int = 0
    unscored: Mapping[TrialKey, Unscored] = field(default_factory=dict)
    """Answers that came and that nobody could score."""
    spent_nano: int = 0
    """What they took out of a budget, unknown costs at their bound."""

    def wants(self, key: TrialKey) -> bool:
        """Say whether a trial is to be tried: it is neither decided nor incompatible."""
        cell = self.cells.get(key)
        return cell is None or not cell.settled
