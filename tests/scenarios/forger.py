# SPDX-License-Identifier: Apache-2.0
"""What a cheating owner of the key can do with tools of his own: rewrite plan, record and ledger, and sign it all again.

    forger = Forger(project)                 # reads the newest run
    forger.record[5]["body"]["latency_ms"] = 7
    forger.recount()                         # optional: run.close says what the lines now say
    forger.sign()                            # numbers, times, digests, references, proofs, roots, signatures

`sign` makes everything consistent that a forger would not forget; what a test leaves wrong on purpose stays wrong.
Single files can be signed as raw bytes with `sign_record_lines` and `sign_ledger_lines`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from small_project import SmallProject

from trialplate.ledger.keys import LedgerKey, load_signer
from trialplate.record import canonical, codec
from trialplate.record.entries import Narrowing, TrialEnd, TrialStart
from trialplate.record.log import inclusion_proof, leaf_hash, root_of
from trialplate.record.matrix import attempt_key, configuration_digest, narrow
from trialplate.record.note import Checkpoint, format_checkpoint, sign_note
from trialplate.record.values import Plan
from trialplate.rules.cells import Board

__all__ = ["Entry", "Forger", "edited", "forge", "gate", "raw_lines"]

Entry = dict[str, Any]
_REFERENCES = ("test_set", "pass_mark", "supersedes")


class Forger:
    """Plan, record and ledger of one run as plain JSON, and the key that signs them."""

    def __init__(self, project: SmallProject, run: Path | None = None, key: LedgerKey | None = None) -> None:
        self.project = project
        self.folder = run or project.last
        self.run_id = self.folder.name
        self.origin = (project.ledger / "origin").read_text().strip()
        self.plan: Any = canonical.decode((self.folder / "plan.json").read_bytes())
        self.record = _entries(self.folder / "record.jsonl")
        self.ledger = _entries(project.ledger / "entries.jsonl")
        self.key = key or load_signer(self.ledger[0]["body"]["key"], {"TRIALPLATE_HOME": str(project.home)})
        self._named = {entry["seq"]: entry for entry in self.ledger}
        """Entries by the number under which others name them."""

    # ------------------------------------------------------------------------------------------------- finding things

    def of(self, kind: str) -> Entry:
        """Return the last entry of a type that is about this run, or the last of its type."""
        there = [entry for entry in self.ledger if entry["type"] == kind]
        mine = [entry for entry in there if entry["body"].get("run_id") == self.run_id]
        return (mine or there)[-1]

    def trial(self, configuration: str, case: str, repeat: int = 1) -> Entry:
        """Return the body of the last trial.end of a trial."""
        wanted = [configuration, case, repeat]
        ends: list[Entry] = [
            e["body"] for e in self.record if e["type"] == "trial.end" and e["body"]["trial"] == wanted
        ]
        return ends[-1]

    def drop(self, kind: str) -> None:
        """Leave out the ledger's entries of a type."""
        self.ledger = [entry for entry in self.ledger if entry["type"] != kind]

    def drop_trial(self, configuration: str, case: str, repeat: int) -> None:
        """Leave out every line about a trial."""
        wanted = [configuration, case, repeat]
        self.record = [entry for entry in self.record if entry["body"].get("trial") != wanted]

    def rename_trial(self, old: list[Any], new: list[Any]) -> None:
        """Let every line about a trial be about another."""
        for entry in self.record:
            if entry["body"].get("trial") == old:
                entry["body"]["trial"] = new

    # ---------------------------------------------------------------------------------------------------- making good

    def fail(self, configuration: str, case: str, repeat: int = 1) -> None:
        """Turn a trial into a plain failure, consistent in itself."""
        self.trial(configuration, case, repeat).update(outcome="failed", verdict="failed", metrics={"correct": 0})

    def passes(self, configuration: str, case: str, repeat: int = 1) -> None:
        """Turn a trial into a plain pass, consistent in itself."""
        self.trial(configuration, case, repeat).update(outcome="passed", verdict="passed", metrics={"correct": 1})

    def recount(self) -> None:
        """Let run.close and run.end count what the lines now say."""
        plan = codec.decode(Plan, self.plan)
        board = Board()
        for entry in self.record:
            if entry["type"] == "trial.start":
                board.start(codec.decode(TrialStart, entry["body"]))
            elif entry["type"] == "trial.end":
                board.end(codec.decode(TrialEnd, entry["body"]))
        counts = codec.to_json(board.counts(narrow(plan, self._narrowing())))
        self.record[-1]["body"]["counts"] = counts
        self.of("run.end")["body"]["counts"] = counts

    def sign(self, *, restate_start: bool = True, keep: Sequence[str] = ()) -> None:
        """Number, date, link and sign everything again, and write it.

        Args:
            restate_start: let run.start name the plan, its configurations and its caching as they now are.
            keep: types of ledger entries that go on saying what they said of the record.
        """
        raw = canonical.encode(self.plan)
        times = sorted(entry["time"] for entry in self.ledger)
        for seq, entry in enumerate(self.ledger):
            entry["seq"], entry["time"] = seq, times[seq]
        if restate_start:
            self._restate(raw)
        lines: list[bytes] = []
        record: list[bytes] = []
        for entry in self.ledger:
            if record and entry["body"].get("run_id") == self.run_id and entry["type"] not in ("run.start", *keep):
                self._pin(entry, record, raw)
            lines.append(self._line(entry))
            if entry["type"] == "run.start" and entry["body"]["run_id"] == self.run_id and not record:
                self._reopen(entry, lines, raw)
                record = self._record_lines()
        (self.folder / "plan.json").write_bytes(raw)
        self.sign_record_lines(record)
        self.sign_ledger_lines(lines)

    def sign_ledger(self) -> None:
        """Sign the ledger alone, as its entries now are; the record stays as it is."""
        self.sign_ledger_lines([self._line(entry) for entry in self.ledger])

    def sign_record(self) -> None:
        """Number and sign the record alone; the ledger stays as it is."""
        self.sign_record_lines(self._record_lines())

    def sign_record_lines(self, lines: Sequence[bytes]) -> None:
        """Write these very lines as the record, and a signed checkpoint over them."""
        self._write(self.folder, "record.jsonl", lines, f"{self.origin}/run/{self.run_id}")

    def sign_ledger_lines(self, lines: Sequence[bytes]) -> None:
        """Write these very lines as the ledger, and a signed checkpoint over them."""
        self._write(self.project.ledger, "entries.jsonl", lines, self.origin)

    def note_over(self, lines: Sequence[bytes], origin: str | None = None) -> bytes:
        """Return a signed checkpoint over lines."""
        point = Checkpoint(origin or self.origin, len(lines), root_of(lines))
        return sign_note(format_checkpoint(point), self.key.signer)

    # ------------------------------------------------------------------------------------------------------- in detail

    def _narrowing(self) -> Narrowing | None:
        given = self.of("run.start")["body"].get("narrowing")
        return codec.decode(Narrowing, given) if given is not None else None

    def _restate(self, raw: bytes) -> None:
        plan = codec.decode(Plan, self.plan)
        matrix = narrow(plan, self._narrowing())
        body = self.of("run.start")["body"]
        body.update(plan=canonical.digest(raw), trials=matrix.size, cache=plan.cache)
        body["configurations"] = [
            {"name": item.name, "digest": configuration_digest(item), "attempt_key": attempt_key(item)}
            for item in plan.configurations
            if item.name in matrix.counts
        ]

    def _line(self, entry: Entry) -> bytes:
        """Return an entry's line, its references to others brought up to date."""
        for field in _REFERENCES:
            named = entry["body"].get(field)
            if isinstance(named, dict) and named["seq"] in self._named and "_kept" not in named:
                other = self._named[named["seq"]]
                entry["body"][field] = {
                    "seq": other["seq"],
                    "digest": canonical.digest(self._line(other)),
                    "_kept": True,
                }
        return canonical.encode(_without_marks(entry))

    def _reopen(self, start: Entry, lines: Sequence[bytes], raw: bytes) -> None:
        body = self.record[0]["body"]
        proof = inclusion_proof([leaf_hash(line) for line in lines], start["seq"])
        body["start"] = {
            "entry": lines[-1].decode(),
            "note": self.note_over(lines).decode(),
            "proof": [f"sha256:{step.hex()}" for step in proof],
        }
        body.update(plan=canonical.digest(raw), seed=canonical.digest(lines[-1]))

    def _record_lines(self) -> list[bytes]:
        return [canonical.encode({**entry, "seq": seq}) for seq, entry in enumerate(self.record)]

    def _pin(self, entry: Entry, record: Sequence[bytes], raw: bytes) -> None:
        """Let a progress, an end or a decision speak of the record as it now is."""
        body, kind = entry["body"], entry["type"]
        if kind == "decision":
            body.update(record_size=len(record), record_root=_root(record), plan=canonical.digest(raw))
        elif kind in ("run.progress", "run.resume", "run.end"):
            size = len(record) if kind == "run.end" else min(body["size"], len(record))
            body.update(size=size, root=_root(record[:size]))

    def _write(self, folder: Path, name: str, lines: Sequence[bytes], origin: str) -> None:
        (folder / name).write_bytes(b"".join(line + b"\n" for line in lines))
        (folder / "checkpoint").write_bytes(self.note_over(lines, origin))


