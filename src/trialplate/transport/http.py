# SPDX-License-Identifier: Apache-2.0
"""One HTTP exchange at a time: the only module that knows which HTTP client is used.

The client is httpx's API over the transport of httpx-aiohttp (DESIGN 6 has the measurements). The transport is called
directly, without `httpx.AsyncClient`, because of what a client would add: a cookie jar that carries one trial's cookies
into the next, redirects, credentials from a netrc file, proxies from the environment. So:

- nothing is sent again behind the caller's back, and no redirect is followed: a 3xx is a status like any other;
- connections are not counted here (the engine bounds the requests in flight), so none waits for a free one;
- `timeout_s` covers everything from connecting to the last byte of the body; a body is read up to `limit` bytes;
- a failure says whether the request had been sent: "refused" and "closed after sending" are different evidence.

It refuses to retry, to judge a status, and to read a body. httpx and aiohttp are imported at the first request.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import sys
import time
from collections.abc import AsyncIterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from trialplate.record.frozen import Json

if TYPE_CHECKING:
    from httpx import URL, AsyncBaseTransport, Request, Response

__all__ = ["HttpClient", "HttpFailure", "HttpFailureKind", "HttpReply", "HttpRequest", "retry_after_s"]

HttpFailureKind = Literal["refused_connection", "closed_connection", "transport", "timeout", "too_long"]
LONGEST_WAIT_S = 10**9
"""What `retry_after_s` returns at most; how much of it is waited is the engine's to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What a provider's `build_request` makes: everything that is sent, the body still as a value."""

    method: str = "POST"
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Names in lower case. Left out of `repr`, since one of them is the key."""
    body: Json = None
    pins: Mapping[str, str] = field(default_factory=dict)
    """What else makes the answer this answer and is not sent, or not kept: a part of a recording's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """A complete reply, whatever its status."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case; of a repeated one the last."""
    body: bytes
    latency_ms: int
    replayed: bool = False


class HttpFailure(Exception):
    """No complete reply: what went wrong, whether the request had left, and how much had arrived."""

    def __init__(self, kind: HttpFailureKind, message: str, *, sent: bool, received: int, latency_ms: int) -> None:
        super().__init__(message)
        self.kind: HttpFailureKind = kind
        self.message = message
        self.sent = sent
        self.received = received
        self.latency_ms = latency_ms


class _Progress:
    """How far the exchange of the running task has come."""

    __slots__ = ("received", "sent", "started", "status")

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.sent = False
        self.status: int | None = None
        self.received = 0

    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self.started) * 1000)

    def fail(self, kind: HttpFailureKind, message: str) -> HttpFailure:
        return HttpFailure(kind, message, sent=self.sent, received=self.received, latency_ms=self.elapsed_ms())


_progress: ContextVar[_Progress] = ContextVar("_progress")


