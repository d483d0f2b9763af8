# SPDX-License-Identifier: Apache-2.0
"""The cases of a plan that some configurations are never asked, and how that is told before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from trialplate.errors import SpecError
from trialplate.record.matrix import Matrix
from trialplate.record.values import Case, Configuration
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.rules.compatible import incompatible
from trialplate.spec.document import Path

__all__ = ["check_compatible", "check_told", "incompatible_cases"]

_SHOWN = 5
"""Cases that are named in a warning."""


def incompatible_cases(
    configurations: Sequence[Configuration], matrix: Matrix, cases: Mapping[str, Case]
) -> dict[str, dict[str, str]]:
    """Return the cases of the matrix that each configuration does not take, each with what it does not take of it.

    Args:
        cases: by id.
    """
    found: dict[str, dict[str, str]] = {}
    for item in configurations:
        if item.name in matrix.counts:
            row = zip(matrix.cases, matrix.counts[item.name], strict=True)
            told = {case.id: incompatible(cases[case.id], item) for case, times in row if times}
            found[item.name] = {case_id: why for case_id, why in told.items() if why is not None}
    return found


def check_compatible(
    configurations: Sequence[Configuration], matrix: Matrix, cases: Mapping[str, Case], where: Callable[[Path], str]
) -> Iterator[str]:
    """Yield a warning for whatever a configuration does not take.

    Raises:
        SpecError: it takes none of its cases.
    """
    by_name = {item.name: item for item in configurations}
    for name, unfit in incompatible_cases(configurations, matrix, cases).items():
        place = where(("models", by_name[name].model))
        if unfit and len(unfit) == sum(1 for times in matrix.counts[name] if times):
            message = f"{name} takes none of its cases: {next(iter(unfit.values()))}"
            hint = "say under accepts: what the model takes, or leave it out of the matrix"
            raise SpecError(message, where=place, hint=hint)
        groups: dict[str, list[str]] = {}
        for case_id, why in unfit.items():
            groups.setdefault(why, []).append(case_id)
        for why, ids in groups.items():
            shown = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
            count = f" ({len(ids)} cases)" if len(ids) > 1 else ""
            verb = "they are" if len(ids) > 1 else "it is"
            yield f"{shown}{count}: incompatible with {name}: {why}; {verb} not asked, and no credit is given"


def check_told(
    configurations: Sequence[Configuration], matrix: Matrix, cases: Mapping[str, Case], where: Callable[[Path], str]
) -> Iterator[str]:
    """Yield a warning for what a case says and a runner passes on to nobody: the model is asked another question.

    Scripted answers and recorded runs are asked nothing.
    """
    for item in configurations:
        if item.runner in HOSTED_RUNNERS or item.runner == "trace":
            continue
        asked = [cases[case.id] for case, times in zip(matrix.cases, matrix.counts[item.name], strict=True) if times]
        told: dict[str, list[str]] = {}
        for case in asked:
            if case.tools and not item.tools:
                told.setdefault("tools", []).append(case.id)
            for key in ("answer_format", "answer_schema") if item.plugin is None else ():
                if getattr(case, key) is not None:
                    told.setdefault(key, []).append(case.id)
        for key, ids in told.items():
            shown = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
            message = f"{item.name} is told nothing of {key} of {shown}"
            why = f"the runner {item.runner} passes on the question alone"
            yield f"{where(('models', item.model, 'runner'))}: {message}: {why}"
