# SPDX-License-Identifier: Apache-2.0
"""Finding what a person named: paths, ids, prefixes, `latest`, with `..` in them and from any folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from trialplate.errors import FormatError, UsageError, VerificationError
from trialplate.record.note import Checkpoint, format_checkpoint, sign_note, signer_from_seed
from trialplate.verify.locate import Found, find, find_run, ledger_above

FIRST, SECOND, LAST = "20261130T100000000Z-aaaaaaaa", "20261130T110000000Z-aaaabbbb", "20261130T120000000Z-cccccccc"


def start(run_id: str) -> bytes:
    """Return a ledger line that starts a run, as far as locate reads it."""
    entry = {"body": {"run_id": run_id}, "seq": 1, "type": "run.start"}
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def log(project: Path, lines: bytes) -> None:
    """Write a ledger's lines and the checkpoint over them."""
    (project / "ledger" / "entries.jsonl").write_bytes(lines)
    point = Checkpoint("o", lines.count(b"\n"), bytes(32))
    note = sign_note(format_checkpoint(point), signer_from_seed("key", bytes(32)))
    (project / "ledger" / "checkpoint").write_bytes(note)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with three runs, the second of which the ledger started last."""
    project = tmp_path / "project"
    (project / "ledger").mkdir(parents=True)
    (project / "ledger" / "origin").write_text("o\n")
    log(project, start(FIRST) + start(LAST) + start(SECOND))
    for run in (FIRST, SECOND, LAST):
        (project / "runs" / run).mkdir(parents=True)
        (project / "runs" / run / "record.jsonl").write_bytes(b"")
    return project


def test_find_project_is_its_ledger_and_every_run(root: Path) -> None:
    """A project is verified whole."""
    runs = root / "runs"
    own = root / "ledger"
    expected = [Found(own, None), Found(own, runs / FIRST), Found(own, runs / SECOND), Found(own, runs / LAST)]
    assert find(".", root, None) == expected
    assert find(str(root), root.parent, None) == expected
    assert find("..", root / "runs", None) == expected


@pytest.mark.parametrize(
    ("name", "here"),
    [
        (f"runs/{FIRST}", "."),
        (f"runs/{FIRST}/record.jsonl", "."),
        (f"runs/{FIRST}/", "."),
        (".", f"runs/{FIRST}"),
        ("record.jsonl", f"runs/{FIRST}"),
        (f"../{FIRST}", f"runs/{LAST}"),
        (f"../../runs/../runs/{FIRST}", f"runs/{LAST}"),
        (FIRST, "."),
        (FIRST, "runs"),
        (FIRST[:18], "."),
        ("20261130T10", f"runs/{LAST}"),
    ],
)
def test_find_run_by_path_id_or_prefix_from_any_folder(root: Path, name: str, here: str) -> None:
    """However a run is named, its folder and its ledger come back without `..` in them."""
    assert find(name, root / here, None) == [Found(root / "ledger", root / "runs" / FIRST)]
    assert find_run(name, root / here, None) == root / "runs" / FIRST


def test_find_latest_is_the_last_started_by_the_ledger(root: Path) -> None:
    """Not the newest folder, not the highest id: the last run.start."""
    assert find("latest", root, None) == [Found(root / "ledger", root / "runs" / SECOND)]
    assert find_run("latest", root / "runs" / FIRST, None).name == SECOND


def test_find_latest_reads_no_torn_line(root: Path) -> None:
    """A line without its line feed was never written."""
    with (root / "ledger" / "entries.jsonl").open("ab") as file:
        file.write(start(FIRST)[:-1])
    assert find_run("latest", root, None).name == SECOND


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"run.start","body":{}}\n',
        b'{"body":5,"type":"run.start"}\n',
        b'["x",{"type":"run.start"}]\n',
        b'{"body":{"run_id":7},"type":"run.start"}\n',
        b'{"type":"run.start"\n',
    ],
)
def test_find_latest_in_a_damaged_ledger_is_no_traceback(root: Path, line: bytes) -> None:
    """A ledger that is no ledger is told as such by an error of ours, or else by the checks on the newest folder."""
    log(root, line)
    try:
        assert find_run("latest", root, None).name == LAST
    except FormatError as error:
        assert error.where == "ledger/entries.jsonl"


def test_find_latest_is_no_run_that_an_unsigned_line_names(root: Path) -> None:
    """Whoever appends a line without the key must not say which run is looked at."""
    with (root / "ledger" / "entries.jsonl").open("ab") as file:
        file.write(start(FIRST))
    assert find_run("latest", root, None).name == SECOND


@pytest.mark.parametrize("inside", ["runs", f"runs/{FIRST}"])
def test_ledger_inside_the_runs_is_not_the_projects(root: Path, inside: str) -> None:
    """A ledger that somebody puts beside a record does not take the place of the one above."""
    (root / inside / "ledger").mkdir()
    (root / inside / "ledger" / "origin").write_text("other\n")
    assert ledger_above(root / "runs" / FIRST) == root / "ledger"


def test_find_latest_without_entries_says_what_is_missing(root: Path) -> None:
    """An origin without its log."""
    (root / "ledger" / "entries.jsonl").unlink()
    with pytest.raises(VerificationError) as caught:
        find_run("latest", root, None)
    assert caught.value.code == "FILE-MISSING"


def test_find_latest_before_the_first_run_says_what_to_type(root: Path) -> None:
    """A ledger without runs, beside no folder of a run."""
    log(root, b"")
    shutil.rmtree(root / "runs")
    with pytest.raises(UsageError) as caught:
        find_run("latest", root, None)
    assert caught.value.hint == "trialplate run --yes"


def test_find_ambiguous_prefix_names_the_runs(root: Path) -> None:
    """A prefix of several is refused, with all of them."""
    with pytest.raises(UsageError) as caught:
        find_run("20261130T1", root, None)
    assert all(run in caught.value.message for run in (FIRST, SECOND, LAST))
    assert caught.value.code == "RUN"


def test_find_unknown_name_lists_what_there_is(root: Path) -> None:
    """A mistyped run is exit 2, never an empty success."""
    for name in ("2027", "nothing", "runs/nothing", "../nowhere"):
        with pytest.raises(UsageError) as caught:
            find(name, root, None)
        assert LAST in caught.value.message
        assert caught.value.exit_code == 2


def test_find_outside_of_any_project_needs_a_path(tmp_path: Path) -> None:
    """Without a ledger here or above, a name means nothing."""
    with pytest.raises(UsageError, match="no ledger here or above"):
        find_run("latest", tmp_path, None)


def test_find_run_alone_has_no_ledger(root: Path, tmp_path: Path) -> None:
    """A run folder that was taken away from its project stands alone."""
    away = tmp_path / "away" / FIRST
    away.parent.mkdir()
    (root / "runs" / FIRST).rename(away)
    assert find(str(away), root, None) == [Found(None, away)]


def test_ledger_of_another_project_on_the_way_is_not_taken(root: Path, tmp_path: Path) -> None:
    """`..` leaves a project: its ledger is not the ledger of what lies beside it."""
    away = tmp_path / FIRST
    (root / "runs" / FIRST).rename(away)
    assert find(f"../{FIRST}", root, None) == [Found(None, away)]


def test_given_ledger_is_used_for_runs_and_projects(root: Path, tmp_path: Path) -> None:
    """--ledger says which ledger vouches for a run, also as a relative path."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "entries.jsonl").write_bytes(start(FIRST))
    run = root / "runs" / FIRST
    assert find(f"runs/{FIRST}", root, other) == [Found(other, run)]
    assert find(f"runs/{FIRST}", root, Path("../other")) == [Found(other, run)]
    assert find_run("latest", root / "ledger", Path()) == root / "runs" / SECOND


def test_ledger_above_is_the_nearest(root: Path) -> None:
    """A project within a project has its own."""
    inner = root / "runs" / FIRST / "inner"
    (inner / "ledger").mkdir(parents=True)
    (inner / "ledger" / "entries.jsonl").write_bytes(b"")
    assert ledger_above(inner / "deep") == inner / "ledger"
    assert ledger_above(root / "runs") == root / "ledger"
    assert ledger_above(root.parent) is None


def test_find_ledger_by_its_own_folder(root: Path) -> None:
    """A ledger can be verified by itself."""
    assert find("ledger", root, None) == [Found(root / "ledger", None)]
    assert find(".", root / "ledger", None) == [Found(root / "ledger", None)]


@pytest.mark.parametrize("name", ["", " "])
def test_empty_name_is_no_run(root: Path, name: str) -> None:
    """A variable that was never set is neither the only run, nor the newest, nor this folder."""
    shutil.rmtree(root / "runs" / FIRST)
    shutil.rmtree(root / "runs" / LAST)
    for search in (find, find_run):
        with pytest.raises(UsageError, match="an empty name names no run"):
            search(name, root, None)
