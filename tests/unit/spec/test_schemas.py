# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas: current, valid by themselves, and of one mind with the codec and with pydantic."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from author_files import PLAN
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic_core import SchemaValidator, ValidationError

from trialplate.errors import FormatError
from trialplate.record import codec, entries, values
from trialplate.record.frozen import MISSING, Value, fields
from trialplate.spec import schemas, yaml_strict
from trialplate.spec.document import plain

ROOT = Path(__file__).parents[3]


@cache
def schema(name: str) -> Draft202012Validator:
    """Return the validator of a generated schema."""
    return Draft202012Validator(json.loads(schemas.documents()[f"{name}.v1.schema.json"]))


def test_schemas_on_disk_are_what_the_definitions_give() -> None:
    """Whoever changes a format writes the schemas again."""
    on_disk = {file.name: file.read_bytes() for file in (ROOT / "schemas").glob("*.schema.json")}
    assert on_disk == schemas.documents()


def test_check_tells_a_stale_file_and_write_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` is 1 until every file is current."""
    arguments = ["--dir", str(tmp_path)]
    assert schemas.main(["--check", *arguments]) == 1
    assert schemas.main(["--write", *arguments]) == 0
    assert schemas.main(["--check", *arguments]) == 0
    (tmp_path / "plan.v1.schema.json").write_text("{}")
    capsys.readouterr()
    assert schemas.main(["--check", *arguments]) == 1
    assert "plan.v1.schema.json is not current" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["trialplate", "plan", "ledger-entry", "record-entry"])
def test_schema_is_valid_named_and_never_null(name: str) -> None:
    """Each is a schema of draft 2020-12, has a versioned id, ends in a line feed and allows no null.

    But for the two boundaries of a stop rule, in which an author writes null where there is none.
    """
    raw = schemas.documents()[f"{name}.v1.schema.json"]
    value = json.loads(raw)
    Draft202012Validator.check_schema(value)
    assert value["$id"].split("/")[::2] == ["trialplate", "1"]
    assert raw.endswith(b"}\n")
    assert raw.count(b"null") == (2 if name == "trialplate" else 0)


def test_author_schema_takes_a_plan_and_finds_its_mistakes() -> None:
    """What an editor underlines is what the loader refuses."""
    good = plain(yaml_strict.load(PLAN.encode(), "plan.yaml").value)
    assert schema("trialplate").is_valid(good)
    changes: list[dict[str, Any]] = [
        {"repeats": 0},
        {"repeat": 3},
        {"models": {}},
        {"scorers": {"x": {"type": "exact", "nothing": 1}}},  # of another type anything may be a package's option
    ]
    for change in changes:
        assert not schema("trialplate").is_valid({**good, **change})
    rule = good["pass_mark"]["rules"][0]
    bad: list[list[dict[str, Any]]] = [
        [{**rule, "basis": "bounds"}],
        [{**rule, "at_most": 1}],
        [{"id": "c", "must_pass": "some"}],
        [{"must_pass": "all"}],
        [{"id": "c", "any_of": [{"must_pass": "all"}]}],
        [{"id": "c", "at_least": 1, "of": {"share": "time", "at_most": 1}}],
        [],
    ]
    for rules in bad:
        assert not schema("trialplate").is_valid({**good, "pass_mark": {"rules": rules}})
    either = {"id": "c", "any_of": [{"must_pass": "all"}, {**rule, "of": {"p95": "wall_s"}}]}
    for rules in ([{**rule, "at_least": "0.90"}], [{"id": "c", "must_pass": "all"}], [either]):
        assert schema("trialplate").is_valid({**good, "pass_mark": {"rules": rules}})


# ------------------------------------------------------------------ one definition, three readers

_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text("ab\n", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)


def documents_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return the JSON documents of a type, by the same table that the codec reads."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return _ANY
    if kind in (str, int, float, bool):
        return {
            str: st.text(max_size=5),
            int: st.integers(-5, 2**53 - 1),
            float: st.integers(0, 1) | st.sampled_from([0.25, 0.5]),
            bool: st.booleans(),
        }[kind]
    if origin is Annotated:
        marker = arguments[1]
        if isinstance(marker, values.Pattern):
            return st.from_regex(marker.regex, fullmatch=True)
        return st.integers(marker.minimum, 2**53 - 1)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        (inner,) = [item for item in arguments if item is not type(None)]
        return documents_of(inner)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(documents_of(arguments[0]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(documents_of, arguments)).map(list)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.text("ab", min_size=1, max_size=2), documents_of(arguments[1]), max_size=2)
    assert issubclass(kind, Value)
    hints = get_type_hints(kind, include_extras=True)
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for item in fields(kind):
        has_default = item.default is not MISSING
        needed = not has_default or item.name in {"format", "v"}
        (required if needed else optional)[item.name] = documents_of(hints[item.name])
    return st.fixed_dictionaries(required, optional=optional)


def _damage(data: st.DataObject, value: Any) -> Any:
    """Return a document with one thing wrong, or by chance right, somewhere in it."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _damage(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], _damage(data, value[index]), *value[index + 1 :]]
    kind = data.draw(st.sampled_from(["replace", "drop", "add", "newline"]))
    if kind == "drop" and isinstance(value, dict) and value:
        gone = data.draw(st.sampled_from(sorted(value)))
        return {key: item for key, item in value.items() if key != gone}
    if kind == "add" and isinstance(value, dict):
        return {**value, "unknown": 1}
    if kind == "newline" and isinstance(value, str):
        return value + "\n"
    return data.draw(_ANY)


def opinions(cls: type, validator: Draft202012Validator, document: Any) -> tuple[bool, bool, bool]:
    """Return whether codec, JSON Schema and pydantic accept a document."""
    try:
        codec.decode(cls, document)
        decoded = True
    except FormatError:
        decoded = False
    try:
        _pydantic(cls).validate_json(json.dumps(document), strict=True)
        validated = True
    except ValidationError:
        validated = False
    return decoded, validator.is_valid(document), validated


@cache
def _pydantic(cls: type) -> SchemaValidator:
    return SchemaValidator(schemas.core_schema(cls))


@cache
def _body_schema(cls: type) -> Draft202012Validator:
    if cls is values.Plan:
        return schema("plan")
    whole: Any = schema("ledger-entry" if cls in entries.LEDGER_TYPES.values() else "record-entry").schema
    return Draft202012Validator({"$ref": f"#/$defs/{cls.__name__}", "$defs": whole["$defs"]})


CLASSES = [values.Plan, *dict.fromkeys([*entries.LEDGER_TYPES.values(), *entries.RECORD_TYPES.values()])]


@pytest.mark.parametrize("cls", [pytest.param(cls, id=cls.__name__) for cls in CLASSES])
@settings(max_examples=20)
@given(data=st.data())
def test_codec_schema_and_pydantic_accept_the_same_documents(cls: type, data: st.DataObject) -> None:
    """A well-formed document is accepted by all three, a damaged one by all or by none."""
    document = data.draw(documents_of(cls))
    assert opinions(cls, _body_schema(cls), document) == (True, True, True)
    damaged = _damage(data, document)
    assert len(set(opinions(cls, _body_schema(cls), damaged))) == 1, (
        damaged,
        opinions(cls, _body_schema(cls), damaged),
    )


def test_entry_schema_binds_each_body_to_its_type() -> None:
    """The body of one type under the name of another is refused."""
    entry = {
        "v": 1,
        "seq": 0,
        "time": "2026-11-30T10:00:00.000Z",
        "type": "trial.start",
        "body": {"trial": ["m", "q1", 1], "attempt": 1},
    }
    assert schema("record-entry").is_valid(entry)
    for change in ({"type": "trial.end"}, {"type": "other"}, {"v": 2}, {"v": True}, {"seq": -1}, {"more": 1}):
        assert not schema("record-entry").is_valid({**entry, **change})
    without = {key: item for key, item in entry.items() if key != "v"}
    assert not schema("record-entry").is_valid(without)
