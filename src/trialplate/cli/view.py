# SPDX-License-Identifier: Apache-2.0
"""How far a run has come, in words: a block for a terminal, a line for everything else. Nothing is printed here.

Only what is known is said. Time left is worked out from trials that ended, at the rate of the last minute; until as
many have ended as run at once, and while nothing ends, there is none. Spend is what was paid: a replay costs nothing.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trialplate.engine.tally import Tally
from trialplate.engine.watch import Waiting
from trialplate.record.entries import OUTCOMES
from trialplate.verify.findings import counted
from trialplate.verify.text import visible

__all__ = ["Speed", "View", "block", "clipped", "duration", "line", "money"]

WINDOW_S = 60.0
FEWEST = 3
"""Trials that must have ended before time left is told, however few run at once."""


class Speed:
    """Trials per second over the last minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()
        self._first = 0

    def saw(self, now: float, done: int) -> None:
        """Take note of how many trials have ended; once a second is enough."""
        if not self._seen:
            self._first = done
        if not self._seen or now - self._seen[-1][0] >= 1.0:
            self._seen.append((now, done))
        while len(self._seen) > 1 and now - self._seen[1][0] >= WINDOW_S:
            self._seen.popleft()

    def rate(self, now: float, done: int) -> float | None:
        """Return trials per second, or None while nothing ended within the last minute."""
        if not self._seen or done <= self._seen[0][1] or now <= self._seen[0][0]:
            return None
        return (done - self._seen[0][1]) / (now - self._seen[0][0])

    def left_s(self, now: float, done: int, planned: int, at_once: int) -> float | None:
        """Return how many seconds the rest takes, or None while that cannot be told."""
        rate = self.rate(now, done)
        if rate is None or done - self._first < max(FEWEST, at_once):
            return None
        return (planned - done) / rate


@dataclass
class View:
    """What there is to show; other threads may read it while it changes."""

    planned: Mapping[str, int]
    """Trials of each configuration."""
    currencies: Mapping[str, str]
    """Of each configuration that has a price."""
    most: Mapping[str, int]
    """Upper estimate by currency, in 10^-9; what has no price is not in it."""
    at_once: int
    replay: bool = False
    """Every answer comes from a cassette: nothing is paid."""
    whole: str | None = None
    """The command that runs the plan in full, where it is known."""
    tally: Tally | None = None
    waiting: Sequence[Waiting] = ()
    stopping: int | None = None
    """Attempts that were under way when somebody asked for the end."""
    cut: bool = False
    """They are cut short."""
    helper_currency: str | None = None
    """Of the helpers; None, if there are none that have a price."""
    speed: Speed = field(default_factory=Speed)

    @property
    def total(self) -> int:
        """Return the number of trials planned, without those that a stop rule has found not to be needed."""
        return sum(map(self.needed, self.planned))

    def needed(self, name: str) -> int:
        """Return the number of trials of a configuration, without those that are not needed any more."""
        not_needed = self.tally.not_needed if self.tally is not None else {}
        return self.planned[name] - not_needed.get(name, 0)

    @property
    def done(self) -> int:
        """Return the number of trials that ended."""
        return self.tally.done if self.tally is not None else 0

    def row(self, name: str) -> dict[str, int]:
        """Return the outcomes of a configuration so far."""
        row = self.tally.by_configuration.get(name) if self.tally is not None else None
        return dict(row) if row is not None else dict.fromkeys(OUTCOMES, 0)

    def spent(self) -> tuple[dict[str, int], int]:
        """Return what was paid, by currency in 10^-9, and for how many attempts that is unknown."""
        paid = dict.fromkeys(self.most, 0)
        unknown = 0
        for name, sums in list(self.tally.sums.items()) if self.tally is not None else ():
            unknown += sums.spent_unknown
            if name in self.currencies:
                currency = self.currencies[name]
                paid[currency] = paid.get(currency, 0) + sums.spent_nano
            unknown += sums.helpers_unknown
            if self.helper_currency is not None:
                paid[self.helper_currency] = paid.get(self.helper_currency, 0) + sums.helper_spent_nano
        return paid, unknown


def money(nano: int, currency: str) -> str:
    """Return an amount with four digits after the point."""
    return f"{nano / 1e9:.4f} {currency}"


