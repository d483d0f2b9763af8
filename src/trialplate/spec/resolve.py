# SPDX-License-Identifier: Apache-2.0
"""From an author's models and profiles to the configurations of a plan. Scorers: see `resolve_scorers`.

Every text that reaches a model or a scorer becomes a commitment, every file that a command names a digest. What cannot
be pinned is told in words. Spellings that mean the same are made one, so that a trailing slash does not make an old
attempt a new thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import (
    AnswerRule,
    Configuration,
    Limits,
    MatrixLine,
    PlanFile,
    PlanText,
    Pricing,
    Retry,
)
from trialplate.spec.accounts import account_of
from trialplate.spec.added_entries import added_model
from trialplate.spec.commands import files_of
from trialplate.spec.document import Path as Place
from trialplate.spec.document import plain
from trialplate.spec.entries import (
    CommandModel,
    HostedModel,
    HttpModel,
    ModelEntry,
    PluginModel,
    Profile,
    PythonModel,
    Settings,
    StandInModel,
    TextModel,
    TraceModel,
)
from trialplate.spec.nearest import suggestion
from trialplate.spec.pricing import price_of
from trialplate.spec.project import Project
from trialplate.spec.resolve_hosted import cases_of, endpoint_of, hosted
from trialplate.spec.resolve_scorers import command_notes
from trialplate.spec.resolve_tools import offered_tools
from trialplate.spec.stand_in import script
from trialplate.spec.vault import Vault

__all__ = ["common", "configurations", "documents", "matrix_lines", "price"]


def matrix_lines(project: Project) -> tuple[MatrixLine, ...]:
    """Return the lines of the matrix, with configurations by name; without a matrix, one line over everything.

    Raises:
        SpecError: a line names a model or a profile that is not there.
    """
    author = project.author
    if author.matrix is None:
        named = _configuration_names(project)
        names = tuple(named[model, "default"] for model in author.models)
        return (MatrixLine(configurations=names, repeats=author.repeats),)
    lines = []
    for index, entry in enumerate(author.matrix):
        for key, given, known in (
            ("models", entry.models or (), author.models),
            ("profiles", entry.profiles, {"default": None, **author.profiles}),
        ):
            for position, name in enumerate(given):
                if name not in known:
                    raise SpecError(
                        f'there is no {key[:-1]} "{name}"',
                        where=project.document.where(("matrix", index, key, position)),
                        hint=suggestion(name, known),
                    )
        named = _configuration_names(project)
        names = tuple(named[pair] for pair in _pairs(entry.models or author.models, entry.profiles))
        repeats = entry.repeats or author.repeats
        lines.append(MatrixLine(configurations=names, cases=entry.cases.resolved(), repeats=repeats))
    return tuple(lines)


def _pairs(models: Iterable[str], profiles: Sequence[str]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((model, profile) for model in models for profile in profiles))


def _configuration_names(project: Project) -> dict[tuple[str, str], str]:
    """Return the name of every configuration that some line of the matrix uses, in the plan's order."""
    author = project.author
    used: set[tuple[str, str]] = set()
    if author.matrix is None:
        used.update(_pairs(author.models, ("default",)))
    else:
        for entry in author.matrix:
            used.update(_pairs(entry.models or author.models, entry.profiles))
    alone = {profile for _, profile in used} == {"default"}
    order = _pairs(author.models, tuple(dict.fromkeys(("default", *author.profiles))))
    if "default" in author.profiles:
        order = _pairs(author.models, tuple(author.profiles))
    return {(m, p): m if alone else f"{m}/{p}" for m, p in order if (m, p) in used}


def configurations(project: Project, vault: Vault) -> tuple[tuple[Configuration, ...], tuple[str, ...]]:
    """Return the configurations that the matrix uses, in map order, and what about them cannot be pinned.

    Raises:
        SpecError: a profile gives settings to a runner that takes none, or names a document twice.
    """
    made: list[Configuration] = []
    unpinned: list[str] = []
    for (model, profile), name in _configuration_names(project).items():
        overlay = project.author.profiles.get(profile, Profile())
        entry = project.author.models[model]
        where = project.document.where(("models", model))
        if isinstance(entry, TextModel):
            settings = _overlaid(entry.settings, overlay.settings)
            texts = documents(settings.documents, project, vault, where)
            if isinstance(entry, PythonModel):
                fields, notes = _python(entry, model, settings, texts, project)
            elif isinstance(entry, PluginModel):
                system = [] if entry.system is None else [vault.text("system", entry.system)]
                fields, notes = added_model(entry, model, settings.sent(), project)
                fields["texts"] = (*system, *texts)
                if project.added["runners", entry.runner].answers:
                    fields["tools"] = tuple(offered_tools(cases_of(project, model, profile), project, vault))
            else:
                assert isinstance(entry, HostedModel)  # noqa: S101  there is no other
                asked = cases_of(project, model, profile)
                fields, notes = hosted(entry, model, settings, texts, project, vault, asked, profile=profile)
        else:
            if overlay.settings is not None and (overlay.settings.sent() or overlay.settings.documents):
                raise SpecError(
                    f'the profile "{profile}" has settings, and the runner {entry.runner} of "{model}" takes none',
                    where=project.document.where(("profiles", profile, "settings")),
                    hint="leave the model out of this profile's line of the matrix",
                )
            if isinstance(entry, CommandModel):
                fields, notes = _command(entry, model, project)
            elif isinstance(entry, HttpModel):
                fields, notes = _http(entry, model, vault)
            elif isinstance(entry, TraceModel):
                fields, notes = {}, [f"{model}: that its traces are what its agent did is their author's word"]
            else:
                fields, notes = _stand_in(entry, model, project, vault)
        bare = Configuration(name=name, model=model, profile=profile, **common(entry), **fields)
        made.append(bare.replace(pricing=price(entry, bare, project)))
        unpinned += [note for note in notes if note not in unpinned]
    return tuple(made), tuple(unpinned)


