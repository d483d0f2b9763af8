# SPDX-License-Identifier: Apache-2.0
"""Signatures and help of `baseline`, as `app` has those of every other command."""

from __future__ import annotations

from trialplate.cli import parameters

__all__ = ["baseline_app"]

baseline_app = parameters.group("The run that others are compared with.")


@baseline_app.command("set")
def name(
    run: parameters.RunArgument,
    model: parameters.RanOption = None,
    ledger: parameters.LedgerOption = None,
) -> int:
    """Verify a run, and name it in the ledger as what rules on a baseline compare with."""
    from trialplate.cli.baseline import set_baseline

    return set_baseline(run, model, ledger)


@baseline_app.command("list")
def listed(json: parameters.JsonOption = False, ledger: parameters.LedgerOption = None) -> int:
    """List the baselines that the ledger names, the newest last."""
    from trialplate.cli.baseline import list_baselines

    return list_baselines(ledger, json)
