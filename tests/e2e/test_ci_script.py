# SPDX-License-Identifier: Apache-2.0
"""G10: the script for pipelines posts its report and still ends with the gate's answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "ci" / "gate.sh"


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """A copy of the committed run that was decided by bounds."""
    shutil.copytree(ROOT / "examples" / "sums", tmp_path / "sums")
    return tmp_path / "sums"


def run(folder: Path, command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in the project, as a pipeline's step does."""
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TRIALPLATE_HOME": str(folder.parent / "home"),
        "TRIALPLATE_TRUST": str(ROOT / "keys" / "examples-bounds.pub"),
        **environ,
    }
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=own, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(("model", "code"), [("good", 0), ("fair", 1), ("poor", 1), ("gud", 2)])
def test_script_ends_with_the_answer_of_the_gate(committed: Path, model: str, code: int) -> None:
    """Also where its output goes through a pipe: the report is there, and the answer is not lost."""
    for line in (f"bash {SCRIPT} latest {model}", f"set -o pipefail; bash {SCRIPT} latest {model} | tee step.txt"):
        done = run(committed, line, SUMMARY="summary.md")
        assert done.returncode == code, done.stderr
    assert "REJECTED `poor`" in (committed / "summary.md").read_text()


def test_script_does_not_pass_what_cannot_be_trusted(committed: Path) -> None:
    """One metric turned: exit 3, whatever the report says."""
    record = next(committed.glob("runs/*/record.jsonl"))
    record.write_bytes(record.read_bytes().replace(b'"correct":0', b'"correct":1', 1))
    assert run(committed, f"bash {SCRIPT} latest good").returncode == 3
