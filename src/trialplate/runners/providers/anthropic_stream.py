# SPDX-License-Identifier: Apache-2.0
"""A message that came as a stream of events, put together into the object that would have come without it.

A stream without its `message_stop`, or with an event that cannot be read, is no reply: half an answer must not look
like a whole one. An `error` event is an error object, whatever came before it. Events and deltas that are unknown are
left out, as the interface asks of its clients.

Source: Claude API, "Streaming messages" (2026-10); HTML standard, "Server-sent events".
"""

from __future__ import annotations

from typing import Any

from trialplate.runners.providers import replies

__all__ = ["assembled"]

_JOINED = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
}
"""Types of deltas: where their text stands, and to which field of the block it is added."""


def assembled(body: bytes) -> dict[str, Any] | None:
    """Return the message that a stream's events come to, or None if the stream is not whole.

    Args:
        body: all of its bytes.
    """
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for data in replies.event_data(body):
        event = replies.read_json(data)
        if not isinstance(event, dict):
            return None
        kind, index = event.get("type"), event.get("index")
        if kind == "error":
            return {**message, **event}
        if kind == "message_stop":
            return _whole(message, blocks)
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
        elif kind == "content_block_start" and type(index) is int and isinstance(event.get("content_block"), dict):
            blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta":
            if type(index) is not int or index not in blocks or not isinstance(event.get("delta"), dict):
                return None
            _add(blocks[index], event["delta"])
        elif kind == "message_delta":
            _end(message, event)
    return None


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add what an event brings to its block."""
    told = delta.get("type")
    if told in _JOINED:
        field, into = _JOINED[told]
        if isinstance(delta.get(field), str):
            block[into] = block.get(into, "") + delta[field]
    elif told == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta.get("citation")]


def _end(message: dict[str, Any], event: dict[str, Any]) -> None:
    """Take over what is known at the end only; the usage of this event is that of the whole message."""
    if isinstance(event.get("delta"), dict):
        message |= event["delta"]
    if isinstance(event.get("usage"), dict):
        known = {name: value for name, value in event["usage"].items() if value is not None}
        before = message.get("usage")
        message["usage"] = {**(before if isinstance(before, dict) else {}), **known}


def _whole(message: dict[str, Any], blocks: dict[int, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the message with its blocks, None if the input of a call cannot be read though nothing was cut."""
    for block in blocks.values():
        parts = block.pop("partial_json", "")
        if parts:
            read = replies.read_json(parts.encode(errors="surrogatepass"))
            if read is replies.UNREADABLE and message.get("stop_reason") in (
                None,
                "end_turn",
                "tool_use",
                "pause_turn",
            ):
                return None
            block["input"] = {} if read is replies.UNREADABLE else read
    return {**message, "content": [blocks[index] for index in sorted(blocks)]} if message else None
