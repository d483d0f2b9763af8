# SPDX-License-Identifier: Apache-2.0
"""What a case says about how it is answered: the form of the answer, the turns, the tools that it offers.

Each changes what reaches the model, so each is checked where it is written, and the accepted answers are held against
the form: one that no answer in this form could equal would count against every model alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.record.values import CaseTool
from trialplate.spec.answer_schemas import check_schema
from trialplate.spec.document import Document, ExactFloat, Path, named
from trialplate.spec.nearest import suggestion

__all__ = ["FORM_KEYS", "MOST_TURNS", "case_tools", "check_form", "form_fields"]

FORM_KEYS = frozenset({"answer_format", "answer_schema", "max_turns", "tools"})
MOST_TURNS = 1000
_TOOL_KEYS = ("name", "max_calls", "timeout_s")
_TOOLS = "write tools: [{name: calculator, max_calls: 10, timeout_s: 60}]"


def form_fields(document: Document) -> dict[str, Any]:
    """Return the fields of a case that say how it is answered, those that are there.

    Args:
        document: the case by itself.

    Raises:
        SpecError: with the place.
    """
    value: Mapping[str, Any] = document.value
    found: dict[str, Any] = {}
    if "answer_format" in value:
        if not isinstance(value["answer_format"], str) or not value["answer_format"].strip():
            hint = "write it in words, such as answer_format: a single number; a schema goes under answer_schema"
            _refuse(document, ("answer_format",), '"answer_format" is no text, or a blank one', hint)
        found["answer_format"] = value["answer_format"]
    if "answer_schema" in value:
        if "answer_format" in value:
            message, hint = '"answer_format" and "answer_schema" both say what the answer looks like', "keep one"
            _refuse(document, ("answer_schema",), message, hint)
        found["answer_schema"], _ = check_schema(document, ("answer_schema",))
    if "max_turns" in value:
        found["max_turns"] = _count(document, ("max_turns",), MOST_TURNS)
    if "tools" in value:
        found["tools"] = case_tools(document, ("tools",))
    return found


def case_tools(document: Document, path: Path) -> tuple[CaseTool, ...]:
    """Return the tools that a list offers.

    Raises:
        SpecError: with the place.
    """
    items = document.at(path)
    if not isinstance(items, list):
        _refuse(document, path, f'"{named(path)}" must be a list', _TOOLS)
    made: list[CaseTool] = []
    for index, item in enumerate(items):
        tool = _tool(document, (*path, index), item)
        if any(tool.name == other.name for other in made):
            _refuse(document, (*path, index), f'the tool "{tool.name}" is offered twice', "name it once")
        made.append(tool)
    return tuple(made)


def _tool(document: Document, path: Path, item: Any) -> CaseTool:
    if isinstance(item, str):
        item = {"name": item}
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        _refuse(document, path, "a tool of a case has a name", _TOOLS)
    for key in item:
        if key not in _TOOL_KEYS:
            _refuse(document, (*path, key), f'unknown key "{key}"', suggestion(key, _TOOL_KEYS))
    fields: dict[str, Any] = {"name": item["name"]}
    if "max_calls" in item:
        fields["max_calls"] = _count(document, (*path, "max_calls"), 10_000)
    if "timeout_s" in item:
        fields["timeout_ms"] = _milliseconds(document, (*path, "timeout_s"))
    return CaseTool(**fields)


def check_form(form: Mapping[str, Any], references: tuple[Json, ...], where: str) -> None:
    """Hold the accepted answers of a case against the form that its answer must have.

    Raises:
        SpecError: one of them could never be given.
    """
    if "answer_format" in form:
        for item in references:
            if not isinstance(item, str):
                message = "an accepted answer is no text, and under answer_format the answer is one"
                hint = 'put it in quotes, such as "4", or say answer_schema instead'
                raise SpecError(message, where=where, hint=hint)
    if "answer_schema" in form and references:
        from jsonschema import Draft202012Validator

        validator = Draft202012Validator(form["answer_schema"])
        for item in references:
            problem = next(validator.iter_errors(item), None)
            if problem is not None:
                message = f"an accepted answer does not meet answer_schema: {problem.message[:200]}"
                raise SpecError(message, where=where, hint="correct the answer or the schema")


def _count(document: Document, path: Path, most: int) -> int:
    value = document.at(path)
    if type(value) is not int or not 1 <= value <= most:
        _refuse(document, path, f'"{named(path)}" is no whole number from 1 to {most}', "correct it, or leave it out")
    return int(value)


def _milliseconds(document: Document, path: Path) -> int:
    value = document.at(path)
    number = float(value.text) if isinstance(value, ExactFloat) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0.001 <= number <= 3600:
        _refuse(document, path, f'"{named(path)}" is no time from 0.001 to 3600 seconds', "write seconds, such as 60")
    return round(number * 1000)


def _refuse(document: Document, path: Path, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=document.where(path), hint=hint)
