# SPDX-License-Identifier: Apache-2.0
"""Runs that end before their last trial, as a person meets them: run, resume, gate, report, ls, show, verify."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_project import Said, SmallProject
from stop_project import cases_text, plan_with

COUNTED = {"floor": "0.4", "of": "case_pass_rate"}
COUNTS = "  attempts: {max: 1}\n  stop: {mode: counts, rule: correct, accept: ACCEPT, reject: REJECT}\n"
COUNTS = COUNTS.replace("ACCEPT", "[" + "null, " * 5 + "0, 0, 0, 0, 0]").replace("REJECT", str([2] * 10))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[SmallProject, Said]:
    """A finished run of 20 cases that was settled early for both, and what it said."""
    made = SmallProject.write(
        tmp_path_factory.mktemp("stopped"), plan_with({"good": [], "bad": range(1, 21)}), cases_text(20)
    )
    return made, made("run", "--yes", "--jobs", "1")


def test_stopped_run_says_what_was_not_needed_and_why(stopped: tuple[SmallProject, Said]) -> None:
    """Exit 0: it is complete; and its means are labelled, since when to stop was decided by looking at them."""
    _, said = stopped
    assert said.code == 0
    assert "complete, since nothing more could change a decision: 16 passed, 5 failed, 19 not needed" in said.err
    assert "of 40 trials in 21 attempts" in said.err
    assert "bad is curtailed: 15 of 20 trials were not needed, so its means are not unbiased" in said.err
    assert "absent" not in said.err
    assert "unknown" not in said.err


def test_stopped_run_is_decided_on_as_if_it_had_gone_on(stopped: tuple[SmallProject, Said]) -> None:
    """One is accepted, the other rejected; the decision says that the run was stopped, and is derived again."""
    project, _ = stopped
    for name, code, word in (("good", 0, "accepted"), ("bad", 1, "rejected")):
        said = project("gate", "latest", "--model", name)
        assert (said.code, word.upper() in said.out) == (code, True)
        assert "curtailed: " in said.out
    entries = [json.loads(line) for line in (project.ledger / "entries.jsonl").read_bytes().splitlines()]
    assert [entry["body"]["stopped"] for entry in entries if entry["type"] == "decision"] == ["sealed", "sealed"]
    assert project.codes() == set()


def test_stopped_run_is_shown_as_complete_everywhere(stopped: tuple[SmallProject, Said]) -> None:
    """Report, ls, show, verify and resume know that nothing is missing."""
    project, _ = stopped
    report = project("report", "latest").out
    assert "19 were not needed (sealed)" in report
    assert "curtailed: 4 of 20 trials were not needed, so its means are not unbiased" in report
    assert "19 not needed" in project("ls").out
    assert "19 were not needed" in project("show", "latest").out
    assert "19 were not needed" in project("verify", "latest").out
    said = project("resume", "latest")
    assert said.code == 0
    assert "21 of 40 trials are decided, 19 are not needed, and nothing was asked" in said.err


def test_json_of_a_stopped_run_tells_not_needed_apart(tmp_path: Path) -> None:
    """Absent and not needed are numbers of their own."""
    project = SmallProject.write(tmp_path, plan_with({"good": []}), cases_text(20))
    said = project("run", "--yes", "--jobs", "1", "--json")
    value = said.json
    assert (value["exit_code"], value["reason"], value["counts"]["absent"]) == (0, "sealed", 4)
    assert value["configurations"][0]["not_needed"] == 4
    last = json.loads(said.err.splitlines()[-1])
    assert (last["planned"], last["not_needed"], last["done"]) == (20, 4, 16)


def test_boundaries_end_a_run_where_they_are_reached(tmp_path: Path) -> None:
    """After six cases without a failure it is accepted, at the second failure rejected."""
    project = SmallProject.write(
        tmp_path, plan_with({"good": [], "bad": range(1, 11)}, stop=COUNTS, **COUNTED), cases_text(10)
    )
    said = project("run", "--yes", "--jobs", "1")
    assert (said.code, "6 passed, 2 failed, 12 not needed" in said.err) == (0, True)
    assert project("gate", "latest", "--model", "good").code == 0
    assert project("gate", "latest", "--model", "bad").code == 1
    assert project.codes() == set()


def test_later_rule_keeps_a_run_going_beyond_its_boundary(tmp_path: Path) -> None:
    """A boundary settles its own rule; what another rule needs is asked."""
    rules = "    - {id: q1, must_pass: {id: q1}}\n    - {id: all, at_least: 1, of: correct, basis: estimate}\n"
    project = SmallProject.write(tmp_path, plan_with({"good": []}, rules=rules, stop=COUNTS, **COUNTED), cases_text(10))
    said = project("run", "--yes", "--jobs", "1")
    assert (said.code, "10 passed, 0 failed of 10 trials" in said.err) == (0, True)
    assert project("gate", "latest").code == 0
    assert project.codes() == set()
