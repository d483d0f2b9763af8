# SPDX-License-Identifier: Apache-2.0
"""Chat completions as pure functions: what is sent, and what is read of a reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attempts import reading

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, PlanText
from trialplate.runners.base import Request
from trialplate.runners.providers.openai_chat import build_request, check_configuration, parse_reply

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "http"
COMMITMENT = "A" * 43
JSON_TYPE = {"content-type": "application/json"}


def configuration(**changes: Any) -> Configuration:
    """Return a configuration of this runner."""
    fields: dict[str, Any] = {
        "name": "m",
        "model": "m",
        "profile": "default",
        "runner": "openai-compatible",
        "model_id": "m-small",
        "endpoint": "https://api.example.com/v1",
    }
    return Configuration(**{**fields, **changes})


def request(asked: Configuration, texts: dict[tuple[str, str], str] | None = None) -> Request:
    """Return a first attempt."""
    case = Case(id="q1", input="Which city?\n")
    return Request(
        configuration=asked, case=case, texts=texts or {}, repeat=1, attempt=1, timeout_s=1.0, request_id="r-1"
    )


parsed, failed = reading(parse_reply)


def completion(content: Any = "Paris", **changes: Any) -> dict[str, Any]:
    """Return a completion object with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return {"id": "x", "object": "chat.completion", "model": "m-small", "choices": [choice], **changes}


def step(name: str, index: int = 0) -> dict[str, Any]:
    """Return a step of a case file."""
    vector = json.loads((CASES / f"http_{name}.json").read_text())
    found: dict[str, Any] = (vector[index] if isinstance(vector, list) else vector)["steps"][0]
    return found


# ------------------------------------------------------------------------------------------------------------ sent


def test_request_holds_documents_in_order_before_the_question() -> None:
    """System text, then one user message: each document with its name, then the input as it is."""
    texts = (
        PlanText(role="system", commitment=COMMITMENT),
        PlanText(role="document", name="b.md", commitment=COMMITMENT),
        PlanText(role="document", name="a.md", commitment=COMMITMENT),
    )
    opened = {("system", ""): "Be terse.", ("document", "b.md"): "Bee.", ("document", "a.md"): "Ay."}
    wire = build_request(request(configuration(texts=texts, settings={"temperature": 0.7}), opened))
    assert wire.method == "POST"
    assert wire.url == "https://api.example.com/v1/chat/completions"
    assert wire.headers["x-client-request-id"] == "r-1"
    assert wire.body == {
        "model": "m-small",
        "temperature": 0.7,
        "messages": [
            {"role": "system", "content": "Be terse."},
            {"role": "user", "content": "Document: b.md\n\nBee.\n\nDocument: a.md\n\nAy.\n\nWhich city?\n"},
        ],
    }


def test_request_without_texts_is_the_question_alone() -> None:
    """No empty system message is made up."""
    assert build_request(request(configuration())).body["messages"] == [{"role": "user", "content": "Which city?\n"}]


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://[::1]:8080", "http://[::1]:8080/chat/completions"),
        ("https://h.example/d/x?api-version=1", "https://h.example/d/x/chat/completions?api-version=1"),
    ],
)
def test_url_is_the_base_with_the_path_added(endpoint: str, url: str) -> None:
    """A trailing slash and a query do not break it."""
    assert build_request(request(configuration(endpoint=endpoint))).url == url


@pytest.mark.parametrize("key", ["model", "messages", "stream_options"])
def test_configuration_with_a_reserved_setting_is_refused(key: str) -> None:
    """`messages` would replace the question."""
    with pytest.raises(SpecError) as caught:
        build_request(request(configuration(settings={key: True})))
    assert caught.value.code == "RESERVED"
    assert key in caught.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"model_id": None},
        {"endpoint": None},
        {"endpoint": "api.example.com/v1"},
        {"endpoint": "ftp://api.example.com"},
        {"endpoint": "http://h:notaport/"},
        {"endpoint": "http://h/#part"},
        {"endpoint": "http://user:PLANTED-7f3a-not-a-real-key@host/"},
    ],
)
def test_configuration_that_cannot_be_asked_is_refused_before_anything_is_spent(changes: dict[str, Any]) -> None:
    """Case Z04 among them: a password in the URL would stand in every record, and is not shown either."""
    with pytest.raises(SpecError) as caught:
        check_configuration(configuration(**changes))
    assert "PLANTED" not in str(caught.value)


# ------------------------------------------------------------------------------------------------------------ read


