# SPDX-License-Identifier: Apache-2.0
"""`run`: the estimate, or the run itself with --yes. Nothing is written or spent without it."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from trialplate.cli.ceiling import budget_warning, budget_words, read_ceiling
from trialplate.cli.colour import colour_mode
from trialplate.cli.cost_words import cost_lines, cost_object
from trialplate.cli.earlier_words import doomed_words, halved_words
from trialplate.cli.events import event_line
from trialplate.cli.mark_words import bound_words, choose_words, rule_words, supersedes_words
from trialplate.cli.plan_text import short_lines
from trialplate.cli.progress import Manner, Progress
from trialplate.engine.begin import begin_project
from trialplate.engine.commits import superseded
from trialplate.engine.fetching import fetch
from trialplate.engine.foresight import attempt_numbers, short_foresight
from trialplate.engine.prepare import Prepared, prepare
from trialplate.engine.project import check_new, open_ledger, open_runs, verified_ledger
from trialplate.engine.ready import check_ready
from trialplate.errors import EXIT_DONE, TrialplateError, UsageError
from trialplate.ledger.keys import load_signer
from trialplate.plugins import PACKAGES
from trialplate.record.entries import Narrowing
from trialplate.record.matrix import Matrix, narrow
from trialplate.record.values import CacheMode, Plan
from trialplate.spec.limits import Ceiling
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project, load_project
from trialplate.verify.findings import counted
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.locate import ledger_above
from trialplate.verify.output import tell
from trialplate.verify.text import visible

__all__ = ["RunOptions", "run_plan"]


@dataclass(frozen=True)
class RunOptions:
    """What the command line said."""

    yes: bool
    only: str | None
    limit: int | None
    models: str | None
    repeats: int | None
    cache: str | None
    jobs: int | None
    json: bool
    max_cost: str | None = None
    max_time: str | None = None
    quiet: bool = False
    color: str | None = None

    def whole(self, plan: Path) -> str:
        """Return the command that runs the plan in full, and otherwise as this one does."""
        said = {"--cache": self.cache, "--max-cost": self.max_cost, "--max-time": self.max_time, "--jobs": self.jobs}
        words = ["trialplate", "run", *([] if plan == Path("trialplate.yaml") else [str(plan)])]
        for option, value in said.items():
            words += [] if value is None else [option, str(value)]
        return shlex.join([*words, "--yes"])

    def manner(self) -> Manner:
        """Return how to tell how it goes."""
        return Manner(json=self.json, quiet=self.quiet, colour=colour_mode(self.color))

    def narrowing(self) -> Narrowing | None:
        """Return how the plan is narrowed; None if it is run in full."""
        only, models = _names("--only", self.only), _names("--models", self.models)
        if not (only or models or self.limit or self.repeats):
            return None
        return Narrowing(only=only, limit=self.limit, models=models, repeats=self.repeats)

    def cache_mode(self) -> CacheMode | None:
        """Return the cache mode, if one was named."""
        if self.cache is not None and self.cache not in get_args(CacheMode):
            there = get_args(CacheMode)
            raise UsageError(f"--cache {self.cache}: there is {', '.join(there)}", hint=suggestion(self.cache, there))
        return cast("CacheMode | None", self.cache)

    def ceiling(self) -> Ceiling:
        """Return what --max-cost and --max-time say."""
        return read_ceiling(self.max_cost, self.max_time)


def _names(option: str, text: str | None) -> tuple[str, ...]:
    """Return the names of a comma list; a list that was given and names nothing is a mistake, never a full run."""
    names = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    if text is not None and not names:
        raise UsageError(f"{option} names nothing", hint="name something, or leave the option out for a full run")
    return names


def run_plan(plan: Path, options: RunOptions) -> int:
    """Print the estimate, or run the plan; returns the exit code."""
    folder = plan if os.path.isdir(plan) else plan.parent
    options.manner()  # a word that is none is told before anything is looked at
    ledger = ledger_above(folder.absolute())
    if not options.yes:
        _estimate(plan, folder.absolute(), ledger, options)
        return EXIT_DONE
    if ledger is None:
        prepared, ledger = _begun(plan, folder.absolute(), options)
        view, writer, key = open_ledger(ledger)
    else:
        view, writer, key = open_ledger(ledger)
        prepared = _prepared(plan, key.secret, options)
        check_ready(prepared, os.environ)
    from trialplate.engine.run import run_prepared

    at_once = options.jobs or prepared.plan.concurrency
    progress = Progress(options.manner())
    progress.plan(prepared, at_once=at_once, whole=options.whole(plan))
    for warning in (*prepared.frozen.warnings, *_budget_warning(prepared)):
        progress.note("warning", warning)
    for note in (*_all_the_same(prepared, options), *_unfinished(view)):
        progress.note("note", note)
    for kind, text in _earlier(prepared, view):
        progress.note(kind, text)
    before = superseded(prepared.plan, view)
    if before is not None:
        progress.note("note", supersedes_words(before, prepared.plan))
    with progress:
        finished = run_prepared(
            prepared, view, writer, key, os.environ, at_once=at_once, started=progress.started, watch=progress
        )
    progress.finished(finished)
    return finished.exit_code


def _prepared(plan: Path | Project, secret: bytes, options: RunOptions) -> Prepared:
    return prepare(plan, secret, cache=options.cache_mode(), narrowing=options.narrowing(), ceiling=options.ceiling())


def _begun(plan: Path, folder: Path, options: RunOptions) -> tuple[Prepared, Path]:
    """Prepare a plan, then make key and ledger for a project that never had either, and say so."""
    project = load_project(plan, fetch, PACKAGES)

    def ready(secret: bytes) -> Prepared:
        return _prepared(project, secret, options)

    prepared, origin, key = begin_project(folder, project.author.name, os.environ, ready)
    tell(
        event_line("ledger.began", origin=origin, key=key.line)
        if options.json
        else f"began the ledger {origin}, signed by {key.line}"
    )
    return prepared, folder / "ledger"


def _all_the_same(prepared: Prepared, options: RunOptions) -> Iterator[str]:
    """Say that a selection leaves nothing out: whoever wrote it may have meant a pilot."""
    if options.narrowing() is not None and prepared.narrowing is None:
        yield "this selection leaves nothing out: it is the whole plan, a full run that counts"


def _unfinished(ledger: LedgerView) -> Iterator[str]:
    """Name the full runs that stand open and that nobody is writing."""
    from trialplate.ledger.lock import LOCK_NAME, is_held

    for run_id, state in open_runs(ledger):
        if not is_held(ledger.folder.parent / "runs" / run_id / LOCK_NAME):
            yield f"run {run_id} is {state}: an open attempt until it is resumed or waived"


def _attempts(prepared: Prepared, view: LedgerView | None) -> dict[str, int]:
    """Return which attempt at each candidate it would be; a pilot is none."""
    return {} if view is None or prepared.narrowing is not None else attempt_numbers(prepared.plan, view)


def _earlier(prepared: Prepared, view: LedgerView | None) -> Iterator[tuple[str, str]]:
    """Yield what earlier runs do to this one: less error for its bounds, or a rejection that is certain."""
    attempts = _attempts(prepared, view)
    if view is None or not attempts:
        return
    for text in halved_words(prepared.plan, attempts):
        yield "note", text
    for text in doomed_words(prepared.plan, view, attempts):
        yield "warning", text


# -------------------------------------------------------------------------------------------------------- estimate


def _estimate(plan: Path, project: Path, ledger: Path | None, options: RunOptions) -> None:
    """Print what a run would do and cost at most, and what would stand in its way."""
    if options.json:
        print(json.dumps(cost_object(_prepared(plan, secrets.token_bytes(32), options)), sort_keys=True))
        return
    secret, view, refusal = secrets.token_bytes(32), None, None
    if ledger is not None:
        try:
            view = verified_ledger(ledger)
            secret = load_signer(view.keys[0].line, os.environ).secret
        except TrialplateError as error:
            view, refusal = None, error
    prepared = _prepared(plan, secret, options)
    if refusal is None:
        try:
            check_ready(prepared, os.environ)
            if ledger is None:
                check_new(project, prepared.plan.name)
        except TrialplateError as error:
            refusal = error
    _print_estimate(prepared, ledger, options, view, refusal)


def _print_estimate(
    prepared: Prepared,
    ledger: Path | None,
    options: RunOptions,
    view: LedgerView | None,
    refusal: TrialplateError | None,
) -> None:
    """Print the estimate for a person.

    Args:
        view: the ledger, if it can be read.
        refusal: what --yes would end in.
    """
    plan, matrix = prepared.plan, prepared.matrix
    attempts = _attempts(prepared, view)
    for line in (*_plan_lines(plan, matrix, prepared, attempts), *cost_lines(prepared), *budget_words(plan)):
        print(line)
    for warning in (*prepared.frozen.warnings, *_budget_warning(prepared)):
        print(f"warning: {visible(warning)}")
    if plan.cache == "replay":
        print("answers are replayed from cassettes: nothing is called")
    elif plan.cache == "auto":
        print("answers that cassettes hold are replayed, and cost nothing again: the estimate counts every call")
    for note in _all_the_same(prepared, options):
        print(f"note: {note}")
    for kind, text in _earlier(prepared, view):
        print(f"{kind}: {visible(text)}")
    before = superseded(plan, view) if view is not None else None
    if before is not None:
        print(f"note: {supersedes_words(before, plan)}; `trialplate commit --reason TEXT` before the run gives one")
    if ledger is not None:
        print(f"ledger: {os.path.relpath(ledger)}")
    elif refusal is None:
        print("there is no ledger yet: --yes makes a key and a ledger, and says so")
    if refusal is not None:
        place = f" ({refusal.where})" if refusal.where else ""
        print(f"warning: --yes will refuse: {visible(f'{refusal.message}{place}; {refusal.hint}'.rstrip('; '))}")
    print("nothing was written or spent; run it with --yes")


def _budget_warning(prepared: Prepared) -> Iterator[str]:
    return budget_warning(prepared.plan, prepared.asked, prepared.bounds, prepared.helper_estimates)


def _plan_lines(plan: Plan, matrix: Matrix, prepared: Prepared, attempts: Mapping[str, int]) -> Iterator[str]:
    attempt = max(attempts.values(), default=1)
    pilot = "" if prepared.narrowing is None else " (a pilot: logged, and it never decides)"
    yield f"{plan.name}: {counted(matrix.size, 'trial')}{pilot}"
    asked = f"{counted(len(matrix.cases), 'case')} of {plan.test_set.name}"
    scorers = ", ".join(scorer.name for scorer in plan.scorers)
    yield f"  {asked}, {counted(len(matrix.counts), 'configuration')}, scorers: {scorers}"
    for rule in plan.pass_mark.rules:
        yield f"  rule {rule_words(rule, plan, attempt=attempt)}"
    if plan.pass_mark.choose is not None:
        yield f"  {choose_words(plan.pass_mark.choose, plan, attempt=attempt)}"
    if told := bound_words(plan.pass_mark):
        yield f"  {told}"
    yield from _showing(plan, matrix, attempts)


def _showing(plan: Plan, matrix: Matrix, attempts: Mapping[str, int]) -> Iterator[str]:
    """Say what so many cases can show, as far as it takes no time to tell; `plan` tells the rest."""
    number, mark = len(matrix.cases), plan.pass_mark
    weight = f"one case of {number} weighs {100 / number:.1f} points"
    estimates = any(rule.basis == "estimate" and rule.of is not None for rule in (*mark.rules, *mark.alternatives))
    yield f"  {weight}{'; an estimate says nothing about other cases than these' if estimates else ''}"
    for line in short_lines(short_foresight(plan, narrow(plan, None), attempts)):
        yield f"  {visible(line)}"
