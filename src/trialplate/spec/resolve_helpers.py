# SPDX-License-Identifier: Apache-2.0
"""From an author's helpers to those of a plan: each a configuration named by its key, under the profile "default"."""

from __future__ import annotations

from dataclasses import replace

from trialplate.errors import SpecError
from trialplate.record.values import Configuration
from trialplate.spec.project import Project
from trialplate.spec.providers import provider_of
from trialplate.spec.providers.base import HostedProvider, Whole
from trialplate.spec.resolve import common, price
from trialplate.spec.resolve_hosted import hosted
from trialplate.spec.vault import Vault

__all__ = ["helpers"]

_EMBEDDINGS = HostedProvider(
    url=None,
    key=None,
    parameters={"dimensions": Whole(1)},
    reserved=("model", "input", "encoding_format"),
    passes=True,
)
"""Parameters of POST /embeddings; another one goes into the request as it is."""


def helpers(project: Project, vault: Vault) -> tuple[tuple[Configuration, ...], tuple[str, ...]]:
    """Return the helpers in map order, and what about them cannot be pinned.

    Raises:
        SpecError: a name that a model or a configuration has too, or a setting that cannot be sent.
    """
    made: list[Configuration] = []
    unpinned: list[str] = []
    for name, entry in project.author.helpers.items():
        if name in project.author.models:
            where = project.document.where(("helpers", name), key=True)
            raise SpecError(f'"{name}" is a model and a helper', where=where, hint="give the helper another name")
        provider = provider_of(entry.runner, entry.model)
        if entry.endpoint == "embeddings":
            provider = replace(_EMBEDDINGS, url=provider.url, key=provider.key)
        fields, notes = hosted(entry, name, entry.settings, [], project, vault, (), "helpers", provider)
        fields["structured"] = fields["accepts"] = None
        bare = Configuration(
            name=name, model=name, profile="default", interface=entry.endpoint, **common(entry), **fields
        )
        made.append(bare.replace(pricing=price(entry, bare, project, "helpers")))
        unpinned += notes
    return tuple(made), tuple(unpinned)
