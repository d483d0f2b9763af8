# SPDX-License-Identifier: Apache-2.0
"""What a rule or a choice is about, as an author writes it: a name, or a mapping of one kind with what belongs to it.

In a plan every quantity is one text; see `rules.quantities`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from trialplate.spec.fields import Author, Exact, Name, refused

__all__ = ["AMOUNTS", "FORMS", "MarkQuantity", "Quantity", "is_amount", "quantity_text"]

Measure = Literal["wall_s", "latency_s", "cost", "tokens", "input_tokens", "output_tokens"]
Per = Literal["per_case", "per_trial", "per_passed", "total"]
AMOUNTS = ("p50", "p90", "p95", "p99", "cost", "tokens")
"""Kinds of quantity that are no share: their thresholds are in seconds, units of the currency or tokens."""

FORMS = {
    "share": "{share: wall_s, at_most: 8}",
    **{name: f"{{{name}: latency_s}}" for name in ("p50", "p90", "p95", "p99")},
    **{name: f"{{p95: {name}}}" for name in ("wall_s", "latency_s", "input_tokens", "output_tokens")},
    **{name: f"{{{name}: per_trial}}" for name in ("cost", "tokens")},
    **{name: f"{{{name}: label}}" for name in ("accuracy", "macro_f1")},
    **{name: f"{{{name}: 3}}" for name in ("pass_at", "pass_hat")},
    "agreement": "{agreement: judge}",
}
"""How what is no metric is written, by its bare name."""


class Quantity(Author):
    """A quantity that is no metric and no rate, by exactly one of these keys; `at_most` goes with `share`."""

    share: Measure | None = None
    at_most: Exact | None = None
    p50: Measure | None = None
    p90: Measure | None = None
    p95: Measure | None = None
    p99: Measure | None = None
    cost: Per | None = None
    tokens: Per | None = None
    accuracy: Name | None = None
    macro_f1: Name | None = None
    pass_at: Annotated[int, Field(ge=1, le=999)] | None = None
    pass_hat: Annotated[int, Field(ge=1, le=999)] | None = None
    agreement: Name | None = None


_KINDS = tuple(name for name in Quantity.model_fields if name != "at_most")


def _kinds_of(value: Quantity) -> list[str]:
    return [name for name in _KINDS if getattr(value, name) is not None]


def _one(value: Quantity) -> Quantity:
    if len(_kinds_of(value)) != 1:
        raise PydanticCustomError("quantity", "expected exactly one kind of quantity")
    if value.share is not None and value.at_most is None:
        raise refused("a share is of the trials within a limit, and none is given", "write {share: wall_s, at_most: 8}")
    if value.share is None and value.at_most is not None:
        raise refused(
            "at_most is the limit of a share, and nothing else has one",
            "take it out; what the rule itself asks for stands beside of:",
        )
    return value


def _form(value: Any) -> str:
    return "quantity" if isinstance(value, dict) else "metric"


MarkQuantity = Annotated[
    Annotated[Name, Tag("metric")] | Annotated[Quantity, AfterValidator(_one), Tag("quantity")],
    Discriminator(_form),
]
"""A metric or a rate by name, or a quantity of another kind."""


def quantity_text(of: str | Quantity) -> str:
    """Return the name of a quantity in a plan."""
    if isinstance(of, str):
        return of
    (kind,) = _kinds_of(of)
    limit = f":{of.at_most}" if of.at_most is not None else ""
    return f"{kind}:{getattr(of, kind)}{limit}"


def is_amount(quantity: str) -> bool:
    """Say whether a quantity of a plan is an amount, and no share between 0 and 1."""
    return quantity.partition(":")[0] in AMOUNTS and ":" in quantity
