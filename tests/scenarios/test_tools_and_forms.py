# SPDX-License-Identifier: Apache-2.0
"""Runs in which models call tools and answer in a form: what is sent, what is recorded, and what counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion
from forger import Forger
from server_thread import ServerThread
from small_project import SmallProject

TOOL = """\
import pathlib, time
def run(arguments, files):
    pathlib.Path("ran").touch()
    if arguments["expression"] == "sleep":
        time.sleep(60)
    return eval(arguments["expression"], {"__builtins__": {}}, {})
"""
PLAN = """\
trialplate: 1
name: tools
test_sets: [{{file: cases/q.yaml}}]
models:
  m: {{runner: openai-compatible, url: "{url}", model: m-small, pricing: {{input: "1", output: "2"}}, structured: {mode}}}
tools:
  calculator:
    callable: tools/calc.py:run
    description: Works out an arithmetic expression.
    parameters: {{type: object, properties: {{expression: {{type: string}}}}, required: [expression], additionalProperties: false}}
repeats: 1
run: {{cache: {cache}}}
scorers:
  correct: {{type: exact}}
pass_mark:
  evidence: {{calls: any}}
  rules: [{{id: correct, at_least: 1, of: correct, basis: estimate}}]
"""
CASE = """\
cases:
  - id: sum
    input: How much is 17 times 3?
    references: ["51"]
    tools: [{name: calculator, max_calls: 2, timeout_s: 5}]
"""


def project(root: Path, url: str, cases: str = CASE, *, mode: str = "text", cache: str = "off") -> SmallProject:
    """Write the project."""
    made = SmallProject.write(root, PLAN.format(url=url, mode=mode, cache=cache))
    (made.root / "cases" / "q.csv").unlink(missing_ok=True)
    (made.root / "cases" / "q.yaml").write_text(cases)
    (made.root / "tools").mkdir()
    (made.root / "tools" / "calc.py").write_text(TOOL)
    return made


def calls(*expressions: str) -> dict[str, Any]:
    """Return a message that calls the calculator."""
    return {
        "tool_calls": [
            {
                "id": f"call_{i}",
                "type": "function",
                "function": {"name": "calculator", "arguments": json.dumps({"expression": e})},
            }
            for i, e in enumerate(expressions)
        ]
    }


def results(body: dict[str, Any]) -> list[str]:
    """Return what tools said so far in a request."""
    return [item["content"] for item in body["messages"] if item["role"] == "tool"]


def end_of(made: SmallProject) -> dict[str, Any]:
    """Return the last trial.end."""
    lines = (made.last / "record.jsonl").read_text().splitlines()
    found = [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "trial.end"]
    return found[-1]


def test_model_calls_a_tool_and_answers_with_its_result(tmp_path: Path) -> None:
    """Both results of a turn go back together, in order; usage and calls are those of both turns."""

    def answer(body: dict[str, Any]) -> Any:
        return results(body)[0] if results(body) else calls("17*3", "1+1")

    with ServerThread(ChatServer(answer=answer)) as server:
        made = project(tmp_path, server.url)
        made.run()
        first, second = (seen.body for seen in server.requests)
    (tool,) = first["tools"]
    assert tool["function"]["name"] == "calculator"
    assert [item["role"] for item in second["messages"]] == ["user", "assistant", "tool", "tool"]
    assert results(second) == ["51", "2"]
    end = end_of(made)
    assert (end["outcome"], len(end["calls"]), len(end["requests"])) == ("passed", 2, 4)
    assert made.codes() == set()
    assert made("gate", "latest", "--no-append").code == 0


@pytest.mark.parametrize(
    ("expressions", "told"),
    [
        (["17 times 3"], "raised SyntaxError"),
        (["sleep"], "took longer than 5 s"),
    ],
)
def test_failure_of_a_tool_is_told_to_the_model_and_is_no_end(
    tmp_path: Path, expressions: list[str], told: str
) -> None:
    """The model may do better; here it gives the right answer all the same."""
    with ServerThread(ChatServer(answer=lambda body: "51" if results(body) else calls(*expressions))) as server:
        made = project(tmp_path, server.url)
        made.run()
        said = results(server.requests[1].body)
    assert told in said[0]
    assert end_of(made)["outcome"] == "passed"


def test_tool_that_does_not_exist_or_is_used_up_is_told_to_the_model(tmp_path: Path) -> None:
    """max_calls bounds the calls of an attempt; bad arguments call nothing."""
    messages = [
        {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "kalkulator", "arguments": "{}"}}]},
        {"tool_calls": [{"id": "b", "type": "function", "function": {"name": "calculator", "arguments": "{]"}}]},
        {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}]},
        calls("1"),
    ]
    with ServerThread(ChatServer(answer=lambda body: (messages[len(results(body)) :] or ["51"])[0])) as server:
        made = project(tmp_path, server.url, CASE.replace("max_calls: 2", "max_calls: 3"))
        made.run()
        said = results(server.requests[-1].body)
    assert "there is no tool" in said[0]
    assert "invalid arguments: not JSON" in said[1]
    assert "'expression' is a required property" in said[2]
    assert said[3] == "1"


def test_model_that_never_ends_is_at_its_limit(tmp_path: Path) -> None:
    """max_turns bounds the replies; more is the model's own failure, and counts as 0."""
    with ServerThread(ChatServer(answer=lambda body: calls("1"))) as server:
        made = project(tmp_path, server.url, CASE + "    max_turns: 3\n")
        made.run()
        assert len(server.requests) == 3
    end = end_of(made)
    assert (end["outcome"], end["cause"], end["metrics"], len(end["calls"])) == (
        "limit",
        "max_turns",
        {"correct": 0},
        3,
    )
    assert made.codes() == set()


