# SPDX-License-Identifier: Apache-2.0
"""Cheat: results are edited, dropped, relabelled or rewritten. By hand, and by the owner of the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from forger import Forger, edited, forge, gate, raw_lines
from small_project import SmallProject, plan_text

# ------------------------------------------------------------------------------------------------------------- edited


def test_one_digit_of_the_record_edited_is_found(finished: SmallProject) -> None:
    """One changed digit breaks the root that the record's checkpoint signs."""
    record = finished.last / "record.jsonl"
    lines = raw_lines(record)
    index = next(n for n, line in enumerate(lines) if b'"metrics":{"correct":0}' in line)
    lines = edited(lines, index, lambda line: line.replace(b'"metrics":{"correct":0}', b'"metrics":{"correct":1}'))
    record.write_bytes(b"".join(line + b"\n" for line in lines))
    assert "RECORD-ROOT" in finished.codes()
    assert gate(finished) == 3


@pytest.mark.parametrize("reader", ["owner", "stranger"])
def test_record_signed_again_is_not_the_one_that_the_ledger_pinned(
    finished: SmallProject, tmp_path: Path, reader: str
) -> None:
    """A record that is changed and signed again differs from the root that run.end pinned, whoever reads it."""
    forger = Forger(finished)
    forger.passes("good", "q2", 1)
    forger.record[-1]["body"]["counts"].update(passed=8, failed=8)
    forger.sign_record()
    project = finished if reader == "owner" else finished.as_stranger(tmp_path)
    assert "RUN-REWRITTEN" in project.codes()
    assert gate(project) == 3


def test_record_and_ledger_signed_again_are_a_fork_to_who_knew_it(finished: SmallProject) -> None:
    """To a reader who has seen a checkpoint, everything signed again is a fork of the ledger."""
    forger = Forger(finished)
    forger.passes("good", "q2", 1)
    forger.recount()
    forger.sign()
    assert "LEDGER-FORK" in finished.codes()
    assert gate(finished) == 3


def test_record_and_ledger_signed_again_and_shorter_are_rolled_back(finished: SmallProject) -> None:
    """Without its decisions the forged ledger is shorter than the one this reader has seen."""
    forger = Forger(finished)
    forger.passes("good", "q2", 1)
    forger.recount()
    forger.drop("decision")
    forger.sign()
    assert "LEDGER-ROLLED-BACK" in finished.codes()
    assert gate(finished) == 3


@pytest.mark.parametrize(
    "field",
    [
        {"metrics": {"correct": 1}},
        {"outcome": "passed"},
        {"verdict": "passed"},
        {"outcome": "passed", "verdict": "passed"},
        {"outcome": "passed", "verdict": "passed", "metrics": {"correct": 1}, "cause": "empty"},
        {"finish": "length"},
        {"outcome": "error"},
        {"outcome": "error", "cause": "empty", "metrics": {}},
        {"outcome": "skipped"},
    ],
    ids=lambda field: "+".join(f"{key}" for key in field),
)
def test_metric_verdict_and_outcome_that_contradict_are_found_though_all_is_signed(
    finished: SmallProject, tmp_path: Path, field: dict[str, object]
) -> None:
    """Metric, verdict, cause and outcome must say the same, even where every signature is good."""

    def change(forger: Forger) -> None:
        body = forger.trial("good", "q2", 1)
        body.update(field)
        if body["outcome"] == "error":
            body.pop("verdict", None)

    stranger = forge(finished, tmp_path, change)
    assert stranger.codes() & {"CELL-VERDICT", "CELL-VALUE"}
    assert gate(stranger) == 3


@pytest.mark.parametrize(
    ("metrics", "code"),
    [
        ({"correct": 1.5}, "CELL-VALUE"),
        ({"correct": 0.1234567}, "CELL-VALUE"),
        ({"other": 1}, "CELL-VALUE"),
        ({}, "CELL-VALUE"),
    ],
    ids=["above one", "too fine", "of no scorer", "missing"],
)
def test_metric_that_no_scorer_could_give_is_found(
    finished: SmallProject, tmp_path: Path, metrics: dict[str, float], code: str
) -> None:
    """A metric outside [0,1], finer than six decimals, of no scorer, or absent is a finding."""
    stranger = forge(finished, tmp_path, lambda forger: forger.trial("good", "q1", 1).update(metrics=metrics))
    assert code in stranger.codes()
    assert gate(stranger) == 3


