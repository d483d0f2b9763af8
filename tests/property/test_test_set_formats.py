# SPDX-License-Identifier: Apache-2.0
"""The same cases in four formats are the same test set; and no input ends in anything but a set or one error."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record import codec
from trialplate.record.values import Case
from trialplate.spec import yaml_strict
from trialplate.spec.document import Document, plain
from trialplate.spec.freeze import cases_root, plain_digest, portable_digest
from trialplate.spec.test_sets import Source, load, merge
from trialplate.spec.vault import Vault

_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from(
    "\n\t\"',;|:#-[]{}&*!%@`\\ \u20ac\U0001f600"
)
_TEXT = st.text(_CHARACTERS, min_size=1, max_size=30).filter(lambda text: text.strip() != "")
_LINE = _TEXT.filter(lambda text: not any(unicodedata.category(character) == "Cc" for character in text))
_TAG = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
_ID = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="-_. "), min_size=1, max_size=12)
_CASE = st.fixed_dictionaries(
    {"id": _ID.filter(lambda text: text == text.strip()), "input": _TEXT},
    optional={
        "reference": _TEXT,
        "suite": _LINE,
        "context": _TEXT,
        "tags": st.lists(_TAG, min_size=1, max_size=3),
    },
)
_CASES = st.lists(_CASE, min_size=1, max_size=5, unique_by=lambda case: case["id"])
_RICH = st.recursive(
    st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15, allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


def read(data: str, file: str) -> tuple[Case, ...]:
    """Return the cases of a file, merged as a test set."""
    return merge([load(Source(file, data.encode()))]).cases


def as_csv(cases: list[dict[str, Any]]) -> str:
    """Return the cases as the standard library writes a table; every cell is quoted."""
    out = io.StringIO()
    columns = ["id", "input", "reference", "suite", "context", "tags"]
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(columns)
    for case in cases:
        writer.writerow([";".join(case.get("tags", [])) if name == "tags" else case.get(name, "") for name in columns])
    return out.getvalue()


def digests(cases: tuple[Case, ...]) -> tuple[str, str, str | None]:
    """Return root, plain digest and portable digest."""
    vault = Vault(bytes(32))
    root = cases_root({case.id: vault.commit("case", codec.to_json(case)) for case in cases})
    return root, plain_digest(cases), portable_digest(cases)


@given(_CASES, st.sampled_from([None, 1]), st.booleans())
def test_same_cases_in_four_formats_have_one_root_and_one_digest(
    cases: list[dict[str, Any]], indent: int | None, ascii_only: bool
) -> None:
    """CSV, JSON Lines, JSON and YAML, written by other people's writers."""
    lines = "\r\n".join(json.dumps(case, ensure_ascii=ascii_only) for case in cases)
    listed = {"name": "x", "cases": cases}
    forms = [
        read(lines, "t.jsonl"),
        read(json.dumps(listed, indent=indent, ensure_ascii=ascii_only), "t.json"),
        read(yaml.safe_dump(listed, allow_unicode=not ascii_only, default_style='"', sort_keys=False), "t.yaml"),
        read(as_csv(cases), "t.csv"),
    ]
    assert forms[0] == forms[1] == forms[2] == forms[3]
    assert len({digests(form) for form in forms}) == 1


@given(st.lists(_RICH, max_size=3), st.dictionaries(_TEXT, _RICH, max_size=3))
def test_any_answer_and_any_fact_is_the_same_in_three_formats(references: list[Any], meta: dict[str, Any]) -> None:
    """References and meta of any JSON, which a table cannot hold."""
    case = {"id": "a", "input": "q", "references": references, "meta": meta}
    forms = [
        read(json.dumps(case), "t.jsonl"),
        read(json.dumps([case]), "t.json"),
        read(yaml.safe_dump([case], allow_unicode=False), "t.yaml"),
    ]
    assert len({plain_digest(form) for form in forms}) == 1


_PIECES = [
    "cases:", "- ", "id: ", "input: ", "q1", "\n", "\n  ", "\n    ", "- {", "}", "[", "]", ", ", ": ", ":", "?", "|\n",
    "|-\n", ">\n", "'", '"', "''", "\\n", "\\u263a", " #", "&a ", "*a", "!", "---\n", "...\n", "\u00e9", "-", "no", "1",
    "0.9", "key: v\n", "- x\n", "\r\n", "\\", "http://x", "a?b", "{a:1}", "[a:b]", "\t", "<<: ",
]  # fmt: skip
_YAML = st.lists(st.sampled_from(_PIECES), max_size=16).map("".join)


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl", "t.json", "t.yaml"])
@given(text=_YAML | st.text(max_size=40) | st.text('{}[]:,"\\u0-9.eE+tfn \nidputcases', max_size=40))
def test_any_bytes_are_a_test_set_or_one_error_with_its_file(file: str, text: str) -> None:
    """Never another exception, and never an error that does not say where."""
    try:
        read(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), file)
    except SpecError as error:
        assert error.hint
        assert error.where.startswith(file) or error.message == "there are no cases in this file"


@given(_YAML)
def test_two_parsers_of_yaml_never_read_different_values(text: str) -> None:
    """Files of cases are parsed by libyaml and plans by PyYAML's parser: where both accept, all values are equal."""
    found: list[Any] = []
    with suppress(SpecError):
        other: list[Document] = []
        head = yaml_strict.load(text.encode(), "t.yaml", each=other.append)
        found.append((plain(head.value), [plain(item.value) for item in other]))
    with suppress(SpecError):
        whole = plain(yaml_strict.load(text.encode(), "t.yaml").value)
        if not found:
            return
        items = whole if isinstance(whole, list) else whole.get("cases") if isinstance(whole, dict) else None
        if isinstance(items, list):
            empty: Any = [] if isinstance(whole, list) else {**whole, "cases": []}
            assert found[0] == (empty, items)
        else:
            assert found[0] == (whole, [])
