# SPDX-License-Identifier: Apache-2.0
"""The chat-completions wire format: what a reply means.

What is read: the first choice's content, as text or as a list of parts of which the text parts are joined without a
separator; its refusal; its tool calls; why it stopped; the usage in detail; the model that answered; the reply's ids.
A missing count is unknown and stays None. A reply that is no JSON, that holds a key twice, or that has no choice is
`bad_reply`; an error object inside a status 200 is `http_status` with the code that stands in it. A stream is read as
what it comes to (`openai_stream`), whether it was asked for or not.

Tool calls count only where the reply says that it waits for them: behind any other reason to stop, such as a length
that was reached, they may be cut, and are kept in the transcript alone.

Source: OpenAI API reference, "The chat completion object"; `cache_write_tokens`, `reasoning` and error objects in
choices are what routers in front of other models add; `thinking` parts are Mistral's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER, first_flaw
from trialplate.record.frozen import Json
from trialplate.runners.base import Answer, Failure, ToolCall
from trialplate.runners.providers import openai_stream, replies
from trialplate.runners.providers.replies import count, is_short, json_text, sendable, snippet

__all__ = ["Reading", "parse_reply"]

_CACHE_READ = ("prompt_tokens_details", "cached_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a provider's replies differ from OpenAI's."""

    finishes: Mapping[str, str] = field(default_factory=dict)
    """Reasons to stop that are called otherwise elsewhere, such as "model_length" for "length"."""
    broken: Mapping[str, int] = field(default_factory=dict)
    """Reasons to stop that are failures of the service, and the HTTP status that each counts as."""
    counts_as: Mapping[str, int] = field(default_factory=dict)
    """What an error says that comes under a status of another kind, and the HTTP status that it counts as."""
    goes_on: tuple[str | None, ...] = ("tool_calls", "", None)
    """Reasons to stop behind which tool calls are waited for."""
    cache_read: tuple[str, ...] = _CACHE_READ
    """Where in `usage` the count of input tokens that came from a cache stands, if not where OpenAI has it."""
    cache_write: tuple[str, ...] = ("prompt_tokens_details", "cache_write_tokens")
    """Where in `usage` the count of input tokens that went into a cache stands."""
    reasoning_apart: bool = False
    """`completion_tokens` leaves out the reasoning, unless `total_tokens` shows that it does not."""


def parse_reply(status: int, headers: Mapping[str, str], body: bytes, reading: Reading) -> Answer:
    """Return the answer in a reply.

    Args:
        status: of the reply.
        headers: names in lower case.
        body: the whole body.
        reading: what is particular about the provider.

    Raises:
        Failure: `http_status` for a status other than 2xx or an error object inside a 200; `bad_reply` for a reply
            without an answer; `transport` for one that was cut where its length was not declared.
    """
    return _Reply(headers, body, reading).answer(status)


