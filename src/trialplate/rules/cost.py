# SPDX-License-Identifier: Apache-2.0
"""What an attempt cost: declared prices times recorded tokens. Unknown is None, never zero."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from trialplate.record.entries import Money, Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.record.values import Pricing

__all__ = ["cost_of"]


@cache
def _nothing(currency: str) -> Money:
    """Return no money of a currency: the same value each time, since every trial of a free model costs it."""
    return Money(nano=0, currency=currency)


def cost_of(pricing: Pricing | None, usage: Usage | None) -> Money | None:
    """Return the cost of one attempt in 10^-9 of the currency's unit, rounded half to even.

    Cached tokens are a part of the input and reasoning tokens of the output: neither is counted twice. A cache rate
    that is not declared is the full input rate, a reasoning rate the output's. Without a price or a token count the
    cost is unknown, unless the thing under test said what it cost; a price of the plan stands over its word.
    """
    if pricing is None:
        declared = None if usage is None else usage.cost_nano
        return None if declared is None else Money(nano=declared, currency="USD")
    if pricing.free:
        return _nothing(pricing.currency)
    if usage is None or usage.input is None or usage.output is None or pricing.input is None or pricing.output is None:
        return None
    full, out = Fraction(pricing.input), Fraction(pricing.output)
    cached, written, thought = usage.cache_read or 0, usage.cache_write or 0, usage.reasoning or 0
    plain = usage.input - cached - written
    if plain < 0 or (pricing.reasoning is not None and thought > usage.output):
        return None
    total = (
        plain * full
        + cached * (Fraction(pricing.cache_read) if pricing.cache_read is not None else full)
        + written * (Fraction(pricing.cache_write) if pricing.cache_write is not None else full)
        + usage.output * out
        + (thought * (Fraction(pricing.reasoning) - out) if pricing.reasoning is not None else 0)
    )
    nano = round(total * 1000)
    if nano > MAX_INTEGER:  # no far end's count is that large
        return None
    return Money(nano=nano, currency=pricing.currency)
