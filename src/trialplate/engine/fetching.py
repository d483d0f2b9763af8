# SPDX-License-Identifier: Apache-2.0
"""Fetching the files that cases name by address, for commands that may use the network."""

from __future__ import annotations

from pathlib import Path

from trialplate.ledger.durable import put_private

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

    put_private(path, download(url, limit))
