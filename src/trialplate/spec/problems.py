# SPDX-License-Identifier: Apache-2.0
"""From what is wrong with an author file to sentences: place, what is wrong, the nearest known key, what to do.

All problems of a file are told at once, in the order of the file. The value that was found is never printed, since it
may be a secret that somebody pasted: an error says what kind of value stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from trialplate.errors import SpecError
from trialplate.spec.added import NOTHING, AddedNames
from trialplate.spec.document import Document, Path
from trialplate.spec.hints import DO, EVIDENCE_HINTS, FORMS, HINTS, LITERALS, MARK_HINTS, MISSING, SCORER_HINTS
from trialplate.spec.mark_rules import KINDS
from trialplate.spec.nearest import nearest, suggestion

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["Problem", "raise_problems", "validated"]

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file."""

    where: str
    message: str
    hint: str
    order: tuple[int, int] = (0, 0)

    @classmethod
    def at(cls, document: Document, path: Path, message: str, hint: str, *, key: bool = False) -> Problem:
        """Return a problem with the value at a path, or with its key."""
        return cls(document.where(path, key=key), message, hint, document.order(path, key=key))


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise one error for all of them, if there are any.

    Raises:
        SpecError: placed at the first problem; the others stand in the message, one on each line.
    """
    if not problems:
        return
    first, *others = sorted(problems, key=lambda item: item.order)
    message = first.message
    if others:
        message = "\n".join(
            [f"{first.message} ({first.hint})", *(f"{item.where}: {item.message} ({item.hint})" for item in others)]
        )
    raise SpecError(message, where=first.where, hint=first.hint)


def validated(
    model: type[M], document: Document, value: Any, problems: list[Problem], added: AddedNames = NOTHING
) -> M | None:
    """Check what remains of a document against a model, adding every problem to the list.

    Args:
        model: the model of the whole document.
        document: where things stand.
        value: the document's value, less what `later` has refused; a refused item of a list is None.
        problems: what was found so far; problems that merely follow from a refusal are left out.
        added: the names that are no built-ins.

    Returns:
        The model, if there was no problem at all.
    """
    known: dict[int, frozenset[str]] = {}
    try:
        made = model.model_validate(value, context={"known": known, "added": added})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            problems += _problems(document, value, detail, known)
        if not problems:  # each took itself for what follows from another; a file that does not fit is never let pass
            problems += [_untold(document, value, detail) for detail in error.errors(include_url=False)]
        return None
    return None if problems else made


def _untold(document: Document, value: Any, detail: ErrorDetails) -> Problem:
    """Return one of pydantic's errors in its own words, at the nearest place that the file has."""
    path, _, key = _resolve(value, detail["loc"])
    return Problem.at(document, path, f"this does not fit: {detail['msg']}", "correct it, or take it out", key=key)


def _problems(
    document: Document, value: Any, detail: ErrorDetails, known: Mapping[int, frozenset[str]]
) -> Iterator[Problem]:
    """Translate one of pydantic's errors; to nothing if it only follows from a key that was refused before."""
    path, rest, key = _resolve(value, detail["loc"])
    here = _at(value, path)
    if here is None and _at(document.value, path) is not None:
        return
    kind = detail["type"]
    if kind == "rule_kind" and isinstance(here, dict):
        hints = {name: suggestion(name, _OF_A_RULE) for name in here if name not in _OF_A_RULE}
        yield from _unknown(document, path, hints)
        if len(_KINDS_OF_RULE.intersection((*here, *_misspelt(here, _OF_A_RULE).values()))) == 1:
            return
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        name = str(detail["ctx"]["discriminator"]).strip("'")
        if kind == "union_tag_not_found":
            meant = _misspelt(here, {name})
            yield from _unknown(document, path, dict.fromkeys(meant, f'did you mean "{name}"?'))
            if not meant:
                yield Problem.at(document, path, f'the key "{name}" is missing{_inside(path)}', MISSING[name])
            return
        path, here = (*path, name), here[name]
    key_below = str(detail.get("ctx", {}).get("key"))
    if kind in ("nobodys_name", "refused") and isinstance(here, dict) and key_below in here:
        path, here = (*path, key_below), here[key_below]
    if kind == "extra_forbidden":
        names = known.get(id(_at(value, path[:-1])), frozenset())
        hint = suggestion(str(path[-1]), names)
        if "settings" in names and nearest(str(path[-1]), names) is None:
            hint = f"what is sent with every request stands under settings:; else {hint}"
        yield Problem.at(document, path, f'unknown key "{path[-1]}"', hint, key=True)
        return
    if kind in ("missing", "missing_key"):
        name = key_below if kind == "missing_key" else str(rest[-1]) if rest else "?"
        if isinstance(here, dict) and name in here:  # it stands there, and holds nothing
            path = (*path, name)
            yield Problem.at(document, path, f'"{name}": nothing stands here', MISSING.get(name, "write a value"))
            return
        if isinstance(before := _at(document.value, path), dict) and name in before:
            return
        if isinstance(here, dict) and name in _misspelt(here, known.get(id(here), frozenset())).values():
            return  # that key is told, and with it this
        message = f'the key "{name}" is missing{_inside(path)}'
        own = MISSING.get(f"{path[-1]}.{name}") if path else None
        yield Problem.at(document, path, message, own or MISSING.get(name, f"add {name}:"))
        return
    if kind == "too_short" and len(_at(document.value, path)) >= detail["ctx"]["min_length"]:
        return  # what stands there is wrong or was refused, which is told by itself
    message, hint = _sentence(kind, detail, here, path)
    yield Problem.at(document, path, message, hint, key=key)


