# SPDX-License-Identifier: Apache-2.0
"""What this machine knows of each log: never older, never of another key, never silently lost."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from trialplate.errors import FormatError, StorageError, VerificationError
from trialplate.ledger.known import make_config_folder, remember
from trialplate.record.note import Checkpoint, format_checkpoint, sign_note, signer_from_seed
from trialplate.verify.known import Known, config_folder, read_known

SIGNER = signer_from_seed("operator", bytes(32))
OTHER = signer_from_seed("operator", bytes(range(32)))
GENESIS = "sha256:" + "0" * 64
ORIGIN = "example.org/demo-0123abcd"


def note(size: int, fill: int = 0) -> bytes:
    return sign_note(format_checkpoint(Checkpoint(ORIGIN, size, bytes([fill]) * 32)), SIGNER)


def test_remember_keeps_the_newest_checkpoint_for_the_owner_alone(tmp_path: Path) -> None:
    """Newer replaces older; an older one changes nothing; other logs stay."""
    folder = tmp_path / "new"
    other = sign_note(format_checkpoint(Checkpoint("other-00000000", 9, bytes(32))), SIGNER)
    remember(folder, "other-00000000", SIGNER.public, GENESIS, other)

    for size in (3, 5, 4):
        remember(folder, ORIGIN, SIGNER.public, GENESIS, note(size))

    known = read_known(folder)
    assert Known(SIGNER.public, GENESIS, note(5)) == known[ORIGIN]
    assert other == known["other-00000000"].checkpoint
    assert stat.S_IMODE((folder / "known.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("signer", "genesis", "checkpoint", "code"),
    [
        (OTHER, GENESIS, sign_note(format_checkpoint(Checkpoint(ORIGIN, 9, bytes(32))), OTHER), "KEY-CHANGED"),
        (SIGNER, "sha256:" + "1" * 64, note(9), "GENESIS-CHANGED"),
        (SIGNER, GENESIS, note(5, fill=1), "LEDGER-FORK"),
        (SIGNER, GENESIS, sign_note(format_checkpoint(Checkpoint(ORIGIN, 9, bytes(32))), OTHER), "SIG-MISSING"),
        (SIGNER, GENESIS, sign_note(format_checkpoint(Checkpoint("x", 9, bytes(32))), SIGNER), "ORIGIN-MISMATCH"),
    ],
)
def test_remember_of_what_contradicts_the_known_is_refused(
    tmp_path: Path, signer: object, genesis: str, checkpoint: bytes, code: str
) -> None:
    """Another key, another beginning, another root at the same size, another signer, another log."""
    remember(tmp_path, ORIGIN, SIGNER.public, GENESIS, note(5))

    with pytest.raises(VerificationError) as caught:
        remember(tmp_path, ORIGIN, signer.public, genesis, checkpoint)  # type: ignore[attr-defined]

    assert code == caught.value.code
    assert note(5) == read_known(tmp_path)[ORIGIN].checkpoint


def test_read_known_without_a_file_knows_nothing(tmp_path: Path) -> None:
    """A first use is no error."""
    assert read_known(tmp_path) == {}
    assert read_known(tmp_path / "missing") == {}


GOOD = {"checkpoint": note(1).decode(), "genesis": GENESIS, "key": SIGNER.public.line}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format":"trialplate-known/1"}',
        '{"format":"trialplate-known/2","logs":{}}',
        '{"format":"trialplate-known/1","logs":[]}',
        '{"format":"trialplate-known/1","logs":{},"more":1}',
        '{"format":"trialplate-known/1","logs":{"a":{}}}',
        '{"format":"trialplate-known/1","logs":{},"logs":{}}',
        json.dumps({"format": "trialplate-known/1", "logs": {"a": {**GOOD, "genesis": "sha256:0"}}}),
        json.dumps({"format": "trialplate-known/1", "logs": {"a": {**GOOD, "key": "a+b+c"}}}),
        json.dumps({"format": "trialplate-known/1", "logs": {"a": {**GOOD, "checkpoint": None}}}),
        json.dumps({"format": "trialplate-known/1", "logs": {"a": {**GOOD, "more": ""}}}),
    ],
)
def test_read_known_of_a_damaged_file_is_an_error_with_a_way_out(tmp_path: Path, text: str) -> None:
    """Taking it for empty would hide a rollback."""
    (tmp_path / "known.json").write_text(text)

    with pytest.raises(FormatError) as caught:
        read_known(tmp_path)

    assert caught.value.code == "KNOWN"
    assert str(tmp_path / "known.json") == caught.value.where
    assert caught.value.hint


def test_config_folder_follows_the_environment() -> None:
    """TRIALPLATE_HOME, then XDG_CONFIG_HOME if it is absolute, then ~/.config."""
    home = {"HOME": "/home/u"}

    assert Path("/x") == config_folder({"TRIALPLATE_HOME": "/x", "XDG_CONFIG_HOME": "/y", **home})
    assert Path("/y/trialplate") == config_folder({"XDG_CONFIG_HOME": "/y", **home})
    assert Path("/home/u/.config/trialplate") == config_folder({"XDG_CONFIG_HOME": "relative", **home})
    assert Path("/home/u/.config/trialplate") == config_folder(home)


def test_make_config_folder_where_a_file_stands_is_a_storage_error(tmp_path: Path) -> None:
    """The error names the folder."""
    (tmp_path / "config").write_text("")

    with pytest.raises(StorageError) as caught:
        make_config_folder(tmp_path / "config" / "deeper")

    assert str(tmp_path / "config" / "deeper") == caught.value.where
