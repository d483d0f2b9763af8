# SPDX-License-Identifier: Apache-2.0
"""Baselines as a person meets them: named in the ledger or the plan, compared with case by case, lost, waived, forged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import CASES, Said, SmallProject, plan_text

from trialplate.record import canonical

RATCHET = "    - {id: ratchet, no_regressions: baseline}\n"
BESIDE = "    - {id: beside, not_worse_than: baseline, by: 0.1, of: correct, basis: estimate}\n"
RIGHT = {"q1": "Paris", "q2": "4", "q3": "blue", "q4": "8 legs"}


def models(name: str = "good", **wrong: str) -> str:
    """Return a scripted model that answers everything right, but for what is given."""
    return f"  {name}: {{runner: stand-in, answers: {json.dumps(RIGHT | wrong)}}}"


def plan(model: str, rules: str = RATCHET, baseline: str = "", **fields: Any) -> str:
    """Return a plan whose mark compares with a baseline."""
    made = plan_text(model, mark="0", rules=rules, repeats=1, **fields)
    return made.replace("pass_mark:\n", f"pass_mark:\n  baseline: {baseline}\n") if baseline else made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A project with a run in which q3 alone is wrong, named as the baseline."""
    project = SmallProject.write(tmp_path_factory.mktemp("made"), plan(models(q3="red"), ""))
    project.run()
    assert project("baseline", "set", "latest").code == 0
    return project


@pytest.fixture
def project(made: SmallProject, tmp_path: Path) -> SmallProject:
    """A copy of it."""
    return made.copy_to(tmp_path)


def first(project: SmallProject) -> str:
    """Return the id of the baseline's run."""
    return project.runs[0].name


def gate(project: SmallProject, run: str = "latest") -> tuple[str, list[str], dict[str, Any]]:
    """Return the decision on a run, its reasons, and what each rule came to."""
    said = project("gate", run, "--json").json["decision"]
    return said["decision"], said.get("reasons", []), {rule["id"]: rule for rule in said["rules"]}


def refused(said: Said, *words: str, code: int = 2) -> None:
    """Hold an error to its exit code and to what it says."""
    assert said.code == code, said
    assert said.out == ""
    for word in words:
        assert word in said.err, said.err


# ------------------------------------------------------------------------------------------------------- naming one


def test_set_appends_once_and_list_tells_all(project: SmallProject) -> None:
    """The newest is in force; the same again is not appended."""
    run = first(project)
    assert project.types()[-1] == "baseline"
    assert (
        f"{run} (each configuration with its own name): the baseline already, by ledger entry"
        in project("baseline", "set", run[:12]).out
    )
    assert project.types().count("baseline") == 1
    assert f"{run} (good): the baseline from now on" in project("baseline", "set", "latest", "--model", "good").out
    said = project("baseline", "list")
    assert said.code == 0
    assert [line.split()[3] for line in said.out.splitlines()[1:3]] == [run, run]
    assert said.out.splitlines()[-1].startswith(f"in force: {run} (good)")
    told = project("baseline", "list", "--json").json
    assert told["format"] == "trialplate-baselines/1"
    assert [(item["configuration"], item["in_force"]) for item in told["baselines"]] == [(None, False), ("good", True)]
    assert told["baselines"][0]["test_set"]["root"].startswith("sha256:")
    assert "baseline" in project("ledger", "log").out
    assert project("ls").code == 0
    assert project.codes() == set()


def test_list_tells_what_is_gone_or_waived(project: SmallProject) -> None:
    """An entry is for ever; what it names need not be."""
    assert project("waive", first(project), "--reason", "a mistake").code == 0
    shutil.rmtree(project.last)
    assert "missing, waived" in project("baseline", "list").out
    (told,) = project("baseline", "list", "--json").json["baselines"]
    assert (told["here"], told["waived"]) == (False, True)


def test_what_cannot_be_a_baseline_is_refused(fresh: SmallProject) -> None:
    """A pilot, a waived run, a model that is not there, a run that is not; nothing is appended."""
    fresh.run("--limit", "2")
    refused(fresh("baseline", "set", "latest"), "is a pilot", "name a full run")
    run = fresh.run()
    refused(fresh("baseline", "set", "latest", "--model", "goof"), "no configuration 'goof'", "did you mean good?")
    refused(fresh("baseline", "set", "2019"), "no run '2019'")
    assert fresh("baseline", "list").out == "no baseline yet: `trialplate baseline set RUN` names one\n"
    fresh("waive", run, "--reason", "scripted wrongly")
    refused(fresh("baseline", "set", run), "was waived: it does not count")
    assert "baseline" not in fresh.types()


