# SPDX-License-Identifier: Apache-2.0
"""Whole runs of every runner that calls: live, recorded, replayed and `auto`, through the front door and verified."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, message, message_error
from forger import Forger
from server_thread import ServerThread
from small_project import SmallProject, plan_text

KEYS = {"ANTHROPIC_API_KEY": "PLANTED-7f3a-claude-key", "SERVICE_KEY": "PLANTED-7f3a-service-key"}
ALL = "Paris, 4, blue, 8"
MODELS = """\
  claude: {{runner: anthropic, url: "{url}", model: m-small, settings: {{max_tokens: 64}}, pricing: {{input: "1", output: "5"}}, {waits}}}
  chat: {{runner: openai-compatible, url: "{url}/v1", model: m-small, {waits}}}
  service:
    runner: http
    request: {{url: "{url}/ask?q={{{{input}}}}", headers: {{X-Tenant: acme}}, body: {{question: "{{{{input}}}}"}}}}
    response: {{pointer: /answer, tokens: {{input: /usage/in, output: /usage/out}}}}
    subject: service 1
    secret: {{env: SERVICE_KEY, header: X-Api-Key}}
    {waits}
  program: {{runner: command, shell: "cat; echo '{all}'", pricing: free}}
  function: {{runner: python, callable: "my.py:answer"}}
"""
WAITS = "retry: {max_retries: 2, initial_delay_s: 0.001, max_delay_s: 0.002}"
FUNCTION = f"""\
from trialplate import RunOutput
async def answer(model, question, settings):
    print("thinking")
    return RunOutput("{ALL}", cost_usd=0.25, tokens={{"input": 2, "output": 3}})
"""
NAMES = ("claude", "chat", "service", "program", "function")


def project(folder: Path, server: ChatServer, **options: Any) -> SmallProject:
    """Write a project with one model of every runner that calls."""
    url = server.url.removesuffix("/v1")
    models = MODELS.format(url=url, waits=WAITS, all=ALL)
    made = SmallProject.write(folder, plan_text(models, repeats=1, **options))
    (made.root / "my.py").write_text(FUNCTION)
    return made


def ends(made: SmallProject, name: str = "") -> list[dict[str, Any]]:
    """Return the trial.end bodies of the last run, of one configuration or of all."""
    lines = (made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()
    found = [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "trial.end"]
    return [end for end in found if name in ("", end["trial"][0])]


def replayed(made: SmallProject) -> dict[str, list[bool]]:
    """Return by configuration whether the calls of each trial were replayed."""
    return {name: [call.get("replayed", False) for end in ends(made, name) for call in end["calls"]] for name in NAMES}


def test_live_run_of_every_runner_is_accepted_and_verifies(tmp_path: Path) -> None:
    """Each answer names its call; usage and cost are what each far end, or the plan's prices, say."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server)
        made.run(**KEYS)
        calls = len(server.requests)
    assert calls == 12
    assert made.codes() == set()
    for name in NAMES:
        assert made("gate", "latest", "--model", name, "--no-append").code == 0
    assert all(len(end["calls"]) == 1 for end in ends(made))
    one = {name: ends(made, name)[0] for name in NAMES}
    assert one["claude"]["cost"]["nano"] == (one["claude"]["usage"]["input"] + 5 * 4) * 1000
    assert one["service"]["usage"] == {"declared": True, "input": 3, "output": 1}
    assert "cost" not in one["service"], "an unknown price is no zero"
    assert one["function"]["cost"] == {"currency": "USD", "nano": 250_000_000}
    assert one["function"]["usage"] == {"cost_nano": 250_000_000, "declared": True, "input": 2, "output": 3}
    assert "usage" not in one["program"]


