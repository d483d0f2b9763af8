# SPDX-License-Identifier: Apache-2.0
"""What an author writes about a scorer, whoever's it is: one of `scorer_entries`, a package's, or an object."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Discriminator, Field, Tag, ValidationInfo, model_validator

from trialplate.spec.any_scorer import AnyScorer
from trialplate.spec.fields import Name, added_name
from trialplate.spec.scorer_entries import BuiltInScorer, ScoringCode

__all__ = ["PluginScorer", "ScorerEntry"]

_TYPES = tuple(name for entry in get_args(BuiltInScorer) for name in get_args(entry.model_fields["type"].annotation))


class PluginScorer(AnyScorer, ScoringCode):
    """A scorer that an installed package adds, or an object of the Python program that runs the plan.

    Every further key is an option of its own.
    """

    model_config = ConfigDict(extra="allow")

    type: Annotated[Name, Field(json_schema_extra={"not": {"enum": list(_TYPES)}})]

    @model_validator(mode="before")
    @classmethod
    def _is_there(cls, value: Any, info: ValidationInfo) -> Any:
        added_name(value, info, "type", _TYPES)
        return value

    def options(self) -> dict[str, Any]:
        """Return what its class or its function is called with."""
        return dict(self.model_extra or {})


def _whose(value: Any) -> str:
    """Say whose a scorer's type is; without one, and for what is no name, the built-in ones tell what is wrong."""
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "added" if isinstance(name, str) and name not in _TYPES else "built in"


ScorerEntry = Annotated[
    Annotated[Annotated[BuiltInScorer, Field(discriminator="type")], Tag("built in")]
    | Annotated[PluginScorer, Tag("added")],
    Discriminator(_whose),
]
