# SPDX-License-Identifier: Apache-2.0
"""One exchange with a server that misbehaves as real ones do: what the runner makes of it.

Whether an attempt is made again is the engine's to say; here "again" is simply the next call.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from attempts import Ask, asking_hosted, failed
from chat_server import ChatServer, completion

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, Limits
from trialplate.runners.base import Request, RunnerContext
from trialplate.runners.hosted import make
from trialplate.transport.cassette import Cassette
from trialplate.transport.http import HttpClient

CASES = Path(__file__).parents[1] / "vectors" / "cases" / "http"
KEY = "PLANTED-7f3a-not-a-real-key"


def steps(name: str, index: int = 0) -> list[dict[str, Any]]:
    """Return the steps of a case file."""
    vector = json.loads((CASES / f"http_{name}.json").read_text())
    found: list[dict[str, Any]] = (vector[index] if isinstance(vector, list) else vector)["steps"]
    return found


def asking(url: str, client: HttpClient, cassette: Cassette | None = None, **changes: Any) -> Ask:
    """Return a function that makes one attempt of a runner for this server."""
    fields: dict[str, Any] = {"name": "m", "model": "m", "profile": "default", "runner": "openai-compatible"}
    asked = Configuration(**{**fields, "model_id": "m-small", "endpoint": url, **changes})
    return asking_hosted(asked, {"CHAT_KEY": KEY}, client, cassette)


async def test_ordinary_exchange_is_sent_as_the_api_reference_says(client: HttpClient) -> None:
    """The bytes that were sent are canonical, and their digest is in the call."""
    async with ChatServer() as server:
        answer = await asking(server.url, client, settings={"temperature": 1.0}, secret="CHAT_KEY")()
    (seen,) = server.requests
    assert seen.body == {
        "model": "m-small",
        "messages": [{"role": "user", "content": "Which city is q1?"}],
        "temperature": 1,
    }
    assert seen.raw == canonical.encode(seen.body)
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["x-client-request-id"] == "trial-0001"
    assert "cookie" not in seen.headers
    (call,) = answer.calls
    assert (call.digest, call.replayed) == (canonical.digest(seen.raw), False)
    assert answer.text == "Paris"
    assert answer.request_ids == ("req-1", "chatcmpl-000001")
    assert answer.usage == Usage(input=4, output=1, cache_read=0, reasoning=0)


async def test_rate_limit_with_a_date_asks_for_the_whole_seconds(client: HttpClient) -> None:
    """Case H01: 429 with a date three seconds on, then an answer."""
    async with ChatServer(steps("retry_date")) as server:
        ask = asking(server.url, client)
        failure = await failed(ask())
        assert (failure.kind, failure.status, failure.sent) == ("http_status", 429, True)
        assert failure.retry_after_s == 3.0
        assert (await ask()).text == "Paris"


async def test_error_inside_a_success_is_its_status_then_an_answer(client: HttpClient) -> None:
    """Case H03."""
    async with ChatServer(steps("200_error")) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).status == 429
        assert (await ask()).text == "Paris"


async def test_overload_then_reset_then_answer_are_told_apart(client: HttpClient) -> None:
    """Case H05: a status 529, a reset before any byte on a reused connection, an answer."""
    async with ChatServer(steps("529")) as server:
        ask = asking(server.url, client)
        overloaded = await failed(ask())
        assert (overloaded.kind, overloaded.status) == ("http_status", 529)
        reset = await failed(ask())
        assert (reset.kind, reset.sent, reset.received) == ("closed_connection", True, 0)
        assert (await ask()).text == "Paris"
    assert len(server.requests) == 3


async def test_page_of_a_gateway_is_a_status_or_a_bad_reply(client: HttpClient) -> None:
    """Case H06: with 502 it may be tried again, with 200 it is quoted as what it is."""
    async with ChatServer(steps("html")) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).status == 502
        assert (await ask()).text == "Paris"
    async with ChatServer(steps("html", 1)) as server:
        failure = await failed(asking(server.url, client)())
    assert failure.kind == "bad_reply"
    assert "text/html" in failure.message
    assert failure.received > 0


async def test_truncated_answer_keeps_finish_and_usage(client: HttpClient) -> None:
    """Case H07."""
    async with ChatServer(steps("length_empty")) as server:
        answer = await asking(server.url, client)()
    assert (answer.text, answer.finish, answer.usage and answer.usage.output) == ("", "length", 200)


async def test_content_in_parts_is_one_text(client: HttpClient) -> None:
    """Case H09."""
    async with ChatServer(steps("parts")) as server:
        assert (await asking(server.url, client)()).text == "Paris"


async def test_stream_that_was_not_asked_for_is_the_same_text(client: HttpClient) -> None:
    """Case H10: text and parts in deltas; half of a stream is never taken for an answer."""
    (step,) = steps("stream_parts")
    half = {"sse": step["sse"][:-2]}
    async with ChatServer([half, step]) as server:
        ask = asking(server.url, client)
        assert (await failed(ask())).kind == "transport"
        answer = await ask()
    assert (answer.text, answer.finish) == ("Paris", "stop")


async def test_missing_usage_is_unknown(client: HttpClient) -> None:
    """Case H11."""
    async with ChatServer(steps("no_usage")) as server:
        answer = await asking(server.url, client)()
    assert (answer.text, answer.usage) == ("Paris", None)


async def test_body_that_breaks_off_is_never_an_answer(client: HttpClient) -> None:
    """Case H13: 200 with a length of 400 and a tenth of it; the next call is not harmed."""
    async with ChatServer(steps("cut_body")) as server:
        ask = asking(server.url, client)
        failure = await failed(ask())
        assert (failure.kind, failure.sent) == ("transport", True)
        assert failure.received == len(steps("cut_body")[0]["body"])
        assert (await ask()).text == "Paris"


async def test_body_without_a_length_that_breaks_off_is_never_an_answer(client: HttpClient) -> None:
    """The same where only the JSON shows it."""
    async with ChatServer([{"body": '{"choices":[{"message":{"content":"Pa', "no_length": True}]) as server:
        assert (await failed(asking(server.url, client)())).kind == "transport"


async def test_two_hundred_requests_at_once_all_succeed(client: HttpClient) -> None:
    """Case H15: none waits for a connection; the server answers only when all 200 are open."""
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
    """Case H17: the runner never asks again by itself, for a 400 as little as for a 500."""
    wanted = steps("400_forever", index)
    async with ChatServer(wanted) as server:
        failure = await failed(asking(server.url, client)())
    assert (failure.kind, failure.status) == ("http_status", wanted[0]["status"])
    assert len(server.requests) == 1


async def test_redirect_is_a_status_and_not_followed(client: HttpClient) -> None:
    """Else the key and the question would go to whoever the server names."""
    async with ChatServer() as elsewhere:
        step = {"status": 307, "headers": {"Location": f"{elsewhere.url}/chat/completions"}, "json": {}}
        async with ChatServer([step]) as server:
            assert (await failed(asking(server.url, client)())).status == 307
    assert elsewhere.requests == []


async def test_cookies_of_one_trial_do_not_reach_the_next(client: HttpClient) -> None:
    """Trials are independent; a session cookie would tie them together."""
    step = {"headers": {"Set-Cookie": "session=1"}, "json": completion("Paris")}
    async with ChatServer([step]) as server:
        ask = asking(server.url, client)
        await ask()
        await ask()
    assert all("cookie" not in seen.headers for seen in server.requests)


async def test_proxy_of_the_environment_is_not_used(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run goes where its plan says."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with ChatServer() as server:
        assert (await asking(server.url, client)()).text == "Paris"


async def test_nobody_listening_is_a_refused_connection(client: HttpClient) -> None:
    """Nothing was sent, so it can be nobody's wrong answer."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        failure = await failed(asking(f"http://127.0.0.1:{taken.getsockname()[1]}/v1", client)())
    assert (failure.kind, failure.sent, failure.calls) == ("refused_connection", False, ())


