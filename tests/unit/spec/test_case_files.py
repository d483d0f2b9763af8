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


def test_file_that_is_not_what_it_is_said_to_be_is_told(project_at: Write) -> None:
    """A far end would refuse it, at a price; an empty one is refused here. Of many the first few are told."""
    odd = with_files(project_at, **{"cases/img/cat.png": b"<svg/>"})
    (warning,) = load_project(odd).warnings
    assert warning.startswith("cases/v.yaml:5:")
    assert "picture is sent as image/png, and does not begin as such a file does" in warning
    assert load_project(with_files(project_at, YAML.replace("image/png", "text/plain"))).warnings == ()
    files = ", ".join(f"{{name: p{n}, path: img/cat.png, type: application/pdf}}" for n in range(7))
    many = YAML.replace("{name: picture, path: img/cat.png, type: image/png}", files)
    assert (
        load_project(with_files(project_at, many)).warnings[-1] == "2 more files do not begin as files of their type do"
    )
    error = refusal(with_files(project_at, **{"cases/img/cat.png": b""}))
    assert (error.message, error.where) == ("img/cat.png is empty", "cases/v.yaml:5:35")


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
    assert after.cases[0].asked != before.cases[0].asked, "another picture is another question"


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
        ("[{name: p, path: img/cat.png, url: 'https://a.example/b.png'}]", "5:13", '"path" and "url" both stand'),
        ("[{name: 7, path: img/cat.png, type: image/png}]", "5:20", '"name" must be a text in files[0]'),
        ("[{name: ' p', path: img/cat.png, type: image/png}]", "5:20", "no spaces at its ends"),
        ("[{name: p, path: img/cat.png, type: png}]", "5:48", "expected a media type"),
        ("[{name: p, path: img/cat.png, type: Image/PNG}]", "5:48", "expected a media type in lower case"),
        ("[{name: p, path: img/cat.png, type: text/plain; charset=utf-8}]", "5:48", "without parameters"),
        ("[{name: p, path: img/cat.png, typ: image/png}]", "5:42", 'unknown key "typ"'),
        ("[{name: p, path: img/cat.png, access: []}]", "5:50", '"access" is empty: nothing could get at the file'),
        ("[{name: p, path: img/cat.png, access: native}]", "5:50", '"access" must be a list'),
        ("[{name: p, path: img/cat.png, access: [naive]}]", "5:50", 'there is no "naive"'),
        ("[{name: p, path: img/cat.png, image_detail: best}]", "5:56", 'there is no image_detail "best"'),
        ("[{name: p, path: img/notes.txt, image_detail: low}]", "5:58", "says nothing about text/plain"),
        ("[{name: p, path: img/mystery.bin}]", "5:13", "neither the name nor the first bytes of files[0] say"),
        ("[{name: p, path: img/cat.png, digest: 12}]", "5:50", '"digest" must be a text'),
        ("[{name: p, path: img/cat.png, digest: md5}]", "5:50", '"digest" is no digest'),
        (f"[{{name: p, path: img/cat.png, digest: 'sha256:{'0' * 64}'}}]", "5:50", "the bytes have another digest"),
        ("[{name: p, url: 'https://a.example/cat.png'}]", "5:28", "https://a.example/cat.png was not fetched yet"),
        ("[{name: p, url: 'https://a.example/c.png?sig=TOKEN'}]", "5:28", "https://a.example/c.png was not fetched"),
        ("[{name: p, url: 'ftp://a.example/cat.png'}]", "5:28", "expected an http or https address"),
        ("[{name: p, url: 'https://me:pw@a.example/cat.png'}]", "5:28", "holds a user or a password"),
        ("[{name: p, url: 'file:///etc/passwd'}]", "5:28", "expected an http or https address"),
        ("img/cat.png", "5:12", '"files" must be a list'),
        ("[img/cat.png]", "5:13", '"files[0]" must have name and path'),
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
    more = {"cases/img/notes.txt": b"notes", "cases/img/mystery.bin": b"\1\2\3"}
    root = with_files(project_at, YAML.replace(listed, files), **more)
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
    assert load_project(with_files(project_at, second, **{"cases/img/b.png": PICTURE + b"other"})).warnings == ()


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


