# SPDX-License-Identifier: Apache-2.0
"""Whole conversations with tools in each provider's own dialect, over a real connection.

The server plays the reply of a golden vector, then a last answer; both requests must be the vector's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attempts import Scripted
from chat_server import ChatServer, completion

from trialplate.record.entries import Usage
from trialplate.record.values import Case, CaseTool, Configuration
from trialplate.runners.base import Request, RunnerContext, Tool
from trialplate.runners.hosted import make
from trialplate.spec.providers import provider_of
from trialplate.transport.http import HttpClient

VECTORS = Path(__file__).parents[1] / "vectors" / "providers"
KEY = "PLANTED-7f3a-not-a-real-key"
RUNNERS = ("openai", "openrouter", "openai-compatible", "deepseek", "xai", "mistralai", "alibaba", "moonshotai")
PLAYED = [
    (runner, path.stem)
    for runner in RUNNERS
    for path in sorted((VECTORS / runner).glob("*.json"))
    if "then" in json.loads(path.read_text())
]


def step(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a golden reply as a step of the server."""
    body = reply["body"]
    said: dict[str, Any] = {"body": body} if isinstance(body, str) else {"json": body}
    return {"headers": {"Content-Type": reply.get("headers", {}).get("content-type", "application/json")}, **said}


def last_reply(vector: dict[str, Any]) -> dict[str, Any]:
    """Return a last answer of 3 and 1 tokens, in the form of the interface that is asked."""
    if "input" not in vector["request"]["body"]:
        return completion("Done.", model=vector["model_id"], prompt="one two three")
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    counted = {"input_tokens": 3, "output_tokens": 1}
    return {
        "object": "response",
        "status": "completed",
        "model": vector["model_id"],
        "output": [said],
        "usage": counted,
    }


@pytest.mark.parametrize(("runner", "feature"), PLAYED)
async def test_conversation_sends_the_golden_requests_and_adds_up_both_replies(
    client: HttpClient, runner: str, feature: str
) -> None:
    """The key goes in its header; tokens are those of both turns, in the provider's own way of counting."""
    vector = json.loads((VECTORS / runner / f"{feature}.json").read_text())
    last = last_reply(vector)
    said = {item["id"]: item for item in vector["then"]["results"]}
    tools = [Scripted(Tool(**item), said) for item in vector["tools"]]
    first = step(vector["reply"])
    async with ChatServer([first, {"json": last}]) as server:
        asked = Configuration(
            name="m",
            model="m",
            profile="default",
            runner=runner,
            model_id=vector["model_id"],
            endpoint=server.url,
            settings=vector["settings"],
            secret=provider_of(runner).key or "SOME_KEY",
            served=(vector["answer"].get("served", vector["model_id"]),),
        )
        context = RunnerContext(project=Path(), environ={str(asked.secret): KEY}, http=lambda: client)
        case = Case(id="c1", input=vector["input"], tools=tuple(CaseTool(name=item.tool.name) for item in tools))
        request = Request(configuration=asked, case=case, repeat=1, attempt=1, timeout_s=30, request_id="trial-1")
        answer = await make(asked, context).answer(request, tools)

    assert [seen.body for seen in server.requests] == [vector["request"]["body"], vector["then"]["body"]]
    assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {KEY}"}
    path = "/v1/responses" if "input" in vector["request"]["body"] else "/v1/chat/completions"
    assert {seen.path for seen in server.requests} == {path}
    assert answer.text == "Done."
    counted = vector["answer"].get("usage")
    if counted is not None:
        one, whole = Usage(**counted), answer.usage
        assert whole is not None
        assert (whole.input, whole.output) == ((one.input or 0) + 3, (one.output or 0) + 1)
