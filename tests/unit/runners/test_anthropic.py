# SPDX-License-Identifier: Apache-2.0
"""The Messages API as pure functions: what is sent, and what is read of a reply."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from attempts import reading

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, PlanText, PlanTool
from trialplate.runners.base import Attachment, Failure, Request
from trialplate.runners.providers.anthropic import build_request, check_configuration, parse_reply

COMMITMENT = "A" * 43


def configuration(**changes: Any) -> Configuration:
    """Return a configuration of this runner."""
    fields: dict[str, Any] = {
        "name": "m",
        "model": "m",
        "profile": "default",
        "runner": "anthropic",
        "model_id": "m-small",
        "endpoint": "https://api.anthropic.com",
        "settings": {"max_tokens": 64},
    }
    return Configuration(**{**fields, **changes})


def request(asked: Configuration, texts: dict[tuple[str, str], str] | None = None) -> Request:
    """Return a first attempt."""
    case = Case(id="q1", input="Which city?\n")
    return Request(
        configuration=asked, case=case, texts=texts or {}, repeat=1, attempt=1, timeout_s=1.0, request_id="r-1"
    )


def reply(*content: Any, **changes: Any) -> dict[str, Any]:
    """Return a Message object."""
    plain = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-small", "stop_reason": "end_turn"}
    return {**plain, "content": list(content or [{"type": "text", "text": "Paris"}]), **changes}


parsed, failed = reading(parse_reply)


# ------------------------------------------------------------------------------------------------------------ sent


def test_request_holds_system_documents_and_question_where_they_belong() -> None:
    """The system text is a field of its own; documents stand before the question, in order; settings go as they are."""
    texts = (
        PlanText(role="system", commitment=COMMITMENT),
        PlanText(role="document", name="b.md", commitment=COMMITMENT),
        PlanText(role="document", name="a.md", commitment=COMMITMENT),
    )
    settings = {"max_tokens": 64, "thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    opened = {("system", ""): "Be terse.", ("document", "b.md"): "B", ("document", "a.md"): "A"}
    wire = build_request(request(configuration(texts=texts, settings=settings), opened))
    assert (wire.method, wire.url) == ("POST", "https://api.anthropic.com/v1/messages")
    assert wire.body == {
        **settings,
        "model": "m-small",
        "system": "Be terse.",
        "messages": [
            {"role": "user", "content": "Document: b.md\n\nB\n\nDocument: a.md\n\nA\n\nWhich city?\n"},
        ],
    }
    assert "x-api-key" not in wire.headers
    canonical.encode(wire.body)


def test_request_without_system_text_sends_none() -> None:
    """Nothing is sent that was not written."""
    body = build_request(request(configuration())).body
    assert isinstance(body, dict)
    assert set(body) == {"model", "messages", "max_tokens"}


@pytest.mark.parametrize(
    ("settings", "version"),
    [
        ({}, "2026-10-21"),
        ({"temperature": 0}, "2023-06-01"),
        ({"top_p": 1}, "2023-06-01"),
        ({"top_k": 5}, "2023-06-01"),
    ],
)
def test_version_header_is_the_newest_that_takes_the_settings(settings: dict[str, Any], version: str) -> None:
    """2026-10-21 answers every sampling parameter with 400, which would count against the model."""
    wire = build_request(request(configuration(settings={"max_tokens": 8, **settings})))
    assert wire.headers["anthropic-version"] == version


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/messages"),
        ("https://gateway.example.com/anthropic", "https://gateway.example.com/anthropic/v1/messages"),
    ],
)
def test_address_is_the_base_with_the_path_behind_it(endpoint: str, url: str) -> None:
    """With or without the version in the base address."""
    assert build_request(request(configuration(endpoint=endpoint))).url == url


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"max_tokens": 8, "messages": []}},
        {"settings": {"max_tokens": 8, "system": "x"}},
        {"tools": (PlanTool(name="submit_response"),)},
        {"settings": {}},
        {"settings": {"max_tokens": 0}},
        {"settings": {"max_tokens": True}},
        {"settings": {"max_tokens": "64"}},
        {"model_id": None},
        {"endpoint": "ftp://x"},
        {"endpoint": "https://u:p@x"},
    ],
)
def test_configuration_that_cannot_be_sent_is_refused(changes: dict[str, Any]) -> None:
    """Before anything is spent."""
    with pytest.raises(SpecError):
        check_configuration(configuration(**changes))


def test_file_that_is_no_text_is_told_before_it_is_sent() -> None:
    """A text document travels as text; bytes that are none are nobody's answer."""
    asked = request(configuration())
    broken = Attachment(name="a.txt", type="text/plain", data=b"\xff")
    with pytest.raises(Failure, match="not UTF-8") as caught:
        build_request(replace(asked, files=(broken,)))
    assert (caught.value.kind, caught.value.sent) == ("not_started", False)


