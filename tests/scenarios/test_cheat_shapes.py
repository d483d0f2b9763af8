# SPDX-License-Identifier: Apache-2.0
"""Cheats by the shape of things: names, tags, selections and rules that a reader takes for something else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from forger import Forger
from server_thread import ServerThread
from small_project import ANSWERS_GOOD, CASES, SmallProject, plan_text

from trialplate.rules.passmark import evaluate

TWICE = '#!/bin/sh\ncat >/dev/null\nn=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n\n[ $((n%2)) = 0 ] && echo "Paris 4 blue 8"\n'
"""A program that answers every other time: by chance, one of its names gets all the good answers."""


def alias_project(folder: Path) -> SmallProject:
    """One program under two names."""
    project = SmallProject.write(
        folder,
        plan_text("  a: {runner: command, argv: [sh, bot.sh]}\n  b: {runner: command, argv: [sh, bot.sh]}", repeats=1),
    )
    (project.root / "bot.sh").write_text(TWICE, encoding="utf-8")
    return project


def test_one_thing_under_two_names_in_one_run_is_two_attempts(tmp_path: Path) -> None:
    """Listing a model twice, to gate the luckier name, counts the unlucky one."""
    project = alias_project(tmp_path)
    project.run("--jobs", "1")
    assert project("gate", "latest", "--model", "a").code == 1
    said = project("gate", "latest", "--model", "b", "--json")
    decision = said.json["decision"]
    assert (said.code, decision["decision"], decision["reasons"]) == (1, "rejected", ["attempt_rejected"])
    assert [(item["configuration"], item["decision"]) for item in decision["attempts"]] == [("a", "rejected")]
    assert project("verify", "latest").code == 0


def test_every_name_of_an_earlier_run_counts_for_a_later_one(tmp_path: Path) -> None:
    """An accepted name that stands first does not hide a rejected one behind it."""
    project = alias_project(tmp_path)
    project.run("--jobs", "1")
    project.run("--jobs", "1", "--models", "b")  # a pilot, to turn the program's luck
    project.set_plan(plan_text("  b: {runner: command, argv: [sh, bot.sh]}", repeats=1))
    (project.root / "n").write_text("0")
    project.run("--jobs", "1")
    said = project("gate", "latest", "--json")
    assert said.code == 1
    assert {item["decision"] for item in said.json["decision"]["attempts"]} >= {"rejected"}


def test_a_changed_tag_does_not_make_another_question(tmp_path: Path) -> None:
    """A label that never reaches the model does not reset the count of attempts."""
    line = '  good: {runner: command, shell: "printf %s \\"$MODEL_SAYS\\"", env: [MODEL_SAYS]}'
    project = SmallProject.write(tmp_path, plan_text(line, repeats=1, mark="1"))
    project.run(MODEL_SAYS="Paris, 4, blue")
    (project.root / "cases" / "q.csv").write_text(CASES.replace("geo;", "geo;again;").replace("math", "maths"))
    project.run(MODEL_SAYS="Paris, 4, blue, 8")
    said = project("gate", "latest", "--json")
    assert (said.code, said.json["decision"]["reasons"]) == (1, ["attempt_rejected"])


def test_unsigned_line_does_not_say_which_run_is_the_latest(tmp_path: Path) -> None:
    """`gate latest` is about the last run that was signed for, whatever stands behind the checkpoint."""
    project = SmallProject.write(
        tmp_path, plan_text(f"  m: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=1, mark="0.7")
    )
    project.run()
    entries = project.ledger / "entries.jsonl"
    first = next(line for line in entries.read_bytes().splitlines() if b'"type":"run.start"' in line)
    project.set_plan(plan_text("  m: {runner: stand-in, answers: [wrong]}", repeats=1, mark="0.7"))
    project.run()
    assert project("gate", "latest", "--no-append").code == 1
    with entries.open("ab") as file:
        file.write(first + b"\n")
    assert project("gate", "latest", "--no-append").code == 1


def test_must_pass_case_that_is_never_asked_is_not_passed(tmp_path: Path) -> None:
    """The matrix is not committed: what it leaves out of a rule's cases makes the rule inconclusive."""
    rules = "    - {id: crit, must_pass: {id: [q1, q2]}, require: all}\n"
    extra = "matrix: [{models: [m], cases: {id: [q2, q3, q4]}}, {models: [n]}]\n"
    models = "  m: {runner: stand-in, answers: [4 blue 8]}\n  n: {runner: stand-in, answers: [no]}"
    project = SmallProject.write(tmp_path, plan_text(models, rules=rules, extra=extra))
    project.run()
    said = project("gate", "latest", "--model", "m", "--json")
    results = {item["id"]: item for item in said.json["decision"]["rules"]}
    assert said.code == 1
    assert (results["crit"]["result"], results["crit"]["reason"], results["crit"]["failing"]) == (
        "inconclusive",
        "not_asked",
        ["q1"],
    )
    assert results["correct"]["reason"] == "not_asked"


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_tag_moved_to_an_easier_case_is_found_where_content_is_at_hand(tmp_path: Path, visibility: str) -> None:
    """What a plan shows of a case, and rules select by, is what was committed."""
    rules = "    - {id: crit, must_pass: {tag: critical}, require: all}\n"
    text = plan_text('  m: {runner: stand-in, answers: {q1: no, "*": "4 blue 8"}}', mark="0.5", rules=rules)
    project = SmallProject.write(tmp_path, text.replace("cases/q.csv", f"cases/q.csv\n    visibility: {visibility}"))
    project.run()
    assert project("gate", "latest").code == 1
    forger = Forger(project)
    forger.drop("decision")
    cases = {case["id"]: case for case in forger.plan["test_set"]["cases"]}
    cases["q1"]["tags"], cases["q2"]["tags"] = ["geo"], ["critical", "math"]
    forger.sign()
    assert "CONTENT-MISMATCH" in project.as_stranger(tmp_path).codes()


