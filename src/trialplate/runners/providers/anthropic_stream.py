# SPDX-License-Identifier: Apache-2.0
"""A message that came as a stream of events, put together into the object that would have come without it.

A stream without its `message_stop` or its reason to stop, or with an event that cannot be read, is no reply: half an
answer must not look like a whole one. Nor is one that begins a block twice, or adds a text to what is none. An `error`
event is an error object, whatever came before it. Events and deltas that are unknown are left out, as the interface
asks of its clients.

Source: Claude API, "Streaming messages" (2026-10); HTML standard, "Server-sent events".
"""

from __future__ import annotations

from typing import Any

from trialplate.runners.providers import replies

__all__ = ["assembled"]

_JOINED = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""Types of deltas, and the field under which their text stands: in the delta, and in the block that it is added to."""
_WHOLE = ("end_turn", "tool_use", "pause_turn")
"""Reasons to stop behind which the input of a call cannot have been cut."""


class _Broken(Exception):
    """The events make no message."""


def assembled(body: bytes) -> dict[str, Any] | None:
    """Return the message that a stream's events come to, or None if the stream is not whole.

    Args:
        body: all of its bytes.
    """
    try:
        return _assembled(body)
    except _Broken:
        return None


def _assembled(body: bytes) -> dict[str, Any]:
    message: dict[str, Any] = {}
    blocks: dict[int, _Block] = {}
    for data in replies.event_data(body):
        event = replies.read_json(data)
        if not isinstance(event, dict):
            raise _Broken
        kind, index = event.get("type"), event.get("index")
        if kind == "error":
            return {**message, **event}
        if kind == "message_stop":
            if message.get("stop_reason") is None:
                raise _Broken
            return {**message, "content": [blocks[index].made(message["stop_reason"]) for index in sorted(blocks)]}
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
        elif kind == "content_block_start":
            if type(index) is not int or index in blocks or not isinstance(event.get("content_block"), dict):
                raise _Broken
            blocks[index] = _Block(event["content_block"])
        elif kind == "content_block_delta":
            if type(index) is not int or index not in blocks or not isinstance(event.get("delta"), dict):
                raise _Broken
            blocks[index].add(event["delta"])
        elif kind == "message_delta":
            _end(message, event)
    raise _Broken


class _Block:
    """A block of content as far as it has come; its texts are joined once, at its end."""

    def __init__(self, begun: dict[str, Any]) -> None:
        self._begun = begun
        self._texts: dict[str, list[str]] = {}
        self._citations: list[Any] = []

    def add(self, delta: dict[str, Any]) -> None:
        """Add what an event brings."""
        told = delta.get("type")
        field = _JOINED.get(told) if isinstance(told, str) else None
        if field is not None:
            if not isinstance(delta.get(field), str):
                raise _Broken
            self._texts.setdefault(field, []).append(delta[field])
        elif told == "citations_delta":
            self._citations.append(delta.get("citation"))

    def made(self, stop: Any) -> dict[str, Any]:
        """Return the whole block.

        Args:
            stop: why the message stopped; it says whether the input of a call may have been cut.
        """
        parts = "".join(self._texts.pop("partial_json", []))
        block = dict(self._begun)
        for field, texts in self._texts.items():
            before = block.get(field) or ""
            if not isinstance(before, str):
                raise _Broken
            block[field] = before + "".join(texts)
        if self._citations:
            cited = block.get("citations") or []
            if not isinstance(cited, list):
                raise _Broken
            block["citations"] = [*cited, *self._citations]
        if parts:
            read = replies.read_json(parts.encode(errors="surrogatepass"))
            if read is replies.UNREADABLE and stop in _WHOLE:
                raise _Broken
            block["input"] = {} if read is replies.UNREADABLE else read
        return block


def _end(message: dict[str, Any], event: dict[str, Any]) -> None:
    """Take over what is known at the end only; the usage of this event is that of the whole message."""
    if isinstance(event.get("delta"), dict):
        message |= event["delta"]
    if isinstance(event.get("usage"), dict):
        known = {name: value for name, value in event["usage"].items() if value is not None}
        before = message.get("usage")
        message["usage"] = {**(before if isinstance(before, dict) else {}), **known}
