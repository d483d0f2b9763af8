# SPDX-License-Identifier: Apache-2.0
"""Whether a Python file holds the function that a plan names: read as text, never imported.

A file that makes its names at run time (`from x import *`) is given the benefit of the doubt.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from trialplate.errors import SpecError
from trialplate.spec.nearest import suggestion

__all__ = ["check_function"]


def check_function(data: bytes, file: str, function: str, where: str) -> None:
    """Check that a file is Python and defines a name at its top level.

    Args:
        data: the file's bytes.
        file: its path, for error texts.
        function: the name.
        where: the place in the plan that names both.

    Raises:
        SpecError: it is no Python, or has no such name.
    """
    try:
        names = set(_names(ast.parse(data, file).body))
    except SyntaxError as error:
        place = f"{file}:{error.lineno or 1}:{error.offset or 1}"
        raise SpecError(f"this is no Python: {error.msg}", where=place, hint="correct the file") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SpecError(f"{file} cannot be read as Python: {error}", where=where, hint="correct the file") from None
    if function not in names and "*" not in names:
        raise SpecError(f'{file} has no function "{function}"', where=where, hint=suggestion(function, names - {"*"}))


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements define, those under a condition too; "*" for any."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            goals = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (item.id for goal in goals for item in ast.walk(goal) if isinstance(item, ast.Name))
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from _names(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _names(handler.body)
