# SPDX-License-Identifier: Apache-2.0
"""Test sets from CSV and JSON Lines, and what all formats share: classes LOAD and CANON of the collection, as tests of their kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialplate.errors import SpecError
from trialplate.record.values import Case
from trialplate.spec.freeze import plain_digest
from trialplate.spec.test_sets import LoadedCases, Source, load, merge


def loaded(data: str | bytes, file: str = "t.jsonl", **defaults: object) -> LoadedCases:
    """Return the cases of one file, merged as a test set."""
    raw = data.encode() if isinstance(data, str) else data
    return merge([load(Source(file, raw, **defaults))])  # type: ignore[arg-type]


def from_file(folder: Path, name: str) -> LoadedCases:
    """Return the cases of one file of the collection."""
    return loaded((folder / name).read_bytes(), name)


def refusal(data: str | bytes, file: str = "t.jsonl") -> SpecError:
    """Return the error that a file ends in."""
    with pytest.raises(SpecError) as caught:
        loaded(data, file)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value


def one(line: str) -> Case:
    """Return the case of one JSON line."""
    return loaded(line).cases[0]


def test_case_l01_byte_order_mark_is_no_part_of_the_header(load_folder: Path) -> None:
    """L01: a spreadsheet's mark and CRLF change neither ids nor digest."""
    marked, plain = from_file(load_folder, "bom.csv"), from_file(load_folder, "bom_free.csv")
    assert [case.id for case in marked.cases] == ["q1", "q2"]
    assert plain_digest(marked.cases) == plain_digest(plain.cases)


def test_case_l02_unquoted_json_is_one_error_and_quoted_json_is_untouched(load_folder: Path) -> None:
    """L02: file and line, nothing loaded in part; the quoted form keeps its text."""
    error = refusal((load_folder / "json_cells_bad.csv").read_bytes(), "json_cells_bad.csv")
    assert (error.where, error.message) == ("json_cells_bad.csv:3", "a quote inside an unquoted cell")
    good = from_file(load_folder, "json_cells_good.csv")
    assert good.cases[1].references == ('{"answer": "x"}',)


def test_case_l04_semicolons_keep_a_decimal_comma_together(load_folder: Path) -> None:
    """L04: never one column, never a split decimal."""
    found = from_file(load_folder, "semicolon.csv")
    assert [case.references for case in found.cases] == [("125,50",), ("20,08",)]


def test_case_l05_only_a_line_feed_ends_a_line(load_folder: Path) -> None:
    """L05: U+2028, U+2029, U+0085 and the ASCII separators stay inside their strings."""
    found = from_file(load_folder, "u2028.jsonl")
    assert [case.id for case in found.cases] == ["a", "b", "c"]
    assert [case.input for case in found.cases] == ["one\u2028two", "nel\x85here", "fs\x1cgs"]


def test_case_l06_ids_and_errors_count_physical_lines(load_folder: Path) -> None:
    """L06: blank lines, a mark and a missing last line end number nothing anew."""
    assert [case.id for case in from_file(load_folder, "blank_lines.jsonl").cases] == ["case-2", "case-4"]
    error = refusal((load_folder / "blank_lines_bad.jsonl").read_bytes(), "blank_lines_bad.jsonl")
    assert error.where == "blank_lines_bad.jsonl:5:17"
    assert "line 1" not in str(error)


def test_case_l07_duplicate_id_names_both_places(load_folder: Path) -> None:
    """L07: in one file by line, over files by file and line."""
    error = refusal((load_folder / "dup.jsonl").read_bytes(), "dup.jsonl")
    assert str(error) == 'dup.jsonl:3: duplicate case id "d1" (first used at line 1)'
    parts = [load(Source(name, b"id,input\nq1,x\n")) for name in ("a.csv", "b.csv")]
    with pytest.raises(SpecError, match=r'b.csv:2: duplicate case id "q1" \(first used at a.csv:2\)'):
        merge(parts)


