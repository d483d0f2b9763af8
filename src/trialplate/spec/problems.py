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
from trialplate.record import values
from trialplate.spec.added import NOTHING, AddedNames
from trialplate.spec.document import Document, Path
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
        return None
    return None if problems else made


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
                yield Problem.at(document, path, f'the key "{name}" is missing{_inside(path)}', _MISSING[name])
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
    if kind == "missing":
        name = str(rest[-1]) if rest else "?"
        if isinstance(before := _at(document.value, path), dict) and name in before:
            return
        if isinstance(here, dict) and name in _misspelt(here, known.get(id(here), frozenset())).values():
            return  # that key is told, and with it this
        message = f'the key "{name}" is missing{_inside(path)}'
        yield Problem.at(document, path, message, _MISSING.get(name, f"add {name}:"))
        return
    if kind == "too_short" and _at(document.value, path):
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


_KINDS_OF_RULE = frozenset({"at_least", "at_most", "must_pass"})
_OF_A_RULE = frozenset({*_KINDS_OF_RULE, "id", "of", "basis", "where", "each", "cases", "require"})
_MISSING = {
    "repeats": "add repeats: 3; trials = configurations x cases x repeats",
    "pass_mark": "add pass_mark: with at least one rule; it is committed before the first trial",
    "trialplate": "begin the file with trialplate: 1",
    "of": "add of: with a metric, trial_pass_rate, case_pass_rate or error_rate",
    "by": "add by: cheapest, best or fastest",
    "runner": "add runner: anthropic, openai-compatible, http, command, python or stand-in",
    "request": 'add request: {url: ..., body: {question: "{{input}}"}}',
    "subject": "add subject: with your version or digest of the service; attempts are counted by it",
    "callable": "add callable: my_system.py:answer",
    "type": "add type: exact, contains, regex, numeric, choice, json-schema, json-subset, value, label, trajectory, "
    "command or python",
    "id": "give the rule an id; decisions name it",
}
_FORMS = {
    values.Name.__metadata__[0].regex: (  # type: ignore[attr-defined]
        "expected a name: letters, digits and . _ : @ + -, at most 64, beginning with a letter or a digit",
        "rename it",
    ),
    values.Short.__metadata__[0].regex: (  # type: ignore[attr-defined]
        "expected 1 to 128 printable ASCII characters",
        "shorten it",
    ),
    "[A-Za-z_][A-Za-z0-9_]{0,127}": (
        "expected the name of an environment variable",
        "write its name, never the key itself",
    ),
    r"(/([^~]|~[01])*)?": ("expected a JSON Pointer, such as /answer or /choices/0/text", "begin it with a slash"),
    r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}": ("expected the name of a header", "write it as in x-tenant: acme"),
    r"([!-~]([ -~]{0,998}[!-~])?)?": (
        "expected printable ASCII without spaces around it",
        "correct the header's value",
    ),
    "[A-Z]{3}": ("expected a currency as three capital letters", "write USD, EUR, ..."),
}