def test_replay_needs_neither_model_nor_tool(tmp_path: Path) -> None:
    """A tool's calls are recorded like a model's."""

    def answer(body: dict[str, Any]) -> Any:
        return results(body)[0] if results(body) else calls("17*3")

    with ServerThread(ChatServer(answer=answer)) as server:
        made = project(tmp_path, server.url, cache="live")
        made.run()
    (made.root / "ran").unlink()
    made.run("--cache", "replay")
    assert not (made.root / "ran").exists(), "what it said is recorded; it is not called"
    assert (end_of(made)["outcome"], [c["replayed"] for c in end_of(made)["calls"]]) == ("passed", [True, True])
    assert made.codes() == set()


FORM = """\
cases:
  - {id: word, input: What colour is the sky?, answer_format: one word, references: [blue]}
"""
VALUE = """\
cases:
  - id: cart
    input: What is in the cart?
    answer_schema: {type: object, properties: {apple: {type: integer}}, required: [apple], additionalProperties: false}
    references: [{apple: 2}]
"""


def reply(final: Any, **more: Any) -> str:
    """Return a reply in the form."""
    return json.dumps({"title": "t", "explanation": "e", "final_answer": final, **more})


@pytest.mark.parametrize("mode", ["native", "json_object", "text"])
def test_form_is_asked_for_in_three_modes_and_read_the_same_way(tmp_path: Path, mode: str) -> None:
    """Only the final answer is scored; title and explanation stand in the transcript."""
    with ServerThread(ChatServer(answer=lambda body: reply("blue"))) as server:
        made = project(tmp_path, server.url, FORM, mode=mode)
        made.run()
        (seen,) = server.requests
    kind = seen.body.get("response_format", {}).get("type", "text")
    assert kind == {"native": "json_schema", "json_object": "json_object", "text": "text"}[mode]
    words = json.dumps(seen.body["messages"])
    assert "in this format: one word" in words
    assert ("must meet this JSON Schema" in words) is (mode != "native")
    assert end_of(made)["outcome"] == "passed"


@pytest.mark.parametrize(("mode", "code"), [("text", "RESCORE"), ("false", "CELL-VERDICT")])
def test_answer_in_its_form_that_is_called_out_of_form_is_found(tmp_path: Path, mode: str, code: str) -> None:
    """A rival's good answer: what was read of its form is in the transcript, and without a form none can be missed."""
    with ServerThread(ChatServer(answer=lambda body: reply("blue") if mode == "text" else "blue")) as server:
        made = project(tmp_path, server.url, FORM, mode=mode)
        made.run()
    forger = Forger(made)
    body = forger.trial("m", "word")
    body.update(outcome="failed", cause="bad_format", verdict="failed", metrics={"correct": 0})
    forger.recount()
    forger.sign()
    said = made.as_stranger(tmp_path)("verify", "latest", "--rescore")
    assert said.code == 3
    assert code in said.out


