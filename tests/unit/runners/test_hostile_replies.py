# SPDX-License-Identifier: Apache-2.0
"""Replies that no provider would send: every golden one with some part of it changed, cut off, or made very large.

Whatever comes is a `Failure` or an answer that can be recorded, scored and sent back in a next turn.
"""

from __future__ import annotations

import json
import random
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from provider_vectors import named, present, request_of, vector_of

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.runners.base import Answer, Failure, Request, Tool, ToolCall, ToolResult, Turn
from trialplate.runners.conversation import converse
from trialplate.runners.hosted import provider_module
from trialplate.runners.providers import openai_embeddings, replies
from trialplate.spec.providers import RUNNERS

TRIES = 30
"""Changes of each golden reply, drawn from all of them."""
SCALARS: tuple[Any, ...] = (None, True, 0, -1, 7, MAX_INTEGER, MAX_INTEGER + 1, 10**400, 1.5, 1e308)
SCALARS += (float("inf"), float("nan"), "", "x", "\ud800", "\x00\x1b[2J\u202e\u2028\r\n", "q" * 10**4)
DRAWN = (*SCALARS, [], {}, [None], [[]], {"a": 1}, "nest list", "nest object", "many")
HELD = [path for path in present() if vector_of(path)["reply"].get("body") is not None]
STREAMED = [path for path in HELD if isinstance(vector_of(path)["reply"]["body"], str)]


def value_of(drawn: Any) -> Any:
    """Return what is put into a reply; deep and wide values are made when they are used."""
    if drawn == "nest list":
        return json.loads("[" * 800 + "]" * 800)
    if drawn == "nest object":
        return json.loads('{"a":' * 100 + "1" + "}" * 100)
    return [{"type": "text", "text": "x"}] * 10**4 if drawn == "many" else drawn


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of everything within a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """Return a copy of a value in which `change(holder, key)` was made at a place."""
    made = json.loads(json.dumps(value))
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return made


def variants(value: Any, drawn: random.Random) -> Iterator[Any]:
    """Yield changes of a reply."""
    everywhere = list(places(value))
    for _ in range(TRIES):
        path, what = drawn.choice(everywhere), drawn.randrange(len(DRAWN) + 6)

        def change(holder: Any, key: Any, what: int = what) -> None:
            old = holder[key]
            if what < len(DRAWN):
                holder[key] = value_of(DRAWN[what])
            elif what == len(DRAWN):
                holder[key] = [old]
            elif what == len(DRAWN) + 1:
                holder[key] = {"value": old}
            elif what == len(DRAWN) + 2 and isinstance(old, list):
                holder[key] = old[::-1] + old
            else:
                del holder[key]

        yield changed(value, path, change)


def headers_of(vector: dict[str, Any]) -> dict[str, str]:
    """Return the headers of a golden reply."""
    return {"content-type": "application/json", **vector["reply"].get("headers", {})}


def events_of(body: str) -> list[Any]:
    """Return the events of a stream."""
    data = [line.removeprefix("data:").strip() for line in body.split("\n") if line.startswith("data:")]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def stream_of(events: list[Any]) -> bytes:
    """Return events as a stream."""
    return b"".join(b"data: %s\n\n" % (b"[DONE]" if e == "[DONE]" else json.dumps(e).encode()) for e in events)


