# SPDX-License-Identifier: Apache-2.0
"""The wire format of Anthropic's Messages API, two pure functions: what is sent, and what a reply means.

What is sent (`anthropic_body`): the settings, the system text with instructions about the form as further blocks, and
one user message, files first and the prompt last (see `prompts`). `effort` becomes adaptive thinking with that effort,
`thinking_budget_tokens` thinking with a budget, a word as `thinking` its type. A form of the answer is
`output_config.format`; there is no mode of JSON alone, so in the other modes the words of the instructions ask for it.
Under `legacy_structured_output` it is the input of a tool, `submit_response`, which the model is told to call: models
that refuse a forced choice of tools take that too. `prompt_cache_ttl` is the top-level `cache_control`, and one
breakpoint behind what is the same in every request: the last tool, else the last system block, else the last text or
image of the first user message. The version header follows from the settings: 2026-10-21, the current version, takes
no sampling parameters; a request with `temperature`, `top_p` or `top_k` goes under 2023-06-01, the last that does.

What is read of a reply, and what is made the same as elsewhere:
- the text blocks, joined without a separator; thinking stands in the transcript, other blocks are named there;
- tool calls, where the reply stopped for them (`tool_use`, `pause_turn`, no reason); with any other reason, also one
  that is unknown, the reply is an end, and a call in it may have been cut;
- `pause_turn`: the provider broke off its own turn, and goes on when it gets it back;
- `stop_reason`: `max_tokens` and `model_context_window_exceeded` are "length", what the engine calls a truncated
  answer; `refusal` is a refusal, whatever text came before it;
- `usage`: `input_tokens` leaves out what was read from or written to the cache, so the three are added;
  `output_tokens` holds the thinking. A missing count is unknown and stays None. Where the provider's own tools were
  used that are billed by use (`server_tool_use`), tokens do not give the cost, and the usage is unknown.

What goes back in the next turn is the reply's content as it came, thinking and its signatures included, without empty
text blocks, which the interface makes and does not take; then all results of the turn in one user message.

An error object is `http_status` also inside a 200 or a stream, with the status of its type. A spend limit that the
account's owner has set comes as status 400; it says nothing about the model, and counts as 402, the status of billing
errors.

Source: Claude API reference, "Create a Message", "Versions" (2026-10-21), "Migrating to API version 2026-10-21",
"Claude API errors", "Stop reasons and fallback", "Prompt caching", "Structured outputs", "Adaptive thinking", "Parallel
tool use", "Server tools", "Vision", "PDF support", "Streaming messages"; read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER, first_flaw
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, Request, ToolCall
from trialplate.runners.providers import anthropic_stream, prompts, replies
from trialplate.runners.providers.anthropic_body import SUBMIT, body_of
from trialplate.runners.providers.replies import count, is_short, json_text, sendable, snippet
from trialplate.transport.http import HttpRequest

__all__ = ["RESERVED", "build_request", "check_configuration", "key_headers", "parse_reply"]

RESERVED = ("messages", "model", "system")
"""Keys of the body that this client owns."""
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_CURRENT, _WITH_SAMPLING = "2026-10-21", "2023-06-01"
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_SPENT = re.compile(r"You have reached your specified (workspace )?API usage limits")
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_OPEN = (None, "", "tool_use", "pause_turn")
"""Reasons to stop after which a call of a tool is one; whatever is not here is an end."""


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, no `max_tokens`, an endpoint that is no plain http(s) URL, or a tool
            with a name that is taken.
    """
    prompts.check(configuration, RESERVED)
    where = f"models.{configuration.model}"
    longest = configuration.settings.get("max_tokens")
    if type(longest) is not int or longest < 1:
        message = "max_tokens is no whole number above 0, and this API needs one"
        raise SpecError(message, where=where, hint="write settings: {max_tokens: 4096}", code="MAX-TOKENS")
    if SUBMIT in [tool.name for tool in configuration.tools]:
        message = f"a tool is called {SUBMIT}, which is the name of the tool that takes a structured answer"
        raise SpecError(message, where=where, hint="give the tool another name", code="RESERVED")
    _endpoint(configuration)


def _endpoint(configuration: Configuration) -> str:
    base = (configuration.endpoint or "").rstrip("/")
    return prompts.endpoint(configuration, "/messages" if base.endswith("/v1") else "/v1/messages")


def key_headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"x-api-key": key}


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted.

    Raises:
        SpecError: see `check_configuration`.
        Failure: `not_started`: a file cannot be sent.
    """
    configuration = request.configuration
    check_configuration(configuration)
    body = body_of(request)
    return HttpRequest(
        url=_endpoint(configuration),
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "anthropic-version": _WITH_SAMPLING if _SAMPLING & body.keys() else _CURRENT,
            "content-type": "application/json",
        },
        body=body,
    )


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply.

    Args:
        status: of the reply.
        headers: names in lower case.
        body: the whole body.

    Raises:
        Failure: `http_status` for a status other than 2xx or an error object inside a 200; `bad_reply` for a reply
            without an answer; `transport` for one that was cut where its length was not declared, or a stream that
            was.
    """
    value = replies.read_json(body)
    if 200 <= status <= 299 and headers.get("content-type", "").startswith("text/event-stream"):
        value = anthropic_stream.assembled(body)
        if value is None:
            raise _failure("transport", f"the stream broke off: {snippet(body)}", None, headers, body)
    if not 200 <= status <= 299:
        told = replies.error_text(value)
        message = f"status {status}: {told or snippet(body)}"
        counts_as = 402 if status == 400 and _SPENT.match(told) else status
        raise _failure("http_status", message, value, headers, body, status=counts_as)
    value = replies.require_object(value, headers, body)
    if value.get("error") is not None or value.get("type") == "error":
        error = value.get("error")
        code = _STATUS.get(str(error.get("type"))) if isinstance(error, dict) else None
        message = f"an error inside a status {status}: {replies.error_text(value) or snippet(body)}"
        code = code or replies.error_code(error) or status
        raise _failure("http_status", message, value, headers, body, status=code)
    return _answer(value, headers, body)


