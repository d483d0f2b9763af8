# SPDX-License-Identifier: Apache-2.0
"""Fetching the files that cases name by address, for commands that may use the network."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from trialplate.ledger.durable import create_private, fsync_dir, storage

__all__ = ["fetch"]


def fetch(url: str, path: Path, limit: int) -> None:
    """Put what stands at an address into a new file, whole or not at all; the folders above it are made.

    Args:
        url: http or https, without a fragment.
        path: where.
        limit: the most bytes that it may have.

    Raises:
        SpecError: FETCH: it cannot be had.
        StorageError: it could not be written.
    """
    from trialplate.transport.download import download

    data = download(url, limit)
    with storage(path.parent, "made"):
        path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    create_private(fresh, data)
    with storage(path, "replaced"):
        try:
            fresh.replace(path)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
    fsync_dir(path.parent)
