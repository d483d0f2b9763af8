# SPDX-License-Identifier: Apache-2.0
"""Damaging one file of a small run in every way, in a worker process with a copy of its own, and verifying each time.

Only what reads the damaged file is verified anew: the ledger for its three files, the run against a ledger that was
read once for its four. `whole` goes through `verify` itself instead, as a person's command does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from small_project import SmallProject

from trialplate.errors import TrialplateError
from trialplate.verify.content import check_content
from trialplate.verify.findings import Report
from trialplate.verify.known import read_known
from trialplate.verify.ledger_view import LedgerView, Reader, read_ledger
from trialplate.verify.locate import Found
from trialplate.verify.procedure import verify
from trialplate.verify.record_view import read_record

__all__ = ["FILES", "Bench", "prepare_worker", "surviving_flips", "surviving_lengths"]

FILES = (
    "ledger/origin",
    "ledger/entries.jsonl",
    "ledger/checkpoint",
    "run/plan.json",
    "run/record.jsonl",
    "run/checkpoint",
    "run/content.jsonl",
)


class Bench:
    """A copy of a project whose files are damaged and put right again."""

    def __init__(self, project: SmallProject) -> None:
        self.project = project
        self.reader = Reader(known=read_known(project.home))
        ledger = read_ledger(project.ledger, self.reader, Report("ledger"))
        assert ledger is not None
        self.ledger: LedgerView = ledger

    def path(self, file: str) -> Path:
        """Return where a file of FILES stands."""
        folder, _, name = file.partition("/")
        return (self.project.ledger if folder == "ledger" else self.project.last) / name

    def whole(self) -> Report:
        """Verify everything, as the command does."""
        return verify(Found(self.project.ledger, self.project.last), self.reader).report

    def holds(self, file: str) -> bool:
        """Verify what reads this file; an error of Trialplate's own counts as found, any other error ends the test."""
        try:
            if file.startswith("ledger/"):
                return verify(Found(self.project.ledger, None), self.reader).report.holds
            report = Report("run")
            record = read_record(self.project.last, self.ledger, report)
            if record is not None:
                check_content(record, self.ledger, report)
            return report.holds
        except TrialplateError:
            return False


_bench: Bench


def prepare_worker(root: str, home: str, folder: str) -> None:
    """Give a worker process its own copy of the project."""
    global _bench
    own = Path(folder) / f"worker-{os.getpid()}"
    _bench = Bench(SmallProject(Path(root), Path(home)).copy_to(own))
    shutil.copystat(root, own)
    assert _bench.whole().holds


def surviving_flips(file: str, offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Flip every bit of the bytes at these offsets, one at a time; return (offset, bit) of those not found."""
    path = _bench.path(file)
    raw = bytearray(path.read_bytes())
    survivors = []
    with path.open("r+b", buffering=0) as out:
        for offset in offsets:
            for bit in range(8):
                _put(out.fileno(), offset, raw[offset] ^ 1 << bit)
                if _bench.holds(file):
                    survivors.append((offset, bit))
            _put(out.fileno(), offset, raw[offset])
    assert _bench.holds(file), "the file was put right again"
    return survivors


def surviving_lengths(file: str, lengths: Iterable[int]) -> list[int]:
    """Cut the file to each of these lengths; return those not found."""
    path = _bench.path(file)
    raw = path.read_bytes()
    survivors = []
    for length in lengths:
        path.write_bytes(raw[:length])
        if _bench.holds(file):
            survivors.append(length)
    path.write_bytes(raw)
    assert _bench.holds(file), "the file was put right again"
    return survivors


def _put(descriptor: int, offset: int, value: int) -> None:
    os.pwrite(descriptor, bytes([value]), offset)