def _misspelt(here: Any, known: Set[str]) -> dict[str, str]:
    """Return the keys that are almost a known one, each with that.

    Without the key that says what a mapping is, no model reads the others, and what is wrong with them is told by this.
    """
    near = {name: nearest(name, known) for name in here if name not in known} if isinstance(here, dict) else {}
    return {name: found for name, found in near.items() if found is not None and found not in here}


def _unknown(document: Document, path: Path, hints: Mapping[str, str]) -> Iterator[Problem]:
    for name, hint in hints.items():
        yield Problem.at(document, (*path, name), f'unknown key "{name}"', hint, key=True)


def _resolve(value: Any, loc: Iterable[str | int]) -> tuple[Path, list[str | int], bool]:
    """Walk pydantic's location along the file, stepping over the names of union members that it holds.

    Returns the path as far as it exists, what was left over, and whether it is about a key.
    """
    path: list[str | int] = []
    rest: list[str | int] = []
    key = False
    for part in loc:
        if part == "[key]":
            key = True
        elif (isinstance(value, dict) and part in value) or (isinstance(value, list) and part in range(len(value))):
            value = _at(value, (part,))
            path.append(part)
            rest = []
        else:
            rest.append(part)
    return tuple(path), rest, key


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _inside(path: Path) -> str:
    return f" in {'.'.join(map(str, path))}" if path else ""


