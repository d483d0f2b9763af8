# SPDX-License-Identifier: Apache-2.0
"""The Messages API as pure functions: what is sent, and what is read of a reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, PlanText
from trialplate.runners.base import Answer, Failure, Request
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


def parsed(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Parse a reply."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return parse_reply(status, {"content-type": "application/json", **(headers or {})}, raw)


def failed(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Failure:
    """Parse a reply that must be a failure."""
    with pytest.raises(Failure) as caught:
        parsed(body, status, headers)
    assert caught.value.sent
    return caught.value


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
        {"settings": {"max_tokens": 8, "stream": True}},
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


def test_paused_turn_is_no_answer() -> None:
    """What a server tool has not finished must not be scored as the end."""
    failure = failed(reply(stop_reason="pause_turn", usage={"input_tokens": 1, "output_tokens": 2}))
    assert (failure.kind, failure.usage) == ("bad_reply", Usage(input=1, output=2))


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
