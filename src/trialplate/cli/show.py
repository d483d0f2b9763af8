# SPDX-License-Identifier: Apache-2.0
"""`show`: the trials of a run, a line each; or the trials of one case with their prompt, answers and reasons."""

from __future__ import annotations

import json
from pathlib import Path

from trialplate.engine.project import verified_ledger
from trialplate.errors import EXIT_DONE, UsageError
from trialplate.ledger.index import IndexedTrial, open_index
from trialplate.record.entries import Money
from trialplate.record.frozen import Json
from trialplate.reports.trial_text import case_json, case_lines, money_text
from trialplate.reports.trial_view import SignedRun, case_named, configurations_named, open_run, view_case
from trialplate.reports.words import trial_text
from trialplate.verify.cli import print_json
from trialplate.verify.findings import counted
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.locate import find_with_ledger
from trialplate.verify.text import visible

__all__ = ["show_trials"]


def show_trials(
    name: str, case: str | None, *, model: str | None, repeat: int | None, as_json: bool, ledger: Path | None
) -> int:
    """Print the trials of a run or of one of its cases; returns the exit code."""
    folder, ledger = find_with_ledger(name, Path.cwd(), ledger)
    if ledger is None:
        raise UsageError("a record without its ledger cannot be shown", where=name, hint="give --ledger DIR")
    view = verified_ledger(ledger)
    run = open_run(folder, view)
    chosen = configurations_named(run, model)
    if case is None:
        return _list(run, view, {item.name for item in chosen}, repeat, as_json)
    found = view_case(run, case_named(run.matrix, case), chosen, repeat)
    if as_json:
        print_json(case_json(found))
        return EXIT_DONE
    print(f"{visible(run.plan.name)}: run {folder.name}")
    for line in case_lines(found):
        print(line)
    print(f"checked: the record's signature and root, and each text shown; more: `trialplate verify {folder.name}`")
    return EXIT_DONE


def _list(run: SignedRun, view: LedgerView, chosen: set[str], repeat: int | None, as_json: bool) -> int:
    """Print a line for each trial that began, in that order."""
    planned = sum(1 for key in run.matrix.trials() if key[0] in chosen and repeat in (None, key[2]))
    begun = 0
    shown: list[Json] = []
    if run.folder.parent != view.folder.parent / "runs":
        hint = "show it from its project's folder, or name a case"
        raise UsageError("a run outside of its project is not in the index", where=str(run.folder), hint=hint)
    if not as_json:
        print(f"{visible(run.plan.name)}: run {run.folder.name}")
    with open_index(view) as index:
        for item in index.trials(run.folder.name, repeat=repeat):
            if item.configuration not in chosen:
                continue
            begun += 1
            if as_json:
                shown.append(_trial_json(item))
            else:
                print(_line(item))
    if as_json:
        made = {"format": "trialplate-trial-list/1", "run_id": run.folder.name, "planned": planned, "trials": shown}
        print_json(made)
    else:
        end = view.end_of(run.folder.name)
        stopped = planned - begun if end is not None and end.body.status == "complete" and repeat is None else 0
        rest = f", {stopped} were not needed" if stopped else ""
        print(f"{begun} of {counted(planned, 'trial')} began{rest}; name a case to see what was asked and answered")
    return EXIT_DONE


def _line(item: IndexedTrial) -> str:
    cost = Money(nano=item.cost_nano, currency=item.currency) if item.cost_nano is not None and item.currency else None
    told = f"{trial_text(item.outcome, item.cause)}: {visible(item.configuration)} {visible(item.case)}"
    metrics = ", ".join(f"{name} {value:g}" for name, value in json.loads(item.metrics).items())
    rest = [metrics] if metrics else []
    rest += [f"{item.attempts} attempts"] if item.attempts > 1 else []
    return f"{told} repeat {item.repeat}: {', '.join([*rest, f'cost {money_text(cost)}', f'{item.latency_ms} ms'])}"


def _trial_json(item: IndexedTrial) -> Json:
    return {**item.__dict__, "metrics": json.loads(item.metrics)}