# ---------------------------------------------------------------------------------------------- type, access, detail

PDF = b"%PDF-1.7\n%not much of a document"
HEADS = {
    "application/pdf": PDF,
    "image/png": PICTURE,
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "image/gif": b"GIF89a\x01\0\x01\0",
    "image/webp": b"RIFF\x1a\0\0\0WEBPVP8L",
}
"""Signatures as the WHATWG's MIME Sniffing standard lists them."""


def only_file(root: Path) -> CaseFile:
    """Return the one file of the one case."""
    (case,) = load_project(root).cases
    (file,) = case.files
    return file


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.png", "image/png"),
        ("a.JPG", "image/jpeg"),
        ("a.jpeg", "image/jpeg"),
        ("a.b.csv", "text/csv"),
        ("a.md", "text/markdown"),
        ("a.js", "text/javascript"),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("a.tif", "image/tiff"),
    ],
)
def test_type_is_that_of_the_extension_on_every_machine(project_at: Write, name: str, wanted: str) -> None:
    """The table is ours: no charset is added, and no system's table is asked."""
    listed = YAML.replace("path: img/cat.png, type: image/png", f"path: img/{name}")
    assert only_file(with_files(project_at, listed, **{f"cases/img/{name}": b"bytes"})).type == wanted


@pytest.mark.parametrize("wanted", HEADS)
def test_type_of_a_file_without_extension_is_told_by_its_first_bytes(project_at: Write, wanted: str) -> None:
    """Five signatures; an extension that says something comes first."""
    listed = YAML.replace("path: img/cat.png, type: image/png", "path: img/cat")
    assert only_file(with_files(project_at, listed, **{"cases/img/cat": HEADS[wanted]})).type == wanted


def test_written_type_comes_before_extension_and_bytes_in_one_spelling(project_at: Write) -> None:
    """A type that people write in two ways is written in one."""
    listed = YAML.replace("type: image/png", "type: image/jpg")
    assert only_file(with_files(project_at, listed)).type == "image/jpeg"


def test_access_and_detail_of_a_file_stand_in_the_place_of_the_default(project_at: Write) -> None:
    """What a file says is no addition; what it does not say is the test set's; only images are looked at."""
    files = "[{name: a, path: img/cat.png}, {name: b, path: img/n.txt}, {name: c, path: img/cat.png, access: [local, native], image_detail: low}]"
    listed = YAML.replace("[{name: picture, path: img/cat.png, type: image/png}]", files)
    plan = plan_of("{file: cases/v.yaml, defaults: {access: [local], image_detail: high}}")
    (case,) = load_project(with_files(project_at, listed, plan, **{"cases/img/n.txt": b"notes"})).cases
    assert [(file.access, file.image_detail) for file in case.files] == [
        (("local",), "high"),
        (("local",), None),
        (("native", "local"), "low"),
    ]


# ------------------------------------------------------------------------------------------------------- addresses

URL = "https://images.example/pictures/cat.png?sig=1"


def at_address(project_at: Write, more: str = "", url: str = URL) -> Path:
    """Write a project whose one file stands at an address."""
    listed = YAML.replace("path: img/cat.png, type: image/png", f"url: '{url}'{more}")
    return project_at(plan_of("{file: cases/v.yaml}"), {"cases/v.yaml": listed})


def test_address_is_fetched_once_and_pinned_by_its_bytes(project_at: Write) -> None:
    """The copy stands under the digest of the address without its fragment; while it is there, nobody is asked."""
    asked: list[str] = []

    def fetch(url: str, path: Path, limit: int) -> None:
        asked.append(url)
        path.parent.mkdir(parents=True)
        path.write_bytes(PICTURE)

    root = at_address(project_at, url=URL + "#top")
    for _ in range(2):
        project = load_project(root, fetch)
    (file,) = load_project(root).cases[0].files
    assert asked == [URL]
    assert file == project.cases[0].files[0]
    assert file == CaseFile(name="picture", type="image/png", digest="sha256:" + hashlib.sha256(PICTURE).hexdigest())
    kept = f".trialplate/fetched/{hashlib.sha256(URL.encode()).hexdigest()}"
    assert project.blobs == {file.digest: kept}


