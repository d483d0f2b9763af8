# SPDX-License-Identifier: Apache-2.0
"""Case X06 (tests/vectors/cases/report): nothing that a model, a file or a name says reaches a terminal as a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import Said, SmallProject, plan_text

EVIL: list[dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "cases" / "report" / "evil_outputs.json").read_text(encoding="utf-8")
)
ESCAPES = [
    "\x1b[31mPASS\x1b[0m\x1b[2K\r",
    "\x1b]8;;http://127.0.0.1\x07click",
    "safe \u202e gnp.exe",
    "\u009b2J",
    "x\x00y",
]
"""Colours, erasure, a hidden link, a change of direction, an 8-bit control, a NUL."""


def is_clean(said: Said) -> bool:
    """Say whether outputs hold printable characters and newlines only, and no line that a CI takes for a command."""
    text = said.out + said.err
    shown = all(character == "\n" or character.isprintable() for character in text)
    return shown and not any(line.startswith("::") for line in text.splitlines())


def with_answers(tmp_path: Path, answers: dict[str, Any]) -> SmallProject:
    """Return a finished run of one case per answer; every answer is wrong."""
    rows = [{"id": f"e{n}", "input": f"Question number {n} of all?", "expected": "right"} for n in range(len(answers))]
    script = {f"e{n}": answer for n, answer in enumerate(answers.values())}
    project = SmallProject.write(
        tmp_path, plan_text(f"  m: {{runner: stand-in, answers: {json.dumps(script)}}}", repeats=1)
    )
    (project.root / "cases" / "q.csv").unlink()
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (project.root / "cases" / "q.jsonl").write_text(lines, encoding="utf-8")
    project.set_plan((project.root / "trialplate.yaml").read_text().replace("q.csv", "q.jsonl"))
    project.run(expect=0)
    return project


def test_hostile_answers_are_shown_and_never_sent(tmp_path: Path) -> None:
    """Every hostile answer stands in the report as visible escapes; colours, links and directions do nothing."""
    project = with_answers(tmp_path, {item["id"]: item["output"] for item in EVIL})
    said = project("report", "--failures", "100", "--by-tag")
    assert said.code == 0
    assert is_clean(said)
    for escaped in ("\\x1b[31mPASS", "\\u202e", "a\\x00b", "\\x1b]8;;", "\\n::set-output"):
        assert escaped in said.out
    for command in (["verify"], ["gate", "latest"], ["ledger", "log"]):
        assert is_clean(project(*command))


@pytest.mark.parametrize("text", ESCAPES, ids=ascii)
def test_hostile_error_texts_of_a_program_are_shown_and_never_sent(tmp_path: Path, text: str) -> None:
    """What a failing program writes on its error output is escaped in the report."""
    octal = "".join(f"\\\\{byte:03o}" for byte in text.encode())
    project = SmallProject.write(
        tmp_path, plan_text(f"  m: {{runner: command, shell: \"printf '{octal}' >&2; exit 1\"}}", repeats=1)
    )
    project.run()
    said = project("report")
    assert is_clean(said)
    assert "exit_status" in said.out


@pytest.mark.parametrize("text", ESCAPES, ids=ascii)
@pytest.mark.parametrize("field", ["id", "tags", "suite"])
def test_hostile_names_in_a_test_set_are_refused_or_escaped(tmp_path: Path, field: str, text: str) -> None:
    """An id, tag or suite with such characters is refused with a clean error, or clean in everything that shows it."""
    row: dict[str, Any] = {"id": "e0", "input": "Which one is it, after all?", "expected": "right"}
    row[field] = [text] if field == "tags" else text
    project = SmallProject.write(tmp_path, plan_text('  m: {runner: stand-in, answers: {"*": wrong}}', repeats=1))
    (project.root / "cases" / "q.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    project.set_plan((project.root / "trialplate.yaml").read_text().replace("q.csv", "q.jsonl"))
    said = project("run", "--yes")
    assert said.code in (0, 2)
    assert is_clean(said)
    commands = [["validate"], ["run"], ["validate"], ["report", "--by-tag"], ["verify"], ["gate", "latest"]]
    for command in commands if said.code == 0 else commands[:2]:
        assert is_clean(project(*command)), command


@pytest.mark.parametrize("text", ESCAPES[:4], ids=ascii)
@pytest.mark.parametrize(
    "command",
    [
        ["gate", "%"],
        ["gate", "latest", "--model", "%"],
        ["report", "%"],
        ["verify", "%"],
        ["verify", "--trust", "%"],
        ["verify", "--against", "%"],
        ["waive", "%", "--reason", "x"],
        ["run", "--only", "%"],
        ["run", "--models", "%"],
        ["run", "--cache", "%"],
        ["validate", "%"],
        ["schema", "%"],
        ["keys", "new", "%"],
        ["ledger", "init", "%"],
    ],
    ids=" ".join,
)
def test_hostile_arguments_are_escaped_in_errors(finished: SmallProject, command: list[str], text: str) -> None:
    """A script that passes on a hostile name gets an error that shows it and sends nothing."""
    said = finished(*[word.replace("%", text) for word in command])
    assert said.code == 2
    assert is_clean(said)


@pytest.mark.parametrize("text", ESCAPES[:4], ids=ascii)
def test_hostile_keys_and_values_of_a_plan_are_escaped_in_errors(fresh: SmallProject, text: str) -> None:
    """A plan that holds such characters gives errors and warnings that send nothing."""
    quoted = json.dumps(text)
    for line in (f"{quoted}: 1\n", f"name: {quoted}\n", f"run: {{cache: {quoted}}}\n"):
        plan = plan_text().replace("name: small\n", "") if line.startswith("name") else plan_text()
        fresh.set_plan(plan + line)
        said = fresh("run", "--yes")
        assert said.code == 2
        assert is_clean(said)


def test_hostile_file_names_in_a_project_are_escaped(finished: SmallProject) -> None:
    """A run folder with a hostile name is named without being obeyed."""
    hostile = finished.root / "runs" / "\x1b[2K\rverify runs: HOLDS"
    hostile.mkdir()
    (hostile / "record.jsonl").touch()
    for command in (["verify"], ["report", "nosuch"], ["gate", "nosuch"]):
        said = finished(*command)
        assert said.code in (2, 3)
        assert is_clean(said)


@pytest.mark.parametrize("text", ["safe \u202e gnp.exe", "zero\u200bwidth", "line\u2028separator"], ids=ascii)
def test_hostile_reason_of_a_waiver_is_escaped_wherever_it_is_shown(finished: SmallProject, text: str) -> None:
    """What an operator signs is shown with its invisible characters."""
    assert is_clean(finished("waive", "latest", "--reason", text))
    for command in (["ledger", "log"], ["ledger", "show", "8"], ["verify"], ["report"]):
        said = finished(*command)
        assert said.code == 0
        assert is_clean(said), command


@pytest.mark.parametrize("raw", ["\x1b[31mred-00000000\n", "a\u202eb\n", "two\nlines\n"], ids=ascii)
def test_hostile_origin_is_escaped_in_findings(finished: SmallProject, raw: str) -> None:
    """A ledger's name with such characters is a finding that shows them."""
    (finished.ledger / "origin").write_text(raw, encoding="utf-8")
    for command in (["verify"], ["gate", finished.last.name, "--model", "good"], ["ledger", "log"], ["run", "--yes"]):
        said = finished(*command)
        assert said.code in (2, 3)
        assert is_clean(said), command


