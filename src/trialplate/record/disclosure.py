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

import base64
import hashlib
import hmac

from trialplate.record import canonical
from trialplate.record.values import Json

__all__ = ["commit", "commitment_of", "derive_salt", "disclosure", "secret_commitment"]

_SALT_BYTES = 16
_SECRET_DOMAIN = b"trialplate/secret/v1\x00"


def commit(salt: str, value: Json) -> str:
    """Return the commitment to a value: 43 characters of base64url.

    Raises:
        FormatError: CANON, if the value has no canonical JSON.
    """
    return commitment_of(disclosure(salt, value))


def disclosure(salt: str, value: Json) -> str:
    """Return what opens the commitment, as other tools of RFC 9901 read it."""
    return _base64url(canonical.encode([salt, value]))


def commitment_of(disclosure: str) -> str:
    """Return the digest of a disclosure (RFC 9901, section 4.2.3). The disclosure must be ASCII."""
    return _base64url(hashlib.sha256(disclosure.encode("ascii")).digest())


def derive_salt(secret: bytes, label: str, value: Json) -> str:
    """Return the salt that this secret gives this value: 22 characters of base64url, 128 bits.

    Args:
        secret: the ledger's secret.
        label: what the value is used as, such as "case"; the same value under another label gets another salt. It
            holds no NUL.
        value: the value that will be committed to.
    """
    message = label.encode() + b"\x00" + canonical.encode(value)
    return _base64url(hmac.digest(secret, message, "sha256")[:_SALT_BYTES])


def secret_commitment(secret: bytes) -> str:
    """Return the digest by which a ledger's genesis pins its secret. The secret must have full entropy (32 bytes)."""
    return canonical.digest(_SECRET_DOMAIN + secret)


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
