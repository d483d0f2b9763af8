# SPDX-License-Identifier: Apache-2.0
"""What bounds a run: its budget, how fast it may ask, and the most that one attempt can take of either.

A budget that could not hold (an unknown price, two currencies) and a pace that could never be kept (one request that is
larger than a minute's tokens) are refused before anything is spent. The bound of an attempt is one definition: the
estimate adds it up, a budget reserves it, a limit on tokens takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.entries import Money, Usage
from trialplate.record.frozen import Json
from trialplate.record.matrix import Matrix, selects
from trialplate.record.values import Budget, Case, Configuration, Plan, Pricing, Provider
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.rules.cost import cost_of
from trialplate.spec.accounts import account_of
from trialplate.spec.document import Path
from trialplate.spec.judge_words import ASKS
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project
from trialplate.spec.turns import MAX_TURNS, RESULT_BYTES

__all__ = [
    "UNSTATED_OUTPUT",
    "AttemptBounds",
    "Bound",
    "Ceiling",
    "HelperBounds",
    "budget_of",
    "check_limits",
    "dearest",
    "laid_over",
    "output_limit",
    "providers_of",
    "tokens_in",
    "tokens_of",
]

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
UNSTATED_OUTPUT = 4096
"""Output tokens of an attempt whose configuration states no limit: a guess, and said to be one."""
FORM_BYTES = 1200
"""What is said about the form of an answer, besides the author's words: the schema of a reply, twice."""
FILE_TOKENS = 16_384
"""Input tokens of a file that is sent: of an image, which all providers scale down to no more; of another at least."""
PER_REQUEST = 16
"""Input tokens of what stands around the texts."""
JUDGE_WORDS = 4096
"""Bytes of the built-in words that a judge is told at most, in its second prompt too."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the command line says of cost and time, over what the plan says."""

    cost_nano: int | None = None
    """In 10^-9 of the unit of the plan's currency."""
    wall_time_ms: int | None = None


# ------------------------------------------------------------------------------------------------ one attempt's bound


class Bound(NamedTuple):
    """The most that one attempt should take."""

    input_tokens: int
    output_tokens: int
    stated: bool
    """The output's limit is the configuration's own, and no guess."""
    cost: Money | None
    """None is an unknown price, never zero."""
    helping: int | None = 0
    """The most that the helpers of its scorers should cost, in 10^-9; None is an unknown price."""
    asks: int = 0
    """Calls of helpers that this is of."""
    turns: int = 1
    """Requests that it may make."""
    first_tokens: int = 0
    """Input tokens of the first of them."""

    @property
    def request_tokens(self) -> int:
        """Return the most tokens, in and out, of a request as an attempt begins with it."""
        return self.first_tokens + self.output_tokens // self.turns

    @property
    def whole(self) -> int | None:
        """Return the most that it should cost with its helpers, in 10^-9; None is unknown."""
        return None if self.cost is None or self.helping is None else self.cost.nano + self.helping


