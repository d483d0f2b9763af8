# SPDX-License-Identifier: Apache-2.0
"""What an author says about answers that are JSON: how it is found, and a JSON Schema that it must meet.

A schema is of draft 2020-12, complete in itself, and checked before anything runs.

Refused, with the place: another draft; a `$ref` that leaves the document, be it a file or an address, or that leads
nowhere; a keyword of an older draft, and one that is almost a keyword, since JSON Schema itself would ignore both and
every answer would meet what was not checked; a schema that every answer meets; one that refers to itself without end.

Formats are checked for `FORMATS` alone, the same on every machine; another one is a warning.

What this module refuses to do: fetch anything, read a file, validate an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NoReturn

from trialplate.errors import SpecError
from trialplate.record.frozen import Json
from trialplate.spec.document import Document, Path, plain
from trialplate.spec.nearest import nearest

__all__ = ["DIALECT", "FORMATS", "Parse", "check_schema"]

Parse = Literal["strict", "fenced", "embedded"]
"""How JSON is found in a text; see `transport.json_answers`."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMATS = ("date", "date-time", "email", "ipv4", "ipv6", "uuid")
_ONE = {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"}
_ONE |= {"unevaluatedItems", "unevaluatedProperties"}
_LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_MAPS = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
_NOTES = {"$anchor", "$comment", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "contentEncoding"}
_NOTES |= {"contentMediaType", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
_TESTS = {"$dynamicRef", "$ref", "const", "dependentRequired", "enum", "exclusiveMaximum", "exclusiveMinimum", "format"}
_TESTS |= {"maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength"}
_TESTS |= {"minProperties", "minimum", "multipleOf", "pattern", "required", "type", "uniqueItems"}
_KEYWORDS = _ONE | _LISTS | _MAPS | _NOTES | _TESTS
_OLDER = {
    "additionalItems": "items beside prefixItems",
    "dependencies": "dependentRequired or dependentSchemas",
    "id": "$id",
    "$recursiveRef": "$dynamicRef",
    "$recursiveAnchor": "$dynamicAnchor",
}
_MISSPELT = 0.8


def check_schema(document: Document, path: Path) -> tuple[Json, list[str]]:
    """Return a schema as plain JSON, and warnings about what it asks for and is not checked.

    Args:
        document: the file that the schema stands in.
        path: where in it.

    Raises:
        SpecError: with file, line and column.
    """
    schema = plain(document.at(path))
    if not isinstance(schema, dict) or not schema.keys() & (_KEYWORDS - _NOTES - {"$defs", "definitions"}):
        message = "every answer would meet this schema, or none"
        _refuse(document, path, message, "say what must be there, such as type: object and required: [answer]")
    if schema.get("$schema", DIALECT).rstrip("#") != DIALECT:
        message = "a schema of another draft than 2020-12"
        _refuse(document, (*path, "$schema"), message, f"write $schema: {DIALECT}, or leave it out")
    _check_meta(schema, document, path)
    _check_unevaluated(schema, document, path)
    warnings = [item for below, inner in _inner(schema, path) for item in _check_one(inner, document, below, path)]
    _check_references(schema, document, path)
    _check_use(schema, document, path)
    return schema, warnings


def _refuse(document: Document, path: Path, message: str, hint: str = "correct the schema") -> NoReturn:
    raise SpecError(message, where=document.where(path), hint=hint)


def _check_meta(schema: Json, document: Document, path: Path) -> None:
    """Hold the schema to the schema of schemas."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    try:
        wrong = best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema))
    except RecursionError:
        _refuse(document, path, "the schema is nested too deep")
    if wrong is not None:
        below = (*path, *wrong.absolute_path)
        name = str(wrong.absolute_path[-1]) if wrong.absolute_path else "schema"
        _refuse(document, below, f'"{name}": no JSON Schema of draft 2020-12: {wrong.message[:200]}')


def _inner(schema: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the schema and every schema in it, each with its place."""
    if not isinstance(schema, dict):
        return  # true or false
    yield path, schema
    for key, value in schema.items():
        if key in _ONE:
            yield from _inner(value, (*path, key))
        elif key in _LISTS and isinstance(value, list):
            for index, item in enumerate(value):
                yield from _inner(item, (*path, key, index))
        elif key in _MAPS and isinstance(value, dict):
            for name, item in value.items():
                yield from _inner(item, (*path, key, name))


def _check_one(schema: dict[str, Any], document: Document, path: Path, top: Path) -> Iterator[str]:
    for key in schema:
        if key in _OLDER:
            _refuse(document, (*path, key), f'"{key}" is of an older draft and would be ignored', f"use {_OLDER[key]}")
        near = None if key in _KEYWORDS else nearest(key, _KEYWORDS, cutoff=_MISSPELT)
        if near is not None:
            message = f'unknown keyword "{key}", which would be ignored'
            _refuse(document, (*path, key), message, f'did you mean "{near}"? A note of your own is named otherwise')
    if "$id" in schema and path != top:
        _refuse(document, (*path, "$id"), "an $id inside a schema makes another document of it", "take it out")
    for key in ("$ref", "$dynamicRef"):
        if key in schema and not str(schema[key]).startswith("#"):
            message = f'"{key}" leaves the schema: {str(schema[key])[:100]}'
            _refuse(document, (*path, key), message, "copy what it means into $defs; nothing is fetched")
    for key in ("pattern", "patternProperties"):
        for pattern in [schema[key]] if key == "pattern" and key in schema else schema.get(key, ()):
            _check_pattern(pattern, document, (*path, key))
    name = schema.get("format")
    if isinstance(name, str) and name not in FORMATS:
        yield f'{document.where((*path, "format"))}: the format "{name}" is not checked; {", ".join(FORMATS)} are'


def _check_unevaluated(schema: Json, document: Document, path: Path) -> None:
    """Refuse what looks through patterns without a time limit, wherever in the schema these stand."""
    inner = list(_inner(schema, path))
    below = next((place for place, one in inner if "unevaluatedProperties" in one), None)
    if below is not None and any("patternProperties" in one for _, one in inner):
        message = "unevaluatedProperties in a schema with patternProperties is not checked in bounded time"
        _refuse(document, (*below, "unevaluatedProperties"), message, "use additionalProperties")


def _check_pattern(pattern: str, document: Document, path: Path) -> None:
    """Compile a pattern as the scorer will."""
    import regex

    try:
        regex.compile(pattern, regex.V0)
    except (regex.error, RecursionError, OverflowError) as problem:
        _refuse(document, path, f"no regular expression: {problem}", "correct the pattern")


def _check_references(schema: Json, document: Document, path: Path) -> None:
    """Look every reference up, as the scorer will."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    shelf: Any = Registry()
    resolver = shelf.resolver_with_root(DRAFT202012.create_resource(schema))
    found = list(_inner(schema, path))
    checked = {id(inner) for _, inner in found}
    for below, inner in found:
        for key in ("$ref", "$dynamicRef"):
            if key in inner:
                try:
                    there = resolver.lookup(inner[key]).contents
                except (Unresolvable, LookupError, ValueError, TypeError):
                    _refuse(document, (*below, key), f'"{key}" leads nowhere: {inner[key][:100]}', "correct it")
                if not isinstance(there, bool) and id(there) not in checked:
                    message = f'"{key}" leads to what is no schema: {inner[key][:100]}'
                    _refuse(document, (*below, key), message, "put schemas that others refer to under $defs")


def _check_use(schema: Json, document: Document, path: Path) -> None:
    """Try the schema on values of every kind, which finds one that goes round in circles."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    validator: Any = Draft202012Validator(schema, registry=Registry())
    kinds: tuple[Json, ...] = (None, True, 0, "x", [], [None, "x"], {}, {"x": None})
    try:
        for kind in kinds:
            validator.is_valid(kind)
    except RecursionError:
        _refuse(document, path, "the schema refers to itself without end", "let each $ref go one level down")
