# SPDX-License-Identifier: Apache-2.0
"""Cheat: plans and trial lines of any shape, signed by the owner of the key. Verify and gate answer; they never crash."""

from __future__ import annotations

import copy
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from forger import Forger
from server_thread import ServerThread
from small_project import SmallProject
from test_cheat_helpers import PLAN, says

from trialplate.errors import FormatError
from trialplate.record.flaws import MAX_INTEGER

KINDS: tuple[Any, ...] = (None, True, -1, 0, 0.5, 1, MAX_INTEGER, "", "m", "q1", "x" * 129, "é", [], {}, [[]])
WORDS = ("judge", "grader", "correct", "grounded", "m", "passed", "failed", "limit", "error", "skipped", "scorer")
WORDS += ("incompatible", "bad_format", "max_turns", "native", "none", "trace", "1", "0.5", "USD", "A" * 43)
FIELDS: dict[str, Any] = {
    "accepts": [],
    "structured": "none",
    "tools": [{"name": "t"}, {"name": "t"}],
    "plugin": "acme 1",
    "interface": "embeddings",
    "helper": "m",
    "also": ["correct"],
    "helper_calls": [],
    "helper_usage": {"input": MAX_INTEGER, "output": MAX_INTEGER},
    "helper_cost": {"nano": 0, "currency": "EUR"},
    "replies": {"judge": ["A" * 43, "A" * 43]},
    "unknown": {"grounded": "scorer"},
    "answer_of": 1,
    "model_id": "other",
    "runner": "nobody",
    "at_most": "0",
    "each": "tag",
    "repeats": MAX_INTEGER,
    "pricing": {"free": True},
    "opening": {"salt": "s" * 22, "value": {"id": "q1", "input": "", "trace": "sha256:" + "0" * 64}},
    "asked": "A" * 43,
}
ROUNDS = 12


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for step, item in inner for place in places(item, (*at, step)))]


def mutate(document: Any, chance: random.Random) -> str:
    """Change one place of a document; return which, in words."""
    place = chance.choice(places(document)[1:])
    holder = document
    for step in place[:-1]:
        holder = holder[step]
    how = chance.choice(["drop", "kind", "word", "double", "field", "field", "field"])
    if how == "drop":
        del holder[place[-1]]
    elif how == "kind":
        holder[place[-1]] = copy.deepcopy(chance.choice(KINDS))
    elif how == "word":
        holder[place[-1]] = chance.choice(WORDS)
    elif how == "double" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[place[-1]]))
    elif isinstance(holder, dict):
        name = chance.choice(sorted(FIELDS))
        holder[name] = copy.deepcopy(FIELDS[name])
        how = f"field {name}"
    return f"{how} at {'.'.join(map(str, place))}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run with a judge, whose mark also chooses."""
    with ServerThread(ChatServer(answer=says)) as server:
        plan = PLAN.format(url=server.url) + "  choose: {by: cheapest, of: correct, within: 0.1, basis: estimate}\n"
        project = SmallProject.write(tmp_path_factory.mktemp("judged"), plan)
        project.run()
    return project


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("what", ["plan", "trial"])
def test_document_of_any_shape_is_answered_and_never_accepted(
    made: SmallProject, tmp_path: Path, what: str, seed: int
) -> None:
    """One to three changes, signed again: the exit code is a reject's, or that of what cannot be trusted."""
    project = made.copy_to(tmp_path)
    held = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    stranger, chance = project.as_stranger(tmp_path), random.Random(f"{what} {seed}")
    signed = 0
    for _ in range(ROUNDS):
        for path, raw in held.items():
            path.write_bytes(raw)
        forger = Forger(project)
        ends = [entry["body"] for entry in forger.record if entry["type"] == "trial.end"]
        document = forger.plan if what == "plan" else ends
        told = [mutate(document, chance) for _ in range(chance.randint(1, 3))]
        with suppress(FormatError, KeyError, TypeError, IndexError):  # else the counts stay those of the lines before
            forger.recount()
        try:
            forger.sign()
        except (FormatError, KeyError, TypeError, IndexError):
            try:
                forger.sign(restate_start=False)
            except FormatError:
                continue  # nobody could write it
        signed += 1
        verified = stranger("verify", "latest")
        assert verified.code in (0, 3), told
        gated = stranger("gate", "latest", "--model", "m", "--no-append")
        assert gated.code in (1, 2, 3), told
        assert verified.code == 0 or gated.code in (2, 3), told
        assert stranger("verify", "latest", "--rescore").code in (0, 3), told
    assert signed > ROUNDS / 2


@pytest.mark.parametrize("repeats", [3_000_000, 1 << 50])
def test_plan_that_claims_more_trials_than_a_record_can_hold_is_not_counted(
    made: SmallProject, tmp_path: Path, repeats: int
) -> None:
    """Evaluating it would take a reader's memory; it is refused by its size alone."""
    project = made.copy_to(tmp_path)
    forger = Forger(project)
    forger.plan["matrix"][0]["repeats"] = repeats
    forger.record[-1]["body"].update(complete=False, reason="infrastructure")
    forger.recount()
    forger.sign()
    stranger = project.as_stranger(tmp_path)
    assert "STRICT-LIMIT" in stranger.codes()
    assert stranger("gate", "latest", "--model", "m", "--no-append").code == 3


def test_run_of_more_trials_than_a_reader_counts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs is told before anything is spent."""
    monkeypatch.setattr("trialplate.engine.prepare.MOST_TRIALS", 15)
    project = SmallProject.write(tmp_path)
    said = project("run", "--yes")
    assert said.code == 2
    assert "16 trials are more than the 15" in said.err
    assert project("run", "--limit", "3").code == 0


def test_scorer_whose_settings_are_none_of_its_type_is_named(made: SmallProject, tmp_path: Path) -> None:
    """What cannot be made is not scored again, and the check says so instead of ending in a traceback."""
    project = made.copy_to(tmp_path)
    forger = Forger(project)
    forger.plan["scorers"][0]["settings"]["verdicts"] = True
    forger.sign()
    said = project.as_stranger(tmp_path)("verify", "latest", "--rescore")
    assert "its settings are none of the scorer judge" in said.out
    assert "V21 SKIP" in said.out


def test_case_that_is_said_to_ask_what_another_asks_is_found(made: SmallProject, tmp_path: Path) -> None:
    """Else a question could be hidden behind another, and earlier runs on it would not be found."""
    project = made.copy_to(tmp_path)
    forger = Forger(project)
    cases = forger.plan["test_set"]["cases"]
    cases[0]["asked"] = cases[1]["asked"]
    forger.sign()
    assert "CONTENT-MISMATCH" in project.as_stranger(tmp_path).codes()
