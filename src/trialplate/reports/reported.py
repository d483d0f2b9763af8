# SPDX-License-Identifier: Apache-2.0
"""What every format of a report is made of, gathered once from a verified record: no format computes a number itself.

A format is a function `render(reported)` that yields lines without their LF, found by its name among the plugins of
`reports`. It decides nothing: decisions come from the gate, numbers from `summary`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from trialplate.record.decisions import Decision
from trialplate.record.entries import Counts, TrialEnd, TrialKey
from trialplate.record.frozen import Json
from trialplate.reports.comparing import Standings, compare
from trialplate.reports.hidden import Hidden, hidden_behind
from trialplate.reports.labels import LabelTable, label_tables
from trialplate.reports.summary import (
    ConfigurationSummary,
    Failed,
    TagSummary,
    failures,
    metric_names,
    summarise,
    summarise_tags,
)
from trialplate.reports.trials import answer_text, last_ends, opened, opened_cases, reasons_of
from trialplate.rules.compatible import incompatible
from trialplate.verify.gate import Gate
from trialplate.verify.record_view import RecordView

__all__ = ["FailedTrial", "Reported", "State", "gather"]

WITHHELD = None
"""The text of a private part whose opening is not here, or not asked for."""


@dataclass(frozen=True)
class State:
    """How far a run came."""

    word: str
    """complete, incomplete or unfinished."""
    reason: str | None
    """Why it was closed; None for a run that was not."""
    counts: Counts
    adopted: int
    """Lines that a resume took over beyond a checkpoint."""
    not_needed: int = 0
    """Absent trials that the mark's stop rule left out."""

    @property
    def sentence(self) -> str:
        """Return it in words."""
        begun = f"{self.counts.planned - self.counts.absent} of {self.counts.planned} trials began"
        if self.word == "unfinished":
            return f"UNFINISHED: {begun}, and the ledger has no run.end"
        if self.word == "incomplete":
            return f"INCOMPLETE ({self.reason}): {begun}"
        unknown = f", {self.counts.error} of them unknown" if self.counts.error else ""
        if self.not_needed:
            stopped = f"; {self.not_needed} were not needed ({self.reason})"
            return f"complete: {begun} in {self.counts.attempts} attempts{unknown}{stopped}"
        return f"complete: {self.counts.planned} trials in {self.counts.attempts} attempts{unknown}"


@dataclass(frozen=True)
class FailedTrial:
    """A trial that was not passed, with its private parts as far as they are here: (label, text), None is withheld."""

    trial: Failed
    parts: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Reported:
    """A run, ready to be shown."""

    gate: Gate
    decisions: tuple[Decision, ...]
    """One for each candidate, derived just now."""
    state: State
    pilots: tuple[str, ...]
    """Other runs of this ledger that are pilots."""
    by_tag: bool
    failed: tuple[FailedTrial, ...]
    """The first failures of each configuration, in the order of the matrix."""
    not_passed: Mapping[str, int] = field(default_factory=dict)
    """Trials of each configuration that were not passed."""
    labels: tuple[LabelTable, ...] | None = ()
    """How well labels were told apart; None where they are withheld."""

    @property
    def record(self) -> RecordView:
        """The verified record."""
        return self.gate.record

    @property
    def pilot(self) -> bool:
        """Say whether the run was of less than its plan."""
        return self.record.start.selection == "pilot"

    @property
    def uses(self) -> str:
        """Which use of its cases the run was, in words."""
        return self.gate.report.said.get("V18", "")

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order of the columns."""
        return metric_names(self.record.matrix)

    @cached_property
    def configurations(self) -> list[ConfigurationSummary]:
        """Each configuration in numbers."""
        return summarise(self.record)

    @cached_property
    def standings(self) -> Standings:
        """How the configurations stand to each other."""
        return compare(self.record, self.configurations)

    @cached_property
    def hidden(self) -> tuple[Hidden, ...]:
        """What the rules that are estimates can hide."""
        return tuple(hidden_behind(self.record))

    @cached_property
    def tags(self) -> list[TagSummary]:
        """Each tag in numbers; none unless they were asked for."""
        return list(summarise_tags(self.record)) if self.by_tag else []

    @property
    def unshown(self) -> dict[str, int]:
        """How many failures of each configuration are not among `failed`."""
        left = dict(self.not_passed)
        for item in self.failed:
            left[item.trial.configuration] -= 1
        return {name: number for name, number in left.items() if number}

    def ends(self) -> Iterator[TrialEnd]:
        """Yield the last attempt's end of every trial that has one, read from the record."""
        return last_ends(self.record.folder, self.record.signed, self.record.board)


