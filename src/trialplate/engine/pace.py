# SPDX-License-Identifier: Apache-2.0
"""How fast a run may ask: limits per minute of models and providers, and slowing down where a provider asks for it.

A limit per minute is a token bucket that hardly fills: attempts are spread over the minute and no window of a minute
holds more than the limit, a tenth of a second's worth and, of tokens, one request. What an attempt takes is taken when
it starts, all at once or nothing, and nothing is held while waiting: so no two attempts can wait for each other.

A provider that refuses (429, 503, 529) is believed. Its whole account waits as long as Retry-After says. If it refuses
more than a stray request, its requests at once are halved, and spaced by the rate at which it had accepted them; both
grow back with every answer.

Times are seconds of a clock that only goes forward, given as arguments; no clock is read here.

Source: RFC 9110 10.2.3 (Retry-After); additive increase, multiplicative decrease as in RFC 5681.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from trialplate.record.values import Configuration, Plan, Provider
from trialplate.rules.cells import CALLING_RUNNERS, under_test
from trialplate.spec.accounts import account_of

__all__ = ["LONGEST_BLOCK_S", "REFUSALS", "Account", "Bucket", "Hold", "Meter", "Pace", "Waiting"]

REFUSALS = frozenset({429, 503, 529})
"""Statuses by which a provider says that it is too much."""
LONGEST_BLOCK_S = 600.0
"""A longer Retry-After is not waited for at once: the next attempt after this hears whether it still stands."""
BURST_S = 0.1
"""Seconds of a limit that may be used at once."""
CAUTION = 0.8
"""Share of the accepted rate that a refused provider is asked at."""
STRAY = 0.2
"""Share of refusals among the last replies up to which a provider is unsteady, and not overloaded."""
REPLIES = 20
"""Replies that are looked at for that."""
GROWTH = 0.1
"""What that rate gains in the time in which it was measured."""
LONGEST_SPAN_S = 60.0
NEGLIGIBLE_GAP_S = 0.002
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Waiting:
    """What trials are waiting for, as a person is told."""

    who: str
    """A model, a configuration or a provider."""
    reason: str
    trials: int
    """How many stand there now; more may follow."""
    until: float | None
    """In seconds of the schedule's clock; None: until something that is under way ends."""


class Hold(NamedTuple):
    """Why an attempt may not start now."""

    who: str
    reason: str
    until: float | None


class Bucket:
    """A limit per minute. An attempt may leave it in debt; the next one waits until that is made up."""

    def __init__(self, who: str, per_minute: int, of: str, now: float) -> None:
        self.who, self.per_minute = who, per_minute
        self.reason = f"{per_minute} {of} a minute"
        self._rate = per_minute / 60
        self._most = max(1.0, self._rate * BURST_S)
        self._level, self._at = self._most, now

    def ready_at(self, amount: float, now: float) -> float:
        """Return when so much may be taken, not before now."""
        self._fill(now)
        missing = min(amount, self._most) - self._level
        return now if missing <= _TOLERANCE else now + missing / self._rate

    def take(self, amount: float, now: float) -> None:
        """Take it, whether it is there or not."""
        self._fill(now)
        self._level -= min(amount, self.per_minute)

    def give_back(self, amount: float, now: float) -> None:
        """Correct what was taken by what it came to; less than nothing takes more."""
        self._fill(now)
        self._level = min(self._most, self._level + amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._most, self._level + (now - self._at) * self._rate)
        self._at = now


