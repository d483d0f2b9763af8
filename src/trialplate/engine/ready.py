# SPDX-License-Identifier: Apache-2.0
"""What a run would need, looked at before anything is written or spent: keys, programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from trialplate.engine.prepare import Prepared
from trialplate.errors import SpecError

__all__ = ["check_ready"]


def check_ready(prepared: Prepared, environ: Mapping[str, str]) -> None:
    """Refuse a run that lacks what its first call would need.

    Raises:
        SpecError: SECRET or COMMAND.
    """
    _check_secrets(prepared, environ)
    _check_programs(prepared)


def _check_secrets(prepared: Prepared, environ: Mapping[str, str]) -> None:
    """Refuse a run whose keys are not in the environment; a replay needs none.

    Raises:
        SpecError: SECRET, naming the variable.
    """
    from trialplate.transport.secrets import Secrets

    if prepared.plan.cache == "replay":
        return
    asked = {scorer.helper for case in prepared.matrix.cases for scorer in prepared.matrix.applicable(case)}
    used = [("models", item) for item in prepared.plan.configurations if item.name in prepared.matrix.counts]
    used += [("helpers", item) for item in prepared.plan.helpers if item.name in asked]
    for group, item in used:
        if item.secret is not None:
            Secrets().resolve(item.secret, environ, where=prepared.where((group, item.model, "secret", "env")))


def _check_programs(prepared: Prepared) -> None:
    """Refuse a run of a program that is not there, before its first trial is spent on finding that out.

    Raises:
        SpecError: COMMAND, naming the program.
    """
    from trialplate.transport.command_line import command_argv

    for item in prepared.plan.configurations:
        if item.runner != "command" or item.name not in prepared.matrix.counts:
            continue
        if prepared.plan.cache in ("replay", "auto"):
            continue  # what is recorded needs no program
        program = command_argv(item.settings, item.name)[0]
        if shutil.which(os.path.abspath(prepared.project / program) if os.sep in program else program) is None:
            where = prepared.where(("models", item.model, "argv", 0))
            hint = "correct its name; a name without a slash is looked up on PATH, another one in the project"
            raise SpecError(f"there is no program {program!r} that can be run", where=where, hint=hint, code="COMMAND")
