# SPDX-License-Identifier: Apache-2.0
"""Bringing the index up to date: from a verified ledger, and from the records as far as they were not read before.

A run's rows are read on from where they end, if the bytes that they came from still are the beginning of its record,
and made anew if not. What a record says is taken at its word here: nothing of it is verified.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from trialplate.errors import FormatError, VerificationError
from trialplate.record.decisions import Decision
from trialplate.record.entries import RECORD_TYPES, RunStart, TrialEnd, TrialKey, TrialStart
from trialplate.record.log import MAX_ENTRY
from trialplate.record.note import Checkpoint, open_note, parse_checkpoint
from trialplate.rules.cells import Board, Cell
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.log_file import MAX_NOTE, open_regular, read_small, typed_entry
from trialplate.verify.record_view import read_plan

__all__ = ["CELL_COLUMNS", "DECISION_COLUMNS", "RUN_COLUMNS", "fill", "is_current"]

KEY_COLUMNS = {"run_id": str, "configuration": str, "case_id": str, "repeat": int}
CELL_COLUMNS = {
    **KEY_COLUMNS,
    "outcome": str,
    "cause": str,
    "verdict": str,
    "attempts": int,
    "running": int,
    "lost": int,
    "received": int,
    "retrying": int,
    "replayed": int,
    "reasked": int,
    "latency_ms": int,
    "cost_nano": int,
    "cost_unknown": int,
    "metrics": str,
    "currency": str,
}
"""A cell as `rules.cells` folds it, and the currency of its cost."""
DECISION_COLUMNS = {"run_id": str, "configuration": str, "decision": str, "seq": int}
RUN_COLUMNS = {
    "run_id": str,
    "seq": int,
    "started": str,
    "name": str,
    "selection": str,
    "trials": int,
    "status": str,
    "waived": int,
    "here": int,
    "size": int,
    "root": str,
    "bytes": int,
    "sha256": str,
    "unreadable": str,
}
"""`size` to `sha256`: the part of the record that the rows of its trials came from."""
FLUSH = 5_000
"""Cells that are held in memory before they are written."""


def fill(db: sqlite3.Connection, view: LedgerView) -> None:
    """Make the rows say what the ledger and the records say now; one transaction for each run.

    Raises:
        sqlite3.Error: the database cannot be read or written.
    """
    if is_current(db, view):
        return
    runs = view.folder.parent / "runs"
    known = {row[0]: row for row in db.execute("SELECT run_id, size, root, bytes, sha256, here FROM runs")}
    starts = view.starts()
    for gone in known.keys() - {entry.body.run_id for entry in starts}:
        _forget(db, gone)
    for entry in starts:
        _fill_run(db, view, entry, runs / entry.body.run_id, known.get(entry.body.run_id))
        db.commit()


def _forget(db: sqlite3.Connection, run_id: str) -> None:
    for table in ("trials", "decisions", "runs"):
        db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608  names of our own


def _fill_run(db: sqlite3.Connection, view: LedgerView, entry: LedgerEntry, folder: Path, known: Any) -> None:
    """Write a run's row, its decisions, and its trials if its record has grown or changed."""
    run_id = entry.body.run_id
    row = _head(view, entry, folder)
    db.execute("DELETE FROM decisions WHERE run_id = ?", (run_id,))
    last = {stated.body.configuration: stated for stated in view.decisions(run_id)}
    stated = [(run_id, name, item.body.decision, item.seq) for name, item in last.items()]
    _put(db, "decisions", DECISION_COLUMNS, stated, "run_id, configuration")
    if known is None or (row["size"], row["root"], row["here"]) != (known[1], known[2], known[5]):
        row |= _Reading(db, folder, run_id).read(known, row["size"])
    names = ", ".join(f"{name} = excluded.{name}" for name in row if name != "run_id")
    marks = ", ".join("?" * len(row))
    statement = f"INSERT INTO runs ({', '.join(row)}) VALUES ({marks}) ON CONFLICT (run_id) DO UPDATE SET {names}"  # noqa: S608
    db.execute(statement, tuple(row.values()))


def _head(view: LedgerView, entry: LedgerEntry, folder: Path) -> dict[str, Any]:
    """Return what the ledger and a record's checkpoint say of a run."""
    start: RunStart = entry.body
    end = view.end_of(start.run_id)
    point = _checkpoint(folder)
    return {
        "run_id": start.run_id,
        "seq": entry.seq,
        "started": entry.time,
        "selection": start.selection,
        "trials": start.trials,
        "status": end.body.status if end is not None else None,
        "waived": int(view.waived(start.run_id)),
        "here": int(folder.is_dir()),
        "size": point.size,
        "root": point.root.hex(),
    }


