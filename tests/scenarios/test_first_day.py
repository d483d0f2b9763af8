# SPDX-License-Identifier: Apache-2.0
"""What a person meets on a first day: each ordinary mistake or accident has its true sentence and one thing to do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from forger import Forger
from small_project import CASES, SmallProject, plan_text

from trialplate.ledger.lock import LOCK_NAME, hold


@pytest.mark.parametrize("lines", [0, 2])
@pytest.mark.parametrize("command", ["verify", "gate", "report"])
def test_ledger_cut_short_is_no_project_that_has_not_begun(finished: SmallProject, command: str, lines: int) -> None:
    """`latest` is looked up in the ledger: one that lacks signed lines is told as such, exit 3."""
    path = finished.ledger / "entries.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
    said = finished(command, "latest")
    assert said.code == 3
    assert f"ledger/entries.jsonl: ends after {lines} lines; its checkpoint covers 8" in said.err
    assert "do: restore the file" in said.err


def test_ledger_cut_to_nothing_is_told_with_its_whole_size(finished: SmallProject) -> None:
    """The genesis line is looked at first, and is not all that is missing."""
    (finished.ledger / "entries.jsonl").write_bytes(b"")
    said = finished("ledger", "log")
    assert said.code == 3
    assert "ends after 0 lines; its checkpoint covers 8" in said.err


@pytest.mark.parametrize("file", ["checkpoint", "entries.jsonl"])
def test_converted_line_ends_are_told_as_such(finished: SmallProject, file: str) -> None:
    """What git does to a text file without being told is named, with the file."""
    path = finished.ledger / file
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    said = finished("ledger", "log")
    assert said.code == 3
    assert f"ledger/{file}" in said.err
    if file == "checkpoint":
        assert "CR LF" in said.err
        assert "CR LF" in finished("verify", "latest").err


def test_record_with_converted_line_ends_is_told_as_such(finished: SmallProject) -> None:
    """Each line is no canonical JSON by one carriage return."""
    path = finished.last / "record.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "CR LF" in finished("verify", "latest").out


@pytest.mark.parametrize("command", ["verify", "gate", "report"])
def test_project_before_its_first_run_is_told_how_to_begin(fresh: SmallProject, command: str) -> None:
    """One who stands in the project's folder is not sent there."""
    said = fresh(command, "latest")
    assert said.code == 2
    assert "there is no ledger here or above" in said.err
    assert "trialplate run --yes" in said.err


def test_commit_before_the_first_run_is_told_how_to_begin_without_one(fresh: SmallProject) -> None:
    """Committing ahead of a run is what the command is for."""
    said = fresh("commit")
    assert said.code == 2
    assert "trialplate keys new NAME" in said.err
    assert "trialplate ledger init" in said.err


def test_commit_shows_the_digests_that_validate_and_the_ledger_show(finished: SmallProject) -> None:
    """The same words stand beside the same digest."""
    mark = re.search(r"pass mark (sha256:[0-9a-f]{64})", finished("validate").out)
    assert mark
    assert f"pass mark {mark[1]}: already committed as ledger entry 2" in finished("commit").out
    assert mark[1][:19] in finished("ledger", "log").out


def test_run_that_goes_on_cannot_be_waived(finished: SmallProject) -> None:
    """A waiver is for ever: who writes the record holds its lock, and the waiver waits for it in vain."""
    before = (finished.ledger / "entries.jsonl").read_bytes()
    with hold(finished.last / LOCK_NAME, "this test"):
        said = finished("waive", "latest", "--reason", "too slow")
    assert said.code == 4
    assert "this run is still going on" in said.err
    assert (finished.ledger / "entries.jsonl").read_bytes() == before
    assert finished("waive", "latest", "--reason", "too slow").code == 0


def test_plan_s_warnings_and_the_word_pilot_stand_above_the_run_too(tmp_path: Path) -> None:
    """Whoever does not look at the estimate first is warned all the same."""
    project = SmallProject.write(tmp_path, plan_text("  m: {runner: command, argv: [sh, bto.sh]}", repeats=1))
    (project.root / "bot.sh").write_text("cat >/dev/null; echo Paris 4 blue 8\n", encoding="utf-8")
    warned = [line for line in project("run").out.splitlines() if line.startswith("warning: ")]
    assert any("bto.sh" in line for line in warned)
    said = project("run", "--yes", "--limit", "1")
    assert set(warned) <= set(said.err.splitlines())
    assert ": 1 trial (a pilot: it never decides)" in said.err


def test_standing_unfinished_run_is_named_before_the_next(finished: SmallProject) -> None:
    """It will make the next gate inconclusive: better told before the money is spent."""
    forger = Forger(finished)
    forger.drop("decision")
    forger.drop("run.end")
    forger.sign()
    (finished.home / "known.json").unlink()
    said = finished("run", "--yes")
    assert said.code == 0
    told = f"note: run {finished.runs[-2].name} is unfinished: an open attempt until it is resumed or waived"
    assert said.err.count("note: run ") == 1
    assert told in said.err
    finished("waive", finished.runs[-2].name, "--reason", "it died")
    assert "note: run " not in finished("run", "--yes").err
    verified = finished("verify", f"runs/{finished.runs[-3].name}")
    assert "RUN-UNFINISHED" not in verified.out
    assert "unfinished, and waived" in verified.out


