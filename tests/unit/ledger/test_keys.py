# SPDX-License-Identifier: Apache-2.0
"""Private keys: made for the owner alone, found by line or name, and never shown."""

from __future__ import annotations

import stat
import traceback
from pathlib import Path

import pytest

from trialplate.errors import StorageError, UsageError
from trialplate.ledger.keys import load_signer, new_key
from trialplate.record.note import parse_key


def test_new_key_is_kept_for_the_owner_alone_and_loads_by_line_and_by_name(tmp_path: Path) -> None:
    """File 0600, folders 0700, the public line returned; key and secret come back the same."""
    config = tmp_path / "config"

    line = new_key("operator", config)

    file = config / "keys" / "operator.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (config, config / "keys")] == [0o700, 0o700]
    environ = {"TRIALPLATE_HOME": str(config)}
    by_line, by_name = load_signer(line, environ), load_signer("operator", environ)
    assert parse_key(line) == by_line.signer.public == by_name.signer.public
    assert len(by_line.secret) == 32
    assert by_line.secret == by_name.secret
    assert by_line.secret != load_signer(new_key("other", config), environ).secret


def test_new_key_of_a_name_that_is_taken_leaves_the_old_one(tmp_path: Path) -> None:
    """A lost key cannot be made again, so none is overwritten."""
    line = new_key("operator", tmp_path)

    with pytest.raises(UsageError, match="already"):
        new_key("operator", tmp_path)

    assert line == load_signer("operator", {"TRIALPLATE_HOME": str(tmp_path)}).line


@pytest.mark.parametrize("name", ["", "a b", "a+b", "../x", "a/b", "é", "x" * 65, ".hidden", "a\nb"])
def test_new_key_of_a_name_that_no_file_or_note_can_bear_is_refused(tmp_path: Path, name: str) -> None:
    """Names stand in signatures and in file names."""
    with pytest.raises(UsageError) as caught:
        new_key(name, tmp_path)

    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_load_signer_prefers_the_environment_and_takes_a_file_it_names(tmp_path: Path) -> None:
    """TRIALPLATE_KEY, then TRIALPLATE_KEY_FILE, then the configuration folder."""
    line = new_key("operator", tmp_path / "a")
    file = tmp_path / "a" / "keys" / "operator.key"
    text = file.read_text()

    for environ in ({"TRIALPLATE_KEY": text}, {"TRIALPLATE_KEY": text.replace("\n", "\r\n").strip()}):
        assert line == load_signer(line, environ).line
    assert line == load_signer("operator", {"TRIALPLATE_KEY_FILE": str(file)}).line
    with pytest.raises(UsageError, match="no key of trialplate"):
        load_signer(line, {"TRIALPLATE_KEY": "nonsense", "TRIALPLATE_KEY_FILE": str(file)})


def test_load_signer_of_another_key_than_the_wanted_is_refused(tmp_path: Path) -> None:
    """A key of the same name is not the same key."""
    wanted = new_key("operator", tmp_path / "a")
    other = new_key("operator", tmp_path / "b")

    with pytest.raises(UsageError) as caught:
        load_signer(wanted, {"TRIALPLATE_HOME": str(tmp_path / "b")})

    assert other in caught.value.message
    assert wanted in caught.value.message
    assert caught.value.exit_code == 2


def test_load_signer_that_is_missing_says_where_it_was_looked_for(tmp_path: Path) -> None:
    """A clone without the key is told what to set."""
    with pytest.raises(UsageError) as caught:
        load_signer("operator", {"TRIALPLATE_HOME": str(tmp_path)})

    assert str(tmp_path / "keys" / "operator.key") == caught.value.where
    assert "TRIALPLATE_KEY" in caught.value.hint


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_load_signer_from_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """A key that others could have read is no key."""
    new_key("operator", tmp_path)
    file = tmp_path / "keys" / "operator.key"
    file.chmod(mode)

    for environ in ({"TRIALPLATE_HOME": str(tmp_path)}, {"TRIALPLATE_KEY_FILE": str(file)}):
        with pytest.raises(UsageError, match=f"mode {mode:04o}") as caught:
            load_signer("operator", environ)
        assert "chmod 600" in caught.value.hint


def test_load_signer_of_a_damaged_file_is_refused_and_shows_no_part_of_it(tmp_path: Path) -> None:
    """Lines missing, swapped, cut or changed: one error, without the secret in text, cause or trace."""
    new_key("operator", tmp_path)
    file = tmp_path / "keys" / "operator.key"
    private, secret = file.read_text().split()
    seed, salt = private.split("+", 4)[4], secret.removeprefix("SECRET+")  # base64 may hold a plus
    damaged = [
        "",
        private,
        secret,
        f"{secret}\n{private}\n",
        f"{private[:-2]}\n{secret}\n",
        f"{private}\n{secret[:-3]}\n",
    ]
    damaged += [f"{private}\nSECRET+{salt[:-4]}!!!!\n", f"{private}\n{secret}\nmore\n", f"{private}x\n{secret}\n"]

    for text in damaged:
        file.write_text(text)
        with pytest.raises(UsageError) as caught:
            load_signer("operator", {"TRIALPLATE_HOME": str(tmp_path)})
        shown = "".join(traceback.format_exception(caught.value)) + caught.value.hint + caught.value.where
        assert seed[4:30] not in shown
        assert salt[4:30] not in shown


def test_ledger_key_shows_its_public_line_only(tmp_path: Path) -> None:
    """Neither seed nor secret stands in a representation."""
    new_key("operator", tmp_path)
    private, secret = (tmp_path / "keys" / "operator.key").read_text().split()

    key = load_signer("operator", {"TRIALPLATE_HOME": str(tmp_path)})

    assert key.line in repr(key)
    assert private.split("+", 4)[4] not in repr(key)
    assert secret not in repr(key)
    assert repr(key.secret) not in repr(key)


def test_new_key_where_nothing_can_be_written_is_a_storage_error(tmp_path: Path) -> None:
    """A file stands where the configuration folder should be."""
    (tmp_path / "config").write_text("")

    with pytest.raises(StorageError):
        new_key("operator", tmp_path / "config" / "deeper")
