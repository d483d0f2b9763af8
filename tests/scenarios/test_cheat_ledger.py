# SPDX-License-Identifier: Apache-2.0
"""Cheat: the ledger is extended without a signature, cut back, forked, or replaced together with its key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from forger import Forger, gate, raw_lines
from small_project import SmallProject

from trialplate.ledger.keys import LedgerKey, load_signer, new_key
from trialplate.record import canonical


def append_unsigned(path: Path, kind: str, body: object) -> bytes:
    """Append a well-formed line to a log without signing it; return what was appended."""
    lines = raw_lines(path)
    last = canonical.decode(lines[-1])
    line = canonical.encode({"v": 1, "seq": len(lines), "time": last["time"], "type": kind, "body": body}) + b"\n"
    path.write_bytes(path.read_bytes() + line)
    return line


# ------------------------------------------------------------------------------------------------------ unsigned lines


@pytest.mark.parametrize("torn", [False, True], ids=["whole line", "torn line"])
def test_unsigned_ledger_line_is_set_aside_and_not_signed_by_the_next_append(
    finished: SmallProject, torn: bool
) -> None:
    """A line that somebody put into the ledger is moved to a file, reported, and never covered by a checkpoint."""
    entries = finished.ledger / "entries.jsonl"
    before = entries.read_bytes()
    line = append_unsigned(entries, "waiver", {"run_id": finished.last.name, "reason": "planted"})
    if torn:
        line = line[:-20]
        entries.write_bytes(before + line)
    assert "LEDGER-UNSIGNED-TAIL" in finished.notes()
    assert finished.codes() == set()
    said = finished("waive", "latest", "--reason", "an honest one")
    assert said.code == 0
    assert "LEDGER-TAIL-SET-ASIDE" in said.err
    assert b"planted" not in entries.read_bytes()
    assert entries.read_bytes().startswith(before)
    assert [path.read_bytes() for path in finished.ledger.glob("set-aside-*")] == [line]
    assert finished.codes() == set()


def test_unsigned_waiver_does_not_count(finished: SmallProject) -> None:
    """What nobody signed is counted by nothing: an unsigned waiver or decision changes no decision."""
    entries = finished.ledger / "entries.jsonl"
    decision = Forger(finished).of("decision")["body"]
    append_unsigned(entries, "decision", {**decision, "decision": "accepted"})
    said = finished("gate", "latest", "--model", "bad", "--no-append")
    assert said.code == 1
    assert "REJECTED" in said.out


def test_doctor_sets_unsigned_lines_aside(finished: SmallProject) -> None:
    """`ledger doctor` moves them away and says where to."""
    append_unsigned(finished.ledger / "entries.jsonl", "waiver", {"run_id": finished.last.name, "reason": "planted"})
    said = finished("ledger", "doctor")
    assert said.code == 0
    assert "LEDGER-TAIL-SET-ASIDE" in said.err
    assert finished.notes() == set()


def test_unsigned_line_after_the_end_of_a_record_is_a_finding(finished: SmallProject) -> None:
    """A record that ended has nothing beyond its checkpoint: RECORD-TAIL-AFTER-END."""
    body = Forger(finished).record[1]["body"]
    append_unsigned(finished.last / "record.jsonl", "trial.start", {**body, "attempt": 2})
    assert finished.codes() == {"RECORD-TAIL-AFTER-END"}
    assert gate(finished) == 3


def test_unsigned_line_after_the_end_of_a_record_stays_unsigned_by_later_appends(finished: SmallProject) -> None:
    """Nothing that is appended to the ledger later makes it better."""
    append_unsigned(finished.last / "record.jsonl", "trial.start", Forger(finished).record[1]["body"])
    assert finished("waive", "latest", "--reason", "honest").code == 0
    assert finished.codes() == {"RECORD-TAIL-AFTER-END"}


# ----------------------------------------------------------------------------------------------------------- rollback


@pytest.fixture
def rolled_back(finished: SmallProject) -> SmallProject:
    """A ledger from which somebody cut the rejection, with the older checkpoint put back."""
    lines = raw_lines(finished.ledger / "entries.jsonl")
    forger = Forger(finished)
    shutil.copy(finished.ledger / "checkpoint", finished.root / "newest.note")
    forger.sign_ledger_lines(lines[:-1])  # the same bytes as the checkpoint that once stood there
    return finished


def test_rollback_is_found_by_who_has_seen_a_later_checkpoint(rolled_back: SmallProject) -> None:
    """The user's own memory of the log refuses an older state of it."""
    assert rolled_back.codes() == {"LEDGER-ROLLED-BACK"}
    assert gate(rolled_back) == 3


