# SPDX-License-Identifier: Apache-2.0
"""One exchange with a far end, with or without a cassette: replayed, called, or called once for several who ask.

What every runner that can be recorded has in common:
- `replay`: what is not recorded is a replay miss, never a call;
- `live`: every call is made, and recorded if its reply could be read as an answer of the model that was asked;
- `auto`: what is recorded is replayed, the rest is called and recorded. Of those who ask for the same exchange at the
  same time one makes the call and the others replay what it recorded; if it failed, the next makes its own.

Each answer and each failure names its call: the digest of what was asked, and whether the reply came from a cassette.
The runner brings the two halves, how to ask and how to read; nothing here judges or tries again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from trialplate.record.entries import Call
from trialplate.record.values import Configuration
from trialplate.rules.cells import serves
from trialplate.runners.base import Answer, Failure, Request, RunnerContext
from trialplate.runners.scrubbed import scrubbed
from trialplate.transport.cassette import Cassette
from trialplate.transport.exchange import exchange_key
from trialplate.transport.http import HttpFailure, HttpReply, HttpRequest, retry_after_s

__all__ = ["Exchanges", "Read", "send"]

Read = Callable[[HttpReply], Answer]


class Exchanges:
    """The exchanges of one configuration."""

    def __init__(self, configuration: Configuration, context: RunnerContext) -> None:
        self._configuration = configuration
        self._cassette = context.cassette
        self._secrets = context.secrets
        self.replays = context.cassette is not None and context.cassette.mode == "replay"
        """Nothing is ever called, so no key is needed."""

    def recorded(self, request: Request, wire: HttpRequest) -> bool:
        """Say whether `answer` would replay this exchange, where others are called."""
        cassette = self._cassette
        if cassette is None or cassette.mode != "auto":
            return False
        return cassette.holds(_pinned(request, wire), request.case.id, request.repeat)

    async def answer(
        self, request: Request, wire: HttpRequest, digest: str, ask: Callable[[], Awaitable[HttpReply]], read: Read
    ) -> Answer:
        """Return the answer of an exchange.

        Args:
            request: the attempt.
            wire: what makes the exchange this one: its method, URL, body and pins.
            digest: of what is asked, for the record.
            ask: makes the call; raises `Failure`.
            read: reads a reply; raises `Failure`.

        Raises:
            Failure: there is no answer.
            StorageError: the exchange could not be recorded.
        """
        call, wire = Call(digest=digest), _pinned(request, wire)
        if self._cassette is None or self._cassette.mode == "live":
            return await self._called(request, wire, call, ask, read)
        if self._cassette.mode == "auto":
            return await self._once(request, wire, call, ask, read, self._cassette)
        reply = self._cassette.find(wire, request.case.id, request.repeat)
        if reply is None:
            name = self._cassette.path.name
            message = f"{name} holds no answer to this request for case {request.case.id!r}, repeat {request.repeat}"
            raise Failure("replay_miss", f"{message}; record it with --cache auto")
        return _read(reply, call.replace(replayed=True), read)

    async def _once(
        self,
        request: Request,
        wire: HttpRequest,
        call: Call,
        ask: Callable[[], Awaitable[HttpReply]],
        read: Read,
        cassette: Cassette,
    ) -> Answer:
        """Replay what is recorded, wait for who is just recording it, or make the call."""
        key = exchange_key(wire, request.case.id, request.repeat)
        while True:
            reply = cassette.find(wire, request.case.id, request.repeat)
            if reply is not None:
                return _read(reply, call.replace(replayed=True), read)
            if key not in cassette.under_way:
                break
            await cassette.under_way[key].wait()
        ended = cassette.under_way[key] = asyncio.Event()
        try:
            return await self._called(request, wire, call, ask, read)
        finally:
            del cassette.under_way[key]
            ended.set()

    async def _called(
        self, request: Request, wire: HttpRequest, call: Call, ask: Callable[[], Awaitable[HttpReply]], read: Read
    ) -> Answer:
        """Make the call, and record it if it brought an answer of the model that was asked."""
        try:
            reply = await ask()
        except Failure as failure:
            failure.calls = (call,) if failure.sent else ()
            raise
        said = _read(reply, call, read)
        answer = scrubbed(said, self._secrets)
        # A secret that came in pieces stands in the reply: a cassette is committed, and would give it away.
        if self._cassette is not None and serves(self._configuration, answer.served) and answer == said:
            self._cassette.record(wire, reply, case=request.case.id, repeat=request.repeat, recorded_at=_now())
        return answer


def _pinned(request: Request, wire: HttpRequest) -> HttpRequest:
    """Return an exchange with what else makes it this one, so that two who ask the same have a recording each."""
    return replace(wire, pins={**wire.pins, **request.pins}) if request.pins else wire


def _read(reply: HttpReply, call: Call, read: Read) -> Answer:
    """Read a reply, and say by which call it came and how long the far end took."""
    try:
        answer = read(reply)
    except Failure as failure:
        failure.calls = (call,)
        failure.latency_ms = reply.latency_ms
        if failure.kind == "http_status":
            asked = retry_after_s(reply.headers, time.time())
            failure.retry_after_s = failure.retry_after_s if asked is None else asked
        raise
    return replace(answer, calls=(call,), latency_ms=reply.latency_ms)


async def send(
    context: RunnerContext, configuration: Configuration, request: Request, wire: HttpRequest, content: bytes
) -> HttpReply:
    """Send a request, its key included, and return the reply with known secrets replaced.

    Raises:
        Failure: there is no complete reply.
    """
    if context.http is None:
        raise RuntimeError("this context has no HTTP client")
    scrub = context.secrets.scrub
    limit = configuration.limits.answer_bytes
    try:
        reply = await context.http().send(wire, content, timeout_s=request.timeout_s, limit=limit)
    except HttpFailure as error:
        raise Failure(
            error.kind,
            scrub(error.message),
            sent=error.sent,
            received=error.received,
            latency_ms=error.latency_ms,
        ) from error
    if context.secrets.none:
        return reply
    return replace(
        reply,
        headers={name: scrub(value) for name, value in reply.headers.items()},
        body=scrub(reply.body.decode(errors="surrogateescape")).encode(errors="surrogateescape"),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