@pytest.mark.parametrize("narrowing", [None, {"limit": 4}, {"repeats": 9}, {"only": ["q1", "q2", "q3", "q4"]}], ids=str)
def test_whole_run_stated_as_a_pilot_is_found(finished: SmallProject, tmp_path: Path, narrowing: Any) -> None:
    """Calling a rejected run a pilot would take it out of the count."""
    forger = Forger(finished)
    forger.drop("decision")
    body = forger.of("run.start")["body"]
    body["selection"] = "pilot"
    if narrowing:
        body["narrowing"] = narrowing
    forger.sign()
    assert "START-MISMATCH" in finished.as_stranger(tmp_path).codes()


@pytest.mark.parametrize(
    "rule",
    [
        {"id": "r", "must_pass": {"tag": ["critical"]}, "at_least": "0.99", "of": "correct"},
        {"id": "r", "at_least": "0", "at_most": "0.1", "of": "correct"},
        {"id": "r", "must_pass": {"tag": ["critical"]}, "where": {"tag": ["math"]}},
        {"id": "r", "at_least": "0.5"},
        {"id": "r", "at_least": "0.5", "of": "correct", "require": "any"},
        {"id": "r"},
    ],
    ids=str,
)
def test_rule_with_a_part_that_nothing_looks_at_is_found(finished: SmallProject, tmp_path: Path, rule: Any) -> None:
    """A threshold that a reader sees and no rule applies is no threshold."""
    forger = Forger(finished)
    forger.drop("decision")
    forger.plan["pass_mark"]["rules"] = [rule]
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert "SCHEMA" in stranger.codes()
    assert stranger("gate", "latest", "--model", "good", "--no-append").code == 3


@pytest.mark.parametrize("what", ["configuration", "scorer", "metric", "matrix", "rate"])
def test_ambiguous_plan_is_found(finished: SmallProject, tmp_path: Path, what: str) -> None:
    """Names that stand twice or nowhere, and two scorers for one metric, have more than one reading."""
    forger = Forger(finished)
    forger.drop("decision")
    plan = forger.plan
    if what == "configuration":
        plan["configurations"].append({**plan["configurations"][1], "name": plan["configurations"][0]["name"]})
    elif what == "matrix":
        plan["matrix"].append({**plan["matrix"][0], "configurations": ["nobody"]})
    elif what == "rate":
        plan["scorers"].append({**plan["scorers"][0], "name": "other", "metric": "error_rate"})
    else:
        name = plan["scorers"][0]["name"] if what == "scorer" else "other"
        plan["scorers"].append({**plan["scorers"][0], "name": name})
    forger.sign()
    assert "SCHEMA" in finished.as_stranger(tmp_path).codes()