def gather(gate: Gate, *, by_tag: bool, shown: int, withhold: bool = False) -> Reported:
    """Return what a report of a verified record is made of.

    Args:
        shown: how many failures of each configuration to show.
        withhold: leave private texts out, even where content would open them.

    Raises:
        VerificationError, FormatError: the record or its content changed after it was verified.
    """
    record = gate.record
    candidates = [item.name for item in record.plan.configurations if item.role == "candidate"]
    decisions = tuple(gate.decide(name) for name in candidates if name in record.matrix.counts)
    first: list[Failed] = []
    number: dict[str, int] = {}
    for item in failures(record):
        number[item.configuration] = number.get(item.configuration, 0) + 1
        if number[item.configuration] <= shown:
            first.append(item)
    wanted = {(item.configuration, item.case, item.repeat) for item in first}
    ends = {end.trial: end for end in last_ends(record.folder, record.signed, record.board, wanted)}
    starts = [entry.body for entry in gate.ledger.starts()]
    return Reported(
        gate=gate,
        decisions=decisions,
        state=_state(record),
        pilots=tuple(b.run_id for b in starts if b.selection == "pilot" and b.run_id != record.run_id),
        by_tag=by_tag,
        failed=tuple(_with_parts(record, first, ends, withhold)),
        not_passed=number,
        labels=label_tables(record, withhold=withhold),
    )


def _state(record: RecordView) -> State:
    closed = record.closed
    word = "complete"
    if record.end is None:
        word = "unfinished"
    elif closed is not None and not closed.complete:
        word = "incomplete"
    counts = record.board.counts(record.matrix)
    not_needed = sum(item.trials for item in closed.not_needed) if closed is not None else 0
    return State(word, closed.reason if closed is not None else None, counts, record.adopted, not_needed)


def _with_parts(
    record: RecordView, first: list[Failed], ends: Mapping[TrialKey, TrialEnd], withhold: bool
) -> Iterator[FailedTrial]:
    needed = {c for end in ends.values() for c in end.private.commitments.values()}
    texts = {} if withhold else opened(record.folder, needed)
    unfit = {item.case for item in first if item.cause == "incompatible"}
    cases = {} if withhold else opened_cases(record.folder, (case for case in record.matrix.cases if case.id in unfit))
    by_name = {item.name: item for item in record.plan.configurations}
    for item in first:
        if item.cause == "incompatible":
            why = incompatible(cases[item.case], by_name[item.configuration]) if item.case in cases else WITHHELD
            yield FailedTrial(item, (("why", why and f"not asked, and without credit: {why}"),))
            continue
        end = ends.get((item.configuration, item.case, item.repeat))
        if end is None:
            yield FailedTrial(item)
            continue
        full = {name for name, value in end.metrics.items() if value == 1}
        passed = {scorer.name for scorer in record.plan.scorers if full.issuperset(scorer.metrics)}
        yield FailedTrial(item, tuple(_parts(end, texts, passed)))


def _parts(end: TrialEnd, texts: Mapping[str, Json], passed: set[str]) -> Iterator[tuple[str, str | None]]:
    """Yield what opens a failed trial's private parts; a scorer that it passed is no reason for it."""
    private = end.private
    for label, commitment in (("answer", private.answer), ("why", private.reason), ("error", private.error)):
        if commitment is None or (label == "why" and end.cause == "scorer" and private.error in texts):
            continue  # the error is what the scorers that gave no score said
        if commitment not in texts:
            yield label, WITHHELD
        elif label == "why":
            told = {name: text for name, text in reasons_of(texts[commitment]).items() if name not in passed}
            text = "; ".join(f"{name}: {text}" for name, text in told.items())
            if text:
                yield label, text
        else:
            yield label, answer_text(texts[commitment])