class AttemptBounds:
    """The bound of an attempt of one configuration at each case; worked out when it is asked for, and kept."""

    def __init__(
        self,
        configuration: Configuration,
        opened: Mapping[str, Json],
        cases: Mapping[str, Case],
        helping: HelperBounds | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Take what is sent.

        Args:
            configuration: whose attempts they are.
            opened: the texts by commitment.
            cases: the cases by id.
            helping: of the helpers that score an answer; None: there are none.
            sizes: bytes of the cases' files, by digest; None: they have none.
        """
        sent = [opened[text.commitment] for text in configuration.texts if text.role in ("system", "document", "body")]
        self._shared = sum(_bytes(text) + 64 for text in sent)
        self._tools = {tool.name: _bytes(opened[tool.texts[0].commitment]) + 64 for tool in configuration.tools}
        self._configuration, self._cases, self._sizes = configuration, cases, sizes or {}
        self._helping = helping
        stated = output_limit(configuration)
        self._output, self._stated = (UNSTATED_OUTPUT, False) if stated is None else (stated, True)
        self.asks = configuration.runner != "trace"
        """Somebody is asked, and paid."""
        pricing = configuration.pricing
        self._free = Money(nano=0, currency="USD" if pricing is None else pricing.currency)
        self._known: dict[str, Bound] = {}
        self._costs: dict[tuple[int, int], Money | None] = {}
        """By tokens: many cases are of a length."""

    def of(self, case_id: str) -> Bound:
        """Return the bound of one attempt: input tokens are at most a third of the UTF-8 bytes that are sent."""
        bound = self._known.get(case_id)
        if bound is None:
            turns, first = self._turns(self._cases[case_id]) if self.asks else (1, 0)
            grows = self._output + -(-RESULT_BYTES // 3)
            tokens, output = turns * first + grows * turns * (turns - 1) // 2, turns * self._output if self.asks else 0
            if (tokens, output) not in self._costs:
                self._costs[tokens, output] = dearest(self._configuration, tokens, output) if self.asks else self._free
            helping, asks = (0, 0) if self._helping is None else self._helping.cost(case_id, self._output)
            stated = self._stated or not self.asks
            bound = Bound(tokens, output, stated, self._costs[tokens, output], helping, asks, turns, first)
            self._known[case_id] = bound
        return bound

    def _turns(self, case: Case) -> tuple[int, int]:
        """Return the most requests of an attempt, and the most input tokens of the first of them.

        Only where tools are offered does one follow another, with all that went before.
        """
        form = FORM_BYTES if case.answer_format is not None or case.answer_schema is not None else 0
        form += 2 * _bytes(case.answer_schema) if case.answer_schema is not None else _bytes(case.answer_format or "")
        offered = [self._tools[tool.name] for tool in case.tools if tool.name in self._tools]
        size = self._shared + _bytes(case.input) + form + sum(offered)
        tokens = tokens_of(size) + self._file_tokens(case)
        several = bool(offered or self._configuration.settings.get("server_tools"))
        return (case.max_turns or MAX_TURNS) if several else 1, tokens

    def _file_tokens(self, case: Case) -> int:
        """Return the most tokens that the files of a case are, as far as they are sent."""
        if self._configuration.runner not in HOSTED_RUNNERS:
            return 0
        sent = [file for file in case.files if "native" in file.access]
        return sum(
            FILE_TOKENS if file.type.startswith("image/") else max(FILE_TOKENS, self._sizes.get(file.digest, 0) // 3)
            for file in sent
        )


class HelperBounds:
    """The most that the helpers of a case's scorers should take for one answer."""

    def __init__(self, plan: Plan, opened: Mapping[str, Json], cases: Mapping[str, Case]) -> None:
        self._helpers = {item.name: item for item in plan.helpers}
        self._asking = [scorer for scorer in plan.scorers if scorer.helper in self._helpers]
        self._sizes = {
            scorer.name: sum(
                _bytes(opened[text.commitment]) + 64
                for text in (*scorer.texts, *self._helpers[scorer.helper or ""].texts)
            )
            for scorer in self._asking
        }
        self._cases = cases
        self._known: dict[tuple[str, int], tuple[int | None, int]] = {}

    def of(self, case_id: str, answer: int) -> Iterator[tuple[str, int, int, Money | None]]:
        """Yield helper, input tokens, output tokens and cost for each scorer that asks one about a case.

        Args:
            answer: the tokens of the longest answer that may be scored.
        """
        case = self._cases[case_id]
        held = [case.input, case.answer_format or "", *case.references, *case.context]
        for scorer in self._asking:
            if not selects(scorer.cases, case):
                continue
            helper = self._helpers[scorer.helper or ""]
            judges = helper.interface == "chat"
            said = held if judges else case.references
            size = self._sizes[scorer.name] + (JUDGE_WORDS if judges else 0) + sum(_bytes(item) + 8 for item in said)
            number = ASKS if judges else 1
            tokens = number * (tokens_of(size) + answer)
            output = number * (output_limit(helper) or UNSTATED_OUTPUT) if judges else 0
            yield helper.name, tokens, output, dearest(helper, tokens, output)

    def cost(self, case_id: str, answer: int) -> tuple[int | None, int]:
        """Return the most that all of them should cost, in 10^-9 (None: a price is unknown), and their calls."""
        if (case_id, answer) not in self._known:
            found = list(self.of(case_id, answer))
            known = [cost.nano for *_, cost in found if cost is not None]
            asks = sum(ASKS if output else 1 for _, _, output, _ in found)
            self._known[case_id, answer] = sum(known) if len(known) == len(found) else None, asks
        return self._known[case_id, answer]


def output_limit(configuration: Configuration) -> int | None:
    """Return the output tokens that a configuration allows itself; None if it states no limit."""
    limits = [configuration.settings.get(name) for name in OUTPUT_LIMITS]
    return max(
        (item for item in limits if isinstance(item, int) and not isinstance(item, bool) and item > 0), default=None
    )


def tokens_of(size: int) -> int:
    """Return the input tokens that so many bytes of UTF-8 come to at most: a third of them, and what stands around."""
    return -(-size // 3) + PER_REQUEST


def tokens_in(texts: Iterable[str]) -> int:
    """Return the input tokens that some texts come to at most."""
    return tokens_of(sum(map(_bytes, texts)))


def dearest(configuration: Configuration, tokens: int, output: int) -> Money | None:
    """Return the dearest that these tokens can be, whatever part of them is cached or reasoning."""
    pricing = configuration.pricing or Pricing()
    usages = [Usage(input=tokens, output=output)]
    usages += [usages[0].replace(cache_write=tokens)] if pricing.cache_write is not None else []
    usages += [usages[0].replace(cache_read=tokens)] if pricing.cache_read is not None else []
    usages += [item.replace(reasoning=output) for item in usages] if pricing.reasoning is not None else []
    costs = [cost_of(configuration.pricing, usage) for usage in usages]
    return max((item for item in costs if item is not None), key=lambda item: item.nano, default=None)


def _bytes(text: Json) -> int:
    return len(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else canonical.encode(text))


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
        limits: list[tuple[Path, int | None]] = [
            (("models", item.model, "limits", "tokens_per_minute"), item.limits.tokens_per_minute)
        ]
        if (provider := shared.get(account_of(item))) is not None:
            limits.append((("providers", provider.name, "tokens_per_minute"), provider.tokens_per_minute))
        for path, limit in limits:
            if limit is not None:
                _check_fits(item, matrix, bounds[item.name], limit, where(path))


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
            raise SpecError(
                f'one request of "{item.name}" for case "{case.id}" takes {parts}, and {limit} a minute are allowed: '
                f"{bound.first_tokens + output} > {limit}",
                where=place,
                hint="raise the limit, or make the case or the output limit smaller",
                code="PACE",
            )