@pytest.mark.parametrize(
    "echoed", ["Works out an arithmetic expression.", "one whole number, in digits", "a title that was made up"]
)
def test_private_text_that_a_far_end_names_as_its_id_is_not_published(tmp_path: Path, echoed: str) -> None:
    """What a model is told of a tool and of a form, and what came beside its answer: no public file repeats it."""
    case = CASE + '    answer_format: "one whole number, in digits"\n'
    said = json.dumps({"title": "a title that was made up", "explanation": "e", "final_answer": "51"})
    step = {"json": completion(said) | {"id": echoed}, "headers": {"x-request-id": "made by the far end itself"}}
    with ServerThread(ChatServer([step])) as server:
        made = project(tmp_path, server.url, case)
        made.run()
    assert (end_of(made)["outcome"], end_of(made)["requests"]) == ("passed", ["made by the far end itself"])
    assert made.codes() == set()


def test_unstructured_takes_the_whole_reply(tmp_path: Path) -> None:
    """structured: false asks in words alone."""
    with ServerThread(ChatServer(answer=lambda body: "blue")) as server:
        made = project(tmp_path, server.url, FORM, mode="false")
        made.run()
        (seen,) = server.requests
    assert "response_format" not in seen.body
    assert "Reply with the answer alone" in json.dumps(seen.body["messages"])
    assert end_of(made)["outcome"] == "passed"


@pytest.mark.parametrize(
    ("said", "outcome", "cause"),
    [
        (reply({"content": {"apple": 2}}), "passed", None),
        ("Here it is:\n```json\n" + reply({"content": {"apple": 2}}) + "\n```\nBye.", "passed", None),
        (reply({"content": {"apple": 3}}), "failed", None),
        (reply({"apple": 2}), "failed", "bad_format"),
        (reply({"content": {"apple": 2}}, more=1), "failed", "bad_format"),
        ('{"final_answer": {"content": {"apple": 2}}}', "failed", "bad_format"),
        ("two apples", "failed", "bad_format"),
        (reply({"content": {"apple": 2}}) + reply({"content": {"apple": 3}}), "failed", "bad_format"),
        ("", "failed", "empty"),
    ],
)
def test_value_is_read_from_the_one_object_of_the_reply(
    tmp_path: Path, said: str, outcome: str, cause: str | None
) -> None:
    """Nothing is guessed: what is not in the form is the model's own failure, and counts as 0."""
    with ServerThread(ChatServer(answer=lambda body: said)) as server:
        made = project(tmp_path, server.url, VALUE)
        made.set_plan(PLAN.replace("type: exact", "type: json-subset").format(url=server.url, mode="text", cache="off"))
        made.run()
    end = end_of(made)
    assert (end["outcome"], end.get("cause")) == (outcome, cause)
    assert made.codes() == set()
    assert made("verify", "latest", "--rescore").code == 0


LOCAL = """\
cases:
  - id: count
    input: How many lines has the file?
    references: ["3"]
    tools: [calculator]
    files: [{name: lines.txt, path: lines.txt, type: text/plain, access: [local]}]
"""


def test_file_that_is_only_local_is_read_by_the_tool_and_sent_to_nobody(tmp_path: Path) -> None:
    """The model hears its name; the tool gets a path, also once the project's file is gone."""

    def answer(body: dict[str, Any]) -> Any:
        return results(body)[0] if results(body) else calls("x")

    with ServerThread(ChatServer(answer=answer)) as server:
        made = project(tmp_path, server.url, LOCAL)
        (made.root / "cases" / "lines.txt").write_text("PLANTED-one\ntwo\nthree\n")
        tool = "def run(arguments, files):\n    return len(open(files['lines.txt']).read().splitlines())\n"
        (made.root / "tools" / "calc.py").write_text(tool)
        made.run()
        sent = b"".join(seen.raw for seen in server.requests)
    assert b"[file: lines.txt]" in sent
    assert b"PLANTED-one" not in sent
    assert end_of(made)["outcome"] == "passed"
    assert made.codes() == set()
