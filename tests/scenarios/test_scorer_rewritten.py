# SPDX-License-Identifier: Apache-2.0
"""Cheat: what is judged rewrites the program that judges it, once the plan has pinned that."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_project import SmallProject

CASES = "id,input,reference\n" + "".join(f"q{n},Question number {n}?,x\n" for n in range(6))
STRICT = "def grade(case, answer):\n    return 0\n"
BOT = """
import pathlib
pathlib.Path("own.py").write_text("def grade(case, answer):\\n    return 1\\n")
pathlib.Path("own.sh").write_text("echo '{\\"score\\": 1}'")
print("hello")
"""


@pytest.mark.parametrize("scorer", ["{type: python, callable: own.py:grade}", "{type: command, argv: [sh, own.sh]}"])
def test_scorer_that_the_model_rewrites_scores_nothing(tmp_path: Path, scorer: str) -> None:
    """The cells are unknown, the run stops, and nothing is accepted; a re-score by the pinned program says the same."""
    plan = (
        "trialplate: 1\nname: small\ntest_sets: [{file: cases/q.csv}]\nmodels:\n"
        f"  m: {{runner: command, argv: ['{sys.executable}', bot.py], subject: v1}}\n"
        f"repeats: 1\nrun: {{concurrency: 1}}\nscorers:\n  own: {scorer}\n"
        "pass_mark:\n  rules:\n    - {id: r, at_least: 0.5, of: own, basis: estimate}\n"
    )
    project = SmallProject.write(tmp_path, plan, CASES)
    for name, text in (("own.py", STRICT), ("own.sh", "echo '{\"score\": 0}'"), ("bot.py", BOT)):
        (project.root / name).write_text(text, encoding="utf-8")
    said = project("run", "--yes")
    assert said.code == 4
    assert project("gate", "latest", "--no-append").code == 1
    assert project.codes() == set()
    assert "is not the file that the plan pins" in project("report", "latest").out
