# SPDX-License-Identifier: Apache-2.0
"""The loader `qa-pairs`, also of files that end in `.qa`: questions and answers as people write them down.

# id: notice
Q: What is the notice period?
A: Sixty days
A: 60 days
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["load_pairs"]


def load_pairs(data: bytes, file: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of a file; each is held to the same rules as any other case.

    Args:
        data: the file's bytes.
        file: its path in the project, for error texts.
    """
    case: dict[str, Any] = {}
    for number, line in enumerate(data.decode("utf-8").splitlines(), start=1):
        kind, _, text = (part.strip() for part in line.partition(":"))
        if kind in ("Q", "# id") and "input" in case:
            yield case
            case = {}
        if kind == "Q":
            case["input"] = text
        elif kind == "# id":
            case["id"] = text
        elif kind == "A" and "input" in case:
            case.setdefault("references", []).append(text)
        elif line.strip():
            raise ValueError(f"line {number} of {file} begins with neither Q:, A: nor # id:")
    if case:
        yield case
