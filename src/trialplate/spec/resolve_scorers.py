# SPDX-License-Identifier: Apache-2.0
"""From an author's scorers to those of a plan: every default written out, texts as commitments, files by digest."""

from __future__ import annotations

from typing import Any

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import PlanFile, Scorer
from trialplate.spec.added_entries import added_scorer
from trialplate.spec.commands import files_of, words_of
from trialplate.spec.helped_entries import JudgeScorer, SimilarityScorer
from trialplate.spec.plugin_scorers import PluginScorer, ScorerEntry
from trialplate.spec.project import Project
from trialplate.spec.resolve_judges import Commit, judge_fields, similarity_fields
from trialplate.spec.scorer_entries import (
    ChoiceScorer,
    CommandScorer,
    ContainsScorer,
    ExactScorer,
    JsonSchemaScorer,
    JsonSubsetScorer,
    LabelScorer,
    NumericScorer,
    PythonScorer,
    RegexScorer,
    TrajectoryScorer,
    ValueScorer,
)

__all__ = ["command_notes", "scorers"]


def scorers(project: Project, commit: Commit) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
    """Return the scorers in map order, and what about them cannot be pinned.

    Args:
        project: as it was read.
        commit: makes a text of a plan from its role, its value and its name.

    Raises:
        SpecError: a pattern is no regular expression.
    """
    made: list[Scorer] = []
    unpinned: list[str] = []
    for name, entry in _entries(project).items():
        fields, notes = _fields(name, entry, project, commit)
        unpinned += notes
        metric = entry.metric_names(name)[0] if isinstance(entry, JudgeScorer) else entry.metric or name
        made.append(Scorer(name=name, type=entry.type, cases=entry.cases.resolved(), **{"metric": metric, **fields}))
    return tuple(made), tuple(unpinned)


def _entries(project: Project) -> dict[str, ScorerEntry]:
    """Return the scorers as their author wrote them, and the one that `classification` is short for."""
    author = project.author
    short = author.classification
    if short is None:
        return author.scorers
    if "label" in author.scorers:
        place = project.document.where(("classification",), key=True)
        message = '"classification" is short for a scorer named "label", and there is one of that name'
        raise SpecError(message, where=place, hint="keep one of the two, or rename the scorer")
    given = short.model_dump(exclude_unset=True)
    return {**author.scorers, "label": LabelScorer.model_validate({"type": "label", **given})}


def _fields(name: str, entry: ScorerEntry, project: Project, commit: Commit) -> tuple[dict[str, Any], list[str]]:
    """Return the settings, texts and files of a scorer, and what cannot be pinned."""
    if isinstance(entry, ExactScorer):
        return {"settings": entry.normalize.model_dump()}, []
    if isinstance(entry, ContainsScorer):
        texts = () if entry.value is None else (commit("value", entry.value, ""),)
        return {"settings": {"case_sensitive": entry.case_sensitive}, "texts": texts}, []
    if isinstance(entry, RegexScorer):
        _check_pattern(entry, project.document.where(("scorers", name, "pattern")))
        settings = {"flags": sorted(set(entry.flags))}
        return {"settings": settings, "texts": (commit("pattern", entry.pattern, ""),)}, []
    if isinstance(entry, NumericScorer):
        return {"settings": _numeric(entry)}, []
    if isinstance(entry, ChoiceScorer):
        return {"settings": {"after": entry.after, "options": sorted(set(entry.options))}}, []
    if isinstance(entry, JsonSchemaScorer):
        file = entry.schema_ if isinstance(entry.schema_, str) else ""
        schema = commit("schema", project.schemas[name], file)
        return {"settings": {"parse": entry.parse}, "texts": (schema,)}, []
    if isinstance(entry, JsonSubsetScorer):
        return {"settings": {"parse": entry.parse}}, []
    if isinstance(entry, ValueScorer):
        names = ("case_sensitive", "ignore_whitespace", "trim_lines", "parse")
        return {"settings": {name: getattr(entry, name) for name in names}}, []
    if isinstance(entry, LabelScorer):
        return {"settings": {"labels": entry.labels, "trim": entry.trim}}, []
    if isinstance(entry, TrajectoryScorer):
        return {"texts": (commit("rules", [rule.resolved() for rule in entry.rules], ""),)}, []
    if isinstance(entry, JudgeScorer):
        return judge_fields(name, entry, project, commit), []
    if isinstance(entry, SimilarityScorer):
        return similarity_fields(name, entry, project), []
    if isinstance(entry, PluginScorer):
        return added_scorer(name, entry, project)
    return _program(name, entry, project)


def _numeric(entry: NumericScorer) -> dict[str, Json]:
    settings: dict[str, Json] = {
        "find": entry.find,
        "tolerance": entry.tolerance,
        "relative": entry.relative,
        "separators": entry.separators.model_dump(),
        "percent": entry.percent,
        "units": sorted(set(entry.units)),
    }
    if entry.after is not None:
        settings.update(find="after", after=entry.after, which=entry.which)
    return settings


def _program(name: str, entry: CommandScorer | PythonScorer, project: Project) -> tuple[dict[str, Any], list[str]]:
    settings: dict[str, Json] = {"timeout_ms": entry.timeout_s, "threshold": entry.threshold}
    if entry.env:
        settings["env"] = sorted(set(entry.env))
    if isinstance(entry, PythonScorer):
        settings["callable"] = entry.callable
        names = [entry.file]
        notes = [f"{name}: what {entry.file} imports or reads, and the Python that runs it"]
    else:
        settings.update({"shell": entry.shell} if entry.argv is None else {"argv": list(entry.argv)})
        names = [item for item in files_of(project.root, entry) if item in project.pinned]
        notes = command_notes(name, entry, names)
    files = tuple(PlanFile(path=item, digest=project.pinned[item]) for item in names)
    return {"settings": settings, "files": files}, notes


def command_notes(name: str, entry: Any, pinned: list[str]) -> list[str]:
    """Return what of a command cannot be pinned, in words.

    Args:
        name: the model's or the scorer's.
        entry: the command.
        pinned: the files of the project that its words name.
    """
    notes = [f"{name}: what its command reads or starts besides the files that it names"]
    program = (words_of(entry) or [""])[0]
    if entry.argv is None:
        notes.insert(0, f"{name}: the shell, and the programs that its line names")
    elif program.removeprefix("./") not in pinned:
        notes.insert(0, f"{name}: the program {program}")
    return notes


def _check_pattern(entry: RegexScorer, where: str) -> None:
    """Compile a pattern as the scorer will, so that a wrong one costs nothing."""
    import regex

    flags = regex.V0
    for flag in entry.flags:
        flags |= getattr(regex, flag.upper())
    try:
        compiled = regex.compile(entry.pattern, flags)
    except (regex.error, RecursionError, OverflowError) as problem:
        raise SpecError(f"no regular expression: {problem}", where=where, hint="correct the pattern") from None
    if compiled.search("", timeout=1) is not None:
        raise SpecError(
            "the pattern matches an empty text, and so every answer", where=where, hint="say what must be there"
        )
