# SPDX-License-Identifier: Apache-2.0
"""The index says what ledger and records say, however it came about: new, grown, damaged, or made by several at once."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_project import PLAN, Project, make_project

from trialplate.ledger import index_rows
from trialplate.ledger.index import IndexedRun, IndexedTrial, index_file, index_state, open_index
from trialplate.record.entries import Narrowing
from trialplate.record.log import root_of
from trialplate.record.note import Checkpoint, format_checkpoint, sign_note

RETRIES = PLAN.replace(
    '{q1: "London", q2: "5", q3: "red"}',
    '{q1: ["London", {attempts: [{error: http_status, status: 503}, "Paris"]}], q2: "5", q3: {error: not_started}}',
)

All = tuple[list[IndexedRun], dict[str, list[IndexedTrial]]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a run that has passes, failures, retries and errors, and a pilot."""
    made = make_project(tmp_path_factory.mktemp("index"), RETRIES)
    made.run(at_once=1)
    made.run(narrowing=Narrowing(limit=1))
    return made


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """A copy of it, without an index."""
    return finished.copied(tmp_path)


def all_of(project: Project, *, kept: bool | None = True) -> All:
    """Return everything that the index says."""
    with open_index(project.view()) as index:
        runs = index.runs()
        trials = {item.run_id: list(index.trials(item.run_id)) for item in runs}
    assert kept is None or index.kept is kept, index.reason
    return runs, trials


def anew(project: Project) -> All:
    """Return what an index says that is made from nothing."""
    shutil.rmtree(project.folder / ".trialplate", ignore_errors=True)
    return all_of(project)


def state(project: Project) -> str:
    """Return how the file stands."""
    return index_state(project.view())


def test_index_says_what_the_records_say(project: Project) -> None:
    """Outcomes, attempts, causes and costs of every trial, in the order in which they began; runs newest first."""
    runs, trials = all_of(project)
    pilot, full = runs
    assert (full.selection, full.status, full.name, full.trials) == ("full", "complete", "small", 12)
    assert full.outcomes == {"passed": 7, "failed": 3, "error": 2}
    assert full.without_end == 0
    assert (pilot.selection, pilot.trials, pilot.outcomes) == ("pilot", 4, {"passed": 3, "failed": 1})
    found = {(item.configuration, item.case, item.repeat): item for item in trials[full.run_id]}
    again = found["bad", "q1", 2]
    assert (again.outcome, again.attempts, again.cost_nano) == ("passed", 2, None)
    assert (found["bad", "q3", 1].outcome, found["bad", "q3", 1].cause) == ("error", "not_started")
    good = found["good", "q1", 1]
    assert (good.cost_nano, good.currency, good.metrics) == (0, "USD", '{"correct": 1}')
    assert full.cost_unknown == 6, "those of the model without a price"
    assert [(item.case, item.repeat) for item in trials[full.run_id] if item.configuration == "good"] == [
        ("q1", 1), ("q2", 1), ("q3", 1), ("q1", 2), ("q2", 2), ("q3", 2)
    ]  # fmt: skip


