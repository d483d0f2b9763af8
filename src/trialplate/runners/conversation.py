# SPDX-License-Identifier: Apache-2.0
"""The conversation loop that all hosted models share: reply, tools, reply, until the model has said its last word.

A turn is one reply. One that calls tools is answered by all their results together, in the order of its calls; one that
the far end broke off itself goes back as it is; any other is the end. `max_turns` bounds the replies of one attempt,
since a model can ask for ever; a tool's `max_calls` bounds how often it is called, and what is beyond is told to the
model like any other mistake of its own. The attempt's time is that of the whole conversation.

Usage, calls, ids and bytes of all turns are the attempt's, also of one that fails. If one turn's usage is unknown, so
is the sum: a part is no whole. A request that was refused as it stood took nothing. The transcript holds every turn, so
that what was scored can be followed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.frozen import Json
from trialplate.rules.cells import serves
from trialplate.runners.base import Answer, Failure, OfferedTool, Request, ToolCall, ToolResult, Turn
from trialplate.runners.providers.replies import shown
from trialplate.runners.results import cut_off
from trialplate.runners.usage import added_up
from trialplate.spec.turns import MAX_TURNS, RESULT_BYTES

__all__ = ["converse"]

_NOTHING = Usage(input=0, output=0)

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
        self._replies: list[Answer] = []
        """All that came so far, the last one too."""
        self._called: dict[str, int] = {}
        self._number = 0

    async def run(self, first: Answer | None) -> Answer:
        answer = self._heard(first) if first is not None else await self._asked()
        while (answer.tool_calls or answer.paused) and serves(self._request.configuration, answer.served):
            if len(self._turns) + 1 >= self._limit:
                turns = "1 turn" if self._limit == 1 else f"{self._limit} turns"
                told = f"it wanted to go on after {turns}, the most that it may have"
                raise self._whole(Failure("max_turns", told, sent=True, served=answer.served))
            results = [await self._result(call) for call in answer.tool_calls]
            room = RESULT_BYTES // max(1, len(results))  # a thousand calls in one reply cost no more than one
            results = [replace(result, text=cut_off(result.text, room)) for result in results]
            self._turns.append(Turn(reply=answer, results=tuple(results)))
            answer = await self._asked()
        if not self._turns:  # tools were offered and none was called, which is more than that nobody knows
            return replace(answer, transcript={**_held(answer.transcript), "turns": []})
        return replace(
            answer,
            usage=added_up([item.usage for item in self._replies]),
            request_ids=tuple(dict.fromkeys(i for item in self._replies for i in item.request_ids)),
            latency_ms=sum(item.latency_ms for item in self._replies),
            received=sum(item.received for item in self._replies),
            calls=tuple(call for item in self._replies for call in item.calls),
            transcript={**_held(answer.transcript), "turns": [_told(turn) for turn in self._turns]},
        )

    def _heard(self, answer: Answer) -> Answer:
        self._replies.append(answer)
        return answer

    def _left(self) -> float:
        """Return what is left of the attempt's time, in seconds.

        Raises:
            Failure: `timeout`: nothing is.
        """
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self._late()
        return left

    def _late(self) -> Failure:
        return self._whole(Failure("timeout", f"not done after {self._request.timeout_s:g} s", sent=True))

    async def _asked(self) -> Answer:
        """Make the next exchange, within what is left of the attempt's time."""
        if self._turns and self._request.next_turn is not None:
            self._ends += await self._request.next_turn()  # that it has to wait is no fault of the model's
        request = replace(self._request, turns=tuple(self._turns), timeout_s=self._left())
        try:
            return self._heard(await self._ask(request))
        except Failure as failure:
            raise self._whole(failure) from None

    async def _result(self, call: ToolCall) -> ToolResult:
        self._number += 1
        tool = self._tools.get(call.name)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            return ToolResult(call=call, text=f"there is no tool {shown(call.name)!r}; there is: {there}", error=True)
        most, made = self._most.get(call.name), self._called.get(call.name, 0)
        if most is not None and made >= most:
            message = f"{call.name} may be called {most} times and has been; do not call it again"
            return ToolResult(call=call, text=message, error=True)
        self._called[call.name] = made + 1
        left = self._left()
        try:
            async with asyncio.timeout(left):
                return await tool.call(call, self._request, self._number)
        except TimeoutError:
            raise self._late() from None
        except Failure as failure:
            raise self._whole(failure) from None

    def _whole(self, failure: Failure) -> Failure:
        """Return a failure with what the replies before it took."""
        if self._replies:
            took = [item.usage for item in self._replies]
            if failure.calls:  # an exchange of its own
                took.append(_NOTHING if _refused(failure) and failure.usage is None else failure.usage)
            failure.usage = added_up(took)
            failure.calls = (*(call for item in self._replies for call in item.calls), *failure.calls)
            ids = [i for item in self._replies for i in item.request_ids]
            failure.request_ids = tuple(dict.fromkeys([*ids, *failure.request_ids]))
            failure.received += sum(item.received for item in self._replies)
            failure.latency_ms += sum(item.latency_ms for item in self._replies)
            last = self._replies[-1]
            left = [Turn(reply=last)] if last.tool_calls and all(turn.reply is not last for turn in self._turns) else []
            failure.transcript = {"turns": [_told(turn) for turn in (*self._turns, *left)]}
        return failure


def _refused(failure: Failure) -> bool:
    """Say whether a request was turned away as it stood, so that no model did anything."""
    return failure.kind == "http_status" and failure.status is not None and 400 <= failure.status < 500


def _held(transcript: Json | None) -> dict[str, Json]:
    return dict(transcript) if isinstance(transcript, dict) else {}


def _told(turn: Turn) -> Json:
    """Return a turn as the transcript tells it."""
    told: dict[str, Json] = _held(turn.reply.transcript)
    if turn.reply.text:
        told["text"] = canonical.text_out(turn.reply.text)
    calls: list[Json] = []
    for number, call in enumerate(turn.reply.tool_calls):
        made: dict[str, Json] = {
            "name": canonical.text_out(call.name),
            "arguments": canonical.text_out(call.arguments),
        }
        if number < len(turn.results):
            result = turn.results[number]
            made |= {"result": canonical.text_out(result.text), **({"error": True} if result.error else {})}
        calls.append(made)
    if calls:
        told["tools"] = calls
    return told
