# SPDX-License-Identifier: Apache-2.0
"""Attempts by the mark's own rule, uses of a test set, and marks that supersede others: as a person meets them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from chat_server import ChatServer
from forger import Forger, raw_lines
from server_thread import ServerThread
from small_project import ANSWERS_BAD, ANSWERS_GOOD, SmallProject, plan_text

from trialplate.record import disclosure

GOOD = f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}"


def attempts(plan: str, rule: str) -> str:
    """Return a plan with a rule for attempts in its mark."""
    return plan.replace("pass_mark:\n", f"pass_mark:\n  attempts: {rule}\n")


def decided(project: SmallProject, run: str = "latest", *flags: str) -> tuple[str, list[str]]:
    """Return the decision on a run and its reasons, stated in the ledger."""
    said = project("gate", run, "--json", *flags).json["decision"]
    return said["decision"], said["reasons"]


def test_third_attempt_of_two_allowed_is_rejected_and_says_so(tmp_path: Path) -> None:
    """`max: 2`: what a third run comes to does not matter; those before it stand."""
    project = SmallProject.write(tmp_path, attempts(plan_text(GOOD), "{max: 2}"))
    runs = [project.run() for _ in range(3)]
    assert [decided(project, run)[0] for run in runs] == ["accepted", "accepted", "rejected"]
    said = project("gate", "latest")
    assert said.code == 1
    assert "attempt 3 of 2 allowed" in said.out
    assert "the mark allows fewer attempts than have been made at this" in said.out
    assert "use 3 of 3 of this test set" in said.out
    assert project.codes() == set()
    assert project("waive", runs[0], "--reason", "the stand-in was scripted wrongly").code == 0
    assert decided(project)[0] == "accepted"
    assert project.codes() == set()


def test_last_attempt_alone_counts_where_the_mark_says_so(tmp_path: Path) -> None:
    """`use: last`: a rejection is shed by a later run, which the first run then waits for; it is told as looser."""
    strict, loose = plan_text(GOOD, mark="0.95"), plan_text(GOOD, mark="0.5")
    project = SmallProject.write(tmp_path, attempts(strict, "{use: last}"))
    first = project.run()
    assert decided(project) == ("rejected", ["correct"])
    project.set_plan(attempts(loose, "{use: last}"))
    project.run()
    assert decided(project) == ("accepted", [])
    assert decided(project, first) == ("rejected", ["correct"])
    said = project("gate", "latest", "--no-append").out
    assert "only the last of them counts" in said
    assert "MARK-AFTER-RUNS" in said
    assert project.codes() == set()


def test_mark_loosened_a_lot_and_tightened_a_little_is_told_as_looser(tmp_path: Path) -> None:
    """Each mark is held against every earlier one: else a step back would hide the step down before it."""
    project = SmallProject.write(tmp_path, plan_text(GOOD, mark="0.95"))
    for mark in ("0.5", "0.6"):
        project.run()
        project.set_plan(plan_text(GOOD, mark=mark))
    project.run()
    said = project("verify", str(project.last)).out
    assert "committed after 2 runs on these cases; it is looser than that of ledger entry 2: rule correct: " in said
    assert "at least 0.95 became 0.6" in said
    assert project.codes() == set()


def test_last_attempt_that_is_unfinished_blocks_an_earlier_one(tmp_path: Path) -> None:
    """Under `use: last` an accepted run is open again once a later one began and did not end."""
    project = SmallProject.write(tmp_path, attempts(plan_text(GOOD), "{use: last}"))
    first = project.run()
    assert decided(project, first)[0] == "accepted"
    last = project.run()
    shutil.rmtree(project.root / "runs" / last)
    assert decided(project, first) == ("inconclusive", ["attempt_open"])
    assert project.codes() == set()


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """Two runs of one model: under a first profile it fails, under a second it passes."""

    def answer(body: dict[str, object]) -> str:
        return "Paris, 4, blue, 8" if body.get("temperature") == 0 else "no idea"

    with ServerThread(ChatServer(answer=answer)) as server:
        head = f'  m: {{runner: openai-compatible, url: "{server.url}", model: m-small}}\nprofiles:\n'
        warm = "  warm: {settings: {temperature: 1}}\n  cold: {settings: {temperature: 0}}"
        project = SmallProject.write(tmp_path_factory.mktemp("profiles"), plan_text(head + warm, repeats=1))
        base = (project.root / "trialplate.yaml").read_text()
        for profile, scope in (("warm", "model"), ("cold", "model"), ("cold", "configuration")):
            matrix = f"matrix:\n  - {{models: [m], profiles: [{profile}]}}\n"
            project.set_plan(attempts(base, f"{{scope: {scope}}}") + matrix)
            project.run()
    return project


def test_scope_model_counts_every_profile_of_the_model(profiles: SmallProject, tmp_path: Path) -> None:
    """Who tries one profile after another has tried the model that often, if the mark says so."""
    project = profiles.copy_to(tmp_path)
    warm, cold, alone = (run.name for run in project.runs)
    assert decided(project, warm)[0] == "rejected"
    assert decided(project, cold) == ("rejected", ["attempt_rejected"])
    assert "as m/warm rejected" in project("gate", cold, "--no-append").out
    assert decided(project, alone) == ("accepted", [])
    assert project.codes() == set()


def test_scope_model_counts_a_run_whose_plan_is_gone(profiles: SmallProject, tmp_path: Path) -> None:
    """A run that was taken away may have been of this model: it counts until it is waived, and old decisions hold."""
    project = profiles.copy_to(tmp_path)
    warm, cold, _ = (run.name for run in project.runs)
    assert decided(project, cold) == ("rejected", ["attempt_rejected"])
    shutil.rmtree(project.root / "runs" / warm)
    assert project.codes() == set()
    assert "RUN-MISSING" in project.notes()
    assert decided(project, cold) == ("inconclusive", ["attempt_open"])
    assert project("waive", warm, "--reason", "of another team").code == 0
    assert decided(project, cold) == ("accepted", [])
    assert project.codes() == set()


_LONG = "a-name-that-is-as-long-as-it-may-be-for-one-same-thing"


def test_hundreds_of_attempts_fit_the_line_of_a_decision_that_is_held_to_its_record(tmp_path: Path) -> None:
    """More attempts than a line holds are counted, and bound; a cut decision is held to its own record.

    Of attempts whose records are gone later it is believed, as a whole one is.
    """
    names = "\n".join(f"  {_LONG}-{n}: {{runner: stand-in, answers: {ANSWERS_GOOD}}}" for n in range(100))
    project = SmallProject.write(tmp_path, plan_text(names, repeats=1, mark="0.95"))
    for _ in range(4):
        project.run()
    assert project("gate", "latest", "--model", f"{_LONG}-7").code == 1
    forger = Forger(project)
    body = forger.of("decision")["body"]
    assert (body["cut"]["attempts"], len(body["attempts"])) == (399, 40)
    shutil.rmtree(project.runs[0])
    assert project.codes(str(project.last)) == set()
    assert "RUN-MISSING" in project.notes(str(project.last))
    body.update(decision="accepted", reasons=[])
    forger.sign()
    assert project.as_stranger(tmp_path).codes(str(project.last)) == {"DECISION"}


# ------------------------------------------------------------------------------------------------------ superseded marks


@pytest.fixture
def committed(tmp_path: Path) -> SmallProject:
    """A project whose first mark is committed."""
    project = SmallProject.write(tmp_path, plan_text(mark="0.95"))
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    assert project("commit").code == 0
    return project


def test_reason_for_another_mark_stands_in_the_ledger_and_in_the_note(committed: SmallProject) -> None:
    """Who changes the mark after a run can say why, in public; whoever reads a decision reads it."""
    committed.run()
    committed.set_plan(plan_text(mark="0.5"))
    said = committed("commit", "--reason", "the questions turned out to be ambiguous")
    assert said.code == 0
    assert "supersedes ledger entry 2 and is looser: rule correct: at least 0.95 became 0.5" in said.out
    committed.run()
    told = committed("gate", "latest", "--model", "good", "--no-append").out
    assert told.count("the reason given: the questions turned out to be ambiguous") == 1
    assert committed.codes() == set()


def test_mark_that_a_run_commits_over_another_is_told(committed: SmallProject) -> None:
    """A run says that it supersedes a mark and in what it is looser; its estimate, how to give a reason in time."""
    committed.set_plan(plan_text(mark="0.5"))
    before = committed("run")
    assert "note: this pass mark supersedes ledger entry 2 and is looser" in before.out
    assert "`trialplate commit --reason TEXT` before the run gives one" in before.out
    said = committed("run", "--yes")
    assert said.code == 0
    assert "note: this pass mark supersedes ledger entry 2 and is looser" in said.err
    assert "; no reason is given" in said.err
    told = committed("gate", "latest", "--model", "good", "--no-append").out
    assert "committed after 0 runs on these cases; it is looser than the one before" in told
    assert committed.notes() == {"MARK-LOOSER"}
    assert committed("run", "--yes").err.count("supersedes") == 0


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("", "one line"),
        ("  ", "one line"),
        ("two\nlines", "one line"),
        ("x" * 1001, "one line"),
        ("because What colour is the sky on a day without clouds? is too easy", "private text"),
    ],
    ids=["empty", "blank", "lines", "long", "private"],
)
def test_reason_that_says_nothing_or_too_much_is_refused(committed: SmallProject, reason: str, words: str) -> None:
    """The ledger is public, and for ever: nothing is committed with such a reason."""
    committed.set_plan(plan_text(mark="0.5"))
    before = committed.types()
    said = committed("commit", "--reason", reason)
    assert said.code == 2
    assert words in said.err
    assert committed.types() == before


def test_reason_without_a_mark_to_give_it_for_is_refused(committed: SmallProject) -> None:
    """A reason that would be lost is not taken."""
    said = committed("commit", "--reason", "no change at all")
    assert said.code == 2
    assert "nothing to give a reason for" in said.err


def test_use_of_the_test_set_is_counted_over_pilots_and_other_models(tmp_path: Path) -> None:
    """The gate says the how-manieth use of these cases a run is: pilots and other models are uses too."""
    project = SmallProject.write(tmp_path, plan_text())
    project.run("--limit", "1")
    project.set_plan(plan_text(f"  other: {{runner: stand-in, answers: {ANSWERS_BAD}}}"))
    project.run()
    project.set_plan(plan_text())
    project.run()
    assert "use 3 of 3 of this test set" in project("gate", "latest", "--model", "good").out


def test_question_committed_as_a_number_is_not_the_question_that_is_asked(tmp_path: Path) -> None:
    """The commitment to what is asked tells the same question elsewhere; of the number 42 it would be another."""
    cases = "id,input,reference\nq1,42,x\n"
    models = '  good: {runner: stand-in, answers: {"*": "x"}}'
    project = SmallProject.write(tmp_path, plan_text(models, repeats=1), cases)
    project.run()
    forger, content = Forger(project), project.last / "content.jsonl"
    (case,) = forger.plan["test_set"]["cases"]
    number = json.dumps(["A" * 22, 42], separators=(",", ":")).encode()
    lines = raw_lines(content)
    kept = [line for line in lines if disclosure.commitment_of(line) != case["asked"]]
    assert len(kept) == len(lines) - 1
    case["asked"] = disclosure.commitment_of(number)
    forger.sign()
    content.write_bytes(b"".join(line + b"\n" for line in (*kept, number)))
    assert "CONTENT-MISMATCH" in project.as_stranger(tmp_path).codes(str(project.last))


def test_other_run_is_told_by_what_each_configuration_came_to_in_it(finished: SmallProject) -> None:
    """One run is one run, however many configurations it had; and the last one's result is not that of all."""
    first = finished.last.name
    finished.run()
    said = finished("verify", str(finished.last)).out
    assert f"1 other full run of these configurations: {first} (good accepted; bad rejected); use 2 of 2" in said
    assert finished("waive", first, "--reason", "a trial run of the machine").code == 0
    said = finished("verify", str(finished.last)).out
    assert f"1 other full run of these configurations: {first} waived by the operator himself; use 2 of 2" in said
