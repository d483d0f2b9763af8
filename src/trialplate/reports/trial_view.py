# SPDX-License-Identifier: Apache-2.0
"""The trials of one case as `show` tells them: what was asked, answered and scored, each text checked as it is opened.

What is checked here: the record's signature and root, the plan's digest, and each text against its commitment. Not
here: everything else that `verify` checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trialplate.errors import FormatError, UsageError, VerificationError
from trialplate.record import canonical, codec, disclosure
from trialplate.record.entries import RunStart, TrialEnd, TrialKey, TrialStart
from trialplate.record.frozen import Json
from trialplate.record.matrix import Matrix, narrow
from trialplate.record.values import Case, Configuration, Plan, PlanCase
from trialplate.reports.request_again import request_body
from trialplate.reports.trials import opened, trial_lines
from trialplate.spec.nearest import nearest
from trialplate.verify.ledger_view import LedgerView
from trialplate.verify.log_file import MAX_NOTE, Signed, read_checkpoint, read_small
from trialplate.verify.record_view import read_plan

__all__ = ["Attempt", "CaseView", "SignedRun", "Trial", "case_named", "configurations_named", "open_run", "view_case"]


@dataclass(frozen=True)
class SignedRun:
    """A run whose plan and checkpoint are the signed ones."""

    folder: Path
    start: RunStart
    plan: Plan
    matrix: Matrix
    signed: Signed | None
    """None where nothing of its record was signed yet."""


@dataclass
class Attempt:
    """One attempt: when it began, when and how it ended; one without an end was lost, or is under way."""

    started: str
    ended: str | None = None
    end: TrialEnd | None = None


@dataclass
class Trial:
    """A planned trial and its attempts; none if it never began."""

    configuration: str
    repeat: int
    attempts: list[Attempt] = field(default_factory=list)
    left_out: str | None = None
    """Why it was left out, by the last session that did."""

    @property
    def end(self) -> TrialEnd | None:
        """Return the end at which it stands."""
        return self.attempts[-1].end if self.attempts else None

    @property
    def outcome(self) -> tuple[str, str | None]:
        """Return outcome and cause."""
        if not self.attempts:
            return ("absent", None) if self.left_out is None else ("skipped", self.left_out)
        return ("error", "lost") if self.end is None else (self.end.outcome, self.end.cause)


@dataclass(frozen=True)
class CaseView:
    """A case and its trials, with what opens their texts by commitment."""

    run: SignedRun
    planned: PlanCase
    case: Case | None
    """None where it is withheld."""
    configurations: Sequence[Configuration]
    trials: Sequence[Trial]
    texts: Mapping[str, Json]
    requests: Mapping[str, Json]
    """The body of a hosted model's request, by configuration, where it can be built again."""


def open_run(folder: Path, view: LedgerView) -> SignedRun:
    """Read a run's plan and checkpoint, and hold them against the ledger.

    Raises:
        UsageError: the ledger did not start it, or its folder is not here.
        VerificationError, FormatError: PLAN-DIGEST, SIG-MISSING and the like.
    """
    shown = f"runs/{folder.name}"
    entry = view.start_of(folder.name)
    if entry is None:
        hint = "see `trialplate ls` for the runs of this ledger"
        raise UsageError(f"the ledger has no run.start for {folder.name}", where=shown, hint=hint, code="RUN")
    if not folder.is_dir():
        hint = "put the run's folder back; the ledger only has its name, size and root"
        raise UsageError("the run's folder is not here", where=shown, hint=hint, code="RUN")
    start: RunStart = entry.body
    raw, plan = read_plan(folder, shown)
    if canonical.digest(raw) != start.plan:
        message = f"its digest is {canonical.digest(raw)}, the ledger started {start.plan}"
        raise VerificationError(message, where=f"{shown}/plan.json", code="PLAN-DIGEST")
    signed = None
    if (folder / "checkpoint").exists() or view.pins_of(folder.name):
        note = read_small(folder / "checkpoint", f"{shown}/checkpoint", MAX_NOTE)
        signed = read_checkpoint(note, view.keys, f"{view.origin}/run/{folder.name}", f"{shown}/checkpoint")
    return SignedRun(folder, start, plan, narrow(plan, start.narrowing), signed)


