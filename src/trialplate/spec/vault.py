# SPDX-License-Identifier: Apache-2.0
"""Commitments to the private texts of a plan, and what opens them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trialplate.record import disclosure
from trialplate.record.frozen import Json
from trialplate.record.values import Opening, PlanText

__all__ = ["Vault"]


@dataclass(slots=True)
class Vault:
    """Makes commitments, and keeps what opens them."""

    secret: bytes
    openings: dict[str, Opening] = field(default_factory=dict)

    def commit(self, label: str, value: Json) -> str:
        """Return the commitment to a value; the same value under the same label always gets the same one."""
        salt, commitment = disclosure.commit_derived(self.secret, label, value)
        self.openings[commitment] = Opening(salt=salt, value=value)
        return commitment

    def text(self, role: Any, value: Json, name: str = "") -> PlanText:
        """Return a text of a plan."""
        return PlanText(role=role, name=name, commitment=self.commit("text", value))
