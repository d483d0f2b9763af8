# SPDX-License-Identifier: Apache-2.0
"""`report --output`: whole or not at all, never over what is signed, and never exit 0 without the file."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from run_project import Project, make_project

from trialplate.cli.main import main


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run."""
    made = make_project(tmp_path_factory.mktemp("output"))
    made.run()
    return made


@pytest.mark.parametrize(
    ("name", "begins"), [("r.md", "## ACC"), ("r.JSON", "{\n"), ("r.csv", "configuration,"), ("r.txt", "small: run")]
)
def test_output_tells_its_format_by_its_ending(project: Project, name: str, begins: str) -> None:
    """The file's name is enough; nothing else is printed on standard output."""
    assert main(["report", "-o", name]) == 0
    assert Path(name).read_text(encoding="utf-8").startswith(begins)
    assert [path.name for path in project.folder.iterdir() if "tmp" in path.name] == []


def test_output_format_wins_over_the_ending(project: Project) -> None:
    """`--format` is what was asked for."""
    assert main(["report", "-o", "r.txt", "--format", "json"]) == 0
    assert json.loads(Path("r.txt").read_text())["format"] == "trialplate-report/1"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "r.docx"], "--format"),
        (["-o", "report"], "--format"),
        (["--format", "markdwon"], "did you mean markdown"),
        (["-o", ".", "--format", "text"], "a folder stands there"),
        (["-o", "runs/r.md"], "nothing is written into runs/"),
        (["-o", "ledger/checkpoint", "--format", "text"], "nothing is written into ledger/"),
        (["-o", "cases/../ledger/entries.jsonl", "--format", "json"], "nothing is written into ledger/"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_output_that_cannot_be_meant_is_refused(project: Project, capsys: Any, arguments: list[str], told: str) -> None:
    """Exit 2 with one thing to do, and what is signed stays as it is."""
    before = (project.ledger / "checkpoint").read_bytes()
    assert main(["report", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert (project.ledger / "checkpoint").read_bytes() == before


def test_output_through_a_link_into_the_evidence_is_refused(project: Project) -> None:
    """A link does not lead around the refusal."""
    Path("elsewhere").symlink_to(project.ledger)
    assert main(["report", "-o", "elsewhere/r.md"]) == 2


def test_output_into_a_folder_that_is_not_there_is_no_success(project: Project, capsys: Any) -> None:
    """Case X01: a report that could not be written is never exit 0."""
    assert main(["report", "-o", "nowhere/r.md"]) == 4
    assert "nowhere/r.md" in capsys.readouterr().err


def test_output_that_does_not_fit_leaves_the_old_file(project: Project) -> None:
    """Case X01: no room for the new one: the old one stands whole, the exit code is 4."""
    Path("r.csv").write_text("old\n")

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    command = [sys.executable, "-c", "import sys; from trialplate.cli.main import main; sys.exit(main(sys.argv[1:]))"]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "report", "-o", "r.csv"], preexec_fn=little_room, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert Path("r.csv").read_text() == "old\n"
    assert sorted(path.name for path in project.folder.glob("*r.csv*")) == ["r.csv"]
    assert list(project.folder.glob(".r.csv*")) == []


def test_output_of_a_record_that_does_not_hold_is_not_written(project: Project) -> None:
    """Exit 3, whatever the format, and no file that could be taken for a report."""
    record = project.runs[0] / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"', 1))
    for name in ("r.md", "r.json", "r.csv", "r.txt"):
        assert main(["report", "-o", name]) == 3
        assert not Path(name).exists()


def test_report_that_is_refused_says_so_in_its_own_way(project: Project, capsys: Any) -> None:
    """A program gets an object, a table gets nothing; why is said, and the exit code is 3."""
    record = project.runs[0] / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"', 1))
    assert main(["report", "--json"]) == 3
    value = json.loads(capsys.readouterr().out)
    assert (value["refused"], value["verification"]["holds"]) == ("the evidence does not hold", False)
    assert "decisions" not in value
    for name in ("csv", "markdown"):
        assert main(["report", "--format", name]) == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert "NO REPORT" in err
    assert main(["report"]) == 3
    assert "NO REPORT" in capsys.readouterr().out


def test_output_to_a_device_is_written_and_not_replaced(project: Project) -> None:
    """A device stays a device."""
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True)
    assert main(["report", "-o", "pipe", "--format", "markdown"]) == 0
    assert reader.communicate()[0].startswith("## ACCEPTED")
    assert Path("pipe").is_fifo()


def test_json_is_the_format_json(project: Project, capsys: Any) -> None:
    """`--json` everywhere means one object on standard output."""
    assert main(["report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "trialplate-report/1"
