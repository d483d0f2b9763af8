# SPDX-License-Identifier: Apache-2.0
"""`ls`: the runs of a ledger, the newest first. The ledger is verified; what records say is taken at their word."""

from __future__ import annotations

from pathlib import Path

from trialplate.engine.project import find_ledger, verified_ledger
from trialplate.errors import EXIT_DONE
from trialplate.ledger.index import IndexedRun, open_index
from trialplate.ledger.lock import LOCK_NAME, is_held
from trialplate.record.frozen import Json
from trialplate.reports.terminal import aligned
from trialplate.reports.words import amount_text
from trialplate.verify.cli import print_json
from trialplate.verify.output import tell
from trialplate.verify.text import visible

__all__ = ["list_runs"]


def list_runs(given: Path | None, as_json: bool) -> int:
    """Print the runs of a ledger."""
    view = verified_ledger(find_ledger(Path.cwd(), given))
    with open_index(view) as index:
        runs = index.runs()
    if not index.kept:
        tell(f"note: the index is not kept: {visible(index.reason)}")
    runs_folder = view.folder.parent / "runs"
    states = {item.run_id: _state(item, runs_folder / item.run_id) for item in runs}
    if as_json:
        shown = [_run_json(item, states[item.run_id]) for item in runs]
        made = {"format": "trialplate-runs/1", "checkpoint": str(view.signed), "runs": shown}
        print_json(made)
        return EXIT_DONE
    if not runs:
        print("no run yet: `trialplate run --yes` starts one")
        return EXIT_DONE
    rows = [["run", "started", "plan", "state", "trials", "cost", "decisions"]]
    for item in runs:
        decisions = ", ".join(f"{name} {word}" for name, word in item.decisions.items()) or "-"
        state = states[item.run_id] + (" pilot" if item.selection == "pilot" else "")
        started = item.started[:16].replace("T", " ")
        going_on = states[item.run_id] == "running"
        rows.append([item.run_id, started, item.name or "-", state, _trials(item, going_on), _cost(item), decisions])
    for line in aligned(rows, left=range(len(rows[0]))):
        print(line)
    for item in runs:
        if item.here and item.unreadable is not None:
            print(f"{item.run_id}: {visible(item.unreadable)}; `trialplate verify {item.run_id}` tells more")
        elif item.here and item.status is not None and not (runs_folder / item.run_id / "checkpoint").exists():
            print(f"{item.run_id}: its checkpoint is missing; `trialplate verify {item.run_id}` tells more")
    return EXIT_DONE


def _state(item: IndexedRun, folder: Path) -> str:
    """Return how a run stands, in a word."""
    if item.waived:
        return "waived" if item.here else "waived, missing"
    if not item.here:
        return "missing"
    if item.status is None and is_held(folder / LOCK_NAME):
        return "running"
    return item.status or "unfinished"


def _trials(item: IndexedRun, going_on: bool) -> str:
    """Return how many trials there are, and what those that began came to; while it goes on, nothing is lost yet."""
    counts = dict(item.outcomes)
    if going_on and item.without_end:
        counts |= {"error": counts["error"] - item.without_end, "under way": item.without_end}
    told = [f"{number} {word}" for word, number in sorted(counts.items(), key=lambda pair: -pair[1]) if number]
    absent = item.trials - sum(item.outcomes.values())
    if item.here and not item.unreadable:
        stopped = item.status == "complete" and not going_on  # without a stop rule nothing is absent from such a run
        word = "not needed" if stopped else "absent"
        told += [f"{absent} {word}"] if absent else []
    return f"{item.trials}: {', '.join(told)}" if told else f"{item.trials}"


def _cost(item: IndexedRun) -> str:
    """Return what is known of the cost; a part that nobody knows is said, never left out."""
    known = [amount_text(nano, unit) for unit, nano in item.cost_nano.items()]
    if not item.outcomes:
        return "-"
    if not item.cost_unknown:
        return " + ".join(known)
    nothing = not any(item.cost_nano.values())
    return "unknown" if nothing else f"at least {' + '.join(known)}"


def _run_json(item: IndexedRun, state: str) -> Json:
    return {
        "run_id": item.run_id,
        "started": item.started,
        "plan": item.name,
        "selection": item.selection,
        "state": state,
        "here": item.here,
        "status": item.status,
        "waived": item.waived,
        "trials": item.trials,
        "outcomes": item.outcomes if item.here and not item.unreadable else None,
        "without_end": item.without_end,
        "unreadable": item.unreadable,
        "decisions": item.decisions,
        "cost": {"nano": item.cost_nano, "unknown": item.cost_unknown},
    }