def test_unfinished_run_is_no_baseline(finished: SmallProject, tmp_path: Path) -> None:
    """A run without its run.end may yet come to anything."""
    forger = Forger(finished)
    forger.drop("decision")
    forger.drop("run.end")
    forger.record.pop()
    forger.sign()
    refused(finished.as_stranger(tmp_path)("baseline", "set", "latest"), "is unfinished", "trialplate resume")


def test_run_that_does_not_hold_is_no_baseline(finished: SmallProject) -> None:
    """Exit 3, with the finding."""
    record = finished.last / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"', 1))
    assert finished("baseline", "set", "latest").code == 3
    assert "baseline" not in finished.types()


def test_rejected_configuration_as_a_baseline_is_told(finished: SmallProject) -> None:
    """Not to be worse than what was not good enough says little; it is said when it is set and when it decides."""
    said = finished("baseline", "set", "latest")
    assert said.code == 0
    assert "note: the baseline" in said.out
    assert "bad was itself rejected, by ledger entry" in said.out
    run = finished.last.name
    finished.set_plan(plan_text(rules=RATCHET))
    finished.run()
    assert "BASELINE-DOUBTFUL" in finished.notes(str(finished.last))
    assert finished.codes() == set()
    assert f"baseline: run {run}, each with its own name" in finished("gate", "latest", "--model", "good").out


# ------------------------------------------------------------------------------------------------- the ledger's word


def test_changed_model_that_fails_what_passed_is_rejected_with_the_case(project: SmallProject) -> None:
    """q3 was wrong before and may be; q1 was right, and is named."""
    project.set_plan(plan(models(q3="green")))
    assert "no case is worse than in the baseline, none new that fails" in project("run").out
    project.run()
    assert gate(project)[0] == "accepted"
    project.set_plan(plan(models(q1="London")))
    project.run()
    said = project("gate", "latest")
    assert said.code == 1
    assert "REJECTED good" in said.out
    assert (
        "rule ratchet: no case worse than in the baseline: 4 asked alike in both; it does not hold (regressed)"
        in said.out
    )
    assert "4 cases asked alike in both: regressed: q1" in said.out
    assert gate(project)[2]["ratchet"]["failing"] == ["q1"]
    for form in ("text", "markdown", "json"):
        assert "4 cases asked alike in both: regressed: q1" in project("report", "latest", "--format", form).out
    assert project.codes() == set()


def test_baseline_that_is_set_later_changes_no_mark_that_stands(project: SmallProject) -> None:
    """A mark holds the run it was made with; the next plan gets the new one."""
    project.set_plan(plan(models(q1="London")))
    second = project.run()
    assert gate(project, second)[0] == "rejected"
    assert project("baseline", "set", second).code == 0
    assert gate(project, second)[0] == "rejected"
    said = project("run")
    assert f"looser: baseline: {first(project)} became {second}" in said.out
    project.run()
    decision, reasons, rules = gate(project)
    assert rules["ratchet"]["result"] == "pass"
    assert (decision, reasons) == ("rejected", ["attempt_rejected"])
    assert project.codes() == set()


def write_cases(project: SmallProject, text: str) -> None:
    """Write the test set anew."""
    (project.root / "cases" / "q.csv").write_text(text, encoding="utf-8")


