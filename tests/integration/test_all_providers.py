# SPDX-License-Identifier: Apache-2.0
"""All providers at once in one run, against one server that speaks each one's format and misbehaves.

The server's books are held against the record: every reply that named itself stands on one line of the model that asked,
with the outcome that its behaviour means; the nameless ones are counted; nothing passed that was not measured.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "servers"), str(HERE.parent / "scenarios")]

from provider_server import ProviderServer, format_of  # noqa: E402  tests/servers is no package
from server_thread import ServerThread  # noqa: E402
from small_project import SmallProject  # noqa: E402

from trialplate.spec.providers import RUNNERS, provider_of  # noqa: E402

CASES, REPEATS = 60, 1
Meaning = tuple[str, str | None]
NAMED: dict[str, Meaning] = {
    "right": ("passed", None),
    "wrong": ("failed", None),
    "cut": ("limit", "truncated"),
    "no usage": ("passed", None),
    "another model": ("error", "wrong_model"),
    "no choice": ("error", "bad_reply"),
    "429 in seconds": ("error", "rate_limited"),
    "429 until a date": ("error", "rate_limited"),
    "529": ("error", "server_error"),
    "page": ("error", "bad_reply"),
    "page in a 502": ("error", "server_error"),
}
NAMELESS: dict[str, Meaning] = {
    "reset": ("error", "closed_connection"),
    "cut body": ("error", "transport"),
    "hang": ("error", "timeout"),
}
EMPTY: dict[str, Meaning] = {"responses": ("failed", "empty"), "messages": ("failed", "empty")}
"""A whole reply without any output: these interfaces have no choices that could be missing, so it is an empty answer."""
MODELS = dict.fromkeys(RUNNERS, "m-small") | {"openai-chat": "gpt-4-small"}
"""The model's name in the plan, and its id: `openai` speaks either of two interfaces, by the id."""


def moods(seed: int) -> Any:
    """Return what names a mood for each request: two thirds ordinary."""
    drawn = random.Random(seed)
    names = [*NAMED, *NAMELESS]

    def mood(number: int) -> str:
        if drawn.random() < 0.6:
            return drawn.choice(["right", "wrong"])
        found = drawn.choice(names)
        return "reset" if found == "hang" and drawn.random() < 0.7 else found  # each silence costs the time limit

    return mood


def runner_of(name: str) -> str:
    """Return the runner of a model of the plan."""
    return "openai" if name == "openai-chat" else name


def project(folder: Path, server: ProviderServer) -> SmallProject:
    """Return a plan with a model of each provider at its own path of the server."""
    models = ""
    for name, model in MODELS.items():
        base = urlsplit(provider_of(runner_of(name)).url or "/v1").path.rstrip("/")
        models += (
            f'  {name}: {{runner: {runner_of(name)}, url: "http://127.0.0.1:{server.port}{base}", model: {model}, '
            f'provider: {name}, pricing: {{input: "1", output: "2"}}, limits: {{attempt_timeout_s: 2}}, '
            "retry: {max_retries: 2, initial_delay_s: 0.001, max_delay_s: 0.002}}\n"
        )
    plan = (
        "trialplate: 1\nname: everybody\ntest_sets: [{file: cases/q.csv}]\n"
        f"models:\n{models}repeats: {REPEATS}\nscorers:\n  correct: {{type: contains}}\n"
        "pass_mark:\n  rules:\n    - {id: some, at_least: 0.1, of: correct, basis: estimate}\nrun: {concurrency: 40}\n"
    )
    rows = "".join(f"q{n},Question {n}: what is the capital of France?,Paris\n" for n in range(CASES))
    return SmallProject.write(folder, plan, "id,input,reference\n" + rows)


class Books:
    """The record beside what the server did."""

    def __init__(self, made: SmallProject, server: ProviderServer) -> None:
        entries = [json.loads(line) for line in (made.last / "record.jsonl").read_bytes().splitlines()]
        self.starts = [e["body"] for e in entries if e["type"] == "trial.start"]
        self.ends = [e["body"] for e in entries if e["type"] == "trial.end"]
        self.counts = entries[-1]["body"]["counts"]
        self.seen = server.seen
        self.last = {tuple(end["trial"]): end for end in self.ends}

    def met(self, end: dict[str, Any]) -> tuple[str, str] | None:
        """Return what the server did at an attempt and where, if its reply named itself."""
        ids = [item for item in end.get("requests", []) if item.startswith("req-")]
        return self.seen[int(ids[0].removeprefix("req-"))] if ids else None


