# SPDX-License-Identifier: Apache-2.0
"""The YAML 1.2 loader: what it reads, where it says things stand, and what it refuses."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.spec import yaml_strict
from trialplate.spec.document import MAX_BYTES, ExactFloat, plain


def load(text: str | bytes, file: str = "plan.yaml") -> Any:
    """Return the document of a text."""
    return yaml_strict.load(text.encode() if isinstance(text, str) else text, file)


def refusal(text: str | bytes, file: str = "plan.yaml") -> SpecError:
    """Return the error that a text ends in."""
    with pytest.raises(SpecError) as caught:
        load(text, file)
    assert caught.value.hint
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("y", "y"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2026-11-05", "2026-11-05"),
        ("0b11", "0b11"),
        ("=", "="),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("Null", None),
        ("0o17", 15),
        ("017", 17),
        ("0x1F", 31),
        ("-19", -19),
        ("+12", 12),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-0.0", 0.0),
        ("'12'", "12"),
        ('"true"', "true"),
        ("1.2.3", "1.2.3"),
        ("0x", "0x"),
        ("1e", "1e"),
    ],
)
def test_scalar_in_each_form_has_the_type_of_the_core_schema(text: str, value: object) -> None:
    """A plain word has a type only in the forms of YAML 1.2's core schema (10.3.2)."""
    read = load(f"key: {text}\n").value["key"]
    assert (read, type(plain(read))) == (value, type(value))


def test_case_l10_norway_file_keeps_its_words(load_folder: Path) -> None:
    """L10: no, on, NO and the key off are texts."""
    document = yaml_strict.load((load_folder / "norway.yaml").read_bytes(), "norway.yaml")
    first, second = document.value["cases"]
    assert (first["reference"], first["tags"], second["reference"]) == ("no", ["on", "NO"], "NO")
    assert second["settings"] == {"off": 1}


def test_number_text_is_kept_exactly_as_written() -> None:
    """A threshold keeps its digits: 0.90 is never a binary fraction."""
    value = load("a: 0.90\nb: 1e-2\n").value
    assert isinstance(value["a"], ExactFloat)
    assert (value["a"].text, value["b"].text) == ("0.90", "1e-2")
    assert type(plain(value)["a"]) is float


def test_places_name_line_and_column_of_keys_and_values() -> None:
    """A path leads to the place of its key and of its value, or of the nearest thing above."""
    document = load("a: 1\nb:\n  - x\n  - {c: 'ä', d: 2}\n")
    assert document.where(("b", 1, "d")) == "plan.yaml:4:17"
    assert document.where(("b", 1, "d"), key=True) == "plan.yaml:4:14"
    assert document.where(("b", 1, "missing", "deeper")) == "plan.yaml:4:5"
    assert document.order(("b", 0)) < document.order(("b", 1))