def test_gate_without_the_private_key_is_told_of_no_append(finished: SmallProject, tmp_path: Path) -> None:
    """A pipeline has no key and should not get one."""
    finished.run()
    said = finished.as_stranger(tmp_path)("gate", "latest", "--model", "good")
    assert said.code == 2
    assert "do: decide without appending, with --no-append" in said.err
    assert finished.as_stranger(tmp_path)("gate", "latest", "--model", "good", "--no-append").code == 0


def test_estimate_says_what_the_run_would_refuse(finished: SmallProject) -> None:
    """It does not promise a new ledger where one is missing; it writes nothing, and so it refuses nothing."""
    shutil.rmtree(finished.ledger)
    said, really = finished("run"), finished("run", "--yes")
    assert (said.code, really.code) == (0, 2)
    assert "warning: --yes will refuse: this project has no ledger, but" in said.out
    assert "this project has no ledger, but" in really.err


def test_failed_check_in_json_says_what_failed(finished: SmallProject) -> None:
    """No sentence of success stands beside FAIL."""
    checkpoint = finished.ledger / "checkpoint"
    old = {path.name: path.read_bytes() for path in finished.ledger.iterdir() if path.is_file()}
    finished.run()
    for name, content in old.items():
        (finished.ledger / name).write_bytes(content)
    assert checkpoint.read_bytes() == old["checkpoint"]
    checks = {item["id"]: item for item in finished("verify", "ledger", "--json").json[0]["checks"]}
    assert (checks["V06"]["status"], checks["V06"]["sentence"]) == ("FAIL", "LEDGER-ROLLED-BACK")


@pytest.mark.parametrize(
    ("variable", "arguments", "said"),
    [
        ("nope", ["verify", "latest"], "TRIALPLATE_TRUST: no key to trust"),
        ("", ["verify", "latest", "--trust", "nope"], "--trust nope: no key to trust"),
    ],
)
def test_key_that_is_none_is_told_by_the_name_it_came_under(
    finished: SmallProject, variable: str, arguments: list[str], said: str
) -> None:
    """A variable that is set somewhere is named, not an option that nobody typed."""
    done = finished(*arguments, TRIALPLATE_TRUST=variable)
    assert done.code == 2
    assert said in done.err


def test_checkpoint_of_another_ledger_is_told_as_such(finished: SmallProject, tmp_path: Path) -> None:
    """Not as a signature that is missing."""
    other = SmallProject.write(tmp_path / "other")
    other.run()
    said = finished("verify", "ledger", "--against", str(other.ledger / "checkpoint"))
    assert said.code == 3
    assert "ORIGIN-MISMATCH" in said.out
    assert "SIG-MISSING" not in said.out


def test_relative_configuration_folder_is_refused(fresh: SmallProject) -> None:
    """Keys would be made inside the project, and be gone in the next folder."""
    said = fresh("run", "--yes", TRIALPLATE_HOME="home")
    assert said.code == 2
    assert "TRIALPLATE_HOME=home: this is a relative path" in said.err
    assert not (fresh.root / "home").exists()


@pytest.mark.parametrize(
    ("command", "option", "hint"),
    [
        ("gate", "--modle", "--model"),
        ("gate", "--modle=good", "--model"),
        ("gate", "--no-apend", "--no-append"),
        ("gate", "--zzz", None),
        ("verify", "--model", None),
        ("verify", "--jsn", "--json"),
    ],
)
def test_misspelt_option_of_the_auditor_s_program_is_told_the_nearest(
    finished: SmallProject, command: str, option: str, hint: str | None
) -> None:
    """In the words of its own command, and among its own options."""
    said = finished(command, "latest", option)
    assert said.code == 2
    assert f"trialplate {command} takes no {option.partition('=')[0]}" in said.err
    assert (f"did you mean {hint}?" if hint else f"see trialplate {command} --help") in said.err


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("command", ["verify", "gate", "report"])
def test_checkpoint_that_was_changed_to_cover_no_run_is_told_as_such(
    finished: SmallProject, command: str, size: int
) -> None:
    """`latest` is then the newest folder, and the checks say what is wrong: not that nothing was run yet."""
    path = finished.ledger / "checkpoint"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"%d" % size, *lines[2:]]))
    said = finished(command, "latest")
    assert said.code == 3
    assert "NOTE-SIGNATURE" in said.out


