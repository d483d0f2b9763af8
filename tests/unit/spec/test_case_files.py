# SPDX-License-Identifier: Apache-2.0
"""What a project adds to its test sets: files of cases by digest, defaults, labels; and which runners take files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from author_files import PLAN

from trialplate.errors import SpecError
from trialplate.record import codec
from trialplate.record.values import CaseFile
from trialplate.spec import case_files
from trialplate.spec.freeze import freeze
from trialplate.spec.project import load_project
from trialplate.spec.validate import validate

Write = Callable[..., Path]
ECHO = 'echo: {runner: stand-in, answers: {"*": "yes"}}'
PICTURE = b"\x89PNG\r\n\x1a\nnot much of a picture"
YAML = """\
cases:
  - id: cat
    input: Describe the image.
    reference: A cat.
    files: [{name: picture, path: img/cat.png, type: image/png}]
"""


def plan_of(entry: str) -> str:
    """Return the small plan with this test set."""
    return PLAN.replace("{file: cases/a.csv}", entry)


def with_files(project_at: Write, cases: str = YAML, plan: str | None = None, **files: bytes) -> Path:
    """Write a project whose one case has a file."""
    content: dict[str, str | bytes] = {"cases/v.yaml": cases, "cases/img/cat.png": PICTURE, **files}
    return project_at(plan or plan_of("{file: cases/v.yaml}"), content)


def refusal(root: Path) -> SpecError:
    """Return the error that validating ends in."""
    with pytest.raises(SpecError) as caught:
        validate(root)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value


def test_file_of_a_case_is_in_it_by_the_digest_of_its_bytes(project_at: Write) -> None:
    """Name, media type and what sha256sum prints; never the path, and no line end is converted."""
    (case,) = load_project(with_files(project_at)).cases
    digest = "sha256:" + hashlib.sha256(PICTURE).hexdigest()
    assert case.files == (CaseFile(name="picture", type="image/png", digest=digest),)
    assert codec.to_json(case)["files"] == [{"name": "picture", "type": "image/png", "digest": digest}]


def test_changed_byte_changes_the_case_and_a_moved_file_does_not(project_at: Write) -> None:
    """The path is where the file lies, and no part of the case."""
    secret = bytes(32)
    before = freeze(load_project(with_files(project_at)), secret).plan.test_set
    moved = YAML.replace("img/cat.png", "../pictures/c.png")
    root = with_files(project_at, moved, **{"pictures/c.png": PICTURE})
    assert freeze(load_project(root), secret).plan.test_set == before
    (root / "pictures" / "c.png").write_bytes(PICTURE + b"\n")
    after = freeze(load_project(root), secret).plan.test_set
    assert after.root != before.root
    assert after.cases[0].asked == before.cases[0].asked


@pytest.mark.parametrize(
    ("files", "where", "words"),
    [
        ("[{name: p, path: img/dog.png, type: image/png}]", "5:29", "cases/img/dog.png does not exist"),
        ("[{name: p, path: ../../x.png, type: image/png}]", "5:29", "leads out of the project's folder"),
        ("[{name: p, path: /etc/passwd, type: image/png}]", "5:29", "inside the project's folder"),
        ("[{name: p, path: 'C:/x', type: image/png}]", "5:29", "inside the project's folder"),
        ("[{name: p, path: 'a\\b', type: image/png}]", "5:29", "inside the project's folder"),
        ('[{name: p, path: "a\\0b", type: image/png}]', "5:29", "inside the project's folder"),
        ('[{name: p, path: "", type: image/png}]', "5:29", "inside the project's folder"),
        ("[{name: p, path: img, type: image/png}]", "5:29", "Is a directory"),
        ("[{name: p, path: away.png, type: image/png}]", "5:29", "leads out of the project's folder"),
        ("[{path: img/cat.png, type: image/png}]", "5:13", '"name" is missing in files[0]'),
        ("[{name: p, type: image/png}]", "5:13", '"path" is missing in files[0]'),
        ("[{name: p, path: img/cat.png}]", "5:13", '"type" is missing in files[0]'),
        ("[{name: 7, path: img/cat.png, type: image/png}]", "5:20", '"name" must be a text in files[0]'),
        ("[{name: ' p', path: img/cat.png, type: image/png}]", "5:20", "no spaces at its ends"),
        ("[{name: p, path: img/cat.png, type: png}]", "5:48", "expected a media type"),
        ("[{name: p, path: img/cat.png, type: Image/PNG}]", "5:48", "expected a media type in lower case"),
        ("[{name: p, path: img/cat.png, type: text/plain; charset=utf-8}]", "5:48", "without parameters"),
        ("[{name: p, path: img/cat.png, typ: image/png}]", "5:42", 'unknown key "typ"'),
        ("[{name: p, path: img/cat.png, type: image/png, access: [local]}]", "5:59", '"access": choosing how'),
        ("img/cat.png", "5:12", '"files" must be a list'),
        ("[img/cat.png]", "5:13", '"files[0]" must have name, path and type'),
        (
            "[{name: p, path: img/cat.png, type: image/png}, {name: p, path: img/cat.png, type: image/png}]",
            "5:67",
            'two files of the case are called "p"',
        ),
    ],
)
def test_file_that_cannot_be_used_is_refused_at_its_place(
    project_at: Write, tmp_path_factory: pytest.TempPathFactory, files: str, where: str, words: str
) -> None:
    """Missing, outside, no regular file, of a wrong form: file, line, column, and nothing is read."""
    outside = tmp_path_factory.mktemp("outside") / "away.png"
    outside.write_bytes(PICTURE)
    listed = "[{name: picture, path: img/cat.png, type: image/png}]"
    root = with_files(project_at, YAML.replace(listed, files))
    (root / "cases" / "away.png").symlink_to(outside)
    error = refusal(root)
    assert (error.where, words in error.message) == (f"cases/v.yaml:{where}", True), error


def test_file_larger_than_the_limit_is_refused(project_at: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the limit is ever read of a file."""
    monkeypatch.setattr(case_files, "MAX_BYTES", 8)
    assert "is larger than 8 bytes" in refusal(with_files(project_at)).message


