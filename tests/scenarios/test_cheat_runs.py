# SPDX-License-Identifier: Apache-2.0
"""Cheat: run it until it passes. Runs that are abandoned, rejected, hidden, renamed, waived or called pilots count."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forger import Forger
from small_project import CASES, SmallProject, plan_text

from trialplate.record import canonical

SAYS = '  good: {runner: command, shell: "printf %s \\"$MODEL_SAYS\\"", env: [MODEL_SAYS]}'
"""A model whose answer changes while nothing in the plan does, as a provider's may."""
WORSE = "Paris, 4, blue"
BETTER = "Paris, 4, blue, 8"


def gate(project: SmallProject, *flags: str) -> tuple[int, str, list[str]]:
    """Gate the newest run and return exit code, decision and reasons."""
    said = project("gate", "latest", "--json", *flags)
    decision = said.json["decision"]
    return said.code, decision["decision"], decision["reasons"]


@pytest.fixture
def says(tmp_path: Path) -> SmallProject:
    """A project whose model answers what MODEL_SAYS holds; all four cases must pass."""
    return SmallProject.write(tmp_path, plan_text(SAYS, repeats=1, mark="1"))


def abandon(project: SmallProject) -> str:
    """Leave behind what a killed run leaves: a signed start, some trials, no end."""
    run_id = project.run(MODEL_SAYS=WORSE)
    forger = Forger(project)
    forger.record = forger.record[:5]
    forger.ledger = [e for e in forger.ledger if e["type"] != "run.end"]
    forger.sign()
    known = project.home / "known.json"  # its user never saw the end
    text = canonical.parse(known.read_bytes())
    text["logs"][forger.origin]["checkpoint"] = (project.ledger / "checkpoint").read_text()
    known.write_bytes(canonical.encode(text) + b"\n")
    return run_id


def test_run_abandoned_and_started_again_leaves_the_second_undecided(says: SmallProject) -> None:
    """A run that was begun and not finished is an open attempt: the better second run decides nothing."""
    abandon(says)
    says.run(MODEL_SAYS=BETTER)
    assert says.codes() == set()
    assert gate(says) == (1, "inconclusive", ["attempt_open"])


def test_abandoned_run_verifies_and_says_that_it_is_unfinished(says: SmallProject) -> None:
    """An abandoned run is no forgery: it holds, and everything says that it is unfinished."""
    abandon(says)
    assert says.codes() == set()
    assert "RUN-UNFINISHED" in says.notes()
    assert says.status("V15") == "SKIP"
    assert gate(says)[:2] == (1, "inconclusive")
    assert "UNFINISHED" in says("report").out


def test_abandoned_run_that_is_waived_lets_the_second_decide(says: SmallProject) -> None:
    """After a signed waiver the second run decides, and the waived attempt stands beside the decision."""
    first = abandon(says)
    says.run(MODEL_SAYS=BETTER)
    waived = says("waive", first, "--reason", "the power went out")
    assert waived.code == 0
    assert "by the operator himself" in waived.out
    said = says("gate", "latest", "--json")
    assert said.code == 0
    assert said.json["decision"]["attempts"] == [{"run_id": first, "status": "waived"}]
    assert says.codes() == set()
    assert "the power went out" in says("ledger", "log").out


@pytest.mark.parametrize("command", ["gate", "report", "verify"])
def test_waived_attempt_is_printed_as_waived_by_the_operator_himself(says: SmallProject, command: str) -> None:
    """Whoever reads a decision after a waiver is told that no second person waived it."""
    first = abandon(says)
    says.run(MODEL_SAYS=BETTER)
    assert says("waive", first, "--reason", "the power went out").code == 0
    arguments = {"gate": ["gate", "latest", "--no-append"], "report": ["report"], "verify": ["verify", "latest"]}
    assert "waived by the operator himself" in says(*arguments[command]).out


def test_rejected_run_then_a_better_one_is_still_rejected(says: SmallProject) -> None:
    """A second run that passes does not undo the first one's rejection, stated or not."""
    says.run(MODEL_SAYS=WORSE)
    says.run(MODEL_SAYS=BETTER)
    assert gate(says) == (1, "rejected", ["attempt_rejected"])