def test_reply_in_full_is_read_in_full() -> None:
    """Text, finish reason, served model, ids, and usage with its details."""
    body = completion(
        usage={
            "prompt_tokens": 1000,
            "completion_tokens": 200,
            "total_tokens": 1200,
            "prompt_tokens_details": {"cached_tokens": 400, "cache_write_tokens": 5, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 150},
        }
    )
    answer = parsed(body, headers={"x-request-id": "req-1"})
    assert answer.text == "Paris"
    assert answer.finish == "stop"
    assert answer.served == "m-small"
    assert answer.request_ids == ("req-1", "x")
    assert answer.usage == Usage(input=1000, output=200, cache_read=400, cache_write=5, reasoning=150)
    assert answer.received == len(json.dumps(body))
    assert answer.transcript is None
    assert not answer.refusal


def test_usage_zero_stays_zero_and_absent_stays_unknown() -> None:
    """Cases K06, H11: an explicit 0 is 0; a missing count is None, never 0."""
    for vector in json.loads((CASES / "usage_zero.json").read_text()):
        usage = parsed(completion(usage=vector["usage"])).usage
        expected = vector["expect"]
        assert (usage.input if usage else None) == expected["input_tokens"]
        if "output_tokens" in expected:
            assert usage is not None and usage.output == expected["output_tokens"]
    assert parsed(step("no_usage")["json"]).usage is None


@pytest.mark.parametrize("count", [-1, 1.5, "7", True, None, 2**53])
def test_usage_that_is_no_count_is_unknown(count: Any) -> None:
    """Nothing is guessed from a count that cannot be one."""
    usage = parsed(completion(usage={"prompt_tokens": count, "completion_tokens": 3})).usage
    assert usage == Usage(output=3)


@pytest.mark.parametrize("usage", [None, [], "many", {}, {"prompt_tokens_details": None}])
def test_usage_without_any_count_is_none(usage: Any) -> None:
    """Case H11."""
    assert parsed(completion(usage=usage)).usage is None


def test_content_as_parts_is_joined_without_a_separator() -> None:
    """Case H09: two text parts and an image are "Paris", and the image is noted."""
    answer = parsed(step("parts")["json"])
    assert answer.text == "Paris"
    assert answer.transcript == {"ignored_parts": ["image_url"]}


def test_truncated_reply_without_text_keeps_its_finish_reason_and_its_cost() -> None:
    """Case H07: 199 of 200 tokens were reasoning; the answer is empty and billed."""
    answer = parsed(step("length_empty")["json"])
    assert (answer.text, answer.finish) == ("", "length")
    assert answer.usage == Usage(input=50, output=200, reasoning=199)


def test_answer_of_another_model_is_reported_under_its_name() -> None:
    """Case H16: the served model is what the reply says, never what was asked."""
    assert parsed(step("other_model")["json"]).served == "m-large"
    assert parsed(completion(model=None)).served is None


def test_refusal_in_its_own_field_is_a_refusal() -> None:
    """Null content with a refusal: the text is what it said, and it is marked."""
    body = completion(None)
    body["choices"][0]["message"]["refusal"] = "I cannot help with that."
    answer = parsed(body)
    assert (answer.text, answer.refusal) == ("I cannot help with that.", True)


def test_refusal_among_the_parts_is_a_refusal() -> None:
    """The same as a content part."""
    answer = parsed(completion([{"type": "refusal", "refusal": "No."}]))
    assert (answer.text, answer.refusal) == ("No.", True)


def test_null_content_without_a_refusal_is_an_empty_answer() -> None:
    """A reply with tool calls only is no failure of the transport; the calls are kept beside it."""
    body = completion(None)
    body["choices"][0]["finish_reason"] = "tool_calls"
    body["choices"][0]["message"]["tool_calls"] = [{"id": "c1", "type": "function", "function": {"name": "f"}}]
    answer = parsed(body)
    assert (answer.text, answer.finish, answer.refusal) == ("", "tool_calls", False)
    assert answer.transcript == {"tool_calls": '[{"id": "c1", "type": "function", "function": {"name": "f"}}]'}


def test_reasoning_beside_the_answer_is_kept_apart() -> None:
    """It is evidence, and it is not scored."""
    body = completion("42")
    body["choices"][0]["message"]["reasoning_content"] = "half \ud835"
    answer = parsed(json.dumps(body).encode())
    assert answer.text == "42"
    assert answer.transcript is not None
    assert canonical.text_in(answer.transcript["reasoning"]) == "half \ud835"
    canonical.encode(answer.transcript)


def test_lone_surrogate_in_an_answer_is_kept() -> None:
    """Case Z06: it is an answer like any other."""
    content = json.loads((CASES / "surrogate_answer.json").read_text())["content"]
    assert parsed(json.dumps(completion(content)).encode()).text == "half \ud835 pair"