def test_report_gives_as_reasons_the_scorers_that_failed(tmp_path: Path) -> None:
    """What an answer passed is not why it failed."""
    plan = plan_text("  m: {runner: stand-in, answers: {'*': Paris}}", repeats=1)
    plan = plan.replace("pass_mark:", "  word: {type: regex, pattern: '^[A-Z]'}\npass_mark:")
    project = SmallProject.write(tmp_path, plan)
    project.run()
    why = [line for line in project("report").out.splitlines() if line.strip().startswith("why:")]
    assert why
    assert all("correct:" in line and "word:" not in line for line in why)


def test_misspelt_tag_of_a_scorer_is_told_where_it_stands(tmp_path: Path) -> None:
    """Not at the rule, which cannot help it."""
    plan = plan_text(repeats=1, rules="    - {id: word, at_least: 0.5, of: word, basis: estimate}\n")
    plan = plan.replace("pass_mark:", "  word: {type: exact, cases: {tag: mth}}\npass_mark:")
    said = SmallProject.write(tmp_path, plan)("run")
    assert said.code == 2
    line = next(number for number, text in enumerate(plan.splitlines(), 1) if "mth" in text)
    assert f"trialplate.yaml:{line}:" in said.err
    assert "the scorer word applies to no case, and a rule is about it" in said.err
    assert "math" in said.err


@pytest.mark.parametrize("content", ["", "id,input,reference,tags\n"])
def test_empty_file_beside_a_full_one_is_refused(tmp_path: Path, content: str) -> None:
    """An export that failed does not shrink the test set without a word."""
    plan = plan_text(repeats=1).replace("- file: cases/q.csv", "- file: cases/q.csv\n  - file: cases/more.csv")
    project = SmallProject.write(tmp_path, plan, CASES)
    (project.root / "cases" / "more.csv").write_text(content, encoding="utf-8")
    said = project("validate")
    assert said.code == 2
    assert "cases/more.csv" in said.err


def test_address_with_the_path_of_the_request_is_refused(tmp_path: Path) -> None:
    """It would be posted to .../chat/completions/chat/completions."""
    plan = plan_text("  m: {runner: openai-compatible, url: 'http://127.0.0.1:9/v1/chat/completions', model: m}")
    said = SmallProject.write(tmp_path, plan)("validate")
    assert said.code == 2
    assert "expected the base address" in said.err


def test_setting_beside_settings_is_told_where_it_goes(tmp_path: Path) -> None:
    """`temperature` is no key of a model: it is sent as it is, and stands with what is sent."""
    model = "runner: openai-compatible, url: 'http://127.0.0.1:9/v1', model: m, temperature: 0"
    said = SmallProject.write(tmp_path, plan_text(f"  a: {{{model}}}"))("validate")
    assert said.code == 2
    assert 'unknown key "temperature"' in said.err
    assert "what is sent with every request stands under settings:" in said.err


def test_recording_where_no_model_is_called_is_warned_of(tmp_path: Path) -> None:
    """Replaying would have nothing to replay."""
    said = SmallProject.write(tmp_path)("run", "--cache", "live")
    assert said.code == 0
    assert "there is nothing to record: no model here is called\n" in said.out


def test_replay_of_a_cassette_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    """Nothing was run, so nothing is incomplete."""
    model = "runner: openai-compatible, url: 'http://127.0.0.1:9/v1', model: m"
    project = SmallProject.write(tmp_path, plan_text(f"  a: {{{model}}}\n  b: {{{model}}}", repeats=1))
    (project.root / "cassettes").mkdir()
    (project.root / "cassettes" / "a.jsonl").write_bytes(b"")
    said = project("run", "--yes", "--cache", "replay")
    assert said.code == 2
    assert "cassettes/b.jsonl: there is no such cassette" in said.err


@pytest.mark.parametrize("starter", [["demo", "there"]])
def test_starter_is_not_unpacked_into_a_file(fresh: SmallProject, starter: list[str]) -> None:
    """Nor is the file called a folder that is not empty."""
    (fresh.root / "there").write_text("mine\n", encoding="utf-8")
    said = fresh("init", *starter)
    assert said.code == 2
    assert "this is no folder" in said.err
    assert (fresh.root / "there").read_text(encoding="utf-8") == "mine\n"


def test_empty_folder_is_told_how_to_begin(tmp_path: Path) -> None:
    """Whoever has nothing yet is not sent to look for it."""
    said = SmallProject(tmp_path, tmp_path / "home")("run")
    assert said.code == 2
    assert "`trialplate init` begins a new project" in said.err


def test_gate_that_cannot_write_the_ledger_is_told_of_no_append(finished: SmallProject, tmp_path: Path) -> None:
    """A checkout that nobody may write decides all the same; here something that is no file stands in the way."""
    finished.run()
    lock = finished.ledger / LOCK_NAME
    lock.unlink(missing_ok=True)
    lock.mkdir()
    said = finished("gate", "latest", "--model", "good")
    assert said.code == 4
    assert "do: decide without appending, with --no-append; or " in said.err
    assert finished("gate", "latest", "--model", "good", "--no-append").code == 0