def kinds(rule: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """Return what the cases of each kind came to, and which are named."""
    return {item["value"]: (item["result"], item.get("failing", [])) for item in rule["copies"]}


def test_removed_case_is_a_regression_until_it_is_allowed(project: SmallProject) -> None:
    """Whatever it came to: here the one that failed goes."""
    write_cases(project, CASES.replace("q3,What colour is the sky on a day without clouds?,blue,\n", ""))
    answers = {name: text for name, text in RIGHT.items() if name != "q3"}
    model = f"  good: {{runner: stand-in, answers: {json.dumps(answers)}}}"
    project.set_plan(plan(model))
    project.run()
    assert kinds(gate(project)[2]["ratchet"]) == {"unchanged": ("pass", []), "removed": ("fail", ["q3"])}
    assert "1 case removed: q3" in project("gate", "latest").out
    project.set_plan(plan(model, "    - {id: ratchet, no_regressions: baseline, allow: [q3]}\n"))
    assert "no case is worse than in the baseline, but for q3, none new that fails" in project("run").out
    project.run()
    assert kinds(gate(project)[2]["ratchet"]) == {"unchanged": ("pass", []), "allowed": ("pass", ["q3"])}
    assert "1 case worse, as allowed: q3" in project("gate", "latest").out
    assert project.codes() == set()


def test_changed_and_new_cases_must_pass(project: SmallProject) -> None:
    """The old answer to another question counts for nothing."""
    write_cases(project, CASES.replace("on a day without clouds?", "at noon?") + "q5,How much is three and three?,6,\n")
    more = {**RIGHT, "q3": "red", "q5": "7"}
    project.set_plan(plan(f"  good: {{runner: stand-in, answers: {json.dumps(more)}}}"))
    project.run()
    decision, _, rules = gate(project)
    assert decision == "rejected"
    assert kinds(rules["ratchet"]) == {"unchanged": ("pass", []), "changed": ("fail", ["q3"]), "new": ("fail", ["q5"])}
    said = project("gate", "latest").out
    assert "1 case changed: fails: q3" in said
    assert "1 case new: fails: q5" in said
    assert project.codes() == set()


def test_allowed_case_that_is_nowhere_is_a_mistake(project: SmallProject) -> None:
    """It would be a mistyped one, and the case that was meant would block."""
    project.set_plan(plan(models(), "    - {id: ratchet, no_regressions: baseline, allow: [q33]}\n"))
    for command in ("validate", "commit", "run"):
        refused(project(command), "trialplate.yaml:", 'allows the case "q33"', "q3")


# --------------------------------------------------------------------------------------------------- the plan's word


def test_author_names_the_run_in_each_form(project: SmallProject) -> None:
    """By path, id, beginning and root: the plan holds the same."""
    run = first(project)
    root = json.loads((project.ledger / "entries.jsonl").read_text().splitlines()[-1])["body"]["root"]
    marks = set()
    for written in (f"runs/{run}", run, run[:20], root):
        project.set_plan(plan(models(), baseline=f'{{record: "{written}"}}'))
        said = project("validate")
        assert said.code == 0, said.err
        marks.add(next(line for line in said.out.splitlines() if "pass mark" in line))
    assert len(marks) == 1


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("latest", ("compares with one run", "name it by its id")),
        ("runs/2019", ("is no run of this ledger",)),
        ("2", ("is the beginning of several runs",)),
        ("sha256:" + "0" * 64, ("is no run of this ledger",)),
        ("../elsewhere", ("is no run of this ledger",)),
    ],
)
def test_record_that_names_no_one_run_is_refused(project: SmallProject, record: str, words: tuple[str, ...]) -> None:
    """At its place in the file, with the runs there are."""
    project.run()
    project.set_plan(plan(models(), baseline=f'{{record: "{record}"}}'))
    refused(project("validate"), "trialplate.yaml:", *words)


def test_pilot_and_waived_run_are_refused_in_a_plan(project: SmallProject) -> None:
    """As `baseline set` refuses them."""
    project.run("--limit", "2")
    pilot = project.last.name
    project.set_plan(plan(models(), baseline=f"{{record: runs/{pilot}}}"))
    refused(project("run"), f"the baseline is {pilot}, which was a pilot")
    project("waive", first(project), "--reason", "a mistake")
    project.set_plan(plan(models()))
    refused(project("run"), "which was waived", "ledger/entries.jsonl:")


def test_configuration_of_another_name_is_compared_once_it_is_named(project: SmallProject) -> None:
    """A candidate without its like in the baseline could never pass: it is told before anything is spent."""
    project.set_plan(plan(models("better")))
    refused(project("run", "--yes"), "the baseline has no configuration better to compare it with", "name one of good")
    run = first(project)
    project.set_plan(plan(models("better"), baseline=f"{{record: runs/{run}, configuration: goood}}"))
    refused(project("validate"), "the baseline has no configuration goood", "good")
    project.set_plan(plan(models("better", q1="x"), baseline=f"{{record: runs/{run}, configuration: good}}"))
    project.run()
    assert gate(project)[2]["ratchet"]["failing"] == ["q1"]
    project("baseline", "set", run, "--model", "good")
    project.set_plan(plan(models("better")))
    project.run()
    assert gate(project)[2]["ratchet"]["result"] == "pass"
    assert project.codes() == set()


