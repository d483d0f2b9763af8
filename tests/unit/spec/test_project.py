# SPDX-License-Identifier: Apache-2.0
"""Reading a project: what is read, what is pinned, and that nothing outside its folder ever is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from author_files import PLAN

from trialplate.errors import SpecError
from trialplate.spec.pins import pin_digest
from trialplate.spec.project import load_project

Write = Callable[..., Path]
ECHO = 'echo: {runner: stand-in, answers: {"*": "yes"}}'


def sha256(data: bytes) -> str:
    """Return the digest of bytes, as plans print it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def command(line: str) -> str:
    """Return the small plan with a command as its model."""
    return PLAN.replace(ECHO, f"echo: {{runner: command, {line}}}")


def hosted(settings: str) -> str:
    """Return the small plan with a hosted model."""
    return PLAN.replace(
        ECHO, f'echo: {{runner: openai-compatible, url: "https://h/v1", model: m, settings: {settings}}}'
    )


def test_project_is_read_from_its_folder_or_its_file(project_at: Write) -> None:
    """Both name the same project."""
    root = project_at()
    assert load_project(root).cases == load_project(root / "trialplate.yaml").cases
    assert load_project(root).places == {"q1": "cases/a.csv:2", "q2": "cases/a.csv:3"}


def test_json_file_is_a_plan_as_well(project_at: Write) -> None:
    """The same entry point reads JSON, with places."""
    root = project_at(files={"plan.json": '{"trialplate": 1,\n "nam": "x"}'})
    with pytest.raises(SpecError) as caught:
        load_project(root / "plan.json")
    assert 'plan.json:2:2: unknown key "nam" (did you mean "name"?)' in caught.value.message


def test_documents_are_texts_with_lf_line_ends(project_at: Write) -> None:
    """A Windows checkout of a document is the same document."""
    root = project_at(hosted("{documents: [a.md]}"), {"a.md": b"\xef\xbb\xbfone\r\ntwo\r"})
    assert load_project(root).texts == {"a.md": "one\ntwo\n"}


@pytest.mark.parametrize(
    ("line", "pinned"),
    [
        ("argv: [python3, bot.py, --config=conf/x.json, missing.py]", {"bot.py", "conf/x.json"}),
        ("argv: [./bot.py]", {"bot.py"}),
        ('shell: "python3 bot.py < conf/x.json | cat>out"', {"bot.py", "conf/x.json"}),
        ('shell: "echo \'unclosed bot.py"', {"bot.py"}),
        ("argv: [sh, -c, exit]", set()),
    ],
)
def test_files_that_a_command_names_are_pinned(project_at: Write, line: str, pinned: set[str]) -> None:
    """Words, and what stands behind an equals sign."""
    root = project_at(command(line), {"bot.py": "x = 1\n", "conf/x.json": b"\x00\r\n"})
    found = load_project(root).pinned
    assert set(found) == pinned
    if "bot.py" in pinned:
        assert found["bot.py"] == sha256(b"x = 1\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "argv: [sh, bott.sh]",
            ["trialplate.yaml:5:38: bott.sh is no file of the project: misspelt? The nearest is bot.sh"],
        ),
        (
            "argv: [sh, --config=conf/y.json]",
            ["conf/y.json is no file of the project: misspelt? The nearest is conf/x.json"],
        ),
        ("shell: 'sh bott.sh < in.txt > out.txt'", ["bott.sh is no file", "in.txt is no file"]),
        ("argv: [./bott.sh]", ["./bott.sh is no file"]),
        ("argv: [sh, away.sh]", ["away.sh leads out of the project's folder, and is not pinned"]),
        ("argv: [sh, ./bot.sh, --config=conf/x.json]", []),
        ("argv: [python3.11, -m, pkg.mod, '0.5', /usr/x.sh, ../y.sh, 'https://a.b/c.html', $HOME/x.sh]", []),
        ("argv: [echo, 'an answer.txt', conf, data.d]", []),
    ],
)
def test_word_that_looks_like_a_file_and_is_none_is_a_warning(
    project_at: Write, tmp_path_factory: pytest.TempPathFactory, line: str, words: list[str]
) -> None:
    """A misspelt script would be pinned by nothing; addresses, modules, versions and outputs are no files of ours."""
    root = project_at(command(line), {"bot.sh": "x", "conf/x.json": "{}", "data.d/x": ""})
    outside = tmp_path_factory.mktemp("outside") / "away.sh"
    outside.write_text("x")
    (root / "away.sh").symlink_to(outside)
    found = load_project(root).warnings
    assert len(found) == len(words), found
    assert all(part in warning for part, warning in zip(words, found, strict=True)), found


def test_pin_reads_text_with_lf_and_other_bytes_as_they_are() -> None:
    """Line ends of a checkout do not change a program; bytes that are no text are left alone."""
    assert pin_digest(b"a\r\nb\n") == pin_digest(b"a\nb\n") == sha256(b"a\nb\n")
    assert pin_digest(b"a\r\n\x00") == sha256(b"a\r\n\x00")
    assert pin_digest(b"a\r\n\xff") == sha256(b"a\r\n\xff")


