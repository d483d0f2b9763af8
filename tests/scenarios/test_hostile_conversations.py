# SPDX-License-Identifier: Apache-2.0
"""Conversations with a far end and with tools that mean harm: what is recorded, what is paid for, and what leaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion
from server_thread import ServerThread
from tool_project import CASE, KEYS, call, do, ends, project, require_nothing_leaked, results


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("tell", "the key is [secret]"),
        ("tell in a list", '["[secret]"]'),
        ("raise", "RuntimeError"),
        ("object", "which is no text and no JSON"),
        ("return much", "ended without a result"),
        ("print much", "printed"),
        ("fork", "forked"),
        ("sleep", "took longer than"),
    ],
)
def test_tool_that_misbehaves_is_one_more_thing_that_the_model_is_told(tmp_path: Path, what: str, told: str) -> None:
    """It neither ends the run, nor stays behind, nor gives its key away."""
    with ServerThread(ChatServer(answer=lambda body: "Paris" if results(body) else do(what))) as server:
        made = project(tmp_path, server.url, cache="auto", cases=CASE.replace("30", "2"))
        made.run(**KEYS)
        said = results(server.requests[-1].body)
    assert told in said[0]
    assert len(said[0]) < 20_000
    assert ends(made)[-1]["outcome"] == "passed"
    assert made.codes() == set()
    require_nothing_leaked(tmp_path)


@pytest.mark.parametrize("what", ["delete", "rewrite"])
def test_tool_that_is_no_longer_the_one_of_the_plan_is_not_called(tmp_path: Path, what: str) -> None:
    """What ran and what the plan pins would be two things; what the first turn took is counted."""
    with ServerThread(ChatServer(answer=lambda body: do(what))) as server:
        made = project(tmp_path, server.url)
        made.run(expect=4, **KEYS)
    (end,) = ends(made)
    assert (end["outcome"], end["cause"], len(end["calls"])) == ("error", "not_started", 2)
    assert end["usage"]["input"] > 0
    assert end["cost"] is not None
    assert made.codes() == set()


def test_refusal_in_the_middle_begins_the_conversation_again_and_each_turn_is_paid_once(tmp_path: Path) -> None:
    """An attempt is a whole conversation; of one that broke off, what it had taken stands in its line."""
    refused: list[int] = []

    def instead(body: dict[str, Any]) -> Any:
        if results(body) and not refused:
            refused.append(1)
            return {"status": 429, "json": {"error": {"message": "slow down"}}}
        return None

    answer = ChatServer(answer=lambda body: "Paris" if results(body) else do("nothing"), instead=instead)
    with ServerThread(answer) as server:
        made = project(tmp_path, server.url, retries=1)
        made.run(**KEYS)
        assert [len(results(seen.body)) for seen in server.requests] == [0, 1, 0, 1]
    first, second = ends(made)
    assert (first["outcome"], first["cause"], len(first["calls"])) == ("error", "rate_limited", 2)
    assert first["cost"] is not None and first["cost"]["nano"] > 0
    assert (second["outcome"], len(second["calls"])) == ("passed", 2)
    assert made.codes() == set()


def test_turn_without_usage_makes_the_whole_unknown(tmp_path: Path) -> None:
    """A part is no whole; nothing is counted as zero."""

    def instead(body: dict[str, Any]) -> Any:
        made = completion("Paris", prompt="x")
        if not results(body):
            made["choices"][0] |= {"message": do("nothing"), "finish_reason": "tool_calls"}
            del made["usage"]
        return {"json": made}

    with ServerThread(ChatServer(instead=instead)) as server:
        made = project(tmp_path, server.url)
        made.run(**KEYS)
    (end,) = ends(made)
    assert end["outcome"] == "passed"
    assert end.get("usage") is None and end.get("cost") is None
    assert made.codes() == set()


@pytest.mark.parametrize("tokens", [2**53 - 1, 8 * 10**12])
def test_counts_that_no_record_could_add_up_are_unknown(tmp_path: Path, tokens: int) -> None:
    """Each turn's count is one, and their sum is none."""

    def instead(body: dict[str, Any]) -> Any:
        made = completion("Paris", prompt="x")
        made["usage"] = {"prompt_tokens": tokens, "completion_tokens": 1}
        if not results(body):
            made["choices"][0] |= {"message": do("nothing"), "finish_reason": "tool_calls"}
        return {"json": made}

    with ServerThread(ChatServer(instead=instead)) as server:
        made = project(tmp_path, server.url)
        made.run(**KEYS)
    (end,) = ends(made)
    assert end["outcome"] == "passed"
    assert end.get("cost") is None
    assert made.codes() == set()
    for form in ("text", "json", "markdown", "csv"):
        assert made("report", "--format", form).code == 0


