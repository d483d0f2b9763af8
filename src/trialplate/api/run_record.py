# SPDX-License-Identifier: Apache-2.0
"""`RunRecord` and `render`: what a run came to, derived each time from its verified evidence, never kept beside it."""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trialplate.engine.project import append_decisions, open_ledger
from trialplate.engine.resume import resume_run
from trialplate.engine.session import Finished
from trialplate.errors import StorageError, UsageError, VerificationError
from trialplate.ledger.durable import replacing, storage
from trialplate.ledger.record_writer import record_lock
from trialplate.record import codec
from trialplate.record.decisions import Decision
from trialplate.reports.formats import report_format
from trialplate.reports.json_report import report_object
from trialplate.reports.reported import Reported, gather
from trialplate.verify.cli import reader_of
from trialplate.verify.gate import Gate, configuration_named
from trialplate.verify.locate import Found, find_with_ledger
from trialplate.verify.log_file import MAX_NOTE, read_small
from trialplate.verify.procedure import verify

__all__ = ["FORMAT", "RunRecord", "render"]

FORMAT = "trialplate-run-record/1"
TRIES = 5
"""How often a decision is derived anew because the ledger moved meanwhile."""


class RunRecord:
    """A run and its signed record.

    Args:
        folder: the run's folder, in `runs/` of its project.
        reason: why the run ended; of one that is opened again, it is read from the record.
        warnings: what freezing its plan warned of.
        temporary: the project goes when this object does.
    """

    def __init__(
        self, folder: Path, *, reason: str | None = None, warnings: Sequence[str] = (), temporary: bool = False
    ) -> None:
        self.folder = folder
        """Of the run: plan.json, record.jsonl, checkpoint, content.jsonl."""
        self.warnings = tuple(warnings)
        self._reason = reason
        project = folder.parent.parent
        self._gone = weakref.finalize(self, shutil.rmtree, project, ignore_errors=True) if temporary else None

    @classmethod
    def open(cls, run: str | os.PathLike[str]) -> RunRecord:
        """Return the record of a run by its folder, its id, the beginning of one, or "latest" in the project here.

        Raises:
            UsageError: there is no such run, or its ledger is not there.
        """
        folder, ledger = find_with_ledger(str(run), Path.cwd(), None)
        if ledger is None or ledger != folder.parent.parent / "ledger":
            raise UsageError("this record stands without its ledger", where=str(run), hint="open it in its project")
        return cls(folder)

    @property
    def run_id(self) -> str:
        """The run's id, which is its folder's name."""
        return self.folder.name

    @property
    def project(self) -> Path:
        """The project's folder: trialplate.yaml, ledger/, runs/, keys/."""
        return self.folder.parent.parent

    @property
    def reason(self) -> str:
        """Why it ended: complete, interrupted, infrastructure, budget or time."""
        if self._reason is None:
            self._reason = self._reported().state.reason or "interrupted"
        return self._reason

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decision on each candidate, derived now; nothing is appended.

        Raises:
            VerificationError: the evidence does not hold.
        """
        return self._reported().decisions

    @property
    def chosen(self) -> str | None:
        """The configuration that the pass mark chooses; None if it chooses none, or cannot tell."""
        choices = [item.choice for item in self.decisions if item.choice is not None]
        return choices[0].chosen if choices else None

    def gate(self, model: str | None = None, *, append: bool = True) -> Decision:
        """Verify, decide on a configuration, and append the decision to the ledger, as `trialplate gate` does.

        Args:
            model: NAME or NAME/PROFILE; not needed where there is one candidate.
            append: False decides without writing.

        Returns:
            The decision; its `decision` is "accepted", "rejected" or "inconclusive", and only the first is a yes.

        Raises:
            UsageError: there is no such candidate.
            VerificationError: the evidence does not hold.
        """
        for _ in range(TRIES):
            gate = self._gate()
            decision = gate.decide(configuration_named(gate.record, model))
            if not append:
                return decision
            try:
                list(append_decisions(gate.ledger, [decision]))
                return decision
            except StorageError as error:
                if error.code != "LEDGER-MOVED":
                    raise
                moved = error
        raise moved

    def resume(
        self, *, runners: Mapping[str, Any] | None = None, scorers: Mapping[str, Any] | Sequence[Any] = ()
    ) -> RunRecord:
        """Go on with what is unknown, as `trialplate resume` does, with the objects that the run began with.

        Args:
            runners, scorers: as `run_trial` takes them; only objects are looked at.

        Raises:
            SpecError: an object is missing, or is another than it was; nothing was written.
        """
        from trialplate.api.trial import apart, objects_of

        own, _, _ = objects_of(runners, scorers)
        with record_lock(self.folder):
            view, writer, key = open_ledger(self.project / "ledger")
            done = apart(lambda watch: resume_run(self.folder, view, writer, key, os.environ, own=own, watch=watch))
        if isinstance(done, Finished):
            self._reason = done.reason
        return self

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run as one JSON object (docs/reference/python.md), and return its path.

        A temporary project is copied beside it, into a folder of its name without the ending, and lives there from
        then on: the file is a report, the folder the evidence.

        Raises:
            UsageError: something stands where the project would go.
            VerificationError: the evidence does not hold.
            StorageError: it could not be written.
        """
        goal = Path(path).absolute()
        text = json.dumps(self._object(), indent=2, sort_keys=True, allow_nan=False)
        if self._gone is not None:
            self._settle(goal.with_suffix("") if goal.suffix else goal.with_name(f"{goal.name}.project"))
        with storage(goal.parent, "made"):
            goal.parent.mkdir(parents=True, exist_ok=True)
        with replacing(goal) as write:
            write(text + "\n")
        return goal

    def _settle(self, goal: Path) -> None:
        """Move out of the temporary folder."""
        if goal.exists():
            raise UsageError("something stands here already", where=str(goal), hint="save under another name")
        with storage(goal, "copied"):
            shutil.copytree(self.project, goal)
        gone, self._gone = self._gone, None
        self.folder = goal / "runs" / self.run_id
        if gone is not None:
            gone()

    def _object(self) -> dict[str, Any]:
        reported = self._reported(by_tag=True)
        gate = reported.gate
        return {
            "format": FORMAT,
            "run_id": self.run_id,
            "origin": f"{gate.ledger.origin}/run/{self.run_id}",
            "checkpoint": read_small(self.folder / "checkpoint", "checkpoint", MAX_NOTE).decode(),
            "ledger": {"origin": gate.ledger.origin, "checkpoint": gate.ledger.signed.note.decode()},
            "decisions": [codec.to_json(item) for item in reported.decisions],
            "report": report_object(reported),
        }

    def _gate(self) -> Gate:
        """Return the gate of the verified run.

        Raises:
            VerificationError: the first finding.
        """
        done = verify(Found(self.project / "ledger", self.folder), reader_of(os.environ))
        done.report.require()
        if done.gate is None:
            hint = "run it again: nothing was asked"
            raise VerificationError("the run has no signed record", where=self.run_id, hint=hint)
        return done.gate

    def _reported(self, *, by_tag: bool = False, failures: int = 5) -> Reported:
        return gather(self._gate(), by_tag=by_tag, shown=failures)

    def __repr__(self) -> str:
        return f"<RunRecord {self.run_id}>"


def render(record: RunRecord, format: str = "text", *, by_tag: bool = False, failures: int = 5) -> str:  # noqa: A002
    """Return a report on a run: text, markdown, json, csv, or a format of an installed package.

    Args:
        by_tag: also the numbers of each tag.
        failures: how many failed trials of each configuration are shown.

    Raises:
        SpecError: there is no such format.
        VerificationError: the evidence does not hold.
    """
    lines = report_format(format)
    return "".join(f"{line}\n" for line in lines(record._reported(by_tag=by_tag, failures=failures)))