def test_without_any_baseline_nothing_is_spent(fresh: SmallProject) -> None:
    """With a ledger or without one."""
    fresh.set_plan(plan(models()))
    refused(fresh("run", "--yes"), "compares with a baseline, and there is none", "trialplate baseline set")
    assert not fresh.ledger.exists()
    fresh.set_plan(plan(models(), baseline="{record: runs/20260101T000000000Z-00000000}"))
    refused(fresh("validate"), "this project has no ledger yet")


# ------------------------------------------------------------------------------------------------------ comparisons


def test_comparison_with_the_baseline_by_as_much_as_it_may(project: SmallProject) -> None:
    """Three of four then; one case is a quarter, and a tenth may be lost."""
    project.set_plan(plan(models(q3="red"), BESIDE))
    assert "rule beside: correct not more than 0.1 below the baseline, as an estimate" in project("run").out
    project.run()
    assert gate(project)[0] == "accepted"
    project.set_plan(plan(models(q3="red", q1="London"), BESIDE))
    project.run()
    said = project("gate", "latest").out
    assert (
        "correct not more than 0.1 below the baseline: 0.2500 below over 4 cells of 4 cases; it does not hold" in said
    )
    assert project.codes() == set()


def test_comparison_over_other_cases_or_scores_is_refused_before_it_is_spent(project: SmallProject) -> None:
    """It could only come to nothing."""
    write_cases(project, CASES + "q5,How much is three and three?,6,\n")
    project.set_plan(plan(f"  good: {{runner: stand-in, answers: {json.dumps({**RIGHT, 'q5': '6'})}}}", BESIDE))
    refused(project("run", "--yes"), "which ran on another test set", "trialplate baseline set")
    write_cases(project, CASES)
    project.set_plan(plan(models(), BESIDE).replace("case_sensitive: false", "case_sensitive: true"))
    refused(project("run", "--yes"), "where it was scored otherwise")


# -------------------------------------------------------------------------------------------- lost, waived, tampered


@pytest.fixture
def regressed(project: SmallProject) -> SmallProject:
    """The second run is rejected by the ratchet, and that is stated."""
    project.set_plan(plan(models(q1="London")))
    project.run()
    assert gate(project)[:2] == ("rejected", ["ratchet"])
    return project


def test_lost_baseline_leaves_the_rule_open_and_what_was_stated_stands(regressed: SmallProject) -> None:
    """The stated decision is held to all else; a new one cannot tell, and says so."""
    shutil.rmtree(regressed.runs[0])
    second = regressed.last.name
    assert regressed.codes() == set()
    assert {"BASELINE-MISSING", "RUN-MISSING"} <= regressed.notes(str(regressed.last))
    decision, reasons, rules = gate(regressed, second)
    assert (decision, reasons) == ("inconclusive", ["ratchet"])
    assert rules["ratchet"]["reason"] == "baseline_missing"
    assert "cannot be told (baseline_missing)" in regressed("gate", second, "--no-append").out
    assert regressed.codes() == set()
    refused(regressed("run"), "is not here", "put its folder back")


def test_decision_that_missed_its_baseline_still_follows_once_it_is_back(
    regressed: SmallProject, tmp_path: Path
) -> None:
    """It was so when it was stated; and now it is otherwise."""
    shutil.move(regressed.runs[0], tmp_path / "aside")
    run = json.loads((regressed.ledger / "entries.jsonl").read_text().splitlines()[3])["body"]["run_id"]
    assert gate(regressed)[0] == "inconclusive"
    shutil.move(tmp_path / "aside", regressed.root / "runs" / run)
    assert regressed.codes() == set()
    assert gate(regressed)[0] == "rejected"
    assert regressed.codes() == set()


def test_rejection_is_not_undone_by_removing_what_it_was_compared_with(regressed: SmallProject) -> None:
    """The first attempt's result is open then, and an open attempt blocks the next one under an easier mark."""
    regressed.set_plan(plan(models(q1="London"), ""))
    regressed.run()
    assert gate(regressed)[:2] == ("rejected", ["attempt_rejected"])
    shutil.rmtree(regressed.runs[0])
    assert gate(regressed)[:2] == ("inconclusive", ["attempt_open"])
    assert regressed.codes() == set()