@pytest.mark.parametrize("turn", [0, 1])
def test_another_model_in_the_middle_is_no_answer_of_the_one_that_was_asked(tmp_path: Path, turn: int) -> None:
    """Whichever turn it is; and no tool is called for it."""

    def instead(body: dict[str, Any]) -> Any:
        number = len(results(body))
        made = completion("Paris", model="m-cheap" if number == turn else "m-small", prompt="x")
        if number == 0:
            made["choices"][0] |= {"message": do("nothing"), "finish_reason": "tool_calls"}
        return {"json": made}

    with ServerThread(ChatServer(instead=instead)) as server:
        made = project(tmp_path, server.url, cache="auto")
        made.run(expect=4, **KEYS)
        assert len(server.requests) == turn + 1
    assert (ends(made)[-1]["outcome"], ends(made)[-1]["cause"]) == ("error", "wrong_model")
    assert made.codes() == set()


def test_time_of_an_attempt_is_that_of_its_tools_too(tmp_path: Path) -> None:
    """A tool that may take half a minute does not take it from an attempt that has two seconds."""
    with ServerThread(ChatServer(answer=lambda body: do("sleep"))) as server:
        made = project(tmp_path, server.url, timeout_s=2)
        made.run(expect=4, **KEYS)
        assert len(server.requests) == 1
    (end,) = ends(made)
    assert (end["outcome"], end["cause"], len(end["calls"])) == ("error", "timeout", 1)
    assert end["usage"]["input"] > 0
    assert end["wall_ms"] < 20_000
    assert made.codes() == set()


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")  # two megabytes at once are no matter here
def test_thousand_calls_of_one_reply_with_names_and_ids_of_any_kind(tmp_path: Path) -> None:
    """Names with control characters, keys and a megabyte; arguments of a megabyte; one id for all."""
    key = KEYS["MODEL_KEY"]
    names = ["\x1b[2J\u202e", f"helper {key}", "\ud800", "", "Helper", "helper\n"]
    bad = [call("{}", name=names[number % len(names)]) for number in range(1000)]
    bad += [call("{}", name="n" * 10**6), call("[" * 10**6)]
    bad += [call(json.dumps({"do": "q" * 10**6})), call('{"do": 7}'), call('{"do":"a","do":"b"}')]

    with ServerThread(ChatServer(answer=lambda body: "Paris" if results(body) else {"tool_calls": bad})) as server:
        made = project(tmp_path, server.url, cache="auto")
        made.run(**KEYS)
        said = results(server.requests[-1].body)
    assert len(said) == len(bad)
    assert sum(map(len, said)) < 10**6
    assert ends(made)[-1]["outcome"] == "passed"
    assert made.codes() == set()
    require_nothing_leaked(tmp_path)
    shown = made("show", "latest", "only")
    assert shown.code == 0
    assert "\x1b" not in shown.out and "\u202e" not in shown.out


def escaped(key: str) -> str:
    """Return a key with each character behind JSON's escape."""
    return "".join(f"\\u{ord(char):04x}" for char in key)


@pytest.mark.parametrize("form", ["escaped", "escaped twice", "stream"])
def test_key_that_the_far_end_says_in_another_form_is_kept_nowhere(tmp_path: Path, form: str) -> None:
    """Behind escapes, behind escapes within the arguments of a call, in the pieces of a stream: also in what goes back."""
    key = KEYS["MODEL_KEY"]

    def instead(body: dict[str, Any]) -> Any:
        if results(body):
            return None
        if form == "stream":
            pieces = [json.dumps({"do": key})[:14], json.dumps({"do": key})[14:]]
            deltas = [{"tool_calls": [{"index": 0, **call(piece)}]} for piece in pieces]
            events = [{"model": "m-small", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}}
            return {"sse": [*events, end, "[DONE]"]}
        made = completion("", prompt="x")
        arguments = '{"do":"KEY"}' if form == "escaped" else json.dumps({"do": "KEY"}).replace("KEY", escaped(key))
        made["choices"][0] |= {"message": {"tool_calls": [call(arguments)]}, "finish_reason": "tool_calls"}
        return {"body": json.dumps(made).replace("KEY", escaped(key)), "headers": {"Content-Type": "application/json"}}

    with ServerThread(ChatServer(instead=instead)) as server:
        made = project(tmp_path, server.url, cache="auto")
        made.run(**KEYS)
        assert "PLANTED" not in json.dumps(server.requests[-1].body)
    assert ends(made)[-1]["outcome"] == "passed"
    assert made.codes() == set()
    require_nothing_leaked(tmp_path)
