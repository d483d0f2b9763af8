# SPDX-License-Identifier: Apache-2.0
"""The chat-completions wire format, two pure functions: what is sent for a request, and what a reply means.

What is sent: `model`, `messages`, and the configuration's settings as they are. Messages are one system message, if the
model has a system text, and one user message: every document in order ("Document: NAME", an empty line, its text, an
empty line), then the case's input.

What is read of a reply: the first choice's content, as text or as a list of parts of which the text parts are joined
without a separator; its refusal; why it stopped; the usage in detail; the model that answered; the reply's ids.
A missing count is unknown and stays None. A reply that is no JSON, that holds a key twice, or that has no choice is
`bad_reply`; an error object inside a status 200 is `http_status` with the code that stands in it.

Source: OpenAI API reference, "Create chat completion" and "The chat completion object"; `cache_write_tokens`,
`reasoning` and error objects in choices are what routers in front of other models add.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeGuard
from urllib.parse import urlsplit, urlunsplit

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, Request
from trialplate.transport.http import HttpRequest

__all__ = ["RESERVED", "build_request", "check_configuration", "parse_reply"]

RESERVED = ("messages", "model", "stream")
"""Keys of the body that this client owns."""
SNIPPET = 200
"""Characters of a foreign text that a message quotes."""
_SHORT = re.compile(r"[ -~]{1,128}")


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, or an endpoint that is no plain http(s) URL.
    """
    where = f"models.{configuration.model}"
    taken = sorted(set(RESERVED) & configuration.settings.keys())
    if taken:
        message = f"settings may not hold {', '.join(taken)}: the request sets it itself"
        raise SpecError(message, where=where, hint="remove it from settings", code="RESERVED")
    if configuration.model_id is None:
        hint = "add model: with the provider's id"
        raise SpecError("has no model id to ask for", where=where, hint=hint, code="MODEL-ID")
    _endpoint(configuration.endpoint or "", where)


@lru_cache(maxsize=256)
def _endpoint(endpoint: str, where: str) -> str:
    """Return the URL to post to."""
    hint = "give the base URL, such as https://api.example.com/v1"
    try:
        parts = urlsplit(endpoint)
        plain = parts.scheme in {"http", "https"} and parts.hostname is not None and (parts.port or 1) > 0
    except ValueError:
        plain = False
    if not plain:
        raise SpecError(f"the url {_shown(endpoint)!r} is no http(s) URL", where=where, hint=hint, code="URL")
    if parts.username is not None or parts.password is not None:
        message = "the url holds a user or a password, which would stand in every record"
        raise SpecError(message, where=where, hint="name the variable under secret: {env: NAME}", code="URL-SECRET")
    if parts.fragment:
        raise SpecError("the url holds a #fragment, which is never sent", where=where, hint=hint, code="URL")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/chat/completions"))


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for one attempt, the key excepted.

    Raises:
        SpecError: see `check_configuration`.
    """
    configuration = request.configuration
    check_configuration(configuration)
    system, documents = _texts(request, "system"), _texts(request, "document")
    user = "".join([*(f"Document: {name}\n\n{text}\n\n" for name, text in documents), request.case.input])
    messages = [{"role": "system", "content": text} for _, text in system] + [{"role": "user", "content": user}]
    return HttpRequest(
        url=_endpoint(configuration.endpoint or "", f"models.{configuration.model}"),
        headers={
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "x-client-request-id": request.request_id,
        },
        body={**configuration.settings, "model": configuration.model_id, "messages": messages},
    )


def _texts(request: Request, role: str) -> list[tuple[str, Json]]:
    """Return the names and texts of a role, in the plan's order."""
    return [(text.name, request.texts[role, text.name]) for text in request.configuration.texts if text.role == role]


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
    value = _json(body)
    if not 200 <= status <= 299:
        message = f"status {status}: {_error_text(value) or _snippet(body)}"
        raise _failure("http_status", message, value, headers, body, status=status)
    if value is _UNREADABLE:
        raise _unreadable(headers, body)
    if not isinstance(value, dict):
        raise _failure("bad_reply", f"the reply is no JSON object: {_snippet(body)}", value, headers, body)
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    for holder in (value, choice or {}):
        if holder.get("error") is not None:
            code = _error_code(holder["error"])
            message = f"an error inside a status {status}: {_error_text(holder) or _snippet(body)}"
            raise _failure("http_status", message, value, headers, body, status=code or status)
    if choice is None:
        raise _failure("bad_reply", f"the reply has no choice: {_snippet(body)}", value, headers, body)
    return _answer(value, choice, headers, body)


