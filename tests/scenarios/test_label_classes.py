# SPDX-License-Identifier: Apache-2.0
"""Macro-F1 decided from numbers of classes: written by the engine, derived without a label, and held to the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject

from trialplate.rules.classification import classify

CASES = "id,input,reference\nq1,Pay?,billing\nq2,Broken?,technical\nq3,Refund?,billing\nq4,Slow?,technical\n"
PLAN = """\
trialplate: 1
name: small
test_sets: [{file: cases/q.csv}]
models:
  m: {runner: stand-in, answers: {q1: [billing, technical], q2: " technical ", q3: other, q4: [technical, "\u00a0"]}}
repeats: 2
scorers: {label: {type: label}}
pass_mark:
  rules:
    - {id: f1, at_least: MARK, of: {macro_f1: label}, basis: estimate}
"""
WANTED = {"q1": "billing", "q2": "technical", "q3": "billing", "q4": "technical"}
SAID = {"q1": ["billing", "technical"], "q2": ["technical"] * 2, "q3": [None] * 2, "q4": ["technical", None]}


@pytest.fixture
def made(tmp_path: Path) -> SmallProject:
    """A finished run whose mark is about macro-F1."""
    project = SmallProject.write(tmp_path, PLAN.replace("MARK", "0.5"), CASES)
    project.run()
    return project


def forged(project: SmallProject) -> Forger:
    """Return the run in the hands of its key's owner."""
    forger = Forger(project)
    (project.home / "known.json").unlink()
    return forger


def rescored(project: SmallProject) -> list[str]:
    """Return what scoring the answers again finds."""
    (report,) = project("verify", str(project.last), "--rescore", "--json").json
    return [item["message"] for item in report["findings"] if item["code"] == "RESCORE"]


def test_decision_is_the_macro_f1_of_the_answers(made: SmallProject) -> None:
    """The number follows from classes and said alone, and is that of the labels themselves."""
    pairs = [(WANTED[case], said) for case, repeats in SAID.items() for said in repeats]
    wanted = classify(pairs).macro_f1
    (made.last / "content.jsonl").unlink()  # nobody who decides needs the labels
    said = made("gate", "latest", "--model", "m", "--json", "--no-append")
    (rule,) = said.json["decision"]["rules"]
    assert rule["low"] == rule["high"] == f"{wanted.numerator}/{wanted.denominator}"
    assert (said.code, rule["result"]) == (0 if wanted >= 0.5 else 1, "pass" if wanted >= 0.5 else "fail")


def test_record_says_which_class_each_scored_answer_named(made: SmallProject) -> None:
    """By number; a label that no case has, and a blank answer, name none."""
    forger = Forger(made)
    assert [case["classes"] for case in forger.plan["test_set"]["cases"]] == [{"label": n} for n in (0, 1, 0, 1)]
    said = {(case, n): forger.trial("m", case, n).get("said", {}) for case in SAID for n in (1, 2)}
    number = {"billing": 0, "technical": 1}
    for case, repeats in SAID.items():
        for n, label in enumerate(repeats, 1):
            assert said[case, n] == ({} if label is None else {"label": number[label]})
    assert made("verify", "latest", "--rescore").code == 0


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("q1", {"label": 1}),
        ("q1", {}),
        ("q3", {"label": 0}),
        ("q2", {"label": 1, "right": 0}),
        ("q3", {"label": 7}),
        ("q4", {"label": 0}),
    ],
)
def test_class_that_is_not_what_the_metric_says_is_found(made: SmallProject, case: str, said: Any) -> None:
    """Right is 1, wrong is 0, and nobody names a class that no case is of."""
    forger = forged(made)
    forger.trial("m", case).update(said=said)
    forger.sign()
    assert made.codes("latest") == {"CELL-VALUE"}


def test_class_of_a_trial_without_a_scored_answer_is_found(made: SmallProject) -> None:
    """A blank answer failed by itself, and named nothing."""
    forger = forged(made)
    forger.trial("m", "q4", 2).update(said={"label": 0})
    forger.sign()
    assert made.codes("latest") == {"CELL-VALUE"}


def test_wrong_class_that_fits_the_metric_is_found_by_scoring_again(made: SmallProject) -> None:
    """Whether the wrong label was another case's or nobody's changes macro-F1, and the answer tells."""
    forger = forged(made)
    forger.trial("m", "q3").update(said={"label": 1})
    forger.sign()
    assert made.codes("latest") == set()
    assert any(
        "m q3 repeat 1: recorded as naming the classes label 1; read again none" in item for item in rescored(made)
    )


def test_classes_that_are_not_the_labels_are_found_by_scoring_again(made: SmallProject) -> None:
    """Two labels under one number would be one label."""
    forger = forged(made)
    for case in forger.plan["test_set"]["cases"]:
        case["classes"] = {"label": 0}
    for case in SAID:
        for n in (1, 2):
            end = forger.trial("m", case, n)
            end.pop("said", None)
            if end["metrics"]["label"]:
                end["said"] = {"label": 0}
    forger.sign()
    assert made.codes("latest") == set()
    assert any("case q2: its label is not of the class that the plan says" in item for item in rescored(made))


def test_pilot_numbers_labels_as_the_whole_test_set_has_them(tmp_path: Path) -> None:
    """Also of a case that it does not ask: the answer may be its label."""
    project = SmallProject.write(tmp_path, PLAN.replace("MARK", "0.5"), CASES)
    pilot = project("run", "--yes", "--only", "q2")
    assert pilot.code == 0, pilot.err
    assert project("verify", "latest", "--rescore").code == 0
    assert Forger(project).trial("m", "q2")["said"] == {"label": 1}
