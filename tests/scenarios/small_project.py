# SPDX-License-Identifier: Apache-2.0
"""A small project for scenarios: four cases, two scripted configurations, two repeats; driven through the front door.

Everything goes through `trialplate.cli.main.main`, in this process, with a configuration folder of its own. It calls
nobody and shares nothing with the user's own keys.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from trialplate.cli.main import main

__all__ = ["ANSWERS_GOOD", "CASES", "SmallProject", "Said", "plan_text"]

CASES = """id,input,reference,tags
q1,What is the capital of France?,Paris,geo;critical
q2,How much is two and two?,4,math
q3,What colour is the sky on a day without clouds?,blue,
q4,How many legs has a spider that lost none?,8,math
"""
ANSWERS_GOOD = '{q1: "Paris", q2: ["four", "4"], q3: "blue", q4: "8 legs"}'
ANSWERS_BAD = '{q1: "London", q2: "5", q3: "red", q4: "six of them"}'

_PRIVATE = ("TRIALPLATE_KEY", "TRIALPLATE_KEY_FILE", "TRIALPLATE_TRUST")


def plan_text(
    models: str | None = None,
    *,
    repeats: int = 2,
    mark: str = "0.75",
    rules: str = "",
    evidence: str = "",
    extra: str = "",
) -> str:
    """Return a plan as its author writes it.

    Args:
        models: the lines below `models:`, two spaces in; the two scripted ones by default.
        mark: what the metric `correct` must reach.
        rules: further lines of rules.
        evidence: the value of `evidence:`, if there is one.
        extra: further lines at the end.
    """
    if models is None:
        models = f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}\n  bad: {{runner: stand-in, answers: {ANSWERS_BAD}}}"
    shown = f"  evidence: {evidence}\n" if evidence else ""
    return (
        "trialplate: 1\nname: small\ntest_sets:\n  - file: cases/q.csv\n"
        f"models:\n{models}\nrepeats: {repeats}\n"
        "scorers:\n  correct: {type: contains, case_sensitive: false}\n"
        f"pass_mark:\n{shown}  rules:\n    - {{id: correct, at_least: {mark}, of: correct, basis: estimate}}\n{rules}{extra}"
    )


CRITICAL = "    - {id: crit, must_pass: {tag: critical}, require: all}\n"


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the object on standard output."""
        return json.loads(self.out)


@dataclass(frozen=True)
class SmallProject:
    """A project folder and the configuration folder of its user."""

    root: Path
    home: Path

    @classmethod
    def write(cls, folder: Path, plan: str = "", cases: str = CASES) -> SmallProject:
        """Write the author's files into `folder`/project; nothing is run."""
        root = folder / "project"
        (root / "cases").mkdir(parents=True)
        (root / "cases" / "q.csv").write_text(cases, encoding="utf-8")
        made = cls(root, folder / "home")
        made.set_plan(plan or plan_text(rules=CRITICAL))
        return made

    def set_plan(self, plan: str) -> None:
        """Write trialplate.yaml."""
        (self.root / "trialplate.yaml").write_text(plan, encoding="utf-8")

    def copy_to(self, folder: Path) -> SmallProject:
        """Return an independent copy, with its user's keys and memory."""
        shutil.copytree(self.root, folder / "project")
        shutil.copytree(self.home, folder / "home")
        return SmallProject(folder / "project", folder / "home")

    def as_stranger(self, folder: Path) -> SmallProject:
        """Return the same project as somebody sees it who has no key and has seen no checkpoint."""
        return SmallProject(self.root, folder / "stranger")

    def __call__(self, *arguments: str, **environ: str) -> Said:
        """Run a command of trialplate in the project's folder."""
        out, err = io.StringIO(), io.StringIO()
        with self.environment(**environ), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code: Any = main(list(arguments))
            except SystemExit as ended:  # argparse ends the process itself
                code = ended.code
        return Said(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue())

    @contextlib.contextmanager
    def environment(self, **environ: str) -> Iterator[None]:
        """Stand in the project's folder with its user's environment, and nobody else's keys."""
        with contextlib.chdir(self.root), patch.dict(os.environ, {"TRIALPLATE_HOME": str(self.home), **environ}):
            for name in _PRIVATE:
                if name not in environ:
                    os.environ.pop(name, None)
            yield

    def run(self, *flags: str, expect: int = 0, **environ: str) -> str:
        """Run the plan and return the run's id."""
        said = self("run", "--yes", *flags, **environ)
        assert said.code == expect, said.err
        return said.out.strip()

    @property
    def ledger(self) -> Path:
        """The ledger's folder."""
        return self.root / "ledger"

    @property
    def runs(self) -> list[Path]:
        """The run folders, oldest first."""
        return sorted(path for path in (self.root / "runs").iterdir() if path.is_dir())

    @property
    def last(self) -> Path:
        """The newest run's folder."""
        return self.runs[-1]

    def types(self) -> list[str]:
        """Return the types of the ledger's entries."""
        return [json.loads(line)["type"] for line in (self.ledger / "entries.jsonl").read_bytes().splitlines()]

    def codes(self, *arguments: str) -> set[str]:
        """Verify, and return the codes of everything found against the evidence; notes are left out."""
        said = self("verify", "--json", *arguments)
        found = {item["code"] for report in said.json for item in report["findings"] if item["severity"] == "finding"}
        assert said.code == (3 if found else 0), (said.code, found)
        return found

    def notes(self, *arguments: str) -> set[str]:
        """Verify, and return the codes of the notes."""
        reports = self("verify", "--json", *arguments).json
        return {item["code"] for report in reports for item in report["findings"] if item["severity"] == "note"}

    def status(self, check: str) -> str:
        """Return what the newest run's verification says of a check."""
        checks = self("verify", "--json", str(self.last)).json[0]["checks"]
        return str(next(item["status"] for item in checks if item["id"] == check))