def test_settings_of_an_older_plan_are_sent_as_they_were() -> None:
    """A run that was begun goes on with the bytes that it began with."""
    settings = {"max_tokens": 64, "thinking": {"type": "enabled", "budget_tokens": 2048}, "tools": [{"type": "x"}]}
    settings |= {
        "output_config": {"effort": "low"},
        "metadata": {"user_id": "u"},
        "cache_control": {"type": "ephemeral"},
    }
    body = build_request(request(configuration(settings=settings))).body
    assert body == {**settings, "model": "m-small", "messages": [{"role": "user", "content": "Which city?\n"}]}


# ------------------------------------------------------------------------------------------------------------ read


def test_text_blocks_are_joined_and_the_rest_is_kept_apart() -> None:
    """Case H09: text blocks without a separator; thinking, tool calls and others are no part of the answer."""
    answer = parsed(
        reply(
            {"type": "thinking", "thinking": "The capital...", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Pa"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            {"type": "text", "text": "ris"},
        )
    )
    assert answer.text == "Paris"
    assert isinstance(answer.transcript, dict)
    assert answer.transcript["reasoning"] == "The capital..."
    assert answer.transcript["ignored_parts"] == ["redacted_thinking"]
    assert "tool_use" in str(answer.transcript["tool_calls"])
    canonical.encode(answer.transcript)


def test_usage_adds_what_the_cache_held_to_the_input() -> None:
    """`input_tokens` leaves out cache reads and writes; our input holds them, and thinking is a part of the output."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    assert parsed(reply(usage=usage)).usage == Usage(input=240, output=50, cache_read=200, cache_write=30, reasoning=40)


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (None, None),
        ({}, None),
        ([], None),
        ({"input_tokens": 0, "output_tokens": 0}, Usage(input=0, output=0)),
        ({"output_tokens": 5, "cache_read_input_tokens": 9}, Usage(output=5, cache_read=9)),
        ({"input_tokens": -1, "output_tokens": True}, None),
        ({"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 1}, Usage(input=3, output=1)),
        ({"input_tokens": 2**53 - 1, "cache_read_input_tokens": 1, "output_tokens": 1}, Usage(cache_read=1, output=1)),
    ],
)
def test_usage_that_is_missing_is_unknown_and_zero_is_zero(usage: Any, found: Usage | None) -> None:
    """Case H11: a count that is not there is never 0."""
    assert parsed(reply(usage=usage)).usage == found


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_truncated_answer_is_what_the_engine_calls_truncated(stop: str) -> None:
    """Case H07: "length", with the provider's own word in the transcript."""
    answer = parsed(reply(stop_reason=stop))
    assert (answer.finish, answer.transcript) == ("length", {"stop_reason": stop})


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "tool_use"])
def test_other_stop_reasons_stay_as_they_are(stop: str) -> None:
    """In the provider's own words, and no refusal."""
    answer = parsed(reply(stop_reason=stop))
    assert (answer.finish, answer.refusal) == (stop, False)


def test_refusal_is_one_whatever_text_came_before_it() -> None:
    """Half an answer before a refusal is never scored; why is kept."""
    answer = parsed(
        reply(stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber", "explanation": None})
    )
    assert answer.refusal
    assert "cyber" in str(answer.transcript)


@pytest.mark.parametrize("stop", ["pause_turn", "tool_use", "", None])
def test_calls_are_made_after_the_reasons_that_wait_for_them(stop: str | None) -> None:
    """A paused turn may hold calls of ours beside what the provider runs itself; both go on in the next turn."""
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    served = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    answer = parsed(reply(served, use, stop_reason=stop))
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [("t", "f", '{"a": 1}')]
    assert (answer.paused, answer.replay) == (stop == "pause_turn", [served, use])
    assert answer.transcript == {"ignored_parts": ["server_tool_use"]}


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "max_tokens", "refusal", "a_new_one", 7])
def test_any_other_reason_is_an_end(stop: Any) -> None:
    """Unknown reasons too: a model that is never done would be asked for ever."""
    answer = parsed(reply({"type": "tool_use", "id": "t", "name": "f", "input": {}}, stop_reason=stop))
    assert (answer.tool_calls, answer.paused, answer.replay) == ((), False, None)
    assert isinstance(answer.transcript, dict)
    assert "tool_use" in str(answer.transcript["tool_calls"])


