# SPDX-License-Identifier: Apache-2.0
"""What bounds a run: its budget, and how fast it may ask.

A budget that could not hold (an unknown price, two currencies) and a pace that could never be kept (one request that is
larger than a minute's tokens) are refused before anything is spent. What one attempt can take: see `bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from trialplate.errors import SpecError
from trialplate.record.matrix import Matrix
from trialplate.record.values import Budget, Configuration, Plan, Provider
from trialplate.spec.accounts import account_of
from trialplate.spec.bounds import AttemptBounds
from trialplate.spec.document import Path
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project

__all__ = ["Ceiling", "budget_of", "check_limits", "laid_over", "providers_of"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the command line says of cost and time, over what the plan says."""

    cost_nano: int | None = None
    """In 10^-9 of the unit of the plan's currency."""
    wall_time_ms: int | None = None


# ------------------------------------------------------------------------------------------------ from author to plan


def providers_of(project: Project, configurations: Sequence[Configuration]) -> tuple[Provider, ...]:
    """Return the limits of the providers that the author names.

    Raises:
        SpecError: no model is behind that provider; a limit that is not applied must not look like one.
    """
    known = {account_of(item) for item in configurations}
    made = []
    for name, entry in project.author.providers.items():
        if name not in known:
            raise SpecError(
                f'no model of the matrix is behind the provider "{name}"',
                where=project.document.where(("providers", name), key=True),
                hint=suggestion(name, known),
            )
        limits = entry.model_dump(exclude={"pricing"}, exclude_none=True)
        if limits:
            made.append(Provider(name=name, **limits))
    return tuple(made)


def budget_of(project: Project) -> Budget | None:
    """Return the budget that the author states."""
    entry = project.author.run.budget
    if entry is None or (entry.cost_usd is None and entry.wall_time_s is None):
        return None
    return Budget(cost_nano=entry.cost_usd, wall_time_ms=entry.wall_time_s)


def laid_over(budget: Budget | None, configurations: Sequence[Configuration], ceiling: Ceiling) -> Budget | None:
    """Return a budget with what the command line says over it; an amount there is in the currency of the prices."""
    if ceiling == Ceiling():
        return budget
    made = budget or Budget()
    if ceiling.cost_nano is not None:
        made = made.replace(
            cost_nano=ceiling.cost_nano, currency=next(iter(_currencies(configurations)), made.currency)
        )
    return made if ceiling.wall_time_ms is None else made.replace(wall_time_ms=ceiling.wall_time_ms)


def _currencies(configurations: Sequence[Configuration]) -> list[str]:
    """Return the currencies of those that cost something, each once."""
    priced = (item.pricing for item in configurations)
    return list(dict.fromkeys(item.currency for item in priced if item is not None and not item.free))


# ------------------------------------------------------------------------------------------------- what cannot be kept


def check_limits(plan: Plan, matrix: Matrix, bounds: Mapping[str, AttemptBounds], where: Callable[[Path], str]) -> None:
    """Refuse a budget that could not hold and a pace that could never be kept.

    Args:
        matrix: what is to run; what is left out of it needs no price.
        bounds: by configuration.
        where: tells a place in the author's file.

    Raises:
        SpecError: BUDGET-PRICE, BUDGET-CURRENCY, BUDGET-SMALL or PACE, with the numbers.
    """
    if plan.cache == "replay":
        return  # nothing is called
    asked = [item for item in plan.configurations if item.name in matrix.counts and matrix.planned(item.name)]
    asked = [item for item in asked if bounds[item.name].asks]
    if plan.budget is not None and plan.budget.cost_nano is not None:
        used = {scorer.helper for case in matrix.cases for scorer in matrix.applicable(case)}
        helping = [item for item in plan.helpers if item.name in used]
        _check_prices(plan.budget, asked, helping, where)
        if plan.cache != "auto":  # what is recorded costs nothing, however small the budget
            _check_any_fits(plan.budget, plan.budget.cost_nano, matrix, bounds)
    shared = {item.name: item for item in plan.providers}
    for item in asked:
        for path, limit in _token_limits("models", item, shared):
            _check_fits(item, matrix, bounds[item.name], limit, where(path))
    _check_helpers(plan, matrix, bounds, shared, where)