@pytest.mark.parametrize("mode", ["live", "auto"])
def test_recorded_run_is_replayed_for_every_runner_without_calls_or_keys(tmp_path: Path, mode: str) -> None:
    """Cases Q06, Q07: the same answers with latency of then, no new call, and no key in any file that was written."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server, evidence="{calls: any}")
        made.run("--cache", mode, **KEYS)
        live = {tuple(end["trial"]): end for end in ends(made)}
        calls = len(server.requests)
        made.run("--cache", "replay")
        assert len(server.requests) == calls
    assert made.codes() == set()
    assert replayed(made) == {name: [True] * 4 for name in NAMES}
    for end in ends(made):
        was = live[tuple(end["trial"])]
        kept = ("outcome", "latency_ms", "usage", "cost", "finish", "served", "requests", "received")
        assert {key: end.get(key) for key in kept} == {key: was.get(key) for key in kept}
        assert end["calls"][0]["digest"] == was["calls"][0]["digest"]
    assert made("gate", "latest", "--model", "service", "--no-append").code == 0
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"PLANTED" in raw for raw in written)


def test_auto_run_replays_what_is_there_calls_for_the_rest_and_verifies(tmp_path: Path) -> None:
    """Some trials replayed, some live, each flagged; a cell that was replayed leaves the decision open by default."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server)
        made.run("--cache", "live", "--only", "q1,q2", **KEYS)
        made.run("--cache", "auto", **KEYS)
        assert len(server.requests) == 12
        assert replayed(made) == {name: [True, True, False, False] for name in NAMES}
        assert made.codes() == set()
        said = made("gate", "latest", "--model", "claude", "--json", "--no-append")
        assert (said.code, said.json["decision"]["reasons"]) == (1, ["calls"])
        made.run("--cache", "auto", "--models", "claude", **KEYS)
        assert len(server.requests) == 12
        made.run("--cache", "live", "--models", "claude", **KEYS)
        assert len(server.requests) == 16
    assert not any(call.get("replayed") for end in ends(made) for call in end["calls"])


def test_auto_run_with_an_empty_folder_of_cassettes_is_live(tmp_path: Path) -> None:
    """Nothing to replay is no mistake there, and all of it is fresh evidence."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server)
        made.run("--cache", "auto", **KEYS)
    assert made.codes() == set()
    assert made("gate", "latest", "--model", "claude", "--no-append").code == 0
    assert Forger(made).of("run.start")["body"]["cache"] == "auto"


@pytest.mark.parametrize("mode", ["auto", "live"])
def test_run_that_made_its_cassette_grow_is_resumed_with_it(tmp_path: Path, mode: str) -> None:
    """The pins are from before the run; what it recorded is replayed nowhere, since those trials are decided."""
    refusal = {"status": 401, "json": message_error("authentication_error", "revoked")}
    with ServerThread(ChatServer([{"json": message(ALL)}] * 2 + [refusal], answer=lambda body: ALL)) as server:
        model = f'  m: {{runner: anthropic, url: "{server.url}", model: m-small}}'
        made = SmallProject.write(tmp_path, plan_text(model, repeats=1))
        made.run("--cache", mode, "--only", "q1", **KEYS)
        assert made("run", "--yes", "--cache", mode, "--jobs", "1", **KEYS).code == 4
        server.steps = []
        said = made("resume", "latest", **KEYS)
        assert said.code == 0, said.err
    assert made.codes() == set()
    lines = (made.root / "cassettes" / "m.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["q1", "q2", "q3", "q4"]
    assert {tuple(end["trial"]) for end in ends(made) if end["outcome"] == "failed"} == set()


def test_replayed_answer_of_an_auto_run_cannot_lose_its_flag_unseen_by_its_plan(tmp_path: Path) -> None:
    """In `auto` both are allowed; a run whose plan says `off` or `replay` is held to it as before."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server)
        made.run("--cache", "auto", **KEYS)
        made.run("--cache", "auto", **KEYS)
    forger = Forger(made)
    forger.plan["cache"] = "off"
    forger.plan.pop("cassettes", None)
    start = forger.of("run.start")["body"]
    start["cache"] = "off"
    start.pop("cassettes", None)
    forger.recount()
    forger.sign()
    assert "REPLAY-FLAG" in made.as_stranger(tmp_path).codes("latest")


def test_single_flight_of_two_profiles_with_one_request(tmp_path: Path) -> None:
    """Two configurations of one model that send the same share one call in `auto`; both hold and are counted."""
    with ServerThread(ChatServer(answer=lambda body: ALL, delay_s=0.05)) as server:
        model = f'  m: {{runner: anthropic, url: "{server.url}", model: m-small, settings: {{max_tokens: 9}}}}'
        both = "matrix: [{profiles: [default, same]}]\nprofiles: {same: {settings: {max_tokens: 9}}}\n"
        made = SmallProject.write(tmp_path, both + plan_text(model, repeats=1))
        made.run("--cache", "auto", "--jobs", "8", **KEYS)
        assert len(server.requests) == 4
    assert made.codes() == set()
    flags = sorted(call.get("replayed", False) for end in ends(made) for call in end["calls"])
    assert flags == [False] * 4 + [True] * 4