class Account:
    """What everything behind one provider shares: requests at once, and its wish to be left alone for a while."""

    def __init__(self, name: str, concurrency: int | None = None) -> None:
        self.name = name
        self.most = math.inf if concurrency is None else float(concurrency)
        self.at_once = self.most
        """Requests that may be under way now; a fraction counts once it is whole."""
        self.under_way = 0
        self.wave = 0
        """How many times it was slowed down; refusals of requests that began before the last time are old news."""
        self.blocked_until = -math.inf
        self._reason = ""
        self._gap, self._next, self._measured = 0.0, -math.inf, 1
        self._accepted: deque[float] = deque(maxlen=1024)
        self._last: deque[bool] = deque(maxlen=REPLIES)
        """Whether each of the last replies was a refusal."""
        self._waiters: list[asyncio.Future[None]] = []

    def hold(self, now: float) -> Hold | None:
        """Return why no request may start now, if none may."""
        if self.blocked_until > now:
            return Hold(self.name, self._reason, self.blocked_until)
        if self.under_way + 1 > self.at_once:
            return Hold(self.name, f"{math.floor(self.at_once)} at once", None)
        if self._gap and self._next > now + _TOLERANCE:
            return Hold(self.name, f"slower since {self._reason}", self._next)
        return None

    def freed(self) -> asyncio.Future[None]:
        """Return what is done once a request that is under way now has ended."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def _ended(self) -> None:
        self.under_way -= 1
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def begin(self, now: float) -> int:
        """Count a request that starts; returns the wave that it belongs to."""
        self.under_way += 1
        if self._gap:
            self._next = now + self._gap
        return self.wave

    def accepted(self, now: float) -> None:
        """Count a request that was served, and speed up a little."""
        self._ended()
        self._accepted.append(now)
        self._last.append(False)
        if self.at_once < self.most:
            self.at_once = min(self.most, self.at_once + 1 / self.at_once)
            if self.at_once > 1000:  # more than a run may have at once
                self.at_once = self.most
        if self._gap:
            self._gap /= 1 + GROWTH / self._measured
            if self._gap < NEGLIGIBLE_GAP_S:
                self._gap = 0.0

    def failed(self) -> None:
        """Count a request that ended otherwise: it says nothing about the pace."""
        self._ended()

    def refused(self, now: float, wave: int, status: int, asked_s: float | None, backoff_s: float) -> None:
        """Count a request that was refused: leave the account alone, and slow down once for each wave of refusals.

        A stray refusal among many answers slows nothing down, else a server that fails one time in twenty would be
        asked ever more slowly, and fail as often.

        Args:
            asked_s: what Retry-After said, in seconds.
            backoff_s: how long this program would wait by itself.
        """
        if asked_s is not None or status == 429:
            wait = min(backoff_s if asked_s is None else asked_s, LONGEST_BLOCK_S)
            self.blocked_until = max(self.blocked_until, now + wait)
        self._reason = f"{status}, Retry-After" if asked_s is not None else f"{status}"
        self._last.append(True)
        if wave == self.wave and sum(self._last) > STRAY * len(self._last):
            self.wave += 1
            self.at_once = max(1.0, min(self.at_once, self.under_way) / 2)
            span = min(max(1.0, asked_s or 0.0), LONGEST_SPAN_S)
            recent = sum(1 for then in self._accepted if then > now - span)
            if recent:  # else nothing is known of what it would accept
                self._gap, self._measured = span / (recent * CAUTION), recent
                self._next = max(self._next, self.blocked_until)
        self._ended()


class Meter:
    """What the attempts of one configuration have to pass: its model's limits and its provider's."""

    def __init__(self, account: Account, requests: Iterable[Bucket], tokens: Iterable[Bucket]) -> None:
        self.account = account
        self._requests, self._tokens = tuple(requests), tuple(tokens)
        self.counts_tokens = bool(self._tokens)
        self._limited = bool(self._requests or self._tokens)

    def hold(self, tokens: int, now: float) -> Hold | None:
        """Return why an attempt of so many tokens may not start now, if it may not; of several reasons the longest."""
        held = self.account.hold(now)
        if held is not None or not self._limited:
            return held
        ready = [(bucket.ready_at(1, now), bucket) for bucket in self._requests]
        ready += [(bucket.ready_at(tokens, now), bucket) for bucket in self._tokens]
        last, bucket = max(ready, key=lambda item: item[0])
        return Hold(bucket.who, bucket.reason, last) if last > now else None

    def ready_again(self, tokens: int, now: float) -> float:
        """Return when an attempt that has its place may make another request, not before now."""
        ready = [bucket.ready_at(1, now) for bucket in self._requests]
        ready += [bucket.ready_at(tokens, now) for bucket in self._tokens]
        return max([now, self.account.blocked_until, *ready])

    def take(self, tokens: int, now: float) -> None:
        """Take what a request needs of the minute."""
        for bucket in self._requests:
            bucket.take(1, now)
        for bucket in self._tokens:
            bucket.take(tokens, now)

    def begin(self, tokens: int, now: float) -> int:
        """Take what an attempt needs for its first request, and its place; returns the account's wave."""
        self.take(tokens, now)
        return self.account.begin(now)

    def correct(self, estimated: int, used: int, now: float) -> None:
        """Correct the tokens that an attempt took by those that it used.

        A minute's worth is the most that one attempt is held against the next: whatever it used beyond that is over,
        and a far end that names a count without sense would else stop its model for ever.
        """
        for bucket in self._tokens:
            bucket.give_back(min(estimated, bucket.per_minute) - min(used, bucket.per_minute), now)


