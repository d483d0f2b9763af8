# SPDX-License-Identifier: Apache-2.0
"""The program in which a scoring function is called, once: `python -P function_worker.py ROOT FILE FUNCTION SOURCE`.

It reads `{"case", "answer"}` from standard input and tells `returned` or `unusable`, besides what
`transport.function_child` tells.
"""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["main", "told"]


def main() -> None:
    """Call the function and tell what it returned; ends the process."""
    sys.path.append(sys.argv[-1])  # SOURCE
    from trialplate.transport.function_child import serve

    serve(lambda function, asked: function(asked["case"], asked["answer"]), told)


def told(result: Any) -> dict[str, Any]:
    """Return what is told of a result as JSON, or why it is none; a number that JSON has not is told as a text."""
    try:
        json.dumps(result, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return {"unusable": f"{type(result).__name__} {result!r:.100}, which is no score"}
    if result is None:
        return {"unusable": "nothing"}
    return {"returned": json.loads(json.dumps(result, default=_plain, allow_nan=True), parse_constant=str)}


def _plain(value: Any) -> Any:
    """Return the plain number that a number of another package stands for."""
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError


if __name__ == "__main__":
    main()