def test_replay_misses_are_unknown_cells_for_every_runner(tmp_path: Path) -> None:
    """Case Q02: neither a pass nor a fail; the run is incomplete and decides nothing."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server, evidence="{calls: any}")
        made.run("--cache", "live", "--only", "q1", **KEYS)
        made.run("--cache", "replay", expect=4)
        assert len(server.requests) == 3
    for name in NAMES:
        outcomes = [(end["outcome"], end.get("cause")) for end in ends(made, name)]
        assert outcomes == [("passed", None), *[("error", "replay_miss")] * 3]
        assert made("gate", "latest", "--model", name, "--no-append").out.startswith("INCONCLUSIVE")
    assert made.codes() == set()


@pytest.mark.parametrize(
    ("steps", "outcome", "cause", "attempts"),
    [
        ([{"status": 429, "headers": {"Retry-After": "0"}, "json": {}}, {"json": message("Paris")}], "passed", None, 2),
        ([{"status": 529, "json": message_error("overloaded_error", "o")}], "error", "server_error", 3),
        ([{"json": message_error("rate_limit_error", "r")}, {"json": message("Paris")}], "passed", None, 2),
        ([{"close": "rst"}, {"json": message("Paris")}], "passed", None, 2),
        ([{"status": 400, "json": message_error("invalid_request_error", "x")}], "failed", "rejected_request", 1),
        ([{"status": 401, "json": message_error("authentication_error", "x")}], "error", "authentication", 1),
        ([{"status": 402, "json": message_error("billing_error", "x")}], "error", "http_status", 1),
        ([{"json": {**message("Par"), "stop_reason": "max_tokens"}}], "limit", "truncated", 1),
        ([{"json": {**message("Paris"), "stop_reason": "refusal"}}], "failed", "refusal", 1),
        ([{"json": {**message("Pa"), "stop_reason": "pause_turn"}}, {"json": message("Paris")}], "passed", None, 1),
        ([{"json": {**message("Paris"), "stop_reason": "pause_turn"}}], "limit", "max_turns", 1),
        ([{"json": message("Paris", model="m-large")}], "error", "wrong_model", 1),
        ([{"json": {**message(""), "content": []}}], "failed", "empty", 1),
        ([{"status": 200, "body": "<html>", "headers": {"Content-Type": "text/html"}}], "error", "bad_reply", 1),
    ],
)
def test_trouble_of_a_messages_server_is_told_apart_in_the_record(
    tmp_path: Path, steps: list[Any], outcome: str, cause: str | None, attempts: int
) -> None:
    """Cases H03, H05, H06, H07, H16, H17 as whole trials: whose fault it is, and how often it was tried."""
    with ServerThread(ChatServer(steps)) as server:
        model = f'  m: {{runner: anthropic, url: "{server.url}", model: m-small, {WAITS}}}'
        made = SmallProject.write(tmp_path, plan_text(model, repeats=1), "id,input,reference\nq1,Where?,Paris\n")
        made("run", "--yes", **KEYS)
    found = ends(made)
    assert len(found) == attempts
    assert (found[-1]["outcome"], found[-1].get("cause")) == (outcome, cause)
    assert all(end["retry"] for end in found[:-1])
    assert made.codes() == set()


@pytest.mark.parametrize(
    ("body", "outcome", "cause"),
    [
        ("return 'Paris'", "passed", None),
        ("return 'London'", "failed", None),
        ("return ''", "failed", "empty"),
        ("raise ValueError('x')", "failed", "exit_status"),
        ("return trialplate.RunOutput(failed='x')", "failed", "exit_status"),
        ("return 5", "failed", "bad_reply"),
        ("__import__('os')._exit(0)", "failed", "bad_reply"),
        ("__import__('time').sleep(60)", "failed", "timeout"),
        ("return 'Paris' * 1000", "failed", "too_long"),
    ],
)
def test_trouble_of_a_function_is_its_own(tmp_path: Path, body: str, outcome: str, cause: str | None) -> None:
    """DESIGN 6: once it was asked, an exception, a hang or a death is a wrong answer, and is not tried again."""
    limits = "limits: {attempt_timeout_s: 1.5, answer_bytes: 1000}"
    model = f'  m: {{runner: python, callable: "my.py:answer", {limits}, {WAITS}}}'
    made = SmallProject.write(tmp_path, plan_text(model, repeats=1), "id,input,reference\nq1,Where?,Paris\n")
    (made.root / "my.py").write_text(f"import trialplate\ndef answer(model, question, settings):\n    {body}\n")
    made.run()
    (end,) = ends(made)
    assert (end["outcome"], end.get("cause")) == (outcome, cause)
    assert made.codes() == set()


def test_function_that_cannot_be_imported_leaves_its_cells_unknown(tmp_path: Path) -> None:
    """Nothing was asked; the run is incomplete and names the module."""
    model = '  m: {runner: python, callable: "my.py:answer"}'
    made = SmallProject.write(tmp_path, plan_text(model, repeats=1))
    (made.root / "my.py").write_text("import no_such_module_anywhere\ndef answer(m, q, s): return 'x'\n")
    made.run(expect=4)
    assert {(end["outcome"], end["cause"]) for end in ends(made)} == {("error", "not_started")}
    assert made.codes() == set()


@pytest.mark.parametrize(
    ("steps", "outcome", "cause"),
    [
        ([{"json": {"answer": "Paris"}}], "passed", None),
        ([{"json": {"reply": "Paris"}}], "failed", "bad_reply"),
        ([{"json": {"answer": None}}], "failed", "bad_reply"),
        ([{"status": 500, "json": {}}], "failed", "http_status"),
        ([{"status": 302, "headers": {"Location": "/"}, "json": {}}], "failed", "http_status"),
        ([{"close": "rst"}], "failed", "closed_connection"),
        ([{"status": 503, "json": {}}, {"json": {"answer": "Paris"}}], "passed", None),
    ],
)
def test_trouble_of_a_service_under_test_is_its_own(
    tmp_path: Path, steps: list[Any], outcome: str, cause: str | None
) -> None:
    """DESIGN 6: what remains after the retries is a failure of the thing under test, never an unknown cell."""
    with ServerThread(ChatServer(steps)) as server:
        request = f'request: {{url: "{server.url}/ask", body: {{q: "{{{{input}}}}"}}}}, response: {{pointer: /answer}}'
        model = f"  m: {{runner: http, {request}, subject: s1, {WAITS}}}"
        made = SmallProject.write(tmp_path, plan_text(model, repeats=1), "id,input,reference\nq1,Where?,Paris\n")
        made.run()
    assert (ends(made)[-1]["outcome"], ends(made)[-1].get("cause")) == (outcome, cause)
    assert made.codes() == set()


def test_service_that_is_not_there_was_not_asked(tmp_path: Path) -> None:
    """A refused connection is nobody's wrong answer."""
    request = 'request: {url: "http://127.0.0.1:9/ask", body: {q: "{{input}}"}}'
    model = f"  m: {{runner: http, {request}, subject: s1, {WAITS}}}"
    made = SmallProject.write(tmp_path, plan_text(model, repeats=1))
    made.run(expect=4)
    assert {end["cause"] for end in ends(made)} == {"refused_connection"}