async def test_unknown_host_is_a_refused_connection(client: HttpClient) -> None:
    """By a name that cannot be resolved."""
    failure = await failed(asking("http://no-such-host.invalid/v1", client)())
    assert (failure.kind, failure.sent) == ("refused_connection", False)


async def test_plain_server_behind_an_https_url_is_a_refused_connection(client: HttpClient) -> None:
    """TLS fails before anything is sent, and so before the key is."""
    async with ChatServer() as server:
        failure = await failed(asking(server.url.replace("http:", "https:"), client)())
    assert (failure.kind, failure.sent) == ("refused_connection", False)
    assert server.requests == []


async def test_silence_ends_with_the_attempts_time(client: HttpClient) -> None:
    """A server that never answers, and one that stops in the middle of its body."""
    async with ChatServer([{"hang": True}]) as server:
        failure = await failed(asking(server.url, client)(timeout_s=0.2))
    assert (failure.kind, failure.sent) == ("timeout", True)
    assert failure.latency_ms >= 200


async def test_connection_that_never_stands_ends_unsent(client: HttpClient) -> None:
    """A listener that accepts nobody: time is up before anything was sent."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        name = full.getsockname()
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(name)
            fillers.append(filler)
        failure = await failed(asking(f"http://127.0.0.1:{name[1]}/v1", client)(timeout_s=0.3))
        for filler in fillers:
            filler.close()
    assert failure.kind == "timeout"
    assert not failure.sent


async def test_reply_longer_than_the_limit_is_cut_off(client: HttpClient) -> None:
    """Memory is bounded, also for a small body that unpacks to a large one."""
    long = json.dumps(completion("x" * 100_000)).encode()
    packed = {"body": gzip.compress(long), "headers": {"Content-Encoding": "gzip"}}
    async with ChatServer([{"body": long, "drip": 4096}, packed, {"json": completion("Paris")}]) as server:
        ask = asking(server.url, client, limits=Limits(answer_bytes=20_000))
        assert (await failed(ask())).kind == "too_long"
        assert (await failed(ask())).kind == "too_long"
        assert (await ask()).text == "Paris"


async def test_compressed_reply_is_read(client: HttpClient) -> None:
    """Some gateways compress whatever was asked for."""
    body = gzip.compress(json.dumps(completion("Paris")).encode())
    async with ChatServer([{"body": body, "headers": {"Content-Encoding": "gzip"}}]) as server:
        assert (await asking(server.url, client)()).text == "Paris"


async def test_reply_that_is_no_http_is_a_broken_transport(client: HttpClient) -> None:
    """Never an exception of the client's own."""

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ready\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    failure = await failed(asking(f"http://127.0.0.1:{port}/v1", client)())
    server.close()
    assert failure.kind in {"transport", "closed_connection"}
    assert failure.sent


