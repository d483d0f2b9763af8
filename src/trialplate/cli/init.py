# SPDX-License-Identifier: Apache-2.0
"""`init`: a working project from a starter, with a key and a ledger, and the next commands to type."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from trialplate.engine.project import begin_ledger
from trialplate.errors import EXIT_DONE, UsageError
from trialplate.ledger.durable import storage
from trialplate.ledger.keys import load_signer, new_key
from trialplate.spec.nearest import suggestion
from trialplate.verify.known import config_folder
from trialplate.verify.locate import ledger_above

__all__ = ["STARTERS", "init_project", "list_starters"]

STARTERS = {
    "demo": "recorded answers of a small model, replayed: no key, no network",
    "openai-compatible": "a model on a server of your own; a local one needs no key",
    "openai": "two models of OpenAI; needs OPENAI_API_KEY for a run",
    "anthropic": "two models of Anthropic; needs ANTHROPIC_API_KEY for a run",
}
"""Each is a folder beside `shared`, which holds what all but the demo have in common."""
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
SCHEMA = "trialplate.v1.schema.json"
"""The first line of a starter's plan names it, so that an editor helps while the plan is written."""


def list_starters() -> int:
    """Print every starter with what it is."""
    width = max(map(len, STARTERS))
    for name, words in STARTERS.items():
        print(f"{name:<{width}}  {words}")
    return EXIT_DONE


def init_project(starter: str, folder: Path) -> int:
    """Copy a starter into a new or empty folder, and begin its ledger.

    Raises:
        UsageError: there is no such starter, or the folder is not empty.
    """
    if starter not in STARTERS:
        hint = suggestion(starter, STARTERS)
        listed = "" if hint.startswith("known here") else f" the starters are {', '.join(STARTERS)}"
        raise UsageError(f"there is no starter {starter!r}", hint=f"{hint}{listed}")
    _check_new(folder)
    _unpack(starter, folder)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.absolute().name).strip("-._") or starter
    home = config_folder(os.environ)
    given = os.environ.get("TRIALPLATE_KEY") or os.environ.get("TRIALPLATE_KEY_FILE")
    if not given and not (home / "keys" / f"{name}.key").exists():
        new_key(name, home)
    key = load_signer(name, os.environ)
    origin = begin_ledger(folder, name, key)
    print(f"made {folder} with the ledger {origin}, signed by {key.line}")
    print(f"next:\n  cd {shlex.quote(str(folder))}")
    variable = KEYS.get(starter)
    if variable is not None and not os.environ.get(variable):
        print(f"  export {variable}=...   # for a run; the estimate needs no key")
    print("  trialplate run            # the estimate; nothing is spent")
    print("  trialplate run --yes\n  trialplate report --by-tag")
    return EXIT_DONE


def _check_new(folder: Path) -> None:
    """Refuse a folder that holds something, or that lies inside another project.

    Raises:
        UsageError: it does.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError("this is no folder", where=str(folder), hint="name a new one; nothing was changed")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError("this folder is not empty", where=str(folder), hint="name a new one; nothing was changed")
    above = ledger_above(folder.absolute().parent)
    if above is not None:
        hint = "name a folder outside of it: a starter is a project of its own"
        raise UsageError(f"this would be inside the project {above.parent}", where=str(folder), hint=hint)


def _unpack(starter: str, folder: Path) -> None:
    """Write a starter's files, and the schema that its plan names."""
    from trialplate.spec.schemas import documents

    there = files("trialplate") / "starters"
    with storage(folder, "made"):
        for part in ("demo",) if starter == "demo" else ("shared", starter):
            with as_file(there / part) as path:
                shutil.copytree(path, folder, dirs_exist_ok=True)
        (folder / "schemas").mkdir()
        (folder / "schemas" / SCHEMA).write_bytes(documents()[SCHEMA])
