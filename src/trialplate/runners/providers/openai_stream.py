# SPDX-License-Identifier: Apache-2.0
"""A chat completion that came as a stream: asked for, or from a gateway that streams whatever the request says.

The events are put together into the one object that would have come without it. A stream without its end or a reason to
stop, or with an event that cannot be read, is no reply: half an answer must not look like a whole one. Texts are joined
once, when all have come.

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
    choice: dict[str, Any] = {"index": 0, "finish_reason": None}
    message = _Message()
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
                message.add(item.get("delta"))
    if "error" not in made and "error" not in choice and not (whole and choice["finish_reason"] is not None):
        return None
    return {**made, "choices": [{**choice, "message": message.made()}]}


class _Pieces(list[str]):
    """A text in the making."""


def _finished(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its texts joined."""
    return {name: "".join(item) if isinstance(item, _Pieces) else item for name, item in value.items()}


class _Message:
    """A message as far as it has come."""

    def __init__(self) -> None:
        self._content: list[Any] = []
        self._texts: dict[str, Any] = {}
        self._calls: list[Any] = []
        self._places: dict[tuple[str, str], dict[str, Any]] = {}
        """Calls by their index and by their id, in Python's writing, since a far end may send anything as either."""
        self._details: list[Any] | None = None

    def add(self, delta: Any) -> None:
        """Add what an event brings."""
        if not isinstance(delta, dict):
            return
        content = delta.get("content")
        if isinstance(content, list):
            self._content += content
        elif content is not None:
            self._content.append({"type": "text", "text": content})
        for name in _JOINED:
            if isinstance(delta.get(name), str):
                self._texts.setdefault(name, _Pieces()).append(delta[name])
        for piece in _list(delta, "tool_calls"):
            self._add_call(piece)
        if isinstance(delta.get("reasoning_details"), list):
            self._details = [] if self._details is None else self._details
            for piece in delta["reasoning_details"]:
                _add_detail(self._details, piece)

    def made(self) -> dict[str, Any]:
        """Return the whole message."""
        message = {"role": "assistant", "content": _joined(self._content), **_finished(self._texts)}
        if self._calls:
            message["tool_calls"] = [
                {**item, "function": _finished(item["function"])} if isinstance(item, dict) else item
                for item in self._calls
            ]
        if self._details is not None:
            message["reasoning_details"] = [
                _finished(item) if isinstance(item, dict) else item for item in self._details
            ]
        return message

    def _add_call(self, piece: Any) -> None:
        """Add a piece of a tool call to the one that it belongs to."""
        if not isinstance(piece, dict):
            self._calls.append(piece)  # no call at all, which is the reader's to say
            return
        found = piece.get("function")
        about = {**found, "arguments": None} if isinstance(found, dict) else {}
        call = self._belongs(piece)
        if call is None:
            call = {**piece, "function": {**about, "arguments": _Pieces()}}
            self._calls.append(call)
        call["function"]["arguments"].append(_arguments(found))
        _fill(call["function"], about)
        _fill(call, piece)
        for name in ("index", "id"):
            if call.get(name) is not None:
                self._places.setdefault((name, repr(call[name])), call)

    def _belongs(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        """Return the call that a piece is of, None if it begins one."""
        if piece.get("index") is not None:
            return self._places.get(("index", repr(piece["index"])))
        if piece.get("id"):
            return self._places.get(("id", repr(piece["id"])))
        last = self._calls[-1] if self._calls else None
        return last if isinstance(last, dict) else None


def _joined(parts: list[Any]) -> Any:
    """Return a message's content: one text if it is nothing else, None if there is none."""
    texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text" and "text" in part]
    if not parts or len(texts) < len(parts) or not all(isinstance(text, str) for text in texts):
        return parts or None
    return "".join(texts)


def _list(holder: dict[str, Any], name: str) -> list[Any]:
    found = holder.get(name)
    return found if isinstance(found, list) else []


def _arguments(about: Any) -> str:
    found = about.get("arguments") if isinstance(about, dict) else None
    return found if isinstance(found, str) else "" if found is None else json.dumps(found, ensure_ascii=False)


def _add_detail(details: list[Any], piece: Any) -> None:
    """Add a piece of reasoning to the block before it, if it goes on with that one."""
    name = _PIECES.get(str(piece.get("type"))) if isinstance(piece, dict) else None
    if name is None:
        details.append(dict(piece) if isinstance(piece, dict) else piece)
        return
    text = piece.get(name)
    said = {**piece, name: _Pieces([text])} if isinstance(text, str) else dict(piece)
    before: Any = details[-1] if details else None
    if not _goes_on(before, said, name):
        details.append(said)
        return
    if isinstance(text, str):
        before[name] = before.get(name) or _Pieces()
        before[name].append(text)
    _fill(before, said)


def _goes_on(before: Any, piece: dict[str, Any], name: str) -> bool:
    if not isinstance(before, dict) or before.get("type") != piece["type"]:
        return False
    if None not in (before.get("index"), piece.get("index")) and before["index"] != piece["index"]:
        return False
    return not before.get(name) or isinstance(before[name], _Pieces)


def _fill(held: dict[str, Any], piece: dict[str, Any]) -> None:
    """Take over what is not there yet."""
    for name, value in piece.items():
        if held.get(name) in (None, ""):
            held[name] = value
