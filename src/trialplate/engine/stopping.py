# SPDX-License-Identifier: Apache-2.0
"""Ending a run before its last trial, where its mark has a stop rule: the cells so far, and who needs no further one.

Everything is decided in `rules.stopping`, which the verifier asks too. Here it is only asked often enough, and not so
often that asking would take the time of the trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from pathlib import Path

from trialplate.engine.before import Before
from trialplate.engine.prepare import Prepared
from trialplate.record.entries import NotNeeded, TrialEnd, TrialKey, TrialStart
from trialplate.record.matrix import stop_order
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.stopping import cases_of, ended, left_out
from trialplate.verify.findings import Report
from trialplate.verify.gate import Gate
from trialplate.verify.ledger_view import LedgerView, Reader, read_ledger
from trialplate.verify.record_view import read_record

__all__ = ["Stopping", "stopping_of"]

MOST_SHARE, LEAST_SHARE = 32, 4
"""A look comes after another 1/32 of what ended before it; in a large run after up to a quarter."""
FEWEST_SHARE = 256
"""Nor does a look come before this part of the whole run has ended since the last one."""
CELLS_LOOKED_AT = 64_000
"""Cells for which a look after each 1/32 would cost too much; it is this many in all the looks of one such part."""


class Stopping:
    """The cells of a run whose mark has a stop rule, and what they leave to do."""

    def __init__(self, prepared: Prepared, order: tuple[str, ...], given: Circumstances, before: Before) -> None:
        """Take the cells that earlier sessions left, as they are then.

        Args:
            order: the ids of all cases in the order in which they run.
            given: what else the decision depends on.
        """
        self.plan, self.matrix, self.asked = prepared.plan, prepared.matrix, prepared.asked
        self.order, self.given = order, given
        self.board = Board()
        self.board.cells = {key: copy(cell) for key, cell in before.cells.items()}
        self._places = {case: place for place, case in enumerate(order)}
        self._until: dict[str, int] = {}
        """Of each configuration that ended: the place of the first case that it is not asked any more."""
        self._ended = sum(cell.settled for cell in self.board.cells.values())
        self._share = max(LEAST_SHARE, min(MOST_SHARE, CELLS_LOOKED_AT // max(self.matrix.size, 1)))
        self._look_at = self._ended

    @property
    def mode(self) -> str:
        """Return which kind of rule it is, as a run says why it ended."""
        stop = self.plan.pass_mark.stop
        return stop.mode if stop is not None else "complete"

    def needs(self, key: TrialKey) -> bool:
        """Say whether a trial is still needed: its configuration goes on, or its case had begun when that ended."""
        until = self._until.get(key[0])
        return until is None or self._places[key[1]] < until

    def heard(self, body: TrialStart | TrialEnd) -> None:
        """Fold a line of the record."""
        if isinstance(body, TrialStart):
            self.board.start(body)
        else:
            self.board.end(body)

    def trial_ended(self) -> bool:
        """Count a trial that ended; say whether some are not needed any more."""
        self._ended += 1
        return self._ended >= self._look_at and self.look()

    def look(self) -> bool:
        """Ask who needs no further trial; say whether that is somebody more. At first it is asked after each case."""
        found: frozenset[str] = frozenset()
        if self.board.cells and len(self._until) < len(self.matrix.counts):
            found = ended(self.plan, self.matrix, self.board, self.given) - self._until.keys()
        for name in found:
            cut = left_out(self.matrix, self.order, self.board, name)
            first = None if cut is None else cases_of(self.matrix, self.order, name)[cut.cases][0].id
            self._until[name] = len(self.order) if first is None else self._places[first]
        trials = sum(self.asked.planned(name) for name in self.matrix.counts if name not in self._until)
        a_case, fewest = -(-trials // len(self.order)), self.matrix.size // FEWEST_SHARE
        self._look_at = self._ended + max(1, a_case, fewest, self._ended // self._share)
        return bool(found)

    def not_needed(self) -> tuple[NotNeeded, ...]:
        """Return what was left out, of each configuration that ended early."""
        told = (
            left_out(self.matrix, self.order, self.board, name) for name in self.matrix.counts if name in self._until
        )
        return tuple(item for item in told if item is not None)

    def trials_not_needed(self) -> Mapping[str, int]:
        """Return how many trials that are, by configuration."""
        return {item.configuration: item.trials for item in self.not_needed()}


def stopping_of(prepared: Prepared, folder: Path, seed: str, ledger: LedgerView, before: Before) -> Stopping | None:
    """Return what may end a run early; None where its mark has no stop rule, and for a pilot, which decides nothing.

    What else a decision depends on is read as a verifier would read it: from the ledger, which holds run.start by now,
    and from the record.

    Args:
        folder: the run's.
        seed: of the run: the digest of its run.start line.
        ledger: as it was before this session.

    Raises:
        VerificationError: ledger or record do not hold.
    """
    if prepared.plan.pass_mark.stop is None or prepared.narrowing is not None:
        return None
    report = Report(f"runs/{folder.name}")
    view = read_ledger(ledger.folder, Reader(trust=ledger.keys), report)
    record = None if view is None else read_record(folder, view, report)
    report.require()
    given = Circumstances()
    if view is not None and record is not None:
        given = Gate(view, record, folder.parent, report, {}).circumstances()
    order = stop_order(seed, prepared.matrix.cases)
    made = Stopping(prepared, order, given.replace(order=order), before)
    made.look()
    return made
