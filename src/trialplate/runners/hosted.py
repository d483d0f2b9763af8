# SPDX-License-Identifier: Apache-2.0
"""The runner of every hosted model: a provider says what is sent and what a reply means, this sends it.

A provider is two pure functions and two small ones in `providers/`. The body of a reply has its secrets replaced before
it is parsed, so that what is recorded, scored and replayed is the same text. For replay no key is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Request, RunnerContext
from trialplate.runners.exchanges import Exchanges, send
from trialplate.runners.providers import anthropic_messages, openai_chat
from trialplate.transport.http import HttpReply, HttpRequest

__all__ = ["HostedRunner", "Provider", "make_anthropic", "make_openai_compatible"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A wire format."""

    check_configuration: Callable[[Configuration], None]
    build_request: Callable[[Request], HttpRequest]
    key_headers: Callable[[str], Mapping[str, str]]
    parse_reply: Callable[[int, Mapping[str, str], bytes], Answer]


def make_openai_compatible(configuration: Configuration, context: RunnerContext) -> HostedRunner:
    """Make the runner of a configuration that speaks chat completions.

    Raises:
        SpecError: the configuration cannot be sent, or its key is not in the environment.
    """
    chat = openai_chat
    provider = Provider(chat.check_configuration, chat.build_request, chat.key_headers, chat.parse_reply)
    return HostedRunner(configuration, context, provider)


def make_anthropic(configuration: Configuration, context: RunnerContext) -> HostedRunner:
    """Make the runner of a configuration that speaks the Messages API.

    Raises:
        SpecError: the configuration cannot be sent, or its key is not in the environment.
    """
    messages = anthropic_messages
    provider = Provider(
        messages.check_configuration, messages.build_request, messages.key_headers, messages.parse_reply
    )
    return HostedRunner(configuration, context, provider)


class HostedRunner:
    """Asks one configuration's provider."""

    def __init__(self, configuration: Configuration, context: RunnerContext, provider: Provider) -> None:
        provider.check_configuration(configuration)
        self._configuration = configuration
        self._context = context
        self._provider = provider
        self._exchanges = Exchanges(configuration, context)
        self._key: Mapping[str, str] = {}
        if configuration.secret is not None and not self._exchanges.replays:
            where = f"models.{configuration.model}.secret"
            key = context.secrets.resolve(configuration.secret, context.environ, where=where)
            self._key = provider.key_headers(key)

    async def answer(self, request: Request, tools: Sequence[Json] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
            StorageError: the exchange could not be recorded.
        """
        if tools:
            raise SpecError("tools are not offered by this runner", where=f"models.{self._configuration.model}")
        wire = self._provider.build_request(request)
        content = canonical.encode(wire.body)
        keyed = replace(wire, headers={**wire.headers, **self._key}) if self._key else wire

        async def ask() -> HttpReply:
            return await send(self._context, self._configuration, request, keyed, content)

        return await self._exchanges.answer(request, wire, canonical.digest(content), ask, self._read)

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed."""
        return self._exchanges.recorded(request, self._provider.build_request(request))

    async def close(self) -> None:
        """Nothing is held: connections and cassette belong to the run."""

    def _read(self, reply: HttpReply) -> Answer:
        return self._provider.parse_reply(reply.status, reply.headers, reply.body)
