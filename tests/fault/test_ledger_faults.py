# SPDX-License-Identifier: Apache-2.0
"""Ledger and record under real trouble: many writers, kill -9, a full disk, a read-only folder."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from trialplate.errors import StorageError, TrialplateError, VerificationError
from trialplate.ledger import keys
from trialplate.ledger.content import ContentWriter
from trialplate.ledger.create import init_ledger
from trialplate.ledger.ledger_writer import LedgerWriter
from trialplate.ledger.record_writer import RecordWriter
from trialplate.record.values import Opening
from trialplate.verify.findings import Report
from trialplate.verify.known import read_known
from trialplate.verify.ledger_view import LedgerEntry, Reader, read_ledger

RUN = "20261130T090000000Z-0123abcd"
BODY = {"trial": ["m/p", "case", 1], "attempt": 1}
FORK = multiprocessing.get_context("fork")


def load(home: Path) -> keys.LedgerKey:
    return keys.load_signer("operator", {"TRIALPLATE_HOME": str(home / "config")})


def make(home: Path) -> Path:
    """Make a key and a ledger below a folder, and return the ledger's."""
    keys.new_key("operator", home / "config")
    init_ledger(home / "ledger", "demo", load(home), home / "config")
    return home / "ledger"


def writer(home: Path, ledger: str = "ledger") -> LedgerWriter:
    return LedgerWriter(home / ledger, load(home).signer, home / "config")


def waiver(reason: str) -> dict[str, str]:
    return {"run_id": RUN, "reason": reason}


def read(home: Path) -> list[LedgerEntry]:
    """Verify the ledger as a reader who knows it does, and return its entries."""
    report = Report("ledger")
    view = read_ledger(home / "ledger", Reader(known=read_known(home / "config")), report)
    assert report.holds, report.findings
    assert view is not None
    return view.entries


def append_some(home: Path, who: str, count: int) -> None:
    for number in range(count):
        writer(home).append("waiver", waiver(f"{who} {number}"))


def append_for_ever(home: Path, who: str, done: int) -> None:
    number = 0
    while True:
        writer(home).append("waiver", waiver(f"{who} {number}"))
        os.write(done, f"{who} {number}\n".encode())
        number += 1


def append_once(home: Path, ledger: str, results: Path) -> None:
    try:
        writer(home, ledger).append("waiver", waiver(ledger))
        outcome = "appended"
    except VerificationError as error:
        outcome = error.code
    (results / ledger).write_text(outcome)