@pytest.mark.parametrize("use", [{"name": "f", "input": {}}, {"id": "t", "input": {}}, {"id": 1, "name": "f"}])
def test_call_that_cannot_be_answered_is_a_bad_reply(use: dict[str, Any]) -> None:
    """Without its id no result could be told to be its."""
    assert failed(reply({"type": "tool_use", **use}, stop_reason="tool_use")).kind == "bad_reply"


def test_reply_that_cannot_go_back_unchanged_is_a_bad_reply() -> None:
    """A number past what our JSON holds would go back as another; a lone surrogate is no text that can be sent."""
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"n": 2**60}}
    failure = failed(reply(use, stop_reason="tool_use", usage={"input_tokens": 1, "output_tokens": 2}))
    assert (failure.kind, failure.usage) == ("bad_reply", Usage(input=1, output=2))
    answer = parsed(reply({**use, "input": {"s": "\ud83d"}}, stop_reason="tool_use"))
    assert answer.replay == [{**use, "input": {"s": "\ufffd"}}]


@pytest.mark.parametrize(
    ("uses", "stop", "text", "finish"),
    [
        ([{"a": 1}], "tool_use", '{"a": 1}', "tool_use"),
        ([{"a": 1}], "end_turn", '{"a": 1}', "end_turn"),
        ([{"a": 1}], "max_tokens", '{"a": 1}', "length"),
        ([{"a": 1}, {"a": 2}], "tool_use", '{"a": 1}\n{"a": 2}', "tool_use"),
    ],
)
def test_submitted_answer_is_the_answer_whatever_the_reason(
    uses: list[dict[str, Any]], stop: str, text: str, finish: str
) -> None:
    """Nothing waits for a result, and of two answers none is chosen: both are shown, which is no form."""
    blocks = [
        {"type": "tool_use", "id": f"t{i}", "name": "submit_response", "input": use} for i, use in enumerate(uses)
    ]
    answer = parsed(reply({"type": "text", "text": "So:"}, *blocks, stop_reason=stop))
    assert (answer.text, answer.finish, answer.tool_calls) == (text, finish, ())
    assert isinstance(answer.transcript, dict)
    assert answer.transcript["beside"] == "So:"


def test_usage_of_tools_that_are_billed_by_use_is_unknown() -> None:
    """Their price is in no token; a cost without it would be too low. Fetching a page costs its tokens alone."""
    tokens = {"input_tokens": 3, "output_tokens": 1}
    answer = parsed(reply(usage={**tokens, "server_tool_use": {"web_search_requests": 1}}))
    assert answer.usage is None
    assert "web_search_requests" in str(answer.transcript)
    fetched = {**tokens, "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 2}}
    assert parsed(reply(usage=fetched)).usage == Usage(input=3, output=1)


def test_empty_content_is_an_empty_answer() -> None:
    """Two tokens and no block happens; it is the model's own."""
    assert parsed({**reply(), "content": []}).text == ""


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("timeout_error", 504),
        ("overloaded_error", 529),
        ("a_new_one", 200),
    ],
)
def test_error_inside_a_success_has_the_status_of_its_type(kind: str, status: int) -> None:
    """Case H03, in this provider's form."""
    failure = failed({"type": "error", "error": {"type": kind, "message": "Sorry"}, "request_id": "req_9"})
    assert (failure.kind, failure.status, failure.request_ids) == ("http_status", status, ("req_9",))
    assert "Sorry" in failure.message


def test_error_status_tells_the_providers_words() -> None:
    """Case H05: 529, with the id of the request."""
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_2"}
    failure = failed(body, 529, {"request-id": "req_2"})
    assert (failure.status, failure.request_ids) == (529, ("req_2",))
    assert "Overloaded" in failure.message


@pytest.mark.parametrize("whose", ["", "workspace "])
def test_spend_limit_of_the_account_is_not_the_models_fault(whose: str) -> None:
    """It comes as 400, which would count as a request that the model rejects."""
    text = f"You have reached your specified {whose}API usage limits. You will regain access on 2026-12-01."
    assert failed({"type": "error", "error": {"type": "invalid_request_error", "message": text}}, 400).status == 402
    other = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}
    assert failed(other, 400).status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"Paris"',
        b"<html>",
        b'{"content":"Paris"}',
        b'{"content":["Paris"]}',
        b'{"content":null}',
        b"\xff",
        b'{"content":[],"content":[{"type":"text","text":"b"}]}',
        b"[" * 100_000,
        b'data: {"type":"message_start"}\n\n',
    ],
)
def test_reply_without_an_answer_is_a_bad_reply(body: bytes) -> None:
    """Cases H06, H10: never an exception of ours, and never an empty answer; a stream was not asked for."""
    assert failed(body).kind == "bad_reply"


