# SPDX-License-Identifier: Apache-2.0
"""`run`: the estimate, or the run itself with --yes. Nothing is written or spent without it."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from trialplate.cli.ceiling import budget_warning, budget_words, read_ceiling
from trialplate.cli.colour import colour_mode
from trialplate.cli.events import event_line
from trialplate.cli.mark_words import choose_words, rule_words, supersedes_words
from trialplate.cli.progress import Manner, Progress
from trialplate.cli.project import begin_ledger, open_ledger, open_runs
from trialplate.engine.commits import superseded
from trialplate.engine.estimate import estimate
from trialplate.engine.prepare import Prepared, prepare
from trialplate.errors import EXIT_DONE, UsageError
from trialplate.record import codec
from trialplate.record.entries import Narrowing
from trialplate.record.matrix import Matrix
from trialplate.record.values import CacheMode, Plan
from trialplate.spec.limits import Ceiling
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project, load_project
from trialplate.verify.findings import counted
from trialplate.verify.known import config_folder, read_known
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
        prepared = _prepared(plan, secrets.token_bytes(32), options)
        _print_estimate(prepared, folder.absolute(), ledger, options)
        return EXIT_DONE
    if ledger is None:
        prepared, ledger = _begun(plan, folder.absolute(), options)
        view, writer, key = open_ledger(ledger)
    else:
        view, writer, key = open_ledger(ledger)
        prepared = _prepared(plan, key.secret, options)
        _check_secrets(prepared)
    from trialplate.engine.run import run_prepared

    at_once = options.jobs or prepared.plan.concurrency
    progress = Progress(options.manner())
    progress.plan(prepared, at_once=at_once, whole=options.whole(plan))
    for warning in (*prepared.frozen.warnings, *budget_warning(prepared.plan, prepared.matrix, prepared.bounds)):
        progress.note("warning", warning)
    for note in _unfinished(view):
        progress.note("note", note)
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


def _check_secrets(prepared: Prepared) -> None:
    """Refuse a run whose keys are not in the environment; a replay needs none.

    Raises:
        SpecError: SECRET, naming the variable.
    """
    from trialplate.transport.secrets import Secrets

    for item in prepared.plan.configurations:
        if item.secret is not None and item.name in prepared.matrix.counts and prepared.plan.cache != "replay":
            Secrets().resolve(item.secret, os.environ, where=prepared.where(("models", item.model, "secret", "env")))


def _begun(plan: Path, folder: Path, options: RunOptions) -> tuple[Prepared, Path]:
    """Prepare a plan, then make key and ledger for a project that never had either, and say so.

    A plan that cannot be used leaves no key and no ledger behind.
    """
    from trialplate.ledger.keys import keep_key, load_signer, make_key

    project = load_project(plan)
    name, home = project.author.name, config_folder(os.environ)
    given = os.environ.get("TRIALPLATE_KEY") or os.environ.get("TRIALPLATE_KEY_FILE")
    is_new = not given and not (home / "keys" / f"{name}.key").exists()
    key = make_key(name) if is_new else load_signer(name, os.environ)
    prepared = _prepared(project, key.secret, options)
    _check_secrets(prepared)
    _check_new(folder, name)
    if is_new:
        keep_key(key, home)
    origin = begin_ledger(folder, name, key)
    tell(
        event_line("ledger.began", origin=origin, key=key.line)
        if options.json
        else f"began the ledger {origin}, signed by {key.line}"
    )
    return prepared, folder / "ledger"


def _check_new(project: Path, name: str) -> None:
    """Refuse to make a ledger where there was one: else a project could shed its history by deleting it.

    Raises:
        UsageError: NO-LEDGER: a run is here, or a checkpoint of that name is known.
    """
    known = [origin for origin in read_known(config_folder(os.environ)) if origin.rpartition("-")[0] == name]
    if known or (project / "runs").exists():
        what = f"a ledger of that name is known here ({known[0]})" if known else "there are runs without their ledger"
        hint = "restore the ledger, or begin another with `trialplate ledger init NAME`"
        raise UsageError(f"this project has no ledger, but {what}", where=str(project), hint=hint, code="NO-LEDGER")


def _unfinished(ledger: LedgerView) -> Iterator[str]:
    """Name the full runs that stand open and that nobody is writing."""
    from trialplate.ledger.lock import LOCK_NAME, is_held

    for run_id, state in open_runs(ledger):
        if not is_held(ledger.folder.parent / "runs" / run_id / LOCK_NAME):
            yield f"run {run_id} is {state}: an open attempt until it is resumed or waived"


# -------------------------------------------------------------------------------------------------------- estimate


def _print_estimate(prepared: Prepared, project: Path, ledger: Path | None, options: RunOptions) -> None:
    """Print what a run would do and cost at most."""
    plan, matrix = prepared.plan, prepared.matrix
    bounds = prepared.bounds
    estimates = estimate(matrix, bounds)
    if options.json:
        rows = [
            {
                "configuration": item.configuration,
                "trials": item.trials,
                "input_tokens": item.input_tokens,
                "output_tokens": item.output_tokens,
                "cost": codec.to_json(item.cost) if item.cost is not None else None,
            }
            for item in estimates
        ]
        print(json.dumps({"plan": plan.name, "trials": matrix.size, "estimate": rows}, sort_keys=True))
        return
    for line in _plan_lines(plan, matrix, prepared):
        print(line)
    unknown = [item.configuration for item in estimates if item.cost is None]
    total: dict[str, int] = {}
    for item in estimates:
        price = "price unknown"
        if item.cost is not None:
            total[item.cost.currency] = total.get(item.cost.currency, 0) + item.cost.nano
            price = f"at most {item.cost.nano / 1e9:.4f} {item.cost.currency}"
        tokens = f"about {item.input_tokens} tokens in, {item.output_tokens} out"
        print(f"  {item.configuration}: {counted(item.trials, 'trial')}, {tokens}, {price}")
    told = " + ".join(f"{nano / 1e9:.4f} {currency}" for currency, nano in total.items()) or "nothing that is known"
    rest = f"; unknown: {', '.join(unknown)}" if unknown else ""
    print(f"upper estimate: {'at least ' if unknown else ''}{told}{rest}")
    for line in budget_words(plan):
        print(line)
    for warning in (*prepared.frozen.warnings, *budget_warning(plan, matrix, bounds)):
        print(f"warning: {visible(warning)}")
    if plan.cache == "replay":
        print("answers are replayed from cassettes: nothing is called")
    elif plan.cache == "auto":
        print("answers that cassettes hold are replayed, and cost nothing again: the estimate counts every call")
    print(_ledger_words(project, plan.name, ledger))
    print("nothing was written or spent; run it with --yes")


def _ledger_words(project: Path, name: str, ledger: Path | None) -> str:
    """Say which ledger a run would be in, or why there would be none."""
    if ledger is not None:
        return f"ledger: {os.path.relpath(ledger)}"
    try:
        _check_new(project, name)
    except UsageError as error:
        return f"warning: --yes will refuse: {error.message}; {error.hint}"
    return "there is no ledger yet: --yes makes a key and a ledger, and says so"


def _plan_lines(plan: Plan, matrix: Matrix, prepared: Prepared) -> Iterator[str]:
    pilot = "" if prepared.narrowing is None else " (a pilot: logged, and it never decides)"
    yield f"{plan.name}: {counted(matrix.size, 'trial')}{pilot}"
    asked = f"{counted(len(matrix.cases), 'case')} of {plan.test_set.name}"
    scorers = ", ".join(scorer.name for scorer in plan.scorers)
    yield f"  {asked}, {counted(len(matrix.counts), 'configuration')}, scorers: {scorers}"
    for rule in plan.pass_mark.rules:
        yield f"  rule {rule_words(rule)}"
    if plan.pass_mark.choose is not None:
        yield f"  {choose_words(plan.pass_mark.choose)}"
    yield from _resolution(plan, matrix)


def _resolution(plan: Plan, matrix: Matrix) -> Iterator[str]:
    """Say what so many cases can show."""
    number = len(matrix.cases)
    weight = f"one case of {number} weighs {100 / number:.1f} points"
    yield f"  {weight}; an estimate says nothing about other cases than these"