@pytest.mark.parametrize(
    ("model", "taken"),
    [
        (ECHO, True),
        ("echo: {runner: command, argv: [cat]}", True),
        ('echo: {runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m}', True),
        ('echo: {runner: http, subject: "1", request: {url: "http://127.0.0.1:9/ask", body: {q: "{{input}}"}}}', False),
    ],
)
def test_case_with_files_reaches_no_runner_that_sends_none(project_at: Write, model: str, taken: bool) -> None:
    """A service would be asked about what it cannot see: one sentence with case and model."""
    root = with_files(project_at, plan=plan_of("{file: cases/v.yaml}").replace(ECHO, model))
    if taken:
        assert validate(root).with_files == {"cat": 1}
        return
    error = refusal(root)
    assert error.where == "cases/v.yaml:2"
    assert error.message == 'case "cat" has files, and the runner http of "echo" sends none in this version'


def test_command_may_name_the_file_of_a_private_case(project_at: Write) -> None:
    """The plan then pins the file by the digest that the case has, and its type may stand in a setting: no text leaks."""
    command = "echo: {runner: command, shell: 'file --mime application/vnd.ms-excel cases/img/cat.png; cat'}"
    cases = YAML.replace("image/png", "application/vnd.ms-excel").replace("name: picture", "name: cases/img/cat.png")
    root = with_files(project_at, cases, plan=plan_of("{file: cases/v.yaml}").replace(ECHO, command))
    (case,) = load_project(root).cases
    assert validate(root).pinned == {"cases/img/cat.png": case.files[0].digest}


def test_hosted_model_whose_lines_leave_the_case_out_is_accepted(project_at: Write) -> None:
    """What decides is which cases a model is asked."""
    hosted = 'm: {runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m}'
    plan = plan_of("{file: cases/a.csv}, {file: cases/v.yaml, defaults: {tags: [image]}}")
    plan = plan.replace(ECHO, f"{ECHO}\n  {hosted}").replace(
        "repeats: 2", "matrix: [{models: [echo]}, {models: [m], cases: {id: [q1, q2]}}]\nrepeats: 2"
    )
    assert validate(with_files(project_at, plan=plan)).trials == 10


def test_one_question_about_two_files_is_no_question_asked_twice(project_at: Write) -> None:
    """The same words about another picture ask something else; about the same picture they do not."""
    twice = YAML + YAML.removeprefix("cases:\n").replace("id: cat", "id: other")
    (warning,) = load_project(with_files(project_at, twice)).warnings
    assert 'case "other" asks the same as "cat"' in warning
    second = twice.partition("id: other")[0] + "id: other" + twice.partition("id: other")[2].replace("cat.png", "b.png")
    assert load_project(with_files(project_at, second, **{"cases/img/b.png": b"other"})).warnings == ()