def forge(
    finished: SmallProject, folder: Path, change: Callable[[Forger], object], *, recount: bool = True
) -> SmallProject:
    """Let the key's owner change a run and sign everything again; return it as a stranger sees it."""
    forger = Forger(finished)
    change(forger)
    forger.drop("decision")
    if recount:
        forger.recount()
    forger.sign()
    return finished.as_stranger(folder)


def gate(project: SmallProject, model: str = "good", *flags: str) -> int:
    """Return the exit code of a gate on the newest run, which appends nothing."""
    return project("gate", "latest", "--model", model, "--no-append", *flags).code


def raw_lines(path: Path) -> list[bytes]:
    """Return a log's lines without their LF."""
    return path.read_bytes().split(b"\n")[:-1]


def edited(lines: Sequence[bytes], index: int, change: Callable[[bytes], bytes]) -> list[bytes]:
    """Return the lines with one of them changed; fails if nothing changed."""
    fresh = change(lines[index])
    assert fresh != lines[index], "the edit changed nothing"
    return [*lines[:index], fresh, *lines[index + 1 :]]


def _entries(path: Path) -> list[Entry]:
    return [canonical.decode(line) for line in raw_lines(path)]


def _root(lines: Sequence[bytes]) -> str:
    return "sha256:" + root_of(lines).hex()


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(item) for key, item in value.items() if key != "_kept"}
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return value