def _check_helpers(
    plan: Plan,
    matrix: Matrix,
    bounds: Mapping[str, AttemptBounds],
    shared: Mapping[str, Provider],
    where: Callable[[Path], str],
) -> None:
    """Refuse a limit on tokens that one request to a helper exceeds, even about an empty answer."""
    known = next((item.helping for item in bounds.values() if item.helping is not None), None)
    if known is None:
        return
    largest: dict[str, tuple[int, str]] = {}
    for case in matrix.cases:
        for name, tokens in known.requests(case.id):
            largest[name] = max(largest.get(name, (0, "")), (tokens, case.id))
    for item in plan.helpers:
        tokens, case_id = largest.get(item.name, (0, ""))
        for path, limit in _token_limits("helpers", item, shared):
            if tokens > limit:
                _refuse_pace(item.name, case_id, f"at least {tokens} tokens", tokens, limit, where(path))


def _token_limits(key: str, item: Configuration, shared: Mapping[str, Provider]) -> Iterator[tuple[Path, int]]:
    """Yield each limit on tokens that a model or a helper has to keep, with its place."""
    if item.limits.tokens_per_minute is not None:
        yield (key, item.model, "limits", "tokens_per_minute"), item.limits.tokens_per_minute
    provider = shared.get(account_of(item))
    if provider is not None and provider.tokens_per_minute is not None:
        yield ("providers", provider.name, "tokens_per_minute"), provider.tokens_per_minute


def _check_prices(
    budget: Budget, asked: Sequence[Configuration], helping: Sequence[Configuration], where: Callable[[Path], str]
) -> None:
    for item in (*asked, *helping):
        price = item.pricing
        if price is None or not (price.free or (price.input is not None and price.output is not None)):
            raise SpecError(
                f'the price of "{item.model}" is unknown, and a budget cannot bound what it spends',
                where=where(("helpers" if item in helping else "models", item.model)),
                hint="write pricing: with input and output, or pricing: free; or leave the budget out",
                code="BUDGET-PRICE",
            )
    currencies = _currencies((*asked, *helping))
    if len(currencies) > 1 or (currencies and currencies[0] != budget.currency):
        told = f"the budget is in {budget.currency}, and prices are in {' and '.join(currencies)}"
        if len(currencies) > 1:
            told = f"prices are in {' and '.join(currencies)}, and one budget cannot bound both"
        raise SpecError(
            told,
            where=where(("run", "budget")),
            hint="state every price in the budget's currency, or use --max-cost, which is in that of the prices",
            code="BUDGET-CURRENCY",
        )


def _check_any_fits(budget: Budget, limit: int, matrix: Matrix, bounds: Mapping[str, AttemptBounds]) -> None:
    """Refuse a budget under which no attempt could ever begin: the run would be an open attempt, and ask nothing."""
    least: tuple[int, str, str] | None = None
    for name, row in matrix.counts.items():
        for case, repeats in zip(matrix.cases, row, strict=True):
            nano = bounds[name].of(case.id).whole if repeats else None
            if nano is not None and (least is None or nano < least[0]):
                least = nano, name, case.id
    if least is not None and least[0] > limit:
        nano, name, case_id = least
        raise SpecError(
            f"the budget, {_amount(limit)} {budget.currency}, is too small for any attempt: the least that one could "
            f'cost at most is {_amount(nano)}, "{name}" on case "{case_id}"',
            hint="raise it, in run.budget or with --max-cost, or lower the output limit in the model's settings",
            code="BUDGET-SMALL",
        )


def _amount(nano: int) -> str:
    return f"{nano / 1e9:.9f}".rstrip("0").rstrip(".")


def _check_fits(item: Configuration, matrix: Matrix, bounds: AttemptBounds, limit: int, place: str) -> None:
    """Refuse a limit on tokens that one request alone exceeds: it would never be its turn."""
    row = matrix.counts[item.name]
    for case, repeats in zip(matrix.cases, row, strict=True):
        bound = bounds.of(case.id)
        output = bound.output_tokens // bound.turns if bound.stated else 0
        if repeats and bound.first_tokens + output > limit:
            parts = f"up to {bound.first_tokens} tokens in" + (f" and {output} out" if output else "")
            _refuse_pace(item.name, case.id, parts, bound.first_tokens + output, limit, place)


def _refuse_pace(name: str, case_id: str, parts: str, tokens: int, limit: int, place: str) -> NoReturn:
    told = f'one request of "{name}" for case "{case_id}" takes {parts}'
    raise SpecError(
        f"{told}, and {limit} a minute are allowed: {tokens} > {limit}",
        where=place,
        hint="raise the limit, or make the case or the output limit smaller",
        code="PACE",
    )