def _answer(value: dict[str, Any], headers: Mapping[str, str], body: bytes) -> Answer:
    blocks, stop, served = value.get("content"), replies.reason_of(value.get("stop_reason")), value.get("model")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise _failure("bad_reply", f"the reply has no list of content blocks: {snippet(body)}", value, headers, body)
    finish = "length" if stop in _CUT else stop
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    submitted = [json_text(block.get("input")) for block in uses if block.get("name") == SUBMIT]
    open_ = stop in _OPEN and not submitted
    calls = [] if not open_ else [_call(block, value, headers, body) for block in uses]
    paused = open_ and stop == "pause_turn"
    return Answer(
        text="\n".join(submitted) if submitted else "".join(texts),
        usage=_usage(value.get("usage")),
        finish=finish if is_short(finish) else None,
        served=served if isinstance(served, str) and served else None,
        request_ids=replies.request_ids(value, headers),
        received=len(body),
        transcript=_transcript(value, blocks, texts if submitted else [], [] if calls else uses),
        refusal=stop == "refusal",
        tool_calls=tuple(calls),
        paused=paused,
        replay=_replay(value, blocks, headers, body) if calls or paused else None,
    )


def _call(block: dict[str, Any], value: dict[str, Any], headers: Mapping[str, str], body: bytes) -> ToolCall:
    name, label = block.get("name"), block.get("id")
    if not isinstance(name, str) or not isinstance(label, str):
        message = f"a call of a tool has no id or no name: {snippet(body)}"
        raise _failure("bad_reply", message, value, headers, body)
    return ToolCall(id=sendable(label), name=name, arguments=json_text(block.get("input")))


def _replay(value: dict[str, Any], blocks: list[dict[str, Any]], headers: Mapping[str, str], body: bytes) -> list[Json]:
    """Return a reply's content as it goes back: unchanged, but for the empty text blocks that are not taken."""
    kept = [sendable(block) for block in blocks if block.get("type") != "text" or block.get("text")]
    if first_flaw(kept) is not None:
        raise _failure("bad_reply", f"the reply holds what cannot be sent back: {snippet(body)}", value, headers, body)
    return kept


def _transcript(
    value: dict[str, Any], blocks: list[dict[str, Any]], beside: list[str], uses: list[dict[str, Any]]
) -> Json | None:
    """Return what came with the text and is no answer, in a form that canonical JSON can hold.

    Args:
        value: the message.
        blocks: its content.
        beside: texts that came beside a submitted answer.
        uses: calls of tools that nobody will make.
    """
    found: dict[str, Json] = {}
    thoughts = [block["thinking"] for block in blocks if isinstance(block.get("thinking"), str) and block["thinking"]]
    others = [block.get("type") for block in blocks if block.get("type") not in ("text", "thinking", "tool_use")]
    if thoughts:
        found["reasoning"] = canonical.text_out("".join(thoughts))
    if beside:
        found["beside"] = canonical.text_out("".join(beside))
    if uses:
        found["tool_calls"] = canonical.text_out(json_text(uses))
    if others:
        found["ignored_parts"] = [kind if is_short(kind) else "unknown" for kind in others]
    if replies.reason_of(value.get("stop_reason")) in _CUT:
        found["stop_reason"] = value["stop_reason"]
    if isinstance(value.get("usage"), dict) and _billed_by_use(value["usage"]):
        found["usage"] = canonical.text_out(json_text(value["usage"]))
    if value.get("stop_details") is not None:
        found["stop_details"] = canonical.text_out(json_text(value["stop_details"]))
    return found or None


def _usage(raw: Any) -> Usage | None:
    """Return the counts that are there; None if there are none. What the cache held is a part of our input."""
    if not isinstance(raw, dict) or _billed_by_use(raw):
        return None
    plain, read, written = (
        count(raw, name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    whole = None if plain is None else plain + (read or 0) + (written or 0)
    usage = Usage(
        input=whole if whole is None or whole <= MAX_INTEGER else None,
        output=count(raw, "output_tokens"),
        cache_read=read,
        cache_write=written,
        reasoning=count(raw.get("output_tokens_details"), "thinking_tokens"),
    )
    return None if usage == Usage() else usage


def _billed_by_use(raw: dict[str, Any]) -> bool:
    used = raw.get("server_tool_use")
    return isinstance(used, dict) and any(times for name, times in used.items() if name != "web_fetch_requests")


def _failure(
    kind: Any, message: str, value: Any, headers: Mapping[str, str], body: bytes, status: int | None = None
) -> Failure:
    usage = _usage(value.get("usage")) if isinstance(value, dict) else None
    return replies.failure(kind, message, value, headers, body, status=status, usage=usage)
