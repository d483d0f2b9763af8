# SPDX-License-Identifier: Apache-2.0
"""An upper estimate of what a run costs, before anything is spent. Erring high is its purpose.

Input tokens are at most a third of the UTF-8 bytes of everything that is sent; output tokens are the configuration's
own limit, or 4,096 where it states none. Retries are counted once: a failed attempt is rarely billed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialplate.record import canonical
from trialplate.record.entries import Money, Usage
from trialplate.record.frozen import Json
from trialplate.record.matrix import Matrix
from trialplate.record.values import Case, Configuration, Plan
from trialplate.rules.cost import cost_of

__all__ = ["Estimate", "estimate"]

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
UNSTATED_OUTPUT = 4096


@dataclass(frozen=True)
class Estimate:
    """The most that one configuration should cost."""

    configuration: str
    trials: int
    input_tokens: int
    output_tokens: int
    cost: Money | None
    """None is an unknown price, never zero."""


def estimate(plan: Plan, matrix: Matrix, opened: Mapping[str, Json], cases: Mapping[str, Case]) -> list[Estimate]:
    """Return an estimate per configuration.

    Args:
        opened: the texts by commitment.
        cases: the cases by id.
    """
    return [_of(item, matrix, opened, cases) for item in plan.configurations if item.name in matrix.counts]


def _of(
    configuration: Configuration, matrix: Matrix, opened: Mapping[str, Json], cases: Mapping[str, Case]
) -> Estimate:
    sent = [opened[text.commitment] for text in configuration.texts if text.role in ("system", "document", "body")]
    shared = sum(_bytes(text) + 64 for text in sent)
    row = matrix.counts[configuration.name]
    trials = sum(row)
    inputs = [shared + _bytes(cases[case.id].input) for case in matrix.cases]
    size = sum(repeats * each for each, repeats in zip(inputs, row, strict=True))
    tokens_in = -(-size // 3) + 16 * trials
    limits = [configuration.settings.get(name) for name in OUTPUT_LIMITS]
    longest = next((item for item in limits if isinstance(item, int)), UNSTATED_OUTPUT)
    tokens_out = longest * trials
    usage = Usage(input=tokens_in, output=tokens_out)
    cached = (usage.replace(cache_write=tokens_in), usage.replace(cache_read=tokens_in))  # which may be dearer
    costs = [cost_of(configuration.pricing, item) for item in (usage, *cached)]
    dearest = max((item for item in costs if item is not None), key=lambda item: item.nano, default=None)
    return Estimate(configuration.name, trials, tokens_in, tokens_out, dearest)


def _bytes(text: Json) -> int:
    return len(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else canonical.encode(text))
