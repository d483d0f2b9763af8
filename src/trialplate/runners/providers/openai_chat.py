# SPDX-License-Identifier: Apache-2.0
"""The chat-completions wire format, two pure functions: what is sent for a request, and what a reply means.

What is sent: `model`, `messages`, and the configuration's settings as they are. Messages are one system message, if the
model has a system text, and one user message: every document in order ("Document: NAME", an empty line, its text, an
empty line), then the case's input.

What is read of a reply: the first choice's content, as text or as a list of parts of which the text parts are joined
without a separator; its refusal; why it stopped; the usage in detail; the model that answered; the reply's ids.
A missing count is unknown and stays None. A reply that is no JSON, that holds a key twice, or that has no choice is
`bad_reply`; an error object inside a status 200 is `http_status` with the code that stands in it. A stream that was not
asked for is read as what it comes to (`openai_stream`).

Source: OpenAI API reference, "Create chat completion" and "The chat completion object"; `cache_write_tokens`,
`reasoning` and error objects in choices are what routers in front of other models add.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, Request
from trialplate.runners.providers import openai_stream, prompts, replies
from trialplate.runners.providers.replies import count, is_short, snippet
from trialplate.transport.http import HttpRequest

__all__ = ["RESERVED", "build_request", "check_configuration", "key_headers", "parse_reply"]

RESERVED = ("messages", "model", "stream")
"""Keys of the body that this client owns."""
_PATH = "/chat/completions"


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, or an endpoint that is no plain http(s) URL.
    """
    prompts.check(configuration, RESERVED)
    prompts.endpoint(configuration, _PATH)


def key_headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"authorization": f"Bearer {key}"}


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for one attempt, the key excepted.

    Raises:
        SpecError: see `check_configuration`.
    """
    configuration = request.configuration
    check_configuration(configuration)
    system = [{"role": "system", "content": text} for text in prompts.system(request)]
    messages = [*system, {"role": "user", "content": prompts.user(request)}]
    return HttpRequest(
        url=prompts.endpoint(configuration, _PATH),
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "x-client-request-id": request.request_id,
        },
        body={**configuration.settings, "model": configuration.model_id, "messages": messages},
    )


# ---------------------------------------------------------------------------------------------------------- reply


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
        raise _failure("http_status", message, value, headers, body, status=status)
    if headers.get("content-type", "").startswith("text/event-stream"):
        value = openai_stream.assembled(body)
        if value is None:
            raise _failure("transport", f"the stream broke off: {snippet(body)}", None, headers, body)
    value = replies.require_object(value, headers, body)
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    for holder in (value, choice or {}):
        if holder.get("error") is not None:
            code = replies.error_code(holder["error"])
            message = f"an error inside a status {status}: {replies.error_text(holder) or snippet(body)}"
            raise _failure("http_status", message, value, headers, body, status=code or status)
    if choice is None:
        raise _failure("bad_reply", f"the reply has no choice: {snippet(body)}", value, headers, body)
    return _answer(value, choice, headers, body)


def _answer(value: dict[str, Any], choice: dict[str, Any], headers: Mapping[str, str], body: bytes) -> Answer:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _failure("bad_reply", f"the choice has no message: {snippet(body)}", value, headers, body)
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        text = f"the content is neither text nor a list of parts: {snippet(body)}"
        raise _failure("bad_reply", text, value, headers, body)
    text, refused, others = _content(content)
    refusal = message.get("refusal") if isinstance(message.get("refusal"), str) else ""
    refusal = refusal or refused
    finish = choice.get("finish_reason")
    served = value.get("model")
    return Answer(
        text=text or refusal,
        usage=_usage(value.get("usage")),
        finish=finish if is_short(finish) else None,
        served=served if isinstance(served, str) and served else None,
        request_ids=replies.request_ids(value, headers),
        received=len(body),
        transcript=_transcript(message, others),
        refusal=bool(refusal) and not text,
    )


def _content(content: str | list[Any] | None) -> tuple[str, str, list[str]]:
    """Return the text, the refusal among the parts, and the types of the parts that were left out."""
    if not isinstance(content, list):
        return content or "", "", []
    texts, refusals, others = [], [], []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            refusals.append(part["refusal"])
        else:
            others.append(kind if is_short(kind) else "unknown")
    return "".join(texts), "".join(refusals), others


def _transcript(message: dict[str, Any], others: list[str]) -> Json | None:
    """Return what came with the text and is no answer, in a form that canonical JSON can hold."""
    found: dict[str, Json] = {}
    if others:
        found["ignored_parts"] = others
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            found.setdefault("reasoning", canonical.text_out(message[key]))
    if message.get("tool_calls"):
        found["tool_calls"] = canonical.text_out(json.dumps(message["tool_calls"], ensure_ascii=False))
    return found or None


def _usage(raw: Any) -> Usage | None:
    """Return the counts that are there; None if there are none. An explicit zero stays zero."""
    if not isinstance(raw, dict):
        return None
    into, out = raw.get("prompt_tokens_details"), raw.get("completion_tokens_details")
    usage = Usage(
        input=count(raw, "prompt_tokens"),
        output=count(raw, "completion_tokens"),
        cache_read=count(into, "cached_tokens"),
        cache_write=count(into, "cache_write_tokens"),
        reasoning=count(out, "reasoning_tokens"),
    )
    return None if usage == Usage() else usage


def _failure(
    kind: Any, message: str, value: Any, headers: Mapping[str, str], body: bytes, status: int | None = None
) -> Failure:
    usage = _usage(value.get("usage")) if isinstance(value, dict) else None
    return replies.failure(kind, message, value, headers, body, status=status, usage=usage)
