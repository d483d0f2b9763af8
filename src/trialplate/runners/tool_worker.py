# SPDX-License-Identifier: Apache-2.0
"""The program in which a tool is called, once: `python -P tool_worker.py ROOT FILE FUNCTION SOURCE`.

It reads `{"arguments", "files"}` from standard input and tells `returned` (a text; any other value as JSON) or
`unusable`, besides what `transport.function_child` tells.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Call the function and tell what it returned; ends the process."""
    sys.path.append(sys.argv[-1])  # SOURCE
    from trialplate.transport.function_child import serve

    serve(_call, _told)


def _call(function: Callable[..., Any], asked: dict[str, Any]) -> Any:
    """Call a function with its arguments, and with the case's files if it takes a second parameter."""
    takes_files = len(inspect.signature(function).parameters) > 1
    return function(asked["arguments"], asked["files"]) if takes_files else function(asked["arguments"])


def _told(result: Any) -> dict[str, Any]:
    """Return what is told of a result, or why it is none."""
    if isinstance(result, str):
        return {"returned": result}
    try:
        return {"returned": json.dumps(result, ensure_ascii=False, allow_nan=False)}
    except (TypeError, ValueError, RecursionError):
        return {"unusable": f"{type(result).__name__} {result!r:.2000}, which is no text and no JSON"}


if __name__ == "__main__":
    main()
