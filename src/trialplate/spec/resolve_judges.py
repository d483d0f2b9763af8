# SPDX-License-Identifier: Apache-2.0
"""From an author's judges and similarity scorers to those of a plan.

What a judge is told besides the built-in words of its version (rules, a template, documents, schemas) becomes
commitments; how its reply is read stands in the open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.matrix import FULLY
from trialplate.record.values import PlanText
from trialplate.spec.document import plain
from trialplate.spec.helped_entries import JudgeScorer, SimilarityScorer
from trialplate.spec.judge_words import DATA, KNOWN_METRICS, PLACEHOLDER, PLACEHOLDERS, VERDICTS
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project

__all__ = ["Commit", "judge_fields", "similarity_fields"]

Commit = Callable[[Any, Json, str], PlanText]


def _refuse(project: Project, path: tuple[str, ...], message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=project.document.where(path, key=True), hint=hint)


def _helper(name: str, entry: JudgeScorer | SimilarityScorer, project: Project, interface: str) -> str:
    """Return the name of a scorer's helper.

    Raises:
        SpecError: there is none of that name, or it is asked for something else.
    """
    there = project.author.helpers
    where = project.document.where(("scorers", name, "model"))
    if entry.model not in there:
        hint = (
            suggestion(entry.model, there)
            if there
            else f"write helpers: {{{entry.model}: {{runner: ..., model: ...}}}}"
        )
        if entry.model in project.author.models:
            hint = f"{entry.model} is a model: what scorers ask stands under helpers:, with a name of its own"
        raise SpecError(f'there is no helper "{entry.model}"', where=where, hint=hint)
    if there[entry.model].endpoint != interface:
        wants = "an embedder, with endpoint: embeddings" if interface == "embeddings" else "a model that chats"
        have = "an embedder" if interface == "chat" else "a model that chats"
        raise SpecError(
            f'the helper "{entry.model}" is {have}, and "{name}" needs {wants}', where=where, hint="name another helper"
        )
    return entry.model


def similarity_fields(name: str, entry: SimilarityScorer, project: Project) -> dict[str, Any]:
    """Return the fields of a similarity scorer."""
    return {"helper": _helper(name, entry, project, "embeddings"), "settings": {"threshold": entry.threshold}}


def judge_fields(name: str, entry: JudgeScorer, project: Project, commit: Commit) -> dict[str, Any]:
    """Return the fields of a judge.

    Raises:
        SpecError: its words do not fit together.
    """
    settings: dict[str, Json] = {"mode": entry.mode, "parse": entry.parse}
    texts = _texts(name, entry, project, commit)
    if entry.mode == "verdicts":
        settings |= {"verdicts": dict(entry.verdicts), "pass_when": _needed(name, entry, project)}
        _check_meanings(name, entry, project)
    elif entry.mode == "score":
        settings |= {"scale": list(entry.scale), "threshold": entry.threshold}
        if entry.forms:
            settings["forms"] = sorted(set(entry.forms))
    elif entry.passing_verdicts is not None:
        texts.append(commit("schema", project.schemas[f"{name} verdict_format"], "verdict_format"))
        literal = isinstance(entry.passing_verdicts, list)
        passing = plain(entry.passing_verdicts) if literal else project.schemas[f"{name} passing_verdicts"]
        if literal:
            _check_passing(name, passing, project)
        texts.append(commit("value", passing, "passing_verdicts"))
    return {
        "helper": _helper(name, entry, project, "chat"),
        "also": entry.metric_names(name)[1:],
        "settings": settings,
        "texts": tuple(texts),
    }


def _check_passing(name: str, passing: list[Json], project: Project) -> None:
    """A literal verdict that the judge's own schema does not allow could never be given."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(project.schemas[f"{name} verdict_format"])
    for index, item in enumerate(passing):
        problem = next(validator.iter_errors(item), None)
        if problem is not None:
            place = project.document.where(("scorers", name, "passing_verdicts", index))
            message = f"this verdict does not meet verdict_format: {problem.message[:200]}"
            raise SpecError(message, where=place, hint="correct the verdict or the schema")


def _needed(name: str, entry: JudgeScorer, project: Project) -> dict[str, Json]:
    try:
        return dict(entry.needed(name))
    except ValueError as problem:
        key = "pass_when" if entry.pass_when is not None else "verdicts"
        hint = "write pass_when: with a metric and the least that it must be"
        _refuse(project, ("scorers", name, key), str(problem), hint)


def _check_meanings(name: str, entry: JudgeScorer, project: Project) -> None:
    """Words of the author's own need rules that say what they mean: the built-in ones do not."""
    if entry.rules is not None or entry.template is not None:
        return
    strange = [word for word in entry.verdicts if word not in VERDICTS]
    first, *further = entry.metric_names(name)
    strange += [item for item in further if item not in (FULLY + first, *KNOWN_METRICS)]
    if strange:
        key = "verdicts" if "verdicts" in entry.model_fields_set and strange[0] in entry.verdicts else "metrics"
        message = f'the built-in rules do not say what "{strange[0]}" means'
        _refuse(project, ("scorers", name, key), message, "write rules: with a file that does")


def _texts(name: str, entry: JudgeScorer, project: Project, commit: Commit) -> list[PlanText]:
    """Return what a judge is told besides the built-in words, as commitments."""
    made: list[PlanText] = []
    for key, file in entry.texts():
        if not project.texts[file].strip():
            _refuse(project, ("scorers", name, key), f"{file} is blank", "write it, or take the key out")
        made.append(commit(key, project.texts[file], file))
    if entry.template is not None:
        _check_template(name, entry, project)
    for document in entry.documents:
        if entry.documents.count(document) > 1:
            _refuse(project, ("scorers", name, "documents"), f"the document {document} is named twice", "name it once")
        if not project.texts[document].strip():
            _refuse(project, ("scorers", name, "documents"), f"the document {document} is blank", "take it out")
        made.append(commit("document", project.texts[document], document))
    return made


def _check_template(name: str, entry: JudgeScorer, project: Project) -> None:
    """Refuse a template that would send its braces, leave out the answer, or leave out the plan's own rules."""
    file = entry.template or ""
    text = project.texts[file]
    used = [" ".join(match[1].split()) for match in PLACEHOLDER.finditer(text)]
    for match, item in zip(PLACEHOLDER.finditer(text), used, strict=True):
        if item not in PLACEHOLDERS:
            line = text.count("\n", 0, match.start()) + 1
            hint = suggestion(item, PLACEHOLDERS)
            if item in DATA:
                hint = f"write {{{{json {item}}}}}: a text that is not yours only goes in as JSON"
            raise SpecError(f"there is no placeholder {{{{{item}}}}}", where=f"{file}:{line}", hint=hint)
    rest = PLACEHOLDER.sub("", text)
    if "{{" in rest:
        line = text.count("\n", 0, text.index("{{")) + 1
        raise SpecError("a placeholder is not closed", where=f"{file}:{line}", hint="write it as {{json candidate}}")
    if not {"json candidate", "json data"} & set(used):
        hint = "put {{json candidate}} or {{json data}} where the answer belongs"
        raise SpecError("the template does not hold the answer", where=file, hint=hint)
    if entry.rules is not None and "rules" not in used:
        hint = "put {{rules}} into the template, or take rules: out"
        raise SpecError("the rules would not reach the judge", where=file, hint=hint)