@pytest.mark.parametrize("text", ESCAPES[:4], ids=ascii)
def test_hostile_values_in_forged_files_are_escaped_in_findings(
    finished: SmallProject, tmp_path: Path, text: str
) -> None:
    """What a forger writes where a name belongs comes out escaped in the finding that refuses it."""
    forger = Forger(finished)
    forger.record[1]["type"] = text
    forger.record[2]["body"][text] = text
    forger.sign_record()
    stranger = finished.as_stranger(tmp_path)
    for command in (["verify"], ["gate", "latest", "--model", "good", "--no-append"], ["report"]):
        said = stranger(*command)
        assert said.code == 3
        assert is_clean(said), command


def test_json_output_is_ascii_whatever_it_tells(tmp_path: Path) -> None:
    """`--json` sends nothing to a terminal either: it is printable ASCII."""
    project = SmallProject.write(tmp_path, plan_text('  m: {runner: stand-in, answers: {"*": wrong}}', repeats=1))
    rows = json.dumps(
        {"id": "\u202e\u00e9", "input": "Which one is it, after all?", "expected": "right", "tags": ["critical"]}
    )
    (project.root / "cases" / "q.jsonl").write_text(rows + "\n", encoding="utf-8")
    project.set_plan(
        (project.root / "trialplate.yaml").read_text().replace("q.csv", "q.jsonl")
        + "    - {id: crit, must_pass: {tag: critical}, require: all}\n"
    )
    said = project("run", "--yes", "--json")
    for text in (
        said.out,
        project("run", "--json").out,
        project("verify", "--json").out,
        project("gate", "latest", "--json").out,
    ):
        assert text.isascii()
        assert is_clean(Said(0, text, ""))
