# SPDX-License-Identifier: Apache-2.0
"""One case from the cells of a row or from a JSON object: names, types, limits.

A field whose engine comes later (tools, a trace, a repository) is refused: it would change the prompt or the score.
Empty and null are told apart from absent: an empty cell is absent, a null is an error. Only `context` may be null: so
the files that have it are written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, get_args

from trialplate.errors import SpecError
from trialplate.record import values
from trialplate.record.frozen import Json
from trialplate.record.values import Case
from trialplate.rules.ruling import NO_VALUE
from trialplate.spec.case_files import Beside, case_files
from trialplate.spec.case_forms import FORM_KEYS, check_form, form_fields
from trialplate.spec.document import Document, plain
from trialplate.spec.later import CASE_FIELDS
from trialplate.spec.nearest import nearest, suggestion

__all__ = ["COLUMNS", "KEYS", "check_columns", "from_cells", "from_document"]

COLUMNS = frozenset({"id", "input", "reference", "references", "expected", "tags", "suite", "kind", "context"})
COLUMNS |= {"answer_format"}
"""Columns that are read; any other goes to `meta` as a text."""
KEYS = frozenset({*COLUMNS, *FORM_KEYS, "meta", "files", "trace"})
MAX_TAG = 128


_REFERENCES = ("reference", "references", "expected")
_ID = re.compile(values.CaseId.__metadata__[0].regex)  # type: ignore[attr-defined]
_ASKED = ("answer_format", "max_turns", "tools", "files")
"""What a recorded run cannot have: nobody is asked."""
_NO_CELLS = (FORM_KEYS | {"files", "trace"}) - COLUMNS
"""Fields of a case that no cell can hold."""
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
    _check_kind(cells.get("kind") or "prompt", False, where)
    for name in cells:
        message = f'"{name}" is no text: a table has none' if name in _NO_CELLS else CASE_FIELDS.get(name)
        if message is not None:
            _refuse(where, message, "take the column out, or give it another name to keep it as meta")
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
        context=(cells["context"],) if cells.get("context") else (),
        answer_format=cells.get("answer_format") or None,
    )


def from_document(document: Document, automatic_id: str, beside: Beside) -> Case:
    """Return the case of one JSON object or YAML mapping.

    Args:
        document: the case by itself; its places are those of its file.
        automatic_id: the id, if it has none.
        beside: the file of cases that it stands in.
    """
    value, where = document.value, document.where(())
    if not isinstance(value, dict):
        _refuse(where, "a case is an object with keys", 'write {"id": "q1", "input": "...", "reference": "..."}')
    _check_keys(value, document)
    recorded = _trace(document, beside)
    if "kind" in value:
        _check_kind(value["kind"], recorded is not None, document.where(("kind",)))
    meta = value.get("meta", {})
    if not isinstance(meta, dict):
        _refuse(document.where(("meta",)), '"meta" must be an object', 'write {"source": "..."}')
    tags = value.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        _refuse(document.where(("tags",)), '"tags" must be a list of texts', 'write ["critical", "tables"]')
    form, references = form_fields(document), _references(document)
    check_form(form, references, where)
    return _case(
        where,
        id=value.get("id", automatic_id),
        kind="prompt" if recorded is None else "trace",
        input=value.get("input", ""),
        trace=recorded,
        references=references,
        tags=_tags(tags, document.where(("tags",))) if tags else (),
        suite=value.get("suite"),
        meta=plain(meta),
        context=_context(document),
        files=case_files(document, beside),
        **form,
    )


def _check_keys(value: Mapping[str, Any], document: Document) -> None:
    """Refuse a key that is not read, and what is no text where a text stands."""
    for name, item in value.items():
        if name not in KEYS:
            hint = f"{suggestion(name, KEYS)}; facts of your own go into meta: {{}}"
            message = CASE_FIELDS.get(name, f'unknown key "{name}"')
            _refuse(document.where((name,), key=True), message, "take it out for now" if name in CASE_FIELDS else hint)
        if item is None and name != "context":
            hint = "leave the key out; null is not the same as absent"
            _refuse(document.where((name,)), f'"{name}" is null', hint)
    if "input" not in value and "trace" not in value:
        _refuse(document.where(()), 'the key "input" is missing', "add the question as input")
    for name in ("id", "input", "suite", "kind", "trace"):
        if name in value and not isinstance(value[name], str):
            _refuse(document.where((name,)), f'"{name}" must be a text', 'put it in quotes: "7"')
    if value.get("id") == "":
        _refuse(document.where(("id",)), 'the "id" is empty', "write one, or leave the key out")


def _references(document: Document) -> tuple[Json, ...]:
    """Return the accepted answers: `references` is a list of them, `reference` and `expected` are one.

    `expected` may be any JSON, also a list, which is then the one answer: so it is where that key comes from. After
    `reference` a list is doubtful, and refused.
    """
    given = [name for name in _REFERENCES if name in document.value]
    if len(given) != 1:
        _check_one(given, document.where(tuple(given[:1])))
        return ()
    found = document.value[given[0]]
    if given == ["reference"] and isinstance(found, list):
        _refuse(
            document.where(("reference",)),
            '"reference" is a list',
            "write references: [...] for several accepted answers, or references: [[...]] for one that is a list",
        )
    items = found if given == ["references"] and isinstance(found, list) else [found]
    if any(item is None for item in items):
        _refuse(document.where((given[0],)), "an accepted answer is null", "leave it out")
    return tuple(plain(items))


def _context(document: Document) -> tuple[str, ...]:
    """Return the passages: one text is a list of one; null and an empty list are as if the key were not there."""
    found = document.value.get("context")
    if found is None or isinstance(found, str):
        return () if found is None else (found,)
    message, hint = '"context" must be a text or a list of texts', 'write ["first passage", "second passage"]'
    if not isinstance(found, list):
        _refuse(document.where(("context",)), message, hint)
    for index, item in enumerate(found):
        if not isinstance(item, str):
            _refuse(document.where(("context", index)), message, hint)
    return tuple(found)


def _check_one(given: list[str], where: str) -> None:
    if len(given) > 1:
        _refuse(where, f"{' and '.join(given)} both say what is right", "keep one; references takes several")


def _trace(document: Document, beside: Beside) -> str | None:
    """Return the digest of the recorded run that a case is about, None if it is about none."""
    if "trace" not in document.value:
        return None
    for name in _ASKED:
        if name in document.value:
            message = f'"{name}" is about how a model is asked, and a trace was asked elsewhere'
            _refuse(document.where((name,), key=True), message, "take one of the two out")
    return beside.trace(document.value["trace"], document.where(("trace",)))


def _check_kind(kind: str, has_trace: bool, where: str) -> None:
    """Refuse a kind that is none, or other than what the case's fields say."""
    if kind == "workspace":
        _refuse(where, f'"kind: {kind}": this case kind is not in this version', "this version runs prompt and trace")
    if kind not in get_args(values.CaseKind):
        _refuse(where, f'unknown kind "{kind}"', suggestion(kind, ["prompt", "trace", "workspace"]))
    if (kind == "trace") != has_trace:
        message = "a case of kind trace names its trace, and no other case does"
        _refuse(where, message, "write trace: traces/run1.json; kind may be left out")