def test_waived_baseline_is_compared_with_as_it_was_and_told(regressed: SmallProject) -> None:
    """A waiver says that a run is no attempt; what it measured stays, else it would undo a rejection."""
    assert regressed("waive", first(regressed), "--reason", "scripted wrongly").code == 0
    assert gate(regressed)[:2] == ("rejected", ["ratchet"])
    assert "was waived: it does not count as an attempt" in regressed("gate", "latest", "--no-append").out
    assert regressed.codes() == set()


def test_tampered_baseline_decides_nothing(regressed: SmallProject) -> None:
    """Its record is verified like any other: exit 3, and the finding names it."""
    record = regressed.runs[0] / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"passed"', b'"outcome":"failed"', 1))
    assert regressed("gate", "latest", "--no-append").code == 3
    assert "BASELINE-RECORD" in regressed.codes(str(regressed.last))
    assert regressed("run").code == 3


# ------------------------------------------------------------------------------------------------------------ forged


def remark(forger: Forger, **changes: Any) -> None:
    """Let plan and commitment name another baseline."""
    forger.plan["pass_mark"]["baseline"].update(changes)
    body = forger.of("commit.passmark")["body"]
    body["mark"] = forger.plan["pass_mark"]
    body["digest"] = canonical.digest_value(body["mark"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 3}, "at a size or root that is not that of its run.end"),
        ({"root": "sha256:" + "1" * 64}, "at a size or root that is not that of its run.end"),
        ({"test_set": "sha256:" + "1" * 64}, "which ran on another test set than it says"),
        ({"configuration": "nobody"}, "which has no configuration nobody"),
        ({"run_id": "20190101T000000000Z-00000000"}, "which this ledger did not start before it"),
    ],
)
def test_forged_mark_with_another_baseline_is_found(
    regressed: SmallProject, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    """By the ledger alone, whoever signed it."""
    forger = Forger(regressed)
    remark(forger, **changes)
    forger.drop("decision")
    forger.sign()
    stranger = regressed.as_stranger(tmp_path)
    assert "BASELINE" in stranger.codes()
    assert words in stranger("verify").out
    assert stranger("gate", "latest", "--no-append").code == 3


def test_run_that_compares_with_itself_is_found(regressed: SmallProject, tmp_path: Path) -> None:
    """No run is not worse than itself by a mark that was committed before it."""
    forger = Forger(regressed)
    end = forger.of("run.end")["body"]
    remark(forger, run_id=forger.run_id, size=end["size"], root=end["root"])
    forger.drop("decision")
    forger.sign()
    assert "BASELINE" in regressed.as_stranger(tmp_path).codes()


@pytest.mark.parametrize("changes", [{"size": 2}, {"root": "sha256:" + "1" * 64}, {"configuration": "nobody"}])
def test_forged_baseline_entry_is_found(project: SmallProject, tmp_path: Path, changes: dict[str, Any]) -> None:
    """An entry that names what its run is not."""
    forger = Forger(project)
    forger.of("baseline")["body"].update(changes)
    forger.sign_ledger()
    assert "BASELINE" in project.as_stranger(tmp_path).codes()


def test_acceptance_stated_over_a_lost_baseline_is_held_to_all_else(regressed: SmallProject, tmp_path: Path) -> None:
    """Of the rule on the baseline it is taken at its word, of another it is not."""
    forger = Forger(regressed)
    stated = forger.of("decision")["body"]
    for rule in stated["rules"]:
        if rule["id"] == "ratchet":
            rule.update(result="pass", reason="met", copies=[], failing=[])
            rule.pop("copies"), rule.pop("failing")
    stated.update(decision="accepted", reasons=[])
    forger.sign_ledger()
    stranger = regressed.as_stranger(tmp_path)
    assert "DECISION" in stranger.codes()
    shutil.rmtree(regressed.runs[0])
    assert stranger.codes() == set()
    assert "RUN-MISSING" in stranger.notes(str(regressed.last))
    for rule in stated["rules"]:
        if rule["id"] == "correct":
            rule.update(low="1/1", high="1/1")
    forger.sign_ledger()
    assert "DECISION" in stranger.codes()
