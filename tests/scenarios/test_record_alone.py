# SPDX-License-Identifier: Apache-2.0
"""A run's folder by itself, or beside a ledger that is not its own: what can be checked is, the rest is SKIP."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from forger import Forger
from small_project import SmallProject

PARTS = ("plan.json", "record.jsonl", "checkpoint", "content.jsonl")


@pytest.fixture
def alone(finished: SmallProject, tmp_path: Path) -> SmallProject:
    """A stranger with nothing but the run's folder, and the owner's key line in a file beside it."""
    root = tmp_path / "received"
    shutil.copytree(finished.last, root / "runs" / finished.last.name)
    (root / "owner.pub").write_text(Forger(finished).key.line + "\n")
    return SmallProject(root, tmp_path / "stranger")


def status_of(project: SmallProject, *flags: str) -> dict[str, str]:
    """Verify the run and return what is said of each check."""
    said = project("verify", "--json", str(project.last), *flags)
    assert said.code == 0, said.out
    return {item["id"]: item["status"] for item in said.json[0]["checks"]}


def test_record_alone_is_checked_as_far_as_it_goes(alone: SmallProject) -> None:
    """With the owner's key the record's own checks pass, and what needs the ledger is SKIP with a reason."""
    status = status_of(alone, "--trust", "owner.pub")
    assert {check for check, word in status.items() if word == "SKIP"} == {
        "V05",
        "V06",
        "V08",
        "V10",
        "V15",
        "V18",
        "V19",
    }
    assert "the ledger is not here" in alone("verify", str(alone.last)).out


def test_record_alone_without_a_key_says_that_its_signature_was_not_checked(alone: SmallProject) -> None:
    """Without any key nobody is said to have signed it: level A0 in words, V04 is SKIP."""
    assert status_of(alone)["V04"] == "SKIP"
    said = alone("verify", str(alone.last))
    assert "A0: nobody you trust vouches for this record, and its signature was not checked" in said.out


def test_record_alone_cannot_be_gated_or_reported(alone: SmallProject) -> None:
    """A decision needs the ledger, since other attempts count: exit 2."""
    for command in (["gate", str(alone.last), "--model", "good"], ["report", str(alone.last)]):
        said = alone(*command)
        assert said.code == 2
        assert "without its ledger" in said.err


@pytest.mark.parametrize("part", PARTS)
def test_record_alone_that_was_damaged_is_found_with_the_owners_key(alone: SmallProject, part: str) -> None:
    """A flipped bit anywhere in the folder is found without the ledger too."""
    path = alone.last / part
    raw = path.read_bytes()
    for number in range(60):
        offset = number * (len(raw) - 1) // 59
        damaged = bytearray(raw)
        damaged[offset] ^= 1 << number % 8
        path.write_bytes(damaged)
        assert alone("verify", str(alone.last), "--trust", "owner.pub").code in (2, 3), f"byte {offset}"


def test_record_alone_of_another_key_is_refused(alone: SmallProject, tmp_path: Path) -> None:
    """A record that was signed by somebody else than the key one trusts is not believed."""
    other = SmallProject.write(tmp_path / "other")
    assert other("keys", "new", "small").code == 0
    line = next(part for part in other("keys", "new", "second").out.split() if part.startswith("second+"))
    said = alone("verify", str(alone.last), "--trust", line)
    assert said.code == 3
    assert "SIG-MISSING" in said.out


@pytest.mark.parametrize("command", ["verify", "gate"])
def test_record_beside_the_ledger_of_another_project_is_refused(
    finished: SmallProject, tmp_path: Path, command: str
) -> None:
    """A run that the given ledger did not start is a finding."""
    other = SmallProject.write(tmp_path / "other")
    other.run()
    flags = ["--model", "good", "--no-append"] if command == "gate" else []
    said = finished(command, str(finished.last), *flags, "--ledger", str(other.ledger))
    assert said.code == 3
    assert "RUN-NOT-IN-LEDGER" in said.out


def test_ledger_elsewhere_can_be_named(alone: SmallProject, finished: SmallProject) -> None:
    """`--ledger DIR` brings a record and its ledger together."""
    said = alone("gate", str(alone.last), "--model", "good", "--no-append", "--ledger", str(finished.ledger))
    assert said.code == 0
