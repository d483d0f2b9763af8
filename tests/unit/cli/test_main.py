# SPDX-License-Identifier: Apache-2.0
"""The front door and its commands, in this process: exit codes, what goes where, and what a command leaves behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_project import PLAN, Project, make_project

from trialplate import __version__
from trialplate.cli import main as front
from trialplate.cli.run import RunOptions
from trialplate.errors import UsageError

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a ledger, the current folder of this process."""
    made = make_project(tmp_path)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(made.home))
    for name in ("TRIALPLATE_KEY", "TRIALPLATE_KEY_FILE", "TRIALPLATE_TRUST"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command line; return its exit code, its output and what it said aside."""

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = front.main(arguments)
        except SystemExit as done:
            code = int(done.code or 0)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_version_is_printed(say: Say) -> None:
    """One line."""
    assert say("--version") == (0, f"trialplate {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nothing",),
        ("run", "--nothing"),
        ("run", "--limit", "0"),
        ("run", "--repeats", "x"),
        ("run", "--cache", "maybe"),
        ("report", "2027"),
        ("gate",),
        ("gate", "latest", "--nothing"),
        ("verify", "nowhere"),
        ("ledger", "show", "99"),
        ("ledger", "show", "-1"),
        ("waive", "latest"),
        ("schema", "nothing"),
        ("keys", "new", "a b"),
        ("init", "nothing"),
        ("ledger", "init"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_2_and_leaves_nothing(project: Project, say: Say, arguments: tuple[str, ...]) -> None:
    """Nothing on stdout that a program could take for a result, something on stderr, and the ledger as it was."""
    before = (project.ledger / "entries.jsonl").read_bytes()
    code, out, err = say(*arguments)
    assert code == 2
    assert out == ""
    assert err
    assert (project.ledger / "entries.jsonl").read_bytes() == before
    assert not (project.folder / "runs").exists()


def test_errors_go_to_stderr_with_place_and_action(project: Project, say: Say) -> None:
    """What, where, and one thing to do."""
    project.write(PLAN.replace("of: correct", "of: corect"))
    code, out, err = say("validate")
    assert (code, out) == (2, "")
    assert err.startswith("error: trialplate.yaml:")
    assert "\n  do: " in err
    assert '"correct"' in err


def test_error_text_shows_control_characters(project: Project, say: Say) -> None:
    """A name that would clear the line is shown, not sent."""
    _, _, err = say("report", "\x1b[2K\rPASS")
    assert "\x1b" not in err
    assert "\\x1b[2K\\rPASS" in err


def test_interrupt_is_130_and_a_bug_is_a_traceback(monkeypatch: pytest.MonkeyPatch, say: Say) -> None:
    """ctrl-C ends quietly; an error that is no deliberate one is not dressed up as a result."""
    from trialplate.cli import app

    def interrupted(arguments: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "application", interrupted)
    code, out, err = say("validate")
    assert (code, out, err) == (130, "", "interrupted\n")

    def broken(arguments: Any) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(app, "application", broken)
    with pytest.raises(ZeroDivisionError):
        say("validate")


# ------------------------------------------------------------------------------------------------------------ run


def test_run_without_yes_estimates_and_writes_nothing(project: Project, say: Say) -> None:
    """No run folder, no entry, no key: an estimate, and how to go on."""
    before = sorted(item for item in project.folder.rglob("*"))
    entries = (project.ledger / "entries.jsonl").read_bytes()
    code, out, _ = say("run")
    assert code == 0
    assert "12 trials" in out
    assert "good: 6 trials" in out
    assert "price unknown" in out
    assert "unknown: bad" in out
    assert "nothing was written or spent; run it with --yes" in out
    assert sorted(item for item in project.folder.rglob("*")) == before
    assert (project.ledger / "entries.jsonl").read_bytes() == entries


def test_run_estimate_as_json_has_null_for_unknown(project: Project, say: Say) -> None:
    """Programs read null where a price is unknown, never 0."""
    _, out, _ = say("run", "--json")
    costs = {item["configuration"]: item["cost"] for item in json.loads(out)["estimate"]}
    assert costs == {"good": {"currency": "USD", "nano": 0}, "bad": None}


def test_run_with_yes_prints_its_id_alone_and_tells_the_rest_aside(project: Project, say: Say) -> None:
    """The result is one line that a script can use."""
    code, out, err = say("run", "--yes")
    assert code == 0
    assert out == project.runs[0].name + "\n"
    assert "complete: 6 passed, 6 failed of 12 trials" in err
    assert "committed the test set" in err
    assert "next: trialplate report" in err


def test_run_does_not_return_1_for_wrong_answers_and_gate_does(project: Project, say: Say) -> None:
    """Measuring went well; deciding is the gate's."""
    assert say("run", "--yes", "--models", "bad")[0] == 0
    assert say("run", "--yes", "--json")[0] == 0
    assert say("gate", "latest", "--model", "good")[0] == 0
    assert say("gate", "latest", "--model", "bad")[0] == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--only", "q9"), "--only: there is no 'q9' in this plan"),
        (("--models", "godo"), "--models: there is no 'godo' in this plan"),
    ],
)
def test_run_of_a_mistyped_selection_is_refused_before_anything(
    project: Project, say: Say, flags: tuple[str, ...], message: str
) -> None:
    """With and without --yes."""
    for yes in ((), ("--yes",)):
        code, out, err = say("run", *flags, *yes)
        assert (code, out) == (2, "")
        assert message in err
    assert not (project.folder / "runs").exists()