def test_case_l09_csv_cells_are_never_numbers(load_folder: Path) -> None:
    """L09: zeros, exponents and words stay as they are written."""
    found = from_file(load_folder, "zeros.csv")
    assert [case.id for case in found.cases] == ["007", "08", "040", "041"]
    assert [case.references for case in found.cases] == [("00501",), ("1e5",), ("TRUE",), ("3.10",)]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("1e400", "too large"),
        ("NaN", "NaN"),
        ("-Infinity", "Infinity"),
        ("9007199254740993", "outside +/-(2^53-1)"),
        ("7" * 5000, "5000"),
    ],
)
def test_case_l13_number_that_cannot_be_held_is_refused_with_its_key(number: str, words: str) -> None:
    """L13: the error names file, line and key."""
    error = refusal(f'{{"input":"q"}}\n{{"input":"p","expected":{number}}}\n')
    assert error.where == "t.jsonl:2"
    assert words in error.message
    assert "$.expected" in error.message


def test_case_l13_negative_zero_is_zero_to_the_digest() -> None:
    """L13: -0, -0.0 and 0 are one value."""
    sets = [loaded(f'{{"id":"a","input":"q","expected":{zero}}}') for zero in ("0", "-0", "-0.0")]
    assert len({plain_digest(found.cases) for found in sets}) == 1


def test_case_l15_other_encodings_are_refused_with_the_byte(load_folder: Path) -> None:
    """L15: never a replacement character in a case."""
    error = refusal((load_folder / "cp1252.csv").read_bytes(), "cp1252.csv")
    assert "not UTF-8 at byte 38" in error.message
    assert "UTF-8" in error.hint
    assert "offset" in refusal(b'{"input":"caf\xe9"}').message


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("Tags", "tags"),
        ("tag", "tags"),
        ("TAG", "tags"),
        ("refrence", "reference"),
        ("Reference", "reference"),
        ("reference s", "references"),
        ("ID", "id"),
        ("Suite", "suite"),
        ("expectd", "expected"),
        ("inputs", "input"),
        ("Kind", "kind"),
    ],
)
def test_column_that_is_almost_a_known_one_is_refused_with_it(column: str, meant: str) -> None:
    """As a fact of the author's own it would be lost to rules and scorers, without a word."""
    error = refusal(f"input,{column}\nq,x\n", "t.csv")
    assert (error.where, error.message) == ("t.csv:1", f'unknown column "{column}"')
    assert f'did you mean "{meant}"?' in error.hint


@pytest.mark.parametrize("column", ["source", "note", "stage", "labels", "difficulty", "output", "author", "page", "x"])
def test_column_of_the_authors_own_is_kept_in_meta(column: str) -> None:
    """What is like no known name is a fact."""
    assert loaded(f"id,input,{column}\na,q,x\n", "t.csv").cases[0].meta == {column: "x"}


def test_header_without_input_is_told_which_column_may_be_meant() -> None:
    """Names of columns are written as they are, in lower case."""
    error = refusal("id,Input,reference\na,q,x\n", "t.csv")
    assert 'no column "input"' in error.message
    assert 'is "Input" the column "input"?' in error.hint


def test_blanks_around_names_of_the_header_are_dropped_and_those_of_cells_kept() -> None:
    """`id, input` is what people write; a cell's blanks are content."""
    assert loaded("id , input\na, q \n", "t.csv").cases[0] == Case(id="a", input=" q ")
    assert "no spaces at its ends" in refusal("id, input\n a,q\n", "t.csv").message


def test_case_l16_empty_tags_come_from_a_comma_too_many(load_folder: Path) -> None:
    """L16: trailing and doubled separators give nothing; a tag counts once."""
    found = from_file(load_folder, "tags.csv")
    assert [case.tags for case in found.cases] == [("factual", "multi-part"), (), ("a",)]
    turned = loaded("id,input,tags\nq,x,b;a|c\nr,y,c|b|a\n", "t.csv")
    assert turned.cases[0].tags == turned.cases[1].tags == ("a", "b", "c")


