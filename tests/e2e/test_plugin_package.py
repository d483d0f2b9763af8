# SPDX-License-Identifier: Apache-2.0
"""The example plugin as its author ships it: a wheel, installed beside ours in a fresh environment, and used in a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"
NAMES = {
    ("runners", "sentences"): "trialplate_sentences.runner:SentenceRunner",
    ("scorers", "token-f1"): "trialplate_sentences.scorer:TokenF1",
    ("loaders", "qa-pairs"): "trialplate_sentences.loader:load_pairs",
    ("loaders", ".qa"): "trialplate_sentences.loader:load_pairs",
    ("reports", "tap"): "trialplate_sentences.report:render",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both wheels, and install them into a new environment that borrows this one's other packages."""
    out, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("fresh")
    source = out / "plugin"  # a build writes beside the source
    shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("__pycache__"))
    for tree in (ROOT, source):
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(tree)]
        subprocess.run(build, check=True, capture_output=True, timeout=300)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    (site,) = folder.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    wheels = [str(wheel) for wheel in out.glob("*.whl")]
    subprocess.run([*pip, "--prefix", str(folder), "--ignore-installed", *wheels], check=True, timeout=120)
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder / "bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example's project, as a reader would copy it."""
    shutil.copytree(PLUGIN / "project", tmp_path / "project")
    return tmp_path / "project"


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the console script of the fresh environment."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "TRIALPLATE_HOME": str(folder.parent / "home")}
    program = [str(installed / "python"), str(installed / "trialplate"), *words]
    return subprocess.run(program, cwd=folder, env=environ, capture_output=True, text=True, timeout=120)


def test_listing_names_package_version_and_source(installed: Path, tmp_path: Path) -> None:
    """Of every name, the built-in ones too; nothing is loaded."""
    told = json.loads(run(installed, tmp_path, "plugins", "--json").stdout)["plugins"]
    found = {(item["group"], item["name"]): item for item in told if item["package"] == "trialplate-sentences"}
    assert {key: item["source"] for key, item in found.items()} == NAMES
    assert {item["version"] for item in found.values()} == {"1.0.0"}
    assert {item["group"] for item in told if item["package"] == "trialplate"} >= {"runners", "scorers", "loaders"}
    assert "trialplate-sentences" in run(installed, tmp_path, "plugins").stdout


def test_plugin_of_all_four_kinds_takes_part_in_a_real_run(installed: Path, project: Path) -> None:
    """Its loader reads the cases, its runner answers, its scorer scores, its report tells; the record holds."""
    validated, ran = run(installed, project, "validate"), run(installed, project, "run", "--yes")
    assert (validated.returncode, ran.returncode) == (0, 0), validated.stderr + ran.stderr
    assert "not pinned: baseline: what trialplate-sentences 1.0.0 reads or calls" in validated.stdout
    told = run(installed, project, "report", "--format", "tap").stdout.splitlines()
    assert told[:2] == ["TAP version 14", "1..6"]
    assert [line.partition(" ")[0] for line in told[2:]] == ["ok"] * 6
    gated = run(installed, project, "gate", "latest", "--model", "baseline")
    assert gated.returncode == 0, gated.stdout
    assert run(installed, project, "verify", "latest").returncode == 0
    (plan,) = (json.loads(path.read_bytes()) for path in project.glob("runs/*/plan.json"))
    (model,), (scorer,) = plan["configurations"], plan["scorers"]
    assert (model["runner"], model["plugin"]) == ("sentences", "trialplate-sentences 1.0.0")
    assert model["settings"] == {"model": "baseline", "options": {"sentences": 1}}
    assert (scorer["plugin"], scorer["metric"], scorer["also"]) == ("trialplate-sentences 1.0.0", "f1", ["recall"])
    assert any(line.startswith("questions.qa: what trialplate-sentences 1.0.0") for line in plan["unpinned"])


def test_plugin_scorer_is_run_again_only_where_code_may_run(installed: Path, project: Path) -> None:
    """`verify --rescore` runs nothing of a package; with --run-code it does, and comes to the same."""
    assert run(installed, project, "run", "--yes").returncode == 0
    plain = run(installed, project, "verify", "latest", "--rescore")
    again = run(installed, project, "verify", "latest", "--rescore", "--run-code")
    assert "V21 SKIP" in plain.stdout
    assert "overlap (token-f1) was not run: --run-code runs it" in plain.stdout
    assert "V21 PASS answers scored again: 6 answers scored again, as recorded" in again.stdout, again.stdout


def test_other_version_of_the_package_does_not_go_on_with_a_run(installed: Path, project: Path) -> None:
    """What the plan was made with is what runs it."""
    assert run(installed, project, "run", "--yes").returncode == 0
    (site,) = installed.parent.glob("lib/python*/site-packages")
    metadata = next(site.glob("trialplate_sentences-*.dist-info")) / "METADATA"
    text = metadata.read_text()
    metadata.write_text(text.replace("Version: 1.0.0", "Version: 1.0.1"))
    try:
        done = run(installed, project, "resume", "latest")
    finally:
        metadata.write_text(text)
    assert done.returncode == 2
    assert (
        "that of trialplate-sentences 1.0.1 now, and the plan was made with trialplate-sentences 1.0.0" in done.stderr
    )


def test_misspelt_option_and_name_are_told(installed: Path, project: Path) -> None:
    """Before anything runs, with the nearest of what the plugin takes."""
    plan = project / "trialplate.yaml"
    text = plan.read_text()
    plan.write_text(text.replace("{sentences: 1}", "{sentence: 1}"))
    told = run(installed, project, "validate").stderr
    assert 'trialplate.yaml:5:15: unknown option "sentence"' in told
    assert 'did you mean "sentences"?' in told
    plan.write_text(text.replace("runner: sentences", "runner: sentence"))
    told = run(installed, project, "validate").stderr
    assert 'did you mean "sentences"?' in told
