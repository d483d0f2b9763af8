# SPDX-License-Identifier: Apache-2.0
"""Cheat: what helpers said, what they cost, and what a far end says that it took, rewritten by the owner of the key."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from forger import Forger, forge, gate
from server_thread import ServerThread
from small_project import SmallProject
from test_rescore import checked

PLAN = """\
trialplate: 1
name: judged
test_sets: [{{file: cases/q.csv}}]
models:
  m: {{runner: openai-compatible, url: "{url}", model: m-small, pricing: {{input: "1", output: "1"}}}}
helpers:
  grader: {{runner: openai-compatible, url: "{url}", model: j-large, pricing: {{input: "5", output: "25"}}}}
repeats: 1
scorers:
  judge: {{type: judge, model: grader, metrics: [correct, grounded]}}
pass_mark:
  rules:
    - {{id: correct, at_least: 0.9, of: correct, basis: estimate}}
    - {{id: grounded, at_least: 0.9, of: grounded, basis: estimate}}
"""


def says(body: Any) -> str:
    """Answer as the candidate; as the judge, fail what is about the sky and call the spider's legs ungrounded."""
    if body["model"] == "m-small":
        return "Paris, 4, blue, 8"
    asked = json.dumps(body["messages"])
    verdict = "incorrect" if "sky" in asked else "correct"
    return json.dumps({"verdict": verdict, "grounded": "spider" not in asked})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run with a judge."""
    with ServerThread(ChatServer(answer=says)) as server:
        project = SmallProject.write(tmp_path_factory.mktemp("judged"), PLAN.format(url=server.url))
        project.run()
    return project


@pytest.fixture
def judged(made: SmallProject, tmp_path: Path) -> SmallProject:
    """A copy of it."""
    return made.copy_to(tmp_path / "copy")


def passed(forger: Forger, case: str = "q3", **more: Any) -> dict[str, Any]:
    """Let a trial pass, as the judge did not say."""
    body = forger.trial("m", case)
    body.update(outcome="passed", verdict="passed", metrics={"correct": 1, "grounded": 1}, **more)
    return body


def test_honest_run_is_rejected_and_scored_again_as_it_was(judged: SmallProject) -> None:
    """One of four is wrong, and one of four ungrounded."""
    assert judged.codes() == set()
    assert gate(judged, "m") == 1
    code, v21, found = checked(judged)
    assert (code, found, v21["status"]) == (0, [], "PASS")
