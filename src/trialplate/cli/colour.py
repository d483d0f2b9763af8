# SPDX-License-Identifier: Apache-2.0
"""Whether a stream gets colour and redraws, and the few colours there are. No text depends on its colour.

`--color always` and `never` are absolute. `auto`: none if NO_COLOR is set or TERM is dumb, else colour if
CLICOLOR_FORCE is set, else on a terminal only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TextIO, cast, get_args

from trialplate.errors import UsageError, nearest

__all__ = ["ColourMode", "colour_mode", "coloured", "painted", "redraws"]

ColourMode = Literal["auto", "always", "never"]
CODES = {
    "passed": 32,
    "failed": 31,
    "limit": 33,
    "needs_input": 33,
    "error": 35,
    "skipped": 35,
    "unknown": 35,
    "waiting": 33,
    "stopping": 33,
}
"""The SGR code of each word: green, red, yellow, magenta."""
WORDS = re.compile(rf"\d+ (?:{'|'.join(CODES)})\b|^ *(?:waiting|stopping|unknown)(?=:)", re.MULTILINE)


def colour_mode(text: str | None) -> ColourMode:
    """Return the mode that --color names.

    Raises:
        UsageError: there is no such mode.
    """
    known = get_args(ColourMode)
    if text is not None and text not in known:
        near = nearest(text, known)
        hint = f"did you mean {near}?" if near else "name one of them"
        raise UsageError(f"--color {text}: there is {', '.join(known)}", hint=hint)
    return cast("ColourMode", text or "auto")


def coloured(mode: ColourMode, stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Say whether a stream gets colour."""
    if mode != "auto":
        return mode == "always"
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return bool(environ.get("CLICOLOR_FORCE")) or (stream is not None and stream.isatty())


def redraws(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Say whether lines of a stream can be drawn over: it is a terminal, and one that can move its cursor."""
    return stream is not None and stream.isatty() and environ.get("TERM", "dumb") != "dumb"


def painted(text: str, colour: bool) -> str:
    """Return a text whose counts of outcomes have their colours, if it is to have any."""
    if not colour:
        return text

    def paint(found: re.Match[str]) -> str:
        word = found[0].split()[-1]
        return found[0] if found[0].startswith("0 ") else f"\x1b[{CODES[word]}m{found[0]}\x1b[0m"

    return WORDS.sub(paint, text)