def test_authors_digest_holds_a_fetched_file_to_what_it_was(project_at: Write) -> None:
    """Other bytes are refused, with what to do about the copy."""
    root = at_address(project_at, more=f", digest: 'sha256:{hashlib.sha256(b'other').hexdigest()}'")

    def fetch(url: str, path: Path, limit: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PICTURE)

    with pytest.raises(SpecError, match="the bytes have another digest: sha256:") as caught:
        load_project(root, fetch)
    assert "delete its copy" in caught.value.hint


def test_failed_fetch_is_told_at_its_place_without_the_query(project_at: Write) -> None:
    """A query may hold a key."""

    def fetch(url: str, path: Path, limit: int) -> None:
        raise SpecError("status 404 instead of 200", hint="check the address", code="FETCH")

    with pytest.raises(SpecError) as caught:
        load_project(at_address(project_at), fetch)
    assert (caught.value.where, caught.value.code) == ("cases/v.yaml:5:34", "FETCH")
    assert caught.value.message == "https://images.example/pictures/cat.png: status 404 instead of 200"


# ---------------------------------------------------------------------------------------------- what a model takes

HOSTED = 'echo: {runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: m'
PLAIN = "  - {id: plain, input: Is it?, reference: yes}\n".replace("yes", '"yes"')


def with_model(project_at: Write, more: str, name: str = "cat.tiff", extra: str = "") -> Path:
    """Write a project with a case of one file and one of none, for a hosted model."""
    listed = YAML.replace("path: img/cat.png, type: image/png", f"path: img/{name}{extra}") + PLAIN
    plan = plan_of("{file: cases/v.yaml}").replace(ECHO, f"{HOSTED}{more}}}")
    return with_files(project_at, listed, plan, **{f"cases/img/{name}": b"bytes"})


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ("", ("application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp")),
        (", accepts: [text]", ()),
        (", accepts: [image]", ("image/gif", "image/jpeg", "image/png", "image/webp")),
        (", accepts: [document, image/tiff]", ("application/pdf", "image/tiff")),
        (", accepts: [text/csv]", ("text/csv",)),
    ],
)
def test_list_of_the_author_stands_in_the_place_of_the_table(
    project_at: Write, more: str, taken: tuple[str, ...]
) -> None:
    """Words stand for what the provider is known to take of a kind."""
    plan = freeze(load_project(with_model(project_at, more)), bytes(32)).plan
    assert plan.configurations[0].accepts == taken


def test_what_a_model_does_not_take_is_told_before_a_run(project_at: Write) -> None:
    """Case, configuration and type; it is a warning, since the others can be asked."""
    (warning,) = [item for item in validate(with_model(project_at, "")).warnings if "incompatible" in item]
    assert warning == "cat: incompatible with echo: image/tiff; it is not asked, and no credit is given"


def test_model_that_takes_none_of_its_cases_is_refused(project_at: Write) -> None:
    """Nothing would be asked at all."""
    plan = plan_of("{file: cases/v.yaml}").replace(ECHO, f"{HOSTED}, accepts: [text]}}")
    error = refusal(with_files(project_at, plan=plan))
    assert "takes none of its cases: image/png" in error.message


def test_file_for_a_tool_alone_needs_a_tool(project_at: Write) -> None:
    """It is no file that is sent, so what the model takes does not matter; but somebody must read it."""
    root = with_model(project_at, ", accepts: [text]", name="cat.png", extra=", access: [local]")
    (warning,) = [item for item in validate(root).warnings if "incompatible" in item]
    assert "incompatible with echo: image/png for a tool, and none is offered" in warning


@pytest.mark.parametrize("word", ["images", "Image/PNG", "png"])
def test_word_that_is_no_type_is_refused(project_at: Write, word: str) -> None:
    """With the words there are."""
    assert (
        "expected text, image, document or a media type"
        in refusal(with_model(project_at, f", accepts: [{word}]")).message
    )
