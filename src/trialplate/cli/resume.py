# SPDX-License-Identifier: Apache-2.0
"""`resume`: go on with a run that was interrupted, killed, or left trials unknown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from trialplate.cli.ceiling import read_ceiling
from trialplate.cli.progress import Manner, Progress
from trialplate.engine.prepare import Prepared
from trialplate.engine.project import open_ledger, verified_ledger
from trialplate.engine.resume import Resumed, resume_run
from trialplate.engine.session import Finished
from trialplate.errors import EXIT_DONE, EXIT_INCOMPLETE, UsageError
from trialplate.ledger.record_writer import record_lock
from trialplate.verify.findings import counted
from trialplate.verify.locate import find_with_ledger
from trialplate.verify.output import tell

__all__ = ["resume"]


def resume(
    name: str, manner: Manner, *, max_cost: str | None, max_time: str | None, jobs: int | None, ledger: Path | None
) -> int:
    """Finish a run; returns the exit code.

    Args:
        max_cost, max_time: over the plan's budget; the cost is that of the whole run, what was spent before included.
    """
    ceiling = read_ceiling(max_cost, max_time)
    run, folder = find_with_ledger(name, Path.cwd(), ledger)
    if folder is None:
        raise UsageError("a record without its ledger cannot go on", where=name, hint="give --ledger DIR")
    if not run.is_dir():
        message = f"the ledger started {run.name}, and its folder is not here"
        raise UsageError(message, where=f"runs/{run.name}", hint="restore the folder, or waive the run")
    verified_ledger(folder)  # before a lock file is made
    progress = Progress(manner)

    def resumed(state: Resumed, prepared: Prepared) -> None:
        progress.plan(prepared, at_once=jobs or prepared.plan.concurrency)
        for note in state.notes:
            progress.note("note", note)
        progress.resumed(state)

    with progress, record_lock(run):  # whoever does not read what is told does not keep the record locked
        view, writer, key = open_ledger(folder)
        done = resume_run(
            run, view, writer, key, os.environ, at_once=jobs, ceiling=ceiling, resumed=resumed, watch=progress
        )
    if isinstance(done, Finished):
        progress.finished(done)
        return done.exit_code
    return _nothing_to_do(done, manner)


def _nothing_to_do(done: Resumed, manner: Manner) -> int:
    """Say that a run is at its end; returns the exit code."""
    if done.used_up:
        tell(f"{counted(done.used_up, 'trial')} of {done.trials} stay unknown: they have had all their attempts")
        tell("do: decide with them unknown, or waive the run and start another")
    else:
        which = f"{done.decided} of" if done.not_needed else "all"
        rest = f", {done.not_needed} are not needed" if done.not_needed else ""
        tell(f"{done.run_id} is finished: {which} {done.trials} trials are decided{rest}, and nothing was asked")
    print(json.dumps({"run_id": done.run_id, "reason": "nothing_to_do"}) if manner.json else done.run_id)
    return EXIT_INCOMPLETE if done.used_up else EXIT_DONE
