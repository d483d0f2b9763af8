# SPDX-License-Identifier: Apache-2.0
"""The loop of a conversation: whose turn it is, how far it goes, and what all its turns come to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trialplate.record.entries import Call, Usage
from trialplate.record.values import Case, CaseTool, Configuration
from trialplate.runners.base import Answer, Failure, Request, Tool, ToolCall, ToolResult
from trialplate.runners.conversation import converse
from trialplate.spec.turns import RESULT_BYTES

ASKED = Configuration(name="m", model="m", profile="default", runner="openai", model_id="m-1", endpoint="https://h")
CALLS = (ToolCall(id="a", name="look", arguments="{}"), ToolCall(id="b", name="look", arguments="{}"))
END = Answer(text="done", served="m-1", usage=Usage(input=5, output=1), received=7, latency_ms=3, request_ids=("r3",))


class Look:
    """A tool that says how often it was called."""

    tool = Tool(name="look", description="Looks.", parameters={"type": "object"})

    def __init__(self) -> None:
        self.called = 0

    async def call(self, call: ToolCall, request: Request, number: int) -> ToolResult:
        """Say the number of the call."""
        self.called += 1
        return ToolResult(call=call, text=str(number))


def request(**fields: Any) -> Request:
    """Return an attempt at a case that offers the tool."""
    case = Case(id="q", input="?", tools=(CaseTool(name="look", max_calls=fields.pop("most", None)),), **fields)
    return Request(configuration=ASKED, case=case, repeat=1, attempt=1, timeout_s=60, request_id="r")


def calling(number: int = 1, **fields: Any) -> Answer:
    """Return a reply that calls the tool twice."""
    named = {"served": "m-1", "usage": Usage(input=2, output=1, cache_read=1), "received": 10, "latency_ms": 4}
    return Answer(**{"text": "", "tool_calls": CALLS, "request_ids": (f"r{number}",), **named, **fields})


def saying(*answers: Answer | Failure) -> tuple[list[Request], Any]:
    """Return the requests that will have been made, and what answers them."""
    made: list[Request] = []

    async def ask(asked: Request) -> Answer:
        made.append(asked)
        said = answers[len(made) - 1]
        if isinstance(said, Failure):
            raise said
        return said

    return made, ask


async def test_results_of_a_turn_go_back_together_and_all_turns_are_added_up() -> None:
    """Usage, bytes, time, ids and calls of three exchanges are the attempt's."""
    call = Call(digest="sha256:" + "0" * 64)
    made, ask = saying(calling(1, calls=(call,)), calling(2, calls=(call,)), replace(END, calls=(call,)))
    answer = await converse(request(), [Look()], ask)
    assert [len(item.turns) for item in made] == [0, 1, 2]
    assert [result.text for turn in made[2].turns for result in turn.results] == ["1", "2", "3", "4"]
    assert (answer.text, answer.usage) == ("done", Usage(input=9, output=3, cache_read=2))
    assert (answer.received, answer.latency_ms, len(answer.calls)) == (27, 11, 3)
    assert answer.request_ids == ("r1", "r2", "r3")
    assert isinstance(answer.transcript, dict)
    assert len(answer.transcript["turns"]) == 2


async def test_usage_that_one_turn_does_not_tell_is_unknown_in_all() -> None:
    """A part is no whole."""
    _, ask = saying(calling(), calling(2, usage=None), END)
    assert (await converse(request(), [Look()], ask)).usage is None
    _, ask = saying(calling(), calling(2, usage=Usage(output=1)), END)
    assert (await converse(request(), [Look()], ask)).usage == Usage(output=3, cache_read=1)


async def test_wait_for_the_next_turn_is_not_taken_from_the_models_time() -> None:
    """Half a second is left; a limit that holds it for a thousand takes none of that."""

    async def next_turn() -> float:
        return 1000.0

    made, ask = saying(calling(), END)
    await converse(replace(request(), timeout_s=0.5, next_turn=next_turn), [Look()], ask)
    assert made[0].timeout_s <= 0.5
    assert made[1].timeout_s > 999