def test_strings_that_may_not_stand_in_the_open_are_left_out() -> None:
    """Ids and the finish reason are at most 128 printable ASCII characters."""
    body = completion(id="x" * 129)
    body["choices"][0]["finish_reason"] = "st\u00f6p"
    answer = parsed(body, headers={"x-request-id": "\x1b[31m"})
    assert answer.request_ids == ()
    assert answer.finish is None


# -------------------------------------------------------------------------------------------------------- failures


def test_error_inside_a_success_is_the_status_that_it_names() -> None:
    """Case H03: HTTP 200 with choices null and an error code 429."""
    failure = failed(step("200_error")["json"])
    assert (failure.kind, failure.status) == ("http_status", 429)
    assert "Provider returned error" in failure.message


@pytest.mark.parametrize(
    ("error", "status"),
    [({"code": "503", "message": "m"}, 503), ({"code": "rate_limit_exceeded"}, 200), ({"code": 7}, 200), ("down", 200)],
)
def test_error_inside_a_success_without_a_status_keeps_the_real_one(error: Any, status: int) -> None:
    """No status is made up; the kind says that it was no answer."""
    failure = failed({"error": error, "choices": []})
    assert (failure.kind, failure.status) == ("http_status", status)


def test_error_inside_a_choice_is_no_answer() -> None:
    """Routers report a provider that broke off in the choice itself."""
    body = completion("Par")
    body["choices"][0]["error"] = {"code": 502, "message": "upstream"}
    assert failed(body).status == 502


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 422, 429, 500, 503, 529])
def test_status_other_than_success_is_reported_as_it_was(status: int) -> None:
    """Cases H05, H17: the runner reports; whether it is tried again is not its to say."""
    failure = failed({"error": {"message": "bad", "type": "t"}}, status)
    assert (failure.kind, failure.status) == ("http_status", status)
    assert "bad" in failure.message


def test_page_of_a_gateway_instead_of_an_answer_is_quoted() -> None:
    """Case H06: a 502 page is a status; a 200 page is a bad reply with its media type and beginning."""
    page = step("html", 1)["body"].encode()
    assert failed(page, 502, headers={"content-type": "text/html"}).kind == "http_status"
    failure = failed(page, headers={"content-type": "text/html; charset=utf-8"})
    assert failure.kind == "bad_reply"
    assert "non-JSON body (text/html)" in failure.message
    assert "<!DOCTYPE html>" in failure.message
    assert len(failed(b"<p>" * 5000).message) < 300


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"Paris"',
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"{}",
        b"[" * 100_000,
        b'{"choices":' + b"9" * 5000 + b"}",
        b'{"choices":[]}',
        b'{"choices":[7]}',
        b'{"choices":[{"message":null}]}',
        b'{"choices":[{"message":{"content":7}}]}',
        b'{"choices":[{"message":{"content":"Lyon","content":"Paris"}}]}',
    ],
)
def test_reply_without_one_clear_answer_is_a_bad_reply(body: bytes) -> None:
    """Never an exception of Python's, and never one of two contents by luck."""
    assert failed(body, headers={"content-length": str(len(body))}).kind == "bad_reply"


def test_reply_that_ends_in_the_middle_is_a_broken_transport() -> None:
    """Case H13 where no length was declared: half an answer is never scored."""
    assert failed(b'{"choices":[{"message":{"content":"Pa').kind == "transport"


def test_failure_that_was_billed_keeps_its_usage() -> None:
    """Money that was spent is counted, also for a reply without an answer."""
    failure = failed({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}, "model": "m-small"})
    assert failure.usage == Usage(input=9, output=0)
    assert failure.served == "m-small"


# ------------------------------------------------------------------------------------------- a stream nobody asked for

STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def streamed(*events: Any, done: bool = True) -> bytes:
    """Return the events of a stream."""
    lines = [f"data: {json.dumps(event)}" for event in events] + ["data: [DONE]"] * done
    return "\r\n\r\n".join([": comment", *lines, ""]).encode()


def chunk(content: Any = None, finish: str | None = None, index: int = 0, **fields: Any) -> dict[str, Any]:
    """Return one event."""
    delta = {} if content is None else {"content": content}
    return {"model": "m-small", "choices": [{"index": index, "delta": delta, "finish_reason": finish}], **fields}


def test_stream_is_read_as_what_it_comes_to() -> None:
    """Case H10: deltas as text or parts, another choice left out, usage in an event of its own."""
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    parts = [{"type": "text", "text": "ri"}]
    answer = parsed(
        streamed(chunk("Pa"), chunk("no", index=1), chunk(parts), chunk("s"), chunk(finish="length"), usage),
        headers=STREAM,
    )
    assert (answer.text, answer.finish, answer.served) == ("Paris", "length", "m-small")
    assert answer.usage == Usage(input=3, output=2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        streamed(chunk("Pa"), done=False),
        streamed(chunk("Paris"), chunk(finish="stop"), done=False),
        b"data: {\n\ndata: [DONE]\n\n",
        b'data: "text"\n\ndata: [DONE]\n\n',
    ],
)
def test_stream_that_is_not_whole_is_a_broken_transport(body: bytes) -> None:
    """Case H13 for streams: only `[DONE]` says that nothing is missing."""
    assert failed(body, headers=STREAM).kind == "transport"


