# SPDX-License-Identifier: Apache-2.0
"""Unicode normalisation of texts that nobody vouches for, in a time that grows with their length alone.

Python's `unicodedata.normalize` puts the marks behind a letter in order by moving each past those before it. A megabyte
of marks in the wrong order, which a model may answer, would hold up everything else for an hour. What is in order
already costs nothing more, so long runs of marks are sorted first: into the order that it would have put them in.

Source: Unicode 16.0, 3.11, D108 and D109.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

__all__ = ["Form", "composed_text"]

Form = Literal["NFC", "NFKC"]
LONG = 1000
"""Characters of a text in which marks may be so many that it matters."""
_RUNS = {
    "NFC": r"[\P{ccc=0}\u0f73\u0f75\u0f81]{100,}",
    "NFKC": r"[\P{ccc=0}\u0f73\u0f75\u0f81\uff9e\uff9f]{100,}",
}
"""Marks, and what is none by itself and is made of marks where it is taken apart."""


def composed_text(text: str, form: Form = "NFC") -> str:
    """Return a text in a normalisation form; lone surrogates stay as they are."""
    if text.isascii():
        return text
    if len(text) > LONG:
        import regex

        text = regex.sub(_RUNS[form], lambda run: _in_order(run, form), text)
    return unicodedata.normalize(form, text)


def _in_order(run: Any, form: Form) -> str:
    """Return a run of marks taken apart, each behind those that belong before it."""
    apart = "".join(unicodedata.normalize("NFD" if form == "NFC" else "NFKD", mark) for mark in run[0])
    return "".join(sorted(apart, key=unicodedata.combining))
