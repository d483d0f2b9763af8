# SPDX-License-Identifier: Apache-2.0
"""One exchange with a Messages server that misbehaves: the HTTP cases again, in this provider's words."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from attempts import Ask, asking_hosted, failed
from chat_server import ChatServer, message, message_error

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Configuration, Limits
from trialplate.transport.cassette import Cassette
from trialplate.transport.http import HttpClient

CASES = Path(__file__).parents[1] / "vectors" / "cases" / "http"
KEY = "PLANTED-7f3a-not-a-real-key"
KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
KINDS |= {422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def steps(name: str, index: int = 0) -> list[dict[str, Any]]:
    """Return the steps of a case file, each reply said as the Messages API says it."""
    vector = json.loads((CASES / f"http_{name}.json").read_text())
    found = (vector[index] if isinstance(vector, list) else vector)["steps"]
    return [{**step, "json": _said(step)} if "json" in step else step for step in found]


def _said(step: dict[str, Any]) -> dict[str, Any]:
    """Translate a chat completion, or an error of one."""
    value = step["json"]
    error = value.get("error")
    if error is not None:
        return message_error(KINDS[error.get("code") or step["status"]], error["message"])
    choice = value["choices"][0]
    content, usage = choice["message"]["content"], value.get("usage")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said = {**message("", model=value["model"]), "content": blocks, "stop_reason": STOPS[choice["finish_reason"]]}
    said.pop("usage")
    if usage is not None:
        said["usage"] = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}
    return said


def asking(url: str, client: HttpClient, cassette: Cassette | None = None, **changes: Any) -> Ask:
    """Return a function that makes one attempt of a runner for this server."""
    fields: dict[str, Any] = {"name": "m", "model": "m", "profile": "default", "runner": "anthropic"}
    fields |= {"model_id": "m-small", "endpoint": url, "settings": {"max_tokens": 64}}
    asked = Configuration(**{**fields, **changes})
    return asking_hosted(asked, {"CLAUDE_KEY": KEY}, client, cassette)


async def test_ordinary_exchange_is_sent_as_the_api_reference_says(client: HttpClient) -> None:
    """Key and version in their headers; the bytes that were sent are canonical, and their digest is in the call."""
    async with ChatServer() as server:
        answer = await asking(server.url, client, secret="CLAUDE_KEY")()
    (seen,) = server.requests
    assert seen.path == "/v1/messages"
    assert seen.body == {
        "model": "m-small",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "Which city is q1?"}],
    }
    assert seen.raw == canonical.encode(seen.body)
    assert (seen.headers["x-api-key"], seen.headers["anthropic-version"]) == (KEY, "2026-10-21")
    assert "authorization" not in seen.headers
    (call,) = answer.calls
    assert (call.digest, call.replayed) == (canonical.digest(seen.raw), False)
    assert (answer.text, answer.served, answer.finish) == ("Paris", "m-small", "end_turn")
    assert answer.request_ids == ("req_000001", "msg_000001")
    assert answer.usage == Usage(input=4, output=1, cache_read=0, cache_write=0)


async def test_sampling_parameter_is_taken_by_the_version_that_has_it(client: HttpClient) -> None:
    """The server answers 400 to a temperature under the current version."""
    async with ChatServer() as server:
        answer = await asking(server.url, client, settings={"max_tokens": 8, "temperature": 0})()
    assert answer.text == "Paris"
    assert server.requests[0].body["temperature"] == 0


async def test_rate_limit_with_a_date_asks_for_the_whole_seconds(client: HttpClient) -> None:
    """Case H01."""
    async with ChatServer(steps("retry_date")) as server:
        ask = asking(server.url, client)
        failure = await failed(ask())
        assert (failure.status, failure.retry_after_s) == (429, 3.0)
        assert (await ask()).text == "Paris"


async def test_error_inside_a_success_is_its_status_then_an_answer(client: HttpClient) -> None:
    """Case H03."""
    async with ChatServer(steps("200_error")) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).status == 429
        assert (await ask()).text == "Paris"


async def test_overload_then_reset_then_answer_are_told_apart(client: HttpClient) -> None:
    """Case H05."""
    async with ChatServer(steps("529")) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).status == 529
        reset = await failed(ask())
        assert (reset.kind, reset.sent, reset.received) == ("closed_connection", True, 0)
        assert (await ask()).text == "Paris"


async def test_page_of_a_gateway_is_a_status_or_a_bad_reply(client: HttpClient) -> None:
    """Case H06."""
    async with ChatServer(steps("html")) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).status == 502
        assert (await ask()).text == "Paris"
    async with ChatServer(steps("html", 1)) as server:
        failure = await failed(asking(server.url, client)())
    assert (failure.kind, "text/html" in failure.message) == ("bad_reply", True)


async def test_truncated_answer_keeps_finish_and_usage(client: HttpClient) -> None:
    """Case H07."""
    async with ChatServer(steps("length_empty")) as server:
        answer = await asking(server.url, client)()
    assert (answer.text, answer.finish, answer.usage and answer.usage.output) == ("", "length", 200)


async def test_content_in_parts_is_one_text(client: HttpClient) -> None:
    """Case H09."""
    async with ChatServer(steps("parts")) as server:
        answer = await asking(server.url, client)()
    assert (answer.text, answer.transcript) == ("Paris", {"ignored_parts": ["image_url"]})


async def test_stream_that_broke_off_is_no_reply(client: HttpClient) -> None:
    """Case H10: whether it was asked for or not, half of a stream is never taken for an answer."""
    events = [{"type": "message_start"}, {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Pa"}}]
    async with ChatServer([{"sse": events}]) as server:
        failure = await failed(asking(server.url, client)())
    assert (failure.kind, "the stream broke off" in failure.message) == ("transport", True)


async def test_missing_usage_is_unknown(client: HttpClient) -> None:
    """Case H11."""
    async with ChatServer(steps("no_usage")) as server:
        answer = await asking(server.url, client)()
    assert (answer.text, answer.usage) == ("Paris", None)


async def test_body_that_breaks_off_is_never_an_answer(client: HttpClient) -> None:
    """Case H13."""
    async with ChatServer(steps("cut_body")) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).kind == "transport"
        assert (await ask()).text == "Paris"


async def test_two_hundred_requests_at_once_all_succeed(client: HttpClient) -> None:
    """Case H15."""
    async with ChatServer([{**steps("slow_ok")[0], "delay_ms": 0}], gather=200) as server:
        ask = asking(server.url, client)
        answers = await asyncio.gather(*(ask(f"q{n}") for n in range(200)))
    assert [answer.text for answer in answers] == ["Paris"] * 200
    assert server.most_open == 200


async def test_answer_of_another_model_is_reported(client: HttpClient) -> None:
    """Case H16."""
    async with ChatServer(steps("other_model")) as server:
        assert (await asking(server.url, client)()).served == "m-large"


@pytest.mark.parametrize("index", range(6))
async def test_refused_request_is_reported_once(client: HttpClient, index: int) -> None:
    """Case H17: the runner never asks again by itself."""
    wanted = steps("400_forever", index)
    async with ChatServer(wanted) as server:
        failure = await failed(asking(server.url, client)())
    assert (failure.kind, failure.status) == ("http_status", wanted[0]["status"])
    assert len(server.requests) == 1


async def test_reply_longer_than_the_limit_is_cut_off(client: HttpClient) -> None:
    """Limits are those of every runner."""
    async with ChatServer([{"json": message("x" * 100_000), "drip": 4096}]) as server:
        failure = await failed(asking(server.url, client, limits=Limits(answer_bytes=20_000))())
    assert failure.kind == "too_long"


async def test_key_that_the_server_echoes_is_in_no_answer_error_or_cassette(client: HttpClient, tmp_path: Path) -> None:
    """Case Q07: plain or as an id; the cassette keeps the version header and no other of ours."""
    echo = {"json": message(f"Your key is {KEY}."), "headers": {"request-id": KEY, "anthropic-organization-id": KEY}}
    refusal = {"status": 401, "json": message_error("authentication_error", f"invalid x-api-key: {KEY}")}
    path = tmp_path / "m.jsonl"
    cassette = Cassette.live(path)
    async with ChatServer([echo, refusal]) as server:
        ask = asking(server.url, client, cassette, secret="CLAUDE_KEY")
        answer = await ask()
        failure = await failed(ask("q2"))
    cassette.close()
    assert answer.text == "Your key is [secret]."
    assert KEY not in repr(answer) + repr(failure) + failure.message + path.read_text()
    line = json.loads(path.read_text())
    assert line["request"]["headers"] == {"anthropic-version": "2026-10-21", "content-type": "application/json"}


async def test_recorded_answers_are_replayed_without_a_call_or_a_key(client: HttpClient, tmp_path: Path) -> None:
    """Cases Q03, Q05, Q06: by repeat, truncated and refused ones as they were; errors are not there."""
    script = [
        {"json": message("a")},
        {"status": 500, "json": message_error("api_error", "down")},
        {"json": {**message("Par"), "stop_reason": "max_tokens"}},
        {"json": {**message(""), "content": [], "stop_reason": "refusal"}},
    ]
    path = tmp_path / "m.jsonl"
    cassette = Cassette.live(path)
    async with ChatServer(script) as server:
        ask = asking(server.url, client, cassette, secret="CLAUDE_KEY")
        first = await ask()
        await failed(ask(repeat=2))
        cut, refused = await ask(repeat=3), await ask(repeat=4)
        cassette.close()
        tape = Cassette.replay(path)
        again = asking(server.url, client, tape, secret="NOT_SET")
        replayed = [await again(repeat=n) for n in (1, 3, 4)]
        miss = await failed(again(repeat=2))
        tape.close()
        assert len(server.requests) == 4
    for was, now in zip((first, cut, refused), replayed, strict=True):
        kept = (was.text, was.finish, was.refusal, was.usage, was.latency_ms)
        assert (now.text, now.finish, now.refusal, now.usage, now.latency_ms) == kept
        assert [call.replayed for call in now.calls] == [True]
    assert (cut.finish, refused.refusal) == ("length", True)
    assert (miss.kind, miss.calls) == ("replay_miss", ())
