# SPDX-License-Identifier: Apache-2.0
"""Schemas of answers: complete in themselves, of one draft, and nothing in them ignored."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from author_files import PLAN

from trialplate.errors import SpecError
from trialplate.spec import yaml_strict
from trialplate.spec.answer_schemas import DIALECT, check_schema
from trialplate.spec.document import Document
from trialplate.spec.validate import validate


def schema_plan(schema: str) -> str:
    """Return the small plan with a json-schema scorer."""
    return PLAN.replace("right: {type: exact}", f"right: {{type: json-schema, schema: {schema}}}")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"$schema": DIALECT, "type": "string"},
        {"$schema": f"{DIALECT}#", "type": "string"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$id": "https://example.org/s", "$ref": "#x", "$defs": {"a": {"$anchor": "x", "type": "integer"}}},
        {"type": "object", "properties": {"next": {"$ref": "#"}}},
        {"properties": {"$ref": {"type": "string"}, "requird": {"type": "string"}}},
        {"const": {"$ref": "http://x/y"}},
        {"type": "string", "x-note": "mine"},
        {"properties": {"a": {"type": "string"}}},
        {"type": "string", "format": "date-time"},
    ],
)
def test_schema_that_is_whole_is_taken(schema: Any) -> None:
    """References inside the document, data that only look like references, notes of one's own."""
    assert check_schema(Document("s.json", schema), ()) == (schema, [])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "every answer would meet"),
        (True, "every answer would meet"),
        ({"description": "anything"}, "every answer would meet"),
        ({"$defs": {"a": {"type": "string"}}}, "every answer would meet"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}, "another draft"),
        ({"$ref": "https://example.org/other"}, "leaves the schema"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "leaves the schema"),
        ({"items": {"$ref": "other.json#/a"}}, "leaves the schema"),
        ({"items": {"$dynamicRef": "other.json"}}, "leaves the schema"),
        ({"$ref": DIALECT}, "leaves the schema"),
        ({"$ref": "#/$defs/a"}, "leads nowhere"),
        ({"$ref": "#nowhere"}, "leads nowhere"),
        ({"$ref": "#"}, "without end"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, "without end"),
        ({"type": "object", "requird": ["a"]}, "would be ignored"),
        ({"type": "object", "additionalproperties": False}, "would be ignored"),
        ({"items": {"additionalItems": False}}, "older draft"),
        ({"dependencies": {}, "type": "object"}, "older draft"),
        ({"type": "objekt"}, "no JSON Schema"),
        ({"items": [{"type": "string"}]}, "no JSON Schema"),
        ({"minimum": "3"}, "no JSON Schema"),
        ({"pattern": "("}, "no regular expression"),
        ({"patternProperties": {"[": {"type": "string"}}}, "no regular expression"),
        ({"unevaluatedProperties": False, "patternProperties": {"a": {"type": "string"}}}, "bounded time"),
        ({"unevaluatedProperties": False, "allOf": [{"patternProperties": {"^(a+)+$": True}}]}, "bounded time"),
        ({"$ref": "#/notes", "notes": {"pattern": "("}}, "what is no schema"),
        ({"$ref": "#/$defs/a/enum/0", "$defs": {"a": {"enum": [{"type": "string"}]}}}, "what is no schema"),
        ({"properties": {"a": {"$id": "https://x/y", "type": "string"}}}, "another document"),
    ],
)
def test_schema_that_would_check_less_than_it_says_is_refused(schema: Any, message: str) -> None:
    """Nothing is fetched and nothing is ignored."""
    with pytest.raises(SpecError, match=message) as caught:
        check_schema(Document("s.json", schema), ())
    assert caught.value.hint


def test_format_that_is_not_checked_is_a_warning() -> None:
    """JSON Schema lets it pass, so the author is told."""
    _, warnings = check_schema(yaml_strict.load(b'{"items":\n {"format": "uri"}}', "s.json"), ())
    assert warnings == ['s.json:2:13: the format "uri" is not checked; date, date-time, email, ipv4, ipv6, uuid are']


def test_deep_schema_is_refused_and_crashes_nothing() -> None:
    """A thousand levels would be read by nobody."""
    schema: Any = {"type": "string"}
    for _ in range(1000):
        schema = {"not": schema}
    with pytest.raises((SpecError, RecursionError)):
        check_schema(Document("s.json", schema), ())


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ("{type: object, properties: {a: {$ref: other.json}}}", r"trialplate.yaml:8:76: \"\$ref\" leaves"),
        ("s.json", r"s.json:2:13: \"\$ref\" leaves"),
        ("s.yaml", r"s.yaml:1:7: \"type\": no JSON Schema"),
        ("missing.json", "trialplate.yaml:8:38: missing.json does not exist"),
        ("../out.json", "inside the project's folder"),
        ("7", "expected a mapping"),
    ],
)
def test_mistake_in_a_schema_is_told_with_its_place(project_at: Callable[..., Path], schema: str, place: str) -> None:
    """In the plan, or in the file that it names; JSON or YAML."""
    files = {"s.json": '{"items":\n  {"$ref":  "x.json"}}', "s.yaml": "type: objekt\n"}
    with pytest.raises(SpecError) as caught:
        validate(project_at(schema_plan(schema), files))
    assert re.search(place, f"{caught.value.where}: {caught.value.message}"), (caught.value.where, caught.value.message)


def test_schema_is_in_the_plan_as_a_commitment(project_at: Callable[..., Path]) -> None:
    """The same schema, inline or from a file of any layout, is one text; its content is not in the open."""
    from trialplate.spec.freeze import freeze
    from trialplate.spec.project import load_project

    files = {"s.json": '{ "type": "object",\r\n "required": ["secret-field-of-an-answer"] }'}
    inline = freeze(
        load_project(project_at(schema_plan('{type: object, required: ["secret-field-of-an-answer"]}'))), bytes(32)
    )
    filed = freeze(load_project(project_at(schema_plan("s.json"), files)), bytes(32))
    (one,), (other,) = inline.plan.scorers[0].texts, filed.plan.scorers[0].texts
    assert (one.role, other.role, other.name) == ("schema", "schema", "s.json")
    assert one.commitment == other.commitment
    assert b"secret-field" not in filed.raw