@pytest.mark.parametrize("seq", [0, 99, 2**40])
def test_pass_mark_reference_to_nowhere_is_a_finding_and_no_traceback(
    finished: SmallProject, tmp_path: Path, seq: int
) -> None:
    """A run.start that names an entry that is no mark, or none at all."""
    forger = Forger(finished)
    forger.drop("decision")
    forger.of("run.start")["body"]["pass_mark"]["seq"] = seq
    forger.sign()
    codes = finished.as_stranger(tmp_path).codes()
    assert codes & {"MARK-AFTER-RESULTS", "COMMIT-MISSING", "MARK-MISMATCH"}


def test_failure_relabelled_as_an_attempt_to_be_tried_again_is_found(tmp_path: Path) -> None:
    """A complete run holds no trial whose last attempt promised another."""
    line = '  a: {runner: command, shell: "exit 3"}'
    project = SmallProject.write(
        tmp_path, plan_text(line, repeats=1).replace("pass_mark:\n", "pass_mark:\n  errors: exclude\n")
    )
    project.run()
    forger = Forger(project)
    for entry in forger.record:
        if entry["type"] == "trial.end":
            entry["body"].update(outcome="error", retry=True, metrics={})
            entry["body"].pop("verdict")
    forger.recount()
    forger.sign()
    assert "ATTEMPT-ORDER" in project.as_stranger(tmp_path).codes()