class Echo:
    """A tool that says something that cannot be sent as it is."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    async def call(self, call: ToolCall, request: Request, number: int) -> ToolResult:
        """Return half of a surrogate pair."""
        return ToolResult(call=call, text="\ud800")


def require_counts(usage: Usage | None) -> None:
    """Hold counts to what a record takes."""
    for name in ("input", "output", "cache_read", "cache_write", "reasoning"):
        count = getattr(usage, name, None)
        assert count is None or (type(count) is int and 0 <= count <= MAX_INTEGER)


def require_recordable(answer: Answer) -> None:
    """Hold an answer to what a record takes."""
    require_counts(answer.usage)
    assert answer.finish is None or replies.is_short(answer.finish)
    assert all(map(replies.is_short, answer.request_ids))
    canonical.encode([canonical.text_out(answer.text), canonical.text_out(answer.served or ""), answer.transcript])
    for call in answer.tool_calls:
        assert all(isinstance(item, str) for item in (call.id, call.name, call.arguments))


async def require_goes_on(runner: str, vector: dict[str, Any], answer: Answer) -> None:
    """Send a reply back as a turn, by itself and in a conversation that then ends."""
    asked = request_of(runner, vector)
    results = tuple(ToolResult(call=call, text="\ud800") for call in answer.tool_calls)
    wire = provider_module(runner).build_request(replace(asked, turns=(Turn(reply=answer, results=results),)))
    canonical.encode(wire.body)
    coming = iter([answer, Answer(text="Paris", served=answer.served, usage=answer.usage)])

    async def ask(request: Request) -> Answer:
        return next(coming)

    require_recordable(await converse(asked, [Echo(tool) for tool in asked.tools], ask))


async def require_harmless(runner: str, vector: dict[str, Any], body: bytes) -> None:
    """Read a reply, and go on with whatever was read."""
    try:
        answer = provider_module(runner).parse_reply(vector["reply"].get("status", 200), headers_of(vector), body)
    except Failure as failure:
        require_counts(failure.usage)
        assert all(map(replies.is_short, failure.request_ids))
        canonical.encode([canonical.text_out(failure.message), canonical.text_out(failure.served or "")])
        return
    require_recordable(answer)
    if answer.tool_calls or answer.paused:
        await require_goes_on(runner, vector, answer)


@pytest.mark.parametrize("path", HELD, ids=named)
async def test_changed_reply_is_a_failure_or_can_be_recorded_and_sent_back(path: Path) -> None:
    """Each part of a golden reply left out, of another type, out of range, deep, wide, twice, or no valid text."""
    vector, drawn = vector_of(path), random.Random(zlib.crc32(named(path).encode()))
    body = vector["reply"]["body"]
    for value in variants(events_of(body) if isinstance(body, str) else body, drawn):
        await require_harmless(path.parent.name, vector, stream_of(value) if isinstance(body, str) else _json(value))


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("path", HELD, ids=named)
def test_cut_reply_is_never_a_whole_answer(path: Path) -> None:
    """Up to the last byte that says that it is the end, whatever is missing makes it a failure."""
    vector, drawn = vector_of(path), random.Random(zlib.crc32(named(path).encode()))
    body = vector["reply"]["body"]
    raw = body.encode() if isinstance(body, str) else _json(body)
    end = [found.end() for found in re.finditer(rb"^data:.*", raw, re.MULTILINE)][-1] if path in STREAMED else len(raw)
    for length in {0, 1, end - 1, *(drawn.randrange(end) for _ in range(40))}:
        with pytest.raises(Failure):
            provider_module(path.parent.name).parse_reply(200, headers_of(vector), raw[:length])


@pytest.mark.parametrize("path", STREAMED, ids=named)
def test_stream_without_a_reason_to_stop_is_no_whole_answer(path: Path) -> None:
    """A gateway whose own source broke off still ends its stream politely."""
    vector = vector_of(path)
    events = [event for event in events_of(vector["reply"]["body"]) if not _says_why(event)]
    if any(isinstance(event, dict) and "output_index" in event for event in events):
        pytest.skip("the Responses API ends with the whole response, which has a status of its own")
    with pytest.raises(Failure):
        provider_module(path.parent.name).parse_reply(200, headers_of(vector), stream_of(events))


def _says_why(event: Any) -> bool:
    choices = event.get("choices") if isinstance(event, dict) else None
    return isinstance(event, dict) and (
        event.get("type") == "message_delta" or any(choice.get("finish_reason") for choice in choices or [])
    )


@pytest.mark.parametrize("name", ["role", "model"])
def test_key_that_stands_twice_is_no_answer(name: str) -> None:
    """Two replies in one: whichever a reader takes, another could have taken the other."""
    body = b'{"model":"m","role":"assistant","choices":[],"content":[],"candidates":[],"%s":"x"}' % name.encode()
    for runner in RUNNERS:
        with pytest.raises(Failure, match=r"JSON|no choice"):
            provider_module(runner).parse_reply(200, {"content-type": "application/json"}, body)


# ------------------------------------------------------------------------------------------------------------ growth


def steps(work: Callable[[], object]) -> int:
    """Return how many lines a piece of work takes: what grows faster than what it is given shows in it."""
    count = 0

    def traced(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def chat_stream(deltas: list[dict[str, Any]]) -> bytes:
    """Return a stream of chat completions."""
    events = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return stream_of([*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"])


def messages_stream(deltas: list[dict[str, Any]]) -> bytes:
    """Return a stream of the Messages API with one block."""
    begun = {"type": "message_start", "message": {"model": "m", "content": []}}
    events = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return stream_of([begun, block, *events, end, {"type": "message_stop"}])


def call_piece(number: int) -> dict[str, Any]:
    """Return a tool call of its own."""
    return {"tool_calls": [{"index": number, "id": f"c{number}", "function": {"name": "f", "arguments": "{}"}}]}


STREAMS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "texts": ("openai-compatible", lambda n: chat_stream([{"content": "ab"}] * n)),
    "thoughts": ("openai-compatible", lambda n: chat_stream([{"reasoning": "ab"}] * n)),
    "calls": ("openai-compatible", lambda n: chat_stream([call_piece(i) for i in range(n)])),
    "arguments": ("openai-compatible", lambda n: chat_stream([call_piece(0)] * n)),
    "details": (
        "openrouter",
        lambda n: chat_stream([{"reasoning_details": [{"type": "reasoning.text", "text": "ab", "index": 0}]}] * n),
    ),
    "blocks of text": ("anthropic", lambda n: messages_stream([{"type": "text_delta", "text": "ab"}] * n)),
    "citations": ("anthropic", lambda n: messages_stream([{"type": "citations_delta", "citation": {}}] * n)),
}


@pytest.mark.parametrize("runner, made", STREAMS.values(), ids=STREAMS)
def test_stream_is_read_in_steps_that_grow_with_its_length(runner: str, made: Callable[[int], bytes]) -> None:
    """Four times the pieces are about four times the steps."""

    def read(body: bytes) -> Answer:
        return provider_module(runner).parse_reply(200, {"content-type": "text/event-stream"}, body)

    few, many = made(200), made(800)

    assert steps(lambda: read(many)) < 5 * steps(lambda: read(few))


def test_texts_of_a_stream_are_joined_once() -> None:
    """A text that is copied for each of its pieces would be copied 25 gigabytes' worth here."""
    chat = provider_module("openai-compatible")
    body = chat_stream([{"content": "ab" * 16, "reasoning": "cd" * 16}] * 40_000)

    assert len(chat.parse_reply(200, {"content-type": "text/event-stream"}, body).text) == 32 * 40_000


def test_embeddings_of_any_kind_are_vectors_or_a_failure() -> None:
    """Numbers that a record could not hold may stand in a vector, which is not kept; what is no number may not."""
    for item in (*SCALARS, [], {}, [1], [None]):
        body = _json({"model": "m", "data": [{"index": 0, "embedding": [item]}], "usage": {"prompt_tokens": item}})
        try:
            answer = openai_embeddings.parse_reply(200, {"content-type": "application/json"}, body)
        except Failure:
            continue
        require_counts(answer.usage)
        assert type(item) in (int, float)
