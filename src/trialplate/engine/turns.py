# SPDX-License-Identifier: Apache-2.0
"""Waiting for one's turn to ask: what attempts and helpers share that go on asking once they have begun.

Limits are of requests, and an attempt with tools makes several. Its first is admitted with the attempt; each further
one waits here for the model's and the provider's minute, and while the provider wants to be left alone. It holds its
place among the requests at once meanwhile, so it waits for time alone, and never for another attempt.
"""

from __future__ import annotations

import asyncio
import time

from trialplate.engine.pace import Meter

__all__ = ["FurtherTurns", "own_turn"]


class FurtherTurns:
    """The further requests of one attempt."""

    def __init__(self, meter: Meter, tokens: int) -> None:
        """Take what bounds them, and the tokens that each is taken to need."""
        self._meter, self._tokens = meter, tokens
        self.taken = 0
        """Tokens that were taken so far."""

    async def __call__(self) -> float:
        """Return once another request may be made, with the seconds that it waited."""
        began = time.monotonic()
        while (until := self._meter.ready_again(self._tokens, now := time.monotonic())) > now:
            await asyncio.sleep(until - now)
        self._meter.take(self._tokens, time.monotonic())
        self.taken += self._tokens
        return time.monotonic() - began


async def own_turn(meter: Meter, tokens: int) -> None:
    """Wait until a request may be made that has no place yet; nothing is held meanwhile."""
    while (hold := meter.hold(tokens, now := time.monotonic())) is not None:
        freed = meter.account.freed()
        if hold.until is None:
            await freed
        else:
            await asyncio.wait({freed}, timeout=max(0.0, hold.until - now))
            freed.cancel()
