# SPDX-License-Identifier: Apache-2.0
"""A real project on disk, run in this process: key, ledger, runs. No network, no mock."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from trialplate.engine.prepare import prepare
from trialplate.engine.run import Finished, run_prepared
from trialplate.ledger.create import init_ledger
from trialplate.ledger.keys import LedgerKey, load_signer, new_key
from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.record.entries import Narrowing
from trialplate.verify.findings import Report
from trialplate.verify.known import config_folder, read_known
from trialplate.verify.ledger_view import LedgerView, Reader, read_ledger
from trialplate.verify.locate import Found
from trialplate.verify.procedure import Verified, verify

PLAN = """\
trialplate: 1
name: small
test_sets:
  - file: cases/q.csv
models:
  good: {runner: stand-in, answers: {q1: "It is Paris, as far as I know.", q2: "four, or 4", q3: "the sky is blue"}, pricing: free}
  bad: {runner: stand-in, answers: {q1: "London", q2: "5", q3: "red"}}
repeats: 2
scorers:
  correct: {type: contains, case_sensitive: false}
pass_mark:
  rules:
    - {id: correct, at_least: 0.85, of: correct, basis: estimate}
    - {id: critical, must_pass: {tag: critical}, require: all}
"""
CASES = """\
id,input,reference,tags
q1,What is the capital of France?,Paris,critical
q2,How much is two and two?,4,arithmetic
q3,What colour is a clear sky?,blue,
"""


@dataclass
class Project:
    """A project's folder and the configuration folder of its owner."""

    folder: Path
    home: Path

    def copied(self, to: Path) -> Project:
        """Return a copy of it in a folder."""
        shutil.copytree(self.folder, to / "project")
        shutil.copytree(self.home, to / "home")
        return Project(to / "project", to / "home")

    @property
    def environ(self) -> dict[str, str]:
        """The environment in which its commands run."""
        return {"TRIALPLATE_HOME": str(self.home), "PATH": os.environ.get("PATH", "")}

    @property
    def ledger(self) -> Path:
        """The ledger's folder."""
        return self.folder / "ledger"

    @property
    def runs(self) -> list[Path]:
        """The run folders, oldest first."""
        return sorted((self.folder / "runs").iterdir())

    def write(self, plan: str = PLAN, **files: str) -> None:
        """Write the author's files."""
        (self.folder / "cases").mkdir(parents=True, exist_ok=True)
        (self.folder / "trialplate.yaml").write_text(plan, encoding="utf-8")
        (self.folder / "cases" / "q.csv").write_text(files.get("cases", CASES), encoding="utf-8")

    def begin(self) -> None:
        """Make a key and a ledger."""
        new_key("tester", self.home)
        init_ledger(self.ledger, "small", self.key(), config_folder(self.environ))

    def key(self) -> LedgerKey:
        """Return the signing key."""
        return load_signer("tester", self.environ)

    def view(self) -> LedgerView:
        """Return the ledger, which must hold."""
        report = Report("ledger")
        view = read_ledger(self.ledger, Reader(known=read_known(self.home)), report)
        assert view is not None, report.findings
        assert report.holds, report.findings
        return view

    def writer(self) -> LedgerWriter:
        """Return the ledger's writer."""
        return LedgerWriter(self.ledger, self.key().signer, self.home)

    def run(self, *, narrowing: Narrowing | None = None, at_once: int = 2) -> Finished:
        """Run the plan."""
        prepared = prepare(self.folder / "trialplate.yaml", self.key().secret, narrowing=narrowing)
        return run_prepared(prepared, self.view(), self.writer(), self.key(), self.environ, at_once=at_once)

    def verify(self, run: Path | None = None, *, alone: bool = False, reader: Reader | None = None) -> Verified:
        """Verify the ledger, or a run with it, or a run alone."""
        ledger = None if alone else self.ledger
        return verify(Found(ledger, run), reader or Reader(known=read_known(self.home)))


def make_project(root: Path, plan: str = PLAN, cases: str = CASES) -> Project:
    """Return a project with its ledger begun and nothing run."""
    project = Project(root / "project", root / "home")
    project.write(plan, cases=cases)
    project.begin()
    return project