async def test_conversation_has_one_time_limit() -> None:
    """What the first turns took is not there for the last."""

    async def next_turn() -> float:
        return -60.0  # as if the clock had gone on by so much

    _, ask = saying(calling(), END)
    with pytest.raises(Failure) as caught:
        await converse(replace(request(), next_turn=next_turn), [Look()], ask)
    assert (caught.value.kind, caught.value.usage, caught.value.received) == (
        "timeout",
        Usage(input=2, output=1, cache_read=1),
        10,
    )


async def test_failure_in_a_later_turn_keeps_what_was_paid_before() -> None:
    """Bytes and ids of earlier turns are the attempt's; a request that was turned away took no tokens, a lost one may."""
    call = Call(digest="sha256:" + "0" * 64)
    lost = Failure("transport", "broke off", sent=True, calls=(call,))
    _, ask = saying(calling(), lost)
    with pytest.raises(Failure) as caught:
        await converse(request(), [Look()], ask)
    assert caught.value.usage is None
    refused = Failure("http_status", "slow down", status=429, sent=True, retry_after_s=2, calls=(call,))
    _, ask = saying(calling(), refused)
    with pytest.raises(Failure) as caught:
        await converse(request(), [Look()], ask)
    assert (caught.value.status, caught.value.retry_after_s) == (429, 2)
    assert caught.value.usage == Usage(input=2, output=1, cache_read=1)
    assert (caught.value.received, caught.value.request_ids) == (10, ("r1",))


async def test_turns_and_calls_are_bounded() -> None:
    """What is beyond max_calls is told to the model; what is beyond max_turns ends the attempt."""
    tool = Look()
    made, ask = saying(calling(), calling(2), calling(3))
    with pytest.raises(Failure) as caught:
        await converse(request(most=3, max_turns=3), [tool], ask)
    assert (caught.value.kind, len(made), tool.called) == ("max_turns", 3, 3)
    assert caught.value.usage == Usage(input=6, output=3, cache_read=3)
    assert "may be called 3 times" in made[2].turns[1].results[1].text
    turns = caught.value.transcript["turns"]  # type: ignore[index,call-overload]
    assert [[call.get("result", "none") for call in turn["tools"]] for turn in turns] == [
        ["1", "2"],
        ["3", made[2].turns[1].results[1].text],
        ["none", "none"],
    ]


async def test_another_model_in_the_middle_ends_it_and_calls_nothing() -> None:
    """Its answer is evidence about nobody here, and its wishes cost money."""
    tool = Look()
    _, ask = saying(calling(served="somebody"), END)
    answer = await converse(request(), [tool], ask)
    assert (answer.served, tool.called) == ("somebody", 0)


async def test_paused_turn_goes_back_without_results() -> None:
    """The far end goes on by itself."""
    made, ask = saying(Answer(text="", served="m-1", paused=True, replay={"x": 1}), END)
    assert (await converse(request(), [], ask)).text == "done"
    assert made[1].turns[0].results == ()


async def test_results_of_a_turn_have_a_bound_together_however_many_they_are() -> None:
    """What a turn can cost is known beforehand, in bytes of whatever script; what is cut says so."""

    class Wordy(Look):
        async def call(self, call: ToolCall, request: Request, number: int) -> ToolResult:
            return ToolResult(call=call, text="\u4e2d" * 100_000)

    many = calling(tool_calls=tuple(ToolCall(id=str(n), name="look", arguments="{}") for n in range(40)))
    made, ask = saying(many, calling(2), END)
    await converse(request(), [Wordy()], ask)
    for turn in made[2].turns:
        assert sum(len(result.text.encode()) for result in turn.results) <= RESULT_BYTES
        assert all(result.text.endswith("[cut off: 300000 bytes]") for result in turn.results)
