# SPDX-License-Identifier: Apache-2.0
"""Salted commitments to private values, in the array-element form of RFC 9901 (selective disclosure).

A disclosure is base64url(RFC 8785 bytes of [salt, value]); the commitment is base64url(SHA-256 of the disclosure's
ASCII bytes), both without padding. Each commitment can be opened alone, by salt and value; without the salt, which
has 128 bits, a guess at the value cannot be checked.

Salts of cases and texts are derived from a secret of the ledger, so that the same case is recognised in every run.
Salts of what a trial produced must be random: draw them where randomness is, not here.

What this module refuses to do: draw random numbers, keep a secret, read or write a file.
"""

from __future__ import annotations

import binascii
import hashlib

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.flaws import MAX_DEPTH
from trialplate.record.frozen import Json
from trialplate.record.values import Salt

__all__ = ["array_of", "commit", "commit_derived", "commitment_of", "derive_salt", "secret_commitment", "value_of"]

_SALT_BYTES = 16
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_is_salt = Salt.__metadata__[0].check()  # type: ignore[attr-defined]  # the marker of the format's definition
_SECRET_DOMAIN = b"trialplate/secret/v1\x00"


def commit(salt: str, value: Json) -> str:
    """Return the commitment to a value: 43 characters of base64url.

    Raises:
        FormatError: CANON, if the value has no canonical JSON.
    """
    return commitment_of(array_of(salt, value))


def array_of(salt: str, value: Json) -> bytes:
    """Return what opens the commitment: the canonical bytes of `[salt, value]`, a line of content.jsonl.

    Its base64url form is the disclosure that other tools of RFC 9901 read.
    """
    return canonical.encode([salt, value])


def commitment_of(array: bytes) -> str:
    """Return the digest of the disclosure that encodes these bytes (RFC 9901, section 4.2.3)."""
    return _base64url(hashlib.sha256(_base64url(array)).digest()).decode("ascii")


def value_of(array: Json, where: str) -> Json:
    """Return the value that a line of content.jsonl opens.

    Raises:
        FormatError: SCHEMA, if it is no pair of a salt and a value.
    """
    if type(array) is not list or len(array) != 2 or type(array[0]) is not str or not _is_salt(array[0]):
        raise FormatError("an opening is a pair of a salt and a value", where=where, code="SCHEMA")
    return array[1]


def derive_salt(secret: bytes, label: str, raw: bytes) -> str:
    """Return the salt that this secret gives a value: 22 characters of base64url, 128 bits.

    Args:
        secret: the ledger's secret.
        label: what the value is used as, such as "case"; the same value under another label gets another salt. It
            holds no NUL.
        raw: the canonical bytes of the value.
    """
    import hmac  # only who has the secret gets here; a verifier never does

    return _base64url(hmac.digest(secret, label.encode() + b"\x00" + raw, "sha256")[:_SALT_BYTES]).decode("ascii")


def commit_derived(secret: bytes, label: str, value: Json) -> tuple[str, str]:
    """Return the salt that this secret gives this value, and the commitment to the value under it.

    Raises:
        FormatError: CANON, if the value has no canonical JSON.
    """
    raw = canonical.encode(value)
    salt = derive_salt(secret, label, raw)
    if raw.count(b"{") + raw.count(b"[") >= MAX_DEPTH:
        return salt, commit(salt, value)  # it may be too deep for one more level
    return salt, commitment_of(b'["%b",%b]' % (salt.encode(), raw))


def secret_commitment(secret: bytes) -> str:
    """Return the digest by which a ledger's genesis pins its secret. The secret must have full entropy (32 bytes)."""
    return canonical.digest(_SECRET_DOMAIN + secret)


def _base64url(raw: bytes) -> bytes:
    return binascii.b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=")
