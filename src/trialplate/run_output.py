# SPDX-License-Identifier: Apache-2.0
"""What a function under test may return instead of a text: `from trialplate import RunOutput`.

It is imported by the program in which the function runs, so it stays as light as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["RunOutput", "told"]


class RunOutput(NamedTuple):
    """An answer with what it cost, or a failure that the function tells itself."""

    output: str = ""
    cost_usd: float | None = None
    """What the answer cost in USD, by the function's own word; None is unknown, never zero."""
    tokens: Mapping[str, int] | None = None
    """Counts by the function's own word: `input`, `output`, and if known `cache_read`, `cache_write`, `reasoning`."""
    failed: str | None = None
    """Why there is no answer; the trial fails, and this stands in its error text."""


def told(result: Any) -> dict[str, Any]:
    """Return what is told of what a function or a runner of one's own returned, or why it is no answer.

    One of `output` (a text, with `cost_usd` as decimal text and `tokens` as counts by name), `failed` (it says so
    itself) and `unusable` (it is something else), the last two with a sentence.
    """
    if isinstance(result, str):
        return {"output": result}
    if not isinstance(result, RunOutput):
        return {"unusable": f"returned {type(result).__name__}, not a text or a RunOutput"}
    fields: tuple[Any, ...] = tuple(result)
    output, cost, tokens, failed = fields
    if failed is not None:
        return {"failed": str(failed)}
    if not isinstance(output, str):
        return {"unusable": f"RunOutput.output is {type(output).__name__}, not a text"}
    if cost is not None and (isinstance(cost, bool) or not _is_amount(cost)):
        return {"unusable": f"RunOutput.cost_usd is {cost!r}, not an amount"}
    counts = {} if tokens is None else tokens
    if not isinstance(counts, Mapping) or not all(type(n) is int and n >= 0 for n in counts.values()):
        return {"unusable": f"RunOutput.tokens is {tokens!r:.80}, not counts by name"}
    return {
        "output": output,
        "cost_usd": None if cost is None else str(cost),
        "tokens": {str(k): n for k, n in counts.items()},
    }


def _is_amount(cost: Any) -> bool:
    from decimal import Decimal

    return isinstance(cost, int | float | Decimal) and 0 <= cost <= 9_000_000