def meant(mood: str, path: str) -> Meaning:
    """Return the outcome that a behaviour means in the wire format of a path."""
    return EMPTY.get(format_of(path), NAMED[mood]) if mood == "no choice" else NAMED[mood]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[SmallProject, Books, dict[str, str]]:
    """The run, made once, with a planted key for every provider."""
    server = ProviderServer(moods(20261130))
    keys = {key: f"PLANTED-{key.lower()}" for runner in RUNNERS if (key := provider_of(runner).key) is not None}
    with ServerThread(server):
        made = project(tmp_path_factory.mktemp("everybody"), server)
        assert made("run", "--yes", **keys).code == 4
    return made, Books(made, server), keys


def test_every_trial_of_every_provider_is_accounted_for_once(told: Any) -> None:
    """One outcome each; the counts are those of the lines; every request is a line and every line a request."""
    made, books, _ = told
    assert books.counts["planned"] == len(MODELS) * CASES * REPEATS == len(books.last)
    outcomes = Counter(end["outcome"] for end in books.last.values())
    assert {word: books.counts[word] for word in outcomes} == dict(outcomes)
    assert books.counts["absent"] == books.counts["skipped"] == 0
    assert len(books.starts) == len(books.ends) == books.counts["attempts"] == len(books.seen)
    assert made.codes() == set()


def test_every_reply_stands_on_one_line_of_whoever_asked(told: Any) -> None:
    """A reply that was lost, counted twice or read in another's format would show here."""
    _, books, _ = told
    named = Counter(item for end in books.ends for item in end.get("requests", []) if item.startswith("req-"))
    assert set(named.values()) == {1}
    assert len(named) == sum(mood in NAMED for mood, _ in books.seen)
    nameless: Counter[Meaning] = Counter()
    for end in books.ends:
        found = books.met(end)
        outcome = (end["outcome"], end.get("cause"))
        if found is None:
            nameless[outcome] += 1
            continue
        mood, path = found
        assert outcome == meant(mood, path), (end["trial"], found)
        base = urlsplit(provider_of(runner_of(end["trial"][0])).url or "/v1").path
        assert path.startswith(base), (end["trial"], path)
    assert nameless == Counter(NAMELESS[mood] for mood, _ in books.seen if mood in NAMELESS)


@pytest.mark.parametrize("name", MODELS)
def test_every_provider_met_its_share(told: Any, name: str) -> None:
    """Each was answered, refused and cut off; nothing passed that was not measured, and cost is exact or unknown."""
    _, books, _ = told
    mine = [end for end in books.ends if end["trial"][0] == name]
    assert {end["outcome"] for end in mine} >= {"passed", "failed", "error"}
    for end in mine:
        found = books.met(end)
        right = found is not None and meant(*found)[0] == "passed"
        assert (end["outcome"] == "passed") == right
        assert (end.get("metrics") == {"correct": 1}) == right
        if end["outcome"] == "error":
            assert "metrics" not in end
            assert "verdict" not in end
        if found is not None and found[0] in ("right", "wrong"):
            assert end["usage"] == {"input": 10, "output": 3}
            assert end["cost"] == {"currency": "USD", "nano": 10 * 1000 + 3 * 2000}
        if found is None or found[0] in ("no usage", "page"):
            assert "cost" not in end


def test_every_behaviour_was_met(told: Any) -> None:
    """The run went through all of them in every wire format."""
    _, books, _ = told
    assert {mood for mood, _ in books.seen} == NAMED.keys() | NAMELESS.keys()


def test_no_key_stands_anywhere_in_the_project(told: Any) -> None:
    """Each provider's key was sent in its own header, and is kept nowhere."""
    made, _, keys = told
    for path in made.root.rglob("*"):
        if path.is_file():
            held = path.read_bytes()
            assert not [key for key in keys.values() if key.encode() in held], path