def test_index_trials_are_found_by_configuration_and_repeat(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both narrow the list, and a list longer than one piece is whole."""
    monkeypatch.setattr("trialplate.ledger.index.PIECE", 2)
    run_id = project.runs[0].name
    with open_index(project.view()) as index:
        found = [(item.case, item.repeat) for item in index.trials(run_id, configuration="good", repeat=2)]
        assert len(list(index.trials(run_id))) == 12
    assert found == [("q1", 2), ("q2", 2), ("q3", 2)]


def test_index_that_is_current_is_not_written(project: Project) -> None:
    """Looking again changes nothing; deleting it costs nothing but time."""
    assert state(project) == "absent"
    first = all_of(project)
    assert state(project) == "current"
    before = index_file(project.folder).read_bytes()
    assert all_of(project) == first
    assert index_file(project.folder).read_bytes() == before
    index_file(project.folder).unlink()
    assert all_of(project) == first


def lines_of(project: Project) -> list[bytes]:
    """Return the lines of the first run's record."""
    return (project.runs[0] / "record.jsonl").read_bytes().splitlines(keepends=True)


def sign(project: Project, lines: list[bytes], size: int) -> None:
    """Put a record of these lines there, with a checkpoint over the first `size`."""
    folder = project.runs[0]
    (folder / "record.jsonl").write_bytes(b"".join(lines))
    root = root_of(line[:-1] for line in lines[:size])
    origin = f"{project.view().origin}/run/{folder.name}"
    (folder / "checkpoint").write_bytes(
        sign_note(format_checkpoint(Checkpoint(origin, size, root)), project.key().signer)
    )


def test_index_that_grows_says_the_same_as_one_made_anew(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the checkpoints at which it was brought up to date, also between an attempt's start and its end."""
    monkeypatch.setattr(index_rows, "FLUSH", 3)
    lines = lines_of(project)
    grown = []
    for size in range(1, len(lines) + 1):
        sign(project, lines, size)
        assert state(project) in ("absent", "stale")
        grown.append(all_of(project))
        assert state(project) == "current"
    for size in range(1, len(lines) + 1):
        sign(project, lines, size)
        assert anew(project) == grown[size - 1], size


def test_index_reads_only_what_is_new(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that has grown by two lines costs two lines."""
    lines = lines_of(project)
    sign(project, lines, len(lines) - 2)
    all_of(project)
    decoded = []

    def counting(line: bytes, seq: int, *rest: Any) -> Any:
        decoded.append(seq)
        return typed(line, seq, *rest)

    typed = index_rows.typed_entry
    monkeypatch.setattr(index_rows, "typed_entry", counting)
    sign(project, lines, len(lines))
    all_of(project)
    assert decoded == [len(lines) - 2, len(lines) - 1]


def test_index_of_a_record_that_was_rewritten_is_made_anew(project: Project) -> None:
    """Rows of bytes that are no longer there do not stay, however the size came out."""
    lines = lines_of(project)
    sign(project, lines, len(lines) - 4)
    all_of(project)
    wrong = [line.replace(b'"outcome":"passed"', b'"outcome":"failed"') for line in lines]
    sign(project, wrong, len(wrong))
    (full,) = [run for run in all_of(project)[0] if run.selection == "full"]
    assert "passed" not in full.outcomes
    sign(project, lines, 3)
    (full,) = [run for run in all_of(project)[0] if run.selection == "full"]
    assert sum(full.outcomes.values()) <= 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record.write_bytes(b"{}\n" * 40),
        lambda record: record.write_bytes(record.read_bytes()[:-30]),
        lambda record: record.unlink(),
        lambda record: record.with_name("plan.json").write_bytes(b"{}"),
    ],
    ids=["nonsense", "cut", "gone", "plan"],
)
def test_index_of_a_record_that_cannot_be_read_says_so(project: Project, spoil: Callable[[Path], object]) -> None:
    """The run stays listed, with the reason and without numbers; the other runs are as before."""
    before = all_of(project)
    lines = lines_of(project)
    spoil(project.runs[0] / "record.jsonl")
    if (project.runs[0] / "record.jsonl").exists():
        origin = f"{project.view().origin}/run/{project.runs[0].name}"
        note = format_checkpoint(Checkpoint(origin, len(lines) + 1, bytes(32)))
        (project.runs[0] / "checkpoint").write_bytes(sign_note(note, project.key().signer))
    else:
        (project.runs[0] / "checkpoint").unlink()
    pilot, full = all_of(project)[0]
    assert pilot == before[0][0]
    assert full.unreadable
    assert full.outcomes == {}


def test_index_keeps_runs_whose_folder_is_gone(project: Project) -> None:
    """The ledger goes on naming them: missing is shown, never left out. Put back, they are whole again."""
    before = all_of(project)
    run = project.runs[0]
    run.rename(project.folder / "away")
    (full,) = [item for item in all_of(project)[0] if item.run_id == run.name]
    assert (full.here, full.trials, full.outcomes) == (False, 12, {})
    (project.folder / "away").rename(run)
    assert all_of(project) == before


def test_index_forgets_runs_that_the_ledger_does_not_have(project: Project, tmp_path: Path) -> None:
    """An index that came from another project says nothing about this one."""
    all_of(project)
    other = make_project(tmp_path / "other")
    shutil.copytree(project.folder / ".trialplate", other.folder / ".trialplate")
    assert all_of(other) == ([], {})


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database at all " * 1000)


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _overwritten(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[4096:8192] = b"\xff" * 4096
    path.write_bytes(bytes(raw))


def _other_tables(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE runs (name)")
    db.commit()
    db.close()


def _trigger(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TRIGGER lie AFTER INSERT ON trials BEGIN UPDATE trials SET outcome = 'passed'; END")
    db.commit()
    db.close()


@pytest.mark.parametrize("spoil", [_garbage, _torn, _overwritten, _other_tables, _trigger])
def test_index_that_is_damaged_or_not_ours_is_made_anew(project: Project, spoil: Callable[[Path], None]) -> None:
    """Whatever stands in its place, the answer is the same, and the next one finds it mended."""
    first = all_of(project)
    spoil(index_file(project.folder))
    assert state(project) == "damaged"
    assert all_of(project) == first
    assert state(project) == "current"


def test_index_that_cannot_be_kept_is_made_in_memory(project: Project) -> None:
    """A folder, a link or a file in its way: the answer is the same, and says why it was not kept."""
    first = anew(project)
    shutil.rmtree(project.folder / ".trialplate")
    outside = project.folder.parent / "outside"
    outside.touch()
    for prepare in (
        lambda place: place.write_text("a file where the folder belongs"),
        lambda place: (place.mkdir(), (place / "index.db").mkdir()),
        lambda place: (place.mkdir(), (place / "index.db").symlink_to(outside)),
        lambda place: place.symlink_to(project.folder.parent),
    ):
        place = project.folder / ".trialplate"
        prepare(place)
        assert all_of(project, kept=False) == first
        place.unlink() if place.is_symlink() or place.is_file() else shutil.rmtree(place)
    assert outside.read_bytes() == b"", "nothing is written through a link"


def test_index_holds_no_private_text(project: Project) -> None:
    """Questions, references, answers and what scorers said are not in the file, and it needs no more care than a record."""
    all_of(project)
    raw = b"".join(path.read_bytes() for path in index_file(project.folder).parent.iterdir())
    for text in (b"capital", b"London", b"as far as I know", b"Paris", b"expected to contain"):
        assert text not in raw
    assert b"q1" in raw


SCRIPT = """
import sys
from pathlib import Path
from trialplate.ledger.index import open_index
from trialplate.verify.findings import Report
from trialplate.verify.known import read_known
from trialplate.verify.ledger_view import Reader, read_ledger

view = read_ledger(Path(sys.argv[1]), Reader(known=read_known(Path(sys.argv[2]))), Report("ledger"))
if len(sys.argv) > 3:
    import os, signal
    from trialplate.ledger import index_rows
    done = index_rows._Reading._flush
    def dying(reading):
        done(reading)
        os.kill(os.getpid(), signal.SIGKILL)
    index_rows._Reading._flush = dying
with open_index(view) as index:
    runs = index.runs()
    trials = [(run.run_id, item) for run in runs for item in index.trials(run.run_id)]
print(index.kept, runs, trials)
"""


def start(project: Project, *more: str) -> subprocess.Popen[str]:
    """Open the index in a process of its own."""
    command = [sys.executable, "-c", SCRIPT, str(project.ledger), str(project.home), *more]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env={**os.environ, **project.environ})


def test_index_may_be_made_by_several_at_once(project: Project) -> None:
    """Case Z08: eight processes at once on no index, and on a damaged one: one answer, no error, and it is kept."""
    for spoil in (lambda path: None, _garbage):
        spoil(index_file(project.folder))
        asked = [start(project) for _ in range(8)]
        told = [process.communicate() for process in asked]
        assert {err for _, err in told} == {""}
        assert len({out for out, _ in told}) == 1
        assert told[0][0].startswith("True ")
        assert state(project) == "current"


def test_index_killed_while_it_is_written_is_whole_afterwards(project: Project) -> None:
    """Kill -9 between two pieces: what was half done does not count, and the next one does it again."""
    process = start(project, "die")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    after = all_of(project)
    assert after == anew(project)
