# SPDX-License-Identifier: Apache-2.0
"""`verify` and `gate` as the front door runs them: the auditor's program, then what it never does itself.

Two things are written, both outside of what was verified: the newest verified checkpoint is remembered for this user,
and a decision is appended to the ledger. An identical decision is not appended twice.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from trialplate.errors import StorageError, TrialplateError, UsageError
from trialplate.record.decisions import Decision
from trialplate.verify import cli
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.output import tell
from trialplate.verify.procedure import Verified

__all__ = ["check"]

TRIES = 5


def check(arguments: Sequence[str]) -> int:
    """Run `verify` or `gate` and return the exit code."""
    options = cli.parsed(arguments)
    if options.command == "verify":
        code, done = cli.verify_paths(options, os.environ, _scoring(options))
        for item in done:
            _remember(item)
        return code
    gated = _gate(options)
    _remember(gated.verified)
    cli.show_gate(options, gated)
    return cli.exit_code_of(options, gated)


def _scoring(options: argparse.Namespace) -> Callable[[Verified], None]:
    """Return the check that scores again, where it is asked for: only then is anything of it loaded.

    Raises:
        UsageError: --run-code without --rescore, or the rest of trialplate is not installed.
    """
    if not options.rescore:
        if options.run_code:
            raise UsageError("--run-code only says how to score again", hint="add --rescore")
        return lambda done: None
    try:
        from trialplate.engine.rescore import rescore
    except ModuleNotFoundError as error:
        hint = "install trialplate whole: two packages are enough for everything but --rescore"
        raise UsageError(f"to score again takes the package {error.name}", hint=hint) from None

    def score(done: Verified) -> None:
        if done.record is None:
            done.report.skip("V21", "there is no record to score again")
        else:
            rescore(done.record, done.report, run_code=options.run_code)

    return score


def _gate(options: argparse.Namespace) -> cli.Gated:
    """Derive the decision and append it: what is printed stands in the ledger, or nothing is printed as decided."""
    for _ in range(TRIES):
        gated = cli.gate_run(options, os.environ)
        ledger = gated.verified.ledger
        if not gated.decisions or ledger is None or options.no_append:
            return gated
        if gated.verified.gate is not None and gated.verified.gate.judges.missing:
            tell("not appended: it rests on a judge whose grades are of runs that are not here")
            return gated
        try:
            _append(ledger, gated.decisions)
            return gated
        except StorageError as error:
            if error.code != "LEDGER-MOVED":
                raise
            moved = error  # somebody appended meanwhile, perhaps another attempt: decide anew
    raise moved


def _remember(done: Verified) -> None:
    """Keep the newest checkpoint of a ledger whose key the reader trusts; nothing is trusted at first sight."""
    ledger = done.ledger
    if ledger is None or not ledger.whole or not done.report.holds or done.report.level == "A0":
        return
    from trialplate.verify.known import config_folder, read_known

    folder = config_folder(os.environ)
    known = read_known(folder).get(ledger.origin)
    if known is not None and known.checkpoint == ledger.signed.note:
        return
    try:
        from trialplate.ledger.known import remember

        remember(folder, ledger.origin, ledger.keys[0], ledger.entries[0].ref.digest, ledger.signed.note)
    except (TrialplateError, ModuleNotFoundError) as error:  # the auditor has two packages, and no lock's
        tell(f"note: this checkpoint could not be remembered: {error}")


def _append(ledger: LedgerView, decisions: Sequence[Decision]) -> None:
    """Append decisions that are new, and say so."""
    instead = "decide without appending, with --no-append"
    try:
        from trialplate.engine.project import append_decisions

        for seq in append_decisions(ledger, decisions):
            tell(f"decision appended as ledger entry {seq}")
    except ModuleNotFoundError as error:
        hint = f"{instead}; or install trialplate whole"
        raise UsageError(f"to append a decision takes the package {error.name}", hint=hint) from None
    except (UsageError, StorageError) as error:
        if error.code != "LEDGER-MOVED":  # which is tried again
            error.hint = f"{instead}; or {error.hint}"
        raise
