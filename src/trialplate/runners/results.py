# SPDX-License-Identifier: Apache-2.0
"""How much of what a tool says a model is told."""

from __future__ import annotations

__all__ = ["cut_off"]


def cut_off(text: str, room: int) -> str:
    """Return a text of at most so many bytes of UTF-8, with a line that says how many there were if it was longer."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= room:
        return text
    told = f"\n[cut off: {len(raw)} bytes]"
    kept = raw[: max(0, room - len(told))].decode("utf-8", "ignore")
    return f"{kept}{told}"
