# SPDX-License-Identifier: Apache-2.0
"""The index of a project's runs and trials, `.trialplate/index.db`: derived, disposable, and never an authority.

It holds what ledger and records say in the open, and no private text. Whatever is wrong with the file leads to a new
one, in its place or in memory: no command fails for it. `verify`, `gate` and `resume` never read it (ADR 26).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialplate.errors import StorageError
from trialplate.ledger.index_rows import CELL_COLUMNS, DECISION_COLUMNS, RUN_COLUMNS, fill, is_current
from trialplate.ledger.lock import hold
from trialplate.verify.ledger_view import LedgerView

__all__ = ["Index", "IndexedRun", "IndexedTrial", "index_file", "index_state", "open_index"]

WAIT_S = 30.0
"""How long to wait for another process that brings the index up to date."""
PIECE = 1_000
"""Rows that are read at once: the database is not held for longer than that."""
_NO_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL}
"""What a new file in its place would not mend."""


@dataclass(frozen=True)
class IndexedRun:
    """A run: what the ledger says of it, and what its record says where it is here."""

    run_id: str
    started: str
    name: str | None
    """The plan's name; None where the plan is not here."""
    selection: str
    trials: int
    status: str | None
    """complete or incomplete, as the ledger says; None while it has no run.end."""
    waived: bool
    here: bool
    unreadable: str | None
    """Why its record could not be read."""
    outcomes: dict[str, int]
    """Trials by the outcome at which they stand; those that never began are in none."""
    without_end: int
    """Of the errors: trials whose last attempt has no end; it was lost, or is under way."""
    decisions: dict[str, str]
    """The last one that the ledger states, by configuration."""
    cost_nano: dict[str, int]
    """What is known of the cost, by currency."""
    cost_unknown: int
    """Trials with an attempt of unknown cost."""


@dataclass(frozen=True)
class IndexedTrial:
    """A trial that began."""

    configuration: str
    case: str
    repeat: int
    outcome: str
    cause: str | None
    attempts: int
    cost_nano: int | None
    currency: str | None
    latency_ms: int
    metrics: str
    """The metrics as a JSON object."""


class Index:
    """An index that is up to date."""

    def __init__(self, db: Any, kept: bool, reason: str = "") -> None:
        self._db = db
        self.kept = kept
        """Whether it is in its file; else it was made in memory, for `reason`."""
        self.reason = reason

    def runs(self) -> list[IndexedRun]:
        """Return every run of the ledger, the newest first."""
        counts = "SELECT run_id, CASE running WHEN 1 THEN 'error' ELSE outcome END AS word, count(*) AS number,"
        counts += " sum(cost_unknown OR running OR currency IS NULL) AS unknown, sum(running) AS without_end"
        counts += " FROM trials GROUP BY run_id, word"
        outcomes: dict[str, dict[str, int]] = {}
        unknown: dict[str, int] = {}
        without_end: dict[str, int] = {}
        for row in self._db.query(counts):
            outcomes.setdefault(row["run_id"], {})[row["word"]] = row["number"]
            unknown[row["run_id"]] = unknown.get(row["run_id"], 0) + row["unknown"]
            without_end[row["run_id"]] = without_end.get(row["run_id"], 0) + row["without_end"]
        costs: dict[str, dict[str, int]] = {}
        for row in self._db.query(
            "SELECT run_id, currency, sum(cost_nano) AS nano FROM trials WHERE currency NOT NULL GROUP BY 1, 2"
        ):
            costs.setdefault(row["run_id"], {})[row["currency"]] = row["nano"]
        decisions: dict[str, dict[str, str]] = {}
        for row in self._db.query("SELECT run_id, configuration, decision FROM decisions ORDER BY seq"):
            decisions.setdefault(row["run_id"], {})[row["configuration"]] = row["decision"]
        return [
            IndexedRun(
                **{name: row[name] for name in ("run_id", "started", "name", "selection", "trials", "status")},
                waived=bool(row["waived"]),
                here=bool(row["here"]),
                unreadable=row["unreadable"],
                outcomes=outcomes.get(row["run_id"], {}),
                without_end=without_end.get(row["run_id"], 0),
                decisions=decisions.get(row["run_id"], {}),
                cost_nano=costs.get(row["run_id"], {}),
                cost_unknown=unknown.get(row["run_id"], 0),
            )
            for row in self._db.query("SELECT * FROM runs ORDER BY seq DESC")
        ]

    def trials(
        self, run_id: str, configuration: str | None = None, repeat: int | None = None
    ) -> Iterator[IndexedTrial]:
        """Yield the trials of a run that began, in the order in which they did."""
        last = 0
        where = "run_id = ? AND rowid > ? AND coalesce(?, configuration) = configuration"
        where += " AND coalesce(?, repeat) = repeat"
        statement = f"SELECT rowid, * FROM trials WHERE {where} ORDER BY rowid LIMIT {PIECE}"  # noqa: S608
        while rows := list(self._db.query(statement, (run_id, last, configuration, repeat))):
            last = rows[-1]["rowid"]
            for row in rows:
                unknown = row["cost_unknown"] or row["running"] or row["currency"] is None
                yield IndexedTrial(
                    configuration=row["configuration"],
                    case=row["case_id"],
                    repeat=row["repeat"],
                    outcome="error" if row["running"] else row["outcome"],
                    cause="lost" if row["running"] else row["cause"],
                    attempts=row["attempts"],
                    cost_nano=None if unknown else row["cost_nano"],
                    currency=row["currency"],
                    latency_ms=row["latency_ms"],
                    metrics=row["metrics"],
                )


