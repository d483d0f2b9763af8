# SPDX-License-Identifier: Apache-2.0
"""A service of somebody's own: what it is sent, what is read of its reply, and what is no answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from attempts import Ask, failed
from chat_server import ChatServer

from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, PlanText
from trialplate.runners.base import Answer, Failure, Request, RunnerContext
from trialplate.runners.http import make
from trialplate.transport.cassette import Cassette
from trialplate.transport.http import HttpClient

KEY = "PLANTED-7f3a-not-a-real-key"
COMMITMENT = "A" * 43
BODY = {"question": "{{input}}", "n": 3}
ANSWER = {"pointer": "/answer"}


def asking(url: str, client: HttpClient, cassette: Cassette | None = None, body: Any = BODY, **changes: Any) -> Ask:
    """Return a function that makes one attempt."""
    fields: dict[str, Any] = {"name": "s", "model": "s", "profile": "default", "runner": "http", "endpoint": url}
    texts = () if body is None else (PlanText(role="body", commitment=COMMITMENT),)
    settings = {"method": "POST", "response": ANSWER, **changes.pop("settings", {})}
    asked = Configuration(**{**fields, "subject": "service 1", "texts": texts, "settings": settings, **changes})
    context = RunnerContext(project=Path(), environ={"SERVICE_KEY": KEY}, cassette=cassette, http=lambda: client)
    runner = make(asked, context)

    async def ask(text: str = "Which city?", repeat: int = 1) -> Answer:
        request = Request(
            configuration=asked,
            case=Case(id="q1", input=text),
            texts={} if body is None else {("body", ""): body},
            repeat=repeat,
            attempt=1,
            timeout_s=30.0,
            request_id="trial-0001",
        )
        return await runner.answer(request)

    return ask


@pytest.fixture
def reply(client: HttpClient) -> Callable[..., Awaitable[Answer]]:
    """Make one attempt against a server that replies with these bytes."""

    async def ask(body: Any, response: Any = ANSWER, **step: Any) -> Answer:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with ChatServer([{"body": raw, **step}]) as server:
            return await asking(f"http://127.0.0.1:{server.port}/ask", client, settings={"response": response})()

    return ask


# ------------------------------------------------------------------------------------------------------------ sent

HARD = 'What is "1/2 & 50%"?\n{{input}} \u00e9#'


async def test_input_is_encoded_in_the_url_and_verbatim_in_the_body(client: HttpClient) -> None:
    """In any text of the body, not in its keys; what the input itself holds is not filled in again."""
    body = {"q": ["{{input}}", {"{{input}}": "<{{input}}>", "n": 1.0, "no": None}], "at": True}
    async with ChatServer() as server:
        url = f"http://127.0.0.1:{server.port}/ask/{{{{input}}}}?again={{{{input}}}}&x=1"
        await asking(url, client, body=body, settings={"method": "PUT", "headers": {"x-tenant": "acme"}})(HARD)
    (seen,) = server.requests
    assert seen.method == "PUT"
    assert seen.body == {"q": [HARD, {"{{input}}": f"<{HARD}>", "n": 1, "no": None}], "at": True}
    path, _, query = seen.path.partition("?")
    assert path.count("/") == 2, "a slash of the input is no step in the path"
    assert query.endswith("&x=1")
    assert query.count("&") == 1
    assert (seen.headers["x-tenant"], seen.headers["content-type"]) == ("acme", "application/json")


async def test_get_has_no_body_and_no_content_type(client: HttpClient) -> None:
    """The question is in the address alone."""
    async with ChatServer() as server:
        url = f"http://127.0.0.1:{server.port}/ask?q={{{{input}}}}"
        answer = await asking(url, client, body=None, settings={"method": "GET"})("Which city?")
    (seen,) = server.requests
    assert (seen.method, seen.raw, seen.path) == ("GET", b"", "/ask?q=Which%20city?")
    assert "content-type" not in seen.headers
    assert answer.text == "Paris"


@pytest.mark.parametrize("text", [".", ".."])
async def test_input_that_would_be_a_step_in_the_path_is_not_sent(client: HttpClient, text: str) -> None:
    """Clients take "%2E%2E" for "..", and would ask another address."""
    async with ChatServer() as server:
        ask = asking(f"http://127.0.0.1:{server.port}/ask/{{{{input}}}}/x", client)
        failure = await failed(ask(text))
        assert (failure.kind, failure.sent) == ("not_started", False)
        await ask("...")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("sent", "header", "value"),
    [
        ({}, "authorization", f"Bearer {KEY}"),
        ({"header": "x-api-key", "prefix": ""}, "x-api-key", KEY),
        ({"header": "authorization", "prefix": "Token "}, "authorization", f"Token {KEY}"),
    ],
)
async def test_key_goes_into_its_header_and_nowhere_else(
    client: HttpClient, tmp_path: Path, sent: dict[str, str], header: str, value: str
) -> None:
    """Case Q07: a custom header too is in no cassette, though the service echoes it."""
    path = tmp_path / "s.jsonl"
    cassette = Cassette.live(path)
    step = {"json": {"answer": f"your key: {KEY}"}, "headers": {"x-request-id": KEY, "Set-Cookie": KEY}}
    async with ChatServer([step]) as server:
        url = f"http://127.0.0.1:{server.port}/ask"
        ask = asking(url, client, cassette, secret="SERVICE_KEY", secret_sent=sent)
        answer = await ask()
    cassette.close()
    assert server.requests[0].headers[header] == value
    assert answer.text == "your key: [secret]"
    assert KEY not in path.read_text() + repr(answer)


# ------------------------------------------------------------------------------------------------------------ read


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("/answer", "Paris"),
        ("/list/1", "b"),
        ("/deep/a~1b/m~0n", "x"),
        ("/", "empty key"),
        ("/number", "1.5"),
        ("/flag", "true"),
        ("/object", '{"a":1,"b":[]}'),
        ("/text", ""),
    ],
)
async def test_pointer_names_the_answer(reply: Callable[..., Awaitable[Answer]], pointer: str, text: str) -> None:
    """RFC 6901: a text as it is, other JSON as canonical JSON."""
    value = {"answer": "Paris", "list": ["a", "b"], "deep": {"a/b": {"m~n": "x"}}, "": "empty key", "number": 1.5}
    value |= {"flag": True, "object": {"b": [], "a": 1.0}, "text": ""}
    assert (await reply(value, {"pointer": pointer})).text == text


async def test_pointer_to_the_whole_reply_takes_it_all(reply: Callable[..., Awaitable[Answer]]) -> None:
    """The empty pointer."""
    assert (await reply("Paris", {"pointer": ""})).text == "Paris"


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"answer": None}, "/answer"),
        ({}, "/answer"),
        ({"answer": "x"}, "/answer/0"),
        ({"list": ["a"]}, "/list/1"),
        ({"list": ["a"]}, "/list/-"),
        ({"list": ["a"]}, "/list/00"),
        ({"list": ["a"]}, "/list/\u0661"),
        ({"list": ["a"]}, "/list/" + "9" * 5000),
        (b'{"answer": 1e999}', "/answer"),
        (b'{"answer": 12345678901234567890}', "/answer"),
        (b'{"answer": "a", "answer": "b"}', "/answer"),
        (b"<html>", "/answer"),
        (b"", "/answer"),
        (b"\xff", "/answer"),
    ],
)
async def test_reply_that_holds_no_answer_is_a_bad_reply(
    reply: Callable[..., Awaitable[Answer]], value: Any, pointer: str
) -> None:
    """Null, nothing there, a number without an exact form, two answers, no JSON."""
    failure = await failed(reply(value, {"pointer": pointer}))
    assert (failure.kind, failure.sent) == ("bad_reply", True)
    assert [call.replayed for call in failure.calls] == [False]


async def test_without_a_pointer_the_body_is_the_answer(reply: Callable[..., Awaitable[Answer]]) -> None:
    """As it is, white space included; bytes that are not UTF-8 are kept."""
    assert (await reply(b" Paris\n", {})).text == " Paris\n"
    assert (await reply(b"Pa\xffris", {})).text.encode(errors="surrogateescape") == b"Pa\xffris"


async def test_tokens_are_the_services_own_word(reply: Callable[..., Awaitable[Answer]]) -> None:
    """`declared`; what is not there or no count is unknown, never zero."""
    value = {"answer": "x", "usage": {"in": 7, "out": "9"}}
    tokens = {"input": "/usage/in", "output": "/usage/out"}
    assert (await reply(value, {**ANSWER, "tokens": tokens})).usage == Usage(input=7, declared=True)
    assert (await reply({"answer": "x"}, {**ANSWER, "tokens": tokens})).usage is None
    assert (await reply(value)).usage is None


@pytest.mark.parametrize("status", [199 + 2, 204])
async def test_any_success_counts(reply: Callable[..., Awaitable[Answer]], status: int) -> None:
    """2xx; the empty body of a 204 is an empty answer without a pointer."""
    body = b"" if status == 204 else b"Paris"
    assert (await reply(body, {}, status=status)).text == body.decode()


@pytest.mark.parametrize("status", [301, 307, 400, 401, 429, 500, 529])
async def test_other_status_is_reported_once_and_not_followed(client: HttpClient, status: int) -> None:
    """Cases H05, H06, H17: a redirect could take the question, and the key, to somebody else."""
    async with ChatServer() as elsewhere:
        headers = {"Location": f"http://127.0.0.1:{elsewhere.port}/ask", "Retry-After": "7"}
        step = {"status": status, "headers": headers, "json": {"error": {"message": "no"}}}
        async with ChatServer([step]) as server:
            failure = await failed(asking(f"http://127.0.0.1:{server.port}/ask", client)())
            assert len(server.requests) == 1
    assert (failure.kind, failure.status, failure.retry_after_s) == ("http_status", status, 7.0)
    assert elsewhere.requests == []


async def test_cut_body_and_reset_are_no_answers(client: HttpClient) -> None:
    """Cases H05, H13: also without a pointer, where half a text would look whole."""
    cut = {"body": b"half an ans", "headers": {"Content-Length": "400"}, "close": "eof"}
    async with ChatServer([cut, {"close": "rst"}, {"body": b"whole"}]) as server:
        ask = asking(f"http://127.0.0.1:{server.port}/ask", client, settings={"response": {}})
        assert (await failed(ask())).kind == "transport"
        assert (await failed(ask())).kind == "closed_connection"
        assert (await ask()).text == "whole"


# ------------------------------------------------------------------------------------------------------- cassettes


async def test_recorded_answer_is_replayed_for_the_same_request_and_subject_only(
    client: HttpClient, tmp_path: Path
) -> None:
    """Cases Q01, Q02: another version, header, address, method or body is another exchange."""
    path = tmp_path / "s.jsonl"
    cassette = Cassette.live(path)
    async with ChatServer([{"body": b"\xffParis"}]) as server:
        url = f"http://127.0.0.1:{server.port}/ask"
        plain = {"settings": {"response": {}}}
        was = await asking(url, client, cassette, **plain)()
        cassette.close()
        tape = Cassette.replay(path)
        now = await asking(url, client, tape, **plain)()
        others: list[dict[str, Any]] = [
            {"subject": "service 2"},
            {"settings": {"response": {}, "headers": {"x-tenant": "b"}}},
            {"settings": {"response": {}, "method": "PUT"}},
            {"body": {"q": "{{input}}"}},
        ]
        for other in others:
            assert (await failed(asking(url, client, tape, **{**plain, **other})())).kind == "replay_miss"
        assert (await failed(asking(f"{url}2", client, tape, **plain)())).kind == "replay_miss"
        tape.close()
        assert len(server.requests) == 1
    assert (now.text, now.latency_ms, now.calls[0].replayed) == (was.text, was.latency_ms, True)
    assert now.calls[0].digest == was.calls[0].digest


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
async def test_request_on_a_kept_connection_that_is_closed_is_not_sent_twice(client: HttpClient, method: str) -> None:
    """An attempt is one call: what a client library would send again by itself would be a call that no line names."""
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            lines.append(head.split(b"\r\n", 1)[0])
            if number == 0:
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"answer":"4"}')
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        ask = asking(f"http://127.0.0.1:{port}/ask", client, body=None, settings={"method": method})
        assert (await ask()).text == "4"
        with pytest.raises(Failure) as caught:
            await ask()
        await client.close()
    assert (caught.value.kind, caught.value.sent) == ("closed_connection", True)
    assert len(lines) == 2
