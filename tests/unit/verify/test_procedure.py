# SPDX-License-Identifier: Apache-2.0
"""The numbered procedure over real files: a ledger alone, a run with its ledger, a record alone, and damage to each."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from run_project import CASES, PLAN, Project, make_project

from trialplate.errors import UsageError
from trialplate.record import canonical, codec
from trialplate.record.entries import Narrowing, RunStart
from trialplate.record.note import signer_from_seed
from trialplate.verify import cli
from trialplate.verify.findings import CHECKS, Report
from trialplate.verify.gate import configuration_named
from trialplate.verify.ledger_view import Reader


def found(report: Report) -> set[str]:
    """Return the codes of the findings, notes left out."""
    return {item.code for item in report.findings if not item.note}


def test_verify_whole_run_passes_every_check_that_can_be_made(made: Project) -> None:
    """Nothing is silent: V19 is skipped because nothing was stated yet."""
    done = made.verify(made.runs[0])
    assert found(done.report) == set()
    assert [check for check in done.report.checks if done.report.status(check) == "SKIP"] == ["V19"]
    assert [check for check in CHECKS if check not in done.report.checks] == ["V21", "V22"], "nobody asked for them"
    assert done.gate is not None


def test_verify_ledger_alone_skips_what_is_about_a_run(made: Project) -> None:
    """Each skipped check has a reason."""
    done = made.verify()
    assert done.report.holds
    assert {done.report.status(check) for check in ("V09", "V11", "V17")} == {"SKIP"}
    assert all(done.report.said.get(check) or done.report.skipped.get(check) for check in done.report.checks)


# ----------------------------------------------------------------------------------------------- a record alone


@pytest.fixture
def alone(project: Project, tmp_path: Path) -> Path:
    """The run folder, taken away from its ledger."""
    away = tmp_path / "away" / project.runs[0].name
    shutil.copytree(project.runs[0], away)
    return away


def test_verify_record_alone_by_a_trusted_key_says_what_it_lacks(project: Project, alone: Path) -> None:
    """Signed by a key the reader named: A1, and the ledger's checks are skipped with one action."""
    done = project.verify(alone, alone=True, reader=Reader(trust=[project.key().signer.public]))
    assert found(done.report) == set()
    assert done.report.level == "A1"
    for check in ("V05", "V06", "V08", "V15", "V18", "V19"):
        assert done.report.status(check) == "SKIP"
        assert "--ledger" in done.report.skipped[check]
    assert done.gate is None


def test_verify_record_alone_without_a_key_checks_no_signature_and_says_so(project: Project, alone: Path) -> None:
    """Nobody named a key: the level is A0, and V04 is not PASS."""
    done = project.verify(alone, alone=True, reader=Reader())
    assert done.report.holds
    assert done.report.level == "A0"
    assert done.report.status("V04") == "SKIP"
    assert "not checked" in done.report.said["V20"]


def test_verify_record_alone_by_a_known_log_uses_that_key(project: Project, alone: Path) -> None:
    """known.json names the key of the ledger from which the record comes."""
    assert project.verify(alone, alone=True).report.level == "A1"


def test_verify_record_alone_of_another_signer_is_found(project: Project, alone: Path) -> None:
    """A key that did not sign it is not talked into it."""
    other = signer_from_seed("OTHER", bytes(range(32))).public
    done = project.verify(alone, alone=True, reader=Reader(trust=[other]))
    assert found(done.report) == {"SIG-MISSING"}


def test_verify_record_alone_with_one_digit_changed_is_found(project: Project, alone: Path) -> None:
    """Without its ledger and without a key, a change of a line is still a change."""
    record = alone / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))
    assert not project.verify(alone, alone=True, reader=Reader()).report.holds


@pytest.mark.parametrize("name", ["record.jsonl", "checkpoint", "plan.json"])
@pytest.mark.parametrize("whole", [True, False])
def test_verify_run_without_one_of_its_files_says_which(project: Project, alone: Path, name: str, whole: bool) -> None:
    """A record is checked whole or not at all."""
    run = project.runs[0] if whole else alone
    (run / name).unlink()
    done = project.verify(run, alone=not whole)
    assert "FILE-MISSING" in found(done.report)
    assert done.gate is None


