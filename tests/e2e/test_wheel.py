# SPDX-License-Identifier: Apache-2.0
"""The built wheel in a fresh environment, as a user types it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this tree."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new environment that borrows this one's dependencies; returns its bin folder."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    (site,) = folder.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, "--prefix", str(folder), "--ignore-installed", str(wheel)], check=True, timeout=120)
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder / "bin"


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the console script of the fresh environment."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "TRIALPLATE_HOME": str(folder / "home")}
    program = [str(installed / "python"), str(installed / "trialplate"), *words]
    return subprocess.run(program, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


def test_wheel_holds_the_starters_and_no_tests(wheel: Path) -> None:
    """The starters' data files are in the wheel; nothing else than the package is."""
    names = zipfile.ZipFile(wheel).namelist()

    for name in ("trialplate.yaml", "contract.md", "README.md", "cases/contract.csv", "cassettes/smollm2.jsonl"):
        assert f"trialplate/starters/demo/{name}" in names
    for name in ("shared/contract.md", "shared/cases/contract.csv", "openai/trialplate.yaml", "openai/README.md"):
        assert f"trialplate/starters/{name}" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"trialplate"}


def test_wheel_in_a_fresh_environment_does_the_main_job(installed: Path, tmp_path: Path) -> None:
    """init, run, gate and verify from the installed console script: one accepted, one rejected, all verified."""
    assert run(installed, tmp_path, "init", "demo", "project").returncode == 0
    project = tmp_path / "project"
    environ_home = tmp_path / "home"
    (project / "home").symlink_to(environ_home)

    ran = run(installed, project, "run", "--yes")
    accepted = run(installed, project, "gate", "latest", "--model", "smollm2/with-contract")
    rejected = run(installed, project, "gate", "latest", "--model", "smollm2/from-memory")
    verified = run(installed, project, "verify", "latest")

    codes = [done.returncode for done in (ran, accepted, rejected, verified)]
    assert codes == [0, 0, 1, 0], ran.stderr + accepted.stderr + verified.stdout
    assert accepted.stdout.startswith("ACCEPTED smollm2/with-contract")
    assert rejected.stdout.startswith("REJECTED smollm2/from-memory")
    assert "HOLDS: 20 checks passed, 0 could not be made" in verified.stdout


def test_wheel_version_is_that_of_the_package(installed: Path, tmp_path: Path) -> None:
    """What the console script prints is what the wheel's metadata says."""
    done = run(installed, tmp_path, "--version")
    asked = "import importlib.metadata as m; print(m.version('trialplate'))"
    said = subprocess.run([installed / "python", "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["trialplate", said.stdout.strip()]
