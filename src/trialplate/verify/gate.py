# SPDX-License-Identifier: Apache-2.0
"""The decision on one configuration, derived from verified records; V18 and V19.

There is no path that decides without having verified: `decide` takes views that `read_ledger` and `read_record` made.
A decision stated earlier is derived again as of its own entry: from the ledger before it, and from each record at the
size it then had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from trialplate.errors import UsageError, nearest
from trialplate.record.decisions import AttemptResult, Decision
from trialplate.record.entries import CommitPassMark, RunClose, RunConfiguration, RunStart
from trialplate.rules.attempts import combine, number_of
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances, Former
from trialplate.rules.fitting import alike, fitted, kept
from trialplate.rules.loosening import looser
from trialplate.rules.mark_shape import has_bounds
from trialplate.rules.outlook import Outlooks, outlooks
from trialplate.rules.passmark import Evaluation, evaluate, evaluate_all
from trialplate.verify.baselines import doubts_of, former_of, lacks_it, missed_it, with_stated
from trialplate.verify.findings import Finding, Report, counted
from trialplate.verify.judges import JudgeChecks, as_stated
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.other_runs import OtherRuns
from trialplate.verify.record_view import RecordView, board_at, read_record
from trialplate.verify.stop_checks import check_settled, stop_of

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


class Gate:
    """Decides about a verified record, reading the records of other attempts where they count."""

    def __init__(self, ledger: LedgerView, record: RecordView, runs: Path, report: Report, others: Others) -> None:
        self.ledger = ledger
        self.record = record
        self.runs = runs
        self.report = report
        self.others = others
        """Records of other runs that were read already; shared between the gates of one verification."""
        self.beside = OtherRuns(ledger, record, runs)
        self._results: dict[tuple[int, int | None, bool], dict[str, Evaluation]] = {}
        """Own results by configuration, at a size of the record and as of a ledger entry: each is asked for often."""
        self.judges = JudgeChecks(ledger, record, self._other, report)
        self._gates: dict[str, Gate] = {}
        """Gates of other runs."""

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
        attempts = tuple(self._attempts(configuration, before, stated))
        own = self._own(configuration, size, before, stated, finished=finished, found=(board, closed))
        stop, not_needed = record.plan.pass_mark.stop, stop_of(record, closed)[1]
        rule = record.plan.pass_mark.attempts
        decision, reasons = combine(own.decision, own.reasons, attempts, rule, record.run_id, self.beside.later)
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
            attempt=self._stated_number(attempts, configuration, before, stated),
            stopped=stop.mode if stop is not None and not_needed.get(configuration) else None,
            choice=own.choice,
        )

    def _stated_number(
        self, attempts: Sequence[AttemptResult], configuration: str, before: int | None, stated: Decision | None
    ) -> int:
        """Return which attempt this is, where the decision says so: where the mark has a limit, or bounds."""
        mark = self.record.plan.pass_mark
        if self.record.start.selection != "full":
            return 0
        if has_bounds(mark):
            return self.beside.number(configuration, before, stated)
        return number_of(attempts, self.beside.later) if mark.attempts.max is not None else 0

    def decide_chosen(self) -> tuple[Decision, ...]:
        """Return the decision on the configuration that the mark chooses, or on every candidate if it chooses none."""
        there = [item.name for item in self.record.plan.configurations if item.role == "candidate"]
        found = tuple(self.decide(name) for name in there if name in self.record.matrix.counts)
        chosen = [item for item in found if item.choice is not None and item.choice.chosen == item.configuration]
        return tuple(chosen) or found

    def check_stop(self) -> None:
        """V11: what the run did not need, no answer could have changed a decision by; as things stood when it ended."""
        if self.record.closed is None or not self.record.closed.not_needed:
            return
        before = None if self.record.end is None else self.record.end.seq
        given = self.circumstances(before)
        check_settled(self.record, self.record.board, given, self.report)

    @cached_property
    def former(self) -> Former | None:
        """The baseline of the mark."""
        mark = self.record.plan.pass_mark
        return former_of(mark, lambda run_id: self._other(run_id, "BASELINE-RECORD"), self.report)

    def check_baseline(self) -> None:
        """V18: whether the run that the mark compares with is here, and what a reader should know of it."""
        named = self.record.plan.pass_mark.baseline
        if named is None:
            return
        if self.former is None:
            message = f"the baseline {named.run_id} is not here, or cannot be used: what rests on it is inconclusive"
            self.report.found("BASELINE-MISSING", message, note=True)
        for told in doubts_of(self.ledger, named, [*self.record.matrix.counts]):
            self.report.found("BASELINE-DOUBTFUL", told, note=True)

    def outlooks(self, configuration: str) -> Outlooks:
        """Return what would turn the rules for a configuration, as of now: for whoever shows its decision."""
        record = self.record
        given = self.circumstances()
        return outlooks(record.plan, record.matrix, configuration, record.board, given)

    def check_decisions(self) -> None:
        """V19: every decision that the ledger states about this run follows from the records as they then were."""
        entries = self.ledger.decisions(self.record.run_id)
        for entry in entries:
            self._check_decision(entry)
        if self.beside.unseen:
            shown = ", ".join(sorted(self.beside.unseen))
            self.report.found("RUN-MISSING", f"stated decisions rest on what they say of {shown}, not here", note=True)
        how = "as far as the runs are here" if self.beside.unseen else "to the last fraction"
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
        uses = [entry.body.run_id for entry in self.beside.uses]
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
        commit = self.ledger.body_at(ref.seq, CommitPassMark)
        if commit is None:
            return
        runs = [e.body.pass_mark.seq for e in self.ledger.starts() if e.seq < ref.seq and e.body.run_id in uses]
        marks = self.ledger.bodies(CommitPassMark, before=ref.seq)
        earlier = {e.seq for e in marks if e.body.test_set == commit.test_set} | {*runs}
        told = "not looser than any before"
        for seq in sorted(earlier, reverse=True):
            mark = self.ledger.body_at(seq, CommitPassMark)
            if mark is not None and (less := looser(mark.mark, commit.mark)):
                which = "the one before" if seq == max(earlier) else f"that of ledger entry {seq}"
                told = f"looser than {which}: {'; '.join(less)}"
                break
        if not runs and told.startswith("not"):
            return
        why = f"the reason given: {commit.reason}" if commit.reason else "no reason was given"
        message = f"this pass mark was committed after {counted(len(runs), 'run')} on these cases; it is {told}"
        where = self.ledger.place(ref.seq)
        self.report.found("MARK-AFTER-RUNS" if runs else "MARK-LOOSER", f"{message}; {why}", where, note=True)

    def _check_decision(self, entry: LedgerEntry) -> None:
        stated: Decision = entry.body
        where = self.ledger.place(entry.seq)
        there = {item.name for item in self.record.plan.configurations if item.role == "candidate"}
        if stated.configuration not in there & self.record.matrix.counts.keys():
            self.report.found("DECISION", f"this run has no candidate {stated.configuration} to decide on", where)
            return
        if stated.record_size > self.record.size:
            self.report.found("DECISION", "is about a size that this record does not have", where)
            return
        seen, self.beside.unseen = self.beside.unseen, set()
        derived = whole = self._decide(stated.configuration, entry.seq, stated)
        mark = self.record.plan.pass_mark
        if mark.baseline is not None and self.former is None and not missed_it(stated):
            self.beside.unseen.add(mark.baseline.run_id)
            derived = whole = with_stated(whole, stated, mark)
        without, self.beside.unseen = bool(self.beside.unseen), self.beside.unseen | seen
        if stated.cut is not None and without:
            # What it knew of runs that are not here may be cut out of it: all else is held to the record.
            fair = stated.decision != "accepted" or whole.reasons in ((), ("attempt_open",))
            told = ("decision", "reasons", "attempts", "attempt", "cut")
            derived = kept(whole, stated.cut.kept)
            derived = derived.replace(**{name: getattr(stated, name) for name in told}) if fair else derived
        elif stated.cut is not None:
            derived = fitted(whole)
        if self.judges.missing:
            derived = as_stated(stated, derived, self.record.plan.pass_mark)
        if not alike(stated, derived):
            wrong = [name for name, value in stated.__dict__.items() if value != getattr(derived, name)]
            said = f"{stated.configuration} is stated {stated.decision}"
            message = f"{said}; derived: {derived.decision} ({', '.join(wrong)} differ)"
            self.report.found("DECISION", message, where)

    # ------------------------------------------------------------------------------------------------ other attempts

    def _attempts(self, configuration: str, before: int | None, stated: Decision | None) -> Iterator[AttemptResult]:
        """Yield the other full runs of the same thing on some of the same cases, in the order of the ledger."""
        for other, same in self.beside.alike(configuration, before, stated):
            alias = None if same.name == configuration else same.name
            yield self._attempt(other, same, alias, before, stated)

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
                self.beside.unseen.add(other.run_id)
            return said[0] if said else found
        gate = self._gate_of(view)
        if said and has_bounds(view.plan.pass_mark) and gate.beside.rests_on_unseen:
            self.beside.unseen.add(other.run_id)  # which attempt it was rests on plans that are not here
            return said[0]
        own = gate._own(same.name, end.body.size, before, None, finished=True)
        named = view.plan.pass_mark.baseline
        if named is not None and lacks_it(own):  # else to remove its baseline would undo its rejection
            if said or (stated is not None and stated.cut is not None):
                self.beside.unseen.add(named.run_id)
            return said[0] if said else found
        return found.replace(status="decided", size=end.body.size, decision=own.decision)

    def _gate_of(self, view: RecordView) -> Gate:
        """Return the gate of another run, which counts its own attempts."""
        if view.run_id == self.record.run_id:
            return self
        if view.run_id not in self._gates:
            self._gates[view.run_id] = Gate(self.ledger, view, self.runs, self.report, self.others)
        return self._gates[view.run_id]

    def _own(
        self,
        name: str,
        size: int,
        before: int | None,
        stated: Decision | None,
        *,
        finished: bool,
        found: tuple[Board, RunClose | None] | None = None,
    ) -> Evaluation:
        """Return a configuration's own result in this run, as of a ledger entry; worked out once.

        Args:
            found: what the record's first `size` lines fold into, where that is known.
        """
        view = self.record
        made = self._results.setdefault((size, before, finished), {})
        if name in made:
            return made[name]
        if found is None:
            found = (view.board, view.closed) if size == view.size else board_at(view.folder, view.plan, size)
        board, closed = found
        order, not_needed = stop_of(view, closed)
        given = self.circumstances(before, stated, finished=finished).replace(order=order, not_needed=not_needed)
        if view.plan.pass_mark.choose is None:
            made[name] = evaluate(view.plan, view.matrix, name, board, given)
        else:
            made.update(evaluate_all(view.plan, view.matrix, board, given))
        return made[name]

    def circumstances(
        self, before: int | None = None, stated: Decision | None = None, *, finished: bool = True
    ) -> Circumstances:
        """Return what surrounds the cells of this run, as of a ledger entry; but for what its own record says."""
        start, mark = self.record.start, self.record.plan.pass_mark
        attempts = {}
        if has_bounds(mark):
            attempts = {item.name: self.beside.number(item.name, before, stated) for item in start.configurations}
        former = None if missed_it(stated) else self.former
        grades = self.judges.grades(before)
        if stated is not None:
            self.beside.unseen |= self.judges.missing
        return Circumstances(
            selection=start.selection, finished=finished, attempts=attempts, grades=grades, baseline=former
        )

    def _other(self, run_id: str, code: str = "ATTEMPT-RECORD") -> RecordView | None:
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
            told = Finding(code, f"{item.code}: {item.message}", item.where or f"runs/{run_id}")
            if not item.note and told not in self.report.findings:
                self.report.findings.append(told)
        return view
