# SPDX-License-Identifier: Apache-2.0
"""Where a session tells somebody how it goes: a display, a log of events, or, as here, nobody.

Every call comes from the loop that makes the attempts. Whoever listens keeps what it is told and returns at once: a
terminal that stands still must not hold up a single answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from trialplate.engine.tally import Tally
from trialplate.record.entries import TrialEnd

__all__ = ["Waiting", "Watch"]


class Waiting(Protocol):
    """What trials are waiting for, as a person is told."""

    @property
    def who(self) -> str:
        """Return the model, configuration or provider that is waited for."""

    @property
    def reason(self) -> str:
        """Return why, in words."""

    @property
    def trials(self) -> int:
        """Return how many stand there now."""

    @property
    def until(self) -> float | None:
        """Return until when, in seconds of the monotonic clock; None: until something that is under way ends."""


class Watch:
    """Listens to nothing."""

    def interruptible(self, interrupt: Callable[[], object]) -> None:
        """Hear, in a thread that hears no signals, what asks for the end from another thread."""

    def begun(self, tally: Tally) -> None:
        """Hear that the first attempt is about to start; the tally goes on counting."""

    def ended(self, end: TrialEnd, tally: Tally) -> None:
        """Hear of the last attempt of a trial."""

    def beat(self, waiting: Sequence[Waiting]) -> None:
        """Hear, a few times a second, what is being waited for."""

    def stopping(self, tally: Tally, *, cut: bool) -> None:
        """Hear that somebody asked for the end; attempts that are under way are waited for, or being cut short."""
