# SPDX-License-Identifier: Apache-2.0
"""One case from the cells of a row or from a JSON object: names, types, limits.

A field whose engine comes later (files, tools, a repository) is refused: it would change the prompt or the score.
Empty and null are told apart from absent: an empty cell is absent, a null in JSON is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from trialplate.errors import SpecError
from trialplate.record import values
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.spec.later import CASE_FIELDS
from trialplate.spec.nearest import nearest, suggestion

__all__ = ["COLUMNS", "KEYS", "check_columns", "from_cells", "from_object"]

COLUMNS = frozenset({"id", "input", "reference", "references", "expected", "tags", "suite", "kind"})
"""Columns that are read; any other goes to `meta` as a text."""
KEYS = frozenset({*COLUMNS, "meta"})
MAX_TAG = 128

_REFERENCES = ("reference", "references", "expected")
_ID = re.compile(values.CaseId.__metadata__[0].regex)  # type: ignore[attr-defined]
_TAG_SEPARATOR = re.compile("[;|,]")
_MISSPELT = 0.75
"""From this likeness on, a column's name is a known one misspelt: as `meta` it would be lost to rules and scorers."""


def check_columns(names: Iterable[str], where: str) -> None:
    """Refuse a column that is called almost like one that is read; any other is the author's own fact.

    Raises:
        SpecError: with the name that was most likely meant.
    """
    for name in names:
        near = None if name in COLUMNS or name in CASE_FIELDS else nearest(name, COLUMNS, cutoff=_MISSPELT)
        if near is not None:
            hint = f'did you mean "{near}"? A fact of your own needs a name less like it, and is kept as meta'
            _refuse(where, f'unknown column "{name}"', hint)


def from_cells(cells: Mapping[str, str], automatic_id: str | None, where: str) -> Case:
    """Return the case of one CSV row.

    Args:
        cells: by column name.
        automatic_id: the id, if the file has no column for it.
        where: for error texts.
    """
    case_id = cells["id"] if automatic_id is None else automatic_id
    if not case_id:
        _refuse(where, "the case has no id, and the file has ids", "write one; ids say which case an answer belongs to")
    _check_kind(cells.get("kind") or "prompt", where)
    for name in cells:
        if name in CASE_FIELDS:
            _refuse(where, CASE_FIELDS[name], "take the column out, or give it another name to keep it as meta")
    given = [name for name in _REFERENCES if cells.get(name)]
    _check_one(given, where)
    references: list[str] = []
    if given == ["references"]:
        references = [part.strip() for part in cells["references"].split("|") if part.strip()]
    elif given:
        references = [cells[given[0]]]
    return _case(
        where,
        id=case_id,
        input=cells["input"],
        references=tuple(references),
        tags=_tags(_TAG_SEPARATOR.split(cells.get("tags", "")), where),
        suite=cells.get("suite") or None,
        meta={name: cell for name, cell in cells.items() if name not in COLUMNS and cell},
    )


def from_object(value: Json, automatic_id: str, where: str) -> Case:
    """Return the case of one JSON object.

    Args:
        value: what stands on the line.
        automatic_id: the id, if the object has none.
        where: for error texts.
    """
    if not isinstance(value, dict):
        _refuse(where, "a case is a JSON object", 'write {"id": "q1", "input": "...", "reference": "..."}')
    for name, item in value.items():
        if name in CASE_FIELDS:
            _refuse(where, CASE_FIELDS[name], "take it out for now")
        if name not in KEYS:
            _refuse(where, f'unknown key "{name}"', f"{suggestion(name, KEYS)}; facts of your own go into meta: {{}}")
        if item is None:
            _refuse(where, f'"{name}" is null', "leave the key out; null is not the same as absent")
    if "input" not in value:
        _refuse(where, 'the key "input" is missing', "add the question as input")
    for name in ("id", "input", "suite", "kind"):
        if name in value and not isinstance(value[name], str):
            _refuse(where, f'"{name}" must be a text', 'put it in quotes: "7"')
    if value.get("id") == "":
        _refuse(where, 'the "id" is empty', "write one, or leave the key out")
    _check_kind(value.get("kind", "prompt"), where)
    meta = value.get("meta", {})
    if not isinstance(meta, dict):
        _refuse(where, '"meta" must be an object', 'write {"source": "..."}')
    tags = value.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        _refuse(where, '"tags" must be a list of texts', 'write ["critical", "tables"]')
    return _case(
        where,
        id=value.get("id", automatic_id),
        input=value["input"],
        references=_references(value, where),
        tags=_tags(tags, where),
        suite=value.get("suite"),
        meta=meta,
    )


def _references(value: Mapping[str, Any], where: str) -> tuple[Json, ...]:
    """Return the accepted answers: `references` is a list of them, `reference` and `expected` are one."""
    given = [name for name in _REFERENCES if name in value]
    _check_one(given, where)
    if not given:
        return ()
    found = value[given[0]]
    if given == ["references"]:
        items = found if isinstance(found, list) else [found]
    elif isinstance(found, list):
        _refuse(
            where,
            f'"{given[0]}" is a list',
            "write references: [...] for several accepted answers, or references: [[...]] for one that is a list",
        )
    else:
        items = [found]
    if any(item is None for item in items):
        _refuse(where, "an accepted answer is null", "leave it out")
    return tuple(items)


def _check_one(given: list[str], where: str) -> None:
    if len(given) > 1:
        _refuse(where, f"{' and '.join(given)} both say what is right", "keep one; references takes several")


def _check_kind(kind: str, where: str) -> None:
    if kind in ("trace", "workspace"):
        _refuse(where, f'"kind: {kind}": this case kind is not in this version', "this version runs kind prompt")
    if kind != "prompt":
        _refuse(where, f'unknown kind "{kind}"', suggestion(kind, ["prompt", "trace", "workspace"]))


def _tags(found: Iterable[str], where: str) -> tuple[str, ...]:
    """Return tags trimmed, each once, sorted by UTF-16 code unit; empty ones come from a comma too many."""
    tags = {tag.strip() for tag in found} - {""}
    for tag in tags:
        if len(tag) > MAX_TAG or any(unicodedata.category(char) == "Cc" for char in tag):
            message = f"a tag is longer than {MAX_TAG} characters or holds a control character"
            _refuse(where, message, "shorten it; tags are public")
    return tuple(sorted(tags, key=lambda tag: tag.encode("utf-16-be")))


def _case(where: str, **fields: Any) -> Case:
    """Return the case once its id and input are usable."""
    case_id = fields["id"]
    if not _ID.fullmatch(case_id) or case_id != case_id.strip():
        _refuse(
            where,
            "a case id has 1 to 128 characters, no control characters and no spaces at its ends",
            "rename the case",
        )
    if not fields["input"].strip():
        _refuse(where, f'the input of case "{case_id}" is blank', "write the question")
    if fields["suite"] is not None and not fields["suite"].strip():
        _refuse(where, '"suite" is blank', "leave it out")
    return Case(**fields)


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)
