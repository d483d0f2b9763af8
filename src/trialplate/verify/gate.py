# SPDX-License-Identifier: Apache-2.0
"""The decision on one configuration, derived from verified records; V18 and V19.

There is no path that decides without having verified: `decide` takes views that `read_ledger` and `read_record` made.
A decision stated earlier is derived again as of its own entry: from the ledger before it, and from each record at the
size it then had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from trialplate.errors import FormatError, UsageError, VerificationError, nearest
from trialplate.record import canonical
from trialplate.record.decisions import AttemptResult, Decision
from trialplate.record.entries import CommitPassMark, RunConfiguration, RunStart
from trialplate.record.frozen import Value
from trialplate.record.matrix import model_key, narrow
from trialplate.record.values import Plan
from trialplate.rules.attempts import combine, number_of
from trialplate.rules.cells import Board
from trialplate.rules.fitting import fitted, kept
from trialplate.rules.loosening import looser
from trialplate.rules.passmark import Evaluation, evaluate, evaluate_all
from trialplate.verify.findings import Finding, Report, counted
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.record_view import RecordView, board_at, read_plan, read_record

__all__ = ["Gate", "Others", "attempt_text", "configuration_named"]

Others = dict[str, tuple[RecordView | None, Report]]
"""By run id."""


def configuration_named(record: RecordView, wanted: str | None) -> str:
    """Return the configuration that `--model NAME[/PROFILE]` means.

    Raises:
        UsageError: nothing, or more than one thing, has that name, or it is a comparison; the names are listed.
    """
    ran = [item for item in record.plan.configurations if item.name in record.matrix.counts]
    there = [item.name for item in ran if item.role == "candidate"]
    if any(item.role == "comparison" and wanted in (item.name, item.model) for item in ran) and wanted not in there:
        hint = f"the candidates are {', '.join(there) or 'none'}"
        raise UsageError(f"{wanted} is a comparison: counted, never accepted", hint=hint, code="MODEL")
    if wanted is None and len(there) == 1:
        return there[0]
    if wanted in there:
        return str(wanted)
    of_model = [item.name for item in record.plan.configurations if item.model == wanted and item.name in there]
    if len(of_model) == 1:
        return of_model[0]
    names = ", ".join(there)
    if wanted is None or of_model:
        asked = "which configuration?" if wanted is None else f"{wanted} has several profiles"
        raise UsageError(f"{asked} this run has {names}", hint="name one with --model NAME[/PROFILE]", code="MODEL")
    hint = f"did you mean {near}?" if (near := nearest(wanted, there)) else "name one of them with --model"
    raise UsageError(f"no configuration {wanted!r} in this run; it has {names}", hint=hint, code="MODEL")


def attempt_text(attempt: AttemptResult) -> str:
    """Return in words what another attempt came to."""
    state = "waived by the operator himself" if attempt.status == "waived" else attempt.decision or attempt.status
    return f"as {attempt.configuration} {state}" if attempt.configuration else state


def _in_one(said: Mapping[str, str]) -> str:
    """Return what a run came to: at once where it is the same for each configuration."""
    once = set(said.values())
    return once.pop() if len(once) == 1 else "(" + "; ".join(f"{name} {text}" for name, text in said.items()) + ")"


def _asked(plan: Plan) -> set[str]:
    """Return what tells a plan's cases apart by what is asked: a tag that changes does not make another question."""
    return {commitment for case in plan.test_set.cases for commitment in (case.commitment, case.asked) if commitment}


class _Standing(Value):
    """How another run stands to the one that is decided on; where its plan is not here, as strictly as can be."""

    shares: bool
    """They have a case in common."""
    whole: bool
    """It was of its whole plan, and so is an attempt."""
    untold: bool
    """Its plan is not here, and the ledger alone does not tell."""


