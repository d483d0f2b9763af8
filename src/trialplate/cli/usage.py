# SPDX-License-Identifier: Apache-2.0
"""The parser's complaints about a command line in our own words: what is wrong, and what was probably meant.

The parser is known by its shape alone: Typer has brought its own for some versions, and used another's before.
"""

from __future__ import annotations

import re
from typing import Any

from trialplate.errors import UsageError, nearest
from trialplate.verify.output import tell

__all__ = ["usage_error"]

NEAR = 0.75
"""How near an option must be: short words are easily alike."""
PLAIN = (
    (re.compile(r"Input should be a valid integer.*"), "expected a whole number"),
    (re.compile(r"Input should be greater than or equal to (\d+)"), r"expected \1 or more"),
)
"""What a library says of a number, in words for whoever typed it."""


def usage_error(error: Any) -> UsageError | None:
    """Return a parser's error as one of ours; None if it was no more than a request for help, which is told here."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        tell(error.format_message())
        return None
    path = context.command_path if context is not None else "trialplate"
    see = f"see {path} --help"
    option = getattr(error, "option_name", None)
    if hasattr(error, "possibilities") and option is not None and context is not None:
        known = [name for item in context.command.params for name in (*item.opts, *item.secondary_opts)]
        near = nearest(option, [name for name in (*known, "--help") if name.startswith("--")], cutoff=NEAR)
        return UsageError(f"{path} takes no {option}", hint=f"did you mean {near}?" if near else see)
    message = str(error.format_message()).rstrip(".")
    for pattern, words in PLAIN:
        message = pattern.sub(words, message)
    mistyped = re.match(r"No such command '(.*?)'(?:$|\.)", message)
    if mistyped and context is not None:
        near = nearest(mistyped[1], context.command.commands)
        hint = f"did you mean {path} {near}?" if near else f"there are {', '.join(context.command.commands)}; {see}"
        return UsageError(f"{path} has no command {mistyped[1]!r}", hint=hint)
    return UsageError(f"{path}: {message[:1].lower()}{message[1:]}", hint=see)
