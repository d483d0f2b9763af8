# SPDX-License-Identifier: Apache-2.0
"""What a model's tokens cost: written by its author, inherited as a whole, or looked up in a table once.

The nearest price is used whole, never mixed: a model's own, else that of its provider, else that of the plan. Nothing
of it is unknown for want of a line: a rate of the cache that is not there is the full input rate, a reasoning rate the
output's (`rules.cost`). Without any price the cost is unknown, never zero.

`pricing: {table: genai-prices, as_of: 2026-11-30}` takes the rates from the table in the optional package of that name,
as they stood on that day, and the plan keeps them with table, version and date: a later version of the table changes no
plan that was frozen. A price that depends on the length of the input is no rate and is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from trialplate.errors import SpecError
from trialplate.record.values import Pricing
from trialplate.spec.fields import Author, Exact, Short

__all__ = ["PricingEntry", "PricingForm", "TableEntry", "price_of"]

_IDS = {"mistralai": "mistral", "xai": "x-ai"}
"""The table's names of providers, where they are not ours."""
_IN_TABLE = ("openai", "anthropic", "google", "mistralai", "deepseek", "xai", "moonshotai", "openrouter")
_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "reasoning": "output_reasoning_mtok",
}


class PricingEntry(Author):
    """Prices per million tokens."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"
    input: Exact
    output: Exact
    cache_read: Exact | None = None
    cache_write: Exact | None = None
    reasoning: Exact | None = None


def _day(value: str) -> str:
    try:
        datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise PydanticCustomError("day", "expected a day, such as 2026-11-30") from None
    return value


class TableEntry(Author):
    """Prices of a table."""

    table: Literal["genai-prices"]
    as_of: Annotated[str, AfterValidator(_day)]
    """The day whose prices are meant; a plan's bytes depend on no clock."""
    provider: Short | None = None
    """The table's name of the provider, if it is not that of the runner."""
    model: Short | None = None
    """The table's name of the model, if it is not the model's id."""


def _form(value: Any) -> str:
    if isinstance(value, str):
        return "as a word"
    return "from a table" if isinstance(value, dict) and "table" in value else "as a map"


PricingForm = Annotated[
    Annotated[Literal["free"], Tag("as a word")]
    | Annotated[TableEntry, Tag("from a table")]
    | Annotated[PricingEntry, Tag("as a map")],
    Discriminator(_form),
]


def price_of(form: Any, runner: str, model_id: str | None, where: str) -> Pricing | None:
    """Return a price as a plan has it.

    Args:
        form: what the author wrote; None: nothing, and the price is unknown.
        runner, model_id: what a table is asked for.
        where: the place of it, for errors.

    Raises:
        SpecError: the table is not there, or has no such price.
    """
    if form is None:
        return None
    if form == "free":
        return Pricing(free=True)
    if isinstance(form, PricingEntry):
        return Pricing(**form.model_dump())
    return _from_table(form, runner, model_id, where)


def _from_table(entry: TableEntry, runner: str, model_id: str | None, where: str) -> Pricing:
    try:
        from genai_prices import __version__ as version
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        hint = "install trialplate[prices], or write input and output here"
        raise SpecError("the price table genai-prices is not installed", where=where, hint=hint) from None
    provider = entry.provider or (_IDS.get(runner, runner) if runner in _IN_TABLE else None)
    model = entry.model or model_id
    if provider is None or model is None:
        hint = "write provider: and model: as the table calls them, or the prices themselves"
        raise SpecError(f"the price table does not know the runner {runner}", where=where, hint=hint)
    hint = "write input and output as the provider's page says"
    try:
        found, info = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        message = f"the price table genai-prices {version} has no {model!r} of {provider!r}"
        raise SpecError(message, where=where, hint=hint) from None
    day = datetime.strptime(entry.as_of, "%Y-%m-%d").replace(tzinfo=UTC)
    if day > datetime.now(UTC) + timedelta(days=1):  # it may be tomorrow already where the author is
        message = f"as_of: {entry.as_of} is a day to come, and nobody knows its prices"
        raise SpecError(message, where=where, hint="write a day that has been")
    prices = vars(info.get_prices(day))
    rates: dict[str, str] = {}
    for name, key in _RATES.items():
        rate = prices.get(key)
        if rate is not None and not isinstance(rate, Decimal):
            message = f"the {name} price of {info.id!r} depends on the length of the input: {_steps(rate)}"
            raise SpecError(message, where=where, hint="write the rates that hold for your inputs")
        if rate is not None:
            rates[name] = _text(rate)
    if "input" not in rates or "output" not in rates:
        message = f"the price table genai-prices {version} has no price per token of {info.id!r}"
        raise SpecError(message, where=where, hint=hint)
    return Pricing().replace(**rates, source=f"genai-prices {version} {found.id}/{info.id}"[:128], as_of=entry.as_of)


def _steps(rate: Any) -> str:
    """Return a price that goes up with the length of the input, in words."""
    steps = [f"{_text(step.price)} from {step.start} tokens on" for step in rate.tiers]
    return ", ".join([_text(rate.base), *steps])


def _text(rate: Decimal) -> str:
    plain = format(rate, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
