# SPDX-License-Identifier: Apache-2.0
"""Random values of trials: of their form, each another, from the system's own source."""

from __future__ import annotations

import os

import pytest

from trialplate.engine.randomness import Randomness
from trialplate.record.values import Salt


def test_salts_and_request_ids_have_their_form_and_never_come_twice() -> None:
    source = Randomness()
    salts = [source.salt() for _ in range(1000)]
    requests = [source.request_id() for _ in range(1000)]
    is_salt = Salt.__metadata__[0].check()  # type: ignore[attr-defined]
    assert all(is_salt(salt) for salt in salts)
    assert all(len(bytes.fromhex(item)) == 16 for item in requests)
    assert len({*salts, *requests}) == 2000
    assert Randomness().salt() not in salts


def test_every_byte_is_the_systems_and_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = bytearray()

    def urandom(size: int) -> bytes:
        drawn.extend(fresh := real(size))
        return fresh

    real = os.urandom
    monkeypatch.setattr("trialplate.engine.randomness.os.urandom", urandom)
    source = Randomness()
    used = b"".join(bytes.fromhex(source.request_id()) for _ in range(600))
    assert used == drawn[: len(used)]
    assert len(drawn) < len(used) + 4096
