# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, a project that may not be written, an output nobody reads: clear errors, and nothing is lost."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import PATIENCE_S, start
from small_project import ANSWERS_GOOD, CASES, CRITICAL, SmallProject, plan_text

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2


def file_limit(size: int) -> Callable[[], None]:
    """Return what lets no file of a process grow beyond a size, as a full disk would."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def obey_permissions() -> None:
    """Give up the superuser's right to ignore permissions; a plain user has nothing to give up."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a process; return its exit status and error output, which holds no traceback."""
    _, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err, err
    return process.returncode, err


@pytest.fixture
def begun(tmp_path: Path) -> SmallProject:
    """A project with a key and a ledger, whose run has 160 trials and will be rejected."""
    project = SmallProject.write(
        tmp_path, plan_text(f"  good: {{runner: stand-in, answers: {ANSWERS_GOOD}}}", repeats=40, mark="0.95")
    )
    assert project("keys", "new", "small").code == 0
    assert project("ledger", "init", "small").code == 0
    return project


# ----------------------------------------------------------------------------------------------------------- full disk


@pytest.mark.parametrize("size", [3000, 4500, 8000, 20_000, 60_000])
def test_full_disk_ends_the_run_with_an_error_and_a_record_that_verifies(begun: SmallProject, size: int) -> None:
    """A file that may not grow ends the run with exit 4 and one thing to do; what was signed verifies."""
    status, err = ended(start(begun, "run", "--yes", prepare=file_limit(size)))
    assert status == 4, err
    assert "may not grow" in err
    assert "do: " in err
    if (begun.last / "checkpoint").exists():
        assert begun.codes() == set()
        assert begun("gate", "latest").code == 1


def test_full_disk_before_the_plan_is_written_leaves_no_run_in_the_ledger(begun: SmallProject) -> None:
    """Where not even plan.json has room, nothing was started and nothing is in the ledger."""
    before = begun.types()
    status, err = ended(start(begun, "run", "--yes", prepare=file_limit(300)))
    assert status == 4, err
    assert begun.types() == before


def test_full_disk_before_the_start_leaves_a_project_that_verifies(begun: SmallProject) -> None:
    """A run that could not begin does not make the project untrusted."""
    ended(start(begun, "run", "--yes", prepare=file_limit(300)))
    assert begun("verify").code == 0


def test_next_run_after_a_full_disk_goes_through(begun: SmallProject) -> None:
    """With room again, the next run goes to its end; the broken one is an open attempt."""
    ended(start(begun, "run", "--yes", prepare=file_limit(20_000)))
    begun.run()
    said = begun("gate", "latest", "--json")
    assert said.code == 1
    assert [item["status"] for item in said.json["decision"]["attempts"]] == ["open"]


def test_full_disk_while_a_decision_is_appended_is_an_error_and_not_an_acceptance(begun: SmallProject) -> None:
    """A gate that could not append its decision does not exit 0."""
    begun.run()
    before = (begun.ledger / "entries.jsonl").read_bytes()
    status, err = ended(start(begun, "gate", "latest", prepare=file_limit(len(before) + 50)))
    assert status == 4, err
    assert (begun.ledger / "entries.jsonl").read_bytes() == before
    assert begun.codes() == set()


# --------------------------------------------------------------------------------------------------------- permissions


