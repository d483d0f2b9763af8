# SPDX-License-Identifier: Apache-2.0
"""The one placeholder of an http request, `{{input}}`: how a case's input is filled in. What it holds is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

__all__ = ["INPUT", "fill", "fill_url"]

INPUT = "{{input}}"
"""Stands for the case's input."""


def fill(value: Any, text: str) -> Any:
    """Return JSON with the input, as it is, in its texts; the keys of its objects are not texts."""
    if isinstance(value, str):
        return value.replace(INPUT, text)
    if isinstance(value, Mapping):
        return {name: fill(item, text) for name, item in value.items()}
    return [fill(item, text) for item in value] if isinstance(value, list | tuple) else value


def fill_url(url: str, text: str) -> str:
    """Return an address with the input in it, all but its ASCII letters and digits percent-encoded.

    Raises:
        ValueError: the input would be a step up or down in the path: clients take "%2E%2E" for "..".
    """
    encoded = "".join(chr(b) if chr(b).isascii() and chr(b).isalnum() else f"%{b:02X}" for b in text.encode())
    for part in url.partition("?")[0].split("/"):
        if INPUT in part and unquote(part.replace(INPUT, encoded)) in (".", ".."):
            raise ValueError("the input would be a step in the path of the url")
    return url.replace(INPUT, encoded)
