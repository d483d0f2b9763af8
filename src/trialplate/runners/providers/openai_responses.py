# SPDX-License-Identifier: Apache-2.0
"""The wire format of OpenAI's Responses API: what is sent for a request, and what a reply means.

What is sent: `model`, `input`, and the settings under this interface's names. The system text and what is said about
the form of the answer are developer messages; then comes one user message (see `openai_chat`, whose parts have other
names here); then, for each turn so far, every item of the model's output as it came, and the results in the order of
the calls. Nothing is kept at the provider (`store: false`): each request holds the whole conversation, its reasoning
encrypted (ADR 35). A function's `strict` is false, since its default is true here.

What is read of a reply: the text of its messages, of those whose phase is `final_answer` if there is one; messages of
the phase `commentary` are no answer and stand in the transcript, as does the reasoning. `incomplete` is an answer that
was cut ("length") or held back ("content_filter"), and its calls may be cut too, so that they do not count. An error
object inside a 200 is `http_status` with the status that its code stands for. Of a stream the last event holds all.

Source: OpenAI API reference, "Create a model response", "The response object", "Streaming events" (openai-python 3.3.1,
API description of 2026-08-21); guides "Conversation state", "Function calling", "File inputs", "Images and vision".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import first_flaw
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Attachment, Failure, Request, Tool, ToolCall
from trialplate.runners.providers import prompts, replies
from trialplate.runners.providers.replies import count, is_short, json_text, sendable, snippet
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "parse_reply"]

_RESERVED = ("include", "input", "model", "previous_response_id", "store", "stream_options", "text", "tools")
_PATH = "/responses"
_NAMES = {
    "max_completion_tokens": "max_output_tokens",
    "reasoning_context": "reasoning.context",
    "reasoning_effort": "reasoning.effort",
    "reasoning_mode": "reasoning.mode",
    "reasoning_summary": "reasoning.summary",
    "verbosity": "text.verbosity",
}
_DETAILS = {"auto": "auto", "low": "low", "medium": "high", "high": "high", "original": "original"}
_STATUS = {"insufficient_quota": 429, "rate_limit_exceeded": 429, "server_error": 500, "vector_store_timeout": 504}
_INVALID = ("bio_policy", "empty_image_file", "failed_to_download_image", "image_", "invalid_", "unsupported_image")
"""How the codes begin that say that the request itself will not do."""
_ENDS = ("response.completed", "response.incomplete", "response.failed")


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, or an endpoint that is no plain http(s) URL.
    """
    prompts.check(configuration, _RESERVED)
    prompts.endpoint(configuration, _PATH)


# ----------------------------------------------------------------------------------------------------------- request


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted.

    Raises:
        SpecError: see `check_configuration`.
    """
    configuration, shape = request.configuration, request.shape
    check_configuration(configuration)
    body: dict[str, Json] = prompts.renamed(configuration.settings, _NAMES)
    body |= {"model": configuration.model_id, "input": _input(request), "store": False}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if shape is not None and shape.mode == "native":
        form = {"type": "json_schema", "name": "response", "strict": True, "schema": shape.schema}
        body["text"] = {**body.get("text", {}), "format": form}
    elif shape is not None and shape.mode == "json_object":
        body["text"] = {**body.get("text", {}), "format": {"type": "json_object"}}
    url = prompts.endpoint(configuration, _PATH)
    return HttpRequest(url=url, headers=prompts.headers(request, streamed=body.get("stream") is True), body=body)


def _input(request: Request) -> list[Json]:
    said = [*prompts.system(request), *request.instructions]
    made: list[Json] = [{"role": "developer", "content": text} for text in said]
    made.append({"role": "user", "content": _prompt(request)})
    for turn in request.turns:
        if not isinstance(turn.reply.replay, list):
            raise RuntimeError("a turn of this conversation was read by another provider")
        made += turn.reply.replay
        made += [
            {"type": "function_call_output", "call_id": result.call.id, "output": sendable(result.text)}
            for result in turn.results
        ]
    return made


def _prompt(request: Request) -> Json:
    """Return the user message's content: a plain text wherever that says it all."""
    text = prompts.user(request)
    if not any(file.native for file in request.files):
        return "".join([*(f"{prompts.announced(file)}\n\n" for file in request.files), text])
    parts: list[Json] = []
    for file in request.files:
        parts.append({"type": "input_text", "text": prompts.announced(file)})
        if file.native:
            parts.append(_part(file))
    return [*parts, {"type": "input_text", "text": text}]


