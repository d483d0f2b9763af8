# SPDX-License-Identifier: Apache-2.0
"""A server that answers as real model servers do, and misbehaves as real ones do.

It speaks the wire formats of POST /v1/chat/completions and POST /v1/embeddings (OpenAI API reference) and of POST /v1/messages (Claude API
reference: version header, required and removed parameters, error objects); any other path answers as a service of
somebody's own, with `{"answer": ...}`. What it does next is said by steps, the
form of the case files in tests/vectors/cases/http: `status`, `headers`, `json` or `body`, `delay_ms`, `sse`, and
`close` ("rst": reset before a reply; "eof": end after what was sent). Besides those: `hang` (never answers), `drip`
(the body in pieces of so many bytes), `no_length` (only the end of the connection ends the body). The last step
repeats; "@httpdate+3" in a header means now + 3 s. Without steps every request is answered by `answer(body)` (a text, or
of a chat completion the message that calls tools), after `delay_s`, or by the step that `instead(body)` returns, or with 429 if it is one too many for `requests_per_second`. `gather` holds all replies back until so many
are open.

    async with ChatServer(steps) as server:
        server.url, server.requests

As a program, for measurements: `python chat_server.py [--port 0] [--delay-ms 50]` prints its URL and serves.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from types import TracebackType
from typing import Any, Self

from aiohttp import web

__all__ = ["ChatServer", "Seen", "completion", "message", "message_error"]

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes
    body: Any
    """None, if there was none."""
    method: str = "POST"
    path: str = ""
    """With its query, as it stood in the request line."""


def completion(text: str, *, model: str = "m-small", number: int = 1, prompt: str = "") -> dict[str, Any]:
    """Return a complete chat completion object."""
    into, out = len(prompt.split()), len(text.split())
    return {
        "id": f"chatcmpl-{number:06d}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": into,
            "completion_tokens": out,
            "total_tokens": into + out,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_test",
    }


def message(text: str, *, model: str = "m-small", number: int = 1, prompt: str = "") -> dict[str, Any]:
    """Return a complete Message object."""
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text, "citations": None}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "usage": {
            "input_tokens": len(prompt.split()),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": len(text.split()),
            "service_tier": "standard",
        },
    }


def message_error(kind: str, text: str, number: int = 1) -> dict[str, Any]:
    """Return the error object of the Messages API."""
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": f"req_{number:06d}"}


class ChatServer:
    """Listens on 127.0.0.1 until its context ends."""

    def __init__(
        self,
        steps: Sequence[Step] = (),
        *,
        answer: Callable[[Any], Any] = lambda body: "Paris",
        delay_s: float = 0.0,
        gather: int = 0,
        requests_per_second: int | None = None,
        instead: Callable[[Any], Step | None] = lambda body: None,
        embed: Callable[[str], Sequence[float]] = lambda text: (1.0, 0.0),
    ) -> None:
        self.steps = list(steps)
        self.requests: list[Seen] = []
        self.most_open = 0
        """The largest number of requests that were open at once."""
        self._answer, self._instead, self._embed = answer, instead, embed
        self._delay_s = delay_s
        self._gather = gather
        self._rate = requests_per_second
        self._recent: list[float] = []
        self._open = 0
        self._gathered = asyncio.Event()
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._gathered.set()
        assert self._runner is not None
        await self._runner.cleanup()

    async def start(self, port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", r"/{path:[\s\S]*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Seen(headers, raw, json.loads(raw) if raw else None, request.method, request.raw_path))
        number = len(self.requests)
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        try:
            if self._gather:
                if self._open >= self._gather:
                    self._gathered.set()
                await self._gathered.wait()
            if self._limited():
                return _json({"error": {"message": "slow down", "type": "requests"}}, 429, {"Retry-After": "1"})
            step = self.step(number)
            if step is not None:
                return await self._play(request, step)
            if self._delay_s:
                await asyncio.sleep(self._delay_s)
            if (step := self._instead(self.requests[number - 1].body)) is not None:
                return await self._play(request, step)
            return self._ordinary(number)
        finally:
            self._open -= 1

    def step(self, number: int) -> Step | None:
        """Return what is done at the n-th request; None: it is answered."""
        return self.steps[min(number, len(self.steps)) - 1] if self.steps else None

    def _ordinary(self, number: int) -> web.Response:
        seen = self.requests[number - 1]
        body = seen.body
        if seen.path == "/v1/messages":
            return self._message(seen, number)
        if seen.path == "/v1/embeddings":
            return self._embeddings(body, number)
        if seen.path != "/v1/chat/completions":
            return _json(
                {"answer": self._answer(body), "usage": {"in": 3, "out": 1}}, 200, {"x-request-id": f"s-{number}"}
            )
        prompt = "\n".join(str(message.get("content")) for message in body["messages"])
        said = self._answer(body)
        made = completion(said if isinstance(said, str) else "", model=body["model"], number=number, prompt=prompt)
        if not isinstance(said, str):
            made["choices"][0] |= {
                "message": {"role": "assistant", "content": None, **said},
                "finish_reason": "tool_calls",
            }
        return _json(made, 200, {"x-request-id": f"req-{number}"})

    def _embeddings(self, body: Any, number: int) -> web.Response:
        """Answer a request for embeddings, the vectors in reverse order, or refuse it as the real server does."""
        if not body["input"] or not all(body["input"]):
            error = {"message": "'$.input' is invalid", "type": "invalid_request_error", "param": None, "code": None}
            return _json({"error": error}, 400, {})
        data = [
            {"object": "embedding", "index": place, "embedding": list(self._embed(text))}
            for place, text in enumerate(body["input"])
        ]
        tokens = sum(len(text.split()) for text in body["input"])
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        made = {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}
        return _json(made, 200, {"x-request-id": f"req-{number}"})

    def _message(self, seen: Seen, number: int) -> web.Response:
        """Answer a Messages request, or refuse it as the real server does."""
        headers = {"request-id": f"req_{number:06d}"}
        version = seen.headers.get("anthropic-version")
        wrong = None if version in ("2023-06-01", "2026-10-21") else "anthropic-version: header is required"
        if version == "2026-10-21":
            removed = [name for name in ("temperature", "top_p", "top_k") if name in seen.body]
            wrong = f"{removed[0]}: Extra inputs are not permitted" if removed else wrong
        if not isinstance(seen.body.get("max_tokens"), int):
            wrong = "max_tokens: Field required"
        if wrong:
            return _json(message_error("invalid_request_error", wrong, number), 400, headers)
        prompt = "\n".join(str(item.get("content")) for item in seen.body["messages"])
        text = self._answer(seen.body)
        return _json(message(text, model=seen.body["model"], number=number, prompt=prompt), 200, headers)

    def _limited(self) -> bool:
        """Whether this request is one too many within a second."""
        if self._rate is None:
            return False
        now = time.monotonic()
        self._recent = [then for then in self._recent if now - then < 1.0]
        if len(self._recent) >= self._rate:
            return True
        self._recent.append(now)
        return False

    async def _play(self, request: web.Request, step: Step) -> web.StreamResponse:
        """Do what a step says."""
        if step.get("delay_ms"):
            await asyncio.sleep(step["delay_ms"] / 1000)
        if step.get("hang"):
            await self._stopping.wait()
        if step.get("close") == "rst":
            _reset(request)
            return web.Response()
        headers = {name: _dated(value) for name, value in step.get("headers", {}).items()}
        status = step.get("status", 200)
        if "sse" in step:
            events = [event if isinstance(event, str) else json.dumps(event) for event in step["sse"]]
            headers.setdefault("Content-Type", "text/event-stream")
            body = "".join(f"data: {event}\n\n" for event in events).encode()
        elif "json" in step:
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(step["json"]).encode()
        else:
            text = step.get("body", "")
            body = text if isinstance(text, bytes) else text.encode()
        return await _send(request, status, headers, body, step)


async def _send(
    request: web.Request, status: int, headers: dict[str, str], body: bytes, step: Step
) -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers=headers)
    if step.get("no_length"):
        assert request.transport is not None
        lines = [f"HTTP/1.1 {status} OK", "Connection: close", *(f"{name}: {value}" for name, value in headers.items())]
        request.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        request.transport.close()
        return response
    if "Content-Length" not in headers:
        response.content_length = len(body)
    await response.prepare(request)
    size = step.get("drip", len(body) or 1)
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
    if step.get("close") == "eof":
        assert request.transport is not None
        request.transport.close()
        return response
    await response.write_eof()
    return response


def _json(value: Any, status: int, headers: Mapping[str, str]) -> web.Response:
    return web.Response(text=json.dumps(value), status=status, headers=headers, content_type="application/json")


def _reset(request: web.Request) -> None:
    """Close the connection so that the other side sees a reset."""
    assert request.transport is not None
    plain = request.transport.get_extra_info("socket")
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()


def _dated(value: str) -> str:
    found = re.fullmatch(r"@httpdate\+([0-9]+)", value)
    return formatdate(time.time() + int(found[1]), usegmt=True) if found else value


async def _serve(options: argparse.Namespace) -> None:
    server = ChatServer(delay_s=options.delay_ms / 1000)
    await server.start(options.port)
    print(server.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Serve chat completions on 127.0.0.1.")
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--delay-ms", type=int, default=0)
    asyncio.run(_serve(arguments.parse_args()))
