# SPDX-License-Identifier: Apache-2.0
"""The runner of every endpoint that speaks chat completions: builds, sends or replays, records, parses.

With a cassette open for replay it never makes a call and needs no key; with one open for recording it keeps each
exchange that it could read as an answer, and no other. The body of a reply has its secrets replaced before it is
parsed, so that what is recorded, scored and replayed is the same text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Call
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, Request, RunnerContext
from trialplate.runners.providers import openai_chat
from trialplate.transport.http import HttpFailure, HttpReply, HttpRequest, retry_after_s

__all__ = ["OpenAICompatibleRunner", "make"]


def make(configuration: Configuration, context: RunnerContext) -> OpenAICompatibleRunner:
    """Make the runner of one configuration.

    Raises:
        SpecError: the configuration cannot be sent, or its key is not in the environment.
    """
    openai_chat.check_configuration(configuration)
    return OpenAICompatibleRunner(configuration, context)


class OpenAICompatibleRunner:
    """Asks one configuration's endpoint."""

    def __init__(self, configuration: Configuration, context: RunnerContext) -> None:
        self._configuration = configuration
        self._context = context
        self._cassette = context.cassette
        self._replays = context.cassette is not None and context.cassette.mode == "replay"
        self._key: str | None = None
        if configuration.secret is not None and not self._replays:
            where = f"models.{configuration.model}.secret"
            self._key = context.secrets.resolve(configuration.secret, context.environ, where=where)

    async def answer(self, request: Request, tools: Sequence[Json] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
            StorageError: the exchange could not be recorded.
        """
        if tools:
            raise SpecError("tools are not offered by this runner", where=f"models.{self._configuration.model}")
        wire = openai_chat.build_request(request)
        content = canonical.encode(wire.body)
        call = Call(digest=canonical.digest(content), replayed=self._replays)
        reply = self._replayed(wire, request) if self._replays else await self._live(wire, content, request, call)
        try:
            answer = openai_chat.parse_reply(reply.status, reply.headers, reply.body)
        except Failure as failure:
            failure.calls = (call,)
            failure.latency_ms = reply.latency_ms
            if failure.kind == "http_status":
                failure.retry_after_s = retry_after_s(reply.headers, time.time())
            raise
        if self._cassette is not None and not self._replays:
            self._cassette.record(wire, reply, case=request.case.id, repeat=request.repeat, recorded_at=_now())
        return replace(answer, calls=(call,), latency_ms=reply.latency_ms)

    async def close(self) -> None:
        """Nothing is held: connections and cassette belong to the run."""

    def _replayed(self, wire: HttpRequest, request: Request) -> HttpReply:
        assert self._cassette is not None
        reply = self._cassette.find(wire, request.case.id, request.repeat)
        if reply is None:
            name = self._cassette.path.name
            message = f"{name} holds no answer to this request for case {request.case.id!r}, repeat {request.repeat}"
            raise Failure("replay_miss", f"{message}; record it with --cache live")
        return reply

    async def _live(self, wire: HttpRequest, content: bytes, request: Request, call: Call) -> HttpReply:
        """Send the request with its key, and return the reply with its secrets replaced."""
        if self._context.http is None:
            raise RuntimeError("this context has no HTTP client")
        if self._key is not None:
            wire = replace(wire, headers={**wire.headers, "authorization": f"Bearer {self._key}"})
        scrub = self._context.secrets.scrub
        limit = self._configuration.limits.answer_bytes
        try:
            reply = await self._context.http().send(wire, content, timeout_s=request.timeout_s, limit=limit)
        except HttpFailure as error:
            raise Failure(
                error.kind,
                scrub(error.message),
                sent=error.sent,
                received=error.received,
                latency_ms=error.latency_ms,
                calls=(call,) if error.sent else (),
            ) from error
        return replace(
            reply,
            headers={name: scrub(value) for name, value in reply.headers.items()},
            body=scrub(reply.body.decode(errors="surrogateescape")).encode(errors="surrogateescape"),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
