# SPDX-License-Identifier: Apache-2.0
"""Cheat, or mistake: a public file holds a private text."""

from __future__ import annotations

from pathlib import Path

import pytest
from forger import Forger
from small_project import ANSWERS_GOOD, CASES, SmallProject, plan_text

from trialplate.verify.content import public_text
from trialplate.verify.record_view import read_plan

QUESTION = "What is the capital of France?"


@pytest.mark.parametrize(
    "place",
    ["case id", "tag", "subject", "command line"],
)
def test_run_refuses_a_plan_that_would_publish_a_private_text(tmp_path: Path, place: str) -> None:
    """Before anything is written, a question that repeats itself in a name or a setting is refused, exit 2."""
    model = f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}"
    cases = CASES
    if place == "case id":
        cases = CASES.replace("q1,", f"{QUESTION},")
        model = '  good: {runner: stand-in, answers: {"*": "Paris"}}'
    elif place == "tag":
        cases = CASES.replace("geo;critical", f"geo;{QUESTION}")
    elif place == "subject":
        model = f'  good: {{runner: stand-in, answers: {ANSWERS_GOOD}, subject: "bot for {QUESTION}"}}'
    else:
        model = f"  good: {{runner: command, argv: [echo, '{QUESTION}']}}"
    project = SmallProject.write(tmp_path, plan_text(model), cases)
    said = project("run", "--yes")
    assert said.code == 2
    assert "private text" in said.err
    assert sorted(path.name for path in project.root.iterdir()) == ["cases", "trialplate.yaml"]
    assert not project.home.exists()


def test_private_texts_stand_in_no_public_file(finished: SmallProject) -> None:
    """Questions, references of some length and answers are in content.jsonl and in no other file of the project."""
    content = (finished.last / "content.jsonl").read_bytes()
    public = [path for path in finished.root.rglob("*") if path.is_file() and path.name != "content.jsonl"]
    public = [path for path in public if path.parent.name != "cases" and path.name != "trialplate.yaml"]
    for text in (QUESTION, "six of them", "8 legs", "London"):
        assert text.encode() in content
        assert [path for path in public if text.encode() in path.read_bytes()] == []
    assert (finished.last / "content.jsonl").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "place",
    ["plan.tag", "plan.subject", "plan.unpinned", "record.served", "record.finish", "ledger.reason", "ledger.waiver"],
)
def test_private_text_in_a_forged_public_file_is_found(finished: SmallProject, tmp_path: Path, place: str) -> None:
    """A private text in plan, record or ledger is found where the content that opens it is at hand."""
    forger = Forger(finished)
    if place == "plan.tag":
        forger.plan["test_set"]["cases"][0]["tags"] = [QUESTION]
    elif place == "plan.subject":
        forger.plan["configurations"][0]["subject"] = f"about: {QUESTION}"
    elif place == "plan.unpinned":
        forger.plan["unpinned"] = [QUESTION]
    elif place == "record.served":
        forger.trial("good", "q1")["served"] = QUESTION
    elif place == "record.finish":
        forger.trial("good", "q1")["finish"] = QUESTION
    elif place == "ledger.reason":
        forger.of("commit.passmark")["body"]["reason"] = QUESTION
    else:
        forger.ledger.append(
            {
                **forger.ledger[-1],
                "type": "waiver",
                "body": {"run_id": "2" * 8 + "T" + "0" * 9 + "Z-" + "0" * 8, "reason": QUESTION},
            }
        )
    forger.drop("decision")
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert "PRIVATE-TEXT-PUBLIC" in stranger.codes()
    assert stranger("gate", "latest", "--model", "good", "--no-append").code == 3


@pytest.mark.parametrize("field", ["served", "finish", "requests"])
def test_private_word_without_a_space_in_the_record_is_found(tmp_path: Path, field: str) -> None:
    """A private text of one long word that stands in the record is found like any other."""
    word = "Donaudampfschifffahrtsgesellschaft"
    cases = f"id,input,reference,tags\nq1,{word},Paris,geo\n"
    project = SmallProject.write(tmp_path, plan_text("  m: {runner: stand-in, answers: [Paris]}", repeats=1), cases)
    project.run()
    forger = Forger(project)
    forger.trial("m", "q1")[field] = [word] if field == "requests" else word
    forger.sign()
    assert "PRIVATE-TEXT-PUBLIC" in project.as_stranger(tmp_path).codes()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (
            "  m: {runner: command, shell: 'printf %s \"$MODEL_SAYS\"', env: [MODEL_SAYS], subject: assistant-2026.11.30}",
            "assistant-2026.11.30",
        ),
        ('  m: {runner: command, argv: [printf, "%s", "Paris and 4 and blue and 8"]}', ""),
    ],
    ids=["its version", "its command line"],
)
def test_answer_that_repeats_what_is_public_anyway_does_not_spoil_the_record(
    tmp_path: Path, model: str, says: str
) -> None:
    """What stood in the open before the answer was given cannot have leaked from it."""
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1))
    project.run(MODEL_SAYS=says)
    assert project.codes() == set()