def _tags(found: Iterable[str], where: str) -> tuple[str, ...]:
    """Return tags trimmed, each once, sorted by UTF-16 code unit; empty ones come from a comma too many."""
    tags = {tag.strip() for tag in found} - {""}
    for tag in tags:
        _check_public(tag, "tag", where)
    return tuple(sorted(tags, key=lambda tag: tag.encode("utf-16-be")))


def _check_public(name: str, what: str, where: str) -> None:
    """Refuse a tag or a suite that is too long, holds a control character, or is what a report calls having none."""
    if len(name) > MAX_TAG or any(unicodedata.category(char) == "Cc" for char in name):
        message = f"a {what} is longer than {MAX_TAG} characters or holds a control character"
        _refuse(where, message, f"shorten it; {what}s are public")
    if name == NO_VALUE[what]:
        _refuse(where, f'"{name}" is no {what}: cases without one are called so', "give it another name")


def _case(where: str, **fields: Any) -> Case:
    """Return the case once its id and input are usable."""
    case_id = fields["id"]
    if not _ID.fullmatch(case_id) or case_id != case_id.strip():
        _refuse(
            where,
            "a case id has 1 to 128 characters, no control characters and no spaces at its ends",
            "rename the case",
        )
    if not fields["input"].strip() and (fields["input"] or fields.get("trace") is None):
        _refuse(where, f'the input of case "{case_id}" is blank', "write the question")
    if fields["suite"] is not None and not fields["suite"].strip():
        _refuse(where, '"suite" is blank', "leave it out")
    if fields["suite"] is not None:
        _check_public(fields["suite"], "suite", where)
    return Case(**fields)


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)