def _kind_of(value: Any) -> str:
    """Name the kind of a value, never the value."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true or false"
    for kinds, word in (((int, float), "a number"), (str, "a text"), (list, "a list"), (dict, "a mapping")):
        if isinstance(value, kinds):
            return word
    return type(value).__name__


_KINDS_OF_RULE = frozenset(KINDS)
_OF_A_RULE = _KINDS_OF_RULE | {"id", "of", "basis", "where", "each", "cases", "require", "by", "allow"}
_OF_A_RULE |= {"correct_for_judge"}


def _text_type(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    hint = "write one text" if isinstance(here, list | dict) else "quote it, as it is written in the file"
    return f"expected a text, found {_kind_of(here)}", hint


def _pattern(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    pattern = str(detail["ctx"]["pattern"]).removeprefix("^").removesuffix("$")
    known = FORMS.get(pattern.removeprefix("(?:").removesuffix(")"))
    return known or ("this text has not the expected form", f"it must match {pattern}")


def _choice(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    expected = str(detail["ctx"].get("expected") or detail["ctx"].get("expected_tags", ""))
    words = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    words = [{"True": "true", "False": "false"}.get(word, word) for word in words]
    if not isinstance(here, str):
        hint = f"write {words[0]}" if len(words) == 1 else "quote it, if it is a text"
        return f"expected {', '.join(words)}, found {_kind_of(here)}", hint
    return f"expected {'one of ' if len(words) > 1 else ''}{', '.join(words)}", suggestion(here, words)


def _bounds(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    told = ", ".join(f"{words[name]} {limit}" for name, limit in detail["ctx"].items() if name in words)
    return f"expected a number that is {told}", "correct the number"


def _nobodys(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    near = nearest(str(here), detail["ctx"]["there"].split(", "))
    hint = f'did you mean "{near}"?' if near else "install the package that adds it; `trialplate plugins` lists all"
    return detail["msg"], hint


def _tag(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    words = [word.strip().strip("'") for word in str(detail["ctx"]["expected_tags"]).split(",")]
    found = here if isinstance(here, str) else ""
    return f"there is {', '.join(words)}", suggestion(found, words)


_SENTENCES: dict[str, Callable[[ErrorDetails, Any], tuple[str, str]]] = {
    "string_type": _text_type,
    "string_pattern_mismatch": _pattern,
    "literal_error": _choice,
    "union_tag_invalid": _tag,
    "nobodys_name": _nobodys,
    **dict.fromkeys(("greater_than", "greater_than_equal", "less_than", "less_than_equal"), _bounds),
    **dict.fromkeys(
        ("int_type", "int_from_float"),
        lambda detail, here: (f"expected a whole number, found {_kind_of(here)}", "write digits alone, such as 3"),
    ),
    "bool_type": lambda detail, here: (f"expected true or false, found {_kind_of(here)}", "write true or false"),
    **dict.fromkeys(
        ("model_type", "dict_type", "model_attributes_type"),
        lambda detail, here: (f"expected a mapping, found {_kind_of(here)}", "write key: value below it"),
    ),
    **dict.fromkeys(
        ("tuple_type", "list_type"),
        lambda detail, here: (f"expected a list, found {_kind_of(here)}", "write [one, two]"),
    ),
    "too_short": lambda detail, here: (
        f"expected at least {detail['ctx']['min_length']}" if here else "nothing stands here",
        "add another" if here else "add at least one",
    ),
    "string_too_short": lambda detail, here: ("nothing stands here", "add at least one"),
    "auth_twice": lambda detail, here: (detail["msg"], "take it out there; secret: sends it"),
    "decimal_comma": lambda detail, here: (detail["msg"], f"write {detail['ctx']['written']}"),
    "rule_kind": lambda detail, here: (
        detail["msg"],
        "write at_least: 0.90, at_most: 0.05, must_pass: {tag: critical}, not_worse_than: MODEL, "
        "no_regressions: baseline or any_of: [...]",
    ),
    "path": lambda detail, here: (
        detail["msg"],
        "write it from the plan's folder, with / and without ./ or ../; copy a file from elsewhere into the project",
    ),
    "string_too_long": lambda detail, here: (f"more than {detail['ctx']['max_length']} characters", "shorten it"),
}


def _sentence(kind: str, detail: ErrorDetails, here: Any, path: Path) -> tuple[str, str]:
    """Return the sentence and the hint for an error."""
    made = _SENTENCES.get(kind)
    if kind == "refused":
        message, hint = detail["msg"], str(detail["ctx"]["do"])
    elif made is not None:
        message, hint = made(detail, here)
    else:
        message, hint = detail["msg"], DO.get(kind, "correct it")
    if not path:
        return message, "a plan begins with trialplate: 1; give a project's folder or its trialplate.yaml"
    key = path[-1]
    if kind == "literal_error":
        message = LITERALS.get(key, message)
    is_name = len(path) == 2 and path[0] in ("models", "profiles", "scorers")
    if kind not in ("decimal_comma", "refused") and not is_name:
        of_a_rule = path[:2] == ("pass_mark", "rules") and "cases" in path
        counted = (path[:2] == ("pass_mark", "evidence") or of_a_rule) and key in EVIDENCE_HINTS
        known = f"{path[-2]}[]" if isinstance(key, int) and len(path) > 1 else key
        own = {"scorers": SCORER_HINTS, "pass_mark": MARK_HINTS}.get(str(path[0]), {})
        hint = (EVIDENCE_HINTS if counted else {**HINTS, **own}).get(known, hint)
    if isinstance(key, int):
        key = f"{path[-2]}[{key}]"
    return f'"{key}": {message}', hint
