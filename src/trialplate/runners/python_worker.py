# SPDX-License-Identifier: Apache-2.0
"""The program in which a function under test is called, once: `python -P python_worker.py ROOT FILE FUNCTION SOURCE`.

It reads `{"model", "question", "settings"}` from standard input and writes one JSON object: `output` (with `cost_usd`,
`tokens`), `failed`, `raised` (the function raised), `unusable` (it returned something else) or `missing` (the file
could not be imported, so nothing was asked). What the function prints goes to the error output. It ends as soon as the
function has returned, whatever threads are left, and a fork of it says nothing. Standard library only, besides
`RunOutput`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Mapping
from importlib import util
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Call the function and tell what came of it; ends the process."""
    root, file, function, source = sys.argv[1:]
    born = os.getpid()
    told = os.dup(1)  # not inherited by programs that the function starts
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    asked = json.loads(sys.stdin.buffer.read())
    said = _call(Path(root), file, function, source, asked)
    if os.getpid() != born:
        os._exit(0)
    raw = json.dumps(said).encode()
    while raw:
        raw = raw[os.write(told, raw) :]
    with contextlib.suppress(OSError, ValueError):  # the function may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


def _call(root: Path, file: str, function: str, source: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Import the file, call the function, and return what is told."""
    if source not in sys.path:
        sys.path.append(source)
    path = root / file
    sys.path[:0] = dict.fromkeys([str(path.parent), str(root)])
    try:
        spec = util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        called = getattr(module, function)
    except BaseException as error:  # whatever importing it may do
        return {"missing": _last_line(error)}
    try:
        result = called(asked["model"], asked["question"], asked["settings"])
        if hasattr(result, "__await__"):
            import asyncio

            async def waited() -> Any:
                return await result

            result = asyncio.run(waited())
    except BaseException as error:  # SystemExit too: it is the function's doing
        traceback.print_exc()
        return {"raised": _last_line(error)}
    return {"output": result} if isinstance(result, str) else _told(result)


def _told(result: Any) -> dict[str, Any]:
    """Return what is told of a result that is no text, or why it is none."""
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


def _last_line(error: BaseException) -> str:
    """Return the last line of a traceback, and where the error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return traceback.format_exception_only(error)[-1].strip() + where


if __name__ == "__main__":
    main()