@pytest.mark.parametrize("name", ["record.jsonl", "checkpoint", "plan.json"])
@pytest.mark.parametrize("raw", [b"", b"\x00", b"\xff\xfe", b"[]", b"{}\n"])
@pytest.mark.parametrize("whole", [True, False])
def test_verify_garbage_in_any_file_is_a_finding_and_no_traceback(
    project: Project, alone: Path, name: str, raw: bytes, whole: bool
) -> None:
    """Whatever bytes stand there, the answer is a finding."""
    run = project.runs[0] if whole else alone
    (run / name).write_bytes(raw)
    assert not project.verify(run, alone=not whole).report.holds


# --------------------------------------------------------------------------------------------------------- gate


def test_decide_two_configurations_of_one_run(made: Project) -> None:
    """The good one is accepted, the bad one rejected by both of its rules."""
    gate = made.verify(made.runs[0]).gate
    assert gate is not None
    good, bad = gate.decide("good"), gate.decide("bad")
    assert (good.decision, good.reasons, good.attempts) == ("accepted", (), ())
    assert (bad.decision, bad.reasons) == ("rejected", ("correct", "critical"))
    assert good.record_root == "sha256:" + gate.record.signed.checkpoint.root.hex()


def test_decide_pilot_never(project: Project) -> None:
    """However good its results are."""
    project.run(narrowing=Narrowing(limit=1))
    gate = project.verify(project.runs[-1]).gate
    assert gate is not None
    decision = gate.decide("good")
    assert (decision.decision, decision.reasons) == ("inconclusive", ("pilot",))


def test_decide_with_a_second_run_counts_both(project: Project) -> None:
    """Two full runs are attempts at one thing, whichever is shown; a pilot is none."""
    project.run(narrowing=Narrowing(limit=1))
    project.run()
    for run in (project.runs[0], project.runs[-1]):
        gate = project.verify(run).gate
        assert gate is not None
        others = [item.run_id for item in gate.decide("good").attempts]
        assert others == [item.name for item in (project.runs[0], project.runs[-1]) if item != run]


def test_decide_with_the_other_record_missing_is_open(project: Project) -> None:
    """A record that was deleted might have been a rejection."""
    project.run()
    shutil.rmtree(project.runs[0])
    gate = project.verify(project.runs[0]).gate
    assert gate is not None
    decision = gate.decide("good")
    assert (decision.decision, decision.reasons) == ("inconclusive", ("attempt_open",))


def test_decide_with_the_other_plan_exchanged_still_counts_it(tmp_path: Path) -> None:
    """An attempt cannot be hidden by giving its plan other cases, which needs no key: its digest is not the started one."""
    answers = 'good: {runner: stand-in, answers: {q1: Lyon, "*": "4, and blue as the sky"}}'
    plan = re.sub(r"good: .*", answers, re.sub(r"  bad: .*\n", "", PLAN))
    project = make_project(tmp_path, plan)
    project.run()
    project.write(plan, cases=CASES + "q4,How much is one and three?,4,\n")
    project.run()
    first, second = project.runs
    file = first / "plan.json"
    exchanged = canonical.decode(file.read_bytes())
    for number, case in enumerate(exchanged["test_set"]["cases"]):
        case["commitment"] = f"{number:043d}"
    for damaged in (None, canonical.encode(exchanged), b"{}"):
        if damaged is not None:
            file.write_bytes(damaged)
        done = project.verify(second)
        assert done.gate is not None
        assert [item.run_id for item in done.gate.decide("good").attempts] == [first.name]
        assert done.report.holds is (damaged is None)


def test_decide_stated_decision_is_derived_again(project: Project) -> None:
    """V19: the honest decision holds, and one with another word does not."""
    gate = project.verify(project.runs[0]).gate
    assert gate is not None
    project.writer().append("decision", codec.to_json(gate.decide("bad")))
    done = project.verify(project.runs[0])
    assert (done.report.status("V19"), found(done.report)) == ("PASS", set())
    lie = codec.to_json(gate.decide("bad")) | {"decision": "accepted", "reasons": []}
    project.writer().append("decision", lie)
    done = project.verify(project.runs[0])
    assert found(done.report) == {"DECISION"}
    assert "bad is stated accepted; derived: rejected" in done.report.findings[0].message


