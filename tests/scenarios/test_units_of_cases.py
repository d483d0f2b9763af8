# SPDX-License-Identifier: Apache-2.0
"""Cases that count as one: the plan's word for it is held to what was committed of each case."""

from __future__ import annotations

from pathlib import Path

import pytest
from forger import Forger
from small_project import SmallProject

CASES = "id,input,reference,page\nq1,Is it?,yes,1\nq2,is  IT?,yes,1\nq3,And this?,yes,2\nq4,And that?,yes,3\n"
PLAN = """\
trialplate: 1
name: small
test_sets: [{file: cases/q.csv}]
models: {m: {runner: stand-in, answers: {"*": "yes"}}}
repeats: 1
scorers: {right: {type: exact}}
pass_mark:
  unit: meta.page
  rules: [{id: right, at_least: 0.3, of: right}]
"""


@pytest.fixture
def made(tmp_path: Path) -> SmallProject:
    """A finished run whose mark counts cases by their page."""
    project = SmallProject.write(tmp_path, PLAN, CASES)
    project.run()
    return project


def test_units_of_an_honest_run_hold(made: SmallProject) -> None:
    """Three pages are three units, of which one has two cases; no value of meta stands in the open."""
    said = made("gate", "latest", "--model", "m", "--json")
    (rule,) = said.json["decision"]["rules"]
    assert (said.code, rule["units"], rule["cases"]) == (0, 3, 4)
    assert "page" in (made.last / "plan.json").read_text()
    assert made("verify", "latest").code == 0


@pytest.mark.parametrize(("case", "other"), [(1, 2), (3, 2)])
def test_unit_that_is_not_the_cases_own_is_found(made: SmallProject, case: int, other: int) -> None:
    """Neither may one unit be told as two, nor two as one."""
    forger = Forger(made)
    (made.home / "known.json").unlink()
    cases = forger.plan["test_set"]["cases"]
    cases[case]["unit"] = cases[other]["unit"]
    forger.sign()
    found = made("verify", "latest", "--json").json
    told = [item["message"] for report in found for item in report["findings"] if item["code"] == "CONTENT-MISMATCH"]
    assert any(f"case q{case + 1} is not of the unit that its plan says" in message for message in told), found


def test_unit_that_is_left_out_of_the_plan_is_found(made: SmallProject) -> None:
    """The mark counts by it, so every case has one."""
    forger = Forger(made)
    (made.home / "known.json").unlink()
    del forger.plan["test_set"]["cases"][0]["unit"]
    forger.sign()
    assert "SCHEMA" in made.codes("latest")


def test_two_questions_that_ask_the_same_are_no_plan_over_bounds(tmp_path: Path) -> None:
    """A reader sees it of those that are exactly the same."""
    plan = PLAN.replace("  unit: meta.page\n", "").replace("of: right}", "of: right, basis: estimate}")
    project = SmallProject.write(tmp_path, plan, CASES.replace("is  IT?", "Is it?"))
    project.run()
    assert project("verify", "latest").code == 0
    forger = Forger(project)
    (project.home / "known.json").unlink()
    for mark in (forger.plan["pass_mark"], forger.of("commit.passmark")["body"]["mark"]):
        mark["rules"][0]["basis"] = "bound"
    forger.sign()
    assert "SCHEMA" in project.codes("latest")