def _answer(value: dict[str, Any], choice: dict[str, Any], headers: Mapping[str, str], body: bytes) -> Answer:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _failure("bad_reply", f"the choice has no message: {_snippet(body)}", value, headers, body)
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        text = f"the content is neither text nor a list of parts: {_snippet(body)}"
        raise _failure("bad_reply", text, value, headers, body)
    text, refused, others = _content(content)
    refusal = message.get("refusal") if isinstance(message.get("refusal"), str) else ""
    refusal = refusal or refused
    finish = choice.get("finish_reason")
    served = value.get("model")
    return Answer(
        text=text or refusal,
        usage=_usage(value.get("usage")),
        finish=finish if _is_short(finish) else None,
        served=served if isinstance(served, str) and served else None,
        request_ids=_request_ids(value, headers),
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
            others.append(kind if _is_short(kind) else "unknown")
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
        input=_count(raw, "prompt_tokens"),
        output=_count(raw, "completion_tokens"),
        cache_read=_count(into, "cached_tokens"),
        cache_write=_count(into, "cache_write_tokens"),
        reasoning=_count(out, "reasoning_tokens"),
    )
    return None if usage == Usage() else usage


def _count(holder: Any, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if type(value) is int and 0 <= value <= canonical.MAX_INTEGER else None


def _request_ids(value: Any, headers: Mapping[str, str]) -> tuple[str, ...]:
    found = [headers.get("x-request-id"), headers.get("request-id")]
    if isinstance(value, dict):
        found.append(value.get("id"))
    return tuple(dict.fromkeys(item for item in found if isinstance(item, str) and _SHORT.fullmatch(item)))


def _is_short(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and _SHORT.fullmatch(value) is not None


# ------------------------------------------------------------------------------------------------ what is no answer

_UNREADABLE = object()


def _json(body: bytes) -> Any:
    """Return a body's value, or `_UNREADABLE`.

    Lone surrogates, NaN and large numbers may stand anywhere in what a provider sends, and are looked at where a field
    is used; a key that stands twice is two replies in one.
    """
    try:
        return json.loads(body.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _unreadable(headers: Mapping[str, str], body: bytes) -> Failure:
    """Tell a reply that was cut from one that never was JSON."""
    media = headers.get("content-type", "no content type").partition(";")[0].strip()
    undeclared = "content-length" not in headers and "chunked" not in headers.get("transfer-encoding", "")
    if undeclared and body.lstrip()[:1] == b"{" and not body.rstrip().endswith(b"}"):
        message = f"the reply was cut after {len(body)} bytes: {_snippet(body)}"
        return _failure("transport", message, None, headers, body)
    message = f"non-JSON body ({_shown(media)}): {_snippet(body)}"
    return _failure("bad_reply", message, None, headers, body)


def _failure(
    kind: Any, message: str, value: Any, headers: Mapping[str, str], body: bytes, status: int | None = None
) -> Failure:
    served = value.get("model") if isinstance(value, dict) else None
    return Failure(
        kind,
        message,
        status=status,
        sent=True,
        received=len(body),
        request_ids=_request_ids(value, headers),
        usage=_usage(value.get("usage")) if isinstance(value, dict) else None,
        served=served if isinstance(served, str) and served else None,
    )


def _error_code(error: Any) -> int | None:
    """Return the HTTP status that an error object names, if it names one."""
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    text = str(code) if isinstance(code, int | str) and not isinstance(code, bool) else ""
    return int(text) if re.fullmatch("[45][0-9]{2}", text, re.ASCII) else None


def _error_text(value: Any) -> str:
    """Return what a provider says went wrong, in the forms that are in use."""
    error = value.get("error", value) if isinstance(value, dict) else None
    for found in (error.get("message"), error.get("detail")) if isinstance(error, dict) else (error,):
        if isinstance(found, str) and found:
            return _shown(found)
    return ""


def _snippet(body: bytes) -> str:
    return _shown(body[: SNIPPET * 4].decode(errors="replace"))


def _shown(text: str) -> str:
    return text if len(text) <= SNIPPET else text[:SNIPPET] + "..."
