# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree and signed notes on generated data."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import FormatError
from trialplate.record import log, note

KEY = note.signer_from_seed("key", bytes(32))


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=200), st.data())
def test_proofs_of_a_generated_log_hold_and_bind_their_leaf(entries: list[bytes], data: st.DataObject) -> None:
    """Any leaf is included, and another entry in that place is not."""
    hashes = [log.leaf_hash(entry) for entry in entries]
    size = len(entries)
    index = data.draw(st.integers(0, size - 1))
    root = log.root_of(entries)

    path = log.inclusion_proof(hashes, index)

    assert log.check_inclusion(hashes[index], index, size, path, root)
    assert not log.check_inclusion(log.leaf_hash(entries[index] + b"x"), index, size, path, root)


@given(st.binary(max_size=200))
def test_split_lines_of_any_bytes_joins_back_to_them(data: bytes) -> None:
    """Nothing is lost between lines and tail."""
    lines, tail = log.split_lines(data)

    assert data == b"".join(line + b"\n" for line in lines) + tail
    assert b"\n" not in tail


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(lambda text: text + "\n"))
def test_note_of_any_text_is_refused_or_opens_to_it(text: str) -> None:
    """Signing refuses what reading would; all else comes back."""
    try:
        raw = note.sign_note(text, KEY)
    except FormatError as error:
        assert error.code == "NOTE-MALFORMED"
        assert not text.replace("\n", "").isprintable()
    else:
        opened = note.open_note(raw, [KEY.public])
        assert (text, (KEY.public,), ()) == (opened.text, opened.verified, opened.unknown)


@given(st.binary(max_size=120))
def test_open_note_of_any_bytes_is_refused_or_vouched_by_nobody(raw: bytes) -> None:
    """Random bytes raise one of our errors and nothing else."""
    try:
        opened = note.open_note(raw, [KEY.public])
    except FormatError:
        return
    assert opened.verified == ()
