# SPDX-License-Identifier: Apache-2.0
"""A chat completion that came as a stream, though none was asked for: some gateways stream whatever the request says.

The events are put together into the one object that would have come without it. A stream without its end, or with an
event that cannot be read, is no reply: half an answer must not look like a whole one.

Source: OpenAI API reference, "The chat completion chunk object"; HTML standard, "Server-sent events".
"""

from __future__ import annotations

from typing import Any

from trialplate.runners.providers import replies

__all__ = ["assembled"]

_LAST = ("id", "model", "usage", "error")
_JOINED = ("refusal", "reasoning_content", "reasoning")


def assembled(body: bytes) -> dict[str, Any] | None:
    """Return the completion that a stream's events come to, or None if the stream is not whole.

    Args:
        body: all of its bytes.
    """
    made: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": []}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": None}
    for line in body.replace(b"\r\n", b"\n").split(b"\n"):
        if not line.startswith(b"data:"):
            continue
        data = line[len(b"data:") :].strip()
        if data == b"[DONE]":
            return {**made, "choices": [choice]}
        event = replies.read_json(data)
        if not isinstance(event, dict):
            return None
        made |= {name: event[name] for name in _LAST if event.get(name) is not None}
        choices = event.get("choices")
        for item in choices if isinstance(choices, list) else []:
            if isinstance(item, dict) and item.get("index", 0) == 0:
                choice["finish_reason"] = item.get("finish_reason") or choice["finish_reason"]
                _add(message, item.get("delta"))
    return {**made, "choices": [choice]} if "error" in made else None


def _add(message: dict[str, Any], delta: Any) -> None:
    """Add what an event brings to the message."""
    if not isinstance(delta, dict):
        return
    content = delta.get("content")
    if isinstance(content, list):
        message["content"] += content
    elif content is not None:
        message["content"].append({"type": "text", "text": content})
    for name in _JOINED:
        if isinstance(delta.get(name), str):
            message[name] = message.get(name, "") + delta[name]
    if delta.get("tool_calls"):
        message.setdefault("tool_calls", []).append(delta["tool_calls"])
