# SPDX-License-Identifier: Apache-2.0
"""The Gemini API as pure functions, where golden vectors do not reach: odd replies, errors, counts and addresses."""

from __future__ import annotations

from typing import Any

import pytest
from attempts import reading

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration
from trialplate.runners.base import Request, Shape
from trialplate.runners.providers.google import build_request, check_configuration, key_headers, parse_reply

CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}


def configuration(**changes: Any) -> Configuration:
    """Return a configuration of this runner."""
    fields: dict[str, Any] = {"name": "m", "model": "m", "profile": "default", "runner": "google", "model_id": "m-1"}
    fields |= {"endpoint": "https://generativelanguage.googleapis.com"}
    return Configuration(**{**fields, **changes})


def request(asked: Configuration, **changes: Any) -> Request:
    """Return a first attempt."""
    fields: dict[str, Any] = {"case": Case(id="q1", input="Which city?"), "repeat": 1, "attempt": 1}
    fields |= {"timeout_s": 1.0, "request_id": "r-1"}
    return Request(configuration=asked, **{**fields, **changes})


def reply(*parts: Any, stop: Any = "STOP", **changes: Any) -> dict[str, Any]:
    """Return a GenerateContentResponse."""
    content = {"role": "model", "parts": list(parts or [{"text": "Paris"}])}
    plain = {"candidates": [{"content": content, "finishReason": stop}], "modelVersion": "m-1", "responseId": "r"}
    return {**plain, **changes}


parsed, failed = reading(parse_reply)


# ------------------------------------------------------------------------------------------------------------ sent


@pytest.mark.parametrize(
    ("endpoint", "model", "url"),
    [
        ("https://h", "gemini-3.8-flash", "https://h/v1beta/models/gemini-3.8-flash:generateContent"),
        ("https://h/v1beta", "m", "https://h/v1beta/models/m:generateContent"),
        ("https://h/v1/", "m", "https://h/v1/models/m:generateContent"),
        ("https://h/gemini", "m", "https://h/gemini/v1beta/models/m:generateContent"),
        ("https://h", "../../admin?x#y", "https://h/v1beta/models/..%2F..%2Fadmin%3Fx%23y:generateContent"),
        ("https://h", "a:deleteAll", "https://h/v1beta/models/a%3AdeleteAll:generateContent"),
    ],
)
def test_model_is_one_step_of_the_address(endpoint: str, model: str, url: str) -> None:
    """Whatever its id holds; the version is added where the base address has none."""
    assert build_request(request(configuration(endpoint=endpoint, model_id=model))).url == url


def test_key_is_in_its_header_and_never_in_the_address() -> None:
    """An address stands in logs."""
    wire = build_request(request(configuration()))
    assert key_headers("k") == {"x-goog-api-key": "k"}
    assert not {"x-goog-api-key", "authorization"} & wire.headers.keys()
    assert "?" not in wire.url


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    """Newer models refuse parameters also at their default, `candidateCount` first of all."""
    body = build_request(request(configuration())).body
    assert body == {"contents": [{"role": "user", "parts": [{"text": "Which city?"}]}]}
    formed = build_request(request(configuration(), shape=Shape(schema={}, mode="text"))).body
    assert formed == body


@pytest.mark.parametrize(
    "changes",
    [
        {"model_id": None},
        {"endpoint": "ftp://x"},
        {"endpoint": "https://u:p@x"},
        {"settings": {"contents": []}},
        {"settings": {"candidate_count": 1}},
        {"settings": {"model": "x"}},
    ],
)
def test_configuration_that_cannot_be_sent_is_refused(changes: dict[str, Any]) -> None:
    """Before anything is spent."""
    with pytest.raises(SpecError):
        check_configuration(configuration(**changes))


# ------------------------------------------------------------------------------------------------------------ read