class _Reply:
    """One reply on its way to an answer."""

    def __init__(self, headers: Mapping[str, str], body: bytes, reading: Reading) -> None:
        self._headers, self._body, self._reading = headers, body, reading
        self._value: Any = replies.read_json(body)

    def answer(self, status: int) -> Answer:
        if not 200 <= status <= 299:
            told = replies.error_text(self._value) or snippet(self._body)
            raise self._failure("http_status", f"status {status}: {told}", self._counted(told, status))
        if self._headers.get("content-type", "").startswith("text/event-stream"):
            self._value = openai_stream.assembled(self._body)
            if self._value is None:
                raise self._failure("transport", f"the stream broke off: {snippet(self._body)}")
        value = replies.require_object(self._value, self._headers, self._body)
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
        for holder in (value, choice or {}):
            if holder.get("error") is not None or holder.get("object") == "error":
                code = replies.error_code(holder.get("error", holder))
                told = replies.error_text(holder) or snippet(self._body)
                counted = self._counted(told, code or status)
                raise self._failure("http_status", f"an error inside a status {status}: {told}", counted)
        if choice is None:
            raise self._failure("bad_reply", f"the reply has no choice: {snippet(self._body)}")
        return self._said(value, choice)

    def _counted(self, told: str, status: int) -> int:
        """Return the status that an error counts as."""
        return next((counted for words, counted in self._reading.counts_as.items() if words in told), status)

    def _said(self, value: dict[str, Any], choice: dict[str, Any]) -> Answer:
        message, finish = choice.get("message"), replies.reason_of(choice.get("finish_reason"))
        if finish is not None and finish in self._reading.broken:
            told = f"the service stopped inside a status 200: {finish}"
            raise self._failure("http_status", told, self._reading.broken[finish])
        if not isinstance(message, dict):
            raise self._failure("bad_reply", f"the choice has no message: {snippet(self._body)}")
        content = message.get("content")
        if content is not None and not isinstance(content, str | list):
            told = f"the content is neither text nor a list of parts: {snippet(self._body)}"
            raise self._failure("bad_reply", told)
        text, refused, thoughts, others = _content(content)
        refusal = message.get("refusal") if isinstance(message.get("refusal"), str) else ""
        refusal = refusal or refused
        served = value.get("model")
        asked = bool(message.get("tool_calls")) and finish in self._reading.goes_on
        calls, replay = self._calls(message) if asked else ((), None)
        finish = None if finish is None else self._reading.finishes.get(finish, finish)
        return Answer(
            text=text or refusal,
            usage=_usage(value.get("usage"), self._reading),
            finish=finish if is_short(finish) else None,
            served=served if isinstance(served, str) and served else None,
            request_ids=replies.request_ids(value, self._headers),
            received=len(self._body),
            transcript=_transcript(message, thoughts, others),
            refusal=bool(refusal) and not text,
            tool_calls=calls,
            replay=replay,
        )

    def _calls(self, message: dict[str, Any]) -> tuple[tuple[ToolCall, ...], Json]:
        """Return the tool calls, and the message as it goes back, in which each of them has an id."""
        asked, made, kept = message["tool_calls"], [], []
        for number, item in enumerate(asked if isinstance(asked, list) else [asked], start=1):
            about = item.get("function") if isinstance(item, dict) else None
            if not isinstance(about, dict) or not isinstance(about.get("name"), str):
                raise self._failure("bad_reply", f"a tool call names no function: {snippet(self._body)}")
            name = item["id"] if isinstance(item.get("id"), str) and item["id"] else f"call_{number}"
            arguments = about.get("arguments")
            if not isinstance(arguments, str):  # Mistral's may be the object itself
                arguments = "" if arguments is None else json_text(arguments)
            made.append(ToolCall(id=sendable(name), name=about["name"], arguments=arguments))
            kept.append({**{key: item[key] for key in item if key != "index"}, "id": name})
        replay = sendable({**message, "tool_calls": kept})
        if first_flaw(replay) is not None:
            raise self._failure("bad_reply", f"the reply holds what cannot be sent back: {snippet(self._body)}")
        return tuple(made), replay

    def _failure(self, kind: Any, message: str, status: int | None = None) -> Failure:
        usage = _usage(self._value.get("usage"), self._reading) if isinstance(self._value, dict) else None
        return replies.failure(kind, message, self._value, self._headers, self._body, status=status, usage=usage)


def _content(content: str | list[Any] | None) -> tuple[str, str, str, list[str]]:
    """Return the text, the refusal and the thoughts among the parts, and the types of the parts that were left out."""
    if not isinstance(content, list):
        return content or "", "", "", []
    texts, refusals, thoughts, others = [], [], [], []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            refusals.append(part["refusal"])
        elif kind == "thinking" and isinstance(part.get("thinking"), list):
            thoughts.append(_content(part["thinking"])[0])
        else:
            others.append(kind if is_short(kind) else "unknown")
    return "".join(texts), "".join(refusals), "".join(thoughts), others


def _transcript(message: dict[str, Any], thoughts: str, others: list[str]) -> Json | None:
    """Return what came with the text and is no answer, in a form that canonical JSON can hold."""
    found: dict[str, Json] = {}
    if others:
        found["ignored_parts"] = others
    for said in (message.get("reasoning_content"), message.get("reasoning"), thoughts):
        if isinstance(said, str) and said:
            found.setdefault("reasoning", canonical.text_out(said))
    if message.get("tool_calls"):
        found["tool_calls"] = canonical.text_out(json_text(message["tool_calls"]))
    return found or None


def _usage(raw: Any, reading: Reading) -> Usage | None:
    """Return the counts that are there; None if there are none. An explicit zero stays zero."""
    if not isinstance(raw, dict):
        return None
    given, output = count(raw, "prompt_tokens"), count(raw, "completion_tokens")
    reasoning = _at(raw, ("completion_tokens_details", "reasoning_tokens"))
    if reading.reasoning_apart and output is not None and count(raw, "total_tokens") != (given or 0) + output:
        output += reasoning or 0
    read = _at(raw, reading.cache_read)
    usage = Usage(
        input=given,
        output=output if output is None or output <= MAX_INTEGER else None,
        cache_read=_at(raw, _CACHE_READ) if read is None else read,
        cache_write=_at(raw, reading.cache_write),
        reasoning=reasoning,
    )
    return None if usage == Usage() else usage


def _at(raw: dict[str, Any], path: tuple[str, ...]) -> int | None:
    """Return the count at the end of a path."""
    holder: Any = raw
    for name in path[:-1]:
        holder = holder.get(name) if isinstance(holder, dict) else None
    return count(holder, path[-1])