def test_case_l17_automatic_ids_come_from_the_place_in_the_file(load_folder: Path) -> None:
    """L17: the same line has the same id whatever stands after it; a CSV counts rows and says so."""
    data = (load_folder / "auto_ids.jsonl").read_bytes()
    whole = loaded(data).cases
    first_two = loaded(b"\n".join(data.split(b"\n")[:2])).cases
    assert [case.id for case in whole] == ["case-1", "case-2", "case-3", "case-4"]
    assert whole[:2] == first_two
    table = loaded("input,reference\na,b\n\nc,d\n", "t.csv")
    assert [case.id for case in table.cases] == ["row-1", "row-2"]
    assert "t.csv:2: there is no column id" in table.warnings[0]


def test_case_c06_line_ends_of_records_never_enter_the_digest(load_folder: Path) -> None:
    """C06: LF and CRLF copies agree; a CRLF inside a quoted cell is content and changes the digest."""
    a, b = from_file(load_folder, "crlf_a.jsonl"), from_file(load_folder, "crlf_b.jsonl")
    assert plain_digest(a.cases) == plain_digest(b.cases)
    table = 'id,input\nq1,"one\ntwo"\n'
    records = table.replace('\nq1,"one\ntwo"\n', '\r\nq1,"one\ntwo"\r\n')
    cells = table.replace("one\ntwo", "one\r\ntwo")
    digests = [plain_digest(loaded(text, "t.csv").cases) for text in (table, records, cells)]
    assert digests[0] == digests[1] != digests[2]
    assert "carriage return" in loaded(cells, "t.csv").warnings[0]


