# SPDX-License-Identifier: Apache-2.0
"""ctrl-C while an answer is being scored: by a pattern that takes its time, and by a program that hangs."""

from __future__ import annotations

import json
from pathlib import Path

from processes import PATIENCE_S, alive, cut_short, start, wait_for
from small_project import SmallProject, plan_text

CASES = "id,input,reference\nq1,What?,x\n"
SLOW = json.dumps("a" * 40 + "b")


def project_of(folder: Path, scorer: str, repeats: int) -> SmallProject:
    """Return a project of one case, whose answer is scored by this."""
    models = f'  good: {{runner: stand-in, answers: {{"*": {SLOW}}}}}'
    plan = plan_text(models, repeats=repeats).replace("{type: contains, case_sensitive: false}", scorer)
    project = SmallProject.write(folder, plan, CASES)
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    return project


def test_interrupt_while_a_pattern_is_searched_ends_the_run(tmp_path: Path) -> None:
    """Case P15: each of a thousand searches takes its whole second; the run ends with the one under way, and verifies."""
    project = project_of(tmp_path, '{type: regex, pattern: "(a|aa)+$"}', 1000)
    process = start(project, "run", "--yes", "--jobs", "1")

    def one_was_scored() -> bool:
        records = list((project.root / "runs").glob("*/record.jsonl"))
        return bool(records) and b'"trial.end"' in records[0].read_bytes()

    wait_for(one_was_scored, process)
    cut_short(process)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in err) == (130, False)
    lines = [json.loads(line) for line in (project.last / "record.jsonl").read_bytes().splitlines()]
    ends = [line["body"] for line in lines if line["type"] == "trial.end"]
    assert ends[0]["cause"] == "scorer"
    assert "passed" not in {end["outcome"] for end in ends}
    assert lines[-1]["body"]["reason"] == "interrupted"
    assert project.codes() == set()


def test_interrupt_while_a_program_scores_leaves_nothing_of_it(tmp_path: Path) -> None:
    """The program is gone when the run is, and the trial is interrupted, not failed."""
    project = project_of(tmp_path, '{type: command, shell: "echo $$ > pid; exec sleep 600", timeout_s: 600}', 1)
    process = start(project, "run", "--yes")
    pid = project.root / "pid"
    wait_for(lambda: pid.exists() and pid.read_text().endswith("\n"), process)
    cut_short(process)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in err) == (130, False)
    wait_for(lambda: not alive(int(pid.read_text())))
    assert b'"cause":"interrupted"' in (project.last / "record.jsonl").read_bytes()
    assert project.codes() == set()