def test_missing_key_is_told_before_anything_is_written(tmp_path: Path) -> None:
    """ANTHROPIC_API_KEY is the name where the plan gives none; auto and live need it, a replay does not."""
    model = '  m: {runner: anthropic, model: m-small, url: "http://127.0.0.1:9"}'
    made = SmallProject.write(tmp_path, plan_text(model, repeats=1))
    for mode in ("off", "live", "auto"):
        said = made("run", "--yes", "--cache", mode, ANTHROPIC_API_KEY="")
        assert said.code == 2
        assert "ANTHROPIC_API_KEY" in said.err
    assert not (made.root / "runs").exists()


def test_plan_shows_neither_the_body_of_a_request_nor_the_question(tmp_path: Path) -> None:
    """A body is a prompt: a commitment in the public plan; address, headers and pointers stand in the open."""
    with ServerThread(ChatServer(answer=lambda body: ALL)) as server:
        made = project(tmp_path, server)
        plan = (made.root / "trialplate.yaml").read_text()
        made.set_plan(plan.replace('body: {question: "{{input}}"}', 'body: {ask: "Answer tersely, please: {{input}}"}'))
        made.run(**KEYS)
    public = "".join((made.last / name).read_text() for name in ("plan.json", "record.jsonl"))
    assert "tersely" not in public
    assert "x-tenant" in public
    assert "tersely" in (made.last / "content.jsonl").read_text()
    assert sys.executable not in public
