# SPDX-License-Identifier: Apache-2.0
"""A mark that chooses, as a person uses it: the gate with and without a model, what it states, and who forges that."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject, plan_text

from trialplate.record.log import MAX_ENTRY

PRICE = "pricing: free"
FULL = '{q1: "Paris", q2: "4", q3: "blue", q4: "8"}'
HALF = '{q1: "Paris", q2: "4", q3: "red", q4: "six"}'
NEAR = '{q1: "Paris", q2: ["four", "4"], q3: "blue", q4: "8 legs"}'


def models(**answers: str) -> str:
    """Return the lines of stand-ins that are free; `old_...` is a comparison."""
    rows = [
        f"  {name}: {{runner: stand-in, answers: {script}, {PRICE}"
        f"{', role: comparison' if name.startswith('old') else ''}}}"
        for name, script in answers.items()
    ]
    return "\n".join(rows)


def choosing(plan: str, by: str = "cheapest", within: str = "0.15", extra: str = "", mark: str = "") -> str:
    """Return a plan with a choice in its mark."""
    choice = f"  choose: {{by: {by}, of: correct, within: {within}, basis: estimate{extra}}}\n{mark}"
    return plan + choice


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run of three candidates and a comparison, not gated yet. It is copied, never changed."""
    plan = choosing(plan_text(models(full=FULL, near=NEAR, half=HALF, old_bot=FULL), mark="0.5"))
    project = SmallProject.write(tmp_path_factory.mktemp("contest"), plan)
    project.run()
    return project


@pytest.fixture
def mine(contest: SmallProject, tmp_path: Path) -> SmallProject:
    """A copy of that run."""
    return contest.copy_to(tmp_path)


def test_gate_without_a_model_decides_on_the_chosen_one(mine: SmallProject) -> None:
    """T30: exit 0 if and only if a configuration was chosen and accepted; the output says eligible and chosen."""
    said = mine("gate", "latest")
    assert said.code == 0
    assert said.out.startswith("ACCEPTED full in run")
    assert "eligible: yes; chosen: full (cheapest of those that pass)" in said.out
    assert "use 1 of 1 of this test set" in said.out
    assert mine.types().count("decision") == 1
    assert mine.codes() == set()
    assert mine.status("V19") == "PASS"


def test_gate_on_one_that_is_eligible_and_not_chosen_passes_unless_chosen_is_asked(mine: SmallProject) -> None:
    """`--chosen` only ever asks for more."""
    assert mine("gate", "latest", "--model", "near").code == 0
    said = mine("gate", "latest", "--model", "near", "--chosen")
    assert said.code == 1
    assert "eligible: yes; chosen: full" in said.out
    assert mine("gate", "latest", "--model", "full", "--chosen").code == 0
    assert (
        mine("gate", "latest", "--model", "half").code
        == mine("gate", "latest", "--model", "half", "--chosen").code
        == 1
    )


def test_gate_json_always_says_eligible_and_chosen(mine: SmallProject) -> None:
    """One object, with the same keys for one configuration and for none."""
    near = mine("gate", "latest", "--model", "near", "--json", "--no-append").json
    assert (near["eligible"], near["chosen"], near["decision"]["decision"]) == ("pass", "full", "accepted")
    half = mine("gate", "latest", "--model", "half", "--json", "--no-append").json
    assert (half["eligible"], half["chosen"], half["decision"]["reasons"]) == ("fail", "full", ["within"])
    within = half["decision"]["choice"]["within"]
    assert (within["low"], within["threshold"], within["result"]) == ("-1/2", "-3/20", "fail")


def test_gate_where_none_is_chosen_states_every_candidate_and_is_not_0(tmp_path: Path) -> None:
    """T26: nobody passes, so nobody is chosen: every candidate's decision is stated, and the exit code is 1."""
    plan = choosing(plan_text(models(near=NEAR, half=HALF), mark="0.95"))
    project = SmallProject.write(tmp_path, plan)
    project.run()
    said = project("gate", "latest")
    assert said.code == 1
    assert "chosen: none, since none passes" in said.out
    assert said.out.count("REJECTED") == 2
    assert project.types().count("decision") == 2
    assert project("gate", "latest").code == 1
    assert project.types().count("decision") == 2  # the same decisions are not stated twice
    assert project.codes() == set()
    assert project("gate", "latest", "--json").json["decision"] is None


