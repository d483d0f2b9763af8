# SPDX-License-Identifier: Apache-2.0
"""Costs: cached tokens once, reasoning tokens once, zero is not unknown and unknown is not zero."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.record.entries import Money, Usage
from trialplate.record.values import Pricing
from trialplate.rules.cost import cost_of

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "decide"


def _usage(raw: dict[str, Any] | None) -> Usage | None:
    if raw is None:
        return None
    return Usage(
        input=raw["prompt_tokens"],
        output=raw["completion_tokens"],
        cache_read=raw.get("prompt_tokens_details", {}).get("cached_tokens"),
        reasoning=raw.get("completion_tokens_details", {}).get("reasoning_tokens"),
    )


@pytest.mark.parametrize("item", json.loads((CASES / "usage_openai.json").read_text()), ids=lambda item: item["case"])
def test_cost_of_cached_and_reasoning_tokens_counts_each_once(item: dict[str, Any]) -> None:
    """K01 and K03: what is a part of input or output is not added on top."""
    prices = item["prices"]
    pricing = Pricing(
        input=str(prices["input_per_1m"]),
        output=str(prices["output_per_1m"]),
        cache_read=str(prices["cache_read_per_1m"]) if "cache_read_per_1m" in prices else None,
    )
    money = cost_of(pricing, _usage(item["usage"]))
    assert money is not None
    assert (Decimal(money.nano).scaleb(-9), money.currency) == (Decimal(item["expect"]["cost_usd"]), "USD")


@pytest.mark.parametrize("item", json.loads((CASES / "usage_zero.json").read_text()), ids=str)
def test_cost_of_zero_and_of_unknown_usage_are_told_apart(item: dict[str, Any]) -> None:
    """K06: an explicit zero costs nothing; what was not counted costs nobody knows what."""
    money = cost_of(Pricing(input="1", output="2"), _usage(item["usage"]))
    expected = item["expect"]["cost_usd"]
    assert money == (None if expected is None else Money(nano=0, currency="USD"))


@pytest.mark.parametrize(
    ("usage", "nano"),
    [
        (
            Usage(input=1000, output=200, cache_read=400, reasoning=150),
            600 * 2_000 + 400 * 200 + 50 * 8_000 + 150 * 3_000,
        ),
        (Usage(input=10, output=5, reasoning=5), 10 * 2_000 + 5 * 3_000),
        (Usage(input=10, output=5, reasoning=0), 10 * 2_000 + 5 * 8_000),
        (Usage(input=10, output=5), 10 * 2_000 + 5 * 8_000),
        (Usage(input=10, output=5, reasoning=6), None),
        (Usage(input=10, reasoning=6), None),
    ],
    ids=str,
)
def test_cost_of_reasoning_at_its_own_rate_replaces_the_outputs(usage: Usage, nano: int | None) -> None:
    """Reasoning tokens are a part of the output: priced apart they are not priced twice; more than all is no count."""
    money = cost_of(Pricing(input="2", output="8", cache_read="0.2", reasoning="3"), usage)
    assert money == (None if nano is None else Money(nano=nano, currency="USD"))


def test_cost_of_three_repeats_of_two_cases_adds_up() -> None:
    """K08: sixty tokens are paid for, not the ten of one trial."""
    item = json.loads((CASES / "usage_repeats.json").read_text())
    each = cost_of(Pricing(input="1", output="1"), Usage(input=item["tokens_per_trial"], output=0))
    assert each is not None
    assert each.nano * item["cases"] * item["repeats"] == item["expect"]["candidate_tokens"] * 1000


@pytest.mark.parametrize(
    ("pricing", "usage"),
    [
        (None, Usage(input=1, output=1)),
        (Pricing(input="1"), Usage(input=1, output=1)),
        (Pricing(output="1"), Usage(input=1, output=0)),
        (Pricing(input="1", output="1"), None),
        (Pricing(input="1", output="1"), Usage(input=1)),
        (Pricing(input="1", output="1"), Usage(output=1)),
        (Pricing(input="1", output="1"), Usage(input=5, output=1, cache_read=4, cache_write=2)),
    ],
)
def test_cost_of_anything_unknown_is_none(pricing: Pricing | None, usage: Usage | None) -> None:
    """No price, no count, or parts that are more than their whole: there is no cost, and never zero."""
    assert cost_of(pricing, usage) is None


def test_cost_of_free_is_zero_even_without_usage() -> None:
    """`pricing: free` is an explicit zero."""
    assert cost_of(Pricing(free=True, currency="EUR"), None) == Money(nano=0, currency="EUR")


def test_cost_of_undeclared_cache_rates_is_the_full_input_rate() -> None:
    """What has no price of its own is never cheaper than plain input."""
    usage = Usage(input=1000, output=0, cache_read=400, cache_write=300)
    assert cost_of(Pricing(input="2", output="8"), usage) == Money(nano=2_000_000, currency="USD")


@pytest.mark.parametrize(("tokens", "nano"), [(1, 0), (3, 2), (5, 2), (7, 4)])
def test_cost_of_half_a_nano_rounds_to_even(tokens: int, nano: int) -> None:
    """Halves go to the even neighbour, so that many small costs are not pushed one way."""
    assert cost_of(Pricing(input="0.0005", output="0"), Usage(input=tokens, output=0)) == Money(
        nano=nano, currency="USD"
    )


_price = st.decimals(0, 999, places=6, allow_nan=False).map(lambda value: f"{value:f}")
_tokens = st.integers(0, 10**7)


@given(st.tuples(_price, _price, _price, _price), st.tuples(_tokens, _tokens, _tokens, _tokens))
def test_cost_of_any_counts_is_within_half_a_nano_of_the_fraction(
    prices: tuple[str, str, str, str], tokens: tuple[int, int, int, int]
) -> None:
    """The sum is exact; it is rounded once, at the end."""
    plain, read, written, output = tokens
    usage = Usage(input=plain + read + written, output=output, cache_read=read, cache_write=written, reasoning=output)
    money = cost_of(Pricing(input=prices[0], cache_read=prices[1], cache_write=prices[2], output=prices[3]), usage)
    assert money is not None
    exact = sum((n * Fraction(p) for n, p in zip((plain, read, written, output), prices, strict=True)), Fraction(0))
    assert abs(money.nano - exact * 1000) <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("pricing", "usage", "cost"),
    [
        (None, Usage(declared=True, cost_nano=5), Money(nano=5, currency="USD")),
        (None, Usage(declared=True, cost_nano=0), Money(nano=0, currency="USD")),
        (None, Usage(input=1, output=1, declared=True), None),
        (Pricing(free=True), Usage(declared=True, cost_nano=5), Money(nano=0, currency="USD")),
        (Pricing(input="1", output="1"), Usage(input=1, output=1, cost_nano=5), Money(nano=2000, currency="USD")),
        (Pricing(input="1", output="1"), Usage(declared=True, cost_nano=5), None),
    ],
)
def test_cost_that_the_thing_under_test_declares_counts_where_the_plan_has_no_price(
    pricing: Pricing | None, usage: Usage, cost: Money | None
) -> None:
    """A price that was committed to stands over its word, also where it leaves the cost unknown."""
    assert cost_of(pricing, usage) == cost
