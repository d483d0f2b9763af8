# SPDX-License-Identifier: Apache-2.0
"""A server that speaks every provider's wire format, by the path that it is asked at, and misbehaves by mood.

Replies are those of the providers' documentation, as tests/vectors/providers hold them: chat completions, the Responses
API, the Messages API, Gemini's generateContent.

    server = ProviderServer(moods)     moods(n) names what is done at the n-th request, from 0
    server.seen                        what was done at each: (mood, path)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from chat_server import ChatServer, Step

__all__ = ["FORMATS", "AnsweringServer", "ProviderServer", "asked_text", "format_of", "reply"]

FORMATS = ("chat", "responses", "messages", "gemini")
HTML = "<!DOCTYPE html><html><title>502</title><script>alert(1)</script>Bad gateway</html>"


def format_of(path: str) -> str:
    """Return the wire format of a path."""
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/responses"):
        return "responses"
    if path.endswith("/messages"):
        return "messages"
    if re.search(r"/models/[^/]+:generateContent$", path):
        return "gemini"
    raise AssertionError(f"nobody asks at {path}")


def reply(form: str, text: str | None, model: str, *, cut: bool = False, usage: bool = True) -> dict[str, Any]:
    """Return a whole reply in a wire format.

    Args:
        text: None: there is no choice, no output, no candidate.
        cut: it ended at its token limit.
        usage: with the counts of tokens: 10 in, 3 out.
    """
    if form == "chat":
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
        made: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion", "model": model}
        made["choices"] = [] if text is None else [choice]
        counts: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    elif form == "responses":
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": [part]}
        made = {"id": "resp_1", "object": "response", "model": model, "error": None}
        made["status"] = "incomplete" if cut else "completed"
        made["incomplete_details"] = {"reason": "max_output_tokens"} if cut else None
        made["output"] = [] if text is None else [item]
        counts = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    elif form == "messages":
        made = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}
        made["content"] = [] if text is None else [{"type": "text", "text": text}]
        made["stop_reason"] = "max_tokens" if cut else "end_turn"
        counts = {"input_tokens": 10, "output_tokens": 3}
    else:
        content = {"role": "model", "parts": [{"text": text}]}
        candidate = {"content": content, "finishReason": "MAX_TOKENS" if cut else "STOP", "index": 0}
        made = {"candidates": [] if text is None else [candidate], "modelVersion": model, "responseId": "r"}
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13}
    if usage:
        made["usageMetadata" if form == "gemini" else "usage"] = counts
    return made


def error(form: str, status: int) -> dict[str, Any]:
    """Return the error object of a wire format."""
    if form == "messages":
        kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": "trouble"}}
    if form == "gemini":
        return {"error": {"code": status, "message": "trouble", "status": "RESOURCE_EXHAUSTED"}}
    return {"error": {"message": "trouble", "type": "server_error", "code": None}}


class ProviderServer(ChatServer):
    """Answers as whichever provider is asked."""

    def __init__(self, moods: Callable[[int], str]) -> None:
        super().__init__()
        self._moods = moods
        self.seen: list[tuple[str, str]] = []

    def step(self, number: int) -> Step:
        """Return what is done at the n-th request."""
        asked = self.requests[number - 1]
        path = asked.path.partition("?")[0]
        form = format_of(path)
        mood = self._moods(number - 1)
        assert len(self.seen) == number - 1
        self.seen.append((mood, path))
        model = path.rsplit("/", 1)[1].partition(":")[0] if form == "gemini" else asked.body["model"]
        step = _step(mood, form, model)
        return {**step, "headers": {**step.get("headers", {}), "x-request-id": f"req-{number - 1}"}}


def _step(mood: str, form: str, model: str) -> dict[str, Any]:
    match mood:
        case "right" | "wrong":
            return {"json": reply(form, "Paris" if mood == "right" else "London", model)}
        case "cut":
            return {"json": reply(form, "Par", model, cut=True)}
        case "no usage":
            return {"json": reply(form, "Paris", model, usage=False)}
        case "another model":
            return {"json": reply(form, "Paris", "somebody-else")}
        case "no choice":
            return {"json": reply(form, None, model)}
        case "429 in seconds":
            return {"status": 429, "headers": {"Retry-After": "0"}, "json": error(form, 429)}
        case "429 until a date":
            return {"status": 429, "headers": {"Retry-After": "@httpdate+0"}, "json": error(form, 429)}
        case "529":
            return {"status": 529, "json": error(form, 529)}
        case "page":
            return {"headers": {"Content-Type": "text/html"}, "body": HTML}
        case "page in a 502":
            return {"status": 502, "headers": {"Content-Type": "text/html"}, "body": HTML}
        case "hang":
            return {"hang": True}
        case "reset":
            return {"close": "rst"}
        case "cut body":
            body = '{"choices":[{"message":{"content":"Paris'
            return {"headers": {"Content-Length": "400"}, "body": body, "close": "eof"}
    raise AssertionError(mood)


def asked_text(form: str, body: dict[str, Any]) -> str:
    """Return the last text of a request's last message."""
    if form == "gemini":
        return str(body["contents"][-1]["parts"][-1]["text"])
    content = body["input" if form == "responses" else "messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])


class AnsweringServer(ChatServer):
    """Answers the last text of each request, in whichever format it came."""

    def __init__(self, says: Callable[[str], str]) -> None:
        super().__init__()
        self._says = says

    def step(self, number: int) -> Step:
        """Return the answer to the n-th request."""
        asked = self.requests[number - 1]
        form = format_of(asked.path.partition("?")[0])
        step = {"json": reply(form, self._says(asked_text(form, asked.body)), asked.body["model"])}
        return {**step, "headers": {"x-request-id": f"req-{number}"}}
