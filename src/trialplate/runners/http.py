# SPDX-License-Identifier: Apache-2.0
"""The runner of a service of your own behind HTTP: one request that its author describes, one reply.

The configuration: `endpoint` is the URL; settings are `method`, `headers` and `response` (`pointer`, `tokens`); a text
of role `body` is the body as JSON. `{{input}}` is the case's input: percent-encoded in the URL, as it is in every text
of the body (its keys are left alone). The key goes into the header that `secret_sent` names.

A reply counts with a status of success; a redirect is none and is not followed. With a pointer (RFC 6901) the answer is
what it names: a text as it is, other JSON as canonical JSON, null or nothing a `bad_reply`. Without one it is the body.
Tokens that the reply states are the far end's own word (`declared`).

What it refuses: to try again, and to judge whose fault a failure is (`engine.attempt` does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, OfferedTool, Request, RunnerContext
from trialplate.runners.exchanges import Exchanges, send
from trialplate.runners.providers import replies
from trialplate.runners.providers.replies import snippet
from trialplate.spec.placeholders import fill, fill_url
from trialplate.transport.http import HttpReply, HttpRequest

__all__ = ["HttpRunner", "build_request", "make", "parse_reply", "point"]

_ABSENT = object()


def make(configuration: Configuration, context: RunnerContext) -> HttpRunner:
    """Make the runner of one configuration.

    Raises:
        SpecError: it has no address, or its key is not in the environment.
    """
    return HttpRunner(configuration, context)


class HttpRunner:
    """Asks one configuration's service."""

    def __init__(self, configuration: Configuration, context: RunnerContext) -> None:
        where = f"models.{configuration.model}"
        if not configuration.endpoint:
            raise SpecError("has no url to ask", where=where, hint="add request: {url: ...}", code="URL")
        self._configuration = configuration
        self._context = context
        self._exchanges = Exchanges(configuration, context)
        self._key: dict[str, str] = {}
        if configuration.secret is not None and not self._exchanges.replays:
            key = context.secrets.resolve(configuration.secret, context.environ, where=f"{where}.secret")
            sent = configuration.secret_sent
            self._key = {sent.get("header", "authorization"): sent.get("prefix", "Bearer ") + key}

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
            StorageError: the exchange could not be recorded.
        """
        if tools:
            raise SpecError("tools are not offered to a service", where=f"models.{self._configuration.model}")
        wire = build_request(request)
        content = b"" if wire.body is None else canonical.encode(wire.body)
        keyed = replace(wire, headers={**wire.headers, **self._key})
        digest = canonical.digest_value({"method": wire.method, "url": wire.url, "body": wire.body})

        async def ask() -> HttpReply:
            return await send(self._context, self._configuration, request, keyed, content)

        return await self._exchanges.answer(request, wire, digest, ask, self._read)

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed."""
        try:
            return self._exchanges.recorded(request, build_request(request))
        except Failure:
            return False

    async def close(self) -> None:
        """Nothing is held: connections and cassette belong to the run."""

    def _read(self, reply: HttpReply) -> Answer:
        response: Mapping[str, Any] = self._configuration.settings.get("response", {})
        return parse_reply(response, reply.status, reply.headers, reply.body)


# --------------------------------------------------------------------------------------------------------- request


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for one attempt, the key excepted.

    Raises:
        Failure: the input cannot stand in the URL.
    """
    configuration, settings = request.configuration, request.configuration.settings
    template = request.texts.get(("body", ""))
    text = request.case.input
    headers: dict[str, str] = dict(settings.get("headers", {}))
    pins = {"headers": canonical.digest_value(dict(headers))} if headers else {}
    if configuration.subject is not None:
        pins["subject"] = configuration.subject
    own = {"accept": "*/*", "accept-encoding": "identity", "x-client-request-id": request.request_id}
    if template is not None:
        own["content-type"] = "application/json"
    try:
        url = fill_url(configuration.endpoint or "", text)
    except ValueError as error:
        raise Failure("not_started", str(error)) from None
    return HttpRequest(
        method=settings.get("method", "POST"),
        url=url,
        headers={**own, **headers},
        body=fill(template, text),
        pins=pins,
    )


# ----------------------------------------------------------------------------------------------------------- reply


def parse_reply(response: Mapping[str, Any], status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply.

    Args:
        response: `pointer`, if there is one, and `tokens` with the pointers `input` and `output`.
        status: of the reply.
        headers: names in lower case.
        body: the whole body.

    Raises:
        Failure: `http_status` for a status other than 2xx, `bad_reply` for a reply that holds no answer, `transport`
            for one that was cut where its length was not declared.
    """
    if not 200 <= status <= 299:
        told = replies.error_text(replies.read_json(body)) or snippet(body)
        raise replies.failure("http_status", f"status {status}: {told}", None, headers, body, status=status)
    value: Any = None
    if response:
        value = replies.read_json(body)
        if value is replies.UNREADABLE:
            raise replies.unreadable(headers, body)
    tokens = response.get("tokens", {})
    usage = Usage(**{name: _tokens(value, pointer) for name, pointer in tokens.items()}, declared=True)
    return Answer(
        text=_text(value, response["pointer"], headers, body) if "pointer" in response else _decoded(body),
        usage=None if usage == Usage(declared=True) else usage,
        request_ids=replies.request_ids(None, headers),
        received=len(body),
    )


def _decoded(body: bytes) -> str:
    return body.decode(errors="surrogateescape")


def _text(value: Any, pointer: str, headers: Mapping[str, str], body: bytes) -> str:
    found = point(value, pointer)
    if isinstance(found, str):
        return found
    if found is _ABSENT or found is None:
        what = "null" if found is None else "nothing"
        raise replies.failure("bad_reply", f"{pointer!r} names {what} in {snippet(body)}", None, headers, body)
    try:
        return canonical.encode(found).decode()
    except (FormatError, ValueError, RecursionError):
        message = f"{pointer!r} names a value that has no exact JSON form, in {snippet(body)}"
        raise replies.failure("bad_reply", message, None, headers, body) from None


def _tokens(value: Any, pointer: str) -> int | None:
    return replies.count({"": point(value, pointer)}, "")


def point(value: Any, pointer: str) -> Any:
    """Return what a JSON Pointer names, or a mark that is no JSON if it names nothing.

    Source: RFC 6901.
    """
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name, _ABSENT)
        elif isinstance(value, list) and name.isascii() and name.isdigit() and name == str(int(name[:18])):
            value = value[int(name)] if int(name) < len(value) else _ABSENT
        else:
            return _ABSENT
    return value
