# SPDX-License-Identifier: Apache-2.0
"""What is random about a trial: the salts of its private parts, and the ids of its requests.

The bytes are the operating system's, asked for a few hundred at a time. Each system call lets the thread that makes a
record durable have its turn, and a run of many short trials would make more of them for random bytes than to write.
"""

from __future__ import annotations

import base64
import os

__all__ = ["Randomness"]

_DRAWN = 4096
_SIZE = 16


class Randomness:
    """A source of values that nobody can foresee, 128 bits each; no two are alike."""

    def __init__(self) -> None:
        self._bytes, self._at = b"", 0

    def salt(self) -> str:
        """Return the salt of one commitment: 22 characters of base64url."""
        return base64.urlsafe_b64encode(self._take())[:22].decode("ascii")

    def request_id(self) -> str:
        """Return the id of one request: 32 hexadecimal digits."""
        return self._take().hex()

    def _take(self) -> bytes:
        if self._at == len(self._bytes):
            self._bytes, self._at = os.urandom(_DRAWN), 0
        self._at += _SIZE
        return self._bytes[self._at - _SIZE : self._at]
