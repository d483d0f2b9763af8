# SPDX-License-Identifier: Apache-2.0
"""Cheat: the pass mark is changed after the results are known. By editing, by forging, by running again."""

from __future__ import annotations

from pathlib import Path

import pytest
from forger import Forger
from small_project import ANSWERS_GOOD, CRITICAL, SmallProject, plan_text

from trialplate.record import canonical


def gate(project: SmallProject, model: str = "good") -> int:
    """Return the exit code of a gate on the newest run."""
    return project("gate", "latest", "--model", model).code


def test_forger_without_a_change_signs_what_verifies(finished: SmallProject) -> None:
    """The forger's own work is whole: signing an unchanged run again gives a run that holds and is accepted."""
    before = (finished.last / "record.jsonl").read_bytes()
    Forger(finished).sign()
    assert finished.codes() == set()
    assert (finished.last / "record.jsonl").read_bytes() == before
    assert gate(finished) == 0


def test_mark_edited_in_the_plan_is_found_by_its_digest(finished: SmallProject) -> None:
    """A mark that is edited in plan.json no longer has the digest that was started."""
    plan = finished.last / "plan.json"
    plan.write_bytes(plan.read_bytes().replace(b'"at_least":"0.75"', b'"at_least":"0.05"'))
    assert "PLAN-DIGEST" in finished.codes()
    assert gate(finished) == gate(finished, "bad") == 3


def test_mark_edited_in_the_ledger_is_found_by_its_root(finished: SmallProject) -> None:
    """A mark that is edited in the ledger breaks the root that its checkpoint signs."""
    entries = finished.ledger / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b'"at_least":"0.75"', b'"at_least":"0.05"'))
    assert "LEDGER-ROOT" in finished.codes()
    assert gate(finished) == gate(finished, "bad") == 3


def test_mark_edited_in_plan_and_start_is_not_the_committed_one(finished: SmallProject) -> None:
    """With plan and start signed again, the mark in the plan is still not the one that was committed."""
    forger = Forger(finished)
    forger.plan["pass_mark"]["rules"][0]["at_least"] = "0.05"
    forger.sign()
    assert {"MARK-MISMATCH", "LEDGER-FORK"} <= finished.codes()
    assert gate(finished, "bad") == 3


def test_mark_edited_beside_its_digest_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """A commitment whose mark is changed and whose digest is not contradicts itself, even for a stranger."""
    forger = Forger(finished)
    forger.of("commit.passmark")["body"]["mark"]["rules"][0]["at_least"] = "0.05"
    forger.plan["pass_mark"]["rules"][0]["at_least"] = "0.05"
    forger.drop("decision")
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert stranger.codes() == {"MARK-MISMATCH"}
    assert gate(stranger, "bad") == 3


@pytest.mark.parametrize(
    ("commitment", "code"), [("commit.passmark", "MARK-AFTER-RESULTS"), ("commit.testset", "TESTSET-AFTER-RESULTS")]
)
def test_commitment_forged_after_the_start_is_found(
    finished: SmallProject, tmp_path: Path, commitment: str, code: str
) -> None:
    """A ledger made up afterwards in which the commitment follows run.start names itself, even to a stranger."""
    forger = Forger(finished)
    late = forger.of(commitment)
    forger.drop("decision")
    forger.ledger.remove(late)
    forger.ledger.insert(forger.ledger.index(forger.of("run.start")) + 1, late)
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert code in stranger.codes()
    assert gate(stranger) == 3


def test_start_that_names_another_mark_entry_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """A run.start whose reference is no commitment of a mark holds for nobody."""
    forger = Forger(finished)
    start = forger.of("run.start")["body"]
    start["pass_mark"] = {**start["test_set"]}
    forger.drop("decision")
    forger.sign()
    assert "COMMIT-MISSING" in finished.as_stranger(tmp_path).codes()
    assert gate(finished.as_stranger(tmp_path)) == 3


def test_rerun_under_a_looser_mark_does_not_shed_the_rejection(fresh: SmallProject) -> None:
    """After a rejection, a run of the same configuration under a looser mark is still rejected."""
    fresh.set_plan(plan_text(mark="0.95", rules=CRITICAL))
    fresh.run()
    assert gate(fresh) == 1
    fresh.set_plan(plan_text(mark="0.5", rules=CRITICAL))
    fresh.run()
    said = fresh("gate", "latest", "--model", "good", "--json")
    assert said.code == 1
    assert said.json["decision"]["decision"] == "rejected"
    assert said.json["decision"]["reasons"] == ["attempt_rejected"]
    assert fresh.codes() == set()


def test_rerun_under_another_name_of_the_same_thing_is_the_same_attempt(fresh: SmallProject) -> None:
    """Another label, price or retry rule does not make a rejected configuration a new one."""
    fresh.set_plan(plan_text(mark="0.95"))
    fresh.run()
    assert gate(fresh) == 1
    models = f"  better: {{runner: stand-in, answers: {ANSWERS_GOOD}, pricing: free, retry: {{max_retries: 0}}}}"
    fresh.set_plan(plan_text(models, mark="0.5"))
    fresh.run()
    said = fresh("gate", "latest", "--json")
    assert said.code == 1
    assert said.json["decision"]["reasons"] == ["attempt_rejected"]


def test_changed_mark_names_the_one_it_supersedes(fresh: SmallProject) -> None:
    """A second mark for the same test set is an entry of its own that points to the first."""
    fresh.set_plan(plan_text(mark="0.95"))
    assert fresh("keys", "new", "small").code == 0
    assert fresh("ledger", "init", "small").code == 0
    assert fresh("commit").code == 0
    fresh.set_plan(plan_text(mark="0.5"))
    assert fresh("commit").code == 0
    marks = [line for line in (fresh.ledger / "entries.jsonl").read_bytes().splitlines() if b"commit.passmark" in line]
    second = canonical.decode(marks[1])["body"]
    assert second["supersedes"]["digest"] == canonical.digest(marks[0])
    assert "supersedes entry 2" in fresh("ledger", "log").out


def test_mark_committed_after_runs_on_the_same_cases_is_printed(fresh: SmallProject) -> None:
    """Whoever reads a decision is told that its mark came after earlier runs on these cases, and is looser."""
    fresh.set_plan(plan_text(mark="0.75"))
    fresh.run()
    fresh.set_plan(plan_text(mark="0.5"))
    fresh.run()
    said = fresh("gate", "latest", "--model", "good", "--no-append").out + fresh("report").out
    assert "looser" in said or "after" in said
