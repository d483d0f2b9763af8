# SPDX-License-Identifier: Apache-2.0
"""A ledger in a folder of its own, as the tests of this folder see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialplate.ledger import keys
from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.ledger.log_writer import SetAside
from trialplate.verify.findings import Report
from trialplate.verify.known import read_known
from trialplate.verify.ledger_view import LedgerView, Reader, read_ledger

TIME = "2026-11-30T09:00:00.000Z"
RUN = "20261130T090000000Z-0123abcd"


@dataclass
class Project:
    """The folders of a project, its key, and what was set aside."""

    folder: Path
    config: Path
    key: keys.LedgerKey
    origin: str
    moved: list[SetAside]
    time: str = TIME
    """What the clock says."""

    @property
    def entries(self) -> Path:
        """The log's lines."""
        return self.folder / "entries.jsonl"

    @property
    def checkpoint(self) -> Path:
        """The log's newest note."""
        return self.folder / "checkpoint"

    def writer(self) -> LedgerWriter:
        """A writer that does not wait long for a lock."""
        return LedgerWriter(
            self.folder,
            self.key.signer,
            self.config,
            clock=lambda: self.time,
            on_set_aside=self.moved.append,
            lock_timeout_s=0.05,
        )

    def read(self) -> LedgerView:
        """Read the ledger as a verifier does; it must hold."""
        report = Report("ledger")
        view = read_ledger(self.folder, Reader(known=read_known(self.config)), report)
        assert report.holds, report.findings
        assert view is not None
        return view


def waiver(reason: object = "a reason") -> dict[str, str]:
    """The body of the shortest entry there is."""
    return {"run_id": RUN, "reason": str(reason)}
