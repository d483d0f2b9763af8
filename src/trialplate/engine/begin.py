# SPDX-License-Identifier: Apache-2.0
"""The beginning of a project that has no ledger yet: its key, unless there is one, and its ledger.

A plan that cannot be used leaves neither behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from trialplate.engine.prepare import Prepared
from trialplate.engine.project import begin_ledger, check_new
from trialplate.engine.ready import check_ready
from trialplate.ledger.keys import LedgerKey, keep_key, load_signer, make_key
from trialplate.verify.known import config_folder

__all__ = ["begin_project"]


def begin_project(
    folder: Path,
    name: str,
    environ: Mapping[str, str],
    prepare: Callable[[bytes], Prepared],
    *,
    temporary: bool = False,
) -> tuple[Prepared, str, LedgerKey]:
    """Prepare a plan, then make key and ledger.

    Args:
        folder: the project's.
        name: the plan's; key and ledger are called so.
        environ: where the key and the configuration folder are looked up.
        prepare: makes the run that could start, from the ledger's secret.
        temporary: the folder is new and its ledger ends with it, so that it may have a name that others had.

    Returns:
        The run, the ledger's origin, and the key that signs it.

    Raises:
        SpecError, UsageError: the plan cannot be used, or there was a ledger; nothing was made.
    """
    home = config_folder(environ)
    given = environ.get("TRIALPLATE_KEY") or environ.get("TRIALPLATE_KEY_FILE")
    is_new = not given and not (home / "keys" / f"{name}.key").exists()
    key = make_key(name) if is_new else load_signer(name, environ)
    prepared = prepare(key.secret)
    check_ready(prepared, environ)
    if not temporary:
        check_new(folder, name)
    if is_new:
        keep_key(key, home)
    return prepared, begin_ledger(folder, name, key), key