async def test_key_that_the_server_echoes_is_in_no_answer_and_no_error(client: HttpClient) -> None:
    """Case Z04: in texts, error messages and ids."""
    echo = {"json": completion(f"Your key is {KEY}."), "headers": {"x-request-id": KEY}}
    refusal = {"status": 401, "json": {"error": {"message": f"Incorrect API key provided: {KEY}"}}}
    async with ChatServer([echo, refusal]) as server:
        ask = asking(server.url, client, secret="CHAT_KEY")
        answer = await ask()
        failure = await failed(ask())
    assert answer.text == "Your key is [secret]."
    assert KEY not in repr(answer) + repr(failure) + failure.message
    assert "[secret]" in failure.message


# ------------------------------------------------------------------------------------------------------- cassettes


async def test_recorded_answers_are_replayed_without_a_call_or_a_key(client: HttpClient, tmp_path: Path) -> None:
    """Three repeats with three answers come back each as it was, marked as replayed."""
    answers = iter("abc")
    path = tmp_path / "m.jsonl"
    cassette = Cassette.live(path)
    async with ChatServer(answer=lambda body: next(answers)) as server:
        ask = asking(server.url, client, cassette, secret="CHAT_KEY")
        live = [await ask(repeat=repeat) for repeat in (1, 2, 3)]
        url = server.url
    cassette.close()
    tape = Cassette.replay(path)
    fields: dict[str, Any] = {"name": "m", "model": "m", "profile": "default", "runner": "openai-compatible"}
    asked = Configuration(**fields, model_id="m-small", endpoint=url, secret="CHAT_KEY")
    runner = make(asked, RunnerContext(project=tmp_path, environ={}, cassette=tape))
    case = Case(id="q1", input="Which city is q1?")
    for repeat, was in enumerate(live, 1):
        request = Request(
            configuration=asked, case=case, repeat=repeat, attempt=1, timeout_s=1.0, request_id="trial-0002"
        )
        again = await runner.answer(request)
        assert (again.text, again.usage, again.finish, again.latency_ms) == (
            was.text,
            was.usage,
            was.finish,
            was.latency_ms,
        )
        assert again.request_ids == was.request_ids
        assert [call.replayed for call in again.calls] == [True]
        assert again.calls[0].digest == was.calls[0].digest
    tape.close()
    assert [answer.text for answer in live] == ["a", "b", "c"]


