# SPDX-License-Identifier: Apache-2.0
"""Whether helpers fit the models that they help to judge, checked before anything is spent.

A judge that is a candidate, or of a candidate's family, tends to like its own: that is told in plan, record and report,
and refused where the scorer says `strict_judge: true`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trialplate.errors import SpecError
from trialplate.record.matrix import selects
from trialplate.record.values import Configuration, Plan, Scorer
from trialplate.spec.helped_entries import JudgeScorer
from trialplate.spec.project import Project

__all__ = ["check_helpers", "related"]

_SERVERS = frozenset({"openai-compatible", "openrouter"})
"""Runners behind which models of any family may stand."""


def check_helpers(plan: Plan, project: Project) -> Iterator[str]:
    """Yield warnings about helpers.

    Raises:
        SpecError: prices in two currencies, a judge with nothing to judge by, or one that is too near to a candidate.
    """
    where = project.document.where
    helpers = {item.name: item for item in plan.helpers}
    used = {scorer.helper for scorer in plan.scorers}
    for name in helpers.keys() - used:
        yield f"{where(('helpers', name), key=True)}: the helper {name} serves no scorer"
    priced = [item for item in plan.helpers if item.pricing is not None and not item.pricing.free]
    for item in priced[1:]:
        if item.pricing != priced[0].pricing and item.pricing and item.pricing.currency != _currency(priced[0]):
            message = f"helpers are priced in {_currency(priced[0])} and {item.pricing.currency}, and are added up"
            raise SpecError(message, where=where(("helpers", item.name)), hint="state their prices in one currency")
    for scorer in plan.scorers:
        if scorer.type == "judge" and scorer.helper in helpers:
            _check_material(scorer, project)
    for name, sentence in related(plan):
        entry, place = project.author.scorers[name], where(("scorers", name, "model"))
        if isinstance(entry, JudgeScorer) and entry.strict_judge:
            raise SpecError(sentence, where=place, hint="name another helper, or take strict_judge out")
        yield f"{place}: {sentence}: it may favour its own answers"


def _currency(item: Configuration) -> str:
    return item.pricing.currency if item.pricing is not None else ""


def _check_material(scorer: Scorer, project: Project) -> None:
    """The built-in rules grade by references, passages or documents: a case that has none could only be guessed at."""
    if any(text.role in ("rules", "template", "document") for text in scorer.texts):
        return
    for case in project.cases:
        if selects(scorer.cases, case) and not case.references and not case.context:
            message = (
                f'case "{case.id}" has no reference and no context, and "{scorer.name}" has nothing to judge it by'
            )
            hint = "write a reference, or rules: or documents: of the judge"
            raise SpecError(message, where=project.places[case.id], hint=hint)


def related(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield each judge that is a model of the plan or of its family: the scorer, and a sentence."""
    helpers = {item.name: item for item in plan.helpers}
    for scorer in plan.scorers:
        judge = helpers.get(scorer.helper or "") if scorer.type == "judge" else None
        told = {item.model: _nearness(judge, item) for item in plan.configurations if judge is not None}
        for model, near in told.items():
            if near is not None and judge is not None:
                yield scorer.name, f'the judge of "{scorer.name}", {judge.model_id}, {near} the model "{model}"'


def _nearness(judge: Configuration, item: Configuration) -> str | None:
    """Say how a judge is related to a model, None if it is not known to be."""
    if item.model_id is None or judge.model_id is None:
        return None
    if _bare(item.model_id) == _bare(judge.model_id):
        return "is also"
    same_runner = item.runner == judge.runner and item.runner not in _SERVERS
    if same_runner or _family(item.model_id) == _family(judge.model_id):
        return "is of the family of"
    return None


def _bare(model_id: str) -> str:
    """Return a model's id without the vendor that a router puts in front."""
    return model_id.rpartition("/")[2].lower()


def _family(model_id: str) -> str:
    """Return the first word of a model's id, such as claude or gpt."""
    return re.split(r"[-_.:@0-9]", _bare(model_id), maxsplit=1)[0]
