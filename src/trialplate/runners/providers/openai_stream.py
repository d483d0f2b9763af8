# SPDX-License-Identifier: Apache-2.0
"""A chat completion that came as a stream: asked for, or from a gateway that streams whatever the request says.

The events are put together into the one object that would have come without it. A stream without its end, or with an
event that cannot be read, is no reply: half an answer must not look like a whole one.

- content: texts and lists of parts, in their order; texts alone are one text;
- tool calls: by their `index`, the arguments joined, anything else as it came first. Where a server gives no index, an
  id that is new begins a call;
- `reasoning_details`: text to text and summary to summary where they follow one another and belong to the same block;
  what is encrypted or unknown stays as it came; what a later piece says besides fills gaps alone.

Source: OpenAI API reference, "The chat completion chunk object"; OpenRouter, "Reasoning Tokens", "Streaming chunk
handling"; HTML standard, "Server-sent events".
"""

from __future__ import annotations

import json
from typing import Any

from trialplate.runners.providers import replies

__all__ = ["assembled"]

_LAST = ("id", "model", "usage", "error")
_JOINED = ("refusal", "reasoning_content", "reasoning")
_PIECES = {"reasoning.text": "text", "reasoning.summary": "summary"}


def assembled(body: bytes) -> dict[str, Any] | None:
    """Return the completion that a stream's events come to, or None if the stream is not whole.

    Args:
        body: all of its bytes.
    """
    made: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": []}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": None}
    whole = False
    for data in replies.event_data(body):
        if data == b"[DONE]":
            whole = True
            break
        event = replies.read_json(data)
        if not isinstance(event, dict):
            return None
        made |= {name: event[name] for name in _LAST if event.get(name) is not None}
        choices = event.get("choices")
        for item in choices if isinstance(choices, list) else []:
            if isinstance(item, dict) and item.get("index", 0) == 0:
                if item.get("usage") is not None:  # where Moonshot has it
                    made.setdefault("usage", item["usage"])
                choice["finish_reason"] = item.get("finish_reason") or choice["finish_reason"]
                if item.get("error") is not None:
                    choice["error"] = item["error"]
                _add(message, item.get("delta"))
    if not whole and "error" not in made and "error" not in choice:
        return None
    message["content"] = _joined(message["content"])
    return {**made, "choices": [choice]}


def _joined(parts: list[Any]) -> Any:
    """Return a message's content: one text if it is nothing else, None if there is none."""
    texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text" and "text" in part]
    if not parts or len(texts) < len(parts) or not all(isinstance(text, str) for text in texts):
        return parts or None
    return "".join(texts)


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
    for piece in _list(delta, "tool_calls"):
        _add_call(message.setdefault("tool_calls", []), piece)
    if isinstance(delta.get("reasoning_details"), list):
        details = message.setdefault("reasoning_details", [])
        for piece in delta["reasoning_details"]:
            _add_detail(details, piece)


def _list(holder: dict[str, Any], name: str) -> list[Any]:
    found = holder.get(name)
    return found if isinstance(found, list) else []


def _add_call(calls: list[Any], piece: Any) -> None:
    """Add a piece of a tool call to the one that it belongs to."""
    if not isinstance(piece, dict):
        calls.append(piece)  # no call at all, which is the reader's to say
        return
    found = piece.get("function")
    about = found if isinstance(found, dict) else {}
    call = next((item for item in calls if _belongs(piece, item, last=item is calls[-1])), None)
    if call is None:
        calls.append({**piece, "function": {**about, "arguments": _arguments(about)}})
        return
    call["function"]["arguments"] += _arguments(about)
    _fill(call["function"], about)
    _fill(call, piece)


def _belongs(piece: dict[str, Any], call: Any, *, last: bool) -> bool:
    if not isinstance(call, dict):
        return False
    if piece.get("index") is not None:
        return bool(piece["index"] == call.get("index"))
    return bool(piece["id"] == call.get("id")) if piece.get("id") else last


def _arguments(about: dict[str, Any]) -> str:
    found = about.get("arguments")
    return found if isinstance(found, str) else "" if found is None else json.dumps(found, ensure_ascii=False)


def _add_detail(details: list[Any], piece: Any) -> None:
    """Add a piece of reasoning to the block before it, if it goes on with that one."""
    before = details[-1] if details else None
    name = _PIECES.get(str(piece.get("type"))) if isinstance(piece, dict) else None
    if name is None or not isinstance(before, dict) or before.get("type") != piece["type"]:
        details.append(dict(piece) if isinstance(piece, dict) else piece)
        return
    if None not in (before.get("index"), piece.get("index")) and before["index"] != piece["index"]:
        details.append(dict(piece))
        return
    if isinstance(piece.get(name), str):
        before[name] = (before.get(name) or "") + piece[name]
    _fill(before, piece)


def _fill(held: dict[str, Any], piece: dict[str, Any]) -> None:
    """Take over what is not there yet."""
    for name, value in piece.items():
        if held.get(name) in (None, ""):
            held[name] = value
