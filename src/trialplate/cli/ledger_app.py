# SPDX-License-Identifier: Apache-2.0
"""Signatures and help of `ledger`, as `app` has those of every other command."""

from __future__ import annotations

from typing import Annotated

import typer

from trialplate.cli import complete, parameters

__all__ = ["ledger_app"]

ledger_app = parameters.group("The project's ledger.")


@ledger_app.command("init")
def init(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The ledger's name; the folder's by default.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=complete.keys, help="The key that signs it; needed if there are several."
        ),
    ] = None,
) -> int:
    """Begin a ledger in this folder."""
    from trialplate.cli.ledger import begin

    return begin(name, key)


@ledger_app.command("log")
def log(json: parameters.JsonOption = False, ledger: parameters.LedgerOption = None) -> int:
    """List the ledger's entries."""
    from trialplate.cli.ledger import show_log

    return show_log(ledger, as_json=json)


@ledger_app.command("show")
def show(
    seq: Annotated[int, typer.Argument(metavar="SEQ", min=0, help="The entry's number.")],
    ledger: parameters.LedgerOption = None,
) -> int:
    """Show one entry in full."""
    from trialplate.cli.ledger import show_entry

    return show_entry(seq, ledger)


@ledger_app.command("doctor")
def doctor(ledger: parameters.LedgerOption = None) -> int:
    """Check the ledger, and set aside what stands beyond its checkpoint."""
    from trialplate.cli.ledger import doctor as look

    return look(ledger)
