# SPDX-License-Identifier: Apache-2.0
"""Runs whose scorer is a judge, killed again and again or cut off in its call: the server's books beside the record's."""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from chat_server import completion
from processes import cut_short, start
from test_judge_over_http import GOOD, KEY, PRICED, opened, project
from test_run_killed import forked
from test_run_over_http import ends, serving


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)


class Books:
    """A candidate that never answers the same twice, a judge that is at times unreadable or down, and what both did."""

    def __init__(self, seed: int) -> None:
        self._random, self._lock = random.Random(seed), threading.Lock()
        self.asked: Counter[str] = Counter()
        self.replies: dict[str, list[str]] = defaultdict(list)
        """What the judge replied, by the answer."""

    def instead(self, body: Any) -> Any:
        """Reply to a request."""
        with self._lock:
            model, mood = body["model"], self._random.random()
            self.asked[model] += 1
            if model != "j-large":
                return {"json": completion(f"answer-{self.asked[model]}-", model=model)}
            if mood < 0.2:
                return {"status": 500} if mood < 0.1 else {"close": "rst"}
            (answer,) = re.findall(r"answer-\d+-", body["messages"][-1]["content"])
            self.replies[answer].append("NO" if mood < 0.5 else GOOD)
            return {"json": completion(self.replies[answer][-1], model=model)}


def test_judged_run_killed_again_and_again_loses_no_trial_and_no_reply_that_was_written(tmp_path: Path) -> None:
    """Eight processes die at a random step on disk; the judge then has two replies an answer, each as it was given."""
    books, moments = Books(7), random.Random(20261130)
    with serving(instead=books.instead) as server:
        made = project(tmp_path, server.url, cases=12)
        assert made("keys", "new", "judged").code == 0
        assert made("ledger", "init", "judged").code == 0
        assert forked(made, 90, "run", "--yes", "--jobs", "3") is None
        for _ in range(7):
            forked(made, moments.randrange(1, 120), "resume", "latest", "--jobs", "3")
            assert made.codes() == set()
        for _ in range(2):
            made("resume", "latest")
    entries = [json.loads(line) for line in (made.last / "record.jsonl").read_bytes().splitlines()]
    assert entries[-1]["body"]["complete"]
    assert entries[-1]["body"]["counts"]["absent"] == 0

    held, told = opened(made), ends(made)
    assert {tuple(end["trial"]) for end in told} == {("m", f"q{number}", 1) for number in range(12)}
    kept: dict[str, list[str]] = {}
    for end in told:
        replies = [held[item] for item in end["private"].get("replies", {}).get("judge", ())]
        earlier = kept.get(held[end["private"]["answer"]], [])
        assert replies[: len(earlier)] == earlier
        kept[held[end["private"]["answer"]]] = replies
    lost = sum(1 for entry in entries if entry["type"] == "trial.start") - len(told)
    assert lost > 0
    for answer, replies in kept.items():
        assert len(replies) <= 2
        given = iter(books.replies[answer])
        assert all(reply in given for reply in replies), "each was given, in this order"
    missing = sum(map(len, books.replies.values())) - sum(map(len, kept.values()))
    assert 0 <= missing <= 2 * lost, "only an attempt that was lost lost replies"
    calls = sum(len(end.get("helper_calls", ())) for end in told)
    assert calls <= books.asked["j-large"] <= calls + 4 * lost
    row = made("report", "latest", "--format", "json").json["configurations"][0]["helper_cost"]
    assert row["known_nano"] == sum(end.get("helper_cost", {"nano": 0})["nano"] for end in told)
    assert made("verify", "latest", "--rescore").code == 0


def test_judge_cut_off_in_its_second_call_is_asked_for_it_again_and_its_cost_is_unknown(tmp_path: Path) -> None:
    """ctrl-C twice: the answer and the first reply stay, the candidate is not asked again, and no cost is made up."""
    waits, asked = threading.Event(), Counter[str]()

    def instead(body: Any) -> Any:
        asked[body["model"]] += 1
        if asked["j-large"] == 2 and body["model"] == "j-large":
            waits.set()
            return {"hang": True}
        reply = "Paris" if body["model"] != "j-large" else "NO" if asked["j-large"] == 1 else GOOD
        return {"json": completion(reply, model=body["model"])}

    with serving(instead=instead) as server:
        made = project(tmp_path, server.url, cases=1, helper=PRICED)
        process = start(made, "run", "--yes", CHAT_KEY=KEY)
        assert waits.wait(60)
        cut_short(process)
        process.communicate(timeout=60)
        (end,) = ends(made)
        assert (end["cause"], len(end["helper_calls"]), "helper_cost" in end) == ("interrupted", 1, False)
        assert made("resume", "latest").code == 0
    (again,) = ends(made)[1:]
    assert (again["outcome"], again["answer_of"], len(again["private"]["replies"]["judge"])) == ("passed", 1, 2)
    assert asked == {"m-small": 1, "j-large": 3}
    assert made.codes() == set()
