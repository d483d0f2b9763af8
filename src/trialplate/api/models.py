# SPDX-License-Identifier: Apache-2.0
"""`Model`: an entry under `models` of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialplate.spec.test_sets import label_from

__all__ = ["Model"]

WITHOUT_MODEL = frozenset({"http", "command", "stand-in"})
"""Runners that ask for no model by its id."""
LONGEST_NAME = 64


class Model:
    """A model to be judged.

    Args:
        id: what the runner asks for: the provider's id, or the one by which your own runner knows it.
        runner: a built-in runner, one of an installed package, or a name among `run_trial`'s `runners`.
        settings: sent with every question; `documents` are files whose text stands before the question.
        pricing: per million tokens, such as `{"input": "0.10", "output": "0.50"}`, or "free". None is unknown.
        role: "candidate", or "comparison", which is counted and never accepted.
        name: what reports, rules and the gate call it; the id, other characters than plans take made hyphens.
        keys: further keys of the entry, as in a plan: `url`, `secret`, `system`, `subject`, `limits`, `retry`, ...
    """

    def __init__(
        self,
        id: str,  # noqa: A002  what it is, and what the page says
        runner: str,
        *,
        settings: Mapping[str, Any] | None = None,
        pricing: Mapping[str, Any] | str | None = None,
        role: str = "candidate",
        name: str | None = None,
        **keys: Any,
    ) -> None:
        self.id, self.runner = id, runner
        self.name = name or label_from(id)[:LONGEST_NAME]
        self.entry: dict[str, Any] = {"runner": runner}
        """As it stands under `models` in a plan."""
        if runner not in WITHOUT_MODEL:
            self.entry["model"] = id
        for key, value in (("settings", settings), ("pricing", pricing)):
            if value is not None:
                self.entry[key] = value
        if role != "candidate":
            self.entry["role"] = role
        self.entry.update(keys)

    def __repr__(self) -> str:
        return f"Model({self.id!r}, {self.runner!r})"
