# SPDX-License-Identifier: Apache-2.0
"""Whole conversations with a server that speaks as Claude and Gemini do: both turns as they go over the wire."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attempts import Scripted
from chat_server import ChatServer

from trialplate.record import canonical
from trialplate.record.values import Case, Configuration
from trialplate.runners.base import Answer, Failure, Request, RunnerContext, Tool
from trialplate.runners.hosted import make
from trialplate.spec.providers import provider_of
from trialplate.transport.cassette import Cassette
from trialplate.transport.http import HttpClient

VECTORS = Path(__file__).parents[1] / "vectors" / "providers"
KEY = "PLANTED-7f3a-not-a-real-key"
FOUND = [path for runner in ("anthropic", "google") for path in sorted((VECTORS / runner).glob("*.json"))]
TURNS = [path for path in FOUND if "then" in json.loads(path.read_text())]
LAST: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "message", "model": "claude-opus-5-5", "stop_reason": "end_turn"},
    "google": {"modelVersion": "gemini-3.8-flash"},
}
LAST["anthropic"] |= {"content": [{"type": "text", "text": "Done."}], "usage": {"input_tokens": 1, "output_tokens": 2}}
LAST["google"] |= {"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}
LAST["google"] |= {"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}}


def first_step(vector: dict[str, Any]) -> dict[str, Any]:
    """Return the vector's reply as a step of the server."""
    body, headers = vector["reply"]["body"], dict(vector["reply"].get("headers", {}))
    return {"body": body, "headers": headers} if isinstance(body, str) else {"json": body, "headers": headers}


async def asked(
    runner: str, vector: dict[str, Any], url: str, client: HttpClient, cassette: Cassette | None = None
) -> Answer:
    """Make one attempt at a vector's question, with its tools."""
    provider = provider_of(runner)
    configuration = Configuration(
        name="m",
        model="m",
        profile="default",
        runner=runner,
        model_id=vector["model_id"],
        endpoint=url,
        settings={**provider.defaults, **vector.get("settings", {})},
        secret=provider.key,
    )
    said = {item["id"]: item for item in vector.get("then", {}).get("results", [])}
    tools = [Scripted(Tool(**item), said) for item in vector.get("tools", [])]
    environ = {provider.key or "": KEY}
    context = RunnerContext(project=Path(), environ=environ, cassette=cassette, http=lambda: client)
    request = Request(
        configuration=configuration,
        case=Case(id="c1", input=vector["input"]),
        repeat=1,
        attempt=1,
        timeout_s=30,
        request_id="trial-1",
    )
    return await make(configuration, context).answer(request, tools)


@pytest.mark.parametrize("path", TURNS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_conversation_goes_over_the_wire_and_is_replayed(path: Path, client: HttpClient, tmp_path: Path) -> None:
    """Both bodies byte for byte, the key in its own header, the usage of both turns; and all of it again from a file."""
    vector, runner = json.loads(path.read_text()), path.parent.name
    async with ChatServer([first_step(vector), {"json": LAST[runner]}]) as server:
        url = server.url.removesuffix("/v1")
        with closing(Cassette.live(tmp_path / "m.jsonl")) as cassette:
            live = await asked(runner, vector, url, client, cassette)
        first, second = server.requests
        with closing(Cassette.replay(tmp_path / "m.jsonl")) as cassette:
            again = await asked(runner, vector, url, client, cassette)
        assert len(server.requests) == 2
    assert first.raw == canonical.encode(vector["request"]["body"])
    assert second.raw == canonical.encode(vector["then"]["body"])
    assert first.headers["x-api-key" if runner == "anthropic" else "x-goog-api-key"] == KEY
    assert (live.text, live.finish) == ("Done.", LAST[runner].get("stop_reason", "STOP"))
    assert live.usage is not None
    assert live.usage.output == vector["answer"]["usage"]["output"] + 2
    assert (again.text, again.usage, again.transcript) == (live.text, live.usage, live.transcript)
    assert [call.replayed for call in again.calls] == [True, True]
    assert KEY not in (tmp_path / "m.jsonl").read_text()


async def test_model_stays_one_step_of_the_address_on_the_wire(client: HttpClient) -> None:
    """No client on the way makes a path of an id that looks like one."""
    async with ChatServer([{"json": LAST["google"]}]) as server:
        vector = {"model_id": "tuned/../../x?y", "input": "Hello"}
        await asked("google", vector, server.url.removesuffix("/v1"), client)
    (seen,) = server.requests
    assert seen.path == "/v1beta/models/tuned%2F..%2F..%2Fx%3Fy:generateContent"


@pytest.mark.parametrize(("header", "waits"), [({}, 17.5), ({"retry-after": "3"}, 3.0)])
async def test_wait_of_an_error_is_the_headers_or_else_its_own(
    header: dict[str, str], waits: float, client: HttpClient
) -> None:
    """Gemini says it in the body; a gateway before it may say it in the header."""
    vector = json.loads((VECTORS / "google" / "rate-limit.json").read_text())
    async with ChatServer([{**first_step(vector), "status": 429, "headers": header}]) as server:
        with pytest.raises(Failure) as caught:
            await asked("google", vector, server.url.removesuffix("/v1"), client)
    assert (caught.value.status, caught.value.retry_after_s) == (429, waits)
