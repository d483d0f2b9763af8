# SPDX-License-Identifier: Apache-2.0
"""What is told on stderr while a run goes on: a block drawn again on a terminal, else a line now and then, or events.

All writing is done by a thread of its own. The trials only leave word of what happened: a terminal that stands still,
or a reader that does not read, slows nothing down.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from trialplate.cli.colour import ColourMode, coloured, painted, redraws
from trialplate.cli.events import event_line, progress_event
from trialplate.cli.summary import ended_event, result, summary_lines
from trialplate.cli.view import View, block, line
from trialplate.engine.commits import Commitments
from trialplate.engine.estimate import estimate
from trialplate.engine.prepare import Prepared
from trialplate.engine.resume import Resumed
from trialplate.engine.session import Finished
from trialplate.engine.tally import Tally
from trialplate.engine.watch import Waiting, Watch
from trialplate.record.entries import TrialEnd
from trialplate.verify.findings import counted
from trialplate.verify.output import tell
from trialplate.verify.text import visible

__all__ = ["Manner", "Progress"]

REDRAW_S = 0.2
LINE_EVERY_S = 10.0
QUARTER_AFTER_S = 2.0
"""A quarter of the trials is worth a line of its own, unless another has just been written."""
MOST_EVENTS = 10_000
"""Events that wait for a reader who does not read; what comes then is counted and left out."""


@dataclass(frozen=True)
class Manner:
    """How a person or a program wants to be told."""

    json: bool = False
    quiet: bool = False
    colour: ColourMode = "auto"


class Progress(Watch):
    """Tells how far a run has come, from the moment it begins until its context ends."""

    def __init__(
        self,
        manner: Manner,
        *,
        clock: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare to tell.

        Args:
            manner: how.
            clock: monotonic seconds.
            environ: where colour and the kind of terminal are looked up.
        """
        self.manner, self.clock = manner, clock
        self.redraws = redraws(sys.stderr, environ)
        self.colour = coloured(manner.colour, sys.stderr, environ)
        self._drawn = 0
        self._last_line, self._quarter = clock(), 0
        self._events: deque[str] = deque()
        self._dropped = 0
        self._wake, self._over = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def plan(self, prepared: Prepared, *, at_once: int, whole: str | None = None) -> None:
        """Hear what will be run, before anything else is told.

        Args:
            at_once: trials under way at the same time.
            whole: the command that runs the plan in full.
        """
        self.prepared = prepared
        most: dict[str, int] = {}
        for item in (*estimate(prepared.asked, prepared.bounds), *prepared.helper_estimates):
            if item.cost is not None:
                most[item.cost.currency] = most.get(item.cost.currency, 0) + item.cost.nano
        priced = {item.name: item.pricing.currency for item in prepared.plan.configurations if item.pricing is not None}
        planned = {name: sum(row) for name, row in prepared.matrix.counts.items()}
        helping = next((item.pricing.currency for item in prepared.plan.helpers if item.pricing is not None), None)
        self.view = View(planned, priced, most, at_once, replay=prepared.plan.cache == "replay", whole=whole)
        self.view.helper_currency = helping

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the block away; what is written now stands below what stood there before."""
        self._over.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()  # two that write at once would tear each other's lines
        self._drain()
        if self._drawn:
            tell(f"\x1b[{self._drawn}F\x1b[J", end="")
            self._drawn = 0

    # ------------------------------------------------------------------------------------------- what is heard

    def note(self, kind: str, text: str) -> None:
        """Tell something that is worth a line whatever the manner: a warning, or a note."""
        if self.manner.json:
            tell(event_line(kind, message=text))
        else:
            tell(f"{kind}: {visible(text)}")

    def started(self, run_id: str, commitments: Commitments) -> None:
        """Say which run began, and what was committed before it."""
        pilot = self.prepared.narrowing is not None
        if self.manner.json:
            self.event("run.started", run_id=run_id, plan=self.prepared.plan.name, trials=self.view.total, pilot=pilot)
        elif not self.manner.quiet:
            for what in commitments.made:
                tell(f"committed the {what} to the ledger")
            words = " (a pilot: it never decides)" if pilot else ""
            tell(f"run {run_id}: {counted(self.view.total, 'trial')}{words}")

    def resumed(self, state: Resumed) -> None:
        """Say which run goes on, and what will be asked."""
        if self.manner.json:
            said = {"decided": state.decided, "to_try": state.to_try, "scored_again": state.scored_again}
            said["not_needed"] = state.not_needed
            self.event("run.resumed", run_id=state.run_id, trials=state.trials, **said)
        elif not self.manner.quiet:
            again = (
                f", {state.scored_again} of them scored again without asking the model" if state.scored_again else ""
            )
            kept = f"{state.decided} of {counted(state.trials, 'trial')} kept as decided"
            rest = f", {state.not_needed} not needed" if state.not_needed else ""
            tell(f"resume {state.run_id}: {kept}, {state.to_try} to try{again}{rest}")

    def begun(self, tally: Tally) -> None:
        """Begin to tell."""
        self.view.tally = tally
        self.view.speed.saw(self.clock(), tally.done)
        if self.manner.json or not self.manner.quiet:
            self._thread = threading.Thread(target=self._work, name="progress", daemon=True)
            self._thread.start()

    def ended(self, end: TrialEnd, tally: Tally) -> None:
        """Leave word of a trial that ended."""
        if self.manner.json:
            name, case, repeat = end.trial
            said = {"outcome": end.outcome, "cause": end.cause, "attempts": end.attempt}
            where = {"configuration": name, "case": case, "repeat": repeat}
            self.event("trial.ended", **where, **said, done=tally.done, planned=tally.planned)

    def beat(self, waiting: Sequence[Waiting]) -> None:
        """Leave word of what is being waited for."""
        self.view.waiting = waiting

    def stopping(self, tally: Tally, *, cut: bool) -> None:
        """Say at once that the wish was heard."""
        self.view.stopping, self.view.cut = tally.under_way, cut
        if self.manner.json:
            self.event("run.stopping", under_way=tally.under_way, cut=cut)
        self._wake.set()

    def event(self, name: str, **fields: Any) -> None:
        """Leave an event for whoever reads them."""
        if len(self._events) >= MOST_EVENTS:
            self._dropped += 1
            return
        self._events.append(event_line(name, **fields))

    def finished(self, finished: Finished) -> None:
        """Say how it ended and what to type next, and print the result; the context has ended by then."""
        if self.manner.json:
            tell(ended_event(finished, self.view))
            print(json.dumps(result(finished, self.prepared, self.view), sort_keys=True))
            return
        if not self.manner.quiet:
            for text in summary_lines(finished, self.prepared, self.view):
                tell(painted(text, self.colour))
        print(finished.run_id)

    # ------------------------------------------------------------------------------------------- what is told

    def _work(self) -> None:
        """Write, until it is over."""
        told: tuple[int | None, bool] = (None, False)
        while not self._over.is_set():
            self._wake.wait(REDRAW_S)
            self._wake.clear()
            if not self._over.is_set():
                asked = (self.view.stopping, self.view.cut)
                self.look(at_once=asked != told)
                told = asked

    def look(self, *, at_once: bool = False) -> None:
        """Write what there is to tell now; at once: whether or not it is time for a line."""
        now, done = self.clock(), self.view.done
        self.view.speed.saw(now, done)
        if self.manner.json:
            self._drain()
        if self.redraws and not self.manner.json:
            self._draw(now)
            return
        quarter = done * 4 // max(self.view.total, 1)
        reached = quarter > self._quarter and now - self._last_line >= QUARTER_AFTER_S and done < self.view.total
        if not (at_once or reached or now - self._last_line >= LINE_EVERY_S):
            return
        self._last_line, self._quarter = now, quarter
        if self.manner.json:
            self._events.append(progress_event(self.view, now))
            self._drain()
        else:
            tell(painted(line(self.view, now), self.colour))

    def _draw(self, now: float) -> None:
        """Draw the block over the last one."""
        try:
            width, height = os.get_terminal_size(sys.stderr.fileno())
        except (OSError, ValueError):
            width, height = 80, 24
        lines = block(self.view, now, width or 80, height or 24)
        up = f"\x1b[{self._drawn}F" if self._drawn else ""
        drawn = "".join(f"\x1b[2K{painted(text, self.colour)}\n" for text in lines)
        self._drawn = len(lines)
        tell(f"{up}{drawn}\x1b[J", end="")

    def _drain(self) -> None:
        """Write the events that wait."""
        while self._events:
            tell(self._events.popleft())
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            tell(event_line("events.dropped", events=dropped))