def test_defaults_fill_what_is_absent_and_stand_beside_what_adds_up(project_at: Write) -> None:
    """Suite and context where there is none, tags and meta beside a case's own; numbers are plain."""
    entry = "{file: cases/v.json, defaults: {suite: s, tags: [b], meta: {k: 0.50, own: file}, context: passage}}"
    cases = '[{"id": "x", "input": "a", "reference": "r"}, {"id": "y", "input": "b", "reference": "r", "suite": "t", '
    cases += '"tags": ["a"], "meta": {"own": 1}, "context": ["c", "d"]}]'
    first, second = load_project(project_at(plan_of(entry), {"cases/v.json": cases})).cases
    assert (first.suite, first.tags, first.meta, first.context) == (
        "s",
        ("b",),
        {"k": 0.5, "own": "file"},
        ("passage",),
    )
    assert type(first.meta["k"]) is float
    assert (second.suite, second.tags, second.meta) == ("t", ("a", "b"), {"k": 0.5, "own": 1})
    assert second.context == ("c", "d")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("max_turns: 0", "at least 1"),
        ("tools: [{name: x, max_cals: 3}]", 'unknown key "max_cals"'),
        ("references: [x]", 'unknown key "references"'),
        ("tag: [x]", 'did you mean "tags"?'),
        ("context: 7", "expected a text, or a list of texts"),
        ("meta: [x]", "expected a mapping"),
    ],
)
def test_default_that_is_none_is_refused(project_at: Write, key: str, words: str) -> None:
    """What comes later by its sentence, what never can be a default as unknown, and wrong kinds of value."""
    error = refusal(project_at(plan_of(f"{{file: cases/a.csv, defaults: {{{key}}}}}")))
    assert words in f"{error.message} {error.hint}"
    assert error.where.startswith("trialplate.yaml:3:")


def test_context_is_part_of_the_case_and_private(project_at: Write) -> None:
    """Scorers see it, models do not; it changes the commitment and not what was asked."""
    cases = 'id,input,reference,context\nq1,Is it?,yes,"Notice is given in writing, never by word of mouth."\n'
    secret = bytes(32)
    root = project_at(files={"cases/a.csv": cases})
    frozen = freeze(load_project(root), secret)
    assert b"in writing" not in frozen.raw
    (other,) = freeze(
        load_project(project_at(files={"cases/a.csv": cases.replace("never", "not")})), secret
    ).plan.test_set.cases
    (first,) = frozen.plan.test_set.cases
    assert (first.commitment == other.commitment, first.asked == other.asked) == (False, True)


NAMED = (
    '{"name": "Contract questions", "version": "2026-11-05", "cases": [{"id": "j", "input": "x", "reference": "r"}]}'
)


@pytest.mark.parametrize(
    ("entry", "label", "told"),
    [
        ("", ("Contract-questions", "2026-11-05"), ['v.json:1:10: a plan writes the name "Contract-questions"']),
        (
            ", name: mine",
            ("mine", "2026-11-05"),
            ['1:10: the name here is "Contract questions" and "mine" in the plan'],
        ),
        (
            ", name: mine, version: v2",
            ("mine", "v2"),
            ["the name here is", 'v.json:1:43: the version here is "2026-11-05" and "v2" in the plan, which is used'],
        ),
    ],
)
def test_labels_of_a_file_are_used_where_the_plan_has_none(
    project_at: Write, entry: str, label: tuple[str, str], told: list[str]
) -> None:
    """The plan's word goes before the file's own, and a contradiction is told."""
    project = load_project(project_at(plan_of(f"{{file: cases/v.json{entry}}}"), {"cases/v.json": NAMED}))
    test_set = freeze(project, bytes(32)).plan.test_set
    assert (test_set.name, test_set.version) == label
    assert [words in warning for words, warning in zip(told, project.warnings, strict=True)] == [True] * len(told)


def test_labels_of_several_files_are_joined(project_at: Write) -> None:
    """A file without labels is called by its name, as before."""
    project = load_project(project_at(plan_of("{file: cases/a.csv}, {file: cases/v.json}"), {"cases/v.json": NAMED}))
    test_set = freeze(project, bytes(32)).plan.test_set
    assert (test_set.name, test_set.version) == ("a+Contract-questions", "2026-11-05")
    assert [case.id for case in test_set.cases] == ["q1", "q2", "j"]