def test_run_in_a_project_that_never_had_a_ledger_begins_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    """Once; a project whose ledger was deleted does not get another one."""
    fresh = Project(tmp_path / "fresh", tmp_path / "home")
    fresh.write()
    monkeypatch.chdir(fresh.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(fresh.home))
    assert "--yes makes a key and a ledger" in say("run")[1]
    code, _, err = say("run", "--yes")
    assert code == 0
    assert "began the ledger small-" in err
    shutil.rmtree(fresh.ledger)
    code, _, err = say("run", "--yes")
    assert code == 2
    assert "has no ledger, but" in err
    shutil.rmtree(fresh.folder / "runs")
    assert say("run", "--yes")[0] == 2, "its checkpoint is known here"


def test_run_of_a_plan_that_cannot_be_used_makes_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    """A mistake in the plan leaves the folder as it was."""
    fresh = Project(tmp_path / "fresh", tmp_path / "home")
    fresh.write(PLAN.replace("repeats: 2", "repeat: 2"))
    monkeypatch.chdir(fresh.folder)
    monkeypatch.setenv("TRIALPLATE_HOME", str(fresh.home))
    assert say("run", "--yes")[0] == 2
    assert not fresh.home.exists()
    assert not fresh.ledger.exists()


@pytest.mark.parametrize(
    ("fields", "narrowing"),
    [
        ({}, None),
        ({"only": "q1, q2,,"}, ("q1", "q2")),
        ({"limit": 3}, 3),
        ({"models": "good"}, ("good",)),
        ({"repeats": 1}, 1),
    ],
)
def test_run_options_any_narrowing_makes_a_pilot(fields: dict[str, Any], narrowing: Any) -> None:
    """Each flag alone is enough."""
    empty: dict[str, Any] = {"yes": True, "only": None, "limit": None, "models": None, "repeats": None, "cache": None}
    options = RunOptions(**{**empty, "jobs": None, "json": False, **fields})
    found = options.narrowing()
    if narrowing is None:
        assert found is None
    else:
        assert found is not None
        assert narrowing in found.__dict__.values()


def test_run_options_of_an_unknown_cache_mode_are_refused() -> None:
    """off, live or replay."""
    options = RunOptions(
        yes=False, only=None, limit=None, models=None, repeats=None, cache="rewind", jobs=None, json=False
    )
    with pytest.raises(UsageError):
        options.cache_mode()


# ------------------------------------------------------------------------------------------------ ledger and gate


def test_gate_appends_a_decision_once(project: Project, say: Say) -> None:
    """The same decision is not appended twice; --no-append appends nothing."""
    say("run", "--yes")
    count = len(project.view().entries)
    assert say("gate", "latest", "--model", "good", "--no-append")[0] == 0
    assert len(project.view().entries) == count
    for _ in range(2):
        assert say("gate", "latest", "--model", "good")[0] == 0
        assert len(project.view().entries) == count + 1
    assert say("gate", "latest", "--model", "bad")[0] == 1
    assert [entry.type for entry in project.view().entries][-2:] == ["decision", "decision"]
    assert "stated decisions derived again, to the last fraction: 2" in say("verify", "latest")[1]