class Pace:
    """The meters of a run, by configuration, and by helper."""

    def __init__(self, plan: Plan, now: float) -> None:
        shared = {item.name: item for item in plan.providers}
        self._accounts: dict[str, tuple[Account, tuple[Bucket, ...], tuple[Bucket, ...]]] = {}
        models: dict[str, tuple[tuple[Bucket, ...], tuple[Bucket, ...]]] = {}
        self._meters: dict[str, Meter] = {}
        asked = (*plan.configurations, *plan.helpers)
        self._backoff_s = {item.name: item.retry.initial_delay_ms / 1000 for item in asked}
        for item in asked:
            if plan.cache == "replay" and item.runner in CALLING_RUNNERS:
                continue  # nobody is asked
            provider = shared.get(account_of(item))
            if provider is None and under_test(item) and item.runner != "http" and not _limits(item):
                continue  # it cannot refuse by a status
            account, *of_provider = self._account(account_of(item), provider, now)
            if item.model not in models:
                limits = item.limits
                models[item.model] = _buckets(item.model, limits.requests_per_minute, limits.tokens_per_minute, now)
            of_model = models[item.model]
            self._meters[item.name] = Meter(account, of_model[0] + of_provider[0], of_model[1] + of_provider[1])

    def meter(self, name: str) -> Meter | None:
        """Return the meter of a configuration; None if nothing bounds its pace, and nothing ever will."""
        return self._meters.get(name)

    def backoff_s(self, name: str) -> float:
        """Return how long to leave a provider alone that refused and did not say for how long."""
        return self._backoff_s[name]

    def wave(self, name: str) -> int:
        """Return how many times the account behind a configuration was slowed down."""
        meter = self._meters.get(name)
        return 0 if meter is None else meter.account.wave

    def _account(
        self, name: str, limits: Provider | None, now: float
    ) -> tuple[Account, tuple[Bucket, ...], tuple[Bucket, ...]]:
        if name not in self._accounts:
            given = limits or Provider(name=name)
            buckets = _buckets(name, given.requests_per_minute, given.tokens_per_minute, now)
            self._accounts[name] = (Account(name, given.concurrency), *buckets)
        return self._accounts[name]


def _limits(item: Configuration) -> bool:
    return item.limits.requests_per_minute is not None or item.limits.tokens_per_minute is not None


def _buckets(
    who: str, requests: int | None, tokens: int | None, now: float
) -> tuple[tuple[Bucket, ...], tuple[Bucket, ...]]:
    return (
        () if requests is None else (Bucket(who, requests, "requests", now),),
        () if tokens is None else (Bucket(who, tokens, "tokens", now),),
    )