def test_work_for_one_thing_under_many_names_grows_with_the_names_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each other attempt is judged once, however many names ask for it."""
    names = [f"a{number}" for number in range(12)]
    lines = "\n".join(f"  {name}: {{runner: stand-in, answers: {{'*': Paris}}}}" for name in names)
    project = SmallProject.write(tmp_path, plan_text(lines, repeats=1))
    project.run()
    judged: list[str] = []

    def counted(plan: Any, matrix: Any, configuration: str, *rest: Any, **more: Any) -> Any:
        judged.append(configuration)
        return evaluate(plan, matrix, configuration, *rest, **more)

    monkeypatch.setattr("trialplate.verify.gate.evaluate", counted)
    said = project("verify", "latest")
    assert said.code == 0
    assert "0 other full runs of these configurations: " in said.out
    assert sorted(judged) == sorted(names)


def rejected_then_better(folder: Path, mark: str = "0.75") -> SmallProject:
    """Return a project with a run that all cases failed, and another of the same thing, under this mark, that passed."""
    model, better = "  s: {runner: command, argv: [sh, bot.sh]}", folder / "better"
    project = SmallProject.write(folder, plan_text(model, repeats=1))
    (project.root / "bot.sh").write_text(
        f"cat >/dev/null; if [ -e '{better}' ]; then echo Paris 4 blue 8; fi\n", encoding="utf-8"
    )
    project.run()
    better.touch()
    project.set_plan(plan_text(model, repeats=1, mark=mark))
    project.run()
    return project


@pytest.mark.parametrize("narrowing", [None, {"limit": 4}])
def test_rejected_run_that_is_called_a_pilot_afterwards_counts(
    tmp_path: Path, narrowing: dict[str, Any] | None
) -> None:
    """A pilot is what ran less than its plan: the word alone does not take a full run out of the count."""
    project = rejected_then_better(tmp_path)
    first, second = project.runs
    forger = Forger(project, run=first)
    forger.of("run.start")["body"]["selection"] = "pilot"
    if narrowing:
        forger.of("run.start")["body"]["narrowing"] = narrowing
    forger.sign(keep=("decision",))
    Forger(project, run=second).sign()
    said = project.as_stranger(tmp_path)("gate", second.name, "--no-append")
    assert said.code == 3
    assert "START-MISMATCH" in said.out + said.err


@pytest.mark.parametrize(
    ("mark", "limit"),
    [
        pytest.param("0.75", 100, id="a narrowing that leaves nothing out of the gated plan"),
        pytest.param("0.75", 1, id="a narrowing that is not what its run.end says it ran"),
        pytest.param("0.8", 100, id="a plan that is not here"),
    ],
)
def test_rejected_run_called_a_pilot_whose_plan_is_hidden_counts(tmp_path: Path, mark: str, limit: int) -> None:
    """With the same plan it can be told that it was none; without its plan it cannot be told, and then it counts."""
    project = rejected_then_better(tmp_path, mark)
    first, second = project.runs
    forger = Forger(project, run=first)
    forger.of("run.start")["body"].update(selection="pilot", narrowing={"limit": limit})
    forger.sign()
    Forger(project, run=second).sign()
    shutil.rmtree(first)
    said = project.as_stranger(tmp_path)("gate", second.name, "--no-append", "--json")
    assert said.code == 1
    assert said.json["decision"]["reasons"] == ["attempt_open"]


def test_decision_outlives_a_pilot_that_was_put_away(finished: SmallProject) -> None:
    """What was decided while the pilot was here stays derived; what is decided today counts it, until it is waived."""
    finished.run("--limit", "1")
    pilot = finished.last
    finished.set_plan(finished.root.joinpath("trialplate.yaml").read_text(encoding="utf-8").replace("0.75", "0.7"))
    finished.run()
    assert finished("gate", "latest", "--model", "good").code == 0
    shutil.rmtree(pilot)
    said = finished("verify", "latest")
    assert said.code == 0
    assert "RUN-MISSING" in said.out
    assert "as far as the runs are here" in said.out
    today = finished("gate", "latest", "--model", "good", "--no-append", "--json").json["decision"]
    assert (today["decision"], today["reasons"]) == ("inconclusive", ["attempt_open"])
    assert finished("waive", pilot.name, "--reason", "it was a pilot").code == 0
    assert finished("gate", "latest", "--model", "good").code == 0
    assert finished("verify", "latest").code == 0


def test_pilot_that_was_put_away_does_not_count(finished: SmallProject) -> None:
    """A pilot of the same plan is known as one by its run.start alone."""
    finished.run("--limit", "1")
    finished.run()
    shutil.rmtree(finished.runs[-2])
    assert finished("gate", "latest", "--model", "good").code == 0


def test_decision_that_rests_on_a_run_that_is_not_here_is_told(finished: SmallProject, tmp_path: Path) -> None:
    """V19 does not say that a decision was derived again where it had to take its word for an attempt."""
    finished.run()
    first, second = finished.runs
    assert finished("gate", second.name, "--model", "good").code == 0
    stranger = finished.as_stranger(tmp_path)
    shutil.rmtree(stranger.root / "runs" / first.name)
    said = stranger("verify", f"runs/{second.name}")
    assert "RUN-MISSING" in said.out
    assert "as far as the runs are here" in said.out


def test_waiver_that_would_publish_a_private_text_is_refused(finished: SmallProject) -> None:
    """The ledger is public and for ever: a reason does not quote a question."""
    before = (finished.ledger / "entries.jsonl").read_bytes()
    said = finished("waive", "latest", "--reason", "the case What is the capital of France? was wrong")
    assert said.code == 2
    assert "private text" in said.err
    assert (finished.ledger / "entries.jsonl").read_bytes() == before


@pytest.mark.parametrize("escape", ["\\u002b", "\\u002B"])
def test_secret_that_comes_back_escaped_is_in_no_public_file(tmp_path: Path, escape: str) -> None:
    """Encoders differ in what they escape; the key is found in each form, before and after parsing."""
    key = "sk-ab+cd/ef=gh&ij1234567890"
    hidden = key.replace("+", escape).replace("&", "\\u0026").replace("=", "\\u003d")
    reply = json.dumps(
        {"id": "KEY", "model": "m", "choices": [{"message": {"content": "it is KEY"}, "finish_reason": "KEY"}]}
    )
    answers = [{"status": 200, "body": reply.replace("KEY", hidden), "headers": {"Content-Type": "application/json"}}]
    with ServerThread(ChatServer(answers)) as server:
        line = f"  m: {{runner: openai-compatible, url: '{server.url}', model: m, secret: {{env: THE_KEY}}}}"
        project = SmallProject.write(tmp_path, plan_text(line, repeats=1))
        with project.environment(THE_KEY=key):
            project("run", "--yes", "--cache", "live")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "q.csv"]
    assert len(files) > 8
    for path in files:
        assert key.encode() not in path.read_bytes(), path
        assert hidden.encode() not in path.read_bytes(), path
