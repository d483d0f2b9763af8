# SPDX-License-Identifier: Apache-2.0
"""The bytes of a run's case files: stored once, private, read back only as they were."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from trialplate.errors import StorageError, VerificationError
from trialplate.ledger.blobs import Blobs, blobs_of
from trialplate.record.values import Case, CaseFile

PICTURE = b"\x89PNG\r\n\x1a\n\0not much of a picture"
NAME = hashlib.sha256(PICTURE).hexdigest()
DIGEST = f"sha256:{NAME}"


def test_bytes_are_called_by_what_sha256sum_prints_and_are_private(tmp_path: Path) -> None:
    """Neither others nor the group may read them; what is read back is what was stored."""
    Blobs(tmp_path).write([(DIGEST, PICTURE)])
    stored = tmp_path / "content" / NAME
    assert stored.read_bytes() == PICTURE
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert stat.S_IMODE(stored.parent.stat().st_mode) == 0o700
    assert Blobs(tmp_path).read(DIGEST) == PICTURE


def test_run_without_files_makes_no_folder(tmp_path: Path) -> None:
    """Nothing is made for nothing."""
    Blobs(tmp_path).write([])
    assert list(tmp_path.iterdir()) == []


def test_bytes_are_stored_once(tmp_path: Path) -> None:
    """What several cases share is one file, and one that is there is left alone."""
    Blobs(tmp_path).write([(DIGEST, PICTURE), (DIGEST, PICTURE)])
    before = (tmp_path / "content" / NAME).stat()
    Blobs(tmp_path).write([(DIGEST, PICTURE)])
    after = (tmp_path / "content" / NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_changed_bytes_are_not_handed_out(tmp_path: Path) -> None:
    """One flipped bit is enough."""
    blobs = Blobs(tmp_path)
    blobs.write([(DIGEST, PICTURE)])
    (tmp_path / "content" / NAME).write_bytes(PICTURE[:-1] + b"f")
    with pytest.raises(VerificationError) as caught:
        blobs.check([DIGEST])
    assert caught.value.code == "CONTENT-MISMATCH"


def test_missing_bytes_are_named(tmp_path: Path) -> None:
    """The error says which file is to be brought back."""
    with pytest.raises(StorageError) as caught:
        Blobs(tmp_path).read(DIGEST)
    assert NAME in (caught.value.where or "")
    assert caught.value.hint


def test_case_needs_its_files_and_its_trace() -> None:
    """In its order, the trace last."""
    other = "sha256:" + "0" * 64
    file = CaseFile(name="p", type="image/png", digest=DIGEST)
    assert blobs_of(Case(id="a", kind="trace", input="", files=(file,), trace=other)) == (DIGEST, other)
    assert blobs_of(Case(id="a", input="?")) == ()
