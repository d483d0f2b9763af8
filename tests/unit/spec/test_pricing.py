# SPDX-License-Identifier: Apache-2.0
"""What tokens cost: inherited as a whole, or looked up in a table that the plan names with its date."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from author_files import CASES, PLAN

from trialplate.errors import SpecError
from trialplate.record.values import Pricing
from trialplate.spec.freeze import freeze
from trialplate.spec.project import load_project

SECRET = bytes(32)
_MODELS = re.search(r"^models:\n(?:  .*\n)+", PLAN, re.MULTILINE)
assert _MODELS is not None


@pytest.fixture
def project_of(project_at: Callable[..., Path]) -> Callable[[str], Path]:
    """Write the small project with other models and prices."""

    def write(part: str) -> Path:
        return project_at(PLAN.replace(_MODELS[0], part), {"cases/a.csv": CASES})

    return write


def prices(root: Path) -> dict[str, Pricing | None]:
    """Return the price of every configuration of a project."""
    return {item.name: item.pricing for item in freeze(load_project(root), SECRET).plan.configurations}


def models(*lines: str, extra: str = "") -> str:
    """Return the part of a plan that speaks of models and prices."""
    return "models:\n" + "".join(f"  {line}\n" for line in lines) + extra


HOSTED = 'runner: openai-compatible, url: "https://{host}/v1", model: m-1'


def test_nearest_price_is_used_whole(project_of: Callable[..., Path]) -> None:
    """The model's own, else its provider's, else the plan's; rates of two levels are never mixed."""
    plan = models(
        f"own: {{{HOSTED.format(host='a')}, pricing: {{input: 3, output: 4}}}}",
        f"its: {{{HOSTED.format(host='a')}}}",
        f"plan: {{{HOSTED.format(host='b')}}}",
        f"free: {{{HOSTED.format(host='a')}, pricing: free}}",
        extra="providers: {a: {pricing: {input: 1, output: 2, cache_read: 0.5}}}\npricing: {input: 9, output: 9, currency: EUR}\n",
    )
    found = prices(project_of(plan))
    assert found["own"] == Pricing(input="3", output="4")
    assert found["its"] == Pricing(input="1", output="2", cache_read="0.5")
    assert found["plan"] == Pricing(input="9", output="9", currency="EUR")
    assert found["free"] == Pricing(free=True)


def test_without_any_price_the_cost_is_unknown(project_of: Callable[..., Path]) -> None:
    """Absent is unknown, never zero."""
    assert prices(project_of(models(f"m: {{{HOSTED.format(host='a')}}}"))) == {"m": None}


TABLE = "pricing: {{table: genai-prices, as_of: 2026-11-01{more}}}"


def test_table_gives_rates_with_their_source_and_day(project_of: Callable[..., Path]) -> None:
    """claude-haiku-4-5: 1 USD in, 5 out, 0.10 and 1.25 for reads and writes of the cache (Anthropic's price page)."""
    plan = models(f"m: {{runner: anthropic, model: claude-haiku-4-5, {TABLE.format(more='')}}}")
    found = prices(project_of(plan))["m"]
    assert found is not None
    assert (found.input, found.output, found.cache_read, found.cache_write) == ("1", "5", "0.1", "1.25")
    assert found.as_of == "2026-11-01"
    assert found.source is not None
    assert found.source.startswith("genai-prices ")
    assert found.source.endswith(" anthropic/claude-haiku-4-5")


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("runner: anthropic, model: no-such-model, " + TABLE.format(more=""), "has no 'no-such-model' of 'anthropic'"),
        (HOSTED.format(host="a") + ", " + TABLE.format(more=""), "does not know the runner openai-compatible"),
        (
            "runner: google, model: gemini-2.5-pro, " + TABLE.format(more=""),
            "length of the input: 1.25, 2.5 from 200000 tokens on",
        ),
        (
            "runner: anthropic, model: claude-haiku-4-5, pricing: {table: genai-prices, as_of: 9999-01-01}",
            "is a day to come",
        ),
        ("runner: anthropic, model: m, pricing: {table: genai-prices}", '"as_of" is missing'),
        ("runner: anthropic, model: m, pricing: {table: genai-prices, as_of: yesterday}", "expected a day"),
        ("runner: anthropic, model: m, pricing: {table: other, as_of: 2026-11-01}", "genai-prices"),
    ],
)
def test_price_that_the_table_cannot_give_is_refused_at_its_place(
    project_of: Callable[..., Path], model: str, told: str
) -> None:
    """A price is never guessed from a neighbour."""
    with pytest.raises(SpecError) as caught:
        prices(project_of(models(f"m: {{{model}}}")))
    shown = str(caught.value) + str(getattr(caught.value, "problems", ""))
    assert told in shown
    assert caught.value.where or "plan.yaml" in shown or "trialplate.yaml" in shown


def test_missing_table_says_what_to_install(project_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    import sys

    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(SpecError, match="not installed") as caught:
        prices(project_of(models(f"m: {{runner: anthropic, model: claude-haiku-4-5, {TABLE.format(more='')}}}")))
    assert "trialplate[prices]" in (caught.value.hint or "")


def test_other_names_of_the_table_can_be_given(project_of: Callable[..., Path]) -> None:
    """A gateway's model is priced as the model behind it, if its author says which that is."""
    more: Any = ", provider: anthropic, model: claude-haiku-4-5"
    found = prices(project_of(models(f"m: {{{HOSTED.format(host='a')}, {TABLE.format(more=more)}}}")))["m"]
    assert found is not None
    assert found.input == "1"