@pytest.fixture
def read_only(begun: SmallProject) -> Iterator[SmallProject]:
    """A finished run in a project that nobody may write."""
    begun.run()
    paths = [begun.root, *begun.root.rglob("*")]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    yield begun
    for path, mode in modes.items():
        path.chmod(mode)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["verify"], 0),
        (["report"], 0),
        (["gate", "latest", "--no-append"], 1),
        (["run"], 0),
        (["ledger", "log"], 0),
        (["gate", "latest"], 4),
        (["run", "--yes"], 4),
        (["waive", "latest", "--reason", "x"], 4),
        (["commit"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_read_only_project_can_be_read_and_says_so_when_it_cannot_be_written(
    read_only: SmallProject, arguments: list[str], code: int
) -> None:
    """What only reads works; what writes ends with exit 4, the file's name and one thing to do."""
    before = (read_only.ledger / "entries.jsonl").read_bytes()
    status, err = ended(start(read_only, *arguments, prepare=obey_permissions))
    assert status == code, err
    if code == 4:
        assert "may not write" in err
        assert "do: " in err
    assert (read_only.ledger / "entries.jsonl").read_bytes() == before


def test_content_that_may_not_be_read_is_found_and_not_withheld(read_only: SmallProject) -> None:
    """Content that is there and may not be read is said to be so, not passed over."""
    (read_only.last / "content.jsonl").chmod(0)
    process = start(read_only, "verify", "latest", prepare=obey_permissions)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3, err
    assert "cannot be read" in out


@pytest.mark.parametrize("file", ["ledger/entries.jsonl", "ledger/checkpoint", "plan.json", "record.jsonl"])
def test_evidence_that_may_not_be_read_is_a_clear_error(read_only: SmallProject, file: str) -> None:
    """A file without read permission is named, not taken for absent content."""
    path = read_only.ledger.parent / file if file.startswith("ledger/") else read_only.last / file
    path.chmod(0)
    run = read_only.last.name
    process = start(read_only, "verify", run, prepare=obey_permissions)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (2, 3), out + err
    assert "Traceback" not in err
    assert path.name in out + err


# ------------------------------------------------------------------------------------------------------- closed output


COMMANDS = [
    ["verify"],
    ["verify", "--json"],
    ["report", "--failures", "1000"],
    ["run"],
    ["ledger", "log"],
    ["gate", "latest", "--no-append"],
    ["gate", "latest", "--no-append", "--json"],
    ["--help"],
    ["schema", "plan"],
]


@pytest.fixture(scope="module")
def rejected(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run that is rejected, to be read only."""
    folder = tmp_path_factory.mktemp("rejected")
    project = SmallProject.write(folder, plan_text("  bad: {runner: stand-in, answers: [nothing]}", repeats=20))
    project.run()
    return project


def check_closed(arguments: list[str], process: subprocess.Popen[str]) -> None:
    """Require a quiet end, and of a gate that its rejection is still told by the exit status."""
    status, err = ended(process)
    assert "Exception ignored" not in err
    assert "Broken pipe" not in err
    if arguments[0] == "gate":
        assert status != 0


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_output_whose_reader_is_gone_ends_quietly_and_never_as_an_acceptance(
    rejected: SmallProject, arguments: list[str]
) -> None:
    """`trialplate ... | head -1`: no traceback, no noise of the interpreter, and a rejection does not become 0."""
    reader, writer = os.pipe()
    os.close(reader)
    process = start(rejected, *arguments, stdout=writer)
    os.close(writer)
    check_closed(arguments, process)


@pytest.mark.parametrize(
    "arguments",
    COMMANDS,
    ids=[" ".join(item) for item in COMMANDS],
)
def test_command_without_a_standard_output_ends_quietly(rejected: SmallProject, arguments: list[str]) -> None:
    """`trialplate ... >&-`: a process that was given no standard output at all says nothing and decides as before."""
    check_closed(arguments, start(rejected, *arguments, prepare=lambda: os.close(1)))


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_run_whose_output_is_closed_still_leaves_a_whole_record(begun: SmallProject, flags: list[str]) -> None:
    """A run whose reader has gone away is paid for all the same: its record is complete and verifies."""
    reader, writer = os.pipe()
    os.close(reader)
    process = start(begun, "run", "--yes", *flags, stdout=writer)
    os.close(writer)
    ended(process)
    assert begun.types()[-1] == "run.end"
    assert begun.codes() == set()


# ------------------------------------------------------------------------------------- stderr, and what it cannot show


def full_stderr() -> None:
    """Send stderr to a device that takes nothing."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), 2)


@pytest.mark.parametrize("prepare", [full_stderr, lambda: os.close(2)], ids=["full", "closed"])
@pytest.mark.parametrize(
    ("command", "expect"),
    [
        (["gate", "latest", "--json"], 1),
        (["verify", "latest", "--json"], 0),
        (["run", "--yes", "--json"], 0),
        (["gate", "nowhere"], 2),
        (["nonsense"], 2),
        (["run", "--nonsense"], 2),
        ([], 2),
    ],
    ids=["gate", "verify", "run", "unknown run", "unknown command", "unknown option", "nothing"],
)
def test_stderr_that_takes_nothing_changes_no_answer(
    begun: SmallProject, prepare: Callable[[], None], command: list[str], expect: int
) -> None:
    """What is said aside is lost, the exit status is not, and nothing of it gets into the JSON on stdout."""
    begun.run()
    process = start(begun, *command, prepare=prepare)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == expect
    if expect != 2:
        json.loads(out)
    else:
        assert out == ""


def test_terminal_that_knows_ascii_alone_shows_every_name(tmp_path: Path) -> None:
    """A case id that its encoding cannot show is escaped; the decision is appended and told all the same."""
    plan = plan_text("  m: {runner: stand-in, answers: {'*': no}}", rules=CRITICAL, repeats=1)
    project = SmallProject.write(tmp_path, plan, CASES.replace("q1,", "qé,"))
    project.run()
    process = start(project, "gate", "latest", PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "Traceback" in err) == (1, False)
    assert "case_failed; q\\xe9" in out
    assert project.types()[-1] == "decision"


def test_dead_run_in_a_folder_that_nobody_may_write_can_be_waived(begun: SmallProject) -> None:
    """Its lock file stayed; who waives needs to write the ledger alone."""
    begun.run()
    (begun.last / ".lock").touch()
    (begun.last / ".lock").chmod(0o444)
    begun.last.chmod(0o555)
    try:
        status, err = ended(start(begun, "waive", "latest", "--reason", "it died", prepare=obey_permissions))
    finally:
        begun.last.chmod(0o755)
    assert status == 0, err
    assert begun.types()[-1] == "waiver"


WITHOUT = (
    "import sys; [sys.modules.__setitem__(name, None) for name in ('filelock', 'typer', 'pydantic', 'yaml', 'httpx')];"
    "from trialplate.cli.main import run; run()"
)


@pytest.mark.parametrize(
    ("arguments", "expect", "said"),
    [
        (["verify", "latest"], 0, ""),
        (["verify", "latest", "--trust", "keys/small.pub"], 0, "could not be remembered"),
        (["gate", "latest", "--no-append", "--trust", "keys/small.pub"], 1, "could not be remembered"),
        (["gate", "latest"], 2, "to append a decision takes the package filelock"),
    ],
    ids=["verify", "verify trusting", "gate", "gate appending"],
)
def test_front_door_with_the_auditor_s_two_packages_verifies_and_gates(
    begun: SmallProject, tmp_path: Path, arguments: list[str], expect: int, said: str
) -> None:
    """What needs more is left out with a note, or refused with the option that does without it."""
    begun.run()
    before = begun.types()
    with begun.environment(TRIALPLATE_HOME=str(begun.home if expect == 2 else tmp_path / "new")):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False, timeout=60
        )
    assert "Traceback" not in done.stderr
    assert (done.returncode, said in done.stderr) == (expect, True), done.stderr
    assert begun.types() == before


def test_command_that_needs_more_than_the_auditor_has_says_so(begun: SmallProject) -> None:
    """Installed with two packages, the front door opens for verify and gate, and names what the others lack."""
    script = "import sys; sys.modules['typer'] = None; from trialplate.cli.main import run; run()"
    with begun.environment():
        done = subprocess.run(
            [sys.executable, "-c", script, "ledger", "log"], capture_output=True, text=True, check=False, timeout=60
        )
    assert done.returncode == 2
    assert "this command needs the package typer" in done.stderr
    assert "do: install it whole" in done.stderr
