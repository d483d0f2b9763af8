# SPDX-License-Identifier: Apache-2.0
"""The client of an embedder: texts in, vectors out, over the same exchanges as a model's answers.

An embedder serves scorers only, and is no runner of trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trialplate.record import canonical
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Request, RunnerContext
from trialplate.runners.exchanges import Exchanges, send
from trialplate.runners.hosted import key_of
from trialplate.runners.providers import openai_embeddings
from trialplate.transport.http import HttpReply

__all__ = ["Embedder", "make"]


def make(configuration: Configuration, context: RunnerContext) -> Embedder:
    """Make the client of a helper whose interface is embeddings.

    Raises:
        SpecError: its key is not in the environment.
    """
    return Embedder(configuration, context)


class Embedder:
    """Asks one helper's server."""

    def __init__(self, configuration: Configuration, context: RunnerContext) -> None:
        self._configuration, self._context = configuration, context
        self._exchanges = Exchanges(configuration, context)
        self._key = {} if self._exchanges.replays else key_of(configuration, context)

    async def embed(self, request: Request, texts: Sequence[str]) -> Answer:
        """Return the vectors of some texts, as the transcript of an answer.

        Raises:
            Failure: there are none.
            StorageError: an exchange could not be recorded.
        """
        wire = openai_embeddings.build_request(request, texts)
        content = canonical.encode(wire.body)
        keyed = replace(wire, headers={**wire.headers, **self._key})

        async def ask() -> HttpReply:
            return await send(self._context, self._configuration, request, keyed, content)

        return await self._exchanges.answer(request, wire, canonical.digest(content), ask, self._read)

    def recorded(self, request: Request, texts: Sequence[str]) -> bool:
        """Say whether a recorded reply would be replayed, where others are called."""
        return self._exchanges.recorded(request, openai_embeddings.build_request(request, texts))

    @staticmethod
    def _read(reply: HttpReply) -> Answer:
        return openai_embeddings.parse_reply(reply.status, reply.headers, reply.body)