def test_gate_where_a_price_is_unknown_chooses_nobody_and_accepts_whoever_is_named(tmp_path: Path) -> None:
    """T22: an unpriced model is not the cheapest, and keeps the others from being it; a warning says so before."""
    plan = choosing(plan_text(models(full=FULL, near=NEAR), mark="0.5")).replace(f"{NEAR}, {PRICE}", NEAR)
    project = SmallProject.write(tmp_path, plan)
    assert "the price of near is unknown: if it passes, nothing can be chosen" in project("run").out
    project.run()
    said = project("gate", "latest")
    assert said.code == 1
    assert "cannot be told between full and near (a cost is unknown, which is not zero)" in said.out
    assert project("gate", "latest", "--model", "full").code == 0
    assert project("gate", "latest", "--model", "full", "--chosen").code == 1


def test_require_chosen_in_the_mark_needs_no_flag(tmp_path: Path) -> None:
    """The committed mark may ask for the chosen one; then nobody else passes."""
    plan = choosing(plan_text(models(full=FULL, near=NEAR), mark="0.5"), mark="  require: chosen\n")
    project = SmallProject.write(tmp_path, plan)
    project.run()
    said = project("gate", "latest", "--model", "near")
    assert said.code == 1
    assert "the mark asks for the chosen configuration, and this is not the one" in said.out
    assert project("gate", "latest", "--model", "full").code == 0
    assert project.codes() == set()


def test_chosen_where_the_mark_does_not_choose_is_a_usage_error(finished: SmallProject) -> None:
    """A flag that could only be ignored is refused."""
    said = finished("gate", "latest", "--model", "good", "--chosen")
    assert said.code == 2
    assert "chooses nothing" in said.err


def test_one_chosen_that_an_earlier_attempt_rejected_is_not_accepted(tmp_path: Path) -> None:
    """A choice is of its own run: attempts then reject the chosen one like any other."""
    project = SmallProject.write(tmp_path, choosing(plan_text(models(near=NEAR), mark="0.95")))
    project.run()
    project.set_plan(choosing(plan_text(models(near=NEAR, half=HALF), mark="0.5")))
    project.run()
    said = project("gate", "latest")
    assert said.code == 1
    assert "REJECTED near" in said.out
    assert "chosen: near" in said.out
    assert "another run of this configuration on these cases was rejected" in said.out
    assert project.codes() == set()


def test_report_shows_the_choice_for_every_candidate(mine: SmallProject) -> None:
    """The report says the same words as the gate."""
    said = mine("report").out
    gate = mine("gate", "latest", "--model", "near", "--no-append").out
    for line in gate.splitlines():
        if line.startswith(("  eligible", "  choose", "  contender", "  rule")):
            assert line in said
    assert "contender old_bot: comparison" in said


def _swap_chosen(body: dict[str, Any]) -> None:
    body["choice"]["chosen"] = "near"


def _hide_rival(body: dict[str, Any]) -> None:
    del body["choice"]["contenders"][3]


def _better_distance(body: dict[str, Any]) -> None:
    body["choice"]["within"]["low"] = "1/2"


def _no_choice(body: dict[str, Any]) -> None:
    del body["choice"]


def _cheaper(body: dict[str, Any]) -> None:
    body["choice"]["contenders"][1]["cost"] = "1/2"


def _cut(body: dict[str, Any]) -> None:
    body["cut"] = {"attempts": 0, "contenders": 4, "copies": 0, "digest": body["plan"], "reasons": 0, "rules": 1}


