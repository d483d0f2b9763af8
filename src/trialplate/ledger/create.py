# SPDX-License-Identifier: Apache-2.0
"""Making a ledger: its name, its genesis entry, its first checkpoint, all at once or not at all."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from trialplate.errors import UsageError
from trialplate.ledger import known as memory
from trialplate.ledger.clock import utc_now
from trialplate.ledger.durable import AppendFile, create_file, fsync_dir, storage
from trialplate.ledger.keys import LedgerKey
from trialplate.ledger.ledger_writer import ENTRIES, ORIGIN
from trialplate.ledger.log_writer import Clock, LogWriter
from trialplate.record import canonical, codec
from trialplate.record.disclosure import secret_commitment
from trialplate.record.entries import LEDGER_TYPES, Genesis

__all__ = ["init_ledger"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,99}")


# in a new folder beside it: create origin, entries.jsonl, checkpoint, each durable; rename(folder); fsync(parent)
def init_ledger(
    folder: Path,
    name: str,
    key: LedgerKey,
    config: Path,
    *,
    clock: Clock = utc_now,
    continues: Sequence[str] = (),
) -> str:
    """Make a ledger and remember it as known and trusted on this machine; return its origin.

    Args:
        folder: the ledger's folder; it is not there yet, or empty.
        name: what the origin begins with; 8 random hex digits follow.
        key: signs the ledger, and pins its secret.
        config: the user's configuration folder.
        clock: the time of the genesis entry.
        continues: checkpoints of earlier logs of the project, as text.

    Raises:
        UsageError: something is there already, or the name cannot be used.
        StorageError: it could not be written; nothing is left of it.
    """
    if not _NAME.fullmatch(name):
        hint = "use 1 to 100 letters, digits and ._:@/- , such as example.org/team/project"
        raise UsageError(f"a ledger cannot be called {name!r}", hint=hint)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise _exists(folder)
    memory.make_config_folder(config)
    origin = f"{name}-{secrets.token_hex(4)}"
    fresh = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    try:
        with storage(fresh, "made"):
            fresh.mkdir(parents=True)
        genesis, note = _fill(fresh, origin, key, clock, continues)
        try:
            with storage(folder, "made"):
                fresh.rename(folder)  # replaces an empty folder, and nothing else
        except FileExistsError:
            raise _exists(folder) from None
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    fsync_dir(folder.parent)
    memory.remember(config, origin, key.signer.public, genesis, note)
    return origin


def _fill(folder: Path, origin: str, key: LedgerKey, clock: Clock, continues: Sequence[str]) -> tuple[str, bytes]:
    """Write the three files; return the genesis line's digest and the note."""
    body = Genesis(origin=origin, key=key.line, secret=secret_commitment(key.secret), continues=tuple(continues))
    create_file(folder / ORIGIN, origin.encode("ascii") + b"\n")
    file = AppendFile(folder / ENTRIES, new=True)
    try:
        log = LogWriter(file, origin, key.signer, LEDGER_TYPES, clock)
        line = log.add("log.genesis", codec.to_json(body))
        return canonical.digest(line), log.sign(log.point)
    finally:
        file.close()


def _exists(folder: Path) -> UsageError:
    hint = "use the ledger that is there; a project has one, and it is never made anew"
    return UsageError("something is there already", where=str(folder), hint=hint)