def started(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = FORK.Process(target=target, args=arguments)
    process.start()
    return process


def kill_at_some_moment(process: BaseProcess, spin: int) -> None:
    """Kill -9 after so many turns of a loop: each test run meets the writer in other places."""
    for _ in range(spin):
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def test_ledger_with_eight_processes_appending_is_one_chain(tmp_path: Path) -> None:
    """160 entries of eight writers stand once each, in each writer's order, under one checkpoint."""
    make(tmp_path)
    processes = [started(append_some, tmp_path, f"w{who}", 20) for who in range(8)]
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 8
    reasons = [entry.body.reason for entry in read(tmp_path)[1:]]
    assert len(reasons) == 160
    for who in range(8):
        own = [reason for reason in reasons if reason.startswith(f"w{who} ")]
        assert [f"w{who} {number}" for number in range(20)] == own
    assert list((tmp_path / "ledger").glob("set-aside-*")) == []


def test_ledger_whose_writers_are_killed_again_and_again_loses_nothing_that_was_done(tmp_path: Path) -> None:
    """Fifteen kill -9 at whatever moment: each next append works, and what an append reported is there for ever."""
    make(tmp_path)
    reported: list[str] = []
    for kill in range(15):
        out, done = os.pipe()
        process = started(append_for_ever, tmp_path, f"k{kill}", done)
        os.close(done)
        with os.fdopen(out) as pipe:
            reported.append(pipe.readline().rstrip("\n"))
            kill_at_some_moment(process, kill * 20_000)
            reported += pipe.read().splitlines()
        writer(tmp_path).append("waiver", waiver(f"after {kill}"))

    reasons = [entry.body.reason for entry in read(tmp_path)[1:]]
    assert reported == [reason for reason in reasons if reason in set(reported)]
    assert [f"after {kill}" for kill in range(15)] == [reason for reason in reasons if reason.startswith("after")]
    assert len(reasons) == len(set(reasons))


def write_for_ever(folder: Path, home: Path, begun: int) -> None:
    signer = load(home).signer
    with ContentWriter(folder) as content, RecordWriter.create(folder, "demo/run/x", signer, content=content) as record:
        record.write("trial.start", BODY)
        record.sync()
        os.write(begun, b"x")
        while True:
            content.write([Opening(salt="a" * 22, value="answer")])
            record.write("trial.start", BODY)
            record.maybe_sync()


@pytest.mark.parametrize("spin", [0, 300_000, 1_500_000])
def test_record_whose_writer_is_killed_is_taken_over_line_by_line(tmp_path: Path, spin: int) -> None:
    """After kill -9 every complete line is still there, and the record goes on."""
    keys.new_key("operator", tmp_path / "config")
    folder = tmp_path / "run"
    folder.mkdir()
    out, begun = os.pipe()
    process = started(write_for_ever, folder, tmp_path, begun)
    assert os.read(out, 1) == b"x"
    os.close(out)
    os.close(begun)
    kill_at_some_moment(process, spin)
    complete = (folder / "record.jsonl").read_bytes().count(b"\n")

    signer = load(tmp_path).signer
    with RecordWriter.open_existing(folder, "demo/run/x", signer, closed=False) as record:
        assert complete == record.size
        record.write("run.reopen", {"adopted": record.adopted, "reason": "resume"})
        assert complete + 1 == record.sync().size
    with RecordWriter.open_existing(folder, "demo/run/x", signer, closed=True) as record:
        assert (complete + 1, 0) == (record.size, record.adopted)
    openings = (folder / "content.jsonl").read_bytes().count(b"\n")
    assert openings >= complete - 1  # content goes first


def test_ledger_copies_on_one_machine_cannot_be_forked_by_two_writers(tmp_path: Path) -> None:
    """Two clones of a project append at once: one does, the other is told that its copy is behind."""
    make(tmp_path)
    shutil.copytree(tmp_path / "ledger", tmp_path / "clone")
    (tmp_path / "results").mkdir()

    processes = [started(append_once, tmp_path, name, tmp_path / "results") for name in ("ledger", "clone")]
    for process in processes:
        process.join()

    outcomes = sorted(path.read_text() for path in (tmp_path / "results").iterdir())
    assert outcomes == ["LEDGER-ROLLED-BACK", "appended"]


def limited(target: Callable[..., None], limit: int, *arguments: object) -> None:
    """Run with a limit on the size of every file, which fails like a full disk, in the middle of a write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    target(*arguments)


def fill_ledger(home: Path) -> None:
    while True:
        try:
            writer(home).append("waiver", waiver("x" * 300))
        except StorageError as error:
            (home / "error").write_text(f"{error.message}\n{error.hint}")
            return


def test_ledger_that_may_not_grow_further_stays_as_it_was_before_the_failed_append(tmp_path: Path) -> None:
    """The line that did not fit is cut back; with room again the next append follows."""
    make(tmp_path)
    process = started(limited, fill_ledger, 3000, tmp_path)
    process.join()

    assert "may not grow" in (tmp_path / "error").read_text()
    size = (tmp_path / "ledger" / "entries.jsonl").stat().st_size
    assert 2000 < size < 3000
    before = len(read(tmp_path))
    writer(tmp_path).append("waiver", waiver("room again"))
    assert before + 1 == len(read(tmp_path))
    assert list((tmp_path / "ledger").glob("set-aside-*")) == []


def fill_record(folder: Path, home: Path) -> None:
    with RecordWriter.create(folder, "demo/run/x", load(home).signer) as record:
        record.write("trial.start", BODY)
        record.sync()
        try:
            while True:
                record.write("trial.start", BODY)
        except StorageError as error:
            (home / "error").write_text(f"{record.size}\n{error.message}\n{error.hint}")
        record.sync()


def test_record_that_may_not_grow_further_ends_with_its_last_whole_line_signed(tmp_path: Path) -> None:
    """A full disk in the middle of a line: no half of it stays, and the checkpoint covers the rest."""
    keys.new_key("operator", tmp_path / "config")
    folder = tmp_path / "run"
    folder.mkdir()
    process = started(limited, fill_record, 5000, folder, tmp_path)
    process.join()

    size, message, hint = (tmp_path / "error").read_text().split("\n")
    assert "may not grow" in message
    assert hint
    assert (folder / "record.jsonl").read_bytes().endswith(b"\n")
    with RecordWriter.open_existing(folder, "demo/run/x", load(tmp_path).signer, closed=True) as record:
        assert int(size) == record.size > 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB in memory; mounting one takes privileges that not every machine gives."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_ledger_on_a_full_disk_stays_whole_and_goes_on_when_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    """ENOSPC from a real file system, with the configuration folder elsewhere."""
    make(tmp_path)
    (tmp_path / "ledger").rename(tmp_path / "empty")
    shutil.copytree(tmp_path / "empty", small_disk / "ledger")
    (tmp_path / "ledger").symlink_to(small_disk / "ledger")
    writer(tmp_path).append("waiver", waiver("before"))
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError, match="No space"):
        while True:
            ballast.write(b"x" * 4096)

    with pytest.raises(StorageError) as caught:
        for _ in range(100):
            writer(tmp_path).append("waiver", waiver("x" * 900))

    assert "the disk is full" in caught.value.message
    before = len(read(tmp_path))
    (small_disk / "ballast").unlink()
    writer(tmp_path).append("waiver", waiver("room again"))
    assert before + 1 == len(read(tmp_path))


def as_nobody(act: Callable[[], object]) -> str:
    """Run in a child process without the privileges of root, and return what came of it."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            act()
            text = "no error"
        except TrialplateError as error:
            text = f"{type(error).__name__}: {error.message}"
        except Exception as error:
            text = repr(error)
        os.write(into, text.encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_ledger_in_a_folder_that_is_not_ours_to_write_is_a_storage_error_and_stays_as_it_is() -> None:
    """A read-only checkout: append says so, and changes nothing."""
    home = Path(tempfile.mkdtemp())
    try:
        home.chmod(0o755)
        make(home)
        appending = LedgerWriter(home / "ledger", load(home).signer, home / "elsewhere")
        (home / "elsewhere").mkdir()
        (home / "elsewhere").chmod(0o777)
        appending.append("waiver", waiver("by the owner"))
        shutil.rmtree(home / "elsewhere")
        (home / "elsewhere").mkdir()
        (home / "elsewhere").chmod(0o777)
        (home / "ledger").chmod(0o555)
        before = {path.name: path.read_bytes() for path in (home / "ledger").iterdir()}

        said = as_nobody(lambda: appending.append("waiver", waiver("by nobody")))

        assert said.startswith("StorageError: cannot be")
        assert "you may not write there" in said
        assert before == {path.name: path.read_bytes() for path in (home / "ledger").iterdir()}
    finally:
        (home / "ledger").chmod(0o755)
        shutil.rmtree(home)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_append_with_a_configuration_folder_that_cannot_be_written_is_refused_before_anything_is_written() -> None:
    """What cannot be remembered could be rolled back unseen, so it is not appended."""
    home = Path(tempfile.mkdtemp())
    try:
        home.chmod(0o755)
        ledger = make(home)
        for path in (ledger, *ledger.iterdir()):
            path.chmod(0o777)
        (home / "config").chmod(0o555)
        before = (ledger / "entries.jsonl").read_bytes()
        appending = LedgerWriter(ledger, load(home).signer, home / "config")

        said = as_nobody(lambda: appending.append("waiver", waiver("by nobody")))

        assert said.startswith("StorageError: cannot be written")
        assert before == (ledger / "entries.jsonl").read_bytes()
    finally:
        shutil.rmtree(home)


def test_key_file_is_private_from_its_first_moment(tmp_path: Path) -> None:
    """As a user makes it, in a process of its own with the most careless umask."""
    code = "import sys, pathlib; from trialplate.ledger.keys import new_key; new_key('operator', pathlib.Path(sys.argv[1]))"
    old = os.umask(0)
    try:
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "config")], check=True)
    finally:
        os.umask(old)

    assert (tmp_path / "config" / "keys" / "operator.key").stat().st_mode & 0o777 == 0o600