def test_case_c07_normal_forms_are_kept_apart_and_look_alike_ids_refused(load_folder: Path) -> None:
    """C07: no silent normalisation, two digests, an error for ids that look the same, a warning otherwise."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    error = refusal((load_folder / "nfc_ids.jsonl").read_bytes(), "nfc_ids.jsonl")
    assert (error.where, "looks the same" in error.message) == ("nfc_ids.jsonl:2", True)
    sets = [loaded(json.dumps({"id": name, "input": "q"})) for name in (composed, decomposed)]
    assert plain_digest(sets[0].cases) != plain_digest(sets[1].cases)
    assert [len(found.warnings) for found in sets] == [0, 1]
    assert "normal form C" in loaded(json.dumps({"input": "q", "reference": decomposed})).warnings[0]


def test_case_g01_empty_test_set_is_refused(load_folder: Path) -> None:
    """G01: an empty set proves nothing."""
    for data, file in (((load_folder / "empty.jsonl").read_bytes(), "e.jsonl"), ("id,input\n", "e.csv")):
        assert "no cases" in refusal(data, file).message


def test_columns_go_where_they_belong_and_others_to_meta() -> None:
    """References are split at bars, suite is read, an unknown column becomes a fact; an empty cell is absent."""
    found = loaded("id,input,references,suite,source,note\nq,x, A | B |,legal,page 3,\n", "t.csv")
    assert found.cases[0] == Case(id="q", input="x", references=("A", "B"), suite="legal", meta={"source": "page 3"})
    assert loaded("id,input,reference\nq,x,A|B\n", "t.csv").cases[0].references == ("A|B",)
    assert found.places == {"q": "t.csv:2"}


@pytest.mark.parametrize(
    ("line", "references"),
    [
        ('{"input":"q","reference":"a"}', ("a",)),
        ('{"input":"q","expected":{"n":1}}', ({"n": 1},)),
        ('{"input":"q","references":["a",["b"]]}', ("a", ["b"])),
        ('{"input":"q","references":"a"}', ("a",)),
        ('{"input":"q","references":"a|b"}', ("a|b",)),
        ('{"input":"q","references":{"n":1}}', ({"n": 1},)),
        ('{"input":"q","references":[]}', ()),
        ('{"input":"q"}', ()),
    ],
)
def test_references_are_a_list_of_accepted_answers(line: str, references: tuple[object, ...]) -> None:
    """What is no list is a list of one (T5), and is not parted at bars as in a CSV."""
    assert one(line).references == references


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ('{"input":"q","refrence":"a"}', 'unknown key "refrence"', 'did you mean "reference"?'),
        ('{"input":"q","trace":"t.json"}', "the file t.json of a case cannot be read here", ""),
        ('{"input":"q","kind":"workspace"}', "not in this version", ""),
        ('{"input":"q","kind":"promt"}', 'unknown kind "promt"', 'did you mean "prompt"?'),
        ('{"id":"q"}', 'the key "input" is missing', ""),
        ('{"input":"  "}', "is blank", ""),
        ('{"input":7}', '"input" must be a text', ""),
        ('{"id":7,"input":"q"}', '"id" must be a text', ""),
        ('{"id":"","input":"q"}', 'the "id" is empty', ""),
        ('{"id":" q","input":"q"}', "no spaces at its ends", ""),
        ('{"id":"a\\u0007","input":"q"}', "no control characters", ""),
        (f'{{"id":"{"x" * 129}","input":"q"}}', "1 to 128 characters", ""),
        ('{"input":"q","reference":null}', '"reference" is null', ""),
        ('{"input":"q","references":["a",null]}', "an accepted answer is null", ""),
        ('{"input":"q","reference":["a","b"]}', '"reference" is a list', "references: [...]"),
        ('{"input":"q","reference":"a","expected":"b"}', "both say what is right", ""),
        ('{"input":"q","tags":"critical"}', '"tags" must be a list', ""),
        ('{"input":"q","tags":[1]}', '"tags" must be a list', ""),
        ('{"input":"q","meta":[]}', '"meta" must be an object', ""),
        ('{"input":"q","input":"p"}', "input", ""),
        ('{"input":"half \\ud835"}', "surrogate", ""),
        ('["q"]', "a case is an object", ""),
        ('{"input":"q"} {"input":"p"}', "not JSON", ""),
    ],
)
def test_json_case_that_cannot_be_used_is_refused(line: str, words: str, hint: str) -> None:
    """Wrong keys, types and values are told with file and line, and with one thing to do."""
    error = refusal(f'{{"input":"first"}}\n{line}\n')
    assert error.where.startswith("t.jsonl:2")
    assert words in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("id,input\n,x\n", 2, "the case has no id"),
        ("id,input\nq, \n", 2, "is blank"),
        ("id,input,input\nq,x,y\n", 1, 'two columns are called "input"'),
        ("id,,input\nq,x,y\n", 1, "a column has no name"),
        ("id,input,files\nq,x,y\n", 2, "a table has none"),
        ("id,input,tools\nq,x,y\n", 2, '"tools" is no text: a table has none'),
        ("id,input,kind\nq,x,trace\n", 2, "names its trace"),
        ("id,input,reference,expected\nq,x,a,b\n", 2, "both say what is right"),
    ],
)
def test_csv_case_that_cannot_be_used_is_refused(text: str, line: int, words: str) -> None:
    """The same for tables."""
    error = refusal(text, "t.csv")
    assert (error.where, words in error.message) == (f"t.csv:{line}", True), error


@pytest.mark.parametrize(
    ("file", "words"),
    [("c.xlsx", "how to read it"), ("c", "how to read it"), ("c.txt", "how to read it")],
)
def test_file_of_another_kind_is_refused_by_name(file: str, words: str) -> None:
    """The ending of the name says how a file is read."""
    assert words in refusal("x", file).message


def test_defaults_fill_the_suite_and_add_tags() -> None:
    """A case's own suite stays; the file's tags stand beside its own, each once."""
    found = loaded('{"input":"q"}\n{"input":"p","suite":"own","tags":["b","z"]}', suite="file", tags=("b", "a"))
    assert [(case.suite, case.tags) for case in found.cases] == [("file", ("a", "b")), ("own", ("a", "b", "z"))]


def test_question_asked_twice_is_a_warning() -> None:
    """Fifty copies of one question are one question, even with other spacing and case."""
    found = loaded('{"input":"What is it?"}\n{"input":" what  is IT?"}')
    assert "asks the same as" in found.warnings[0]
