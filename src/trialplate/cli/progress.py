# SPDX-License-Identifier: Apache-2.0
"""What a person sees on stderr while a run goes on: a line that is redrawn on a terminal, one now and then off it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from trialplate.engine.commits import Commitments
from trialplate.engine.session import Finished
from trialplate.engine.tally import Tally
from trialplate.record.entries import TrialEnd
from trialplate.record.matrix import Matrix
from trialplate.verify.findings import counted
from trialplate.verify.locate import ledger_above
from trialplate.verify.output import tell

__all__ = ["Progress"]

REDRAW_S = 0.1
LINE_EVERY_S = 10.0


class Progress:
    """Tells how far a run has come."""

    def __init__(self, matrix: Matrix, *, pilot: bool, quiet: bool) -> None:
        self.matrix, self.pilot, self.quiet = matrix, pilot, quiet
        self.redraws = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.last = time.monotonic()

    def started(self, run_id: str, commitments: Commitments) -> None:
        """Say which run began, and what was committed before it."""
        if self.quiet:
            return
        for what in commitments.made:
            tell(f"committed the {what} to the ledger")
        pilot = " (a pilot: it never decides)" if self.pilot else ""
        tell(f"run {run_id}: {counted(self.matrix.size, 'trial')}{pilot}")

    def ended(self, end: TrialEnd, tally: Tally) -> None:
        """Say how far it is, not more often than a reader can follow."""
        now = time.monotonic()
        every = REDRAW_S if self.redraws else LINE_EVERY_S
        if self.quiet or now - self.last < every:
            return
        self.last = now
        line = _line(tally)
        tell(f"\r\x1b[2K{line}" if self.redraws else line, end="" if self.redraws else "\n")

    def finished(self, finished: Finished) -> None:
        """Say how it ended, and what to type next."""
        if self.quiet:
            return
        if self.redraws:
            tell("\r\x1b[2K", end="")
        counts = finished.counts
        told = ", ".join(
            f"{number} {word}"
            for word in ("passed", "failed", "limit", "error", "skipped", "absent")
            if (number := getattr(counts, word)) or word in ("passed", "failed")
        )
        tell(
            f"{finished.reason}: {told} of {counted(counts.planned, 'trial')} in {counted(counts.attempts, 'attempt')}"
        )
        if finished.reason != "complete" or counts.error:
            unknown = counts.error + counts.absent + counts.skipped
            if finished.causes:
                told = ", ".join(f"{number} {cause}" for cause, number in finished.causes.items())
                tell(f"errors: {told}; the report shows each")
            tell(f"{unknown} trials are unknown, neither passed nor failed; the record is signed and valid")
        if finished.left_out:
            told = ", ".join(f"{number} of {name}" for name, number in finished.left_out.items())
            tell(f"left out, as the {finished.reason} allowed no more: {told}")
            option = "--max-cost AMOUNT (for the whole run)" if finished.reason == "budget" else "--max-time TIME"
            tell(f"next: trialplate resume {_named(finished)} {option}")
        tell(f"next: trialplate report {_named(finished)}")


def _named(finished: Finished) -> str:
    """Return how the run is named from here: its id inside its project, else its path."""
    above = ledger_above(Path.cwd())
    inside = above is not None and above.parent == finished.folder.parent.parent
    return finished.run_id if inside else os.path.relpath(finished.folder)


def _line(tally: Tally) -> str:
    parts = [f"{tally.done}/{tally.planned}"]
    for name, row in tally.by_configuration.items():
        shown = " ".join(f"{count} {word}" for word, count in row.items() if count)
        parts.append(f"{name}: {shown}")
    return "  ".join(parts)