def test_decide_after_a_start_that_names_other_configurations_is_a_finding_and_no_traceback(project: Project) -> None:
    """A run.start that does not fit its plan is told; whoever signed it cannot make the verifier fall over."""
    view = project.view()
    start: RunStart = view.starts()[0].body
    renamed = tuple(item.replace(name=f"other-{item.name}") for item in start.configurations)
    twin = project.runs[0].with_name("20261130T100000000Z-0123abcd")
    shutil.copytree(project.runs[0], twin)
    project.writer().append("run.start", codec.to_json(start.replace(run_id=twin.name, configurations=renamed)))
    done = project.verify(twin)
    assert "CONFIGURATION-MISMATCH" in found(done.report)


@pytest.mark.parametrize(
    ("wanted", "hint"), [("godo", "did you mean good?"), ("xyz/1", "name one of them"), (None, "name one")]
)
def test_configuration_named_wrongly_lists_what_there_is(made: Project, wanted: str | None, hint: str) -> None:
    """G05: a mistyped name is exit 2 with the names of this run, never an empty success."""
    gate = made.verify(made.runs[0]).gate
    assert gate is not None
    with pytest.raises(UsageError) as caught:
        configuration_named(gate.record, wanted)
    assert caught.value.exit_code == 2
    assert "good" in caught.value.message
    assert "bad" in caught.value.message
    assert hint in caught.value.hint
    assert configuration_named(gate.record, "good") == "good"


# ------------------------------------------------------------------------------------------- the auditor's program


def run_cli(project: Project, *arguments: str) -> int:
    """Run the auditor's program in a project's folder."""
    here = Path.cwd()
    os.chdir(project.folder)
    try:
        return cli.main(arguments, project.environ)
    finally:
        os.chdir(here)


def test_cli_exit_codes(made: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """0 holds and accepted, 1 rejected, 2 usage; what is wrong goes to stderr with one thing to do."""
    assert run_cli(made, "verify") == 0
    assert run_cli(made, "gate", "latest", "--model", "good", "--no-append") == 0
    assert run_cli(made, "gate", "latest", "--model", "bad", "--no-append") == 1
    capsys.readouterr()
    for wrong in (
        ("gate", "latest", "--model", "godo"),
        ("gate", "2027"),
        ("verify", "--trust", ""),
        ("verify", "--trust", "x" * 5000),
        ("verify", "--trust", "no+key"),
        ("verify", "--against", "nowhere"),
    ):
        assert run_cli(made, *wrong) == 2, wrong
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("error: ")
        assert "  do: " in told.err


def test_cli_trust_by_line_by_file_and_by_environment(
    made: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key line, a file of them with remarks, or TRIALPLATE_TRUST; a file of no key at all is refused."""
    line = made.key().line
    file = tmp_path / "trusted.pub"
    file.write_text(f"# ours\n\n{line}\n")
    stranger = Project(made.folder, tmp_path / "stranger")
    for arguments in (["--trust", line], ["--trust", str(file)]):
        assert run_cli(stranger, "verify", "--json", *arguments) == 0
        assert {item["level"] for item in json.loads(capsys.readouterr().out)} == {"A1"}
    file.write_text("# nobody yet\n")
    assert run_cli(stranger, "verify", "--trust", str(file)) == 2
    file.write_bytes(b"\xff\xfe\x00")
    assert run_cli(stranger, "verify", "--trust", str(file)) == 2


def test_cli_json_is_one_object_in_ascii(made: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read one JSON value from stdout, and no control character goes out."""
    run_cli(made, "gate", "latest", "--model", "good", "--json")
    out = capsys.readouterr().out
    value = json.loads(out)
    assert value["decision"]["decision"] == "accepted"
    assert value["verification"]["holds"] is True
    assert out.isascii()


def test_cli_untrustworthy_evidence_is_exit_3_and_no_decision(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record that does not hold decides nothing, not even a rejection."""
    record = project.runs[0] / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))
    assert run_cli(project, "gate", "latest", "--model", "good") == 3
    assert "NO DECISION" in capsys.readouterr().out
    assert run_cli(project, "verify") == 3
    capsys.readouterr()
    assert run_cli(project, "gate", "latest", "--model", "bad", "--json") == 3
    assert json.loads(capsys.readouterr().out)["holds"] is False


def test_cli_gate_without_a_ledger_is_usage(project: Project, tmp_path: Path) -> None:
    """A record alone cannot be gated."""
    away = tmp_path / "away" / project.runs[0].name
    shutil.copytree(project.runs[0], away)
    assert run_cli(project, "gate", str(away), "--model", "good") == 2
    assert run_cli(project, "gate", str(away), "--model", "good", "--ledger", "ledger") == 0
