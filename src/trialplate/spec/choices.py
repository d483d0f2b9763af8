# SPDX-License-Identifier: Apache-2.0
"""How a choice is read from a text: one rule for references, which are checked early, and for answers.

A choice is one letter or digit, or a list of them: "A", "A,", "(A)", "A, B, and C", "a c". Letters are compared without
case, a list without order. Nothing else may stand beside them: "A bird" names no choice, since A is also a word.

What this module refuses to do: look for a letter in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Set

from trialplate.record.frozen import Json

__all__ = ["OPTIONS", "choices_of", "read_choices"]

OPTIONS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""What may be chosen, unless the plan says otherwise."""
_BETWEEN = re.compile(r"[\s,;/&+]+")
_AROUND = "()[]{}<>*_~`\"'.:!$"
_LONGEST = 200


def read_choices(text: str, options: Set[str] = OPTIONS) -> frozenset[str] | None:
    """Return the choices that a text names, None if it names none or is anything else besides."""
    if len(text) > _LONGEST:
        return None
    words = [word.strip(_AROUND) for word in _BETWEEN.split(text)]
    named = [word.upper() if word.isascii() else word for word in words if word and word.lower() not in ("and", "or")]
    if not named or "or" in map(str.lower, words) or not options >= set(named):
        return None
    return frozenset(named)


def choices_of(reference: Json, options: Set[str] = OPTIONS) -> frozenset[str] | None:
    """Return the choices that an accepted answer names: a text such as "A, C", or a list of letters."""
    if isinstance(reference, list):
        reference = ",".join(item if isinstance(item, str) else "?" for item in reference)
    if isinstance(reference, int) and not isinstance(reference, bool):
        reference = str(reference)
    return read_choices(reference, options) if isinstance(reference, str) else None