@pytest.mark.parametrize("command", [["run", "--yes"], ["waive", "latest", "--reason", "x"], ["ledger", "doctor"]])
def test_rollback_is_not_built_upon(rolled_back: SmallProject, command: list[str]) -> None:
    """No command appends to a ledger that was rolled back."""
    before = (rolled_back.ledger / "entries.jsonl").read_bytes()
    said = rolled_back(*command)
    assert said.code == 3, said.err
    assert (rolled_back.ledger / "entries.jsonl").read_bytes() == before


def test_rollback_is_found_by_a_stranger_with_a_later_checkpoint(rolled_back: SmallProject, tmp_path: Path) -> None:
    """`--against NOTE` gives somebody who has seen nothing the checkpoint to compare with."""
    stranger = rolled_back.as_stranger(tmp_path)
    assert stranger.codes() == set()
    assert "rollback=NOT-CHECKED" in stranger("verify").out
    assert stranger.codes("--against", "newest.note") == {"LEDGER-ROLLED-BACK"}
    assert gate(stranger, "good", "--against", "newest.note") == 3


def test_fork_is_found_by_a_stranger_with_a_checkpoint(finished: SmallProject, tmp_path: Path) -> None:
    """A ledger of the same length with another past does not extend the checkpoint that was given away."""
    shutil.copy(finished.ledger / "checkpoint", finished.root / "newest.note")
    forger = Forger(finished)
    forger.of("commit.passmark")["body"]["reason"] = "it was always so"
    forger.sign()
    stranger = finished.as_stranger(tmp_path)
    assert "LEDGER-FORK" in stranger.codes("--against", "newest.note")


def test_checkpoint_of_another_ledger_cannot_be_compared_with(
    finished: SmallProject, fresh_elsewhere: SmallProject
) -> None:
    """`--against` with the note of another log is refused, not ignored."""
    shutil.copy(fresh_elsewhere.ledger / "checkpoint", finished.root / "other.note")
    assert finished.codes("--against", "other.note") & {"SIG-MISSING", "ORIGIN-MISMATCH"}


@pytest.fixture
def fresh_elsewhere(tmp_path: Path) -> SmallProject:
    """Another project of another user, with a ledger."""
    made = SmallProject.write(tmp_path / "elsewhere")
    made.run("--limit", "1")
    return made


# ------------------------------------------------------------------------------------------------------- keys swapped


@pytest.fixture
def swapped(finished: SmallProject, tmp_path: Path) -> SmallProject:
    """The finished project after somebody without its key wrote everything anew under a key of his own."""
    thief = tmp_path / "thief"
    key = load_signer(new_key("small", thief), {"TRIALPLATE_HOME": str(thief)})
    (finished.root / "owner.pub").write_text(Forger(finished).key.line + "\n")
    forger = Forger(finished, key=key)
    forger.ledger[0]["body"]["key"] = key.line
    for case in ("q1", "q2", "q3", "q4"):
        for repeat in (1, 2):
            forger.passes("bad", case, repeat)
    forger.drop("decision")
    forger.recount()
    forger.sign()
    assert isinstance(key, LedgerKey)
    return finished


def test_keys_swapped_with_the_ledger_are_found_by_who_knew_it(swapped: SmallProject) -> None:
    """Who has known the ledger is told that its key and its beginning changed."""
    assert {"KEY-CHANGED", "GENESIS-CHANGED"} <= swapped.codes()
    assert swapped("gate", "latest", "--model", "bad", "--no-append").code == 3


def test_keys_swapped_with_the_ledger_are_found_by_who_trusts_the_owners_key(
    swapped: SmallProject, tmp_path: Path
) -> None:
    """Who trusts a key line, as a file, as an argument or in the environment, is told that another key signs."""
    stranger = swapped.as_stranger(tmp_path)
    line = (swapped.root / "owner.pub").read_text().strip()
    assert stranger.codes("--trust", "owner.pub") == {"KEY-UNTRUSTED"}
    assert stranger.codes("--trust", line) == {"KEY-UNTRUSTED"}
    assert stranger("verify", TRIALPLATE_TRUST=line).code == 3
    assert gate(stranger, "good", "--trust", "owner.pub") == 3


