# SPDX-License-Identifier: Apache-2.0
"""Cheat: recorded answers are passed off as live ones. With a real server, a cassette, and the forger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import ChatServer
from forger import Forger
from server_thread import ServerThread
from small_project import SmallProject, plan_text

from trialplate.record import canonical


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallProject]:
    """A project whose answers were recorded live from a server that is gone by now."""
    folder = tmp_path_factory.mktemp("recorded")
    with ServerThread(ChatServer(answer=lambda body: "Paris, 4, blue, 8")) as server:
        models = f'  good: {{runner: openai-compatible, url: "{server.url}", model: m-small}}'
        project = SmallProject.write(folder, plan_text(models, repeats=1))
        project.run("--cache", "live")
    yield project


@pytest.fixture
def replayed(recorded: SmallProject, tmp_path: Path) -> SmallProject:
    """The recorded project after a replay: its newest run called nobody."""
    project = recorded.copy_to(tmp_path)
    project.run("--cache", "replay")
    return project


def decided(project: SmallProject, *flags: str) -> tuple[int, str, list[str]]:
    """Gate the newest run and return exit code, decision and reasons."""
    said = project("gate", "latest", "--json", "--no-append", *flags)
    return said.code, said.json["decision"]["decision"], said.json["decision"]["reasons"]


def test_live_run_is_accepted_and_replayed_run_is_not_evidence(replayed: SmallProject) -> None:
    """Under the default evidence a replayed run holds, and decides nothing: `calls`."""
    assert replayed.codes() == set()
    live = replayed("gate", replayed.runs[0].name, "--json", "--no-append")
    assert live.code == 0
    assert decided(replayed) == (1, "inconclusive", ["calls"])
    assert "4 answers replayed from a cassette" in replayed("report").out


def test_replayed_run_is_evidence_where_the_mark_says_so(recorded: SmallProject, tmp_path: Path) -> None:
    """`evidence: {calls: any}` in the committed mark lets a replay decide."""
    project = recorded.copy_to(tmp_path)
    plan = (project.root / "trialplate.yaml").read_text()
    project.set_plan(plan.replace("pass_mark:\n", "pass_mark:\n  evidence: {calls: any}\n"))
    project.run("--cache", "replay")
    assert decided(project) == (0, "accepted", [])


def test_replayed_answers_that_are_called_live_are_found(replayed: SmallProject, tmp_path: Path) -> None:
    """A replay whose calls lost their flag is a finding, though all is signed again."""
    forger = Forger(replayed)
    for entry in forger.record:
        for call in entry["body"].get("calls", []):
            call.pop("replayed", None)
    forger.recount()
    forger.sign()
    stranger = replayed.as_stranger(tmp_path)
    assert stranger.codes("latest") == {"REPLAY-FLAG"}
    assert stranger("gate", "latest", "--no-append").code == 3


def test_one_replayed_answer_in_a_live_run_is_found(recorded: SmallProject, tmp_path: Path) -> None:
    """A live run has no replayed call, flagged or not."""
    project = recorded.copy_to(tmp_path)
    forger = Forger(project)
    forger.trial("good", "q1")["calls"][0]["replayed"] = True
    forger.recount()
    forger.sign()
    stranger = project.as_stranger(tmp_path)
    assert stranger.codes() == {"REPLAY-FLAG"}
    assert stranger("gate", "latest", "--no-append").code == 3


def test_replayed_answers_without_any_call_are_found(replayed: SmallProject, tmp_path: Path) -> None:
    """An answer of a model behind HTTP that names no call is a finding, or at the least no live evidence."""
    forger = Forger(replayed)
    for entry in forger.record:
        entry["body"].pop("calls", None)
    forger.recount()
    forger.sign()
    assert replayed.as_stranger(tmp_path)("gate", "latest", "--no-append").code != 0


def test_plan_that_no_longer_says_replay_contradicts_its_start(replayed: SmallProject, tmp_path: Path) -> None:
    """How calls are cached stands in plan and run.start alike."""
    forger = Forger(replayed)
    forger.of("run.start")["body"]["cache"] = "off"
    forger.sign(restate_start=False)
    assert "START-MISMATCH" in replayed.as_stranger(tmp_path).codes()


def test_request_ids_that_stand_twice_are_noted(recorded: SmallProject, tmp_path: Path) -> None:
    """One answer copied into another trial keeps its request id: a note says so, since a provider may repeat them."""
    project = recorded.copy_to(tmp_path)
    forger = Forger(project)
    for case in ("q1", "q2"):
        forger.trial("good", case)["requests"] = ["req-1"]
    forger.sign()
    assert "REQUEST-ID-REUSED" in project.as_stranger(tmp_path).notes()


def test_cassette_is_pinned_by_digest_before_it_is_replayed(replayed: SmallProject) -> None:
    """run.start names the digest of what will be replayed, so that an edited cassette cannot pass for the recorded one."""
    cassette = next((replayed.root / "cassettes").glob("*.jsonl"))
    assert Forger(replayed).of("run.start")["body"]["cassettes"] == [canonical.digest(cassette.read_bytes())]


@pytest.mark.parametrize("damage", ["torn", "not JSON", "deleted"])
def test_damaged_cassette_is_refused_before_anything_is_started(
    recorded: SmallProject, tmp_path: Path, damage: str
) -> None:
    """A cassette that cannot be read leaves no run behind."""
    project = recorded.copy_to(tmp_path)
    cassette = next((project.root / "cassettes").glob("*.jsonl"))
    raw = cassette.read_bytes()
    if damage == "deleted":
        cassette.unlink()
    else:
        cassette.write_bytes(raw[:-30] if damage == "torn" else b"{" + raw)
    said = project("run", "--yes", "--cache", "replay")
    assert said.code in (2, 3, 4)
    assert "good.jsonl" in said.err or "cassettes" in said.err
    assert len(project.runs) == 1
