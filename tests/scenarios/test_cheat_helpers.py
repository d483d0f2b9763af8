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


def kinder(forger: Forger) -> None:
    """Let the two trials pass that the judge failed or called ungrounded."""
    passed(forger, "q3")
    passed(forger, "q4")


def without_replies(forger: Forger) -> None:
    """Say that nobody replied."""
    kinder(forger)
    for case in ("q3", "q4"):
        del forger.trial("m", case)["private"]["replies"]


def without_calls(forger: Forger) -> None:
    """Say that nobody was asked either."""
    without_replies(forger)
    for case in ("q3", "q4"):
        for name in ("helper_calls", "helper_usage", "helper_cost"):
            del forger.trial("m", case)[name]


def replies_first(forger: Forger, *, behind: int = 0) -> None:
    """Put a kind reply to another answer before the one that came, and perhaps one behind it."""
    kinder(forger)
    kind = forger.trial("m", "q1")["private"]["replies"]["judge"]
    for case in ("q3", "q4"):
        replies = forger.trial("m", case)["private"]["replies"]
        replies["judge"] = kind + replies["judge"] + kind * behind


def other_scorer(forger: Forger) -> None:
    """Give a trial a reply to a scorer that the plan has not."""
    body = forger.trial("m", "q3")
    body["private"]["replies"] = {"other": body["private"]["replies"]["judge"]}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (without_replies, "CELL-VALUE"),
        (without_calls, "CELL-VALUE"),
        (other_scorer, "CELL-VALUE"),
        (replies_first, "ATTEMPT-ORDER"),
        (lambda f: replies_first(f, behind=1), "ATTEMPT-ORDER"),
        (lambda f: f.trial("m", "q3").update(helper_calls=[]), "ATTEMPT-ORDER"),
        (lambda f: f.trial("m", "q4")["metrics"].pop("grounded"), "CELL-VALUE"),
        (lambda f: f.trial("m", "q4").update(unknown={"grounded": "scorer"}), "CELL-VALUE"),
        (lambda f: f.trial("m", "q4")["helper_cost"].update(nano=1), "COST"),
        (lambda f: f.plan["scorers"][0].pop("helper"), "CELL-VALUE"),
        (lambda f: f.plan["configurations"][0].update(tools=[{"name": "x"}, {"name": "x"}]), "SCHEMA"),
    ],
)
def test_verdict_that_no_reply_bears_out_is_found_without_the_content(
    judged: SmallProject, tmp_path: Path, change: Callable[[Forger], object], code: str
) -> None:
    """Everything is signed again, and what the judge said is withheld: the lines contradict each other or the plan."""
    stranger = forge(judged, tmp_path, change)
    (judged.last / "content.jsonl").unlink()
    assert code in stranger.codes()
    assert gate(stranger, "m") == 3


def from_another(forger: Forger) -> None:
    """Show the kind replies of one answer for those to two others."""
    kinder(forger)
    for case in ("q3", "q4"):
        forger.trial("m", case)["private"]["replies"] = copy.deepcopy(forger.trial("m", "q1")["private"]["replies"])


def not_said(forger: Forger) -> None:
    """Say that the judge left the further metric open which it answered with no."""
    body = forger.trial("m", "q4")
    del body["metrics"]["grounded"]
    body["unknown"] = {"grounded": "scorer"}


def not_scored(forger: Forger) -> None:
    """Say that no verdict could be read where one failed the answer."""
    body = forger.trial("m", "q3")
    body.update(outcome="error", cause="scorer", metrics={}, unknown={"correct": "scorer", "grounded": "scorer"})
    del body["verdict"]


@pytest.mark.parametrize("change", [kinder, from_another, not_said, not_scored])
def test_verdict_that_its_replies_contradict_is_found_by_a_rescore(
    judged: SmallProject, tmp_path: Path, change: Callable[[Forger], object]
) -> None:
    """Better, of another answer, or left open: the replies are read again."""
    stranger = forge(judged, tmp_path, change)
    code, v21, found = checked(stranger)
    assert (code, v21["status"]) == (3, "FAIL")
    assert found


@pytest.mark.parametrize(
    ("outcome", "cause"), [("failed", "max_turns"), ("limit", "bad_format"), ("failed", "bad_format")]
)
def test_pass_that_is_called_a_failure_of_form_or_turns_is_found(
    judged: SmallProject, tmp_path: Path, outcome: str, cause: str
) -> None:
    """A rival's answers are no worse for a name: no form was asked for, and only a limit is one."""

    def worse(forger: Forger) -> None:
        zero = {"correct": 0, "grounded": 0}
        forger.trial("m", "q1").update(outcome=outcome, cause=cause, verdict="failed", metrics=zero)

    stranger = forge(judged, tmp_path, worse)
    assert stranger.codes() == {"CELL-VERDICT"}
