# SPDX-License-Identifier: Apache-2.0
"""From what a plan names and is no built-in to its place in it: runners, scorers and loaders of packages, and objects.

A runner stands there with its package, its options and the model that it is told to ask for; a scorer with its package,
its options and the metrics that it says it yields. What no digest pins is told in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.spec.added import (
    OBJECT,
    AddedGroup,
    AddedName,
    AddedNames,
    check_options,
    declared_metrics,
)
from trialplate.spec.document import Document, Path, plain
from trialplate.spec.entries import PluginModel
from trialplate.spec.models import AuthorPlan
from trialplate.spec.nearest import suggestion
from trialplate.spec.plugin_scorers import PluginScorer
from trialplate.spec.test_sets import ENDINGS

if TYPE_CHECKING:
    from trialplate.spec.project import Project

__all__ = ["added_model", "added_scorer", "loader_notes", "loader_of", "named_in"]


def named_in(
    document: Document, author: AuthorPlan, added: AddedNames
) -> Iterator[tuple[tuple[AddedGroup, str], AddedName]]:
    """Yield what the plan names and is no built-in; its options are held to what it takes.

    Raises:
        SpecError: an option that it does not take, or options of a runner that the plan does not name.
    """
    runners = {model.runner for model in author.models.values() if isinstance(model, PluginModel)}
    for name in author.runners:
        if name not in runners:
            place = document.where(("runners", name), key=True)
            hint = f"these are the options of: {', '.join(sorted(runners))}" if runners else "take them out"
            raise SpecError(f'no model here has the runner "{name}" of a package', where=place, hint=hint)
    for name in sorted(runners):
        found = added.find("runners", name)
        _check_options(found, author.runners.get(name, {}), document, ("runners", name))
        yield ("runners", name), found
    for name, scorer in author.scorers.items():
        if isinstance(scorer, PluginScorer):
            found = added.find("scorers", name if scorer.type == OBJECT else scorer.type)
            _check_options(found, scorer.options(), document, ("scorers", name))
            yield ("scorers", name), found
    for index, entry in enumerate(author.test_sets):
        reader = loader_of(entry.file, entry.loader, added, document.where(("test_sets", index, "loader")))
        if reader is not None:
            yield ("loaders", entry.file), reader


def loader_of(file: str, loader: str | None, added: AddedNames, where: str) -> AddedName | None:
    """Return what reads a file of cases: whoever is named, else whoever its ending names; None for a built-in.

    Raises:
        SpecError: nobody has the name that is given.
    """
    ending = PurePosixPath(file.lower()).suffix
    if loader is None and ending in ENDINGS:
        return None
    there = list(added.names("loaders"))
    wanted = ending if loader is None else loader
    if wanted in there:
        return added.find("loaders", wanted)
    if loader is None:
        return None
    hint = suggestion(loader, there) if there else "take it out; without one its ending says how it is read"
    raise SpecError(f'"loader": there is no loader "{loader}"', where=where, hint=hint)


def _check_options(found: AddedName, options: Mapping[str, Any], document: Document, path: Path) -> None:
    if found.is_object and options:
        message = "this is an object that was given, which takes no options here"
        raise SpecError(message, where=document.where(path), hint="make the object with them")
    if not found.is_object:
        check_options(found.load(), options, document, path)


def added_model(
    entry: PluginModel, model: str, sent: Mapping[str, Any], project: Project
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a model whose runner is a package's, or an object, and what of it cannot be pinned.

    A runner that is `hosted` asks a provider for a model by its id and says who answered: only then has the plan an id
    to compare with, and only then are failures of the way there the infrastructure's.
    """
    added = project.added["runners", entry.runner]
    hosted = not added.is_object and getattr(added.load(), "hosted", False) is True
    kept: dict[str, Json] = {} if hosted else {"model": entry.model or model}
    if sent:
        kept["settings"] = plain(sent)
    if options := project.author.runners.get(entry.runner):
        kept["options"] = plain(options)
    fields = {
        "model_id": (entry.model or model) if hosted else None,
        "settings": {**kept, **_source(added)},
        "secret": entry.secret.env if entry.secret else None,
        "served": entry.served,
        "plugin": added.package,
    }
    return fields, [f"{model}: {added.note}"]


def added_scorer(name: str, entry: PluginScorer, project: Project) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a scorer that is a package's, or an object, and what of it cannot be pinned.

    Raises:
        SpecError: it yields several metrics, and the plan gives it one.
    """
    added = project.added["scorers", name]
    where = project.document.where(("scorers", name))
    metrics = declared_metrics(added.load(), where) or (name,)
    if entry.metric is not None and len(metrics) > 1:
        hint = f"take it out; they are {', '.join(metrics)}"
        raise SpecError(f'"metric": this scorer yields {len(metrics)} metrics', where=where, hint=hint)
    settings: dict[str, Json] = {"timeout_ms": entry.timeout_s, "threshold": entry.threshold}
    if options := entry.options():
        settings["options"] = plain(options)
    fields = {
        "metric": entry.metric or metrics[0],
        "also": metrics[1:],
        "settings": {**settings, **_source(added)},
        "plugin": added.package,
    }
    return fields, [f"{name}: {added.note}"]


def loader_notes(project: Project) -> list[str]:
    """Return who read which file of cases, where it was no built-in."""
    return [f"{name}: {added.note}" for (group, name), added in project.added.items() if group == "loaders"]


def _source(added: AddedName) -> dict[str, Json]:
    return {"source": dict(added.source)} if added.source else {}