def _text_type(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    hint = "write one text" if isinstance(here, list | dict) else "quote it, as it is written in the file"
    return f"expected a text, found {_kind_of(here)}", hint


def _pattern(detail: ErrorDetails, here: Any) -> tuple[str, str]:
    pattern = str(detail["ctx"]["pattern"]).removeprefix("^").removesuffix("$")
    known = _FORMS.get(pattern.removeprefix("(?:").removesuffix(")"))
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
    **dict.fromkeys(
        ("too_short", "string_too_short"),
        lambda detail, here: ("nothing stands here", "add at least one"),
    ),
    "auth_twice": lambda detail, here: (detail["msg"], "take it out there; secret: sends it"),
    "decimal_comma": lambda detail, here: (detail["msg"], f"write {detail['ctx']['written']}"),
    "rule_kind": lambda detail, here: (
        detail["msg"],
        "write at_least: 0.90, at_most: 0.05 or must_pass: {tag: critical}",
    ),
    "path": lambda detail, here: (
        detail["msg"],
        "write it from the plan's folder, with / and without ./ or ../; copy a file from elsewhere into the project",
    ),
    "string_too_long": lambda detail, here: (f"more than {detail['ctx']['max_length']} characters", "shorten it"),
}
_DO = {
    "share": "write a share such as 0.90",
    "exact": "write a number such as 0.90",
    "seconds": "write seconds, such as 60 or 0.5",
    "money": "write an amount, such as 5 or 0.25",
    "day": "write year, month and day",
    "text": "write it, or take it out",
    "callable": "write callable: my_system.py:answer",
    "empty_selector": "write {tag: critical} or the like, or take it out",
    "draws": "write {pass_at: 2} or {pass_hat: 2}",
    "one_or_many": "put it in quotes",
}
"""What to do about an error of a field, by its kind."""
_LITERALS: dict[str | int, str] = {
    "trialplate": "this version reads 1",
    "must_pass": "expected a selector, or all",
}
_SELECTOR = "write a selector, such as {tag: critical} or {id: [q1, q2]}"
_EVIDENCE_HINTS: dict[str | int, str] = {
    "at_least": "write a whole number, such as 20",
    "cases": "write cases: {at_least: 20}",
    "repeats": "write repeats: {at_least: 3}",
    "reasked": "write reasked: {at_most: 0.02}",
    "infrastructure_errors": "write infrastructure_errors: {at_most: 0.05}",
}
_HINTS: dict[str | int, str] = {
    "trialplate": "write trialplate: 1; a later language needs a later version of this program",
    "test_sets": "write test_sets: [{file: cases/questions.csv}]",
    "test_sets[]": "write {file: cases/questions.csv}",
    "models": "write a name and what it is, such as models: {bot: {runner: command, argv: [python3, bot.py]}}",
    "scorers": "write a name and what it is, such as scorers: {correct: {type: contains}}",
    "pass_mark": "write pass_mark: {rules: [{id: correct, at_least: 0.90, of: correct, basis: estimate}]}",
    "url": "write an address such as https://api.example.com/v1",
    "must_pass": f"{_SELECTOR}; must_pass: all names every case",
    "where": _SELECTOR,
    "cases": _SELECTOR,
    "secret": "write secret: {env: NAME_OF_THE_VARIABLE}, never the key itself",
    "argv": "write a list: argv: [python3, bot.py]",
    "callable": "write callable: my_system.py:answer",
    "request": 'write request: {url: https://api.example.com/chat, body: {question: "{{input}}"}}',
    "response": "write response: {pointer: /answer}",
    "body": 'write a mapping, such as body: {question: "{{input}}"}',
    "pricing": 'write pricing: {input: "0.10", output: "0.50"} per million tokens, or pricing: free',
    "at_least": "write a share such as 0.90",
    "at_most": "write a share such as 0.05",
    "of": "write a metric or a rate, or {pass_at: 2} or {pass_hat: 2}",
    "max": "write a whole number, such as 2",
    "within": "write a share such as 0.03 for 3 points",
    "choose": "write choose: {by: cheapest, of: correct, within: 0.03, basis: estimate}",
    "rules": "write rules: [{id: correct, at_least: 0.90, of: correct, basis: estimate}]",
    "rules[]": "write {id: correct, at_least: 0.90, of: correct, basis: estimate}",
}
_SCORER_HINTS: dict[str | int, str] = {
    "rules": "write rules: [{must_call: search}, {max_steps: 8}]; of a judge, the name of a file",
    "rules[]": "write one of {must_call: search}, {must_not_call: refund} and {max_steps: 8}",
}
"""What is meant under scorers, where the same key stands elsewhere for something else."""


def _sentence(kind: str, detail: ErrorDetails, here: Any, path: Path) -> tuple[str, str]:
    """Return the sentence and the hint for an error."""
    made = _SENTENCES.get(kind)
    if kind == "refused":
        message, hint = detail["msg"], str(detail["ctx"]["do"])
    elif made is not None:
        message, hint = made(detail, here)
    else:
        message, hint = detail["msg"], _DO.get(kind, "correct it")
    if not path:
        return message, "a plan begins with trialplate: 1; give a project's folder or its trialplate.yaml"
    key = path[-1]
    if kind == "literal_error":
        message = _LITERALS.get(key, message)
    is_name = len(path) == 2 and path[0] in ("models", "profiles", "scorers")
    if kind not in ("decimal_comma", "refused") and not is_name:
        of_a_rule = path[:2] == ("pass_mark", "rules") and "cases" in path
        counted = (path[:2] == ("pass_mark", "evidence") or of_a_rule) and key in _EVIDENCE_HINTS
        known = f"{path[-2]}[]" if isinstance(key, int) and len(path) > 1 else key
        hints = _EVIDENCE_HINTS if counted else {**_HINTS, **_SCORER_HINTS} if path[0] == "scorers" else _HINTS
        hint = hints.get(known, hint)
    if isinstance(key, int):
        key = f"{path[-2]}[{key}]"
    return f'"{key}": {message}', hint