def index_file(project: Path) -> Path:
    """Return where a project's index is kept."""
    return project / ".trialplate" / "index.db"


@contextmanager
def open_index(view: LedgerView) -> Iterator[Index]:
    """Hand out the index of a verified ledger's project, brought up to date; in memory where it cannot be kept.

    Args:
        view: the ledger, which must hold: what it says of runs is passed on as its word.
    """
    import sqlite_utils  # noqa: F401  here, since it takes long and nobody is to wait for it under the lock

    path = index_file(view.folder.parent)
    reason = ""
    db = None
    try:
        if path.is_symlink() or path.parent.is_symlink():
            raise StorageError("a link stands in its place", where=str(path))
        path.parent.mkdir(exist_ok=True)
        with hold(path.with_name("index.lock"), "another trialplate is reading the records", WAIT_S):
            db = _up_to_date(path, view)
    except (StorageError, sqlite3.Error, OSError) as error:
        reason = str(error)
    if db is None:
        db = _made(None)
        fill(db.conn, view)
    try:
        yield Index(db, not reason, reason)
    finally:
        db.conn.close()


def index_state(view: LedgerView) -> str:
    """Return in a word how the file stands, and change nothing: current, stale, absent or damaged."""
    path = index_file(view.folder.parent)
    if not path.exists():
        return "absent"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as db:
            if not _is_ours(db):
                return "damaged"
            return "current" if is_current(db, view) else "stale"
    except sqlite3.Error:
        return "damaged"


def _up_to_date(path: Path, view: LedgerView) -> Any:
    """Return the database in a file, brought up to date; a file that is damaged or not ours is made anew."""
    for first in (True, False):
        db = None
        try:
            db = _made(path)
            fill(db.conn, view)
            return db
        except sqlite3.Error as error:
            if db is not None:
                db.conn.close()
            if not first or getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_USE:
                raise
            for ending in ("", "-journal", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    path.with_name(path.name + ending).unlink()
    raise AssertionError("the second try returns or raises")


def _made(path: Path | None) -> Any:
    """Return a database with our tables, and no others, in a file or in memory.

    Raises:
        sqlite3.Error: the file cannot be used, or holds something else than our tables.
    """
    from sqlite_utils import Database

    conn = sqlite3.connect(":memory:" if path is None else path, timeout=WAIT_S)
    try:
        conn.execute("PRAGMA trusted_schema = OFF")
        conn.execute("PRAGMA synchronous = NORMAL")
        db = Database(conn, execute_plugins=False)
        if not conn.execute("SELECT 1 FROM sqlite_master").fetchone():
            db.table("runs").create(RUN_COLUMNS, pk="run_id")
            db.table("decisions").create(DECISION_COLUMNS, pk=("run_id", "configuration"))
            db.table("trials").create(CELL_COLUMNS, pk=("run_id", "configuration", "case_id", "repeat"))
            conn.commit()
        elif not _is_ours(conn):
            raise sqlite3.DatabaseError("other tables than ours")
    except BaseException:
        conn.close()
        raise
    return db


def _is_ours(conn: sqlite3.Connection) -> bool:
    """Say whether a database is whole and has our tables, to the letter: of another version it is made anew."""
    fresh = _made(None).conn
    try:
        wanted, found = (list(c.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 2")) for c in (fresh, conn))
    finally:
        fresh.close()
    return wanted == found and conn.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