def test_link_that_leads_out_is_refused_for_a_text_and_not_pinned_for_a_command(
    project_at: Write, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing outside the project is read; a program of the machine is simply not pinned."""
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    root = project_at(hosted("{documents: [link.md]}"))
    (root / "link.md").symlink_to(outside)
    with pytest.raises(SpecError, match=r"trialplate.yaml:5:\d+: link.md leads out of the project's folder"):
        load_project(root)
    project_at(command("argv: [link.md]"))
    assert load_project(root).pinned == {}
    (root / "folder").symlink_to(outside.parent)
    project_at(hosted("{documents: [folder/secret.md]}"))
    with pytest.raises(SpecError, match="leads out"):
        load_project(root)


def test_link_inside_the_project_is_followed(project_at: Write) -> None:
    """A link is no offence where it stays inside."""
    root = project_at(hosted("{documents: [link.md]}"), {"a.md": "text"})
    (root / "link.md").symlink_to(root / "a.md")
    assert load_project(root).texts == {"link.md": "text"}


def test_pipe_or_folder_in_place_of_a_file_is_refused_at_once(project_at: Write) -> None:
    """A named pipe without a writer would otherwise be waited for."""
    root = project_at(hosted("{documents: [pipe]}"))
    os.mkfifo(root / "pipe")
    with pytest.raises(SpecError, match="not a regular file"):
        load_project(root)
    project_at(hosted("{documents: [cases]}"))
    with pytest.raises(SpecError, match="cases"):
        load_project(root)


def test_missing_file_is_told_with_the_nearest_one(project_at: Write) -> None:
    """The error stands at the name in the plan."""
    root = project_at(PLAN.replace("cases/a.csv", "cases/b.csv"))
    with pytest.raises(SpecError) as caught:
        load_project(root)
    assert caught.value.where == "trialplate.yaml:3:20"
    assert caught.value.message == "cases/b.csv does not exist"
    assert "a.csv" in caught.value.hint
    assert "trialplate" not in caught.value.hint


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("other.yaml", "{root}/other.yaml does not exist", "a project's folder or its trialplate.yaml"),
        ("trialplate.yml", "{root}/trialplate.yml does not exist", 'did you mean "trialplate.yaml"?'),
        ("casess", "{root}/casess does not exist", 'did you mean "cases"?'),
        ("no/where/trialplate.yaml", "{root}/no/where/trialplate.yaml does not exist", "a project's folder"),
        ("cases", "there is no trialplate.yaml in {root}/cases", "this is inside the project"),
        ("cases/trialplate.yaml", "there is no trialplate.yaml in {root}/cases", "this is inside the project"),
        ("cases/a.csv", "expected a mapping, found a text", "a project's folder or its trialplate.yaml"),
        ("x" * 300, "{root}/" + "x" * 300 + " does not exist", "a project's folder"),
    ],
)
def test_path_that_is_no_project_is_told_plainly(project_at: Write, path: str, message: str, hint: str) -> None:
    """What is not there is named as it was given, and no folder is listed."""
    root = project_at(files={"notes.txt": "x", "cases/one.txt": "x"})
    with pytest.raises(SpecError) as caught:
        load_project(root / path)
    assert caught.value.message == message.format(root=root)
    assert hint in caught.value.hint
    assert "notes" not in caught.value.hint
    assert "one.txt" not in caught.value.hint


def test_folder_with_a_plan_of_almost_the_name_is_told_it(project_at: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the files in a folder only the one that was probably meant is named; the current folder is called so."""
    root = project_at()
    (root / "trialplate.yaml").rename(root / "trialplate.yml")
    monkeypatch.chdir(root)
    with pytest.raises(SpecError) as caught:
        load_project("trialplate.yaml")
    assert caught.value.message == "there is no trialplate.yaml in this folder"
    assert caught.value.hint == 'did you mean "trialplate.yml"?'


def test_file_that_is_named_twice_is_refused(project_at: Write) -> None:
    """One file is one part of the test set."""
    root = project_at(PLAN.replace("[{file: cases/a.csv}]", "[{file: cases/a.csv}, {file: cases/a.csv}]"))
    with pytest.raises(SpecError, match="named twice"):
        load_project(root)


def test_cassettes_of_the_project_are_found_in_order(project_at: Write) -> None:
    """What a replay could read is known before it is read."""
    root = project_at(files={"cassettes/b.jsonl": "{}\n", "cassettes/a.jsonl": "{}\n", "cassettes/notes.txt": "x"})
    assert list(load_project(root).cassettes) == ["cassettes/a.jsonl", "cassettes/b.jsonl"]


def test_answers_of_a_stand_in_come_from_a_file(project_at: Write) -> None:
    """A script may stand in a file of its own."""
    root = project_at(PLAN.replace('{"*": "yes"}', "script.yaml"), {"script.yaml": "q1: yes\nq2: [no, maybe]\n"})
    assert load_project(root).texts == {"script.yaml": "q1: yes\nq2: [no, maybe]\n"}