def test_better_run_is_rejected_again_when_a_worse_one_follows(says: SmallProject) -> None:
    """Attempts count whichever of them is shown: an accepted run falls with a later one that is rejected."""
    says.run(MODEL_SAYS=BETTER)
    assert gate(says)[0] == 0
    says.run(MODEL_SAYS=WORSE)
    said = says("gate", says.runs[0].name, "--json")
    assert (said.code, said.json["decision"]["reasons"]) == (1, ["attempt_rejected"])
    assert says.codes() == set(), "the decision that was right when it was made stays derivable"


@pytest.mark.parametrize("hidden", ["folder", "record", "plan", "checkpoint"])
def test_rejected_run_that_is_hidden_leaves_the_better_one_undecided(says: SmallProject, hidden: str) -> None:
    """Deleting the rejected run, whole or in part, never turns into an acceptance of the second."""
    says.run(MODEL_SAYS=WORSE)
    first = says.last
    says.run(MODEL_SAYS=BETTER)
    if hidden == "folder":
        shutil.rmtree(first)
        assert gate(says) == (1, "inconclusive", ["attempt_open"])
        return
    (first / {"record": "record.jsonl", "plan": "plan.json", "checkpoint": "checkpoint"}[hidden]).unlink()
    assert says("gate", "latest").code == 3
    assert "ATTEMPT-RECORD" in says.codes("latest")


def test_rejected_run_whose_record_was_edited_spoils_the_better_one(says: SmallProject) -> None:
    """Editing the rejected run's record is a finding of the run that is gated."""
    says.run(MODEL_SAYS=WORSE)
    record = says.last / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"failed"', b'"passed"'))
    says.run(MODEL_SAYS=BETTER)
    assert says("gate", "latest").code == 3
    assert "ATTEMPT-RECORD" in says.codes("latest")


def test_rejected_run_on_a_smaller_test_set_counts_by_its_cases(says: SmallProject) -> None:
    """Another test set with a case in common does not reset the count."""
    says.run(MODEL_SAYS=WORSE)
    (says.root / "cases" / "q.csv").write_text(CASES + "q5,How many days has a week?,8,\n", encoding="utf-8")
    says.run(MODEL_SAYS=BETTER)
    assert gate(says) == (1, "rejected", ["attempt_rejected"])


def test_rejected_run_whose_plan_was_edited_so_that_no_case_is_shared_spoils_the_better_one(says: SmallProject) -> None:
    """An attempt cannot be made to look unrelated by editing its plan.json, which needs no key."""
    says.run(MODEL_SAYS=WORSE)
    first = says.last
    (says.root / "cases" / "q.csv").write_text(CASES + "q5,How many days has a week?,8,\n", encoding="utf-8")
    says.run(MODEL_SAYS=BETTER)
    assert says("gate", "latest", "--no-append").code == 1
    plan = canonical.decode((first / "plan.json").read_bytes())
    for number, case in enumerate(plan["test_set"]["cases"]):
        case["commitment"] = f"{number:043d}"
    (first / "plan.json").write_bytes(canonical.encode(plan))
    assert says("gate", "latest").code != 0


@pytest.mark.parametrize("flags", [["--limit", "3"], ["--only", "q1,q2,q3"]])
def test_pilot_never_decides_and_is_shown(says: SmallProject, flags: list[str]) -> None:
    """A run that was narrowed by any flag is logged and shown, and no gate decides on it."""
    says.run(*flags, MODEL_SAYS=WORSE)
    assert gate(says) == (1, "inconclusive", ["pilot"])
    pilot = says.last.name
    says.run(MODEL_SAYS=BETTER)
    assert gate(says)[0] == 0
    assert pilot in says("report").out


@pytest.mark.parametrize("flags", [["--limit", "99"], ["--repeats", "1"], ["--models", "good"]])
def test_narrowing_that_leaves_nothing_out_is_the_plan_itself(says: SmallProject, flags: list[str]) -> None:
    """A run of all of its plan is no pilot, whatever flags it was given: it counts, and a worse one rejects."""
    says.run(*flags, MODEL_SAYS=WORSE)
    assert gate(says) == (1, "rejected", ["correct"])


