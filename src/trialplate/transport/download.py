# SPDX-License-Identifier: Apache-2.0
"""Getting what stands at an address: one GET, a bounded time and size, exactly status 200.

Redirects are followed, since files are often handed out by another host than the one that names them: at most
`MOST_REDIRECTS`, to http and https addresses only, and never from https to http, where anybody on the way could put
other bytes in their place. No key, cookie or header of the project is sent.

Source: RFC 9110 15.4.
"""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urldefrag, urljoin, urlsplit

from trialplate import __version__
from trialplate.errors import SpecError
from trialplate.transport.http import HttpClient, HttpFailure, HttpReply, HttpRequest

__all__ = ["MOST_REDIRECTS", "TIMEOUT_S", "download"]

TIMEOUT_S = 60.0
"""For everything, with all redirects."""
MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HINT = "check the address, or download the file yourself and name the copy by path:"


def download(url: str, limit: int, timeout_s: float = TIMEOUT_S) -> bytes:
    """Return what stands at an http or https address.

    Args:
        url: without a fragment.
        limit: the most bytes that it may have.
        timeout_s: seconds for everything.

    Raises:
        SpecError: FETCH: it cannot be had, and why.
    """
    return asyncio.run(_download(url, limit, timeout_s))


async def _download(url: str, limit: int, timeout_s: float) -> bytes:
    client, ends = HttpClient(), time.monotonic() + timeout_s
    try:
        for _ in range(MOST_REDIRECTS + 1):
            reply = await _get(client, url, limit, max(0.001, ends - time.monotonic()))
            if reply.status == 200:
                return reply.body
            if reply.status not in _REDIRECTS or "location" not in reply.headers:
                raise SpecError(f"status {reply.status} instead of 200", hint=_HINT, code="FETCH")
            url = _next(url, reply.headers["location"])
    finally:
        await client.close()
    raise SpecError(f"more than {MOST_REDIRECTS} redirects", hint=_HINT, code="FETCH")


async def _get(client: HttpClient, url: str, limit: int, timeout_s: float) -> HttpReply:
    headers = {"accept": "*/*", "accept-encoding": "identity", "user-agent": f"trialplate/{__version__}"}
    request = HttpRequest(method="GET", url=url, headers=headers)
    try:
        return await client.send(request, b"", timeout_s=timeout_s, limit=limit)
    except HttpFailure as failure:
        raise SpecError(failure.message, hint=_HINT, code="FETCH") from None


def _next(url: str, location: str) -> str:
    """Return where a redirect leads."""
    try:
        leads_to = urldefrag(urljoin(url, location)).url
        scheme, host = urlsplit(leads_to).scheme, urlsplit(leads_to).hostname
    except ValueError:
        scheme, host = "", None
    if scheme not in ("http", "https") or not host:
        raise SpecError("a redirect leads to no http or https address", hint=_HINT, code="FETCH")
    if scheme == "http" and urlsplit(url).scheme == "https":
        raise SpecError("a redirect leads from https to http", hint=_HINT, code="FETCH")
    return leads_to
