# SPDX-License-Identifier: Apache-2.0
"""`plan`: what a run costs at most, and what its test set and its mark can show, before anything is spent."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from trialplate.cli.earlier_words import doomed_words
from trialplate.cli.plan_object import plan_object
from trialplate.cli.plan_text import plan_lines
from trialplate.engine.foresight import attempt_numbers, foresee
from trialplate.engine.prepare import prepare
from trialplate.engine.project import verified_ledger
from trialplate.engine.spread import ASSUMED, Spread, measured
from trialplate.errors import EXIT_DONE, EXIT_USAGE, TrialplateError, UsageError
from trialplate.ledger.keys import load_signer
from trialplate.verify.cli import print_json, reader_of
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.locate import Found, find_with_ledger, ledger_above
from trialplate.verify.output import tell
from trialplate.verify.procedure import verify
from trialplate.verify.text import visible

__all__ = ["MOST_TRUTHS", "PlanOptions", "show_plan"]

MOST_TRUTHS = 20
"""Values of `--true`: beyond them a table is no longer read, and takes a minute."""


@dataclass(frozen=True)
class PlanOptions:
    """What the command line said."""

    pilot: str | None = None
    rho: str | None = None
    true: str | None = None
    json: bool = False

    def truths(self) -> tuple[Fraction, ...]:
        """Return the true values that were named."""
        if self.true is None:
            return ()
        found = [_share("--true", part) for part in self.true.split(",") if part.strip()]
        if len(found) > MOST_TRUTHS:
            message = f"--true names {len(found)} values, and each is worked out for every rule"
            raise UsageError(message, hint=f"name {MOST_TRUTHS} or fewer")
        if not found:
            raise UsageError("--true names nothing", hint="name shares from 0 to 1, such as --true 0.85,0.95")
        return tuple(found)


def _share(option: str, text: str) -> Fraction:
    """Return a share as it was written.

    Raises:
        UsageError: it is none.
    """
    word = text.strip()
    value = Fraction(word) if re.fullmatch(r"[01]?(\.[0-9]{1,9})?", word) and word else None
    if value is None or value > 1:
        hint = f"write a decimal number, such as {option} 0.85"
        raise UsageError(f"{option} {visible(word)[:40]}: this is no share from 0 to 1", hint=hint)
    return value


def show_plan(plan: Path, options: PlanOptions) -> int:
    """Print what a plan can show; returns the exit code: 2 if no run could pass a rule of its mark."""
    truths = options.truths()
    icc = ASSUMED if options.rho is None else float(_share("--rho", options.rho))
    spread = _spread(options.pilot, icc)
    folder = (plan if os.path.isdir(plan) else plan.parent).absolute()
    view, secret = _ledger(folder)
    prepared = prepare(plan, secret, reach=False)
    attempts = attempt_numbers(prepared.plan, view) if view is not None else {}
    foresight = foresee(prepared.plan, prepared.matrix, spread, attempts, truths)
    if options.json:
        print_json(plan_object(prepared, foresight))
    else:
        for line in plan_lines(prepared, foresight):
            print(visible(line))
        for text in () if view is None else doomed_words(prepared.plan, view, attempts):
            print(f"warning: {visible(text)}")
    return EXIT_DONE if foresight.reachable else EXIT_USAGE


def _ledger(folder: Path) -> tuple[LedgerView | None, bytes]:
    """Return the project's ledger and its secret, as far as they are here: without them it is the first attempt."""
    ledger = ledger_above(folder)
    if ledger is None:
        return None, secrets.token_bytes(32)
    try:
        view = verified_ledger(ledger)
        return view, load_signer(view.keys[0].line, os.environ).secret
    except TrialplateError as error:
        tell(f"note: earlier attempts are not counted: {visible(error.message)}")
        return None, secrets.token_bytes(32)


def _spread(name: str | None, icc: float) -> Spread:
    """Return how much repeats resemble each other: as assumed, or as a verified run shows.

    Raises:
        UsageError: there is no such run, or it has no ledger.
        VerificationError: it does not hold.
    """
    if name is None:
        return Spread(icc)
    run, ledger = find_with_ledger(name, Path.cwd(), None)
    if ledger is None:
        raise UsageError("a record without its ledger cannot be relied on", where=name, hint="give a run of a project")
    done = verify(Found(ledger, run), reader_of(os.environ))
    done.report.require()
    if done.record is None:
        raise UsageError("the run has no signed record", where=name, hint="name a run that was made")
    return measured(done.record, icc)
