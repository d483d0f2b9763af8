# SPDX-License-Identifier: Apache-2.0
"""The Responses API beyond its golden vectors: replies that are none, odd items, and streams that are not whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attempts import reading

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration
from trialplate.runners.base import Request, ToolResult, Turn
from trialplate.runners.providers.openai import build_request, check_configuration, parse_reply

JSON_TYPE = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"}


def configuration(**changes: Any) -> Configuration:
    """Return a configuration of a model that is asked over the Responses API."""
    fields = {"name": "m", "model": "m", "profile": "default", "runner": "openai", "model_id": "gpt-5.4"}
    return Configuration(**{**fields, "endpoint": "https://api.openai.com/v1", **changes})


def request(asked: Configuration, **changes: Any) -> Request:
    """Return a first attempt."""
    case = Case(id="q1", input="Which city?")
    fields: dict[str, Any] = {"repeat": 1, "attempt": 1, "timeout_s": 1.0, "request_id": "r-1"}
    return Request(configuration=asked, case=case, **{**fields, **changes})


def response(*items: Any, **changes: Any) -> dict[str, Any]:
    """Return a response of these items."""
    made = {"id": "resp_1", "object": "response", "status": "completed", "error": None, "model": "gpt-5.4"}
    return {**made, "output": list(items), **changes}


def message(text: Any, **changes: Any) -> dict[str, Any]:
    """Return a message of one text."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **changes}


parsed, failed = reading(parse_reply)


def streamed(*events: Any) -> bytes:
    """Return the events of a stream."""
    return "".join(f"event: {item.get('type')}\ndata: {json.dumps(item)}\n\n" for item in events).encode()


@pytest.mark.parametrize("key", ["input", "store", "previous_response_id", "text", "tools", "include", "model"])
def test_setting_that_the_request_sets_itself_is_refused(key: str) -> None:
    """Nothing replaces the question, and nothing is kept at the provider."""
    with pytest.raises(SpecError) as caught:
        check_configuration(configuration(settings={key: "x"}))
    assert caught.value.code == "RESERVED"


@pytest.mark.parametrize(
    "body",
    [
        response(output=None),
        response(output="Paris"),
        response("Paris"),
        response(status="queued"),
        response(status={"a": 1}),
        response({**CALL, "call_id": ""}),
        response({**CALL, "name": None}),
        response({**CALL, "arguments": "{}", "extra": float("nan")}),
        b'{"object":"response","output":[],"output":[]}',
    ],
)
def test_reply_without_one_clear_answer_is_a_bad_reply(body: Any) -> None:
    """Never an exception of Python's."""
    assert failed(body).kind == "bad_reply"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": "server_error", "message": "m"}, 500),
        ({"code": "vector_store_timeout", "message": "m"}, 504),
        ({"code": "image_too_large", "message": "m"}, 400),
        ({"code": "bio_policy", "message": "m"}, 400),
        ({"code": "503", "message": "m"}, 503),
        ({"code": "never_heard_of", "message": "m"}, 200),
        ("down", 200),
    ],
)
def test_error_inside_a_success_is_the_status_that_its_code_stands_for(error: Any, status: int) -> None:
    """A request that will not do is told from a service that is down; of an unknown code nothing is made up."""
    body = response(status="failed", error=error, usage={"input_tokens": 5, "output_tokens": 0})
    failure = failed(body)
    assert (failure.kind, failure.status, failure.usage) == ("http_status", status, Usage(input=5, output=0))


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_status_other_than_success_is_reported_as_it_was(status: int) -> None:
    """Both interfaces of the provider say it in the same form."""
    failure = failed({"error": {"message": "bad", "type": "t", "code": None}}, status)
    assert (failure.kind, failure.status) == ("http_status", status)


def test_odd_items_and_parts_are_left_out_and_named() -> None:
    """What is not known is no answer, and nothing breaks on it."""
    answer = parsed(response({"type": 7}, {}, message(5), message("Paris"), {"type": "message", "content": None}))
    assert answer.text == "Paris"
    assert answer.transcript == {"ignored_parts": ["unknown", "unknown"]}


def test_commentary_alone_is_no_answer() -> None:
    """What a model says on the way is not taken for its last word."""
    answer = parsed(response(message("Let me see.", phase="commentary")))
    assert (answer.text, answer.finish) == ("", "stop")
    assert answer.transcript == {"commentary": "Let me see."}


def test_incomplete_for_a_reason_of_its_own_keeps_it() -> None:
    """And one without a reason is still not called complete."""
    assert parsed(response(status="incomplete", incomplete_details={"reason": "other"})).finish == "other"
    assert parsed(response(status="incomplete", incomplete_details=None)).finish == "incomplete"


def test_reply_with_a_lone_surrogate_goes_back_as_it_can_be_sent() -> None:
    """No UTF-8 holds it, so it is U+FFFD in the next request; the transcript keeps what came."""
    said = json.dumps(response(message("half \ud835"), {**CALL, "arguments": '{"a": "\ud835"}'})).encode()
    reply = parsed(said)
    assert reply.text == "half \ud835"
    results = (ToolResult(call=reply.tool_calls[0], text="\ud835 done"),)
    body = build_request(request(configuration(), turns=(Turn(reply=reply, results=results),))).body
    canonical.encode(body)
    assert [item.get("arguments") or item.get("output") for item in body["input"][2:]] == [
        '{"a": "\ufffd"}',
        "\ufffd done",
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        streamed({"type": "response.created", "response": response(status="in_progress")}),
        streamed({"type": "response.completed", "response": None}),
        b'data: {"type": "response.created"}\n\ndata: {"type": \n\n',
    ],
)
def test_stream_that_is_not_whole_is_a_broken_transport(body: bytes) -> None:
    """Half an answer must not look like a whole one."""
    assert failed(body, headers=STREAM).kind == "transport"


def test_stream_that_failed_is_its_error() -> None:
    """The last event says what went wrong."""
    last = {"type": "response.failed", "response": response(status="failed", error={"code": "rate_limit_exceeded"})}
    assert failed(streamed({"type": "response.created"}, last), headers=STREAM).status == 429


def test_items_that_were_finished_stand_for_an_output_that_is_left_out() -> None:
    """In the order of their places, whatever order they were finished in."""
    done = [
        {"type": "response.output_item.done", "output_index": 1, "item": message("is")},
        {"type": "response.output_item.done", "output_index": 0, "item": message("Par")},
        {"type": "response.completed", "response": response()},
    ]
    assert parsed(streamed(*done), headers=STREAM).text == "Paris"
