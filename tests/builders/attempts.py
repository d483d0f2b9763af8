# SPDX-License-Identifier: Apache-2.0
"""Single attempts: asking a runner once, what a failure was, and how a provider's reply is read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trialplate.record.values import Case, Configuration
from trialplate.runners.base import Answer, Failure, Request, RunnerContext, Tool, ToolCall, ToolResult
from trialplate.runners.hosted import make
from trialplate.transport.cassette import Cassette
from trialplate.transport.http import HttpClient

__all__ = ["Ask", "Scripted", "asking_hosted", "failed", "reading"]

Ask = Callable[..., Awaitable[Answer]]
JSON_TYPE = {"content-type": "application/json"}


def asking_hosted(
    asked: Configuration, environ: Mapping[str, str], client: HttpClient, cassette: Cassette | None = None
) -> Ask:
    """Return a function that makes one attempt of a hosted model."""
    runner = make(asked, RunnerContext(project=Path(), environ=environ, cassette=cassette, http=lambda: client))

    async def ask(case: str = "q1", repeat: int = 1, timeout_s: float = 30.0) -> Answer:
        request = Request(
            configuration=asked,
            case=Case(id=case, input=f"Which city is {case}?"),
            repeat=repeat,
            attempt=1,
            timeout_s=timeout_s,
            request_id="trial-0001",
        )
        return await runner.answer(request)

    return ask


async def failed(attempt: Awaitable[Answer]) -> Failure:
    """Return the failure of an attempt."""
    with pytest.raises(Failure) as caught:
        await attempt
    return caught.value


def reading(parse_reply: Callable[..., Answer]) -> tuple[Callable[..., Answer], Callable[..., Failure]]:
    """Return how a provider's reply is read as an answer, and as what must be a failure."""

    def parsed(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return parse_reply(status, {**JSON_TYPE, **(headers or {})}, raw)

    def no_answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Failure:
        with pytest.raises(Failure) as caught:
            parsed(body, status, headers)
        assert caught.value.sent
        return caught.value

    return parsed, no_answer


class Scripted:
    """A tool that says to each call what a vector says to its id."""

    def __init__(self, tool: Tool, said: Mapping[str, Mapping[str, Any]]) -> None:
        self.tool, self._said = tool, said

    async def call(self, call: ToolCall, request: Request, number: int) -> ToolResult:
        """Return the scripted result."""
        said = self._said[call.id]
        return ToolResult(call=call, text=said["text"], error=said.get("error", False))