def _part(file: Attachment) -> Json:
    """Return a file as a part of a message; the detail of a PDF file is that of its pages' images."""
    detail = _DETAILS.get(file.detail or "")
    if file.type.startswith("image/"):
        part = {"type": "input_image", "image_url": prompts.data_url(file)}
    else:
        part = {"type": "input_file", "filename": file.name, "file_data": prompts.data_url(file)}
        detail = None if file.type != "application/pdf" else "high" if detail == "original" else detail
    return part if detail is None else {**part, "detail": detail}


def _tool(tool: Tool) -> Json:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **about, "strict": False}


# ------------------------------------------------------------------------------------------------------------- reply


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply.

    Args:
        status: of the reply.
        headers: names in lower case.
        body: the whole body.

    Raises:
        Failure: `http_status` for a status other than 2xx or an error object inside a 200; `bad_reply` for a reply
            without an answer; `transport` for one that was cut where its length was not declared.
    """
    value = replies.read_json(body)
    if not 200 <= status <= 299:
        message = f"status {status}: {replies.error_text(value) or snippet(body)}"
        raise _failure("http_status", message, value, headers, body, status)
    if headers.get("content-type", "").startswith("text/event-stream"):
        value = _assembled(body)
        if value is None:
            raise _failure("transport", f"the stream broke off: {snippet(body)}", None, headers, body)
    value = replies.require_object(value, headers, body)
    if value.get("error") is not None:
        told = replies.error_text(value) or snippet(body)
        message = f"an error inside a status {status}: {told}"
        raise _failure("http_status", message, value, headers, body, _status(value["error"]) or status)
    if value.get("status") not in ("completed", "incomplete", None):
        message = f"the response has the status {replies.shown(str(value['status']))}: {snippet(body)}"
        raise _failure("bad_reply", message, value, headers, body)
    items = value.get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _failure("bad_reply", f"the reply has no list of output items: {snippet(body)}", value, headers, body)
    return _answer(value, items, headers, body)


def _status(error: Any) -> int | None:
    """Return the HTTP status that an error's code stands for."""
    code = str(error.get("code") or error.get("type")) if isinstance(error, dict) else ""
    return _STATUS.get(code) or (400 if code.startswith(_INVALID) else replies.error_code(error))


def _answer(value: dict[str, Any], items: list[dict[str, Any]], headers: Mapping[str, str], body: bytes) -> Answer:
    text, refusal, comments = _said(items)
    details, served = value.get("incomplete_details"), value.get("model")
    cut = value.get("status") == "incomplete" or details is not None
    calls = [] if cut else [item for item in items if item.get("type") == "function_call"]
    if not all(isinstance(call.get(name), str) and call[name] for call in calls for name in ("call_id", "name")):
        raise _failure("bad_reply", f"a tool call names no function: {snippet(body)}", value, headers, body)
    replay = sendable(items) if calls else None
    if calls and first_flaw(replay) is not None:
        raise _failure("bad_reply", f"the reply holds what cannot be sent back: {snippet(body)}", value, headers, body)
    reason = details.get("reason") if isinstance(details, dict) else None
    finish = "length" if reason == "max_output_tokens" else reason
    finish = (finish if is_short(finish) else "incomplete") if cut else "tool_calls" if calls else "stop"
    return Answer(
        text=text or refusal,
        usage=_usage(value.get("usage")),
        finish=finish,
        served=served if isinstance(served, str) and served else None,
        request_ids=replies.request_ids(value, headers),
        received=len(body),
        transcript=_transcript(items, comments),
        refusal=bool(refusal) and not text,
        tool_calls=tuple(_call(call) for call in calls),
        replay=replay,
    )


