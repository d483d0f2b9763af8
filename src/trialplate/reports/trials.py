# SPDX-License-Identifier: Apache-2.0
"""Reading a verified record once more, for what its cells do not keep: the line behind a trial, and its private parts.

One pass, line by line, whatever the record's length. What was verified is what is read: a record that has changed since
is refused at the end of the pass. A value of content.jsonl is handed out under the commitment that its line makes, so
what is shown is what was committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from trialplate.errors import FormatError, VerificationError
from trialplate.record import canonical, codec
from trialplate.record.entries import RECORD_TYPES, TrialEnd, TrialKey, TrialStart
from trialplate.record.frozen import Json
from trialplate.record.values import Case, PlanCase
from trialplate.rules.cells import Board
from trialplate.verify.content import openings
from trialplate.verify.log_file import LogFile, Signed, typed_entry

__all__ = ["answer_text", "last_ends", "opened", "opened_cases", "reasons_of", "timed", "trial_lines"]

Line = tuple[str, TrialStart | TrialEnd]
"""A time, and what began or ended then."""


def trial_lines(folder: Path, signed: Signed, type_: str = "trial.", only: bytes = b"") -> Iterator[Line]:
    """Yield the lines about trials up to a checkpoint.

    Args:
        type_: what their type begins with. A line is canonical, so its type stands in it in one form only; one that
            holds the same bytes elsewhere is told apart when it is decoded.
        only: bytes that a line must hold to be looked at.

    Raises:
        VerificationError: FILE-MISSING, RECORD-TRUNCATED, or RECORD-ROOT once all lines were read.
        FormatError: a line that is no entry of a record.
    """
    shown = f"runs/{folder.name}/record.jsonl"
    log = LogFile(folder / "record.jsonl", shown, signed.checkpoint.size)
    mark = f'"type":"{type_}'.encode()
    for seq, line in enumerate(log.lines("RECORD")):
        if mark in line and only in line:
            entry, body = typed_entry(line, seq, f"{shown}:{seq + 1}", RECORD_TYPES)
            if isinstance(body, TrialStart | TrialEnd):
                yield entry.time, body
    if log.frontier.root() != signed.checkpoint.root:
        raise VerificationError("its lines do not have the root of its checkpoint", where=shown, code="RECORD-ROOT")


def last_ends(
    folder: Path, signed: Signed, board: Board, wanted: Collection[TrialKey] | None = None
) -> Iterator[TrialEnd]:
    """Yield the line at which each trial stands, once, in the order of the record; a lost attempt has none.

    A trial that every session left out stands at the first such line; one that was tried after all, at that attempt's.

    Args:
        board: the cells that the same lines fold into.
        wanted: only these trials; None is all.

    Raises:
        VerificationError, FormatError: see `trial_lines`.
    """
    if wanted is not None and not wanted:
        return
    left_out: set[TrialKey] = set()
    for _, end in trial_lines(folder, signed, "trial.end"):
        cell = board.cells.get(end.trial)
        if cell is None or cell.running or not isinstance(end, TrialEnd):
            continue
        if wanted is not None and end.trial not in wanted:
            continue
        if end.outcome != "skipped":
            stands = cell.attempts == end.attempt
        else:
            stands = cell.outcome == "skipped" and end.trial not in left_out
            left_out.add(end.trial)
        if stands:
            yield end


def opened(folder: Path, commitments: Collection[str]) -> dict[str, Json]:
    """Return what content.jsonl opens of these commitments; nothing where content is withheld.

    Raises:
        FormatError: the file holds a line that is no opening.
    """
    if not commitments or not (folder / "content.jsonl").exists():
        return {}
    return {name: value for name, value in openings(folder, f"runs/{folder.name}") if name in commitments}


def opened_cases(folder: Path, planned: Iterable[PlanCase]) -> dict[str, Case]:
    """Return those of some cases that the plan or content.jsonl opens, by id.

    Raises:
        FormatError: the file holds a line that is no opening, or an opening that is no case.
    """
    wanted = {case.commitment: case for case in planned}
    values = {name: case.opening.value for name, case in wanted.items() if case.opening is not None}
    values |= opened(folder, wanted.keys() - values.keys())
    return {wanted[name].id: codec.decode(Case, value, wanted[name].id) for name, value in values.items()}


def answer_text(value: Json) -> str:
    """Return a committed text; what is none is shown as its JSON: whoever wrote the record may write anything there."""
    try:
        return canonical.text_in(value)
    except FormatError:
        return canonical.encode(value).decode()


def reasons_of(value: Json) -> dict[str, str]:
    """Return what each scorer said."""
    if not isinstance(value, dict):
        return {"": answer_text(value)}
    return {name: answer_text(text) for name, text in value.items()}


def timed(end: TrialEnd, runner: str) -> int | None:
    """Return how long the far end took, in milliseconds; None if nobody knows: a recorded run need not tell."""
    return end.latency_ms if end.latency_ms or runner != "trace" else None
