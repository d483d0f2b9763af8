# SPDX-License-Identifier: Apache-2.0
"""Whole runs in this process: real programs as models, a real ledger, and a verifier that agrees."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from run_project import Project

from trialplate.engine.prepare import prepare
from trialplate.engine.run import run_prepared
from trialplate.engine.tally import Tally
from trialplate.engine.watch import Watch
from trialplate.errors import StorageError
from trialplate.ledger.record_writer import RecordWriter
from trialplate.record import canonical
from trialplate.record.entries import Narrowing, TrialEnd
from trialplate.reports.summary import summarise

needs_shell = pytest.mark.skipif(shutil.which("sh") is None, reason="the programs under test are shell lines")

COMMANDS = """\
trialplate: 1
name: commands
test_sets:
  - file: cases/q.csv
models:
  echo: {runner: command, shell: "cat"}
  exit: {runner: command, shell: "echo yes; exit 3"}
  slow: {runner: command, shell: "echo yes; exec sleep 60", LIMITS}
  gone: {runner: command, argv: [no-such-program-here]}
repeats: 1
run: {concurrency: 4}
scorers:
  correct: {type: contains}
pass_mark:
  rules:
    - {id: correct, at_least: 0.5, of: correct, basis: estimate}
""".replace("LIMITS", "limits: {attempt_timeout_s: 1}, retry: {max_retries: 0}")
CASES = "id,input,reference,tags\nq1,say yes,yes,\nq2,say no,yes,\n"


def ends(run: Path) -> list[dict[str, Any]]:
    """Return the ends of a record's attempts."""
    lines = (run / "record.jsonl").read_bytes().splitlines()
    return [canonical.decode(line)["body"] for line in lines if b'"type":"trial.end"' in line]


def types(run: Path) -> list[str]:
    """Return the types of a record's lines."""
    return [canonical.decode(line)["type"] for line in (run / "record.jsonl").read_bytes().splitlines()]


@needs_shell
def test_run_of_real_programs_ends_each_trial_as_it_was(project_of: Callable[..., Project]) -> None:
    """An answer, an exit status, a timeout and a program that is not there: four causes, none of them mixed up."""
    project = project_of(COMMANDS, CASES)
    finished = project.run()
    (run,) = project.runs
    by_trial = {(item["trial"][0], item["trial"][1]): item for item in ends(run)}
    assert by_trial["echo", "q1"]["outcome"] == "passed"
    assert by_trial["echo", "q2"]["outcome"] == "failed"
    for case in ("q1", "q2"):
        told = by_trial["exit", case]
        assert (told["outcome"], told["cause"], told["status"], told["metrics"]) == (
            "failed",
            "exit_status",
            3,
            {"correct": 0},
        )
        slow = by_trial["slow", case]
        assert (slow["outcome"], slow["cause"], slow["ended_by"]) == ("failed", "timeout", "harness")
        assert slow["received"] == len("yes\n")
        gone = by_trial["gone", case]
        assert (gone["outcome"], gone["cause"]) == ("error", "not_started")
        assert "metrics" not in gone
    assert all("cost" not in item for item in ends(run))
    assert (finished.reason, finished.exit_code) == ("complete", 4)
    assert (finished.counts.passed, finished.counts.failed, finished.counts.error) == (1, 5, 2)
    done = project.verify(run)
    assert done.report.holds, done.report.findings
    assert done.gate is not None
    words = {name: done.gate.decide(name).decision for name in ("echo", "exit", "slow", "gone")}
    assert words == {"echo": "accepted", "exit": "rejected", "slow": "rejected", "gone": "inconclusive"}
    assert [item.cost_nano for item in summarise(done.gate.record)] == [None] * 4


STUMBLING = """\
trialplate: 1
name: stumbling
test_sets:
  - file: cases/q.csv
models:
  m:
    runner: stand-in
    retry: {max_retries: 2, initial_delay_s: 0}
    pricing: {currency: USD, input: 1, output: 2}
    answers:
      q1: {attempts: [{error: http_status, status: 503}, {error: timeout}, {text: "yes", usage: {input: 10, output: 5}}]}
      q2: {attempts: [{error: http_status, status: 429, retry_after_s: 0}]}
repeats: 1
scorers:
  correct: {type: contains}
pass_mark:
  rules:
    - {id: correct, at_least: 0.5, of: correct, basis: estimate}
"""


def test_run_journals_every_attempt_and_counts_what_was_asked_again(project_of: Callable[..., Project]) -> None:
    """An outage is tried again and written down; what remains of it is unknown, and its cost is."""
    project = project_of(STUMBLING, CASES)
    finished = project.run()
    (run,) = project.runs
    told = [
        (item["trial"][1], item["attempt"], item["outcome"], item.get("cause"), item.get("retry", False))
        for item in ends(run)
    ]
    assert sorted(told) == [
        ("q1", 1, "error", "server_error", True),
        ("q1", 2, "error", "timeout", True),
        ("q1", 3, "passed", None, False),
        ("q2", 1, "error", "rate_limited", True),
        ("q2", 2, "error", "rate_limited", True),
        ("q2", 3, "error", "rate_limited", False),
    ]
    assert (finished.counts.attempts, finished.counts.reasked) == (6, 1)
    assert project.verify(run).report.holds
    costs = [item.get("cost") for item in ends(run) if item["outcome"] == "passed"]
    assert costs == [{"nano": 20_000, "currency": "USD"}]
    gate = project.verify(run).gate
    assert gate is not None
    decision = gate.decide("m")
    assert decision.decision == "inconclusive"
    assert [item.name for item in decision.evidence if not item.met] == ["reasked"]
    (rule,) = decision.rules
    assert (rule.low, rule.high) == ("1/2", "1/1")
    (summary,) = summarise(gate.record)
    assert summary.cost_nano is None
    assert summary.metrics[0].mean == Fraction(1)
    assert (summary.metrics[0].known, summary.metrics[0].cells) == (1, 2)