class Gate:
    """Decides about a verified record, reading the records of other attempts where they count."""

    def __init__(self, ledger: LedgerView, record: RecordView, runs: Path, report: Report, others: Others) -> None:
        self.ledger = ledger
        self.record = record
        self.runs = runs
        self.report = report
        self.others = others
        """Records of other runs that were read already; shared between the gates of one verification."""
        self.unseen: set[str] = set()
        """Runs that a stated decision counts and whose records are not here."""
        self._standings: dict[str, _Standing] = {}
        """How other runs stand to this one, by run id."""
        self._results: dict[tuple[str, int, str, bool], dict[str, Evaluation]] = {}
        """Own results by configuration, of a run at a size: each is asked for often."""
        self._models: dict[str, Mapping[str, str] | None] = {}
        """Model keys by configuration, of a run; None where its plan is not here."""

    def decide(self, configuration: str) -> Decision:
        """Return the decision on a configuration as of now, as a ledger can state it."""
        return fitted(self._decide(configuration, None, None))

    def _decide(self, configuration: str, before: int | None, stated: Decision | None) -> Decision:
        """Return the whole decision on a configuration.

        Args:
            before: as of this ledger entry; None is now.
            stated: an earlier decision, for the record's size then, and for records that were missing then or are now.
        """
        record, start = self.record, self.record.start
        size = record.size if stated is None else stated.record_size
        board, closed = record.board, record.closed
        if size != record.size:
            board, closed = board_at(record.folder, record.plan, size)
        root = record.signed.checkpoint.root if size == record.size else record.roots.get(size, b"")
        end = self.ledger.end_of(record.run_id, before)
        finished = end is not None and end.body.size == size and closed is not None and closed.complete
        own = self._result(record, configuration, size, start.selection, finished=finished, board=board)
        attempts = tuple(self._attempts(configuration, before, stated))
        rule = record.plan.pass_mark.attempts
        decision, reasons = combine(own.decision, own.reasons, attempts, rule, record.run_id, self._later)
        if start.selection == "pilot":
            decision, reasons = "inconclusive", ("pilot",)
        elif self.ledger.waived(record.run_id, before):
            decision, reasons = "inconclusive", ("waived",)
        return Decision(
            run_id=record.run_id,
            configuration=configuration,
            decision=decision,
            reasons=reasons,
            plan=start.plan,
            pass_mark=start.pass_mark,
            record_size=size,
            record_root="sha256:" + root.hex(),
            evidence=own.evidence,
            rules=own.rules,
            attempts=attempts,
            attempt=number_of(attempts, self._later) if rule.max is not None and start.selection == "full" else 0,
            choice=own.choice,
        )

    def decide_chosen(self) -> tuple[Decision, ...]:
        """Return the decision on the configuration that the mark chooses, or on every candidate if it chooses none."""
        there = [item.name for item in self.record.plan.configurations if item.role == "candidate"]
        found = tuple(self.decide(name) for name in there if name in self.record.matrix.counts)
        chosen = [item for item in found if item.choice is not None and item.choice.chosen == item.configuration]
        return tuple(chosen) or found

    def check_decisions(self) -> None:
        """V19: every decision that the ledger states about this run follows from the records as they then were."""
        entries = self.ledger.decisions(self.record.run_id)
        for entry in entries:
            self._check_decision(entry)
        if self.unseen:
            shown = ", ".join(sorted(self.unseen))
            self.report.found("RUN-MISSING", f"stated decisions rest on what they say of {shown}, not here", note=True)
        how = "as far as the runs are here" if self.unseen else "to the last fraction"
        if entries:
            self.report.passed("V19", f"stated decisions derived again, {how}: {len(entries)}")
        else:
            self.report.skip("V19", "no decision is stated about this run yet; `trialplate gate` derives one")

    def check_attempts(self) -> None:
        """V18: the other full runs of these configurations on these cases, and how often the cases were used."""
        others: dict[str, dict[str, str]] = {}
        for item in self.record.start.configurations:
            for attempt in self._attempts(item.name, None, None):
                others.setdefault(attempt.run_id, {}).setdefault(item.name, attempt_text(attempt))
        uses = [entry.body.run_id for entry in self._uses]
        use = uses.index(self.record.run_id) + 1
        self.report.uses = f"use {use} of {len(uses)} of this test set"
        told = ", ".join(f"{run_id} {_in_one(said)}" for run_id, said in list(others.items())[:10])
        told += f" and {len(others) - 10} more" if len(others) > 10 else ""
        number = len(others.keys() - {self.record.run_id})  # which may itself have had one thing under two names
        what = f"{counted(number, 'other full run')} of these configurations" + (f": {told}" if told else "")
        self.report.passed("V18", f"{what}; use {use} of {len(uses)} of these cases")
        self._check_mark(uses)

    def _check_mark(self, uses: list[str]) -> None:
        """V18: say if the mark was committed once runs on these cases were known, and in what it asks for less.

        It is compared with every earlier mark for these cases: else it could be loosened a lot and tightened a little.
        """
        ref = self.record.start.pass_mark
        commit = self.ledger.at(ref.seq, CommitPassMark)
        if commit is None:
            return
        runs = [e.body.pass_mark.seq for e in self.ledger.starts() if e.seq < ref.seq and e.body.run_id in uses]
        marks = self.ledger.bodies(CommitPassMark, before=ref.seq)
        earlier = {e.seq for e in marks if e.body.test_set == commit.test_set} | {*runs}
        told = "not looser than any before"
        for seq in sorted(earlier, reverse=True):
            mark = self.ledger.at(seq, CommitPassMark)
            if mark is not None and (less := looser(mark.mark, commit.mark)):
                which = "the one before" if seq == max(earlier) else f"that of ledger entry {seq}"
                told = f"looser than {which}: {'; '.join(less)}"
                break
        if not runs and told.startswith("not"):
            return
        why = f"the reason given: {commit.reason}" if commit.reason else "no reason was given"
        message = f"this pass mark was committed after {counted(len(runs), 'run')} on these cases; it is {told}"
        where = f"{self.ledger.folder.name}/entries.jsonl:{ref.seq + 1}"
        self.report.found("MARK-AFTER-RUNS" if runs else "MARK-LOOSER", f"{message}; {why}", where, note=True)

    def _check_decision(self, entry: LedgerEntry) -> None:
        stated: Decision = entry.body
        where = f"{self.ledger.folder.name}/entries.jsonl:{entry.seq + 1}"
        there = {item.name for item in self.record.plan.configurations if item.role == "candidate"}
        if stated.configuration not in there & self.record.matrix.counts.keys():
            self.report.found("DECISION", f"this run has no candidate {stated.configuration} to decide on", where)
            return
        if stated.record_size > self.record.size:
            self.report.found("DECISION", "is about a size that this record does not have", where)
            return
        seen, self.unseen = self.unseen, set()
        derived = whole = self._decide(stated.configuration, entry.seq, stated)
        without, self.unseen = bool(self.unseen), self.unseen | seen
        if stated.cut is not None and without:
            # What it knew of runs that are not here may be cut out of it: all else is held to the record.
            fair = stated.decision != "accepted" or whole.reasons in ((), ("attempt_open",))
            told = ("decision", "reasons", "attempts", "attempt", "cut")
            derived = kept(whole, stated.cut.kept)
            derived = derived.replace(**{name: getattr(stated, name) for name in told}) if fair else derived
        elif stated.cut is not None:
            derived = fitted(whole)
        if derived != stated:
            wrong = [name for name, value in stated.__dict__.items() if value != getattr(derived, name)]
            said = f"{stated.configuration} is stated {stated.decision}"
            message = f"{said}; derived: {derived.decision} ({', '.join(wrong)} differ)"
            self.report.found("DECISION", message, where)

    # ------------------------------------------------------------------------------------------------ other attempts

    def _attempts(self, configuration: str, before: int | None, stated: Decision | None) -> Iterator[AttemptResult]:
        """Yield the other full runs of the same thing on some of the same cases, in the order of the ledger."""
        mine = next((item for item in self.record.start.configurations if item.name == configuration), None)
        if mine is None:
            return  # run.start and plan differ: that is a finding of its own
        for entry in self._uses:
            other: RunStart = entry.body
            if before is not None and entry.seq >= before:
                return
            alike = self._alike(other, mine, stated)
            if other.run_id == self.record.run_id:
                alike = [item for item in alike if item.name != configuration]
            standing = self._standing(other)
            named = stated is None or any(item.run_id == other.run_id for item in stated.attempts)
            if alike and standing.untold and not named:
                self.unseen.add(other.run_id)  # its plan was here when that was decided; today it counts
            elif alike and standing.whole:
                for same in alike:
                    alias = None if same.name == configuration else same.name
                    yield self._attempt(other, same, alias, before, stated)

    def _alike(self, other: RunStart, mine: RunConfiguration, stated: Decision | None) -> list[RunConfiguration]:
        """Return the configurations of a run that are the same thing, or of the same model if the mark counts so.

        Where another run's plan is not here, each of its configurations may be of this model.
        """
        same = [item for item in other.configurations if item.attempt_key == mine.attempt_key]
        if self.record.plan.pass_mark.attempts.scope == "configuration":
            return same
        keys, own = self._model_keys(other), self._model_keys(self.record.start)
        if keys is not None and own is not None:
            return [item for item in other.configurations if keys.get(item.name) == own.get(mine.name)]
        if stated is None:
            return list(other.configurations)
        self.unseen.add(other.run_id)
        named = {item.configuration or mine.name for item in stated.attempts if item.run_id == other.run_id}
        return [item for item in other.configurations if item in same or item.name in named]

    def _model_keys(self, run: RunStart) -> Mapping[str, str] | None:
        if run.run_id not in self._models:
            plan = self._plan_of(run)
            keys = None if plan is None else {item.name: model_key(item) for item in plan.configurations}
            self._models[run.run_id] = keys
        return self._models[run.run_id]

    @cached_property
    def _later(self) -> frozenset[str]:
        """The runs that were started after this one."""
        runs = [entry.body.run_id for entry in self.ledger.starts()]
        return frozenset(runs[runs.index(self.record.run_id) + 1 :])

    @cached_property
    def _uses(self) -> list[LedgerEntry]:
        """Every run.start on some of these cases."""
        return [entry for entry in self.ledger.starts() if self._standing(entry.body).shares]

    def _standing(self, other: RunStart) -> _Standing:
        """Return how another run stands to this one; told once, since telling may read its plan."""
        if other.run_id not in self._standings:
            self._standings[other.run_id] = self._tell(other)
        return self._standings[other.run_id]

    def _tell(self, other: RunStart) -> _Standing:
        same_cases = other.test_set == self.record.start.test_set
        if same_cases and other.selection == "full":
            return _Standing(shares=True, whole=True, untold=False)
        plan = self._plan_of(other)
        if plan is None:
            return _Standing(shares=True, whole=True, untold=True)
        shares = same_cases or not _asked(self.record.plan).isdisjoint(_asked(plan))
        return _Standing(shares=shares, whole=self._whole(other, plan), untold=False)

    def _whole(self, other: RunStart, plan: Plan) -> bool:
        """Say whether a run was of its whole plan: calling it a pilot does not make it less.

        Nor does a narrowing that is not the one it ran under: the trials it began and ended with say so.
        """
        if other.selection == "full" or other.narrowing is None:
            return True
        size, end = narrow(plan, other.narrowing).size, self.ledger.end_of(other.run_id)
        told = {other.trials} if end is None else {other.trials, end.body.counts.planned}
        return told != {size} or size == narrow(plan, None).size

    def _plan_of(self, other: RunStart) -> Plan | None:
        """Return the plan of another run, if it is here and is the one that was started."""
        if other.plan == self.record.start.plan:
            return self.record.plan
        try:
            raw, plan = read_plan(self.runs / other.run_id, f"runs/{other.run_id}")
        except (FormatError, VerificationError):
            return None
        return plan if canonical.digest(raw) == other.plan else None

    def _attempt(
        self, other: RunStart, same: RunConfiguration, alias: str | None, before: int | None, stated: Decision | None
    ) -> AttemptResult:
        """Return what another attempt came to under its own mark.

        Args:
            alias: the name it had there, if it was another one.
            stated: an earlier decision, which is all there is to go by where the record is missing now or was then.
        """
        found = AttemptResult(run_id=other.run_id, configuration=alias, status="missing")
        said = [a for a in stated.attempts if (a.run_id, a.configuration) == (found.run_id, alias)] if stated else []
        if self.ledger.waived(other.run_id, before):
            return found.replace(status="waived")
        end = self.ledger.end_of(other.run_id, before)
        if end is None or end.body.status != "complete":
            return found.replace(status="open")
        if said and said[0].status == "missing":
            return said[0]
        view = self._other(other.run_id)
        if view is None or same.name not in view.matrix.counts:
            if said or (stated is not None and stated.cut is not None):
                self.unseen.add(other.run_id)
            return said[0] if said else found
        own = self._result(view, same.name, end.body.size, "full", finished=True)
        return found.replace(status="decided", size=end.body.size, decision=own.decision)

    def _result(
        self, view: RecordView, name: str, size: int, selection: str, *, finished: bool, board: Board | None = None
    ) -> Evaluation:
        """Return a configuration's own result in a run, worked out once."""
        made = self._results.setdefault((view.run_id, size, selection, finished), {})
        if name in made:
            return made[name]
        if board is None:
            board = view.board if size == view.size else board_at(view.folder, view.plan, size)[0]
        if view.plan.pass_mark.choose is None:
            made[name] = evaluate(view.plan, view.matrix, name, board, selection=selection, finished=finished)
        else:
            made.update(evaluate_all(view.plan, view.matrix, board, selection=selection, finished=finished))
        return made[name]

    def _other(self, run_id: str) -> RecordView | None:
        """Return another run's record, verified once; a record that does not hold is a finding of this one."""
        if run_id == self.record.run_id:
            return self.record
        if not (self.runs / run_id).is_dir():
            return None
        if run_id not in self.others:
            report = Report(run_id)
            self.others[run_id] = (read_record(self.runs / run_id, self.ledger, report), report)
        view, report = self.others[run_id]
        for item in report.findings:
            told = Finding("ATTEMPT-RECORD", f"{item.code}: {item.message}", item.where or f"runs/{run_id}")
            if not item.note and told not in self.report.findings:
                self.report.findings.append(told)
        return view
