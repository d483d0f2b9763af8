# SPDX-License-Identifier: Apache-2.0
"""Money: what an attempt could cost is reserved before it starts, and settled by what it did cost.

Whoever checks and then spends lets everything that is under way pass the check. Here an attempt starts only if all that
was spent, all that is reserved and its own bound are within the limit together; so no number of attempts at once goes
beyond it. What cannot be told (an answer without usage, a lost attempt) keeps its reservation for good.

An attempt that does not fit now waits while others could still give money back; those behind it that cost something
wait with it, so that cheap ones cannot keep a dear one waiting for ever. If nothing is reserved, it never fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from trialplate.record.entries import TrialEnd, TrialKey, TrialStart
from trialplate.spec.bounds import AttemptBounds

__all__ = ["Allowance", "Purse", "Spending", "charge", "unbilled"]

UNBILLED = frozenset(
    {"refused_connection", "not_started", "replay_miss", "rejected_request", "authentication", "rate_limited"}
)
"""Causes for which no model did anything: nobody was asked, or the request was refused as it stood."""
UNASKED = frozenset({"refused_connection", "not_started", "replay_miss"})
"""Those of them for which the last request never left."""


def unbilled(cause: str | None, status: int | None) -> bool:
    """Say whether a call that failed so cost nothing: it was refused as it stood, or nobody was asked."""
    return cause in UNBILLED or (cause == "http_status" and status is not None and 400 <= status < 500)


def charge(end: TrialEnd, reserved: int, helping: int = 0) -> int:
    """Return what an attempt and its helpers take out of a budget, in 10^-9 of the currency's unit.

    Args:
        reserved: the most that the attempt could cost; it stands wherever the actual cost is unknown.
        helping: the same of its helpers.
    """
    return _own(end, reserved) + _helpers(end, helping)


def _own(end: TrialEnd, reserved: int) -> int:
    if not reserved or end.outcome == "skipped" or (end.calls and all(call.replayed for call in end.calls)):
        return 0  # what could cost nothing took nothing: the cost of a trace was paid elsewhere
    if end.cost is not None:
        return end.cost.nano
    before = len(end.calls) > (0 if end.cause in UNASKED else 1)  # turns of a conversation, which did cost something
    return 0 if unbilled(end.cause, end.status) and not before else reserved


def _helpers(end: TrialEnd, reserved: int) -> int:
    if end.cause == "interrupted":
        return reserved  # a call that was cut off may be billed, and is in no line
    if all(call.replayed for call in end.helper_calls):
        return 0
    return reserved if end.helper_cost is None else end.helper_cost.nano


class Purse:
    """What may still be spent."""

    def __init__(self, limit_nano: int, spent_nano: int = 0) -> None:
        """Begin with what earlier sessions spent: the limit is of all of them together."""
        self.limit, self.spent, self.reserved = limit_nano, spent_nano, 0
        self._first: object | None = None

    def reserve(self, who: object, nano: int | None) -> Literal["yes", "wait", "never"]:
        """Reserve an attempt's bound, if it fits.

        Args:
            who: the trial, the same object whenever it asks again.
            nano: the bound; None is unknown, and never fits.
        """
        if nano == 0:
            return "yes"
        if nano is None:
            return "never"
        if self._first not in (None, who):
            return "wait"
        if self.spent + self.reserved + nano <= self.limit:
            self._first = None
            self.reserved += nano
            return "yes"
        if not self.reserved:
            self._first = None
            return "never"
        self._first = who
        return "wait"

    def more(self, nano: int) -> bool:
        """Reserve more for what is under way already, if it fits now; it waits for nobody."""
        fits = self.spent + self.reserved + nano <= self.limit
        self.reserved += nano if fits else 0
        return fits

    def step_back(self, who: object) -> None:
        """Let others ask: this trial is held by something else than money."""
        if self._first is who:
            self._first = None

    def settle(self, reserved: int, spent: int) -> None:
        """Put what was spent in the place of what was reserved."""
        self.reserved -= reserved
        self.spent += spent


class Allowance:
    """What the helpers of one attempt may spend.

    What was reserved with the attempt covers the calls that are expected. A call that may be billed though it failed,
    and an answer longer than was expected, take more: that is reserved before the call, or the call is not made.
    """

    def __init__(self, purse: Purse, reserved: int) -> None:
        self._purse = purse
        self.reserved = reserved
        """In 10^-9 of the currency's unit, as everything here."""
        self._taken = 0

    def take(self, nano: int) -> bool:
        """Set aside the most that a call can cost; False: there is no money for it."""
        missing = self._taken + nano - self.reserved
        if missing > 0:
            if not self._purse.more(missing):
                return False
            self.reserved += missing
        self._taken += nano
        return True

    def give_back(self, nano: int) -> None:
        """Give back what a call did not cost of what was set aside for it."""
        self._taken -= nano


class Spending:
    """Adds up what a record's attempts took out of a budget, line by line; a lost one counts with its bound."""

    def __init__(self, bounds: Mapping[str, AttemptBounds]) -> None:
        self._bounds = bounds
        self._ended = 0
        self._open: dict[TrialKey, tuple[int, int]] = {}
        self._lost = 0

    def start(self, body: TrialStart) -> None:
        """Count an attempt that begins."""
        self._lost += sum(self._open.pop(body.trial, (0, 0)))
        self._open[body.trial] = self._bound(body.trial)

    def end(self, body: TrialEnd) -> None:
        """Count an attempt that ends."""
        reserved, helping = self._open.pop(body.trial, (0, 0))
        bounds = self._bounds.get(body.trial[0])
        expected = 0 if bounds is None or not body.helper_calls else bounds.of(body.trial[1]).asks
        more = -(-len(body.helper_calls) // expected) if expected else 1  # each call may have cost its part
        self._ended += charge(body, reserved, helping * max(1, more))

    @property
    def nano(self) -> int:
        """Return what was spent, in 10^-9 of the currency's unit; an attempt without an end counts as lost."""
        return self._ended + self._lost + sum(map(sum, self._open.values()))

    def _bound(self, key: TrialKey) -> tuple[int, int]:
        bounds = self._bounds.get(key[0])
        if bounds is None:
            return 0, 0
        bound = bounds.of(key[1])
        return 0 if bound.cost is None else bound.cost.nano, bound.helping or 0
