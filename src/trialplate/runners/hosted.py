# SPDX-License-Identifier: Apache-2.0
"""The runner of every hosted model: a provider says what is sent and what a reply means, this sends it.

A provider is a module of `providers/` with its runner's name: two pure functions, `build_request` and `parse_reply`,
and two small ones. The body of a reply has its secrets replaced before it is parsed, so that what is recorded, scored
and replayed is the same text. For replay no key is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from trialplate.record import canonical
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, OfferedTool, Request, RunnerContext
from trialplate.runners.conversation import converse
from trialplate.runners.exchanges import Exchanges, send
from trialplate.transport.http import HttpReply, HttpRequest

__all__ = ["HostedRunner", "Provider", "key_of", "make", "provider_module"]


class Provider(Protocol):
    """A wire format: what each module of `providers/` that bears a runner's name has."""

    def check_configuration(self, configuration: Configuration) -> None:
        """Refuse what could never be sent."""

    def build_request(self, request: Request) -> HttpRequest:
        """Return what is sent for the next turn of an attempt, the key excepted."""
        ...

    def key_headers(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry the key."""
        ...

    def parse_reply(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the answer in a reply."""
        ...


def provider_module(runner: str) -> Provider:
    """Return the wire format of a runner."""
    return cast("Provider", import_module(f"trialplate.runners.providers.{runner.replace('-', '_')}"))


def make(configuration: Configuration, context: RunnerContext) -> HostedRunner:
    """Make the runner of a configuration whose model a provider hosts.

    Raises:
        SpecError: the configuration cannot be sent, or its key is not in the environment.
    """
    return HostedRunner(configuration, context, provider_module(configuration.runner))


def key_of(configuration: Configuration, context: RunnerContext) -> Mapping[str, str]:
    """Return the headers that carry a configuration's key; none, if it names no variable.

    Raises:
        SpecError: the key is not in the environment.
    """
    if configuration.secret is None:
        return {}
    where = f"{context.place}.{configuration.model}.secret"
    key = context.secrets.resolve(configuration.secret, context.environ, where=where)
    return provider_module(configuration.runner).key_headers(key)


class HostedRunner:
    """Asks one configuration's provider."""

    def __init__(self, configuration: Configuration, context: RunnerContext, provider: Provider) -> None:
        provider.check_configuration(configuration)
        self._configuration = configuration
        self._context = context
        self._provider = provider
        self._exchanges = Exchanges(configuration, context)
        self._key = {} if self._exchanges.replays else key_of(configuration, context)

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Make one attempt, with as many exchanges as its tools take.

        Raises:
            Failure: there is no answer.
            StorageError: an exchange could not be recorded.
        """
        return await converse(request, tools, self._exchange)

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed: that of the first turn stands for all."""
        return self._exchanges.recorded(request, self._provider.build_request(request))

    async def close(self) -> None:
        """Nothing is held: connections and cassette belong to the run."""

    async def _exchange(self, request: Request) -> Answer:
        """Make one exchange."""
        wire = self._provider.build_request(request)
        content = canonical.encode(wire.body)
        keyed = replace(wire, headers={**wire.headers, **self._key}) if self._key else wire

        async def ask() -> HttpReply:
            return await send(self._context, self._configuration, request, keyed, content)

        return await self._exchanges.answer(request, wire, canonical.digest(content), ask, self._read)

    def _read(self, reply: HttpReply) -> Answer:
        return self._provider.parse_reply(reply.status, reply.headers, reply.body)