def test_counts_at_close_that_the_lines_contradict_are_found(finished: SmallProject, tmp_path: Path) -> None:
    """run.close counts one more pass than the lines have, and run.end agrees: COUNTS."""

    def change(forger: Forger) -> None:
        for counts in (forger.record[-1]["body"]["counts"], forger.of("run.end")["body"]["counts"]):
            counts["passed"] += 1
            counts["failed"] -= 1

    stranger = forge(finished, tmp_path, change, recount=False)
    assert stranger.codes() == {"COUNTS"}
    assert gate(stranger) == 3


@pytest.mark.parametrize(
    ("field", "value"), [("status", "incomplete"), ("counts", {"failed": 0})], ids=["status", "counts"]
)
def test_run_end_that_contradicts_run_close_is_found(
    finished: SmallProject, tmp_path: Path, field: str, value: object
) -> None:
    """What the ledger says of a run's end must be what the record says of it."""

    def change(forger: Forger) -> None:
        end = forger.of("run.end")["body"]
        end[field] = {**end[field], **value} if isinstance(value, dict) else value

    stranger = forge(finished, tmp_path, change, recount=False)
    assert stranger.codes() == {"RUN-END"}
    assert gate(stranger) == 3


def test_cost_that_is_not_price_times_tokens_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """A cost where the plan has no price is a finding."""
    stranger = forge(
        finished, tmp_path, lambda forger: forger.trial("good", "q1").update(cost={"nano": 0, "currency": "USD"})
    )
    assert stranger.codes() == {"COST"}
    assert gate(stranger) == 3


def test_error_relabelled_for_what_a_command_did_itself_is_found(tmp_path: Path) -> None:
    """A command's own failure that is called an error, to take it out of the count, is a finding."""
    project = SmallProject.write(tmp_path, plan_text('  good: {runner: command, shell: "cat; exit 3"}', repeats=1))
    project.run()
    body = Forger(project).trial("good", "q1")
    assert (body["outcome"], body["cause"], body["status"]) == ("failed", "exit_status", 3)

    def change(forger: Forger) -> None:
        relabelled = forger.trial("good", "q1")
        relabelled.update(outcome="error", metrics={})
        del relabelled["verdict"]

    stranger = forge(project, tmp_path, change)
    assert stranger.codes() == {"CELL-VERDICT"}
    assert stranger("gate", "latest").code == 3


# ------------------------------------------------------------------------------------------------ rewritten, swapped


def test_record_rewritten_before_its_end_is_found_at_run_progress(finished: SmallProject, tmp_path: Path) -> None:
    """A line that the ledger pinned while the run went on cannot be changed, though run.end was forged to agree."""
    forger = Forger(finished)
    pinned = forger.record[: forger.of("run.progress")["body"]["size"]]
    next(e for e in pinned if e["type"] == "trial.end")["body"]["latency_ms"] = 12345
    forger.drop("decision")
    forger.sign(keep=["run.progress"])  # others have seen that entry, so it had to stay
    stranger = finished.as_stranger(tmp_path)
    assert "RUN-REWRITTEN" in stranger.codes()
    assert gate(stranger) == 3


def test_record_shorter_than_what_the_ledger_pinned_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """A record cut back and signed again has fewer lines than the ledger pinned."""
    forger = Forger(finished)
    forger.record = forger.record[:9]
    forger.sign_record()
    assert "RUN-REWRITTEN" in finished.as_stranger(tmp_path).codes()
    assert gate(finished) == 3


def test_test_set_swapped_in_the_plan_is_found_by_its_digest(finished: SmallProject) -> None:
    """Another case in plan.json changes the digest that was started."""
    plan = finished.last / "plan.json"
    plan.write_bytes(plan.read_bytes().replace(b'"tags":["critical","geo"]', b'"tags":["geo"]'))
    assert "PLAN-DIGEST" in finished.codes()
    assert gate(finished) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.plan["test_set"]["cases"][1].update(commitment="A" * 43),
        lambda f: f.plan["test_set"]["cases"].pop(),
        lambda f: f.plan["test_set"].update(name="other"),
        lambda f: f.plan["test_set"].update(root="sha256:" + "0" * 64),
    ],
    ids=["another case", "a case less", "another name", "another root"],
)
def test_test_set_swapped_and_all_signed_again_is_not_the_committed_one(
    finished: SmallProject, tmp_path: Path, change: Callable[[Forger], object]
) -> None:
    """With plan, start and record signed again, the test set is still not the one that was committed."""
    stranger = forge(finished, tmp_path, change, recount=False)
    assert "TESTSET-MISMATCH" in stranger.codes()
    assert gate(stranger) == 3


