# SPDX-License-Identifier: Apache-2.0
"""`init`: a working project from a starter, with a key and a ledger, and the next commands to type."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from trialplate.cli.project import begin_ledger
from trialplate.errors import EXIT_DONE, UsageError
from trialplate.ledger.durable import storage
from trialplate.ledger.keys import load_signer, new_key
from trialplate.verify.known import config_folder
from trialplate.verify.locate import ledger_above

__all__ = ["init_project"]


def init_project(starter: str, folder: Path) -> int:
    """Copy a starter into a new or empty folder, and begin its ledger.

    Raises:
        UsageError: there is no such starter, or the folder is not empty.
    """
    source = files("trialplate") / "starters" / starter
    there = sorted(item.name for item in (files("trialplate") / "starters").iterdir() if item.is_dir())
    if starter not in there:
        near = difflib.get_close_matches(starter, there, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(there)}"
        raise UsageError(f"there is no starter {starter!r}", hint=hint)
    if folder.exists() and not folder.is_dir():
        raise UsageError("this is no folder", where=str(folder), hint="name a new one; nothing was changed")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError("this folder is not empty", where=str(folder), hint="name a new one; nothing was changed")
    above = ledger_above(folder.absolute().parent)
    if above is not None:
        hint = "name a folder outside of it: a starter is a project of its own"
        raise UsageError(f"this would be inside the project {above.parent}", where=str(folder), hint=hint)
    with as_file(source) as path, storage(folder, "made"):
        shutil.copytree(path, folder, dirs_exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.absolute().name).strip("-._") or starter
    home = config_folder(os.environ)
    given = os.environ.get("TRIALPLATE_KEY") or os.environ.get("TRIALPLATE_KEY_FILE")
    if not given and not (home / "keys" / f"{name}.key").exists():
        new_key(name, home)
    key = load_signer(name, os.environ)
    origin = begin_ledger(folder, name, key)
    print(f"made {folder} with the ledger {origin}, signed by {key.line}")
    print(f"next:\n  cd {shlex.quote(str(folder))}\n  trialplate run            # the estimate; nothing is spent")
    print("  trialplate run --yes\n  trialplate report --by-tag")
    return EXIT_DONE
