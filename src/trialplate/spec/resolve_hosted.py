# SPDX-License-Identifier: Apache-2.0
"""From an author's hosted model to what a plan says of it: settings that can be sent, address, texts, tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from trialplate.errors import SpecError
from trialplate.record.matrix import selects
from trialplate.record.values import Case, PlanText
from trialplate.spec.document import plain
from trialplate.spec.entries import HostedModel, Profile, Settings
from trialplate.spec.project import Project
from trialplate.spec.providers import provider_of
from trialplate.spec.providers.base import HostedProvider, media_types, wrong_settings
from trialplate.spec.resolve_tools import offered_tools
from trialplate.spec.vault import Vault

__all__ = ["cases_of", "endpoint_of", "hosted"]

_PORTS = {"http": 80, "https": 443}


def hosted(
    entry: HostedModel,
    model: str,
    settings: Settings,
    documents: list[PlanText],
    project: Project,
    vault: Vault,
    cases: Sequence[Case] = (),
    place: str = "models",
    provider: HostedProvider | None = None,
    profile: str | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a hosted model, and what cannot be pinned.

    Args:
        cases: what it is asked; how answers are formed and which tools are offered is only told of these.
        place: the key of the author's file under which it stands.
        provider: what is known of its interface; by default that of its runner's chat.
        profile: whose settings are laid over its own.

    Raises:
        SpecError: a setting that cannot be sent.
    """
    provider = provider or provider_of(entry.runner, entry.model)
    endpoint = endpoint_of(entry.url or provider.url or "")
    sent = {**provider.defaults, **plain(settings.sent())}
    for name, wrong, hint in wrong_settings(provider, sent):
        overlay = project.author.profiles.get(profile or "", Profile()).settings
        if overlay is not None and name in overlay.sent():
            where = project.document.where(("profiles", str(profile), "settings", name), key=True)
            message = f'"{name}": {wrong}: the profile "{profile}" gives it to "{model}"'
            other = "or leave that model out of this profile's line of the matrix"
            raise SpecError(message, where=where, hint=f"{hint}; {other}")
        where = project.document.where((place, model, "settings", name))
        raise SpecError(f'"{name}": {wrong}', where=where, hint=hint)
    system = [] if entry.system is None else [vault.text("system", entry.system)]
    if entry.structured and entry.structured not in provider.shapes:
        where, hint = project.document.where((place, model, "structured")), f"write {' or '.join(provider.shapes)}"
        raise SpecError(f'"structured": {entry.runner} takes no schema for an answer', where=where, hint=hint)
    formed = any(case.answer_format is not None or case.answer_schema is not None for case in cases)
    mode = "none" if entry.structured is False else entry.structured or provider.shape
    accepts = provider.accepts if entry.accepts is None else entry.accepts
    fields = {
        "model_id": entry.model,
        "endpoint": endpoint,
        "settings": sent,
        "texts": (*system, *documents),
        "secret": entry.secret.env if entry.secret else provider.key,
        "served": entry.served,
        "structured": mode if formed else None,
        "tools": tuple(offered_tools(cases, project, vault)),
        "accepts": media_types(provider, accepts) if any(case.files for case in cases) else None,
    }
    return fields, [f"{model}: what answers as {entry.model} at {endpoint} is the server's own word"]


def cases_of(project: Project, model: str, profile: str) -> list[Case]:
    """Return the cases that a line of the matrix gives to a model under a profile."""
    if project.author.matrix is None:
        return list(project.cases)
    lines = [line for line in project.author.matrix if profile in line.profiles and model in (line.models or (model,))]
    selectors = [line.cases.resolved() for line in lines]
    return [case for case in project.cases if any(selects(selector, case) for selector in selectors)]


def endpoint_of(url: str, *, base: bool = True) -> str:
    """Return one spelling of an address: host in lower case, no default port, no slash at the end of a base address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port not in (None, _PORTS[parts.scheme]) else ""
    path = parts.path.rstrip("/") if base else parts.path or "/"
    return urlunsplit((parts.scheme, host + port, path, parts.query, ""))
