# SPDX-License-Identifier: Apache-2.0
"""Test sets in JSON and YAML: Trialmark's and EvalCore's shapes as they stand on their pages, places, labels, limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialplate.errors import SpecError
from trialplate.record.values import Case
from trialplate.spec import document, test_sets
from trialplate.spec.freeze import plain_digest
from trialplate.spec.test_sets import LoadedCases, Source, load, merge

FORMS = ("t.json", "t.yaml", "t.yml")


def loaded(data: str | bytes, file: str) -> LoadedCases:
    """Return the cases of one file."""
    return load(Source(file, data.encode() if isinstance(data, str) else data))


def refusal(data: str | bytes, file: str) -> SpecError:
    """Return the error that a file ends in."""
    with pytest.raises(SpecError) as caught:
        loaded(data, file)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value


def test_trialmark_file_is_read_as_its_page_shows_it() -> None:
    """Name, version, and cases with id, input, reference and tags."""
    text = """\
{
  "name": "contract-questions",
  "version": "2026-11-05",
  "cases": [
    { "id": "q1", "input": "What is the notice period?", "reference": "Sixty days' written notice.", "tags": ["factual"] }
  ]
}
"""
    found = loaded(text, "contract.json")
    case = Case(
        id="q1", input="What is the notice period?", references=("Sixty days' written notice.",), tags=("factual",)
    )
    assert found.cases == (case,)
    assert found.places == {"q1": "contract.json:5"}
    assert (found.labels.name, found.labels.version) == ("contract-questions", "2026-11-05")
    assert (found.labels.name_at, found.labels.version_at) == ("contract.json:2:11", "contract.json:3:14")


def test_evalcore_lines_are_read_as_its_page_shows_them() -> None:
    """A missing id is `case-<line>`, expected is any JSON, one context is a list of one; a trace needs the project."""
    lines = [
        '{"id": "refund-1", "input": "How long do refunds take?", "expected": "30 days"}',
        '{"input": "anonymous case gets id case-2"}',
        '{"id": "rag-1", "input": "How long?", "context": "Refunds are processed within 30 days."}',
        '{"id": "rag-2", "input": "What do I need?", "context": ["Bring your order number.", "Keep the receipt."]}',
        '{"id": "any", "input": "x", "expected": [1, {"a": null}], "context": []}',
    ]
    found = loaded("\n".join(lines), "support.jsonl")
    assert [case.id for case in found.cases] == ["refund-1", "case-2", "rag-1", "rag-2", "any"]
    assert [case.references for case in found.cases][::4] == [("30 days",), ([1, {"a": None}],)]
    assert [len(case.context) for case in found.cases] == [0, 0, 1, 2, 0]
    assert found.automatic == ("case-2",)
    error = refusal('{"input": "x"}\n{"id": "agent-flow", "trace": "traces/run1.json"}', "support.jsonl")
    assert str(error) == "support.jsonl:2:31: the file traces/run1.json of a case cannot be read here"


@pytest.mark.parametrize("file", FORMS)
def test_bare_list_is_a_test_set_as_well(file: str) -> None:
    """A list without name and version; ids come from the place in the list, and a warning says so."""
    found = loaded('[{"input": "a"}, {"id": "own", "input": "b"},\n {"input": "c"}]', file)
    assert [case.id for case in found.cases] == ["case-1", "own", "case-3"]
    assert found.places == {"case-1": f"{file}:1", "own": f"{file}:1", "case-3": f"{file}:2"}
    assert found.automatic == ("case-1", "case-3")
    assert found.warnings == (
        f"{file}:1: cases without an id are named case-1, case-2, ... by their place in the list",
    )


def test_case_l10_words_of_yaml_stay_words(load_folder: Path) -> None:
    """Case L10: no, NO and on are texts, as a reference and as tags; an unknown key is told where it stands."""
    text = (load_folder / "norway.yaml").read_text(encoding="utf-8")
    error = refusal(text, "norway.yaml")
    assert (error.where, error.message) == ("norway.yaml:10:5", 'unknown key "settings"')
    first, second = loaded(text.partition("    settings:")[0], "norway.yaml").cases
    assert (first.references, first.tags, second.references) == (("no",), ("NO", "on"), ("NO",))


@pytest.mark.parametrize("word", ["true", "~", "", "007", "4.10"])
def test_case_l10_word_with_a_type_is_never_taken_for_a_text(word: str) -> None:
    """Case L10: what YAML reads as a boolean, a number or nothing is no text; where one is needed, it must be quoted."""
    error = refusal(f"- input: {word}\n  id: q", "t.yaml")
    assert error.where in ("t.yaml:1:10", "t.yaml:1:9")
    assert '"input"' in error.message
    assert loaded(f'- input: "{word or "x"}"', "t.yaml").cases[0].input == (word or "x")


@pytest.mark.parametrize(
    ("file", "where", "words"),
    [
        ("numbers_1e400.json", "numbers_1e400.json:1:44", '"expected": the number 1e400 cannot be held'),
        ("numbers_bigint.json", "numbers_bigint.json:1:44", '"expected": the integer 9007199254740993 is outside'),
        ("numbers_5000digits.json", "numbers_5000digits.json:1:44", '"expected": a number of 5000 characters'),
    ],
)
def test_case_l13_number_that_cannot_be_held_is_refused_with_its_key(
    load_folder: Path, file: str, where: str, words: str
) -> None:
    """Case L13: place and key, in JSON and, where it is a number there, in YAML."""
    text = (load_folder / file).read_text(encoding="utf-8")
    error = refusal(text, file)
    assert (error.where, words in error.message) == (where, True), error
    assert words in refusal(text, "t.yaml").message


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_case_l13_what_is_no_number_of_json_is_refused(word: str) -> None:
    """Case L13: deep inside an answer, with the place."""
    error = refusal(f'[{{"input": "q", "references": [{{"n": {word}}}]}}]', "t.json")
    assert (error.where, word in error.message) == ("t.json:1:38", True)


def test_case_l13_negative_zero_is_zero_in_every_format(load_folder: Path) -> None:
    """Case L13: -0, -0.0 and 1E2 are read, and zero has one digest."""
    text = (load_folder / "numbers_ok.json").read_text(encoding="utf-8")
    found = loaded(text, "numbers_ok.json")
    assert [case.references for case in found.cases] == [(0,), (0,), (100,)]
    assert plain_digest(found.cases) == plain_digest(loaded(text, "t.yaml").cases)
    zeros = text.replace("-0.0", "0").replace("-0", "0").replace("1E2", "100")
    assert plain_digest(found.cases) == plain_digest(loaded(zeros, "t.json").cases)


@pytest.mark.parametrize("file", FORMS)
def test_case_l15_other_encodings_are_refused_with_the_byte(file: str) -> None:
    """Case L15: the offset of the first byte that is no UTF-8, and what to do."""
    error = refusal(b'[{"input": "Which drink?",\n "reference": "caf\xe9"}]', file)
    assert (error.where, "not UTF-8 at byte 45" in error.message) == (f"{file}:2", True), error
    assert "save the file as UTF-8" in error.hint


@pytest.mark.parametrize("file", FORMS)
def test_case_l01_and_c06_mark_and_line_ends_are_no_part_of_a_case(file: str) -> None:
    """Case L01, case C06: a byte order mark and CRLF change neither cases nor digest."""
    text = '[\n {"id": "q1", "input": "Which cheese?",\n  "reference": "Emmental"}\n]\n'
    plain = loaded(text, file)
    other = loaded(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), file)
    assert plain.cases == other.cases
    assert plain.places == other.places


@pytest.mark.parametrize("file", FORMS)
def test_case_l07_duplicate_id_names_both_places_also_over_formats(file: str) -> None:
    """Case L07: in one file by line, over files by file and line."""
    error = refusal('[{"id": "d1", "input": "a"},\n{"id": "d2", "input": "b"},\n{"id": "d1", "input": "c"}]', file)
    assert str(error) == f'{file}:3: duplicate case id "d1" (first used at line 1)'
    parts = [loaded("id,input\nq1,x\n", "a.csv"), loaded('\n\n[{"id": "q1", "input": "x"}]', file)]
    with pytest.raises(SpecError, match=rf'{file}:3: duplicate case id "q1" \(first used at a.csv:2\)'):
        merge(parts)
    unnamed = [loaded('{"input": "x"}', "a.jsonl"), loaded('[{"input": "y"}]', file)]
    with pytest.raises(SpecError, match=rf'{file}:1: duplicate case id "case-1" \(first used at a.jsonl:1\)') as caught:
        merge(unnamed)
    assert "a written one" in caught.value.hint


@pytest.mark.parametrize("file", FORMS)
def test_case_l17_place_in_the_list_names_a_case_whatever_follows(file: str) -> None:
    """Case L17: a shorter file has the same ids."""
    cases = [{"input": f"q{n}", "reference": str(n)} for n in range(1, 5)]
    whole = loaded(json.dumps(cases, indent=1), file)
    assert [case.id for case in whole.cases] == ["case-1", "case-2", "case-3", "case-4"]
    assert loaded(json.dumps(cases[:2]), file).cases == whole.cases[:2]


@pytest.mark.parametrize("file", FORMS)
def test_case_c07_ids_that_look_the_same_are_refused(file: str) -> None:
    """Case C07: the same letters in two compositions."""
    found = loaded('[{"id": "caf\u00e9", "input": "a"}, {"id": "cafe\u0301", "input": "b"}]', file)
    with pytest.raises(SpecError, match="looks the same as another"):
        merge([found])


@pytest.mark.parametrize("invisible", ["\u200b", "\u202e", "\ufeff", "\u00ad", "\u2060"])
def test_ids_that_differ_in_what_nobody_sees_are_refused(invisible: str) -> None:
    """A zero-width space, a direction mark or a soft hyphen makes another id of the same sight."""
    cases = [{"id": "refund", "input": "a"}, {"id": f"re{invisible}fund", "input": "b"}]
    found = loaded(json.dumps(cases), "q.json")
    with pytest.raises(SpecError, match="looks the same as another"):
        merge([found])
    assert [case.id for case in merge([loaded(json.dumps(cases[1:]), "q.json")]).cases] == [f"re{invisible}fund"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("tags", ["(untagged)"], "is no tag"),
        ("suite", "(no suite)", "is no suite"),
        ("suite", "a\u001b[31m", "control character"),
        ("suite", "a\nb", "control character"),
        ("suite", "x" * 129, "longer than 128"),
    ],
)
def test_tag_or_suite_that_a_reader_would_take_for_another_is_refused(field: str, value: object, words: str) -> None:
    """`each: tag` puts the cases without a tag under a name of their own: none may join them by its name."""
    with pytest.raises(SpecError, match=words) as caught:
        loaded(json.dumps([{"id": "a", "input": "b", field: value}]), "q.json")
    assert caught.value.where.startswith("q.json:1:")


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("{", "1:2", "a key in double quotes is missing"),
        ("", "1:1", "a value is missing"),
        ("7", "1:1", "expected a list of cases"),
        ("[]", "", "there are no cases"),
        ('{"cases": []}', "", "there are no cases"),
        ('{"cases": {}}', "1:11", "expected a list of cases"),
        ('{"cases": "x"}', "1:11", "expected a list of cases"),
        ('{"name": "x"}', "1:1", 'the key "cases" is missing'),
        ('{"case": [{"input": "a"}]}', "1:2", 'unknown key "case"'),
        ('{"cases": [{"input": "a"}], "verson": "1"}', "1:29", 'unknown key "verson"'),
        ('{"cases": [{"input": "a"}], "cases": [{"input": "b"}]}', "1:29", "duplicate key"),
        ('{"cases": [{"input": "a"}], "name": 7}', "1:37", '"name": expected a text'),
        ('{"cases": [{"input": "a"}], "version": 1.0}', "1:40", '"version": expected a text'),
        ('{"cases": [{"input": "a"}], "version": null}', "1:40", '"version": expected a text'),
        ('[{"input": "a"} {"input": "b"}]', "1:17", "a comma or ] is missing"),
        ('{"input": "a"}\n{"input": "b"}', "2:1", "text after the end of the document"),
        ('[{"input": "a"},\n {"input": "b", "refrence": "c"}]', "2:17", 'unknown key "refrence"'),
        ('[{"input": "a", "tags": [1]}]', "1:25", '"tags" must be a list of texts'),
        ('[{"input": "a", "meta": 1}]', "1:25", '"meta" must be an object'),
        ('[{"input": "a", "kind": "trace"}]', "1:25", "names its trace"),
        ('[{"input": "a", "reference": ["b"]}]', "1:30", '"reference" is a list'),
        ('[{"input": "a", "reference": null}]', "1:30", '"reference" is null'),
        ('[{"input": "a", "answer_format": 7}]', "1:34", '"answer_format" is no text'),
        ('[{"input": "a", "context": 7}]', "1:28", '"context" must be a text or a list of texts'),
        ('[{"input": "a", "context": {"x": 1}}]', "1:28", '"context" must be a text or a list of texts'),
        ('[{"input": "a", "context": ["b",\n 7]}]', "2:2", '"context" must be a text or a list of texts'),
        ('[{"input": "a"}, "b"]', "1:18", "a case is an object"),
        ('[{"input": "a"}, [{"input": "b"}]]', "1:18", "a case is an object"),
        ('[{"id": "a"}]', "1:2", 'the key "input" is missing'),
        ('[{"input": "half \\ud835"}]', "1:12", "surrogate"),
        ("[" * 65 + "]" * 65, "1:65", "64 levels"),
    ],
)
def test_json_file_that_cannot_be_used_is_refused_at_its_place(text: str, where: str, words: str) -> None:
    """File, line and column of whatever is wrong, and one sentence."""
    error = refusal(text, "t.json")
    assert (error.where, words in error.message) == (f"t.json:{where}".rstrip(":"), True), error
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("", "1:1", "the file is empty"),
        ("cases:\n", "1:7", "expected a list of cases"),
        ("cases:\n  q1: {input: a}\n", "2:3", "expected a list of cases"),
        ("- input: a\n  input: b\n", "2:3", "duplicate key"),
        ("- input: a\n- input: b\n  tag: [x]\n", "3:3", 'unknown key "tag"'),
        ("- input: a\n  7: b\n", "2:3", "the key 7 is not a text"),
        ("- input: a: b\n", "1:11", "no valid YAML"),
        ("- input: a\n---\n- input: b\n", "2:1", "a second document"),
        ("- input: !!str 7\n", "1:10", "the tag"),
        ("- &a {input: a}\n- {<<: *a}\n", "2:4", "merge keys"),
        ("- input: a\u2028b\n", "1:11", "U+2028"),
        ("- input: a\x07b\n", "1:11", "U+0007"),
        ("- &a {id: a, input: a}\n- *a\n", "2", "duplicate case id"),
        ("- &a [*a]\n", "1:7", "stands inside what it names"),
        ("- {input: a, meta: {k: " + "[" * 62 + "]" * 62 + "}}\n", "1:85", "64 levels"),
        ("- {input: a, context: [" + "x, " * 100_000 + "x]}\n", "", "more than 100000 values"),
    ],
)
def test_yaml_file_that_cannot_be_used_is_refused_at_its_place(text: str, where: str, words: str) -> None:
    """As strict as a plan, whichever parser reads it."""
    error = refusal(text, "t.yaml")
    assert words in error.message, error
    assert error.where.startswith(f"t.yaml:{where}"), error


def test_tab_in_the_indentation_is_told_as_one() -> None:
    """Editors show it as spaces."""
    error = refusal("cases:\n\t- input: a\n", "t.yaml")
    assert (error.where, error.hint) == ("t.yaml:2:1", "indent with spaces, not tabs")


def test_one_case_alone_is_told_what_a_file_holds() -> None:
    """A case where a list is expected is a common beginning."""
    assert "a file is a list of cases" in refusal("id: a\ninput: b\n", "t.yaml").hint


def test_aliases_of_cases_are_values_written_once() -> None:
    """A passage may be written once for several cases; too many aliases are refused."""
    found = loaded("- {input: a, context: &c [one, two]}\n- {input: b, context: *c}\n", "t.yaml")
    assert [case.context for case in found.cases] == [("one", "two")] * 2
    many = "- {input: a, context: &c x}\n" + "- {input: b, context: *c}\n" * 101
    assert "more than 100 aliases" in refusal(many, "t.yaml").message


def test_limit_on_values_holds_for_each_case_and_not_for_the_file() -> None:
    """A set of more than 100,000 values is read."""
    case = "- {input: a, meta: {k: [" + "x, " * 999 + "x]}}\n"
    assert len(loaded(case * 150, "t.yaml").cases) == 150


@pytest.mark.parametrize("file", ["t.csv", "t.jsonl", *FORMS])
def test_set_beyond_the_limits_is_refused(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """Too many cases, and too many bytes."""
    text = "input\n" + "x\n" * 9 if file == "t.csv" else json.dumps([{"input": "x"}] * 9)
    text = text if file != "t.jsonl" else '{"input": "x"}\n' * 9
    assert len(loaded(text, file).cases) == 9
    monkeypatch.setattr(test_sets, "MAX_CASES", 8)
    assert "more than 8 cases" in refusal(text, file).message
    monkeypatch.setattr(test_sets, "MAX_FILE_BYTES", 18)
    assert "more than the 18 that are read" in refusal(text, file).message


def test_places_of_a_large_file_on_one_line_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place is counted from the one before: 20,000 cases on a line would otherwise be read 20,000 times over."""
    text = json.dumps([{"id": f"q{n}", "input": "x" * 100} for n in range(20_000)]) + "\n"
    searched = 0

    class Counted(str):
        __slots__ = ()

        def rfind(self, sub: str, start: int = 0, end: int = 0) -> int:  # type: ignore[override]
            nonlocal searched
            searched += end - start
            return str.rfind(self, sub, start, end)

    decode = document.decode_utf8
    monkeypatch.setattr(
        "trialplate.spec.yaml_strict.decode_utf8", lambda *given, **named: Counted(decode(*given, **named))
    )
    assert len(loaded(text, "t.json").cases) == 20_000
    assert 0 < searched <= len(text)
