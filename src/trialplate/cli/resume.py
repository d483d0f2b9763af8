# SPDX-License-Identifier: Apache-2.0
"""`resume`: go on with a run that was interrupted, killed, or left trials unknown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from trialplate.cli.ceiling import read_ceiling
from trialplate.cli.progress import Progress
from trialplate.cli.project import open_ledger, verified_ledger
from trialplate.engine.prepare import Prepared
from trialplate.engine.resume import Resumed, resume_run
from trialplate.engine.session import Finished
from trialplate.engine.tally import Tally
from trialplate.errors import EXIT_DONE, EXIT_INCOMPLETE, UsageError
from trialplate.ledger.record_writer import record_lock
from trialplate.record import codec
from trialplate.record.entries import TrialEnd
from trialplate.verify.findings import counted
from trialplate.verify.locate import find_run, given_ledger, ledger_above
from trialplate.verify.output import tell

__all__ = ["resume"]


def resume(
    name: str, *, max_cost: str | None, max_time: str | None, jobs: int | None, ledger: Path | None, as_json: bool
) -> int:
    """Finish a run; returns the exit code.

    Args:
        max_cost, max_time: over the plan's budget; the cost is that of the whole run, what was spent before included.
    """
    ceiling = read_ceiling(max_cost, max_time)
    run = find_run(name, Path.cwd(), ledger)
    folder = given_ledger(Path.cwd(), ledger) if ledger else ledger_above(run)
    if folder is None:
        raise UsageError("a record without its ledger cannot go on", where=name, hint="give --ledger DIR")
    if not run.is_dir():
        message = f"the ledger started {run.name}, and its folder is not here"
        raise UsageError(message, where=f"runs/{run.name}", hint="restore the folder, or waive the run")
    verified_ledger(folder)  # before a lock file is made
    shown = _Shown(quiet=as_json)
    with record_lock(run):
        view, writer, key = open_ledger(folder)
        done = resume_run(
            run,
            view,
            writer,
            key,
            os.environ,
            at_once=jobs,
            ceiling=ceiling,
            resumed=shown.resumed,
            progress=shown.ended,
        )
    return _told(done, shown, as_json)


class _Shown:
    """What a person sees while a run goes on; it begins once it is known how much there is to do."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.progress: Progress | None = None

    def resumed(self, state: Resumed, prepared: Prepared) -> None:
        """Say what was found, and what will be asked."""
        self.progress = Progress(prepared.matrix, pilot=prepared.narrowing is not None, quiet=self.quiet)
        for note in state.notes:
            tell(f"note: {note}")
        if self.quiet:
            return
        again = f", {state.scored_again} of them scored again without a call" if state.scored_again else ""
        kept = f"{state.decided} of {counted(state.trials, 'trial')} kept as decided"
        tell(f"resume {state.run_id}: {kept}, {state.to_try} to try{again}")

    def ended(self, end: TrialEnd, tally: Tally) -> None:
        """Say how far it is."""
        if self.progress is not None:
            self.progress.ended(end, tally)


def _told(done: Finished | Resumed, shown: _Shown, as_json: bool) -> int:
    """Say how it ended; returns the exit code."""
    if isinstance(done, Finished):
        if shown.progress is not None:
            shown.progress.finished(done)
        counts = codec.to_json(done.counts)
        print(json.dumps({"run_id": done.run_id, "reason": done.reason, "counts": counts}) if as_json else done.run_id)
        return done.exit_code
    if done.used_up:
        tell(f"{counted(done.used_up, 'trial')} of {done.trials} stay unknown: they have had all their attempts")
        tell("do: decide with them unknown, or waive the run and start another")
    else:
        tell(f"{done.run_id} is finished: all {done.trials} trials are decided, and nothing was asked")
    print(json.dumps({"run_id": done.run_id, "reason": "nothing_to_do"}) if as_json else done.run_id)
    return EXIT_INCOMPLETE if done.used_up else EXIT_DONE
