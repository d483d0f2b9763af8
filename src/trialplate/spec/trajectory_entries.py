# SPDX-License-Identifier: Apache-2.0
"""What an author writes about the tools that must and must not be called; what it means is said in `trajectories`."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from trialplate.spec.document import plain
from trialplate.spec.fields import Author, refused
from trialplate.spec.trajectories import rule_problem

__all__ = ["Condition", "TrajectoryRule"]


class Condition(Author):
    """What an argument of a call must be."""

    contains: str | None = None
    equals: Any = None


class TrajectoryRule(Author):
    """One rule about the tools that were called; see `trajectories`."""

    must_call: str | None = None
    with_: Annotated[dict[str, Condition], Field(alias="with")] = {}  # noqa: RUF012  frozen models copy their defaults
    after: str | None = None
    must_not_call: str | None = None
    before: str | None = None
    max_steps: int | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if problem := rule_problem(self.resolved()):
            raise refused(problem, "write one of {must_call: search}, {must_not_call: refund} and {max_steps: 8}")
        return self

    def resolved(self) -> dict[str, Any]:
        """Return the rule as a plan holds it: what is written, and nothing else."""
        found: dict[str, Any] = plain(self.model_dump(by_alias=True, exclude_unset=True))
        return found
