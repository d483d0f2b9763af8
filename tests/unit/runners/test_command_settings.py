# SPDX-License-Identifier: Apache-2.0
"""The settings of a command, and what it may see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record.values import Configuration, PlanText
from trialplate.runners.base import RunnerContext
from trialplate.runners.command import check_configuration, make
from trialplate.transport.process import NotStarted, child_environment, resolve_program


def configuration(settings: dict[str, Any], **changes: Any) -> Configuration:
    """Return a configuration of a command."""
    return Configuration(name="c", model="c", profile="default", runner="command", settings=settings, **changes)


@pytest.mark.parametrize(
    ("settings", "argv"),
    [
        ({"argv": ["echo", "a", "&&", ""]}, ["echo", "a", "&&", ""]),
        ({"shell": "sh bot.sh | cat"}, ["sh", "-c", "sh bot.sh | cat"]),
    ],
)
def test_settings_mean_an_argv(settings: dict[str, Any], argv: list[str]) -> None:
    """No shell reads an argv; a shell reads one line."""
    assert check_configuration(configuration(settings)) == argv


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"argv": ["a"], "shell": "b"},
        {"argv": "pytest -q"},
        {"argv": []},
        {"argv": [""]},
        {"argv": ["a", 1]},
        {"argv": ["a\0b"]},
        {"shell": ""},
        {"shell": ["a"]},
        {"argv": ["a"], "env": "PATH"},
        {"argv": ["a"], "timeout": 3},
    ],
)
def test_settings_that_name_no_program_are_refused(settings: dict[str, Any]) -> None:
    """Case A04: an argv that is one string, or empty, is no argv."""
    with pytest.raises(SpecError) as caught:
        check_configuration(configuration(settings))
    assert caught.value.code == "COMMAND"


def test_documents_for_a_command_are_refused() -> None:
    """They would reach nobody, and the author would believe that they do."""
    text = PlanText(role="document", name="a.md", commitment="A" * 43)
    with pytest.raises(SpecError):
        check_configuration(configuration({"argv": ["cat"]}, texts=(text,)))


def test_secret_that_is_not_set_is_refused_before_anything_runs() -> None:
    """By its name."""
    with pytest.raises(SpecError, match="RAG_KEY"):
        make(configuration({"argv": ["cat"]}, secret="RAG_KEY"), RunnerContext(project=Path(), environ={}))


def test_environment_of_a_child_is_what_is_allowed_and_named() -> None:
    """Case A07: keys of other models are not in it."""
    environ = {"PATH": "/bin", "LC_ALL": "C", "OPENAI_API_KEY": "k", "MINE": "m", "PYTHONPATH": "x"}
    assert child_environment(environ, ["MINE", "ABSENT"]) == {"PATH": "/bin", "LC_ALL": "C", "MINE": "m"}


@pytest.mark.parametrize("name", ["no-such-program-xyz", "./absent.sh", "./plain.txt", "./folder"])
def test_program_that_cannot_be_run_is_not_started(tmp_path: Path, name: str) -> None:
    """Not found, not executable, or no file: told before a process is made."""
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotStarted, match=name.removeprefix("./")):
        resolve_program(name, tmp_path, {"PATH": "/usr/bin:/bin"})
