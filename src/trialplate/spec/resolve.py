# SPDX-License-Identifier: Apache-2.0
"""From an author's models, profiles and scorers to the configurations and scorers of a plan.

Every text that reaches a model or a scorer becomes a commitment, every file that a command names a digest. What cannot
be pinned is told in words. Spellings that mean the same are made one, so that a trailing slash does not make an old
attempt a new thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from trialplate.errors import SpecError
from trialplate.record import disclosure
from trialplate.record.frozen import Json
from trialplate.record.values import (
    Configuration,
    Limits,
    MatrixLine,
    Opening,
    PlanFile,
    PlanText,
    Pricing,
    Retry,
    Scorer,
)
from trialplate.spec.commands import files_of, words_of
from trialplate.spec.document import plain
from trialplate.spec.entries import (
    CommandModel,
    ContainsScorer,
    ExactScorer,
    OpenAiCompatibleModel,
    PricingEntry,
    Profile,
    RegexScorer,
    Settings,
    StandInModel,
)
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project
from trialplate.spec.stand_in import script

__all__ = ["Vault", "configurations", "matrix_lines", "scorers"]

_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class Vault:
    """Makes commitments, and keeps what opens them."""

    secret: bytes
    openings: dict[str, Opening] = field(default_factory=dict)

    def commit(self, label: str, value: Json) -> str:
        """Return the commitment to a value; the same value under the same label always gets the same one."""
        salt = disclosure.derive_salt(self.secret, label, value)
        commitment = disclosure.commit(salt, value)
        self.openings[commitment] = Opening(salt=salt, value=value)
        return commitment

    def text(self, role: Any, value: Json, name: str = "") -> PlanText:
        """Return a text of a plan."""
        return PlanText(role=role, name=name, commitment=self.commit("text", value))


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
        if isinstance(entry, OpenAiCompatibleModel):
            fields, notes = _hosted(entry, model, _overlaid(entry.settings, overlay.settings), project, vault, where)
        else:
            if overlay.settings is not None and (overlay.settings.sent() or overlay.settings.documents):
                raise SpecError(
                    f'the profile "{profile}" has settings, and the runner {entry.runner} of "{model}" takes none',
                    where=project.document.where(("profiles", profile, "settings")),
                    hint="leave the model out of this profile's line of the matrix",
                )
            if isinstance(entry, CommandModel):
                fields, notes = _command(entry, model, project)
            else:
                fields, notes = _stand_in(entry, model, project, vault)
        made.append(Configuration(name=name, model=model, profile=profile, **_common(entry), **fields))
        unpinned += [note for note in notes if note not in unpinned]
    return tuple(made), tuple(unpinned)


def _overlaid(own: Settings, overlay: Settings | None) -> Settings:
    """Return a model's settings with a profile's laid over them, key by key."""
    if overlay is None:
        return own
    documents = overlay.documents if "documents" in overlay.model_fields_set else own.documents
    return Settings.model_validate({**own.sent(), **overlay.sent(), "documents": documents})


def _common(entry: OpenAiCompatibleModel | CommandModel | StandInModel) -> dict[str, Any]:
    pricing = None
    if isinstance(entry.pricing, PricingEntry):
        pricing = Pricing(**entry.pricing.model_dump())
    elif entry.pricing == "free":
        pricing = Pricing(free=True)
    return {
        "runner": entry.runner,
        "provider": entry.provider,
        "subject": entry.subject,
        "pricing": pricing,
        "role": entry.role,
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


def _hosted(
    entry: OpenAiCompatibleModel, model: str, settings: Settings, project: Project, vault: Vault, where: str
) -> tuple[dict[str, Any], list[str]]:
    endpoint = _endpoint(entry.url)
    texts = [] if entry.system is None else [vault.text("system", entry.system)]
    for document in settings.documents:
        if settings.documents.count(document) > 1:
            raise SpecError(f"the document {document} is named twice", where=where, hint="name each document once")
        if not project.texts[document].strip():
            raise SpecError(f"the document {document} is blank", where=where, hint="take it out, or write it")
        texts.append(vault.text("document", project.texts[document], document))
    fields = {
        "model_id": entry.model,
        "endpoint": endpoint,
        "settings": plain(settings.sent()),
        "texts": tuple(texts),
        "secret": entry.secret.env if entry.secret else None,
        "served": entry.served,
    }
    return fields, [f"{model}: what answers as {entry.model} at {endpoint} is the server's own word"]


def _endpoint(url: str) -> str:
    """Return one spelling of an address: host in lower case, no default port, no slash at the end."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port not in (None, _PORTS[parts.scheme]) else ""
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), parts.query, ""))


def _command(entry: CommandModel, model: str, project: Project) -> tuple[dict[str, Any], list[str]]:
    settings: dict[str, Json] = {"shell": entry.shell} if entry.argv is None else {"argv": list(entry.argv)}
    if entry.env:
        settings["env"] = sorted(set(entry.env))
    names = [name for name in files_of(project.root, entry) if name in project.pinned]
    notes = [f"{model}: what its command reads or starts besides the files that it names"]
    program = (words_of(entry) or [""])[0]
    if entry.argv is None:
        notes.insert(0, f"{model}: the shell, and the programs that its line names")
    elif program.removeprefix("./") not in names:
        notes.insert(0, f"{model}: the program {program}")
    files = tuple(PlanFile(path=name, digest=project.pinned[name]) for name in names)
    return {"settings": settings, "files": files, "secret": entry.secret.env if entry.secret else None}, notes


def _stand_in(entry: StandInModel, model: str, project: Project, vault: Vault) -> tuple[dict[str, Any], list[str]]:
    where = project.document.where(("models", model, "answers"))
    answers = script(entry.answers, project.texts, {case.id for case in project.cases}, where)
    return {"texts": (vault.text("answers", answers),)}, []


def scorers(project: Project, vault: Vault) -> tuple[Scorer, ...]:
    """Return the scorers in map order, every default written out.

    Raises:
        SpecError: a pattern is no regular expression.
    """
    made = []
    for name, entry in project.author.scorers.items():
        settings: dict[str, Json] = {}
        texts: tuple[PlanText, ...] = ()
        if isinstance(entry, ExactScorer):
            settings = entry.normalize.model_dump()
        elif isinstance(entry, ContainsScorer):
            settings = {"case_sensitive": entry.case_sensitive}
            texts = () if entry.value is None else (vault.text("value", entry.value),)
        else:
            _check_pattern(entry, project.document.where(("scorers", name, "pattern")))
            settings = {"flags": sorted(set(entry.flags))}
            texts = (vault.text("pattern", entry.pattern),)
        made.append(
            Scorer(
                name=name,
                type=entry.type,
                metric=entry.metric or name,
                cases=entry.cases.resolved(),
                settings=settings,
                texts=texts,
            )
        )
    return tuple(made)


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