@pytest.mark.parametrize("change", [_swap_chosen, _hide_rival, _better_distance, _no_choice, _cheaper, _cut])
def test_forged_choice_is_derived_again_and_found(
    mine: SmallProject, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    """V19: every part of a stated choice follows from plan and record, for a stranger too."""
    assert mine("gate", "latest").code == 0
    forger = Forger(mine)
    change(forger.of("decision")["body"])
    forger.sign()
    assert mine.as_stranger(tmp_path).codes() == {"DECISION"}


# ----------------------------------------------------------------------------------------------- copies, and many tags

BY_TAG = "    - {id: by-tag, at_least: 0.5, of: correct, each: tag, basis: estimate}\n"


def test_gate_gives_each_copy_its_line_and_rejects_for_one(tmp_path: Path) -> None:
    """A rule for each tag has a line for each; one that fails rejects the whole."""
    plan = plan_text(
        '  m: {runner: stand-in, answers: {q1: London, q2: "4", q3: blue, q4: "8"}}', mark="0.5", rules=BY_TAG
    )
    project = SmallProject.write(tmp_path, plan)
    project.run()
    said = project("gate", "latest")
    assert said.code == 1
    lines = [line.strip() for line in said.out.splitlines()]
    assert "rule by-tag: correct at least 0.5 for each tag: 2 of 4 hold; it does not hold (below)" in lines
    assert "tag geo: 0.0000 over 2 cells of 1 case; it does not hold (1 more passing case would turn it)" in lines
    assert "tag math: 1.0000 over 4 cells of 2 cases; it holds (2 more failing cases would turn it)" in lines
    assert project.codes() == set()


@pytest.fixture(scope="module")
def many_tags(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished and gated run whose rule has three thousand copies, of which two fail."""
    rows = "".join(f"n{n},Which number has case {n} of these?,right,tag-{n}\n" for n in range(3000))
    script = json.dumps({"*": "right", "n7": "wrong", "n2999": "wrong"})
    plan = plan_text(f"  m: {{runner: stand-in, answers: {script}}}", repeats=1, mark="0.5", rules=BY_TAG)
    project = SmallProject.write(tmp_path_factory.mktemp("tags"), plan, "id,input,reference,tags\n" + rows)
    project.run()
    assert project("gate", "latest").code == 1
    return project


def test_decision_over_thousands_of_tags_fits_its_line_and_verifies(many_tags: SmallProject) -> None:
    """What would be hundreds of kilobytes is stated as what stands in the way, counts, and a digest of the whole."""
    lines = (many_tags.ledger / "entries.jsonl").read_bytes().splitlines()
    assert max(map(len, lines)) <= MAX_ENTRY
    body = json.loads(lines[-1])["body"]
    assert [item["id"] for item in body["rules"]] == ["by-tag"]
    assert [copy["value"] for copy in body["rules"][0]["copies"]] == ["tag-2999", "tag-7"]
    assert body["cut"]["copies"] == 3000
    assert many_tags.codes() == set()
    assert many_tags.status("V19") == "PASS"
    said = many_tags("gate", "latest", "--no-append").out
    assert "tag tag-7: 0.0000" in said
    assert "only what stands in the way is stated; in all 2 rules, 3000 copies, 0 attempts" in said


@pytest.mark.parametrize(
    ("key", "value"), [("digest", "sha256:" + "0" * 64), ("copies", 2999), ("attempts", 1), ("rules", 0)]
)
def test_cut_decision_is_held_to_its_digest_and_counts(
    many_tags: SmallProject, tmp_path: Path, key: str, value: Any
) -> None:
    """What is left out cannot be changed either."""
    project = many_tags.copy_to(tmp_path)
    forger = Forger(project)
    forger.of("decision")["body"]["cut"][key] = value
    forger.sign()
    assert project.as_stranger(tmp_path).codes() == {"DECISION"}


@pytest.mark.parametrize(
    "forge",
    [
        lambda body: body["rules"][0]["copies"].pop(),
        lambda body: body["rules"][0].update(result="inconclusive"),
        lambda body: body["rules"].clear(),
        lambda body: body["evidence"][0].update(found="pilot"),
        lambda body: body.update(decision="accepted", reasons=[]),
    ],
    ids=["a copy", "a result", "a rule", "evidence", "decision"],
)
def test_cut_decision_is_held_to_the_record_also_where_another_run_is_gone(
    many_tags: SmallProject, tmp_path: Path, forge: Callable[[Any], object]
) -> None:
    """Only what it knew of the run that is not here is taken as stated; its own rules are derived all the same."""
    project = many_tags.copy_to(tmp_path)
    first = project.last.name
    project.run()
    assert project("gate", first).code == 1
    shutil.rmtree(project.last)
    assert project.codes() == set()
    forger = Forger(project, project.root / "runs" / first)
    forge(forger.of("decision")["body"])
    forger.sign()
    assert project.as_stranger(tmp_path).codes() == {"DECISION"}


def test_gate_again_on_a_cut_decision_appends_nothing(many_tags: SmallProject, tmp_path: Path) -> None:
    """The same decision is the same, cut or whole."""
    project = many_tags.copy_to(tmp_path)
    before = project.types()
    assert project("gate", "latest").code == 1
    assert project.types() == before


def test_decision_forged_about_a_comparison_is_found(mine: SmallProject, tmp_path: Path) -> None:
    """A comparison that is perfect by every rule is counted, and never accepted: not by the key's owner either."""
    assert mine("gate", "latest", "--model", "full").code == 0
    forger = Forger(mine)
    body = forger.of("decision")["body"]
    body["configuration"] = "old_bot"
    body["choice"]["within"].update(low="0/1", high="0/1")
    forger.sign_ledger()
    stranger = mine.as_stranger(tmp_path)
    said = stranger("verify", "latest")
    assert said.code == 3
    assert "this run has no candidate old_bot to decide on" in said.out
    assert stranger("gate", "latest", "--model", "full", "--no-append").code == 3


def test_tag_that_a_case_has_twice_is_found(mine: SmallProject, tmp_path: Path) -> None:
    """Its case would count twice in a copy of a rule, and outweigh one that failed."""
    forger = Forger(mine)
    forger.plan["test_set"]["cases"][1]["tags"] = ["math", "math"]
    forger.drop("decision")
    forger.sign()
    assert "SCHEMA" in mine.as_stranger(tmp_path).codes(str(mine.last))
