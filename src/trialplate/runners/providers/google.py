# SPDX-License-Identifier: Apache-2.0
"""The wire format of Google's Gemini API, two pure functions: what is sent, and what a reply means.

What is sent (`google_body`) to `<url>/v1beta/models/<model>:generateContent`, the model's id escaped: one user content,
files first and the prompt last (see `prompts`); the system text and instructions about the form as parts of
`systemInstruction`; settings as fields of `generationConfig`. A form of the answer is `responseMimeType` with
`responseJsonSchema` (native), the type alone (json_object), or nothing (text). `candidateCount` is never sent: newer
models refuse it, also at its default. Nor are other defaults, such as the choice of tools.

What is read of a reply, and what is made the same as elsewhere:
- the first candidate's text parts, joined without a separator; thoughts stand in the transcript, other parts are named
  there;
- calls of functions, where the candidate stopped for no reason or with STOP; with any other reason, also one that is
  unknown, the reply is an end. A call without an id gets one of our making, which is not sent back;
- `finishReason`: MAX_TOKENS is "length", what the engine calls a truncated answer; SAFETY and its like are refusals, as
  is a prompt that was blocked; a malformed call is an answer in no form that counts. MISSING_THOUGHT_SIGNATURE is a
  mistake of this program and no answer;
- `usageMetadata`: cached tokens are part of the prompt's; what server-side tools read is not, and is added to the
  input; thoughts are not part of the candidates' tokens, and are added to the output. The interface leaves zeros
  out: where the candidates' count is missing, the output is what the total leaves. Any other missing count is unknown.

What goes back in the next turn is the candidate's content as it came, so that thought signatures survive (a reply
without them is refused); then all results of the turn in one user content.

An error object is `http_status` also inside a 200. A key that is not valid comes as status 400 (API_KEY_INVALID), and
counts as 401; a country or an account that is not served comes as 400 (FAILED_PRECONDITION), and counts as 403: neither
says anything about the model. The wait that an error asks for stands in its details (RetryInfo).

Source: Gemini API reference, "Generating content" (v1beta), "Function calling", "Thought signatures", "Structured
outputs", "Thinking", "Media resolution", "Image understanding", "Troubleshooting guide"; read 2026-11. The reference
calls `responseMimeType` and `responseJsonSchema` superseded by `responseFormat`, which older models do not take.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER, first_flaw
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, Request, ToolCall
from trialplate.runners.providers import prompts, replies
from trialplate.runners.providers.google_body import body_of
from trialplate.runners.providers.replies import count, is_short, json_text, sendable, snippet
from trialplate.transport.http import HttpRequest

__all__ = ["RESERVED", "build_request", "check_configuration", "key_headers", "parse_reply"]

RESERVED = ("contents", "candidate_count", "model", "system_instruction")
"""Settings that this client owns."""
_CUT = "MAX_TOKENS"
_OPEN = (None, "", "STOP", "FINISH_REASON_UNSPECIFIED")
"""Reasons to stop after which a call of a function is one; whatever is not here is an end."""
_REFUSED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})
_REFUSED |= {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
_BROKEN = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"})
_OURS = "MISSING_THOUGHT_SIGNATURE"
_SECONDS = re.compile(r"([0-9]{1,9}(\.[0-9]{1,9})?)s", re.ASCII)


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, or an endpoint that is no plain http(s) URL.
    """
    prompts.check(configuration, RESERVED)
    _endpoint(configuration)


def _endpoint(configuration: Configuration) -> str:
    base = (configuration.endpoint or "").rstrip("/")
    version = "" if re.search(r"/v[0-9]+(alpha|beta)?$", base) else "/v1beta"
    model = quote(configuration.model_id or "", safe="")
    return prompts.endpoint(configuration, f"{version}/models/{model}:generateContent")


