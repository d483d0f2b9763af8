# SPDX-License-Identifier: Apache-2.0
"""The child's side of calling a function of a project's file, once: what runners and scorers of functions share.

A worker program is started as `python -P WORKER ROOT FILE FUNCTION SOURCE`, reads one JSON object from its standard
input and tells one on its standard output; it calls `serve` with what to tell of a call. What the function prints goes
to the error output. It ends as soon as the function has returned, whatever threads are left, and a fork of it says
nothing. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
import types
from collections.abc import Callable
from importlib import machinery, util
from pathlib import Path
from typing import Any

__all__ = ["TOLD", "function_argv", "last_line", "serve"]

TOLD = 1600
"""Characters of what a function raised, or of what is wrong with what it returned, that a message quotes."""


def function_argv(worker: str, root: Path, place: str) -> list[str]:
    """Return the argv that starts a worker program.

    Args:
        worker: the program's file.
        root: the project's folder.
        place: "file.py:function".
    """
    file, _, function = place.rpartition(":")
    source = str(Path(__file__).parents[2])  # where this package is found
    return [sys.executable, "-P", worker, str(root.absolute()), file, function, source]


def serve(call: Callable[[Callable[..., Any], dict[str, Any]], Any], tell: Callable[[Any], dict[str, Any]]) -> None:
    """Import the function, call it, and tell what came of it; ends the process.

    Tells `missing` (the file could not be imported, so nothing was asked) or `raised` (the function raised), each with
    the last line of the traceback; else what `tell` makes of the result.

    Args:
        call: called with the function and what was read; may return something to be awaited.
        tell: turns the result into what is told.
    """
    root, file, function, source = sys.argv[1:]
    born = os.getpid()
    told = os.dup(1)  # not inherited by programs that the function starts
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    asked = json.loads(sys.stdin.buffer.read())
    said = _said(Path(root), file, function, source, lambda called: call(called, asked), tell)
    if os.getpid() != born:
        os._exit(0)
    raw = json.dumps(said).encode()
    while raw:
        raw = raw[os.write(told, raw) :]
    with contextlib.suppress(OSError, ValueError):  # the function may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


def _said(
    root: Path,
    file: str,
    function: str,
    source: str,
    call: Callable[[Callable[..., Any]], Any],
    tell: Callable[[Any], dict[str, Any]],
) -> dict[str, Any]:
    """Import the file, call the function, and return what is told."""
    if source not in sys.path:
        sys.path.append(source)
    path = root / file
    sys.path[:0] = dict.fromkeys([str(path.parent), str(root)])
    try:
        spec = util.spec_from_file_location(path.stem, path, loader=_AsItStands(path.stem, str(path)))
        assert spec is not None and spec.loader is not None
        module = util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        called = getattr(module, function)
    except BaseException as error:  # whatever importing it may do
        return {"missing": last_line(error)}
    try:
        result = call(called)
        if hasattr(result, "__await__"):
            import asyncio

            async def waited() -> Any:
                return await result

            result = asyncio.run(waited())
        return tell(result)
    except BaseException as error:  # SystemExit too: it is the function's doing
        traceback.print_exc()
        return {"raised": last_line(error)}


class _AsItStands(machinery.SourceFileLoader):
    """Loads a file from its source, never from `__pycache__`: the plan pins what is written, and that is what runs.

    What is cached counts as current by time and size alone; an edit within a second, or a forgery, goes unseen.
    """

    def get_code(self, fullname: str) -> types.CodeType:
        """Compile the source."""
        path = self.get_filename(fullname)
        code: types.CodeType = self.source_to_code(self.get_data(path), path)
        return code


def last_line(error: BaseException) -> str:
    """Return the last line of a traceback, and where the error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return traceback.format_exception_only(error)[-1].strip() + where
