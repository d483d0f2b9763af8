# SPDX-License-Identifier: Apache-2.0
"""What of an answer is reasoning, for models whose plan says `answer: {reasoning: strip}`.

Reasoning is what stands from a `<think>` to the next `</think>`; from a `<think>` that is never closed to the end; and,
where a `</think>` closes nothing, everything before it. The rest is the answer, without outer white space. Where a
block is taken out between two words, a space keeps them apart. A text without these tags is left as it is, to the byte.

Doing it twice changes nothing more: what is recorded is the rest, and a re-score of that is the same score.
"""

from __future__ import annotations

import re

__all__ = ["without_reasoning"]

_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)


def without_reasoning(text: str) -> tuple[str, str]:
    """Part a text into the answer and the reasoning, in that order.

    Returns:
        The answer, which is empty if there is only reasoning; and what was taken out, tags included, "" if nothing was.
    """
    kept: list[slice] = []
    taken: list[slice] = []  # places, not texts: a million tags that close nothing would be copied a million times
    at, opened = 0, None
    for tag in _TAG.finditer(text):
        if tag[1]:
            if opened is None:  # it closes nothing: whatever stood before it was reasoning
                taken, kept = [slice(0, tag.end())], []
            else:
                taken.append(slice(opened, tag.end()))
            at, opened = tag.end(), None
        elif opened is None:
            kept.append(slice(at, tag.start()))
            opened = tag.start()
    if opened is None:
        kept.append(slice(at, len(text)))
    else:
        taken.append(slice(opened, len(text)))
    if not taken:
        return text, ""
    return _joined([text[part] for part in kept]).strip(), "".join([text[part] for part in taken])


def _joined(parts: list[str]) -> str:
    """Join what was kept; words do not run together, and no new tag comes about."""
    made: list[str] = []
    for part in filter(None, parts):
        if made and not made[-1][-1].isspace() and not part[0].isspace():
            made.append(" ")
        made.append(part)
    return "".join(made)