@pytest.mark.parametrize("stop", ["STOP", "FINISH_REASON_UNSPECIFIED", "", None])
def test_calls_are_made_after_the_reasons_that_wait_for_them(stop: str | None) -> None:
    """The content goes back as it came, with its role if it had none."""
    answer = parsed(reply(CALL, {**CALL, "thoughtSignature": "s"}, stop=stop))
    assert [call.id for call in answer.tool_calls] == ["call_1", "call_2"]
    assert answer.replay == {"role": "model", "parts": [CALL, {**CALL, "thoughtSignature": "s"}]}
    assert answer.transcript is None


@pytest.mark.parametrize(
    "stop", ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "OTHER", "LANGUAGE", "A_NEW_ONE", 7]
)
def test_any_other_reason_is_an_end(stop: Any) -> None:
    """Unknown reasons too: a model that is never done would be asked for ever."""
    answer = parsed(reply(CALL, stop=stop))
    assert (answer.tool_calls, answer.replay, answer.paused) == ((), None, False)
    assert isinstance(answer.transcript, dict)
    assert "args" in str(answer.transcript["tool_calls"])


@pytest.mark.parametrize(
    "stop",
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"],
)
def test_reply_that_a_filter_ended_is_a_refusal_whatever_came_before(stop: str) -> None:
    """Half an answer before it is never scored."""
    answer = parsed(reply({"text": "First, "}, stop=stop))
    assert (answer.refusal, answer.finish, answer.text) == (True, stop, "First, ")


@pytest.mark.parametrize("stop", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])
def test_reply_that_broke_off_is_in_no_form_that_counts(stop: str) -> None:
    """The text before a call that could not be read is no answer to the question."""
    answer = parsed(reply({"text": "Paris"}, stop=stop))
    assert answer.unreadable is not None
    assert stop in answer.unreadable


def test_signature_that_we_lost_is_not_the_models_fault() -> None:
    """It is a mistake of this program, so the cell is unknown."""
    assert failed(reply(stop="MISSING_THOUGHT_SIGNATURE")).kind == "bad_reply"


def test_thoughts_and_other_parts_are_kept_apart() -> None:
    """A thought is a text part with a mark; what is no text is named."""
    parts = [{"text": "Hm.", "thought": True}, {"executableCode": {"code": "1"}}, {"text": "Paris"}]
    answer = parsed(reply(*parts, {"thoughtSignature": "s"}, {"\u00e9": 1}))
    assert answer.text == "Paris"
    assert answer.transcript == {"reasoning": "Hm.", "ignored_parts": ["executableCode", "empty", "unknown"]}
    canonical.encode(answer.transcript)


@pytest.mark.parametrize("content", [{}, {"role": "model"}, {"role": "model", "parts": []}])
def test_candidate_without_parts_is_an_empty_answer(content: dict[str, Any]) -> None:
    """It happens; it is the model's own."""
    answer = parsed({"candidates": [{"content": content, "finishReason": "STOP"}], "modelVersion": "m-1"})
    assert (answer.text, answer.finish, answer.served) == ("", "STOP", "m-1")


