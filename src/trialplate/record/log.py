# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree of RFC 6962 (RFC 9162, section 2.1) over the entries of a log, and its inclusion proof.

An entry is one line of the log's file without its LF. A leaf is SHA-256(0x00 || entry), an inner node
SHA-256(0x01 || left || right), so that no entry can be taken for a node. `Frontier` keeps the roots of the complete
subtrees on the right edge: that is all a writer has to remember in order to append and to know the root.

What this module refuses to do: store a tree, read or write a file, decide whether a root is the right one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

__all__ = ["EMPTY_ROOT", "MAX_ENTRY", "Frontier", "check_inclusion"]
__all__ += ["inclusion_proof", "leaf_hash", "node_hash", "root_of", "split_lines"]

MAX_ENTRY = 65_535
"""The longest entry in bytes: C2SP tlog-tiles store a length in 16 bits."""
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of one entry (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A log's size and root while it grows, in O(log n) state."""

    __slots__ = ("_peaks", "size")

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        full = self.size
        while full & 1:  # a complete subtree of this height stands to the left: join the two
            leaf = node_hash(self._peaks.pop(), leaf)
            full >>= 1
        self._peaks.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """Return the root over all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        *rest, root = self._peaks
        for peak in reversed(rest):
            root = node_hash(peak, root)
        return root

    def copy(self) -> Frontier:
        """Return an independent copy, for trying an append."""
        twin = Frontier()
        twin.size, twin._peaks = self.size, self._peaks.copy()
        return twin


def root_of(entries: Iterable[bytes]) -> bytes:
    """Return the root over entries, which may be streamed."""
    frontier = Frontier()
    for entry in entries:
        frontier.append(leaf_hash(entry))
    return frontier.root()


def inclusion_proof(leaf_hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the audit path of one leaf, lowest sibling first (RFC 9162, 2.1.3.1).

    Raises:
        IndexError: there is no such leaf.
    """
    low, high = 0, len(leaf_hashes)
    if not 0 <= index < high:
        raise IndexError(f"no leaf {index} among {high}")
    path = []
    while high - low > 1:
        middle = low + _left_size(high - low)
        if index < middle:
            path.append(_subtree(leaf_hashes, middle, high))
            high = middle
        else:
            path.append(_subtree(leaf_hashes, low, middle))
            low = middle
    return path[::-1]


def check_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the leaf hash stands at `index` of the log with this size and root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(leaf, root, *proof):
        return False
    position, last = index, size - 1
    for sibling in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            leaf = node_hash(sibling, leaf)
            position, last = _skip_lonely(position, last)
        else:
            leaf = node_hash(leaf, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and leaf == root


def split_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """Split a log's bytes into its complete lines without LF, and the torn tail after the last LF (or b"")."""
    *lines, tail = data.split(b"\n")
    return lines, tail


def _left_size(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _subtree(leaf_hashes: Sequence[bytes], low: int, high: int) -> bytes:
    frontier = Frontier()
    for index in range(low, high):
        frontier.append(leaf_hashes[index])
    return frontier.root()


def _skip_lonely(position: int, last: int) -> tuple[int, int]:
    """Go up the levels on which the right edge's node has no sibling and is carried up as it is."""
    while position and not position & 1:
        position >>= 1
        last >>= 1
    return position, last


def _are_hashes(*hashes: bytes) -> bool:
    return all(len(item) == 32 for item in hashes)
