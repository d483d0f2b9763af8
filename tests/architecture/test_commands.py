# SPDX-License-Identifier: Apache-2.0
"""Every command can be asked for help, and says what it does: lazy imports hide broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from trialplate.cli.app import app
from trialplate.cli.main import main

COMMANDS = get_command(app)


def _paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command and group."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from _paths(inner, (*path, name))


ALL = [path for path in _paths(COMMANDS) if path]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_of_every_command_runs(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` is exit 0 and prints usage."""
    try:
        code = main([*path, "--help"])
    except SystemExit as done:
        code = int(done.code or 0)
    assert code == 0
    out = capsys.readouterr().out
    assert "usage" in out.lower()
    assert path[-1] in out


def test_commands_are_those_of_this_issue() -> None:
    """The list of DESIGN 8 as far as it exists; a command is added with its documentation."""
    assert {path[0] for path in ALL if len(path) == 1} == {
        "init",
        "validate",
        "plan",
        "commit",
        "run",
        "resume",
        "report",
        "ls",
        "show",
        "plugins",
        "doctor",
        "gate",
        "verify",
        "waive",
        "schema",
        "judge-check",
        "keys",
        "ledger",
        "baseline",
    }
    inner = {"new", "init", "log", "show", "doctor", "set", "list", "sample", "score"}
    assert {path[1] for path in ALL if len(path) == 2} == inner


def test_first_page_is_that_of_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """A person who types `trialplate --help` sees all there is, each with its own sentence and none cut off."""
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    listed = page.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert listed == [f"  {name:<11} {' '.join(command.help.split())}" for name, command in COMMANDS.commands.items()]
    options = page.partition("Options:\n")[2].partition("\n\n")[0].splitlines()
    shown = [(item.opts[0] + (f" {item.metavar}" if item.metavar else ""), item.help) for item in COMMANDS.params]
    shown.append(("--help", "Show this message and exit."))
    width = max(len(name) for name, _ in shown)
    assert options == [f"  {name:<{width}}  {words}" for name, words in shown]
    assert f"  {COMMANDS.help}\n" in page
    with pytest.raises(SystemExit, match="0"):
        COMMANDS.main(["--help"], prog_name="trialplate")
    assert capsys.readouterr().out.splitlines()[0] == page.splitlines()[0]


def test_no_command_at_all_is_wrong_usage_with_the_first_page(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that lost its argument does not go on as if something had been done."""
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: trialplate ")


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_option_has_help(path: tuple[str, ...]) -> None:
    """No option is a riddle."""
    command: Any = COMMANDS
    for name in path:
        command = command.commands[name]
    assert command.help
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{' '.join(path)} {parameter.name}"
