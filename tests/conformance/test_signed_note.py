# SPDX-License-Identifier: Apache-2.0
"""Signed notes against the examples of C2SP signed-note and of Go's sumdb/note, and against openssl."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from trialplate.record.note import format_private, open_note, parse_key, parse_private, sign_note, signer_from_seed

C2SP_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
C2SP_NOTE = (
    "This is an example message.\n\n— example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETER_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH_KEY = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)
SPKI_ED25519 = bytes.fromhex("302a300506032b6570032100")
"""What RFC 8410 puts before the 32 bytes of the key."""


def test_c2sp_example_opens_under_its_key() -> None:
    """The worked example of the signed-note specification."""
    key = parse_key(C2SP_KEY)

    opened = open_note(C2SP_NOTE.encode(), [key])

    assert opened.text == "This is an example message.\n"
    assert (key,) == opened.verified
    assert key.line == C2SP_KEY


def test_go_example_is_signed_to_the_same_bytes() -> None:
    """Go's private key line, read and used here, gives the note that Go's documentation shows."""
    signer = parse_private(PETER_PRIVATE)

    assert (GO_TEXT + "\n" + PETER_LINE).encode() == sign_note(GO_TEXT, signer)
    assert signer.public.line == PETER_KEY
    assert format_private(signer) == PETER_PRIVATE


def test_go_example_with_two_signatures_opens_under_each_key() -> None:
    """A note of two signers: each known key verifies, the other is listed."""
    note = (GO_TEXT + "\n" + PETER_LINE + ENOCH_LINE).encode()
    peter, enoch = parse_key(PETER_KEY), parse_key(ENOCH_KEY)

    assert (peter, enoch) == open_note(note, [enoch, peter]).verified
    only_enoch = open_note(note, [enoch])
    assert (enoch,) == only_enoch.verified
    assert (("PeterNeumann", peter.key_id),) == only_enoch.unknown


def test_openssl_verifies_our_signature_and_refuses_a_changed_text(tmp_path: Path) -> None:
    """`openssl pkeyutl -verify` with the key and the text as files, without any code of ours."""
    openssl = shutil.which("openssl")
    if openssl is None:
        if os.environ.get("CI") == "true":
            pytest.fail("openssl is missing; CI must have it")
        pytest.skip("openssl is not installed")
    signer = signer_from_seed("example.org/key", bytes(range(32)))
    text = "example.org/log-0123abcd\n7\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
    line = sign_note(text, signer).decode().split("\n\n— example.org/key ")[1]
    pem = base64.encodebytes(SPKI_ED25519 + signer.public.key).decode()
    (tmp_path / "key.pem").write_text(f"-----BEGIN PUBLIC KEY-----\n{pem}-----END PUBLIC KEY-----\n")
    (tmp_path / "signature").write_bytes(base64.b64decode(line)[4:])
    command = [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "text"]
    command += ["-sigfile", "signature"]

    (tmp_path / "text").write_text(text)
    good = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    (tmp_path / "text").write_text(text.replace("\n7\n", "\n8\n"))
    changed = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)

    assert good.returncode == 0, good.stderr
    assert changed.returncode != 0