def test_keys_swapped_with_the_ledger_reach_level_a0_in_words_for_who_knows_nothing(
    swapped: SmallProject, tmp_path: Path
) -> None:
    """Who neither knows nor trusts anything is told, in words, that nobody vouches for the key."""
    stranger = swapped.as_stranger(tmp_path)
    said = stranger("verify")
    assert said.code == 0
    assert "A0: self-signed by" in said.out
    assert "nobody you trust vouches for this key" in said.out
    assert {report["level"] for report in stranger("verify", "--json").json} == {"A0"}
    assert "A0: self-signed" in stranger("gate", "latest", "--model", "bad", "--no-append").out


def test_nothing_is_trusted_at_first_sight(swapped: SmallProject, tmp_path: Path) -> None:
    """A stranger's verification at A0 does not make the key known: the next one is A0 again."""
    stranger = swapped.as_stranger(tmp_path)
    stranger("verify")
    assert {report["level"] for report in stranger("verify", "--json").json} == {"A0"}
    assert not (stranger.home / "known.json").exists()


def test_who_trusts_the_key_once_remembers_the_ledger(finished: SmallProject, tmp_path: Path) -> None:
    """A verification at A1 is remembered, and a rollback after it is found without any argument."""
    line = Forger(finished).key.line
    stranger = finished.as_stranger(tmp_path)
    assert {report["level"] for report in stranger("verify", "--json", "--trust", line).json} == {"A1"}
    assert stranger.codes() == set()
    Forger(finished).sign_ledger_lines(raw_lines(finished.ledger / "entries.jsonl")[:-1])
    assert stranger.codes() == {"LEDGER-ROLLED-BACK"}


def test_key_line_inside_the_project_is_not_trusted_by_itself(finished: SmallProject, tmp_path: Path) -> None:
    """Trust is an argument of the reader, never read from what is being verified."""
    (finished.root / "keys").mkdir(exist_ok=True)
    line = Forger(finished).key.line
    (finished.root / "keys" / "small.pub").write_text(line + "\n")
    (finished.root / "keys" / "trusted.json").write_text(json.dumps([line]))
    assert {report["level"] for report in finished.as_stranger(tmp_path)("verify", "--json").json} == {"A0"}


def test_ledger_of_another_name_in_the_same_folder_is_found(finished: SmallProject) -> None:
    """Renaming a ledger, to get away from what is known of it, breaks its checkpoint."""
    (finished.ledger / "origin").write_text("other-00000000\n")
    assert "ORIGIN-MISMATCH" in finished.codes()
    assert gate(finished) == 3


@pytest.mark.parametrize("missing", ["ledger", "ledger and runs"])
def test_deleted_ledger_is_not_begun_anew(finished: SmallProject, missing: str) -> None:
    """The history of a project cannot be shed by deleting its ledger and running again."""
    shutil.rmtree(finished.ledger)
    if missing == "ledger and runs":
        shutil.rmtree(finished.root / "runs")
    said = finished("run", "--yes")
    assert said.code == 2
    assert not finished.ledger.exists()


@pytest.mark.parametrize("kind", ["run.start", "run.end", "decision", "commit.passmark"])
def test_entry_taken_out_of_the_middle_is_found(finished: SmallProject, kind: str) -> None:
    """A ledger from which one line is missing is shorter than its checkpoint."""
    entries = finished.ledger / "entries.jsonl"
    lines = raw_lines(entries)
    lines.remove(next(line for line in lines if f'"type":"{kind}"'.encode() in line))
    entries.write_bytes(b"".join(line + b"\n" for line in lines))
    assert "LEDGER-TRUNCATED" in finished.codes()
    assert finished("gate", finished.last.name, "--model", "good").code == 3


def test_second_start_under_the_same_run_id_is_found(finished: SmallProject, tmp_path: Path) -> None:
    """One run id has one run.start: a second, other one under the same id is a finding."""
    forger = Forger(finished)
    start = json.loads(json.dumps(forger.of("run.start")))
    start["body"]["selection"] = "pilot"
    forger.drop("decision")
    forger.ledger.append(start)
    forger.sign()
    assert finished.as_stranger(tmp_path).codes() != set()


@pytest.mark.parametrize("how", ["end without start", "decision without start", "end twice"])
def test_entries_about_a_run_in_an_impossible_order_are_found(finished: SmallProject, tmp_path: Path, how: str) -> None:
    """What the ledger says of a run begins with its start and ends once."""
    forger = Forger(finished)
    kind = "decision" if how.startswith("decision") else "run.end"
    entry = json.loads(json.dumps(forger.of(kind)))
    forger.drop("decision")
    if how.endswith("without start"):
        entry["body"]["run_id"] = "20260101T000000000Z-00000000"
    forger.ledger.append(entry)
    forger.sign()
    assert finished.as_stranger(tmp_path).codes() != set()
