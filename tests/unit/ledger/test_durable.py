# SPDX-License-Identifier: Apache-2.0
"""Durable writes: whole or not at all, private from the start, errors in words."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from trialplate.errors import StorageError
from trialplate.ledger.durable import AppendFile, atomic_replace, create_file, create_private, storage


def test_create_private_file_is_readable_by_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    """The mode is 0600 at creation, not after it."""
    before = os.umask(0)
    try:
        create_private(tmp_path / "key", b"secret")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert (tmp_path / "key").read_bytes() == b"secret"


def test_create_file_where_one_stands_leaves_it_as_it_was(tmp_path: Path) -> None:
    """Nothing is overwritten, not even through a symbolic link."""
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            create_file(tmp_path / name, b"new")

    assert (tmp_path / "there").read_bytes() == b"old"
    assert not (tmp_path / "elsewhere").exists()


def test_atomic_replace_changes_the_whole_content_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    """Also where an earlier crash left a half-written temporary file."""
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old and longer")
    (tmp_path / "checkpoint.tmp").write_bytes(b"half")

    atomic_replace(path, b"new")

    assert path.read_bytes() == b"new"
    assert [path] == list(tmp_path.iterdir())


def test_storage_error_says_what_failed_and_what_to_do(tmp_path: Path) -> None:
    """An unknown folder, named with its path and a hint."""
    with pytest.raises(StorageError) as caught:
        create_file(tmp_path / "missing" / "file", b"")

    assert "missing" in caught.value.message
    assert str(tmp_path / "missing" / "file") == caught.value.where
    assert caught.value.hint
    assert caught.value.exit_code == 4


def test_storage_error_for_a_code_without_a_sentence_still_names_it(tmp_path: Path) -> None:
    """Whatever the system says, it comes out as our error."""
    with pytest.raises(StorageError, match="cannot be read: input/output error"), storage(tmp_path, "read"):
        raise OSError(5, "Input/output error")


def test_append_file_keeps_its_pieces_and_cuts_where_told(tmp_path: Path) -> None:
    """Length, reading back and cutting agree with the file."""
    file = AppendFile(tmp_path / "log", new=True)
    file.write(b"one\n")
    file.write(b"two\n")

    assert (file.length, file.read(4, file.length), file.read(1, 3)) == (8, b"two\n", b"ne")
    file.cut(4)
    file.write(b"3\n")
    file.sync()
    file.close()

    assert (tmp_path / "log").read_bytes() == b"one\n3\n"


def test_append_file_that_is_there_or_not_there_is_not_mistaken(tmp_path: Path) -> None:
    """A new file must be new, an old one old."""
    (tmp_path / "log").write_bytes(b"one\n")

    with pytest.raises(FileExistsError):
        AppendFile(tmp_path / "log", new=True)
    with pytest.raises(StorageError, match="missing"):
        AppendFile(tmp_path / "other", new=False)

    old = AppendFile(tmp_path / "log", new=False)
    assert old.length == 4
    old.close()


def test_append_file_after_a_failed_sync_never_says_again_that_data_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux reports lost pages once and then forgets them, so one failure is final for this writer."""
    file = AppendFile(tmp_path / "log", new=True)
    file.write(b"one\n")

    def fail(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("trialplate.ledger.durable.fsync", fail)
        with pytest.raises(StorageError, match="input/output error"):
            file.sync()
    with pytest.raises(StorageError, match="earlier write failed"):
        file.sync()
    file.close()
