# SPDX-License-Identifier: Apache-2.0
"""TAB in a real shell: names that are there are offered, in time, without a word on stderr, and nothing is written."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_project import Project, make_project
from typer.main import get_command

from trialplate.cli import complete
from trialplate.cli.app import app
from trialplate.verify.cli import parser

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with two models, three cases and one run."""
    made = make_project(tmp_path_factory.mktemp("completion"))
    made.run()
    return made


@pytest.fixture(scope="module")
def script(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `--show-completion bash` prints, in a file."""
    file = tmp_path_factory.mktemp("shell") / "completion.sh"
    done = subprocess.run(
        [BIN / "trialplate", "--show-completion", "bash"], env=environ(project), capture_output=True, check=True
    )
    file.write_bytes(done.stdout)
    return file


def environ(project: Project) -> dict[str, str]:
    """Return the environment of the project's user, with the program on the path."""
    kept = {name: os.environ[name] for name in ("LANG", "HOME") if name in os.environ}
    return {**kept, **project.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def offered(project: Project, script: Path, line: str, folder: Path | None = None) -> list[str]:
    """Return what bash would offer at the end of a line, by the function that it calls."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _trialplate_completion trialplate; "
    asked += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        cwd=folder or project.folder,
        env=environ(project),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("trialplate ru", ["run"]),
        ("trialplate ledger d", ["doctor"]),
        ("trialplate gate latest --m", ["--model"]),
        ("trialplate gate latest --no", ["--no-append"]),
        ("trialplate verify --ag", ["--against"]),
        ("trialplate gate la", ["latest"]),
        ("trialplate verify la", ["latest"]),
        ("trialplate report la", ["latest"]),
        ("trialplate waive la", ["latest"]),
        ("trialplate gate latest --model ", ["good", "bad"]),
        ("trialplate gate latest --model g", ["good"]),
        ("trialplate gate latest --model = g", ["good"]),
        ("trialplate gate latest --model =", ["good", "bad"]),
        ("trialplate gate --model = good lat", ["latest"]),
        ("trialplate run --models ", ["good", "bad"]),
        ("trialplate run --models good,", ["good,bad"]),
        ("trialplate run --only ", ["q1", "q2", "q3"]),
        ("trialplate run --only q1,", ["q1,q2", "q1,q3"]),
        ("trialplate run --only q1,q3,q", ["q1,q3,q2"]),
        ("trialplate run --cache re", ["replay"]),
        ("trialplate run --cache a", ["auto"]),
        ("trialplate report --format m", ["markdown"]),
        ("trialplate show la", ["latest"]),
        ("trialplate show latest q", ["q1", "q2", "q3"]),
        ("trialplate show latest --model b", ["bad"]),
        ("trialplate ls --js", ["--json"]),
        ("trialplate init op", ["openai-compatible", "openai"]),
        ("trialplate schema led", ["ledger-entry"]),
        ("trialplate ledger init --key ", ["tester"]),
        ("trialplate run --only zzz", []),
    ],
)
def test_bash_offers_what_could_stand_there(project: Project, script: Path, line: str, names: list[str]) -> None:
    """In the order in which they stand in the plan, the command or the list."""
    assert offered(project, script, line) == names


def test_bash_offers_the_runs_newest_first(project: Project, script: Path) -> None:
    """`latest`, then every run there is; a second run comes before the first."""
    project.run()
    newest_first = [run.name for run in sorted(project.runs, reverse=True)]
    assert offered(project, script, "trialplate gate ") == ["latest", *newest_first]
    first = newest_first[-1]
    assert offered(project, script, f"trialplate gate {first[:-3]}") == [first]
    assert offered(project, script, f"trialplate gate {first} --model b") == ["bad"]


@pytest.mark.parametrize(
    "line", ["trialplate gate ", "trialplate run --only ", "trialplate run --models ", "trialplate gate x --model "]
)
def test_where_nothing_can_be_looked_up_nothing_is_offered(
    project: Project, script: Path, tmp_path: Path, line: str
) -> None:
    """In an empty folder, and where the plan cannot be read: no error, no traceback, nothing written."""
    assert offered(project, script, line, tmp_path) == []
    (tmp_path / "trialplate.yaml").write_text("models: [", encoding="utf-8")
    assert offered(project, script, line, tmp_path) == []
    assert [file.name for file in tmp_path.iterdir()] == ["trialplate.yaml"]


def read_until(master: int, wanted: str) -> str:
    """Read from a terminal until a text has come."""
    came = ""
    while wanted not in came:
        ready, _, _ = select.select([master], [], [], 60)
        assert ready, came
        came += os.read(master, 4096).decode()
    return came


@pytest.fixture
def terminal(project: Project, script: Path) -> Iterator[int]:
    """An interactive bash in the project's folder; what is written to it is typed."""
    child, master = pty.fork()
    if child == 0:
        os.chdir(project.folder)
        os.execvpe(
            "bash", ["bash", "--norc", "--noprofile", "-i"], {**environ(project), "PS1": "ready> ", "TERM": "dumb"}
        )
    try:
        read_until(master, "ready> ")
        os.write(master, f"source {script}\n".encode())
        read_until(master, "ready> ")
        yield master
    finally:
        os.close(master)
        os.waitpid(child, 0)


def test_tab_in_an_interactive_bash_completes_the_line(terminal: int) -> None:
    """As it is typed: the command, then the name of a configuration, also behind an equals sign."""
    os.write(terminal, b"trialplate gate latest --no\t")
    assert "--no-append" in read_until(terminal, "--no-append ")
    os.write(terminal, b"--model=go\t")
    assert "--model=good" in read_until(terminal, "--model=good")


@pytest.mark.parametrize(
    ("shell", "asked", "wanted"),
    [
        ("zsh", {}, '"good"'),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "good"),
    ],
)
def test_other_shells_are_answered_in_their_own_form(
    project: Project, shell: str, asked: dict[str, str], wanted: str
) -> None:
    """Without the shell itself: what it would ask, and what it would read."""
    line = {"_TYPER_COMPLETE_ARGS": "trialplate gate latest --model g", "_TRIALPLATE_COMPLETE": f"complete_{shell}"}
    done = subprocess.run(
        [BIN / "trialplate"],
        cwd=project.folder,
        env={**environ(project), **line, **asked},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert wanted in done.stdout


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/trialplate.sh"),
        ("zsh", ".zfunc/_trialplate"),
        ("fish", ".config/fish/completions/trialplate.fish"),
    ],
)
def test_completion_is_installed_where_the_shell_reads_it(
    project: Project, tmp_path: Path, shell: str, file: str
) -> None:
    """By name, or for the user's own shell; the place is told."""
    for arguments, variables in (([shell], {}), ([], {"SHELL": f"/usr/bin/{shell}"})):
        done = subprocess.run(
            [BIN / "trialplate", "--install-completion", *arguments],
            env={**environ(project), "HOME": str(tmp_path), **variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert str(tmp_path / file) in done.stdout
        assert "_TRIALPLATE_COMPLETE" in (tmp_path / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "shell", "said"),
    [
        (["--show-completion"], "", "which shell is it for?"),
        (["--show-completion"], "/bin/tcsh", "there is no completion for 'tcsh'"),
        (["--show-completion", "bsah"], "", "did you mean bash?"),
        (["--install-completion", "powershell"], "", "there is no completion for 'powershell'"),
    ],
)
def test_shell_that_cannot_be_served_is_told_which_can(
    project: Project, tmp_path: Path, arguments: list[str], shell: str, said: str
) -> None:
    """Exit 2, and nothing is installed."""
    done = subprocess.run(
        [BIN / "trialplate", *arguments],
        env={**environ(project), "HOME": str(tmp_path), "SHELL": shell},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_comma_list_offers_what_is_not_in_it_yet() -> None:
    """Whatever was typed before the last comma is kept."""
    assert list(complete._listed(["a", "b", "c"], "c,a,")) == ["c,a,b"]
    assert list(complete._listed(["a", "b"], "a")) == ["a", "b"], "the shell leaves out what does not begin so"


@pytest.mark.parametrize("name", ["verify", "gate"])
def test_options_that_are_completed_are_those_of_the_auditors_program(name: str) -> None:
    """Both lists say the same: a new option of verify or gate is completed, and none is that does not exist."""
    (choices,) = (action.choices for action in parser()._actions if isinstance(action.choices, dict))
    really = {option for action in choices[name]._actions for option in action.option_strings} - {"-h", "--help"}
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    assert {option for item in command.params for option in item.opts if option.startswith("-")} == really
    given = {action.dest: action.metavar for action in choices[name]._actions if action.dest != "help"}
    assert {item.name: item.metavar for item in command.params} == {
        key: metavar or item_metavar(command, key) for key, metavar in given.items()
    }


def item_metavar(command: object, key: str) -> str | None:
    """Return the metavar of a flag, which has none of its own."""
    return next(item.metavar for item in command.params if item.name == key)  # type: ignore[attr-defined]


def test_names_that_a_shell_would_run_or_spread_are_not_offered(script: Path, tmp_path: Path) -> None:
    """A test set by another hand may call a case `$(...)`: what is offered goes into the line as it is."""
    evil = [
        "$(touch pwned)",
        "`touch pwned`",
        "a;touch pwned",
        "a b",
        "*",
        "~root",
        "!!",
        "-rf",
        "a'b",
        "a|b",
        "#x",
        "&",
    ]
    rows = "".join(f'"{name}",Question {number}?,x,\n' for number, name in enumerate(evil))
    project = make_project(tmp_path)
    (project.folder / "cases" / "q.csv").write_text(
        f"id,input,reference,tags\n{rows}fine-1,Where?,x,\ncafé,When?,x,\n", encoding="utf-8"
    )
    plan = (project.folder / "trialplate.yaml").read_text()
    kept = [line for line in plan.splitlines() if not line.startswith(("  good:", "  bad:")) and "critical" not in line]
    kept.insert(kept.index("models:") + 1, '  good: {runner: stand-in, answers: {"*": "x"}}')
    (project.folder / "trialplate.yaml").write_text("\n".join(kept) + "\n")
    assert offered(project, script, "trialplate run --only ") == ["fine-1", "café"]
    project.run()
    assert offered(project, script, "trialplate show latest ") == ["fine-1", "café"]
    assert not list(project.folder.rglob("pwned*"))
