# SPDX-License-Identifier: Apache-2.0
"""Why a selector meets no case: the value that no case has, the nearest one, and where the author may have put it.

A rule that selects nothing has almost always lost its cases to a misspelt tag or column. So the hint sends the author
to the cases, and never to taking the rule out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from trialplate.record.values import Case, Selector
from trialplate.spec.nearest import nearest

__all__ = ["clipped", "nowhere", "selector_hint"]

_SHOWN = 8
_LONGEST = 80
"""Characters of a name in an error."""
_FIELDS = {"tag": "tags", "suite": "suite", "id": "id"}
"""What a case calls that which a selector names."""


def selector_hint(selector: Selector, cases: Sequence[Case]) -> str:
    """Return what to look at, for a selector that meets none of these cases."""
    for key, value in nowhere(selector, cases):
        return "; ".join([_said(key, value, sorted(_known(key, cases))), *_kept_elsewhere(_FIELDS[key], value, cases)])
    return "no case meets all of its keys at once: check the tags, suites and ids of the cases that it shall select"


def clipped(value: str) -> str:
    """Return the beginning of what may be a whole text that stands where a name belongs."""
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."


def nowhere(selector: Selector, cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """Yield each key and value of a selector that no case has: of several values, the others would hide it."""
    for key, given in (("tag", selector.tag), ("suite", selector.suite), ("id", selector.id)):
        known = _known(key, cases) if given else frozenset()
        yield from ((key, value) for value in given if value not in known)


def _known(key: str, cases: Sequence[Case]) -> Set[str]:
    """Return every tag, suite or id that some case has."""
    if key == "tag":
        return {tag for case in cases for tag in case.tags}
    return {case.id for case in cases} if key == "id" else {case.suite for case in cases if case.suite}


def _said(key: str, value: str, known: Sequence[str]) -> str:
    """Return that no case has it, and what the cases have."""
    what = {"tag": "the tags", "suite": "the suites", "id": "the ids"}[key]
    said = f'no case has the {key} "{clipped(value)}": check {what} of the cases'
    near = nearest(value, known)
    if near is not None:
        return f'{said}; did you mean "{near}"?'
    if not known:
        return f"{said}; there are none"
    return f"{said}; there are {', '.join(known[:_SHOWN])}{', ...' if len(known) > _SHOWN else ''}"


def _kept_elsewhere(field: str, value: str, cases: Sequence[Case]) -> Iterator[str]:
    """Yield the key of `meta` that holds the value, else one that is named almost like the field."""
    names = dict.fromkeys(name for case in cases for name in case.meta)
    holds = (name for case in cases for name, item in case.meta.items() if _holds(item, value))
    found = next(holds, None) or nearest(field, names, cutoff=0.75)
    if found is not None:
        yield f'the cases keep "{found}" in meta, where no rule looks: give it the name "{field}", beside id and input'


def _holds(item: object, value: str) -> bool:
    """Say whether a fact of the author's own is this value, or a list that has it."""
    parts = item if isinstance(item, list) else re.split("[;|,]", item) if isinstance(item, str) else []
    return any(isinstance(part, str) and part.strip() == value for part in parts)
