# SPDX-License-Identifier: Apache-2.0
"""A run of 5,000 trials against a server that misbehaves in every way of the HTTP class, and its books against ours.

The server numbers its replies and keeps what it did at each. The record is held against that: every reply that named
itself stands on exactly one line, with the outcome that its behaviour means; the others are counted. What was not
measured is unknown, and is neither lost nor passed nor counted twice.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "servers"), str(HERE.parent / "scenarios")]

from chat_server import ChatServer, Step  # noqa: E402  tests/servers is no package
from server_thread import ServerThread  # noqa: E402
from small_project import SmallProject  # noqa: E402

TRIALS = 5000
HTML = "<!DOCTYPE html><html><title>502</title><script>alert(1)</script>Bad gateway</html>"
USAGE = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}


def reply(content: Any = "Paris", finish: str = "stop", model: str | None = "m-small", **more: Any) -> dict[str, Any]:
    """Return a chat completion; `usage=None` leaves the usage out."""
    made: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}],
        "usage": USAGE,
        **more,
    }
    if model is not None:
        made["model"] = model
    if made["usage"] is None:
        del made["usage"]
    return made


def failed(status: int, **headers: str) -> Step:
    return {"status": status, "headers": headers, "json": {"error": {"message": "trouble"}}}


Meaning = tuple[str, str | None]
"""The outcome of an attempt that met a behaviour, and its cause."""

NAMED: dict[str, tuple[Step, Meaning]] = {
    "right": ({"json": reply()}, ("passed", None)),
    "wrong": ({"json": reply("London")}, ("failed", None)),
    "in parts": (
        {"json": reply([{"type": "text", "text": "Pa"}, {"type": "image_url"}, {"type": "text", "text": "ris"}])},
        ("passed", None),
    ),
    "without usage": ({"json": reply(usage=None)}, ("passed", None)),
    "slow": ({"delay_ms": 40, "json": reply()}, ("passed", None)),
    "drop by drop": ({"drip": 7, "json": reply()}, ("passed", None)),
    "no thought left": ({"json": reply("", "length")}, ("limit", "truncated")),
    "cut short": ({"json": reply("Par", "length")}, ("limit", "truncated")),
    "filtered": ({"json": reply("", "content_filter")}, ("failed", "refusal")),
    "blank": ({"json": reply("  \n")}, ("failed", "empty")),
    "nothing": ({"json": reply(None)}, ("failed", "empty")),
    "another model": ({"json": reply(model="m-large")}, ("error", "wrong_model")),
    "no model's name": ({"json": reply(model=None)}, ("error", "wrong_model")),
    "an error in a 200": (
        {"json": {"choices": None, "error": {"message": "slow", "code": 429}}},
        ("error", "rate_limited"),
    ),
    "an outage in a 200": ({"json": {"error": {"message": "down", "code": 503}}}, ("error", "server_error")),
    "no choice": ({"json": {"model": "m-small", "choices": []}}, ("error", "bad_reply")),
    "no message": ({"json": {"model": "m-small", "choices": [{}]}}, ("error", "bad_reply")),
    "a list": ({"json": [1, 2]}, ("error", "bad_reply")),
    "a page in a 200": ({"headers": {"Content-Type": "text/html"}, "body": HTML}, ("error", "bad_reply")),
    "a page in a 502": (
        {"status": 502, "headers": {"Content-Type": "text/html"}, "body": HTML},
        ("error", "server_error"),
    ),
    "a key twice": ({"body": b'{"model":"m-small","model":"m-large","choices":[]}'}, ("error", "bad_reply")),
    "400": (failed(400), ("failed", "rejected_request")),
    "401": (failed(401), ("error", "authentication")),
    "404": (failed(404), ("error", "http_status")),
    "408": (failed(408), ("error", "server_error")),
    "422": (failed(422), ("failed", "rejected_request")),
    "429": (failed(429, **{"Retry-After": "0"}), ("error", "rate_limited")),
    "429 until a date": (failed(429, **{"Retry-After": "@httpdate+0"}), ("error", "rate_limited")),
    "429 and a riddle": (failed(429, **{"Retry-After": "soon"}), ("error", "rate_limited")),
    "500": (failed(500), ("error", "server_error")),
    "503": (failed(503), ("error", "server_error")),
    "529": (failed(529), ("error", "server_error")),
}
"""Behaviours whose reply carries its number, so that its line can be found."""
NAMELESS: dict[str, tuple[Step, Meaning]] = {
    "reset": ({"close": "rst"}, ("error", "closed_connection")),
    "cut body": (
        {"headers": {"Content-Length": "400"}, "body": '{"choices":[{"message":{"content":"Paris', "close": "eof"},
        ("error", "transport"),
    ),
    "silence": ({"hang": True}, ("error", "timeout")),
}
OFTEN = ("right", "wrong")
"""Most replies are ordinary, as with a real server on a bad day."""
NEVER_AGAIN = {"wrong_model", "bad_reply", "authentication", "http_status"}
"""Causes of an error that another attempt would not mend."""


class Moods(Sequence[Step]):
    """What the server does at its n-th request, without end; `seen` keeps the name of each."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seen: list[str] = []

    def __len__(self) -> int:
        return 1 << 40

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Any:
        assert index == len(self.seen), "each request is answered once, in order"
        name = self.random.choice(OFTEN if self.random.random() < 0.7 else [*NAMED, *NAMELESS])
        if name == "silence" and self.random.random() < 0.8:
            name = "reset"  # each silence costs the time limit
        self.seen.append(name)
        step = dict((NAMED | NAMELESS)[name][0])
        step["headers"] = {**step.get("headers", {}), "x-request-id": f"req-{index}"}
        return step