def key_headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"x-goog-api-key": key}


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted.

    Raises:
        SpecError: see `check_configuration`.
    """
    configuration = request.configuration
    check_configuration(configuration)
    return HttpRequest(
        url=_endpoint(configuration),
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
        },
        body=body_of(request),
    )


# ----------------------------------------------------------------------------------------------------------- reply


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
        raise _refused(status, value, f"status {status}", headers, body)
    value = replies.require_object(value, headers, body)
    if value.get("error") is not None:
        code = replies.error_code(value["error"]) or status
        raise _refused(code, value, f"an error inside a status {status}", headers, body)
    candidates, feedback = value.get("candidates"), value.get("promptFeedback")
    blocked = feedback.get("blockReason") if isinstance(feedback, dict) else None
    if not candidates and blocked:
        return _answer(value, {"finishReason": blocked}, headers, body, refusal=True)
    if not isinstance(candidates, list) or not candidates or not isinstance(candidates[0], dict):
        raise _failure("bad_reply", f"the reply has no candidate: {snippet(body)}", value, headers, body)
    return _answer(value, candidates[0], headers, body)


def _refused(status: int, value: Any, what: str, headers: Mapping[str, str], body: bytes) -> Failure:
    """Return the failure of an error object, with the status that it counts as and the wait that it asks for."""
    error = value.get("error") if isinstance(value, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    notes = [note for note in details if isinstance(note, dict)] if isinstance(details, list) else []
    if status == 400 and any(note.get("reason") == "API_KEY_INVALID" for note in notes):
        status = 401
    elif status == 400 and isinstance(error, dict) and error.get("status") == "FAILED_PRECONDITION":
        status = 403
    message = f"{what}: {replies.error_text(value) or snippet(body)}"
    failure = _failure("http_status", message, value, headers, body, status=status)
    for note in notes:
        waits = _SECONDS.fullmatch(str(note.get("retryDelay")))
        if waits:
            failure.retry_after_s = float(waits[1])
    return failure


def _answer(
    value: dict[str, Any], candidate: dict[str, Any], headers: Mapping[str, str], body: bytes, *, refusal: bool = False
) -> Answer:
    content, stop = candidate.get("content", {}), replies.reason_of(candidate.get("finishReason"))
    parts = content.get("parts", []) if isinstance(content, dict) else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise _failure("bad_reply", f"the candidate has no list of parts: {snippet(body)}", value, headers, body)
    if stop == _OURS:
        message = f"a thought signature was missing in what was sent: {snippet(body)}"
        raise _failure("bad_reply", message, value, headers, body)
    said = [part for part in parts if isinstance(part.get("text"), str) and part.get("thought") is not True]
    asked = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = _calls(asked, value, headers, body) if stop in _OPEN else []
    finish = "length" if stop == _CUT else stop
    return Answer(
        text="".join(part["text"] for part in said),
        usage=_usage(value.get("usageMetadata")),
        finish=finish if is_short(finish) else None,
        served=_named(value).get("model"),
        request_ids=replies.request_ids(_named(value), headers),
        received=len(body),
        transcript=_transcript(candidate, parts, [] if calls else asked),
        refusal=refusal or stop in _REFUSED,
        unreadable=f"the model's reply broke off: {stop}" if stop in _BROKEN else None,
        tool_calls=tuple(calls),
        replay=_replay(content, value, headers, body) if calls else None,
    )


def _calls(asked: list[Any], value: dict[str, Any], headers: Mapping[str, str], body: bytes) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for number, call in enumerate(asked, 1):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            message = f"a call of a function has no name: {snippet(body)}"
            raise _failure("bad_reply", message, value, headers, body)
        label = call["id"] if isinstance(call.get("id"), str) and call["id"] else f"call_{number}"
        calls.append(ToolCall(id=sendable(label), name=call["name"], arguments=json_text(call.get("args", {}))))
    return calls


def _replay(content: dict[str, Any], value: dict[str, Any], headers: Mapping[str, str], body: bytes) -> Json:
    replay: Json = sendable({"role": "model", **content})
    if first_flaw(replay) is not None:
        raise _failure("bad_reply", f"the reply holds what cannot be sent back: {snippet(body)}", value, headers, body)
    return replay


def _transcript(candidate: dict[str, Any], parts: list[dict[str, Any]], uses: list[Any]) -> Json | None:
    """Return what came with the text and is no answer, in a form that canonical JSON can hold."""
    found: dict[str, Json] = {}
    thoughts = [part["text"] for part in parts if part.get("thought") is True and isinstance(part.get("text"), str)]
    others = [_kind(part) for part in parts if not isinstance(part.get("text"), str) and "functionCall" not in part]
    if "".join(thoughts):
        found["reasoning"] = canonical.text_out("".join(thoughts))
    if uses:
        found["tool_calls"] = canonical.text_out(json_text(uses))
    if others:
        found["ignored_parts"] = [kind if is_short(kind) else "unknown" for kind in others]
    if isinstance(candidate.get("finishMessage"), str):
        found["finish_message"] = canonical.text_out(candidate["finishMessage"])
    return found or None


def _kind(part: dict[str, Any]) -> str:
    """Return the field that says what a part is."""
    return next((name for name in part if name not in ("thought", "thoughtSignature", "partMetadata")), "empty")


def _usage(raw: Any) -> Usage | None:
    """Return the counts that are there; None if there are none."""
    if not isinstance(raw, dict):
        return None
    names = ("promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    prompt, read, said, thought = (count(raw, name) for name in names)
    total = count(raw, "totalTokenCount")
    into = None if prompt is None else prompt + (read or 0)
    out = None if said is None else said + (thought or 0)
    if out is None and total is not None and into is not None and total >= into + (thought or 0):
        out = total - into
    usage = Usage(
        input=None if into is None or into > MAX_INTEGER else into,
        output=None if out is None or out > MAX_INTEGER else out,
        cache_read=count(raw, "cachedContentTokenCount"),
        reasoning=thought,
    )
    return None if usage == Usage() else usage


def _named(value: Any) -> dict[str, Any]:
    """Return model and id of a reply under the names that other interfaces have for them."""
    if not isinstance(value, dict):
        return {}
    model = value.get("modelVersion")
    return {"model": model if isinstance(model, str) and model else None, "id": value.get("responseId")}


def _failure(
    kind: Any, message: str, value: Any, headers: Mapping[str, str], body: bytes, status: int | None = None
) -> Failure:
    usage = _usage(value.get("usageMetadata")) if isinstance(value, dict) else None
    return replies.failure(kind, message, _named(value), headers, body, status=status, usage=usage)