def test_record_of_another_run_in_this_runs_folder_is_found(fresh: SmallProject) -> None:
    """Two honest records of one plan cannot be exchanged: each is signed under its own name."""
    fresh.run()
    fresh.run()
    first, second = fresh.runs
    for name in ("record.jsonl", "checkpoint", "content.jsonl"):
        (second / name).write_bytes((first / name).read_bytes())
    assert "ORIGIN-MISMATCH" in fresh.codes(second.name)
    assert gate(fresh) == 3


def test_record_that_opens_with_another_start_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """run.open must carry the very run.start line that the ledger holds, and prove it."""
    forger = Forger(finished)
    forger.drop("decision")
    forger.sign()
    again = Forger(finished)
    opened = again.record[0]["body"]
    opened["start"]["entry"] = opened["start"]["entry"].replace('"trials":16', '"trials":17')
    again.sign_record()
    assert {"START-MISMATCH", "START-PROOF"} <= finished.as_stranger(tmp_path).codes()


# ------------------------------------------------------------------------------------------------ decisions, the model


@pytest.mark.parametrize("word", ["accepted", "inconclusive"])
def test_decision_forged_in_the_ledger_is_derived_again_and_found(
    finished: SmallProject, tmp_path: Path, word: str
) -> None:
    """A decision that says something else than what follows from the record is a finding."""
    forger = Forger(finished)
    decision = next(e for e in forger.ledger if e["type"] == "decision" and e["body"]["configuration"] == "bad")
    decision["body"].update(decision=word, reasons=[])
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert stranger.codes() == {"DECISION"}
    assert gate(stranger) == gate(stranger, "bad") == 3


@pytest.mark.parametrize("field", ["record_root", "rules", "evidence", "attempts"])
def test_decision_with_one_forged_part_is_found(finished: SmallProject, tmp_path: Path, field: str) -> None:
    """Every part of a stated decision is derived again, not only its word."""
    forger = Forger(finished)
    body = forger.of("decision")["body"]
    if field == "record_root":
        forged: object = "sha256:" + "0" * 64
    elif field == "attempts":
        forged = [{"run_id": "20260101T000000000Z-00000000", "status": "waived"}]
    else:
        forged = body[field][:-1]
    forger.sign()
    again = Forger(finished)
    again.of("decision")["body"][field] = forged
    again.sign_ledger()
    stranger = finished.as_stranger(tmp_path)
    assert stranger.codes() == {"DECISION"}
    assert gate(stranger) == 3


def test_result_edited_under_a_stated_decision_contradicts_it(finished: SmallProject, tmp_path: Path) -> None:
    """A result that is changed consistently, with everything signed again, no longer gives the stated decision."""
    forger = Forger(finished)
    for case in ("q1", "q2", "q3", "q4"):
        for repeat in (1, 2):
            forger.passes("bad", case, repeat)
    forger.recount()
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert stranger.codes() == {"DECISION"}
    assert gate(stranger, "bad") == 3


def test_answer_of_another_model_that_was_counted_is_found(tmp_path: Path) -> None:
    """A decided trial whose answer came from another model than the one asked is a finding."""
    models = (
        '  good: {runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m-small, retry: {max_retries: 0}}'
    )
    project = SmallProject.write(tmp_path, plan_text(models, repeats=1))
    project.run(expect=4)

    def change(forger: Forger) -> None:
        body = forger.trial("good", "q1")
        body.pop("cause")
        body.update(outcome="passed", verdict="passed", metrics={"correct": 1}, served="m-huge")
        body["calls"] = [{"digest": "sha256:" + "0" * 64}]

    stranger = forge(project, tmp_path, change)
    assert stranger.codes() == {"SERVED-FLAG"}
    assert stranger("gate", "latest").code == 3