def test_reply_that_was_cut_is_a_broken_transport() -> None:
    """Case H13, where nothing declared the length."""
    assert failed(b'{"type":"message","content":[{"type":"text","text":"Pa').kind == "transport"


def test_served_model_and_ids_are_read() -> None:
    """Case H16."""
    answer = parsed(reply(model="m-large"), headers={"request-id": "req_1"})
    assert (answer.served, answer.request_ids) == ("m-large", ("req_1", "msg_1"))


# ---------------------------------------------------------------------------------------------------------- stream

STREAM = {"content-type": "text/event-stream"}
START: dict[str, Any] = {"type": "message_start", "message": {**reply(), "content": [], "stop_reason": None}}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CALL = {
    "type": "content_block_start",
    "index": 1,
    "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
}
STOP = {"type": "message_stop"}


def delta(index: int, kind: str, field: str, value: Any) -> dict[str, Any]:
    """Return an event that adds to a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: value}}


def ended(stop: str) -> dict[str, Any]:
    """Return the event that says why the message ended."""
    return {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 3},
    }


def stream(*events: Any, end: str = "\n") -> bytes:
    """Return events as a server sends them."""
    lines = [f"event: {event['type']}{end}data: {json.dumps(event)}{end}{end}" for event in events]
    return "".join(lines).encode()


@pytest.mark.parametrize(
    "events",
    [
        (),
        (START, TEXT, delta(0, "text_delta", "text", "Paris")),
        (START, TEXT, delta(0, "text_delta", "text", "Paris"), ended("end_turn")),
        (START, delta(0, "text_delta", "text", "Paris"), ended("end_turn"), STOP),
        (TEXT, ended("end_turn"), [], STOP),
        (START, CALL, delta(1, "input_json_delta", "partial_json", '{"a": '), ended("tool_use"), STOP),
        (START, {**delta(0, "text_delta", "text", "x"), "index": True}, STOP),
    ],
)
def test_stream_that_is_not_whole_is_no_reply(events: tuple[Any, ...]) -> None:
    """Half an answer never looks like a whole one; it is asked for again."""
    body = b"".join(stream(event) if isinstance(event, dict) else b"data: []\n\n" for event in events)
    assert failed(body, headers=STREAM).kind == "transport"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_stream_comes_to_the_message_that_would_have_come(end: str) -> None:
    """Blocks by their index; pings, and events and deltas of a later day, are left out."""
    later = {"type": "a_new_event", "index": 0}
    events = [START, CALL, TEXT, {"type": "ping"}, later, delta(0, "text_delta", "text", "Pa")]
    events += [delta(0, "a_new_delta", "x", 1), delta(0, "citations_delta", "citation", {"cited_text": "x"})]
    events += [delta(0, "text_delta", "text", "ris"), delta(1, "input_json_delta", "partial_json", '{"a"')]
    events += [delta(1, "input_json_delta", "partial_json", ": 1}"), ended("tool_use"), STOP]
    answer = parsed(stream(*events, end=end), headers=STREAM)
    assert (answer.text, answer.finish, answer.served) == ("Paris", "tool_use", "m-small")
    assert answer.replay == [
        {"type": "text", "text": "Paris", "citations": [{"cited_text": "x"}]},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    assert answer.usage == Usage(output=3)


def test_stream_that_was_cut_inside_a_call_is_a_truncated_answer() -> None:
    """The message is whole, its last call is not: no call, and the reason that the engine knows."""
    events = [START, TEXT, delta(0, "text_delta", "text", "Let me"), CALL]
    events += [delta(1, "input_json_delta", "partial_json", '{"a": '), ended("max_tokens"), STOP]
    answer = parsed(stream(*events), headers=STREAM)
    assert (answer.text, answer.finish, answer.tool_calls) == ("Let me", "length", ())


def test_error_in_a_stream_has_the_status_of_its_type_and_what_was_billed() -> None:
    """It comes after a status of success, whatever came before it."""
    begun = {**START, "message": {**START["message"], "usage": {"input_tokens": 5, "output_tokens": 1}}}
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}}
    failure = failed(stream(begun, TEXT, error), headers=STREAM)
    assert (failure.kind, failure.status, failure.served) == ("http_status", 429, "m-small")
    assert failure.usage == Usage(input=5, output=1)
