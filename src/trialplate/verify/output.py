# SPDX-License-Identifier: Apache-2.0
"""Standard output at the end of a program; light, because even `--help` ends."""

from __future__ import annotations

import os
import sys

from trialplate.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED

__all__ = ["flushed", "no_output"]


def no_output(error: OSError) -> int:
    """Say that what was to be printed was not, or which file stood in the way; whatever it was, it is no acceptance."""
    if error.filename is not None:  # then it was not the output
        print(f"error: {os.fsdecode(error.filename)!r}: {error.strerror}", file=sys.stderr)
        print("  do: correct the path, or give yourself permission there", file=sys.stderr)
        return EXIT_INCOMPLETE
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains at exit
    if isinstance(error, BrokenPipeError):
        return EXIT_INTERRUPTED
    print(f"error: the output could not be written: {error.strerror or error}", file=sys.stderr)
    print("  do: make room, or send it elsewhere; what was recorded is safe", file=sys.stderr)
    return EXIT_INCOMPLETE


def flushed(code: int) -> int:
    """Return the exit code, once everything that was printed is out."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return no_output(error)
    return code
