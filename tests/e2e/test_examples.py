# SPDX-License-Identifier: Apache-2.0
"""Every committed run verifies with today's code, by the keys of this repository: what was once signed must for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trialplate.record import codec
from trialplate.record.decisions import Decision
from trialplate.rules.fitting import alike

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/ledger"))
TRUST = [word for key in sorted(ROOT.glob("keys/*.pub")) for word in ("--trust", f"keys/{key.name}")]


def say(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the auditor's program as somebody who knows nothing but the repository."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
    program = [sys.executable, "-m", "trialplate.verify", *words]
    return subprocess.run(program, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120)


def test_examples_are_there() -> None:
    """An empty list of examples would pass every test below."""
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_committed_run_verifies_at_a1_with_every_check_made(example: Path, tmp_path: Path) -> None:
    """Nothing is found, and only the rollback check, which needs a memory, could not be made."""
    done = say(tmp_path, "verify", str(example), *TRUST, "--json")
    reports = json.loads(done.stdout)

    assert done.returncode == 0, done.stdout
    assert len(reports) > 1
    for report in reports[1:]:
        assert (report["holds"], report["level"], report["findings"]) == (True, "A1", [])
        assert [check["id"] for check in report["checks"] if check["status"] != "PASS"] == ["V06"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_committed_decisions_are_derived_again(example: Path, tmp_path: Path) -> None:
    """Each decision that the ledger states is what gate comes to today."""
    lines = (example / "ledger" / "entries.jsonl").read_text(encoding="utf-8").splitlines()
    stated = [entry["body"] for entry in map(json.loads, lines) if entry["type"] == "decision"]

    assert stated
    for body in stated:
        run = example / "runs" / body["run_id"]
        done = say(tmp_path, "gate", str(run), "--model", body["configuration"], *TRUST, "--json")
        derived = codec.decode(Decision, json.loads(done.stdout)["decision"])
        assert alike(codec.decode(Decision, body), derived)  # bounds to 1e-9, all else to the last fraction
        assert done.returncode == (0 if body["decision"] == "accepted" else 1)
