# SPDX-License-Identifier: Apache-2.0
"""The conversation loop that all hosted models share: reply, tools, reply, until the model has said its last word.

A turn is one reply. One that calls tools is answered by all their results together, in the order of its calls; one that
the far end broke off itself goes back as it is; any other is the end. `max_turns` bounds the replies of one attempt,
since a model can ask for ever; a tool's `max_calls` bounds how often it is called, and what is beyond is told to the
model like any other mistake of its own. The attempt's time is that of the whole conversation.

Usage, calls, ids and bytes of all turns are the attempt's. If one turn's usage is unknown, so is the sum: a part is no
whole. The transcript holds every turn, so that what was scored can be followed.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.rules.cells import serves
from trialplate.runners.base import Answer, Failure, OfferedTool, Request, ToolCall, ToolResult, Turn
from trialplate.runners.usage import added_up
from trialplate.spec.turns import MAX_TURNS

__all__ = ["converse"]

Ask = Callable[[Request], Awaitable[Answer]]


async def converse(request: Request, tools: Sequence[OfferedTool], ask: Ask) -> Answer:
    """Return the last answer of a conversation, with what all its turns took.

    Args:
        request: the attempt, its tools and no turns.
        tools: what can be called.
        ask: makes one exchange.

    Raises:
        Failure: of an exchange, with what the turns before it took; `max_turns`.
    """
    if not tools:
        answer = await ask(request)
        if not answer.paused and not answer.tool_calls:
            return answer
    else:
        answer = None
    return await _Conversation(request, tools, ask).run(answer)


class _Conversation:
    """One attempt's turns."""

    def __init__(self, request: Request, tools: Sequence[OfferedTool], ask: Ask) -> None:
        self._tools = {item.tool.name: item for item in tools}
        self._most = {item.name: item.max_calls for item in request.case.tools}
        self._limit = request.case.max_turns or MAX_TURNS
        self._ask, self._request = ask, replace(request, tools=tuple(item.tool for item in tools))
        self._ends = time.monotonic() + request.timeout_s
        self._turns: list[Turn] = []
        self._called: dict[str, int] = {}
        self._number = 0

    async def run(self, first: Answer | None) -> Answer:
        answer = first or await self._asked()
        while (answer.tool_calls or answer.paused) and serves(self._request.configuration, answer.served):
            if len(self._turns) + 1 >= self._limit:
                told = f"it wanted to go on after {self._limit} turns, the most that it may have"
                failure = Failure("max_turns", told, sent=True, received=answer.received, latency_ms=answer.latency_ms)
                failure.usage, failure.calls, failure.served = answer.usage, answer.calls, answer.served
                failure.request_ids = answer.request_ids
                raise self._whole(failure)
            results = [await self._result(call) for call in answer.tool_calls]
            self._turns.append(Turn(reply=answer, results=tuple(results)))
            answer = await self._asked()
        if not self._turns:  # tools were offered and none was called, which is more than that nobody knows
            return replace(answer, transcript={**_held(answer.transcript), "turns": []})
        turns = [turn.reply for turn in self._turns]
        return replace(
            answer,
            usage=added_up([item.usage for item in (*turns, answer)]),
            request_ids=tuple(dict.fromkeys(i for item in (*turns, answer) for i in item.request_ids)),
            latency_ms=sum(item.latency_ms for item in (*turns, answer)),
            received=sum(item.received for item in (*turns, answer)),
            calls=tuple(call for item in (*turns, answer) for call in item.calls),
            transcript={**_held(answer.transcript), "turns": [_told(turn) for turn in self._turns]},
        )

    async def _asked(self) -> Answer:
        """Make the next exchange, within what is left of the attempt's time."""
        if self._turns and self._request.next_turn is not None:
            self._ends += await self._request.next_turn()  # that it has to wait is no fault of the model's
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self._whole(Failure("timeout", f"not done after {self._request.timeout_s:g} s", sent=True))
        try:
            return await self._ask(replace(self._request, turns=tuple(self._turns), timeout_s=left))
        except Failure as failure:
            raise self._whole(failure) from None

    async def _result(self, call: ToolCall) -> ToolResult:
        self._number += 1
        tool = self._tools.get(call.name)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            return ToolResult(call=call, text=f"there is no tool {call.name!r}; there is: {there}", error=True)
        most, made = self._most.get(call.name), self._called.get(call.name, 0)
        if most is not None and made >= most:
            message = f"{call.name} may be called {most} times and has been; do not call it again"
            return ToolResult(call=call, text=message, error=True)
        self._called[call.name] = made + 1
        try:
            return await tool.call(call, self._request, self._number)
        except Failure as failure:
            raise self._whole(failure) from None

    def _whole(self, failure: Failure) -> Failure:
        """Return a failure with what the turns before it took."""
        if self._turns:
            turns = [turn.reply for turn in self._turns]
            failure.usage = added_up([*(item.usage for item in turns), failure.usage])
            failure.calls = (*(call for item in turns for call in item.calls), *failure.calls)
            failure.request_ids = (*(i for item in turns for i in item.request_ids), *failure.request_ids)
            failure.received += sum(item.received for item in turns)
            failure.latency_ms += sum(item.latency_ms for item in turns)
        return failure


def _held(transcript: Json | None) -> dict[str, Json]:
    return dict(transcript) if isinstance(transcript, dict) else {}


def _told(turn: Turn) -> Json:
    """Return a turn as the transcript tells it."""
    told: dict[str, Json] = _held(turn.reply.transcript)
    if turn.reply.text:
        told["text"] = canonical.text_out(turn.reply.text)
    if turn.results:
        told["tools"] = [
            {
                "name": canonical.text_out(result.call.name),
                "arguments": canonical.text_out(result.call.arguments),
                "result": canonical.text_out(result.text),
                **({"error": True} if result.error else {}),
            }
            for result in turn.results
        ]
    return told
