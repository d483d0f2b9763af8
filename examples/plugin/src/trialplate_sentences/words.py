# SPDX-License-Identifier: Apache-2.0
"""Words as SQuAD's evaluation counts them: lower case, without punctuation and articles."""

from __future__ import annotations

import string

__all__ = ["words_of"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = {"a", "an", "the"}


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return [word for word in text.lower().translate(_PUNCTUATION).split() if word not in _ARTICLES]