def _overlaid(own: Settings, overlay: Settings | None) -> Settings:
    """Return a model's settings with a profile's laid over them, key by key."""
    if overlay is None:
        return own
    documents = overlay.documents if "documents" in overlay.model_fields_set else own.documents
    return Settings.model_validate({**own.sent(), **overlay.sent(), "documents": documents})


def common(entry: ModelEntry) -> dict[str, Any]:
    """Return the fields of a configuration that every entry has, its price excepted."""
    return {
        "runner": entry.runner,
        "provider": entry.provider,
        "subject": entry.subject,
        "role": entry.role,
        "answer": AnswerRule(reasoning=entry.answer.reasoning),
        "retry": Retry(
            max_retries=entry.retry.max_retries,
            initial_delay_ms=entry.retry.initial_delay_s,
            max_delay_ms=entry.retry.max_delay_s,
        ),
        "limits": Limits(
            attempt_timeout_ms=entry.limits.attempt_timeout_s,
            answer_bytes=entry.limits.answer_bytes,
            requests_per_minute=entry.limits.requests_per_minute,
            tokens_per_minute=entry.limits.tokens_per_minute,
        ),
    }


def price(entry: ModelEntry, made: Configuration, project: Project, place: str = "models") -> Pricing | None:
    """Return the nearest price that is written: the model's, its provider's, the plan's; used whole.

    Args:
        place: the key of the author's file under which the entry stands.
    """
    author, account = project.author, account_of(made)
    levels: list[tuple[Any, Place]] = [(entry.pricing, (place, made.model, "pricing"))]
    if account in author.providers:
        levels.append((author.providers[account].pricing, ("providers", account, "pricing")))
    levels.append((author.pricing, ("pricing",)))
    form, found = next(((form, at) for form, at in levels if form is not None), (None, ()))
    return price_of(form, made.runner, made.model_id, project.document.where(found))


def documents(names: Sequence[str], project: Project, vault: Vault, where: str) -> list[PlanText]:
    """Return documents by their files, each once and none blank.

    Raises:
        SpecError: one is named twice, or is blank.
    """
    texts = []
    for document in names:
        if names.count(document) > 1:
            raise SpecError(f"the document {document} is named twice", where=where, hint="name each document once")
        if not project.texts[document].strip():
            raise SpecError(f"the document {document} is blank", where=where, hint="take it out, or write it")
        texts.append(vault.text("document", project.texts[document], document))
    return texts


def _http(entry: HttpModel, model: str, vault: Vault) -> tuple[dict[str, Any], list[str]]:
    request, response = entry.request, entry.response.model_dump(exclude_none=True)
    endpoint = endpoint_of(request.url, base=False)
    settings: dict[str, Json] = {"method": request.method}
    if request.headers:
        settings["headers"] = dict(sorted(request.headers.items()))
    if response:
        settings["response"] = response
    fields: dict[str, Any] = {
        "endpoint": endpoint,
        "settings": settings,
        "texts": () if request.body is None else (vault.text("body", plain(request.body)),),
    }
    secret = entry.secret
    if secret is not None:
        prefix = secret.prefix if secret.prefix is not None else "Bearer " if secret.header == "authorization" else ""
        fields.update(secret=secret.env, secret_sent={"header": secret.header, "prefix": prefix})
    return fields, [f"{model}: that {entry.subject} is what answers at {endpoint} is its author's word"]


def _python(
    entry: PythonModel, model: str, settings: Settings, documents: list[PlanText], project: Project
) -> tuple[dict[str, Any], list[str]]:
    kept: dict[str, Json] = {"callable": entry.callable}
    if entry.model is not None:
        kept["model"] = entry.model
    if sent := plain(settings.sent()):
        kept["settings"] = sent
    if entry.env:
        kept["env"] = sorted(set(entry.env))
    fields = {
        "settings": kept,
        "texts": tuple(documents),
        "files": (PlanFile(path=entry.file, digest=project.pinned[entry.file]),),
        "secret": entry.secret.env if entry.secret else None,
    }
    return fields, [f"{model}: what {entry.file} imports or reads, and the Python that runs it"]


def _command(entry: CommandModel, model: str, project: Project) -> tuple[dict[str, Any], list[str]]:
    settings: dict[str, Json] = {"shell": entry.shell} if entry.argv is None else {"argv": list(entry.argv)}
    if entry.env:
        settings["env"] = sorted(set(entry.env))
    names = [name for name in files_of(project.root, entry) if name in project.pinned]
    notes = command_notes(model, entry, names)
    files = tuple(PlanFile(path=name, digest=project.pinned[name]) for name in names)
    return {"settings": settings, "files": files, "secret": entry.secret.env if entry.secret else None}, notes


def _stand_in(entry: StandInModel, model: str, project: Project, vault: Vault) -> tuple[dict[str, Any], list[str]]:
    where = project.document.where(("models", model, "answers"))
    answers = script(entry.answers, project.texts, {case.id for case in project.cases}, where)
    return {"texts": (vault.text("answers", answers),)}, []