def project(folder: Path, url: str) -> SmallProject:
    """Return 1,000 cases, five times each, 40 at once, with short waits and a time limit of two seconds."""
    plan = f"""\
trialplate: 1
name: trouble
test_sets: [{{file: cases/q.csv}}]
models:
  m:
    runner: openai-compatible
    url: {url}
    model: m-small
    pricing: {{input: "1", output: "2"}}
    retry: {{max_retries: 2, initial_delay_s: 0.001, max_delay_s: 0.002}}
    limits: {{attempt_timeout_s: 2}}
repeats: 5
scorers:
  correct: {{type: contains}}
pass_mark:
  rules:
    - {{id: some, at_least: 0.1, of: correct, basis: estimate}}
run: {{concurrency: 40}}
"""
    rows = "".join(f"q{n},Question {n}: what is the capital of France?,Paris\n" for n in range(TRIALS // 5))
    return SmallProject.write(folder, plan, "id,input,reference\n" + rows)


class Books:
    """The record of a run beside what its server did."""

    def __init__(self, made: SmallProject, moods: Moods) -> None:
        entries = [json.loads(line) for line in (made.last / "record.jsonl").read_bytes().splitlines()]
        self.starts = [e["body"] for e in entries if e["type"] == "trial.start"]
        self.ends = [e["body"] for e in entries if e["type"] == "trial.end"]
        self.closed = entries[-1]["body"]
        self.moods = moods
        self.last = {tuple(end["trial"]): end for end in self.ends}

    def mood_of(self, end: dict[str, Any]) -> str | None:
        """Return what the server did at an attempt, if its reply named itself."""
        ids = [item for item in end.get("requests", []) if item.startswith("req-")]
        return self.moods.seen[int(ids[0].removeprefix("req-"))] if ids else None


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[SmallProject, Books]:
    """The run, made once."""
    moods = Moods(20261130)
    server = ChatServer()
    server.steps = moods  # type: ignore[assignment]  a list without end
    with ServerThread(server):
        made = project(tmp_path_factory.mktemp("trouble"), server.url)
        assert made("run", "--yes").code == 4
    return made, Books(made, moods)


def test_every_trial_is_accounted_for_once(told: tuple[SmallProject, Books]) -> None:
    """5,000 trials, one outcome each; the counts are those of the lines; every request is a line and every line a request."""
    made, books = told
    counts = books.closed["counts"]
    assert counts["planned"] == TRIALS == len(books.last)
    outcomes = Counter(end["outcome"] for end in books.last.values())
    assert {word: counts[word] for word in outcomes} == dict(outcomes)
    assert (
        sum(counts[word] for word in ("passed", "failed", "limit", "needs_input", "error", "skipped", "absent"))
        == TRIALS
    )
    assert counts["absent"] == counts["skipped"] == 0
    assert len(books.starts) == len(books.ends) == counts["attempts"] == len(books.moods.seen)
    assert made.codes() == set()


def test_every_reply_stands_on_one_line_with_the_outcome_that_it_means(told: tuple[SmallProject, Books]) -> None:
    """A reply that was lost, counted twice or taken for another would show here; so would a pass that nobody measured."""
    _, books = told
    named = Counter(item for end in books.ends for item in end.get("requests", []) if item.startswith("req-"))
    assert set(named.values()) == {1}
    assert len(named) == sum(mood in NAMED for mood in books.moods.seen)
    nameless: Counter[Meaning] = Counter()
    for end in books.ends:
        mood = books.mood_of(end)
        meant = (end["outcome"], end.get("cause"))
        if mood is None:
            nameless[meant] += 1
        else:
            assert meant == NAMED[mood][1], mood
    assert nameless == Counter(NAMELESS[mood][1] for mood in books.moods.seen if mood in NAMELESS)


def test_every_behaviour_was_met(told: tuple[SmallProject, Books]) -> None:
    """The run went through all of them, so the tests beside this one speak of all of them."""
    _, books = told
    assert set(books.moods.seen) == NAMED.keys() | NAMELESS.keys()


def test_what_may_pass_is_tried_again_and_what_will_not_is_left(told: tuple[SmallProject, Books]) -> None:
    """At most three attempts; a decided one and a permanent failure end the trial; no trial ends on a promise."""
    _, books = told
    assert max(end["attempt"] for end in books.ends) == 3
    for end in books.ends:
        final = books.last[tuple(end["trial"])] is end
        again = end["outcome"] == "error" and end["cause"] not in NEVER_AGAIN and end["attempt"] < 3
        assert end.get("retry", False) == again == (not final)


def test_nothing_passed_that_was_not_measured(told: tuple[SmallProject, Books]) -> None:
    """A trial passed exactly if its last reply was a whole, right answer of the model that was asked."""
    _, books = told
    for end in books.last.values():
        mood = books.mood_of(end)
        right = mood is not None and NAMED[mood][1][0] == "passed"
        assert (end["outcome"] == "passed") == right
        assert (end.get("metrics") == {"correct": 1}) == right
        if end["outcome"] == "error":
            assert "metrics" not in end
            assert "verdict" not in end


def test_unknown_cost_is_not_zero(told: tuple[SmallProject, Books]) -> None:
    """Where the usage came, the cost is exact; where it did not, there is none, and the report says unknown."""
    made, books = told
    for end in books.ends:
        if (usage := end.get("usage")) is not None:
            assert end["cost"]["nano"] == usage["input"] * 1000 + usage["output"] * 2000
        else:
            assert "cost" not in end
    table = next(line for line in made("report").out.splitlines() if line.startswith("m "))
    assert "unknown" in table


def test_resume_with_a_server_that_is_well_again_asks_the_unknown_ones_alone(
    told: tuple[SmallProject, Books], tmp_path: Path
) -> None:
    """Every unknown trial is asked once more, no decided one is, and then all 5,000 are decided."""
    made, books = told
    unknown = {tuple(end["trial"]) for end in books.last.values() if end["outcome"] == "error"}
    copy = made.copy_to(tmp_path)
    url = json.loads((copy.last / "plan.json").read_bytes())["configurations"][0]["endpoint"]
    server = ChatServer(answer=lambda body: "Paris")
    with ServerThread(server, port=int(url.rsplit(":", 1)[1].partition("/")[0])):
        assert copy("resume", "latest").code == 0
    after = Books(copy, books.moods)
    assert len(server.requests) == len(unknown)
    assert {tuple(end["trial"]) for end in after.ends[len(books.ends) :]} == unknown
    assert {end["outcome"] for end in after.last.values()} <= {"passed", "failed", "limit"}
    assert after.closed["counts"]["attempts"] == len(after.starts)
    assert copy.codes() == set()
