# SPDX-License-Identifier: Apache-2.0
"""What a user has seen of each log: a damaged memory is an error, because ignoring it would hide a rollback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialplate.errors import FormatError
from trialplate.record.note import signer_from_seed
from trialplate.verify.known import FORMAT, config_folder, read_known

KEY = signer_from_seed("TEST-ONLY", bytes(32)).public
LOG = {"checkpoint": "a note\n", "genesis": "sha256:" + "0" * 64, "key": KEY.line}


def written(folder: Path, value: Any) -> Path:
    """Write known.json."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    (folder / "known.json").write_bytes(raw)
    return folder


def test_read_known_of_no_file_is_nothing(tmp_path: Path) -> None:
    """Nobody has seen anything yet."""
    assert read_known(tmp_path) == {}
    assert read_known(tmp_path / "never made") == {}


def test_read_known_gives_key_genesis_and_checkpoint(tmp_path: Path) -> None:
    """One entry per origin."""
    known = read_known(written(tmp_path, {"format": FORMAT, "logs": {"log-1": LOG}}))
    assert known["log-1"].key == KEY
    assert (known["log-1"].genesis, known["log-1"].checkpoint) == (LOG["genesis"], b"a note\n")


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"format":"trialplate-known/1","format":"trialplate-known/1","logs":{}}',
        {"logs": {}},
        {"format": "trialplate-known/2", "logs": {}},
        {"format": FORMAT},
        {"format": FORMAT, "logs": []},
        {"format": FORMAT, "logs": {}, "more": 1},
        {"format": FORMAT, "logs": {"log-1": {}}},
        {"format": FORMAT, "logs": {"log-1": {**LOG, "more": "x"}}},
        {"format": FORMAT, "logs": {"log-1": {**LOG, "genesis": "sha256:00"}}},
        {"format": FORMAT, "logs": {"log-1": {**LOG, "key": "no key"}}},
        {"format": FORMAT, "logs": {"log-1": {**LOG, "checkpoint": 5}}},
    ],
    ids=str,
)
def test_read_known_damaged_is_an_error_with_a_way_out(tmp_path: Path, value: Any) -> None:
    """Another format, a missing field, a broken key: exit 3, the file named, and one thing to do."""
    with pytest.raises(FormatError) as caught:
        read_known(written(tmp_path, value))
    assert (caught.value.code, caught.value.exit_code) == ("KNOWN", 3)
    assert caught.value.where == str(tmp_path / "known.json")
    assert caught.value.hint


def test_read_known_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A folder in the file's place."""
    (tmp_path / "known.json").mkdir()
    with pytest.raises(FormatError) as caught:
        read_known(tmp_path)
    assert caught.value.code == "KNOWN"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TRIALPLATE_HOME": "/a", "XDG_CONFIG_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CONFIG_HOME": "/b", "HOME": "/c"}, "/b/trialplate"),
        ({"XDG_CONFIG_HOME": "b", "HOME": "/c"}, "/c/.config/trialplate"),
        ({"TRIALPLATE_HOME": "", "HOME": "/c"}, "/c/.config/trialplate"),
    ],
)
def test_config_folder_by_the_environment(environ: dict[str, str], expected: str) -> None:
    """Our own variable, then XDG's if it is absolute, then the home folder."""
    assert config_folder(environ) == Path(expected)