@pytest.mark.parametrize("blocked", ["SAFETY", "OTHER", "BLOCKLIST", "A_NEW_ONE"])
def test_blocked_prompt_is_a_refusal_for_whatever_reason(blocked: str) -> None:
    """No candidate comes with it."""
    body = {"candidates": [], "promptFeedback": {"blockReason": blocked}, "modelVersion": "m-1"}
    answer = parsed(body)
    assert (answer.refusal, answer.finish, answer.text) == (True, blocked, "")


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (None, None),
        ({}, None),
        ([], None),
        ({"promptTokenCount": 0, "candidatesTokenCount": 0}, Usage(input=0, output=0)),
        ({"promptTokenCount": 5}, Usage(input=5)),
        ({"candidatesTokenCount": 5}, Usage(output=5)),
        ({"thoughtsTokenCount": 5}, Usage(reasoning=5)),
        ({"candidatesTokenCount": 5, "thoughtsTokenCount": 7}, Usage(output=12, reasoning=7)),
        (
            {"promptTokenCount": 5, "totalTokenCount": 12, "thoughtsTokenCount": 7},
            Usage(input=5, output=7, reasoning=7),
        ),
        ({"promptTokenCount": 5, "totalTokenCount": 11, "thoughtsTokenCount": 7}, Usage(input=5, reasoning=7)),
        ({"promptTokenCount": 5, "totalTokenCount": 4}, Usage(input=5)),
        ({"promptTokenCount": -1, "candidatesTokenCount": True}, None),
        ({"promptTokenCount": 9, "cachedContentTokenCount": 4}, Usage(input=9, cache_read=4)),
        ({"promptTokenCount": 2**53 - 1, "toolUsePromptTokenCount": 1, "candidatesTokenCount": 1}, Usage(output=1)),
    ],
)
def test_usage_that_is_missing_is_unknown_and_zero_is_zero(usage: Any, found: Usage | None) -> None:
    """Case H11: only what the counts themselves say, or what their documented sum leaves."""
    assert parsed(reply(usageMetadata=usage)).usage == found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"<html>",
        b"\xff",
        b"[" * 100_000,
        b'{"candidates":[],"candidates":[{"content":{"parts":[{"text":"b"}]}}]}',
        {},
        {"candidates": []},
        {"candidates": {}},
        {"candidates": ["x"]},
        {"candidates": [{"content": "Paris"}]},
        {"candidates": [{"content": {"parts": "Paris"}}]},
        {"candidates": [{"content": {"parts": ["Paris"]}}]},
        {"promptFeedback": {}},
        reply({"functionCall": {"args": {}}}),
        reply({"functionCall": "f"}),
        reply({"functionCall": {"name": "f", "args": {"n": 2**60}}}),
    ],
)
def test_reply_without_an_answer_is_a_bad_reply(body: Any) -> None:
    """Cases H06, H10: never an exception of ours, and never an empty answer."""
    assert failed(body).kind == "bad_reply"


def test_reply_that_was_cut_is_a_broken_transport() -> None:
    """Case H13, where nothing declared the length."""
    assert failed(b'{"candidates":[{"content":{"parts":[{"text":"Pa').kind == "transport"


@pytest.mark.parametrize(
    ("error", "status", "counts_as"),
    [
        ({"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}, 400, 400),
        ({"code": 400, "message": "m", "details": [{"reason": "API_KEY_INVALID"}]}, 400, 401),
        ({"code": 400, "message": "m", "status": "FAILED_PRECONDITION"}, 400, 403),
        ({"code": 403, "message": "m", "status": "PERMISSION_DENIED"}, 403, 403),
        ({"code": 404, "message": "m", "status": "NOT_FOUND"}, 404, 404),
        ({"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}, 200, 429),
        ({"message": "m", "status": "UNAVAILABLE"}, 503, 503),
        ({"message": "m"}, 200, 200),
        ("m", 200, 200),
    ],
)
def test_error_counts_as_what_it_says_of_the_model(error: Any, status: int, counts_as: int) -> None:
    """A key or an account is not the model's: a status 400 would count against it."""
    failure = failed({"error": error}, status)
    assert (failure.kind, failure.status) == ("http_status", counts_as)
    assert failure.message.endswith(": m")


@pytest.mark.parametrize("wait", ["-1s", "1", "s", 3, None, "1e9s", "99999999999s"])
def test_wait_that_cannot_be_read_is_none(wait: Any) -> None:
    """A foreign text is no number before it was looked at."""
    error = {"code": 429, "message": "m", "details": [{"retryDelay": wait}, "x"]}
    assert failed({"error": error}, 429).retry_after_s is None


def test_served_model_and_ids_are_read() -> None:
    """Case H16, also of what failed."""
    answer = parsed(reply(modelVersion="m-2"), headers={"x-request-id": "q"})
    assert (answer.served, answer.request_ids) == ("m-2", ("q", "r"))
    failure = failed({"candidates": [], "modelVersion": "m-2", "responseId": "r"})
    assert (failure.served, failure.request_ids) == ("m-2", ("r",))
