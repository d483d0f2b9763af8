# SPDX-License-Identifier: Apache-2.0
"""Which room may know which: the import contracts of pyproject.toml, and what no import shows."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import trialplate

ROOT = Path(__file__).parents[2]
SOURCE = Path(trialplate.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
PURE = [file for file in MODULES if file.parent.name in ("record", "rules")]
AUDITORS = [SOURCE / "errors.py", *(file for file in MODULES if file.parent.name in ("record", "rules", "verify"))]
ROOMS = {item.name for item in SOURCE.iterdir() if item.is_dir() and (item / "__init__.py").exists()}


def imports_of(file: Path) -> set[str]:
    """Return the first names of everything that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {item.name.partition(".")[0] for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file.name}: relative import"
            found.add((node.module or "").partition(".")[0])
    return found


def test_import_contracts_are_kept() -> None:
    """Rooms depend one way, the auditor's half is closed, record and rules touch nothing, statistics are our own."""
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 kept, 0 broken" in done.stdout


def test_import_contracts_name_every_room() -> None:
    """A new room is given its place; the contract is exhaustive, and every room of the auditor's half is in it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers, closed, pure, own = contracts
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    assert layers["exhaustive"] is True
    assert named >= ROOMS
    assert set(closed["source_modules"]) == {f"trialplate.{name}" for name in ("verify", "rules", "record", "errors")}
    assert set(pure["source_modules"]) == {"trialplate.record", "trialplate.rules"}
    assert own["source_modules"] == ["trialplate"]
    assert {"numpy", "scipy", "sklearn", "statsmodels"} <= set(own["forbidden_modules"])


@pytest.mark.parametrize("file", AUDITORS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_auditors_half_imports_the_standard_library_and_two_packages(file: Path) -> None:
    """errors, record, rules and verify: rfc8785 and cryptography, and nothing else from anybody."""
    foreign = imports_of(file) - set(sys.stdlib_module_names) - {"trialplate"}
    assert foreign <= {"rfc8785", "cryptography"}


FORBIDDEN_CALLS = {"open", "input", "print", "exec", "eval", "__import__", "breakpoint"}
FORBIDDEN_ATTRIBUTES = {
    "now",
    "utcnow",
    "today",
    "time_ns",
    "monotonic",
    "getenv",
    "environ",
    "urandom",
    "read_text",
    "read_bytes",
}


@pytest.mark.parametrize("file", PURE, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_pure_rooms_open_nothing_and_read_no_clock(file: Path) -> None:
    """What no import shows: built-in open, and a clock that is reached through a class."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"{file.name}:{node.lineno} calls {node.func.id}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in FORBIDDEN_ATTRIBUTES, f"{file.name}:{node.lineno} uses .{node.attr}"


def test_only_the_ledger_room_writes_logs() -> None:
    """One room appends: no other module opens a file of a run or a ledger for writing."""
    writers = set()
    for file in MODULES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if names & {"AppendFile", "LogWriter"}:
            writers.add(file.parent.name)
    assert writers == {"ledger"}


def test_only_one_module_decides() -> None:
    """The pass mark is evaluated by one function; a choice adds its rule there, and nobody else builds a result."""
    makers = {
        f"{file.parent.name}/{file.name}"
        for file in MODULES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("RuleResult", "Evaluation")
    }
    assert makers == {"rules/passmark.py", "rules/told.py"}


def test_what_decides_never_reads_the_index() -> None:
    """ADR 26: the index is for lists that people read; verify, gate, resume and reports go to the evidence itself."""
    readers = set()
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [item.name for item in node.names] if isinstance(node, ast.Import) else []
            if any(name.startswith(("trialplate.ledger.index", "sqlite")) for name in names):
                readers.add(f"{file.parent.name}/{file.name}")
    assert readers <= {"ledger/index.py", "ledger/index_rows.py", "cli/ls.py", "cli/show.py", "cli/doctor.py"}
