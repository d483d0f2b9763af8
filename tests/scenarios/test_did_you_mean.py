# SPDX-License-Identifier: Apache-2.0
"""Every kind of name that a person types is answered with the nearest known one, exit 2, and nothing is changed."""

from __future__ import annotations

import pytest
from small_project import SmallProject, plan_text

from trialplate.errors import nearest

WORDS = [
    (["rnu"], "trialplate run"),
    (["ledger", "lgo"], "trialplate ledger log"),
    (["keys", "nwe"], "trialplate keys new"),
    (["--verison"], "--version"),
    (["run", "--lmit", "3"], "--limit"),
    (["run", "--modles", "good"], "--models"),
    (["report", "--by-tags"], "--by-tag"),
    (["init", "--lst"], "--list"),
    (["gate", "latest", "--modle", "good"], "--model"),
    (["verify", "--trsut", "x"], "--trust"),
    (["run", "--cache", "repaly"], "replay"),
    (["init", "dmeo", "new"], "demo"),
    (["run", "--cache", "atuo"], "auto"),
    (["run", "--color", "nevr"], "never"),
    (["run", "--only", "q1,q22"], "q2"),
    (["run", "--models", "godo"], "good"),
    (["gate", "latest", "--model", "godo"], "good"),
    (["gate", "latset", "--model", "good"], "latest"),
    (["verify", "latset"], "latest"),
    (["report", "lastest"], "latest"),
    (["waive", "latets", "--reason", "x"], "latest"),
    (["schema", "plna"], "plan"),
    (["schema", "ledger_entry"], "ledger-entry"),
    (["ledger", "init", "--key", "smal"], "small"),
    (["validate", "trialplate.yml"], "trialplate.yaml"),
]
"""What was typed, and what was meant."""

PLANS = [
    ("repeats: 2", "repeat: 2", "repeats"),
    ("runner: stand-in", "runner: standin", "stand-in"),
    ("type: contains", "type: contain", "contains"),
    ("at_least: 0.75", "atleast: 0.75", "at_least"),
    ("of: correct", "of: corect", "correct"),
    ("tag: critical", "tag: critcal", "critical"),
    ("require: all}", "require: al}", "all"),
    ("file: cases/q.csv", "file: cases/p.csv", "q.csv"),
    ("q1: ", "q11: ", "q1"),
    ("repeats: 2", "repeats: 2\nmatrix: [{models: [goood]}]", "good"),
    ("repeats: 2", "repeats: 2\nprofiles: {ci: {}}\nmatrix: [{profiles: [cii]}]", "ci"),
    ("tag: critical", "id: q44", "q4"),
    ("repeats: 2", "repeats: 2\nrun: {cache: repaly}", "replay"),
    ("repeats: 2", "repeats: 2\nrun: {concurency: 2}", "concurrency"),
]
"""What stands in the plan, what was written instead, and what was meant."""


@pytest.mark.parametrize(
    ("typed", "meant"), WORDS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_mistyped_word_of_a_command_line_is_answered_with_the_nearest(
    template: SmallProject, typed: list[str], meant: str
) -> None:
    """On a finished project, where all of these names are known."""
    before = {path: path.read_bytes() for path in template.root.rglob("*") if path.is_file()}
    said = template(*typed)
    assert said.code == 2, said
    assert said.out == ""
    hint = said.err.partition("\n  do: ")[2]
    assert "did you mean" in hint, said.err
    assert hint.partition("?")[0].replace('"', "").endswith(f" {meant}"), said.err
    assert {path: path.read_bytes() for path in template.root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("written", "instead", "meant"), PLANS, ids=lambda value: str(value).replace("\n", " "))
def test_mistyped_word_of_a_plan_is_answered_with_the_nearest_and_its_place(
    fresh: SmallProject, written: str, instead: str, meant: str
) -> None:
    """Keys, types, names, tags and ids alike; with file, line and column."""
    plan = plan_text(rules="    - {id: crit, must_pass: {tag: critical}, require: all}\n")
    assert written in plan
    fresh.set_plan(plan.replace(written, instead, 1))
    said = fresh("validate")
    assert said.code == 2
    assert said.err.startswith("error: trialplate.yaml:"), said.err
    assert meant in said.err.partition("\n  do: ")[2], said.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["zzzzz"], "there are init, validate,"),
        (["run", "--qqqq"], "see trialplate run --help"),
        (["run", "--limit", "x"], "expected a whole number"),
        (["run", "--limit", "0"], "expected 1 or more"),
        (["run", "a", "b"], "unexpected extra argument"),
        (["waive", "latest"], "missing option '--reason'"),
        (["schema", "zzzz"], "known here: ledger-entry, plan, record-entry, trialplate"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_word_that_is_like_no_other_is_answered_with_all_there_are(
    template: SmallProject, typed: list[str], words: str
) -> None:
    """Or with where they are told."""
    said = template(*typed)
    assert said.code == 2
    assert said.err.startswith("error: ")
    assert words in said.err


def test_nearest_is_blind_to_case_and_hyphens_and_finds_nothing_where_nothing_is_near() -> None:
    """An empty list of known names is no error."""
    assert nearest("JSON_schema", ["json-schema", "json"]) == "json-schema"
    assert nearest("zebra", ["run", "gate"]) is None
    assert nearest("run", []) is None