def test_private_text_cannot_be_looked_for_where_content_is_withheld(finished: SmallProject) -> None:
    """Without content.jsonl nobody can look, and V16 says so instead of passing."""
    (finished.last / "content.jsonl").unlink()
    assert finished.status("V16") == "SKIP"
    assert "content withheld" in finished("verify", "latest").out


def test_public_test_set_stands_in_the_open_and_holds(tmp_path: Path) -> None:
    """`visibility: public` puts the texts into the plan on purpose, and nothing is found."""
    plan = plan_text(f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}").replace(
        "  - file: cases/q.csv", "  - {file: cases/q.csv, visibility: public}"
    )
    project = SmallProject.write(tmp_path, plan)
    project.run()
    assert QUESTION.encode() in (project.last / "plan.json").read_bytes()
    assert project.codes() == set()


def test_public_case_that_is_not_what_was_committed_is_found(tmp_path: Path) -> None:
    """In a public test set the opening in the plan must match its commitment."""
    plan = plan_text(f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}").replace(
        "  - file: cases/q.csv", "  - {file: cases/q.csv, visibility: public}"
    )
    project = SmallProject.write(tmp_path, plan)
    project.run()
    forger = Forger(project)
    forger.plan["test_set"]["cases"][0]["opening"]["value"]["input"] = "Which city is the best?"
    forger.sign()
    assert "CONTENT-MISMATCH" in project.as_stranger(tmp_path).codes()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda raw: raw.replace(b"London", b"Paris!", 1), "CONTENT-MISSING"),
        (lambda raw: raw[: raw.rindex(b"\n", 0, -1) + 1], "CONTENT-MISSING"),
        (lambda raw: b"", "CONTENT-MISSING"),
        (lambda raw: raw[:-1], "CONTENT-MISSING"),
    ],
    ids=["an answer edited", "a line less", "emptied", "last line torn"],
)
def test_content_that_does_not_open_every_commitment_is_found(
    finished: SmallProject, change: object, code: str
) -> None:
    """Content is whole or withheld: an edited, missing or torn opening is a finding."""
    path = finished.last / "content.jsonl"
    assert callable(change)
    path.write_bytes(change(path.read_bytes()))
    assert finished.codes() == {code}
    assert finished("gate", "latest", "--model", "good").code == 3


def test_commitments_are_not_searched_for_texts(finished: SmallProject) -> None:
    """Each private text is looked for in what could repeat it; with every commitment in it, that is quadratic."""
    plan = read_plan(finished.last, "x")[1]
    long = plan.replace(
        test_set=plan.test_set.replace(
            cases=tuple(case.replace(tags=(f"a tag of case {case.id}",)) for case in plan.test_set.cases)
        )
    )
    searched = public_text(long, None)
    assert all(f"a tag of case {case.id}" in searched for case in long.test_set.cases)
    assert all(
        text is None or text not in searched for case in long.test_set.cases for text in (case.commitment, case.asked)
    )
    assert plan.test_set.root in searched


def test_script_of_answers_names_cases_by_ids_of_any_length(tmp_path: Path) -> None:
    """An id is public: that a private script names it as a key tells nothing. As an answer it still would."""
    cases = "id,input,reference\nrefund-policy-question-1,Where?,Paris\n"
    plan = plan_text("  good: {runner: stand-in, answers: {refund-policy-question-1: Paris}}", repeats=1)
    project = SmallProject.write(tmp_path, plan, cases)
    project.run()
    assert project.codes() == set()
    project.set_plan(plan.replace("1: Paris", "1: refund-policy-question-1"))
    said = project("run", "--yes")
    assert (said.code, "private text" in said.err) == (2, True)
