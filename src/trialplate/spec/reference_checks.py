# SPDX-License-Identifier: Apache-2.0
"""Whether the accepted answers of each case are such that its scorers can compare with them, checked before a run.

A reference that no answer could equal, or that every answer holds, is a mistake of the test set: it is told with the
case's place, and not as thousands of wrong answers, or right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.matrix import selects
from trialplate.record.values import Case, Scorer
from trialplate.spec.choices import choices_of
from trialplate.spec.numbers import number_rules, reference_problem
from trialplate.spec.project import Project

__all__ = ["check_references"]


def check_references(scorers: Sequence[Scorer], project: Project) -> Iterator[str]:
    """Yield warnings about references; a scorer that compares with them needs some.

    Raises:
        SpecError: a case has none, or one that cannot be meant.
    """
    for scorer in scorers:
        compares = scorer.type == "contains" and not scorer.texts
        if not compares and scorer.type not in _CHECKS:
            continue
        check = _CHECKS.get(scorer.type, _no_problem)(scorer)
        for case in project.cases:
            if selects(scorer.cases, case):
                yield from _check_case(case, scorer, check, project.places[case.id])


def _check_case(case: Case, scorer: Scorer, check: Callable[[Json], str], place: str) -> Iterator[str]:
    if not case.references:
        message = f'case "{case.id}" has no reference, and "{scorer.name}" compares with it'
        raise SpecError(
            message,
            where=place,
            hint="write what is right as reference, references or expected: other names are not read",
        )
    if scorer.type == "label" and len(case.references) > 1:
        message = f'case "{case.id}" has {len(case.references)} references, and a label is exactly one'
        raise SpecError(message, where=place, hint=f'keep one, or narrow cases: of "{scorer.name}"')
    for item in case.references:
        if isinstance(item, str) and not item.strip():
            message = f'a reference of case "{case.id}" is blank: every answer would match'
            raise SpecError(message, where=place, hint="write what is right, or leave the reference out")
        if not isinstance(item, str) and scorer.type in ("exact", "contains", "label"):
            yield f'{place}: a reference of case "{case.id}" is no text; "{scorer.name}" compares its JSON'
        problem = check(item)
        if problem:
            message = f'a reference of case "{case.id}" {problem}, and "{scorer.name}" compares with it'
            raise SpecError(message, where=place, hint="correct it, or narrow cases: of the scorer")


def _no_problem(scorer: Scorer) -> Callable[[Json], str]:
    return lambda item: ""


def _of_numbers(scorer: Scorer) -> Callable[[Json], str]:
    rules, find = number_rules(scorer.settings), str(scorer.settings["find"])
    return lambda item: reference_problem(item, find, rules)


def _of_choices(scorer: Scorer) -> Callable[[Json], str]:
    options: Any = scorer.settings["options"]

    def check(item: Json) -> str:
        return "" if choices_of(item, frozenset(options)) else f"names none of the choices {', '.join(options)}"

    return check


def _of_json(scorer: Scorer) -> Callable[[Json], str]:
    def check(item: Json) -> str:
        if isinstance(item, str) and item.strip()[:1] in ("{", "["):
            try:
                item = canonical.parse(item.strip().encode())
            except FormatError as error:
                return f"begins like JSON and is {error.message}"
        return "is an empty object, which every object holds" if item == {} else ""

    return check


_CHECKS: dict[str, Callable[[Scorer], Callable[[Json], str]]] = {
    "exact": _no_problem,
    "numeric": _of_numbers,
    "choice": _of_choices,
    "json-subset": _of_json,
    "value": _no_problem,
    "label": _no_problem,
    "similarity": _no_problem,
}