def test_run_writes_in_the_order_that_makes_it_evidence(project_of: Callable[..., Project]) -> None:
    """run.open first, each start before its end, run.close last; the ledger pins the first answer and the end."""
    project = project_of()
    project.run(at_once=1)
    (run,) = project.runs
    found = types(run)
    assert (found[0], found[-1]) == ("run.open", "run.close")
    assert found[1:-1] == ["trial.start", "trial.end"] * 12
    kinds = [entry.type for entry in project.view().entries]
    assert kinds == ["log.genesis", "commit.testset", "commit.passmark", "run.start", "run.progress", "run.end"]


def test_run_after_five_outages_over_different_cases_stops_and_is_valid(project_of: Callable[..., Project]) -> None:
    """A dead provider is not asked a thousand times; what was recorded verifies, incomplete."""
    cases = "id,input,reference,tags\n" + "".join(f"q{n},x,yes,\n" for n in range(1, 31))
    plan = (
        STUMBLING.split("    answers:", maxsplit=1)[0]
        + '    answers: {"*": {error: transport}}\n'
        + "repeats: 1"
        + STUMBLING.split("repeats: 1")[1]
    )
    project = project_of(plan.replace("max_retries: 2", "max_retries: 0"), cases)
    finished = project.run(at_once=1)
    assert (finished.reason, finished.exit_code, finished.counts.error) == ("infrastructure", 4, 5)
    assert finished.counts.absent == 25
    done = project.verify(project.runs[0])
    assert done.report.holds
    assert done.gate is not None
    assert done.gate.decide("m").decision == "inconclusive"


@needs_shell
def test_run_interrupted_ends_what_is_under_way_and_stays_unfinished(project_of: Callable[..., Project]) -> None:
    """SIGTERM: attempts end as interrupted, the record is closed and signed, and the ledger has no run.end."""
    project = project_of(COMMANDS.replace("cat", "touch began; exec sleep 60"), CASES)
    began = project.folder / "began"

    def interrupt() -> None:
        while not began.exists():
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    finished = project.run(narrowing=None, at_once=1)
    watcher.join()
    assert (finished.reason, finished.exit_code) == ("interrupted", 130)
    (run,) = project.runs
    (last,) = ends(run)
    assert (last["outcome"], last["cause"], last["ended_by"]) == ("error", "interrupted", "harness")
    assert [entry.type for entry in project.view().entries][-1] == "run.progress"
    done = project.verify(run)
    assert done.report.holds
    assert [item.code for item in done.report.findings] == ["RUN-UNFINISHED"]
    assert done.gate is not None
    assert done.gate.decide("echo").reasons[0] == "finished"


def test_run_whose_record_cannot_be_written_fails_and_keeps_what_was_signed(
    project_of: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up ends the run with an error; nothing half-written counts."""
    project = project_of()
    write, lines = RecordWriter.write, 0

    def fills_up(self: RecordWriter, *arguments: Any, **named: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > 6:
            raise StorageError("no space left on the disk")
        return write(self, *arguments, **named)

    monkeypatch.setattr(RecordWriter, "write", fills_up)
    with pytest.raises(StorageError):
        project.run(at_once=1)
    (run,) = project.runs
    done = project.verify(run)
    assert done.report.holds, done.report.findings
    assert done.report.status("V15") == "SKIP"


def test_run_pilot_is_logged_with_its_narrowing(project_of: Callable[..., Project]) -> None:
    """The ledger says how a pilot is less than its plan."""
    project = project_of()
    finished = project.run(narrowing=Narrowing(limit=2, models=("good",), repeats=1))
    assert (finished.counts.planned, finished.exit_code) == (2, 0)
    (start,) = project.view().starts()
    assert (start.body.selection, start.body.trials) == ("pilot", 2)
    assert start.body.narrowing == Narrowing(limit=2, models=("good",), repeats=1)
    assert project.verify(project.runs[0]).report.holds


def test_run_opens_every_private_part_and_shows_none(project_of: Callable[..., Project]) -> None:
    """The public files hold no question, reference or answer; content.jsonl opens them all and is for its owner alone."""
    project = project_of()
    project.run()
    (run,) = project.runs
    public = b"".join((run / name).read_bytes() for name in ("plan.json", "record.jsonl", "checkpoint"))
    public += (project.ledger / "entries.jsonl").read_bytes()
    for private in (b"capital of France", b"as far as I know", b"Paris", b"the sky is blue"):
        assert private not in public
        assert private in (run / "content.jsonl").read_bytes()
    assert (run / "content.jsonl").stat().st_mode & 0o077 == 0
    assert project.verify(run).report.status("V16") == "PASS"


def test_run_tells_progress_of_each_trial_once(project_of: Callable[..., Project]) -> None:
    """The caller hears the run id before the first call, and each trial's end."""
    project = project_of()
    prepared = prepare(project.folder / "trialplate.yaml", project.key().secret)
    told: list[Any] = []

    class Heard(Watch):
        def ended(self, end: TrialEnd, tally: Tally) -> None:
            told.append((end.trial, tally.done))

    run_prepared(
        prepared,
        project.view(),
        project.writer(),
        project.key(),
        project.environ,
        at_once=3,
        started=lambda run_id, commitments: told.append((run_id, commitments.made)),
        watch=Heard(),
    )
    assert told[0] == (project.runs[0].name, ("test set", "pass mark"))
    assert {trial for trial, _ in told[1:]} == set(prepared.matrix.trials())
    assert sorted(done for _, done in told[1:])[-1] == prepared.matrix.size
