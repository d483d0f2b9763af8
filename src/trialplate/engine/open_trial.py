# SPDX-License-Identifier: Apache-2.0
"""A trial between its attempts: what those who admit, schedule and make its attempts know of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trialplate.engine.budget import Allowance
from trialplate.record.entries import TrialEnd, TrialKey, Usage
from trialplate.runners.base import Failure

__all__ = ["OpenTrial", "Step"]


class OpenTrial:
    """A trial that has begun and not ended, between its attempts."""

    __slots__ = (
        "allowance",
        "answered",
        "asks",
        "attempts",
        "begun",
        "end",
        "further_tokens",
        "key",
        "place_given_back",
        "reasked",
        "recorded",
    )

    def __init__(self, key: TrialKey, attempts: range, *, asks: bool, reasked: bool) -> None:
        self.key, self.attempts = key, attempts
        self.asks = asks
        """An answer is asked for; else an earlier one is scored again."""
        self.reasked = reasked
        self.begun = False
        """Some of an answer to the last attempt had come, or the harness had cut it off."""
        self.end: TrialEnd | None = None
        """Of the last attempt of this session."""
        self.recorded: bool | None = None
        """Nobody would be asked, since a recorded answer would be replayed; None: nobody has looked yet."""
        self.allowance: Allowance | None = None
        """What helpers may spend on the attempt under way; None: money is not bounded."""
        self.answered: Callable[[Usage | None], None] = lambda usage: None
        """Told once the answer to the attempt under way has come, and helpers are asked about it."""
        self.further_tokens = 0
        """What the further requests of the attempt under way took of a minute's tokens."""
        self.place_given_back = False
        """The attempt under way has given back its place with its provider."""

    @property
    def number(self) -> int:
        """Return the number of the next attempt."""
        return self.attempts[0] if self.end is None else self.end.attempt + 1


class Step(NamedTuple):
    """What an attempt came to: `delay_s` until the next one, or None if the trial has ended."""

    end: TrialEnd
    failure: Failure | None
    delay_s: float | None