def test_alias_stands_for_its_anchor_and_may_be_used_twice() -> None:
    """An alias to something complete is the same value, placed where the alias stands."""
    document = load("a: &x {k: [1, 2]}\nb: *x\nc: *x\n")
    assert document.value["b"] == document.value["c"] == {"k": [1, 2]}
    assert document.where(("b", "k")) == "plan.yaml:2:1"


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "plan.yaml:3:1", "duplicate key"),
        ("a: {b: 1, b: 2}\n", "plan.yaml:1:11", "duplicate key"),
        ("a: 1\n'a': 2\n", "plan.yaml:2:1", "duplicate key"),
        ("1: a\n", "plan.yaml:1:1", "the key 1 is not a text"),
        ("true: a\n", "plan.yaml:1:1", "the key true is not a text"),
        ("~: a\n", "plan.yaml:1:1", "is not a text"),
        ("? [a]\n: 1\n", "plan.yaml:1:3", "plain text"),
        ("a: &x [*x]\n", "plan.yaml:1:8", "inside what it names"),
        ("a: *nothing\n", "plan.yaml:1:4", "names no &nothing"),
        ("b: {<<: {c: 1}}\n", "plan.yaml:1:5", "merge keys"),
        ("a: !!str 1\n", "plan.yaml:1:4", "the tag"),
        ("a: !private x\n", "plan.yaml:1:4", "the tag"),
        ("a: !!python/object/apply:os.system [x]\n", "plan.yaml:1:4", "the tag"),
        ("a: 1\n---\nb: 2\n", "plan.yaml:2:1", "second document"),
        ("%YAML 1.1\n---\na: no\n", "plan.yaml:1:1", "directive"),
        ("%TAG ! tag:x,2000:\n---\na: no\n", "plan.yaml:1:1", "directive"),
        ("a:\n\t- b\n", "plan.yaml:2:1", "no valid YAML"),
        ("a: b: c\n", "plan.yaml:1:5", "no valid YAML"),
        ("a: [1, 2\n", "plan.yaml:2:1", "no valid YAML"),
        ('a: "x\n', "plan.yaml:2:1", "no valid YAML"),
        ("a: .nan\n", "plan.yaml:1:4", "not a number that a record can hold"),
        ("a: -.inf\n", "plan.yaml:1:4", "not a number that a record can hold"),
        ("a: 1e400\n", "plan.yaml:1:4", "cannot be held"),
        ("a: 1e-400\n", "plan.yaml:1:4", "cannot be held"),
        ("a: 9007199254740992\n", "plan.yaml:1:4", "outside +/-(2^53-1)"),
        ("a: 0x20000000000000\n", "plan.yaml:1:4", "outside +/-(2^53-1)"),
        ("a: -9007199254740993\n", "plan.yaml:1:4", "outside +/-(2^53-1)"),
        ("a: " + "7" * 5000 + "\n", "plan.yaml:1:4", "a number of 5000 characters"),
        ('a: "\\ud835"\n', "plan.yaml:1:4", "surrogate"),
        ("a: x\u2028y\n", "plan.yaml:1:5", "U+2028"),
        ("a: x\x07y\n", "plan.yaml:1:5", "U+0007"),
        ("", "plan.yaml:1:1", "empty"),
        ("# only a comment\n", "plan.yaml:1:1", "empty"),
    ],
)
def test_document_with_a_defect_is_refused_at_its_place(text: str, where: str, words: str) -> None:
    """Each defect is one error with file, line and column."""
    error = refusal(text)
    assert (error.where, words in error.message) == (where, True), error


def test_bytes_that_are_no_utf8_are_refused_with_their_offset() -> None:
    """The offset of the first wrong byte is told; nothing is replaced."""
    error = refusal(b"a: 1\nb: caf\xe9\n")
    assert "byte 11" in error.message
    assert error.where == "plan.yaml:2"


def test_byte_order_mark_is_no_part_of_the_first_key() -> None:
    """A mark at the beginning is dropped."""
    assert load(b"\xef\xbb\xbfa: 1\n").value == {"a": 1}


def test_windows_line_ends_change_nothing() -> None:
    """CRLF separates lines as LF does, in a block scalar too."""
    assert load("a: |\r\n  x\r\n  y\r\nb: 1\r\n").value == load("a: |\n  x\n  y\nb: 1\n").value


def test_too_many_aliases_are_refused_before_they_are_written_out() -> None:
    """Nine lines of nine aliases to the line above stand for half a billion values and cost nothing."""
    lines = ["a: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert "values, aliases written out" in refusal("\n".join(lines)).message
    many = "a: &a x\nb: [" + ", ".join(["*a"] * (yaml_strict.MAX_ALIASES + 1)) + "]\n"
    assert "more than 100 aliases" in refusal(many).message


def test_depth_beyond_the_limit_is_refused_also_through_an_alias() -> None:
    """64 levels are read, 65 are not, however they come about."""
    assert isinstance(load("[" * 64 + "]" * 64).value, list)
    assert "64 levels" in refusal("[" * 65 + "]" * 65).message
    half = "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 40 + "*a" + "]" * 40 + "\n"
    assert "64 levels" in refusal(half).message


def test_file_beyond_the_size_limit_is_refused_unread() -> None:
    """A mebibyte is read and no more."""
    assert f"more than the {MAX_BYTES}" in refusal(b"a: " + b"x" * MAX_BYTES).message


_WORDS = st.text("abcdefghijklmnopqrstuvwxyz -.,äß€😀", min_size=0, max_size=12)
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15, allow_nan=False) | _WORDS
)
_TREES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=4), max_leaves=20
)


@given(_TREES)
def test_document_that_pyyaml_writes_reads_the_same_in_both(tree: Any) -> None:
    """On documents whose words mean the same in YAML 1.1 and 1.2, the loader agrees with PyYAML's own."""
    text = yaml.safe_dump({"top": tree}, allow_unicode=True)
    expected = yaml.safe_load(text)
    assert expected == {"top": tree}
    assert plain(load(text).value) == expected


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_never_anything_else(text: str) -> None:
    """No input ends in another error than SpecError."""
    with suppress(SpecError):
        load(text.encode("utf-8", "surrogatepass"))
