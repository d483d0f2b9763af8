# SPDX-License-Identifier: Apache-2.0
"""Every deliberate error of Trialplate, and the exit code each one ends in.

    TrialplateError
      UsageError           2   wrong arguments, an unknown name
      SpecError            2   an author file: syntax, field, duplicate id, unknown plugin, missing secret
      FormatError          3   these bytes are no record: not canonical, unknown field, unknown version
      VerificationError    3   a record that does not hold: digest, root, signature, trust, rollback
      RunError             4   a run that could not go on: provider, scorer, budget; its record is valid
      StorageError         4   locked, full, read-only: nothing half-written counts

An error carries data and never prints or exits: `cli/main.py` and `verify/cli.py` hold the two handlers.
A model that fails is no error: it is an outcome in the record.
"""

from __future__ import annotations

from collections.abc import Iterable

EXIT_DONE = 0
EXIT_NEGATIVE = 1
EXIT_USAGE = 2
EXIT_UNTRUSTED = 3
EXIT_INCOMPLETE = 4
EXIT_INTERRUPTED = 130

__all__ = [
    "EXIT_DONE",
    "EXIT_INCOMPLETE",
    "EXIT_INTERRUPTED",
    "EXIT_NEGATIVE",
    "EXIT_UNTRUSTED",
    "EXIT_USAGE",
    "FormatError",
    "RunError",
    "SpecError",
    "StorageError",
    "TrialplateError",
    "UsageError",
    "VerificationError",
    "nearest",
]


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that a mistyped one most likely means, or None: for hints only, nothing is ever corrected.

    Args:
        cutoff: how near it must be: 1 is equal but for case and hyphens, 0 unlike.
    """
    from difflib import get_close_matches  # only needed to help with a mistake

    by_folded = {name.casefold().replace("-", "_"): name for name in sorted(known, reverse=True)}
    found = get_close_matches(word.casefold().replace("-", "_"), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


class TrialplateError(Exception):
    """The root of the tree: a message, where it happened, one thing to do about it, a stable code.

    Args:
        message: one sentence in the reader's words.
        where: the place, such as "trialplate.yaml:12:3" or "runs/x/record.jsonl:7".
        hint: the one action that helps.
        code: the stable finding code, such as "LEDGER-ROOT".
    """

    exit_code = EXIT_USAGE
    code = "ERROR"

    def __init__(self, message: str, *, where: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.code = code or type(self).code

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(TrialplateError):
    """Wrong arguments or an unknown name; nothing was spent."""

    code = "USAGE"


class SpecError(TrialplateError):
    """An author file that cannot be used; nothing was spent."""

    code = "SPEC"


class FormatError(TrialplateError):
    """Bytes that are no record: not canonical, not of the schema, of an unknown version, over a limit."""

    exit_code = EXIT_UNTRUSTED
    code = "FORMAT"


class VerificationError(TrialplateError):
    """A record or ledger that does not hold."""

    exit_code = EXIT_UNTRUSTED
    code = "VERIFY"


class RunError(TrialplateError):
    """A run that could not go on; what it recorded so far is valid."""

    exit_code = EXIT_INCOMPLETE
    code = "RUN"


class StorageError(TrialplateError):
    """A file that could not be locked or written; nothing half-written counts."""

    exit_code = EXIT_INCOMPLETE
    code = "STORAGE"
