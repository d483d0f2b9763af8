# SPDX-License-Identifier: Apache-2.0
"""The report that people read: the decision first, nothing left out, nothing that a terminal would act on."""

from __future__ import annotations

import shutil
from typing import Any

from run_project import Project

from trialplate.cli.report import ReportOptions, show_report
from trialplate.record.entries import Narrowing
from trialplate.reports.reported import gather
from trialplate.reports.terminal import aligned, render


def lines(project: Project, run: Any = None, **fields: Any) -> list[str]:
    """Render a report without its content."""
    gate = project.verify(run or project.runs[0]).gate
    assert gate is not None
    return list(render(gather(gate, **{"by_tag": False, "shown": 5, "withhold": True, **fields})))


def test_report_says_decision_table_and_failures(made: Project) -> None:
    """What was decided and why, with how much, then every configuration's numbers, then what failed."""
    text = "\n".join(lines(made))
    assert "complete: 12 trials in 12 attempts" in text
    assert "ACCEPTED good" in text
    assert "REJECTED bad" in text
    assert "correct at least 0.85: 1.0000 over 6 cells of 3 cases; it holds" in text
    assert "must pass; it does not hold (case_failed; q1)" in text
    assert "level: A1" in text
    assert "checkpoint: small-" in text
    assert text.index("ACCEPTED good") < text.index("\nconfiguration ") < text.index("failed: bad q1")


def test_report_by_tag_has_a_line_per_tag_and_configuration(made: Project) -> None:
    """Each tag with the number of its cases; what has no tag is not forgotten."""
    found = [line.split() for line in lines(made, by_tag=True)]
    rows = {
        (row[0], row[2]): row[1] for row in found if len(row) > 4 and row[2] in ("good", "bad") and row[1].isdigit()
    }
    assert rows == {(tag, name): "1" for tag in ("(untagged)", "arithmetic", "critical") for name in ("good", "bad")}


def test_report_shows_so_many_failures_and_counts_the_rest(made: Project) -> None:
    """The rest is told, with how to see it."""
    found = lines(made, shown=2)
    assert sum(line.startswith("failed") for line in found) == 2
    assert any("and 4 more of bad; --failures N shows more" in line for line in found)


def test_report_of_a_pilot_says_that_it_never_decides(made: Project, tmp_path: Any) -> None:
    """A pilot is called one in the first line, and listed in the reports of others."""
    project = Project(tmp_path / "project", tmp_path / "home")
    shutil.copytree(made.folder, project.folder)
    shutil.copytree(made.home, project.home)
    project.run(narrowing=Narrowing(limit=1))
    pilot, whole = lines(project, project.runs[-1]), lines(project, project.runs[0])
    assert "(a pilot: it never decides)" in pilot[0]
    assert any(f"pilots in this ledger: {project.runs[-1].name}" in line for line in whole)


def test_report_answers_are_shown_and_never_sent(made: Project, monkeypatch: Any, capsys: Any) -> None:
    """X06: an answer that would clear the line and colour it is printed as escapes."""
    monkeypatch.chdir(made.folder)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    assert show_report("latest", ReportOptions(by_tag=True, failures=50), None) == 0
    out = capsys.readouterr().out
    assert "answer: \\x1b[31mPASS\\x1b[0m\\x1b[2K\\r \\u202e no" in out
    assert "why: correct: " in out
    assert all(char.isprintable() or char == "\n" for char in out)


def test_report_without_content_says_withheld(made: Project, tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
    """Who was not given the content still reads the decision, and sees what is withheld."""
    shutil.copytree(made.folder, tmp_path / "project")
    project = Project(tmp_path / "project", made.home)
    (project.runs[0] / "content.jsonl").unlink()
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
    assert show_report("latest", ReportOptions(), None) == 0
    out = capsys.readouterr().out
    assert "answer: withheld" in out
    assert "ACCEPTED good" in out
    assert "London" not in out


def test_report_of_a_record_that_does_not_hold_is_none(
    made: Project, tmp_path: Any, monkeypatch: Any, capsys: Any
) -> None:
    """Numbers of a damaged record are not shown; the exit code is 3."""
    shutil.copytree(made.folder, tmp_path / "project")
    project = Project(tmp_path / "project", made.home)
    record = project.runs[0] / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"outcome":"failed"', b'"outcome":"passed"', 1))
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
    assert show_report("latest", ReportOptions(), None) == 3
    out = capsys.readouterr().out
    assert "NO REPORT" in out
    assert "ACCEPTED" not in out


def test_aligned_columns_keep_their_width_whatever_stands_in_them() -> None:
    """Names with control characters take the room that is shown."""
    found = list(aligned([["name", "n"], ["a\x1b", "1"], ["long name", "22"]]))
    assert found == ["name        n", "a\\x1b       1", "long name  22"]
