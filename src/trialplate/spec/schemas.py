# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas (2020-12) of what authors write and of what this program writes, from the one definition of each.

    python -m trialplate.spec.schemas --write | --check [--dir schemas]

The plan and the bodies of log entries come from the value classes of `record.values` and `record.entries`, which
`record.codec` decodes; the author's file comes from the pydantic models of this room. Never edit a generated file. An
optional field is absent, never null, so no schema allows null where the codec does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from trialplate.record import entries, values
from trialplate.spec.answer_schemas import DIALECT
from trialplate.spec.models import AuthorPlan

__all__ = ["core_schema", "documents", "main"]

_NULL = {"type": "null"}
_ALWAYS = frozenset({"format", "v"})
"""Fields that name a format: `record.codec` writes and wants them although they have a default."""


def documents() -> dict[str, bytes]:
    """Return every schema by file name, as it stands on disk."""
    made = {
        "trialplate": ("trialplate/author/1", _tidy(AuthorPlan.model_json_schema(mode="validation"))),
        "plan": ("trialplate/plan/1", _schema(values.Plan)),
        "ledger-entry": ("trialplate/ledger-entry/1", _entries(entries.LEDGER_TYPES)),
        "record-entry": ("trialplate/record-entry/1", _entries(entries.RECORD_TYPES)),
    }
    return {
        f"{name}.v1.schema.json": _bytes({"$schema": DIALECT, "$id": identity, **schema})
        for name, (identity, schema) in made.items()
    }


def core_schema(cls: type) -> Any:
    """Return pydantic's core schema of a value as the codec reads it.

    An absent field is never null, and what names a format is never absent.
    """
    return _as_codec(TypeAdapter(cls).core_schema)


def main(arguments: list[str] | None = None) -> int:
    """Write the schemas, or say whether they are current.

    Returns:
        0 if they are (now) current, 1 if `--check` found one that is not.
    """
    parser = argparse.ArgumentParser(
        prog="python -m trialplate.spec.schemas", description="JSON Schemas of the formats"
    )
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="write every schema")
    mode.add_argument("--check", action="store_true", help="compare every schema with its file")
    parser.add_argument("--dir", type=Path, default=Path("schemas"), help="the folder of the schemas")
    chosen = parser.parse_args(arguments)
    stale = 0
    for name, content in documents().items():
        file = chosen.dir / name
        if chosen.write:
            chosen.dir.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        elif not file.is_file() or file.read_bytes() != content:
            sys.stderr.write(f"{file} is not current; run python -m trialplate.spec.schemas --write\n")
            stale += 1
    return 1 if stale else 0


def _schema(cls: type) -> dict[str, Any]:
    made: dict[str, Any] = _tidy(GenerateJsonSchema().generate(core_schema(cls)))
    return made


def _entries(types: Mapping[str, type]) -> dict[str, Any]:
    """Return the schema of a log's entries: the envelope, with one body for each type."""
    envelope = _schema(entries.Entry)
    definitions: dict[str, Any] = {}
    forms = []
    for name, cls in types.items():
        body = _schema(cls)
        definitions.update(body.pop("$defs", {}))
        definitions[cls.__name__] = body
        properties = {**envelope["properties"], "type": {"const": name}, "body": {"$ref": f"#/$defs/{cls.__name__}"}}
        forms.append({**envelope, "properties": properties})
    return {"$defs": definitions, "oneOf": forms}


def _as_codec(schema: Any) -> Any:
    """Copy a core schema, taking away every "or null", and the default of a field that is always written."""
    if isinstance(schema, list):
        return [_as_codec(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "nullable":
        return _as_codec(schema["schema"])
    if schema.get("type") == "dataclass-field" and schema["name"] in _ALWAYS and schema["schema"]["type"] == "default":
        schema = {**schema, "schema": schema["schema"]["schema"]}
    return {key: _as_codec(item) for key, item in schema.items()}


def _tidy(schema: Any) -> Any:
    """Copy a JSON Schema without titles and without null, its patterns ending where the text ends.

    In Python `$` also stands before a last line feed, in ECMA 262 it does not; the look-ahead makes both read alike.
    """
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, item in schema.items():
        if key == "title" and isinstance(item, str):
            continue
        if key == "default" and isinstance(item, dict | list | None):
            continue
        if key == "pattern" and isinstance(item, str) and item.endswith("$"):
            made[key] = f"{item}(?!\\n)"
        else:
            made[key] = _tidy(item)
    if _NULL in made.get("anyOf", []):
        rest = [item for item in made.pop("anyOf") if item != _NULL]
        made = {**rest[0], **made} if len(rest) == 1 else {"anyOf": rest, **made}
    return made


def _bytes(schema: dict[str, Any]) -> bytes:
    return (json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


if __name__ == "__main__":
    sys.exit(main())