class HttpClient:
    """The connections of one run, shared by every runner; belongs to one event loop."""

    def __init__(self) -> None:
        self._transports: dict[str, AsyncBaseTransport] = {}
        self._urls: dict[str, URL] = {}

    async def send(self, request: HttpRequest, content: bytes, *, timeout_s: float, limit: int) -> HttpReply:
        """Send `content` as the body of `request` and return the whole reply.

        Args:
            request: method, URL and headers; its `body` is not looked at.
            content: the exact bytes of the body.
            timeout_s: seconds for everything, the body of the reply included.
            limit: the longest body that is read, in bytes.

        Raises:
            HttpFailure: there is no complete reply.
        """
        progress = _Progress()
        _progress.set(progress)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._exchange(request, content, progress, limit)
        except TimeoutError:
            stage = "before a connection stood" if not progress.sent else "before the reply was complete"
            raise progress.fail("timeout", f"no answer within {timeout_s:g} s: time was up {stage}") from None

    async def close(self) -> None:
        """Close every connection."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()

    async def _exchange(self, request: HttpRequest, content: bytes, progress: _Progress, limit: int) -> HttpReply:
        _load_httpx()
        import aiohttp
        import httpx

        try:
            wire = self._wire(request, content)
            response = await self._transport(wire.url.scheme).handle_async_request(wire)
            progress.status = response.status_code
            try:
                body = await _read(response, progress, limit)
            finally:
                await response.aclose()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise progress.fail("refused_connection", f"not a URL that can be asked: {error}") from error
        except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
            _translate(error, progress)
        headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers.raw}
        return HttpReply(status=response.status_code, headers=headers, body=body, latency_ms=progress.elapsed_ms())

    def _wire(self, request: HttpRequest, content: bytes) -> Request:
        import httpx

        url = self._urls.get(request.url)
        if url is None:
            url = self._urls[request.url] = httpx.URL(request.url)
        # By `stream`: given `content`, httpx copies all headers to add two that aiohttp adds anyway.
        wire = httpx.Request(request.method, url, headers=dict(request.headers), stream=httpx.ByteStream(content))
        wire.read()
        wire.headers.encoding = "ascii"  # else it is guessed for every header of every request
        return wire

    def _transport(self, scheme: str) -> AsyncBaseTransport:
        """Return the transport of a scheme: certificates are loaded only if one is needed."""
        transport = self._transports.get(scheme)
        if transport is None:
            transport = self._transports[scheme] = _make_transport(scheme)
        return transport


@cache
def _load_httpx() -> None:
    """Import httpx without its command line, which would bring click, rich and pygments: a third of its start."""
    command_line = "httpx._main"
    sys.modules.setdefault(command_line, None)  # type: ignore[arg-type]  # "not installed", which httpx can do without
    try:
        import httpx  # noqa: F401
    finally:
        if sys.modules[command_line] is None:
            del sys.modules[command_line]


def _make_transport(scheme: str) -> AsyncBaseTransport:
    """Make a transport without cookies, proxies or a bound on connections."""
    import aiohttp
    import httpx
    from httpx_aiohttp import AiohttpTransport

    if scheme not in {"http", "https"}:
        raise httpx.UnsupportedProtocol(f"the scheme {scheme!r} is neither http nor https")

    class Connector(aiohttp.TCPConnector):
        """Notes in the running task that a connection stands: what fails afterwards may have been received."""

        async def connect(self, *args: Any, **kwargs: Any) -> Any:
            progress = _progress.get()
            if progress.sent:  # aiohttp would send a GET or PUT again by itself where a kept connection was closed
                raise aiohttp.ServerDisconnectedError
            connection = await super().connect(*args, **kwargs)
            progress.sent = True
            return connection

    # Environment variables name the certificates to trust (SSL_CERT_FILE) and nothing else. A plain transport is
    # only ever asked for http:// URLs, so its unused context loads none.
    context = httpx.create_ssl_context(verify=scheme == "https", trust_env=True)

    def session() -> aiohttp.ClientSession:
        connector = Connector(limit=0, ssl=context)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)

    return AiohttpTransport(verify=context, trust_env=False, client=session)


async def _read(response: Response, progress: _Progress, limit: int) -> bytes:
    chunks = []
    encoded = any(name.lower() == b"content-encoding" for name, _ in response.headers.raw)
    # Without an encoding there is nothing to decode; httpx would look for it anew in every reply.
    plain = response.stream if not encoded and isinstance(response.stream, AsyncIterable) else None
    async for chunk in plain or response.aiter_bytes():
        chunks.append(chunk)
        progress.received += len(chunk)
        if progress.received > limit:
            raise progress.fail("too_long", f"the reply is longer than {limit} bytes; the rest was not read")
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _translate(error: Exception, progress: _Progress) -> NoReturn:
    """Raise the failure that a client's error stands for.

    The adapter's own mapping is not used: it calls a closed connection a connect timeout. What counts is how far the
    exchange had come.
    """
    from aiohttp import ClientConnectorError
    from httpx import HTTPError

    cause = error.__cause__ if isinstance(error, HTTPError) and error.__cause__ is not None else error
    text = str(cause) or type(cause).__name__
    if type(cause) is ClientConnectorError and cause.os_error.errno is not None and cause.os_error.errno > 0:
        text = f"{cause.host}:{cause.port}: {os.strerror(cause.os_error.errno)}"
    if isinstance(cause, ClientConnectorError) or not progress.sent:
        raise progress.fail("refused_connection", f"no connection: {text}") from error
    if progress.status is None:
        raise progress.fail("closed_connection", f"closed before a reply: {text}") from error
    raise progress.fail("transport", f"broke off after {progress.received} bytes of the reply: {text}") from error


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the wait that a reply asks for, in seconds; None if it asks for none that can be read.

    A date has whole seconds, so the difference is rounded up: rounding down would come back early. It is taken to the
    reply's own `Date`, where there is one, so that a clock that is wrong here does not matter.

    Args:
        headers: of the reply, names in lower case.
        now_s: POSIX time at which the reply came.

    Source: RFC 9110 10.2.3.
    """
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        return min(float(text), LONGEST_WAIT_S)
    then = _posix(text)
    if then is None:
        return None
    sent_at = _posix(headers.get("date", ""))
    return float(min(max(0, math.ceil(then - (now_s if sent_at is None else sent_at))), LONGEST_WAIT_S))


def _posix(date: str) -> float | None:
    """Return the POSIX time of an HTTP-date in any of its three forms."""
    from datetime import UTC

    try:
        parsed = parsedate_to_datetime(date)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