def test_commit_then_run_names_the_committed_entries(project: Project, say: Say) -> None:
    """`commit` tells the entries; a second one finds them there."""
    assert ": committed as ledger entry 1" in say("commit")[1]
    assert ": already committed as ledger entry 2" in say("commit")[1]
    say("run", "--yes")
    assert "mark 2, test set 1" in say("ledger", "log")[1]


def test_ledger_commands_show_and_check(project: Project, say: Say) -> None:
    """Log, one entry, doctor; a damaged ledger is exit 3 for each of them."""
    assert "log.genesis" in say("ledger", "log")[1]
    code, out, _ = say("ledger", "show", "0")
    assert code == 0
    assert '"type": "log.genesis"' in out
    assert json.loads(out)["digest"].startswith("sha256:")
    assert say("ledger", "doctor")[1].startswith("holds: small-")
    entries = project.ledger / "entries.jsonl"
    entries.write_bytes(entries.read_bytes().replace(b"small-", b"smoll-"))
    for command in (("log",), ("show", "0"), ("doctor",)):
        assert say("ledger", *command)[0] == 3


def test_waive_needs_a_run_of_this_ledger_and_a_reason(project: Project, say: Say) -> None:
    """Signed, with its reason, about exactly one run."""
    say("run", "--yes")
    assert say("waive", "latest", "--reason", "  ")[0] == 2
    assert say("waive", "2027", "--reason", "x")[0] == 2
    code, out, _ = say("waive", project.runs[0].name[:12], "--reason", "wrong prompt")
    assert code == 0
    assert "by the operator himself" in out
    assert "wrong prompt" in say("ledger", "log")[1]


def test_schema_prints_what_stands_on_disk(say: Say) -> None:
    """The same bytes as the committed files."""
    root = Path(__file__).parents[3] / "schemas"
    names = say("schema")[1].split()
    assert {f"{name}.v1.schema.json" for name in names} == {file.name for file in root.glob("*.json")}
    for name in names:
        assert say("schema", name)[1] == (root / f"{name}.v1.schema.json").read_text(encoding="utf-8")


def test_validate_says_what_a_plan_comes_to(project: Project, say: Say) -> None:
    """Digests, cases, tags, rules, configurations; nothing is run."""
    code, out, _ = say("validate")
    assert code == 0
    assert out.startswith("OK: small, 12 trials\n")
    assert "3 cases" in out
    assert "configurations: good, bad" in out


def test_path_the_file_system_refuses_is_named_and_not_taken_for_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    """Only a failure to print is one of the output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALPLATE_HOME", str(tmp_path / "home"))
    code, out, err = say("init", "demo", "a" * 300)
    assert (code, out) == (4, "")
    assert "'" + "a" * 300 + "': File name too long" in err
    assert "output" not in err
    assert list(tmp_path.iterdir()) == []


def test_init_makes_a_project_that_validates_and_estimates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    """A starter works as it is, and a second time refuses to overwrite it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIALPLATE_HOME", str(tmp_path / "home"))
    assert say("init", "demo", "first")[0] == 0
    code, _, err = say("init", "demo", "first")
    assert code == 2
    assert "not empty" in err
    monkeypatch.chdir(tmp_path / "first")
    assert say("validate")[0] == 0
    assert say("run")[0] == 0
    assert "runs/*/content.jsonl" in Path(".gitignore").read_text(encoding="utf-8")
    assert "ledger/** -text -merge" in Path(".gitattributes").read_text(encoding="utf-8")


def test_progress_off_a_terminal_writes_no_control_character(project: Project, say: Say) -> None:
    """Logs of a pipeline hold lines."""
    _, _, err = say("run", "--yes")
    assert "\x1b" not in err
    assert "\r" not in err
    assert "\x1b" not in say("run", "--yes", "--json")[2]
    code, out, err = say("run", "--yes", "--quiet")
    assert (code, out, err) == (0, f"{project.runs[-1].name}\n", "")
