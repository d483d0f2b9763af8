# SPDX-License-Identifier: Apache-2.0
"""The program in which a function under test is called, once: `python -P python_worker.py ROOT FILE FUNCTION SOURCE`.

It reads `{"model", "question", "settings"}` from standard input and writes one JSON object: `output` (with `cost_usd`,
`tokens`), `failed`, `raised` (the function raised), `unusable` (it returned something else) or `missing` (the file
could not be imported, so nothing was asked). What the function prints goes to the error output. It ends as soon as the
function has returned, whatever threads are left, and a fork of it says nothing. Standard library only, besides
`RunOutput`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Call the function and tell what came of it; ends the process."""
    sys.path.append(sys.argv[-1])  # SOURCE
    from trialplate.transport.function_child import serve

    serve(lambda function, asked: function(asked["model"], asked["question"], asked["settings"]), _told)


def _told(result: Any) -> dict[str, Any]:
    """Return what is told of a result, or why it is none."""
    if isinstance(result, str):
        return {"output": result}
    from trialplate.run_output import RunOutput

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


if __name__ == "__main__":
    main()