def _call(item: dict[str, Any]) -> ToolCall:
    arguments = item.get("arguments")
    return ToolCall(
        id=sendable(item["call_id"]), name=item["name"], arguments=arguments if isinstance(arguments, str) else ""
    )


def _said(items: list[dict[str, Any]]) -> tuple[str, str, str]:
    """Return the answer's text, the refusal, and what was said on the way to the answer."""
    messages = [item for item in items if item.get("type") == "message"]
    finals = [item for item in messages if item.get("phase") == "final_answer"]
    finals = finals or [item for item in messages if item.get("phase") != "commentary"]
    comments = [item for item in messages if item not in finals]
    return _texts(finals, "content", "text"), _texts(finals, "content", "refusal"), _texts(comments, "content", "text")


def _texts(items: list[dict[str, Any]], holder: str, name: str) -> str:
    """Return the texts under a name in the parts of some items, joined without a separator."""
    parts = [part for item in items if isinstance(item.get(holder), list) for part in item[holder]]
    return "".join(part[name] for part in parts if isinstance(part, dict) and isinstance(part.get(name), str))


def _transcript(items: list[dict[str, Any]], comments: str) -> Json | None:
    """Return what came with the text and is no answer, in a form that canonical JSON can hold."""
    found: dict[str, Json] = {}
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    reasoning = _texts(thoughts, "summary", "text") + _texts(thoughts, "content", "text")
    calls = [item for item in items if item.get("type") == "function_call"]
    others = [item.get("type") for item in items if item.get("type") not in ("message", "reasoning", "function_call")]
    if others:
        found["ignored_parts"] = [kind if is_short(kind) else "unknown" for kind in others]
    if reasoning:
        found["reasoning"] = canonical.text_out(reasoning)
    if comments:
        found["commentary"] = canonical.text_out(comments)
    if calls:
        found["tool_calls"] = canonical.text_out(json_text(calls))
    return found or None


def _usage(raw: Any) -> Usage | None:
    """Return the counts that are there; None if there are none. An explicit zero stays zero."""
    if not isinstance(raw, dict):
        return None
    usage = Usage(
        input=count(raw, "input_tokens"),
        output=count(raw, "output_tokens"),
        cache_read=count(raw.get("input_tokens_details"), "cached_tokens"),
        cache_write=count(raw.get("input_tokens_details"), "cache_write_tokens"),
        reasoning=count(raw.get("output_tokens_details"), "reasoning_tokens"),
    )
    return None if usage == Usage() else usage


def _assembled(body: bytes) -> dict[str, Any] | None:
    """Return the response that a stream's events come to, or None if the stream is not whole.

    The last event holds the whole response; where its output is left out, it is that of the items that were finished.
    """
    finished: dict[int, Any] = {}
    for data in replies.event_data(body):
        event = replies.read_json(data)
        if not isinstance(event, dict):
            return None
        if event.get("type") == "error":
            return {"error": event.get("error") or event}
        if event.get("type") == "response.output_item.done":
            place = event.get("output_index")
            finished[place if type(place) is int else len(finished)] = event.get("item")
        if event.get("type") in _ENDS:
            found = event.get("response")
            if not isinstance(found, dict):
                return None
            if event["type"] == "response.incomplete":
                found = {**found, "status": "incomplete"}
            return found if found.get("output") else {**found, "output": [finished[key] for key in sorted(finished)]}
    return None


def _failure(
    kind: Any, message: str, value: Any, headers: Mapping[str, str], body: bytes, status: int | None = None
) -> Failure:
    usage = _usage(value.get("usage")) if isinstance(value, dict) else None
    return replies.failure(kind, message, value, headers, body, status=status, usage=usage)