def test_error_in_a_stream_is_its_status() -> None:
    """After a 200 and half an answer, with or without an end."""
    event = {"error": {"code": 502, "message": "upstream"}}
    for done in (True, False):
        assert failed(streamed(chunk("Pa"), event, done=done), headers=STREAM).status == 502


def test_odd_deltas_of_a_stream_are_no_answer_of_ours() -> None:
    """Numbers, lists and nothing where a delta should be."""
    odd = [{"choices": [None, 5, {"delta": 5}, {"delta": {"content": 5, "refusal": 7}}]}, {"choices": 3}]
    assert parsed(streamed(*odd, chunk("x", finish="stop")), headers=STREAM).text == "x"


# --------------------------------------------------------------------------------------------------------- tool calls


def called(finish: Any = "tool_calls", **changes: Any) -> dict[str, Any]:
    """Return a completion that calls a function."""
    body = completion(None)
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **changes}
    body["choices"][0]["message"]["tool_calls"] = [call]
    body["choices"][0]["finish_reason"] = finish
    return body


@pytest.mark.parametrize("finish", ["tool_calls", "", None])
def test_tool_calls_count_behind_their_own_reason_and_none(finish: Any) -> None:
    """OpenAI's rule: any other reason is an end."""
    assert [call.id for call in parsed(called(finish)).tool_calls] == ["c1"]


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "function_call", 7])
def test_tool_calls_behind_another_reason_are_kept_and_not_made(finish: Any) -> None:
    """They may be cut; the transcript has them."""
    answer = parsed(called(finish))
    assert (answer.tool_calls, answer.replay) == ((), None)
    assert answer.transcript is not None and "tool_calls" in answer.transcript


@pytest.mark.parametrize(
    "changes", [{"function": None}, {"function": {"arguments": "{}"}}, {"function": {"name": 7}}, {"x": float("inf")}]
)
def test_tool_call_that_cannot_be_answered_is_a_bad_reply(changes: dict[str, Any]) -> None:
    """Without a name nothing can be called, and what has no JSON cannot go back."""
    assert failed(called(**changes)).kind == "bad_reply"


def test_tool_call_without_an_id_gets_one_that_goes_back_with_it() -> None:
    """Some servers give none, and the result must name its call."""
    answer = parsed(called(id=None))
    assert answer.tool_calls[0].id == "call_1"
    assert answer.replay is not None and answer.replay["tool_calls"][0]["id"] == "call_1"


def test_streamed_tool_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    """What has no id goes on with the last call."""

    def piece(**call: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}

    events = [
        piece(id="a", function={"name": "f", "arguments": '{"x"'}),
        piece(function={"arguments": ": 1}"}),
        piece(id="b", function={"name": "g", "arguments": {"y": 2}}),
    ]
    answer = parsed(streamed(*events, chunk(finish="tool_calls")), headers=STREAM)
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("a", "f", '{"x": 1}'),
        ("b", "g", '{"y": 2}'),
    ]


@pytest.mark.parametrize("odd", [None, 5, "f", {"function": 7}, {"index": 0}])
def test_odd_piece_of_a_streamed_tool_call_is_a_bad_reply(odd: Any) -> None:
    """Nothing is called that was not named."""
    event = {"choices": [{"index": 0, "delta": {"tool_calls": [odd]}}]}
    assert failed(streamed(event, chunk(finish="tool_calls")), headers=STREAM).kind == "bad_reply"


def test_text_before_a_streamed_tool_call_goes_back_as_one_text() -> None:
    """Not as the pieces that it came in."""
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    event = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    answer = parsed(streamed(chunk("Let "), chunk("me"), event, chunk(finish="tool_calls")), headers=STREAM)
    assert answer.replay is not None
    assert answer.replay["content"] == "Let me"
    assert answer.replay["tool_calls"] == [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]


@pytest.mark.parametrize(
    ("settings", "structured"),
    [({"response_format": {"type": "text"}}, "native"), ({"response_format": {}}, "json_object")],
)
def test_form_of_the_answer_cannot_be_set_twice(settings: dict[str, Any], structured: Any) -> None:
    """What the cases ask for would replace it without a word."""
    with pytest.raises(SpecError) as caught:
        check_configuration(configuration(settings=settings, structured=structured))
    assert caught.value.code == "RESERVED"
    check_configuration(configuration(settings=settings, structured="text"))
