# SPDX-License-Identifier: Apache-2.0
"""Standard output at the end of a program; light, because even `--help` ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper

from trialplate.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED

__all__ = ["flushed", "no_output", "ready", "tell"]


def ready() -> None:
    """Make the two streams take whatever is printed, once, before anything is.

    What a terminal's encoding cannot show is escaped. A closed stderr swallows what goes to it: `print` would write it
    to stdout.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  for as long as the program runs
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def tell(line: str, end: str = "\n") -> None:
    """Write a line to stderr, if it takes one: what cannot be said there changes no answer, and stops no run."""
    with suppress(OSError):
        print(line, end=end, file=sys.stderr, flush=True)


def no_output(error: OSError) -> int:
    """Say that what was to be printed was not, or which file stood in the way; whatever it was, it is no acceptance."""
    if error.filename is not None:  # then it was not the output
        tell(f"error: {os.fsdecode(error.filename)!r}: {error.strerror}")
        tell("  do: correct the path, or give yourself permission there")
        return EXIT_INCOMPLETE
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains at exit
    if isinstance(error, BrokenPipeError):
        return EXIT_INTERRUPTED
    tell(f"error: the output could not be written: {error.strerror or error}")
    tell("  do: make room, or send it elsewhere; what was recorded is safe")
    return EXIT_INCOMPLETE


def flushed(code: int) -> int:
    """Return the exit code, once everything that was printed is out."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return no_output(error)
    return code
