# SPDX-License-Identifier: Apache-2.0
"""From an author's tools to those that a plan offers to a model in some of its cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import Case, PlanFile, PlanTool
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project
from trialplate.spec.vault import Vault

__all__ = ["check_tools", "offered_tools"]


def check_tools(project: Project) -> Iterator[str]:
    """Yield a warning for each tool that no case offers.

    Raises:
        SpecError: a case offers one that is not there.
    """
    known = project.author.tools
    offered: set[str] = set()
    for case in project.cases:
        for item in case.tools:
            if item.name not in known:
                message = f'case "{case.id}" offers the tool "{item.name}", which is not among tools:'
                hint = (
                    suggestion(item.name, known) if known else "write tools: with its callable at the top of the plan"
                )
                raise SpecError(message, where=project.places[case.id], hint=hint)
            offered.add(item.name)
    for name in known:
        if name not in offered:
            yield f"{project.document.where(('tools', name), key=True)}: no case offers the tool {name}"


def offered_tools(cases: Sequence[Case], project: Project, vault: Vault) -> Iterator[PlanTool]:
    """Yield the tools that cases offer, in the order of the author's file."""
    offered = {item.name for case in cases for item in case.tools}
    for name, entry in project.author.tools.items():
        if name in offered:
            told: dict[str, Json] = {"description": entry.description, "parameters": project.schemas[f"tools.{name}"]}
            settings: dict[str, Json] = {"callable": entry.callable}
            if entry.env:
                settings["env"] = sorted(set(entry.env))
            yield PlanTool(
                name=name,
                settings=settings,
                texts=(vault.text("tool", told, name),),
                files=(PlanFile(path=entry.file, digest=project.pinned[entry.file]),),
            )