def is_current(db: sqlite3.Connection, view: LedgerView) -> bool:
    """Say whether `fill` would have nothing to do.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    runs = view.folder.parent / "runs"
    heads = [_head(view, entry, runs / entry.body.run_id) for entry in view.starts()]
    names = ["run_id", "size", "root", "status", "waived", "here"]
    held = set(db.execute(f"SELECT {', '.join(names)} FROM runs"))  # noqa: S608  names of our own
    stated = {(item.body.run_id, item.body.configuration): item.seq for item in view.bodies(Decision)}
    decided = {
        (run_id, name): seq for run_id, name, seq in db.execute("SELECT run_id, configuration, seq FROM decisions")
    }
    return held == {tuple(head[name] for name in names) for head in heads} and decided == stated


def _checkpoint(folder: Path) -> Checkpoint:
    """Return what a record's checkpoint states, whoever signed it; nothing is covered where there is none."""
    try:
        return parse_checkpoint(open_note(read_small(folder / "checkpoint", "checkpoint", MAX_NOTE), ()).text)
    except (FormatError, VerificationError):
        return Checkpoint(origin="none", size=0, root=bytes(32))


def _put(db: sqlite3.Connection, table: str, columns: dict[str, type], rows: list[tuple[Any, ...]], key: str) -> None:
    """Write rows; one that is there keeps its place, so that trials stay in the order in which they began."""
    marks = ", ".join("?" * len(columns))
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns)
    statement = f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {changed}"  # noqa: S608
    db.executemany(statement, rows)


class _Reading:
    """Folds the lines of one record into rows."""

    def __init__(self, db: sqlite3.Connection, folder: Path, run_id: str) -> None:
        self.db, self.folder, self.run_id = db, folder, run_id
        self.board = Board()
        self.currencies: dict[str, str] = {}

    def read(self, known: Any, size: int) -> dict[str, Any]:
        """Read what is new up to so many lines; returns the columns that say how far that is."""
        failed: str | None = None
        name: str | None = None
        done, digest = 0, hashlib.sha256()
        try:
            _, plan = read_plan(self.folder, f"runs/{self.run_id}")
            name = plan.name
            self.currencies = {c.name: c.pricing.currency for c in plan.configurations if c.pricing is not None}
            with open_regular(self.folder / "record.jsonl", f"runs/{self.run_id}/record.jsonl") as file:
                lines, digest = self._where_to_begin(file, known, size)
                for line in self._lines(file, lines, size):
                    digest.update(line)
                self._flush()
                done = file.tell()
        except (FormatError, VerificationError) as error:
            failed = f"{error.code}: {error.message}"
            self.db.execute("DELETE FROM trials WHERE run_id = ?", (self.run_id,))
            digest = hashlib.sha256()
        return {"name": name, "bytes": done, "sha256": digest.hexdigest(), "unreadable": failed}

    def _where_to_begin(self, file: BinaryIO, known: Any, size: int) -> tuple[int, Any]:
        """Return how many lines are in the rows already, and the hash of their bytes; the file stands behind them."""
        digest = hashlib.sha256()
        if known is not None and known[3] and known[1] <= size:
            left = known[3]
            while left and (piece := file.read(min(left, 1 << 20))):
                digest.update(piece)
                left -= len(piece)
            if not left and digest.hexdigest() == known[4]:
                return known[1], digest
        file.seek(0)
        self.db.execute("DELETE FROM trials WHERE run_id = ?", (self.run_id,))
        return 0, hashlib.sha256()

    def _lines(self, file: BinaryIO, seq: int, size: int) -> Iterator[bytes]:
        """Fold the lines from `seq` to `size` and yield each with its LF."""
        shown = f"runs/{self.run_id}/record.jsonl"
        while seq < size:
            line = file.readline(MAX_ENTRY + 2)
            if not line.endswith(b"\n"):
                raise VerificationError("ends before its checkpoint does", where=shown, code="RECORD-TRUNCATED")
            _, body = typed_entry(line[:-1], seq, f"{shown}:{seq + 1}", RECORD_TYPES)
            if isinstance(body, TrialStart | TrialEnd):
                self._recall(body.trial)
                self.board.start(body) if isinstance(body, TrialStart) else self.board.end(body)
                if len(self.board.cells) >= FLUSH:
                    self._flush()
            seq += 1
            yield line

    def _recall(self, key: TrialKey) -> None:
        """Take a cell's state from its row, if it was read before."""
        if key in self.board.cells:
            return
        names = [name for name in CELL_COLUMNS if name not in KEY_COLUMNS and name != "currency"]
        where = "run_id = ? AND configuration = ? AND case_id = ? AND repeat = ?"
        statement = f"SELECT {', '.join(names)} FROM trials WHERE {where}"  # noqa: S608  names of our own
        row = self.db.execute(statement, (self.run_id, *key)).fetchone()
        if row is None:
            return
        cell = self.board.cells[key] = Cell()
        for name, held in zip(names, row, strict=True):
            kind = type(getattr(cell, name))
            setattr(cell, name, json.loads(held) if name == "metrics" else bool(held) if kind is bool else held)

    def _flush(self) -> None:
        """Write the cells that are held, and forget them."""
        names = [name for name in CELL_COLUMNS if name not in KEY_COLUMNS and name not in ("metrics", "currency")]
        rows = [
            (
                self.run_id,
                *key,
                *(int(held) if isinstance(held := getattr(cell, name), bool) else held for name in names),
                json.dumps(dict(cell.metrics), sort_keys=True),
                self.currencies.get(key[0]),
            )
            for key, cell in self.board.cells.items()
        ]
        _put(self.db, "trials", CELL_COLUMNS, rows, ", ".join(KEY_COLUMNS))
        self.board.cells.clear()