def duration(seconds: float) -> str:
    """Return a time in the words that a person would use."""
    whole = max(1, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _spend(view: View) -> str:
    """Say what was paid of what it could come to; nothing where nothing can be."""
    if view.replay:
        return "replayed, nothing is paid"
    paid, _ = view.spent()
    parts = [
        f"{money(nano, currency)} of at most {money(view.most[currency], currency)}"
        if view.most.get(currency)
        else money(nano, currency)
        for currency, nano in paid.items()
        if nano or view.most.get(currency)
    ]
    sums = view.tally.sums if view.tally is not None else {}
    unknown = sum(item.spent_unknown for name, item in list(sums.items()) if name in view.currencies)
    if unknown:
        parts.append(f"{counted(unknown, 'cost')} unknown")
    unpriced = sum(name not in view.currencies for name in view.planned)
    if unpriced:
        parts.append(f"{counted(unpriced, 'configuration')} without a price")
    return " + ".join(parts)


def _pace(view: View, now: float) -> Iterator[str]:
    """Yield the rate and the time left, as far as they are known."""
    done = view.done
    rate = view.speed.rate(now, done)
    if rate is not None and done < view.total:
        yield f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"
        left = view.speed.left_s(now, done, view.total, view.at_once)
        if left is not None:
            yield f"about {duration(left)} left"


def _outcomes(row: Mapping[str, int]) -> str:
    return "  ".join(f"{row[word]} {word}" for word in OUTCOMES if row[word] or word in ("passed", "failed"))


def _waits(view: View, now: float) -> Iterator[str]:
    """Yield what is being waited for, and what was asked to end."""
    for item in list(view.waiting)[:4]:
        until = f" for {duration(item.until - now)}" if item.until is not None and item.until > now else ""
        yield f"waiting: {visible(item.who)}{until} ({visible(item.reason)}), {counted(item.trials, 'trial')}"
    if view.stopping is not None:
        under_way = view.tally.under_way if view.tally is not None else 0
        if view.cut:
            words = f"stopping: {counted(view.stopping, 'answer')} under way cut short, {under_way} left"
            yield f"{words}; ctrl-C again to stop at once"
        else:
            yield f"stopping: {counted(under_way, 'answer')} under way to wait for; ctrl-C again to cut them short"


def line(view: View, now: float) -> str:
    """Return one line about the whole run, for a log."""
    rows = [view.row(name) for name in view.planned]
    total = {word: sum(row[word] for row in rows) for word in OUTCOMES}
    parts = [f"{view.done}/{view.total}", ", ".join(_outcomes(total).split("  ")), *_pace(view, now), _spend(view)]
    return "; ".join([*filter(None, parts), *_waits(view, now)])


def block(view: View, now: float, width: int, height: int) -> list[str]:
    """Return the lines that are drawn over again on a terminal, none wider or more than it is."""
    done, total = view.done, view.total
    under_way = view.tally.under_way if view.tally is not None else 0
    head = [f"{done}/{total} trials", f"{done * 100 // max(total, 1)} %", *_pace(view, now), _spend(view)]
    if under_way and view.stopping is None:
        head.append(f"{under_way} under way")
    tail = list(_waits(view, now))
    room = max(1, height - 2 - len(tail))
    names = list(view.planned)
    shown = names if len(names) <= room else names[: room - 1]
    wide = max((len(visible(name)) for name in shown), default=0)
    deep = max((len(str(number)) for number in view.planned.values()), default=1)
    lines = ["  ".join(filter(None, head))]
    for name in shown:
        row = view.row(name)
        came = f"{sum(row.values()):>{deep}}/{view.needed(name):<{deep}}"
        lines.append(f"  {visible(name):<{wide}}  {came}  {_outcomes(row)}")
    if len(shown) < len(names):
        lines.append(f"  ... and {counted(len(names) - len(shown), 'more configuration')}")
    return [clipped(text, width - 1) for text in [*lines, *tail]][: max(1, height - 1)]


def clipped(text: str, width: int) -> str:
    """Return a text no wider than so many columns of a terminal; wide characters take two."""
    used = 0
    for index, char in enumerate(text):
        used += 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > width:
            return text[:index]
    return text
