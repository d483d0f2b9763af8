# SPDX-License-Identifier: Apache-2.0
"""What a command loads: nothing heavy for help, verify and gate; two packages for the auditor's program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from run_project import Project, make_project

import trialplate

SOURCE = Path(trialplate.__file__).parent
HEAVY = {
    "aiohttp",
    "asyncio",
    "docker",
    "filelock",
    "httpx",
    "httpx_aiohttp",
    "jinja2",
    "jsonschema",
    "numpy",
    "platformdirs",
    "pydantic",
    "regex",
    "rich",
    "sqlite3",
    "sqlite_utils",
    "yaml",
}
LOADED = """
import sys
from trialplate.cli.main import run
try:
    run()
except SystemExit as done:
    code = done.code
print("LOADED", code or 0, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
ONLY_TWO = """
import sys

ALLOWED = {"trialplate", "rfc8785", "cryptography", "cffi", "_cffi_backend", "pycparser"}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in ALLOWED and root not in sys.stdlib_module_names:
            raise ImportError(f"the auditor has no package {root!r}")
        return None

sys.meta_path.insert(0, Refuse())
from trialplate.verify.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run, known to its owner."""
    made = make_project(tmp_path_factory.mktemp("startup"))
    made.run()
    return made


def run(project: Project, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter in a project's folder."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, *command],
        cwd=project.folder,
        env={**kept, **project.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def loaded(project: Project, *arguments: str, **environ: str) -> tuple[int, set[str]]:
    """Return a command's exit code and every package that it loaded."""
    done = run(project, "-c", LOADED, *arguments, **environ)
    match = re.search(r"^LOADED (\d+) (.*)$", done.stderr, re.MULTILINE)
    assert match, done.stderr
    return int(match[1]), set(match[2].split())


SLOW = {"dataclasses", "inspect", "ast", "tokenize", "typer"}
"""What takes an eighth of a start and more, and is easily brought in by an import."""


def test_first_page_is_all_that_help_loads(project: Project) -> None:
    """`--help` opens the front door and prints a page."""
    code, names = loaded(project, "--help")
    assert code == 0
    assert names & (HEAVY | SLOW | {"cryptography", "rfc8785", "argparse", "json"}) == set()


def test_version_loads_nothing_heavy(project: Project) -> None:
    """The version needs typer and our own signatures, and no command's body.

    (The help of a single command loads pydantic: typer 0.29 builds its parameters with it. So verify and gate have a
    program of their own.)
    """
    code, names = loaded(project, "--version")
    assert code == 0
    assert names & (HEAVY | {"cryptography", "rfc8785"}) == set()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["verify"], 0),
        (["verify", "latest", "--json"], 0),
        (["verify", "--help"], 0),
        (["gate", "latest", "--model", "good", "--no-append"], 0),
        (["gate", "latest", "--model", "bad", "--no-append", "--json"], 1),
        (["gate", "latest", "--model", "nobody"], 2),
        (["gate", "--help"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("known", [True, False])
def test_verify_and_gate_load_neither_typer_nor_anything_heavy(
    project: Project, tmp_path: Path, arguments: list[str], code: int, known: bool
) -> None:
    """The front door sends both to the auditor's program, whether or not the ledger is known here."""
    environ = {} if known else {"TRIALPLATE_HOME": str(tmp_path)}
    found, names = loaded(project, *arguments, **environ)
    assert found == code
    assert names & (HEAVY | SLOW | {"click", "importlib_metadata", "subprocess"}) == set()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["verify"], 0),
        (["verify", "nosuch"], 2),
        (["gate", "latest", "--model", "good"], 0),
        (["gate", "latest", "--model", "bad", "--json"], 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_auditors_program_works_with_two_packages_alone(project: Project, arguments: list[str], code: int) -> None:
    """Every import but rfc8785, cryptography and what cryptography needs is refused, and the answers are the same."""
    entries = (project.ledger / "entries.jsonl").read_bytes()
    done = run(project, "-c", ONLY_TWO, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert (project.ledger / "entries.jsonl").read_bytes() == entries, "the auditor's program appends nothing"
    same = run(project, "-m", "trialplate.verify", *arguments)
    assert (same.returncode, same.stdout) == (done.returncode, done.stdout)


def test_auditors_program_needs_what_it_says_it_needs(project: Project) -> None:
    """The refusal works: with the second package refused as well, nothing runs."""
    script = ONLY_TWO.replace('"cryptography", ', "")
    done = run(project, "-c", script, "verify")
    assert done.returncode != 0
    assert "the auditor has no package 'cryptography'" in done.stderr


def test_import_of_the_package_loads_nothing(project: Project) -> None:
    """`import trialplate` is the version and a docstring."""
    script = "import sys, trialplate; print(*sorted(n for n in sys.modules if n.startswith('trialplate')))"
    assert run(project, "-c", script).stdout.split() == ["trialplate"]


ASKS = """
import asyncio, sys
from trialplate.transport.http import HttpClient, HttpFailure, HttpRequest

async def ask():
    client = HttpClient()
    try:
        await client.send(HttpRequest(url="http://127.0.0.1:1/"), b"", timeout_s=30, limit=1)
    except HttpFailure as failure:
        return failure.kind
    finally:
        await client.close()

print(asyncio.run(ask()), *{name.partition(".")[0] for name in sys.modules})
import httpx._main
"""


def test_first_request_does_without_the_command_line_of_its_library(project: Project) -> None:
    """And whoever wants that command line still gets it."""
    done = run(project, "-c", ASKS)
    assert done.returncode == 0, done.stderr
    failure, *names = done.stdout.split()
    assert failure == "refused_connection"
    assert {"httpx", "aiohttp"} <= set(names)
    assert {"click", "rich", "pygments"} & set(names) == set()


ENDS = """
import atexit
from trialplate.cli import main as door

def main(arguments, real=door.main):
    atexit.register(print, "a plugin's last words")
    return real(arguments)

door.main = main
door.run()
"""
EARLIER = "import atexit; atexit.register(print, 'as a profiler would say');" + ENDS


@pytest.mark.parametrize(("arguments", "code"), [(["verify"], 0), (["--version"], 0), (["report", "nosuch"], 2)])
def test_command_ends_with_its_code_after_everybody_elses_last_words(
    project: Project, arguments: list[str], code: int
) -> None:
    """It leaves without taking the interpreter down, and loses nothing by that."""
    done = run(project, "-c", ENDS, *arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout.endswith("a plugin's last words\n")
    watched = run(project, "-c", EARLIER, *arguments)
    assert watched.returncode == code
    assert watched.stdout.endswith("a plugin's last words\nas a profiler would say\n")
    assert run(project, "-m", "trialplate", *arguments).returncode == code
