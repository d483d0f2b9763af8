# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree: proofs of every position, damaged proofs, and the splitting of a log's bytes into lines."""

from __future__ import annotations

import pytest

from trialplate.record.log import (
    Frontier,
    check_inclusion,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_of,
    split_lines,
)

HASHES = [leaf_hash(b"%d" % number) for number in range(20)]
ROOTS = [root_of(b"%d" % number for number in range(size)) for size in range(21)]


def test_inclusion_proof_of_every_leaf_of_every_size_holds_and_no_other_claim_does() -> None:
    """For logs up to 20 entries: the right claim is true; another leaf, place, root or a damaged path is not."""
    for size in range(1, 21):
        for index in range(size):
            proof = inclusion_proof(HASHES[:size], index)
            assert check_inclusion(HASHES[index], index, size, proof, ROOTS[size])
            assert not check_inclusion(HASHES[index - 1], index, size, proof, ROOTS[size]) or size == 1
            assert not check_inclusion(HASHES[index], index + 1, size, proof, ROOTS[size])
            assert not check_inclusion(HASHES[index], index, size, proof, ROOTS[size - 1])
            assert not check_inclusion(HASHES[index], index, size, [*proof, HASHES[0]], ROOTS[size])
            assert not check_inclusion(HASHES[index], index, size, [*proof, b"short"], ROOTS[size])
            if proof:
                assert not check_inclusion(HASHES[index], index, size, proof[:-1], ROOTS[size])


@pytest.mark.parametrize("index", [-1, 20])
def test_inclusion_proof_of_no_leaf_is_an_error(index: int) -> None:
    """There is no path to what is not there."""
    with pytest.raises(IndexError):
        inclusion_proof(HASHES, index)


def test_leaf_and_node_are_hashed_apart() -> None:
    """An entry that reads like two hashes is not an inner node."""
    assert node_hash(HASHES[0], HASHES[1]) != leaf_hash(HASHES[0] + HASHES[1])


def test_frontier_copy_grows_without_the_original() -> None:
    """An append that is tried and given up leaves the log's root as it was."""
    frontier = Frontier()
    for leaf in HASHES[:5]:
        frontier.append(leaf)

    twin = frontier.copy()
    twin.append(HASHES[5])

    assert (5, ROOTS[5]) == (frontier.size, frontier.root())
    assert (6, ROOTS[6]) == (twin.size, twin.root())


@pytest.mark.parametrize(
    ("data", "lines", "tail"),
    [
        (b"", [], b""),
        (b"a", [], b"a"),
        (b"a\n", [b"a"], b""),
        (b"a\nb", [b"a"], b"b"),
        (b"\n\n", [b"", b""], b""),
        (b"a\r\n\x0b\x0c\xe2\x80\xa8b\n", [b"a\r", b"\x0b\x0c\xe2\x80\xa8b"], b""),
    ],
)
def test_split_lines_parts_at_lf_alone_and_keeps_a_torn_tail_apart(
    data: bytes, lines: list[bytes], tail: bytes
) -> None:
    """Carriage returns, vertical tabs and U+2028 are bytes like any other."""
    assert (lines, tail) == split_lines(data)
