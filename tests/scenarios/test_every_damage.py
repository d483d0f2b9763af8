# SPDX-License-Identifier: Apache-2.0
"""Every single-bit flip, every truncation and every deletion of every file that verify reads is found.

The run is as small as one can be (one case, one configuration, accepted), so that all of its bits can be tried: some
54,000 flips, in two worker processes. The reader has known.json, as whoever ran it has.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from damage import FILES, Bench, prepare_worker, surviving_flips, surviving_lengths
from small_project import SmallProject, plan_text

from trialplate.verify import log_file

WORKERS = 2
TINY_CASES = "id,input,reference,tags\nq1,What is the capital of France?,Paris,geo\n"
TINY_PLAN = plan_text("  m: {runner: stand-in, answers: [Paris]}", repeats=1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """One trial of one configuration, accepted."""
    project = SmallProject.write(tmp_path_factory.mktemp("tiny"), TINY_PLAN, TINY_CASES)
    project.run()
    assert project("gate", "latest").code == 0
    return project


@pytest.fixture(scope="module")
def workers(tiny: SmallProject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPoolExecutor]:
    """Two processes, each with its own copy of the tiny run."""
    folder = str(tmp_path_factory.mktemp("copies"))
    with ProcessPoolExecutor(
        WORKERS,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=prepare_worker,
        initargs=(str(tiny.root), str(tiny.home), folder),
    ) as pool:
        yield pool


@pytest.fixture
def bench(tiny: SmallProject, tmp_path: Path) -> Bench:
    """A copy of the tiny run to damage in this process."""
    return Bench(tiny.copy_to(tmp_path))


def shares(size: int) -> list[range]:
    """Return the numbers below `size`, dealt out to the workers."""
    return [range(first, size, WORKERS) for first in range(WORKERS)]


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_flipped_bit_is_found(tiny: SmallProject, workers: ProcessPoolExecutor, file: str) -> None:
    """No file has a bit that can be flipped without a finding."""
    size = Bench(tiny).path(file).stat().st_size
    asked = [workers.submit(surviving_flips, file, share) for share in shares(size)]
    assert [survivor for future in asked for survivor in future.result()] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_truncation_is_found(tiny: SmallProject, workers: ProcessPoolExecutor, file: str) -> None:
    """No file can be cut to any shorter length, nothing included, without a finding."""
    size = Bench(tiny).path(file).stat().st_size
    asked = [workers.submit(surviving_lengths, file, share) for share in shares(size)]
    assert [survivor for future in asked for survivor in future.result()] == []


@pytest.mark.parametrize("file", FILES)
def test_sampled_damage_is_found_by_the_whole_procedure(bench: Bench, file: str) -> None:
    """What the parts find, `verify` as a whole finds too: a sample of flips over each file."""
    path = bench.path(file)
    raw = path.read_bytes()
    assert bench.whole().holds
    for number in range(40):
        offset = number * (len(raw) - 1) // 39
        damaged = bytearray(raw)
        damaged[offset] ^= 1 << number % 8
        path.write_bytes(damaged)
        assert not bench.whole().holds, f"bit {number % 8} of byte {offset}"
    path.write_bytes(raw)
    assert bench.whole().holds


def test_damage_of_a_long_record_is_told_in_the_same_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial lines of a long record are read at a glance: what is found, where and in which order, is the same."""
    path = bench.path("run/record.jsonl")
    raw = path.read_bytes()
    begin = raw.index(b'"type":"run.open"')
    told = set()
    for number in range(150):
        offset = begin + number * (len(raw) - 1 - begin) // 149
        damaged = bytearray(raw)
        damaged[offset] ^= 1 << number % 8
        path.write_bytes(damaged)
        strict = bench.whole()
        with monkeypatch.context() as change:
            change.setattr(log_file, "MANY_LINES", 0)
            quick = bench.whole()
        assert quick.findings == strict.findings
        assert (quick.said, quick.skipped) == (strict.said, strict.skipped)
        told |= {item.code for item in strict.findings}
    assert len(told) > 5


@pytest.mark.parametrize("file", [file for file in FILES if file != "run/content.jsonl"])
@pytest.mark.parametrize("how", ["deleted", "a folder", "a link to nothing", "emptied"])
def test_every_deleted_file_is_found(bench: Bench, tmp_path: Path, file: str, how: str) -> None:
    """A file that is gone, empty, or no file is a finding or a clear error of every command that reads it."""
    path = bench.path(file)
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how == "a link to nothing":
        path.symlink_to(tmp_path / "nowhere")
    elif how == "emptied":
        path.touch()
    assert not bench.whole().holds
    for arguments in (["verify"], ["verify", bench.project.last.name], ["gate", bench.project.last.name]):
        said = bench.project(*arguments)
        assert said.code in (2, 3), (arguments, said)


def test_deleted_content_is_withheld_and_not_passed(bench: Bench) -> None:
    """A run without content.jsonl holds as far as it goes; V16 is SKIP and says that the content is withheld."""
    bench.path("run/content.jsonl").unlink()
    report = bench.whole()
    assert report.holds
    assert report.status("V16") == "SKIP"
    assert "withheld" in report.skipped["V16"]
    assert bench.project("gate", "latest", "--no-append").code == 0


@pytest.mark.parametrize("how", ["a folder", "emptied"])
def test_content_that_is_no_content_is_found(bench: Bench, how: str) -> None:
    """Content that is there and cannot be read is not the same as content that is withheld."""
    path = bench.path("run/content.jsonl")
    path.unlink()
    path.mkdir() if how == "a folder" else path.touch()
    assert not bench.whole().holds


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("more", [b"\n", b"{}\n"], ids=["newline", "object"])
def test_line_added_at_the_end_is_never_silent(bench: Bench, file: str, more: bytes) -> None:
    """A line behind the end of a file is a finding, or at least a note that nobody signed it."""
    path = bench.path(file)
    path.write_bytes(path.read_bytes() + more)
    assert bench.whole().findings


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("more", [b" ", b"\x00"], ids=["space", "NUL"])
def test_torn_bytes_added_at_the_end_are_never_silent(bench: Bench, file: str, more: bytes) -> None:
    """Bytes without a line end behind the end of a file are a finding, or at least a note."""
    path = bench.path(file)
    path.write_bytes(path.read_bytes() + more)
    assert bench.whole().findings