@pytest.mark.parametrize("flags", [["--repeats", "1"], ["--models", "good"]])
def test_pilot_of_fewer_repeats_or_models_never_decides(fresh: SmallProject, flags: list[str]) -> None:
    """Half of the repeats, or one of two models, is less than the plan."""
    fresh.run(*flags)
    assert gate(fresh, "--model", "good") == (1, "inconclusive", ["pilot"])


def test_pilot_forged_into_a_full_run_is_found(says: SmallProject, tmp_path: Path) -> None:
    """A pilot whose run.start is rewritten to say full lacks the trials of its plan."""
    says.run("--limit", "3", MODEL_SAYS=BETTER)
    forger = Forger(says)
    start = forger.of("run.start")["body"]
    start["selection"] = "full"
    forger.sign()
    assert "START-MISMATCH" in says.as_stranger(tmp_path).codes()
    again = Forger(says)
    del again.of("run.start")["body"]["narrowing"]
    again.sign(restate_start=False)
    assert "CONFIGURATION-MISMATCH" in says.as_stranger(tmp_path).codes()
    assert says.as_stranger(tmp_path)("gate", "latest", "--no-append").code == 3


def test_full_run_forged_into_a_pilot_is_found_by_who_knew_the_ledger(says: SmallProject) -> None:
    """A rejected run cannot be called a pilot afterwards: run.start stands in a ledger that others have seen."""
    says.run(MODEL_SAYS=WORSE)
    forger = Forger(says)
    forger.of("run.start")["body"].update(selection="pilot", narrowing={"limit": 4})
    forger.sign()
    assert "LEDGER-FORK" in says.codes()
    assert says("gate", "latest").code == 3


def test_run_whose_key_was_forged_to_count_as_another_thing_is_found(says: SmallProject, tmp_path: Path) -> None:
    """The attempt key is recomputed from the plan: a rejected run cannot be given another one."""
    says.run(MODEL_SAYS=WORSE)
    forger = Forger(says)
    forger.of("run.start")["body"]["configurations"][0]["attempt_key"] = "sha256:" + "0" * 64
    forger.sign(restate_start=False)
    assert "CONFIGURATION-MISMATCH" in says.as_stranger(tmp_path).codes()
    says.run(expect=3, MODEL_SAYS=BETTER)


def test_new_subject_version_is_another_thing(says: SmallProject) -> None:
    """The author's own statement that the thing under test has changed begins a new count."""
    says.run(MODEL_SAYS=WORSE)
    says.set_plan(plan_text(SAYS.replace("runner: command", "runner: command, subject: bot 2"), repeats=1, mark="1"))
    says.run(MODEL_SAYS=BETTER)
    assert gate(says) == (0, "accepted", [])


def test_uses_of_the_cases_are_counted(says: SmallProject) -> None:
    """Verify prints how often these cases were used before."""
    says.run(MODEL_SAYS=WORSE)
    says.run("--limit", "1", MODEL_SAYS=WORSE)
    says.run(MODEL_SAYS=BETTER)
    assert "use 3 of 3 of these cases" in says("verify", "latest").out


def test_waived_run_is_not_itself_accepted(says: SmallProject) -> None:
    """A run that its operator declared not to count cannot be the one that is accepted."""
    run_id = says.run(MODEL_SAYS=BETTER)
    assert says("waive", run_id, "--reason", "wrong prompt").code == 0
    assert says("gate", run_id).code == 1


def test_run_whose_folder_was_deleted_is_mentioned_by_verify(finished: SmallProject) -> None:
    """Verify of a project names the runs that the ledger started and that are not there."""
    run_id = finished.last.name
    shutil.rmtree(finished.last)
    assert run_id in finished("verify").out


def test_two_runs_at_once_are_two_attempts_that_both_hold(says: SmallProject) -> None:
    """Runs that are started side by side share one ledger: both are in it, both verify, each counts for the other."""
    assert says("keys", "new", "small").code == 0
    assert says("ledger", "init", "small").code == 0
    with says.environment(MODEL_SAYS=WORSE):
        both = [
            subprocess.Popen(
                [sys.executable, "-m", "trialplate", "run", "--yes"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
    for process in both:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert len(says.runs) == 2
    assert says.codes() == set()
    assert len(says("gate", "latest", "--json").json["decision"]["attempts"]) == 1