def case_named(matrix: Matrix, wanted: str) -> PlanCase:
    """Return the case of an id or of its unique beginning.

    Raises:
        UsageError: none, or more than one, of that name.
    """
    by_id = {case.id: case for case in matrix.cases}
    if wanted in by_id:
        return by_id[wanted]
    begins = [name for name in by_id if wanted and name.startswith(wanted)]
    if len(begins) == 1:
        return by_id[begins[0]]
    if begins:
        message = f"{wanted!r} is the beginning of {_some(begins)}"
        raise UsageError(message, hint="give more of the id", code="CASE")
    near = nearest(wanted, by_id)
    hint = f"did you mean {near}?" if near is not None else f"there are {_some(list(by_id))}"
    raise UsageError(f"no case {wanted!r} in this run", hint=hint, code="CASE")


def configurations_named(run: SignedRun, wanted: str | None) -> list[Configuration]:
    """Return the configurations of this run that a name or a model's name means; all without one.

    Raises:
        UsageError: nothing has that name.
    """
    ran = [item for item in run.plan.configurations if item.name in run.matrix.counts]
    found = [item for item in ran if wanted is None or wanted in (item.name, item.model)]
    if not found:
        names = sorted({name for item in ran for name in (item.name, item.model)})
        near = nearest(wanted or "", names)
        hint = f"did you mean {near}?" if near is not None else f"there are {_some(names)}"
        raise UsageError(f"no configuration {wanted!r} in this run", hint=hint, code="MODEL")
    return found


def _some(names: list[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def view_case(run: SignedRun, planned: PlanCase, chosen: Iterable[Configuration], repeat: int | None) -> CaseView:
    """Return the trials of a case.

    Args:
        repeat: only this one; None is all.

    Raises:
        UsageError: there is no such repeat.
        VerificationError, FormatError: record or content are not what was signed or committed.
    """
    index = [case.id for case in run.matrix.cases].index(planned.id)
    trials: dict[TrialKey, Trial] = {}
    for item in chosen:
        for number in range(1, run.matrix.counts[item.name][index] + 1):
            if repeat in (None, number):
                trials[(item.name, planned.id, number)] = Trial(item.name, number)
    if not trials:
        most = max((row[index] for row in run.matrix.counts.values()), default=0)
        what = f"no repeat {repeat} of case {planned.id}" if repeat is not None else f"case {planned.id} is not run"
        raise UsageError(f"{what} here; it has {most}", hint="leave --repeat or --model out", code="CASE")
    if run.signed is not None:
        _attempts(run, run.signed, planned.id, trials)
    asked = [item for item in run.plan.configurations if any(key[0] == item.name for key in trials)]
    texts = opened(run.folder, set(_commitments(planned, asked, trials.values())))
    case = _case(planned, texts, run)
    bodies = {item.name: body for item in asked if (body := request_body(item, case, texts)) is not None}
    return CaseView(run, planned, case, asked, list(trials.values()), texts, bodies)


def _attempts(run: SignedRun, signed: Signed, case: str, trials: Mapping[TrialKey, Trial]) -> None:
    """Put the attempts of the record into their trials."""
    only = b"," + canonical.encode(case) + b","
    for time, body in trial_lines(run.folder, signed, only=only):
        trial = trials.get(body.trial)
        if trial is None:
            continue
        if isinstance(body, TrialStart):
            trial.attempts.append(Attempt(time))
        elif body.outcome == "skipped":
            trial.left_out = body.cause
        elif trial.attempts:
            trial.attempts[-1].ended, trial.attempts[-1].end = time, body


def _commitments(case: PlanCase, asked: Iterable[Configuration], trials: Iterable[Trial]) -> Iterator[str]:
    yield case.commitment
    for item in asked:
        yield from (text.commitment for text in item.texts if text.role != "answers")
    for trial in trials:
        for attempt in trial.attempts:
            if attempt.end is not None:
                yield from attempt.end.private.commitments.values()


def _case(planned: PlanCase, texts: Mapping[str, Json], run: SignedRun) -> Case | None:
    """Return the case itself, from the content, or from the plan of a public test set.

    Raises:
        VerificationError: CONTENT-MISMATCH: what a public plan shows is not what was committed.
        FormatError: it is no case.
    """
    where = f"runs/{run.folder.name}: case {planned.id}"
    held = planned.opening
    if planned.commitment in texts:
        return codec.decode(Case, texts[planned.commitment], where)
    if held is None:
        return None
    if disclosure.commit(held.salt, held.value) != planned.commitment:
        raise VerificationError("the public case is not what was committed", where=where, code="CONTENT-MISMATCH")
    try:
        return codec.decode(Case, held.value, where)
    except FormatError as error:
        raise VerificationError(error.message, where=where, code="CONTENT-MISMATCH") from error