async def test_replay_of_what_was_not_recorded_never_calls(client: HttpClient, tmp_path: Path) -> None:
    """Case Q02: another setting is another request."""
    path = tmp_path / "m.jsonl"
    cassette = Cassette.live(path)
    async with ChatServer() as server:
        await asking(server.url, client, cassette)()
        cassette.close()
        tape = Cassette.replay(path)
        failure = await failed(asking(server.url, client, tape, settings={"temperature": 0.7})())
        tape.close()
    assert (failure.kind, failure.sent, failure.calls) == ("replay_miss", False, ())
    assert "q1" in failure.message
    assert len(server.requests) == 1


async def test_only_answers_are_recorded(client: HttpClient, tmp_path: Path) -> None:
    """Case Q05: errors and bad replies never; truncated and filtered answers as they are."""
    cut = completion("Par")
    cut["choices"][0]["finish_reason"] = "length"
    filtered = completion("")
    filtered["choices"][0]["finish_reason"] = "content_filter"
    script = [
        {"status": 500, "json": {"error": {"message": "down"}}},
        *steps("200_error")[:1],
        *steps("html", 1),
        *steps("cut_body")[:1],
        {"json": cut},
        {"json": filtered},
    ]
    path = tmp_path / "m.jsonl"
    cassette = Cassette.live(path)
    async with ChatServer(script) as server:
        ask = asking(server.url, client, cassette)
        for _ in range(4):
            await failed(ask())
        assert len(cassette) == 0
        await ask("q1")
        await ask("q2")
        cassette.close()
        tape = Cassette.replay(path)
        again = asking(server.url, client, tape)
        assert (await again("q1")).finish == "length"
        assert (await again("q2")).finish == "content_filter"
        tape.close()
    assert len(server.requests) == 6


async def test_planted_key_is_in_no_file_that_was_written(client: HttpClient, tmp_path: Path) -> None:
    """Case Q07: plain, URL-encoded, or echoed by the server."""
    cassette = Cassette.live(tmp_path / "m.jsonl")
    step = {"json": completion(f"key={KEY}&"), "headers": {"Set-Cookie": KEY, "x-request-id": KEY}}
    async with ChatServer([step]) as server:
        await asking(server.url, client, cassette, secret="CHAT_KEY")()
    cassette.close()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(written)
    assert not any(b"PLANTED" in raw for raw in written)
