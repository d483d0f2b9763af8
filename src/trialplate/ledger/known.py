# SPDX-License-Identifier: Apache-2.0
"""Remembering the newest checkpoint of each log in the user's configuration folder (see `verify.known` for the file).

What this module refuses to do: replace a newer checkpoint by an older one, a key by another, a genesis by another.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trialplate.errors import StorageError, VerificationError
from trialplate.ledger.durable import PRIVATE, atomic_replace, storage
from trialplate.ledger.lock import hold
from trialplate.record import canonical
from trialplate.record.note import PublicKey
from trialplate.verify.known import FILE_NAME, FORMAT, Known, read_known
from trialplate.verify.log_file import read_checkpoint

__all__ = ["check_same_log", "hold_origin", "make_config_folder", "remember"]

_HOLDER = "another trialplate is updating what it knows of the logs"


def make_config_folder(folder: Path) -> None:
    """Make the configuration folder for its owner alone, and see that files can be made in it.

    Raises:
        StorageError: it cannot be made or written.
    """
    with storage(folder, "made"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StorageError(
                "cannot be written: you may not write there, and known checkpoints are kept there",
                where=str(folder),
                hint="set TRIALPLATE_HOME to a folder of yours that stays",
            )


@contextmanager
def hold_origin(folder: Path, origin: str, holder: str, timeout_s: float) -> Iterator[None]:
    """Let one process at a time append to the log of this name, whichever of its copies on this machine it writes.

    Without it two copies of a project could both extend what is known, and sign a fork.

    Raises:
        StorageError: as `lock.hold`, or the configuration folder cannot be used.
    """
    make_config_folder(folder)
    locks = folder / "locks"
    with storage(locks, "made"):
        locks.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(origin.encode()).hexdigest()[:32]
    with hold(locks / f"{name}.lock", holder, timeout_s):
        yield


def remember(folder: Path, origin: str, key: PublicKey, genesis: str, checkpoint: bytes) -> Known:
    """Keep a log's checkpoint, unless a newer one is known, and return what is known now.

    The caller has checked that the log extends the checkpoint known so far.

    Args:
        folder: the configuration folder.
        origin: the log's name.
        key: the key that signs it.
        genesis: the digest of its first entry's line.
        checkpoint: the signed note.

    Raises:
        VerificationError: KEY-CHANGED, GENESIS-CHANGED, LEDGER-FORK if what is known contradicts this; ORIGIN-MISMATCH,
            SIG-MISSING, NOTE-SIGNATURE if the note is not this log's.
        FormatError: KNOWN, if the file cannot be used.
        StorageError: it could not be written.
    """
    fresh = read_checkpoint(checkpoint, [key], origin, "the checkpoint to remember").checkpoint
    make_config_folder(folder)
    with hold(folder / "known.lock", _HOLDER):
        logs = read_known(folder)
        old = logs.get(origin)
        if old is not None:
            check_same_log(folder, origin, old, key, genesis)
            seen = read_checkpoint(old.checkpoint, [key], origin, str(folder / FILE_NAME)).checkpoint
            if seen.size == fresh.size and seen.root != fresh.root:
                raise VerificationError(
                    f"two checkpoints of {origin} at size {seen.size} have different roots",
                    hint="keep both: they prove that the log was forked",
                    code="LEDGER-FORK",
                )
            if seen.size >= fresh.size:
                return old
        logs[origin] = Known(key, genesis, checkpoint)
        value = {"format": FORMAT, "logs": {name: _to_json(item) for name, item in logs.items()}}
        atomic_replace(folder / FILE_NAME, canonical.encode(value) + b"\n", PRIVATE)
        return logs[origin]


def check_same_log(folder: Path, origin: str, old: Known, key: PublicKey, genesis: str) -> None:
    """Refuse a log that took the name of a known one.

    Raises:
        VerificationError: KEY-CHANGED, GENESIS-CHANGED.
    """
    where = str(folder / FILE_NAME)
    if old.key != key:
        message = f"{origin} is known here under the key {old.key.line}, not under {key.line}"
        hint = "find out which key is right; a log does not change its key"
        raise VerificationError(message, where=where, hint=hint, code="KEY-CHANGED")
    if old.genesis != genesis:
        message = f"{origin} is known here with another first entry"
        hint = "this is another log that took the name; ask its owner"
        raise VerificationError(message, where=where, hint=hint, code="GENESIS-CHANGED")


def _to_json(known: Known) -> dict[str, str]:
    return {"checkpoint": known.checkpoint.decode(), "genesis": known.genesis, "key": known.key.line}
