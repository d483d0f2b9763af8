# SPDX-License-Identifier: Apache-2.0
"""V22: the sheets by which judges are checked, and the grades on them; and what these come to for a run's judges.

A sheet is derived again from the record that it names: its answers, and what the judge said of each. So a grade can be
neither moved to another answer nor held against another verdict. What a person found is taken from the signed entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from trialplate.record.decisions import Decision
from trialplate.record.entries import JudgeCheck, JudgeSheet, TrialKey
from trialplate.record.frozen import Value
from trialplate.record.matrix import judge_key
from trialplate.record.values import PassMark, Rule, Scorer
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Grades
from trialplate.rules.judging import Graded, Scale, drawn, grades_of, judges_of, places, population, scale_of, word_key
from trialplate.verify.findings import Report, counted
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.record_view import RecordView, board_at

__all__ = ["JudgeChecks", "Sheet", "Sheets", "as_stated", "check_judge_entries", "sheet_of"]


class Sheet(Value):
    """A logged sheet, derived again from its record."""

    entry: LedgerEntry
    scorer: Scorer
    scale: Scale
    answers: tuple[TrialKey, ...]
    """In the order in which they were drawn."""
    judged: tuple[int, ...]
    """The judge's verdict on each."""
    strata: Mapping[int, Fraction] = {}
    """How many answers of the population have each verdict of the judge; of a stratified sheet only."""


# ------------------------------------------------------------------------------------------------ entries by themselves


def check_judge_entries(ledger: LedgerView, report: Report) -> None:
    """V22 on the ledger alone: each check is about a sheet before it, of the same judge, with a grade for each row."""
    sheets, checks = list(ledger.bodies(JudgeSheet)), list(ledger.bodies(JudgeCheck))
    for entry in sheets:
        end = ledger.end_of(entry.body.run_id, entry.seq)
        if end is None or (end.body.size, end.body.root) != (entry.body.size, entry.body.root):
            report.found("JUDGE-SHEET", "is not about a run as its run.end left it", ledger.place(entry.seq))
    for entry in checks:
        problem = _check_problem(ledger, entry)
        if problem is not None:
            report.found("JUDGE-CHECK", problem, ledger.place(entry.seq))
    if sheets or checks:
        number = f"{counted(len(sheets), 'sheet')} and {counted(len(checks), 'check')} of judges"
        report.passed("V22", f"{number} belong together")


def _check_problem(ledger: LedgerView, entry: LedgerEntry) -> str | None:
    check: JudgeCheck = entry.body
    named = ledger.entries[check.sheet.seq] if check.sheet.seq < entry.seq else None
    if named is None or named.ref != check.sheet or not isinstance(named.body, JudgeSheet):
        return f"names entry {check.sheet.seq}, which is no sheet before it"
    sheet = named.body
    if check.judge != sheet.judge:
        return "is of another judge than its sheet"
    rows = min(sheet.count, sheet.population)
    if len(check.grades) != rows:
        return f"has {counted(len(check.grades), 'grade')} for {counted(rows, 'answer')}"
    return None if any(check.grades) else "grades nothing"


# ------------------------------------------------------------------------------------------------ held to their records


class Sheets:
    """Every sheet of one judge in one run, in the order of the ledger: each is drawn from what those before it left."""

    def __init__(self, ledger: LedgerView, record: RecordView, judge: str) -> None:
        self.record = record
        self.found: dict[int, Sheet | str] = {}
        """By the number of its entry; in words where there is no such sheet."""
        self._taken: set[tuple[str, str]] = set()
        self._boards: dict[int, Board] = {record.size: record.board}
        for entry in ledger.bodies(JudgeSheet, record.run_id):
            if entry.body.judge == judge:
                self.found[entry.seq] = self._add(entry)

    def left(self, scorer: Scorer, size: int) -> list[TrialKey]:
        """Return the judge's answers in the record's first `size` lines, without what stands on a sheet already."""
        if size not in self._boards:
            self._boards[size] = board_at(self.record.folder, self.record.plan, size)[0]
        there = population(self.record.plan, self.record.matrix, self._boards[size], scorer)
        return [key for key in there if key[:2] not in self._taken]

    def _add(self, entry: LedgerEntry) -> Sheet | str:
        body: JudgeSheet = entry.body
        scorer = next((item for item in judges_of(self.record.plan) if item.name == body.scorer), None)
        if scorer is None or judge_key(self.record.plan, scorer) != body.judge:
            return f"names the judge {body.scorer}, which is not a judge of this run, or not that one"
        if body.size > self.record.size:
            return "is about a size that this record does not have"
        sheet = sheet_of(self.record, scorer, entry, self.left(scorer, body.size))
        if isinstance(sheet, Sheet) and not body.stratify:
            self._taken |= {key[:2] for key in sheet.answers}
        return sheet


def sheet_of(record: RecordView, scorer: Scorer, entry: LedgerEntry, trials: Sequence[TrialKey]) -> Sheet | str:
    """Return the sheet that an entry gives of these answers, or in words why it gives none."""
    body: JudgeSheet = entry.body
    number = len(places(trials))
    if number != body.population:
        return f"says that it is of {counted(body.population, 'answer')}; there are {number}"
    try:
        scale = scale_of(scorer)
    except (AttributeError, TypeError, ValueError, ArithmeticError, LookupError):
        return f"is of the judge {scorer.name}, whose verdicts the plan does not say"
    verdicts = {key: _verdict(record, scorer, scale, key) for key in trials}
    named = {key: f"{value:07d}" for key, value in verdicts.items()} if body.stratify else None
    answers = tuple(drawn(bytes.fromhex(body.root.removeprefix("sha256:")), body.count, trials, named))
    return Sheet(
        entry=entry,
        scorer=scorer,
        scale=scale,
        answers=answers,
        judged=tuple(verdicts[key] for key in answers),
        strata=_strata(trials, verdicts) if body.stratify else {},
    )


def _strata(trials: Sequence[TrialKey], verdicts: Mapping[TrialKey, int]) -> dict[int, Fraction]:
    """Return how many answers have each verdict; of a case with several repeats each counts for its part."""
    found: dict[int, Fraction] = {}
    for repeats in places(trials).values():
        for key in repeats:
            found[verdicts[key]] = found.get(verdicts[key], Fraction(0)) + Fraction(1, len(repeats))
    return found


def _verdict(record: RecordView, scorer: Scorer, scale: Scale, key: TrialKey) -> int:
    """Return the judge's verdict on a decided answer, as the trial's line has it."""
    return scale.verdict(record.board.cells[key].value(scorer.metric) or 0)


class JudgeChecks:
    """The checks of the judges of one run, in this run and in every other run of this ledger that asked them."""

    def __init__(
        self, ledger: LedgerView, record: RecordView, other: Callable[[str], RecordView | None], report: Report
    ) -> None:
        """Name what is looked at; nothing is read yet.

        Args:
            other: gives the verified record of another run, None where it is not here.
            report: is told of what does not hold.
        """
        self.ledger = ledger
        self.record = record
        self.missing: set[str] = set()
        """Runs whose grades the last `grades` could not count, since their records are not here."""
        self._other = other
        self._report = report
        self._derived: dict[int, Sheet | None] = {}
        self._sheets: dict[tuple[str, str], Sheets] = {}
        self._gone: set[str] = set()
        """Runs that are not here."""

    def check(self) -> None:
        """V22: each sheet of this run, and each grade on it, follows from the record."""
        for entry in self.ledger.bodies(JudgeSheet, self.record.run_id):
            self._sheet(entry)

    def grades(self, before: int | None = None) -> Mapping[str, Grades]:
        """Return what people found of each judge of this run, by its name; none of one that was never checked.

        Args:
            before: as of this ledger entry; None is now.
        """
        self.missing = set()
        found = {scorer.name: self._grades(scorer, before) for scorer in judges_of(self.record.plan)}
        return {name: grades for name, grades in found.items() if grades is not None}

    def _grades(self, scorer: Scorer, before: int | None) -> Grades | None:
        judge = judge_key(self.record.plan, scorer)
        graded: list[Graded] = []
        open_sheets = stale = 0
        seen = False
        for entry in self.ledger.bodies(JudgeSheet, before=before):
            body: JudgeSheet = entry.body
            checks = self._checks_of(entry, before)
            if body.judge != judge:
                if body.scorer == scorer.name and not body.stratify:
                    stale += max((sum(map(bool, check.grades)) for check in checks), default=0)
                continue
            seen = True
            sheet = self._sheet(entry) if checks else None
            if sheet is None:
                open_sheets += 1
                self.missing |= {body.run_id} & self._gone
            elif not body.stratify:
                told = tuple(check.grades for check in checks)
                graded.append(Graded(scale=sheet.scale, judged=sheet.judged, checks=told))
        return grades_of(graded, open_sheets=open_sheets, stale=stale) if seen or stale else None

    @cached_property
    def _by_sheet(self) -> Mapping[int, list[LedgerEntry]]:
        found: dict[int, list[LedgerEntry]] = {}
        for entry in self.ledger.bodies(JudgeCheck):
            if _check_problem(self.ledger, entry) is None:
                found.setdefault(entry.body.sheet.seq, []).append(entry)
        return found

    def _checks_of(self, sheet: LedgerEntry, before: int | None) -> list[JudgeCheck]:
        """Return what people found on a sheet, as of a ledger entry."""
        there = self._by_sheet.get(sheet.seq, [])
        return [entry.body for entry in there if before is None or entry.seq < before]

    def _sheet(self, entry: LedgerEntry) -> Sheet | None:
        """Return a sheet derived again; None, with a finding or a note, where that cannot be or does not hold."""
        if entry.seq not in self._derived:
            self._derived[entry.seq] = self._derive(entry)
        return self._derived[entry.seq]

    def _derive(self, entry: LedgerEntry) -> Sheet | None:
        run_id = entry.body.run_id
        record = self.record if run_id == self.record.run_id else self._other(run_id)
        where = self.ledger.place(entry.seq)
        if record is None:
            if run_id not in self._gone:
                message = f"grades on answers of {run_id} are not counted, and its sheets count as open: it is not here"
                self._report.found("RUN-MISSING", message, where, note=True)
            self._gone.add(run_id)
            return None
        key = (run_id, entry.body.judge)
        if key not in self._sheets:
            self._sheets[key] = Sheets(self.ledger, record, entry.body.judge)
        sheet = self._sheets[key].found[entry.seq]
        if isinstance(sheet, str):
            self._report.found("JUDGE-SHEET", sheet, where)
            return None
        for check in self._by_sheet.get(entry.seq, []):
            strange = next(
                (word for word in check.body.grades if word and word_key(word) not in sheet.scale.words), None
            )
            if strange is not None:
                message = f"{strange!r} is no verdict of {sheet.scorer.name}"
                self._report.found("JUDGE-CHECK", message, self.ledger.place(check.seq))
                return None
        return sheet


def as_stated(stated: Decision, derived: Decision, mark: PassMark) -> Decision:
    """Return a decision with what rests on grades taken from the stated one, since some of these are not here.

    All else is held to the record; and nothing is accepted that fails by anything else.
    """
    every = (*mark.rules, *mark.alternatives)
    judged = {rule.id for rule in every if _rests_on_grades(rule)}
    while more := {rule.id for rule in every if rule.id not in judged and judged.intersection(rule.any_of)}:
        judged |= more
    if not judged and mark.evidence.judge is None:
        return derived
    rules = {rule.id: rule for rule in stated.rules if rule.id in judged}
    evidence = {item.name: item for item in stated.evidence if item.name == "judge"}
    found = derived.replace(
        evidence=tuple(evidence.get(item.name, item) for item in derived.evidence),
        rules=tuple(rules.get(rule.id, rule) for rule in derived.rules),
    )
    holds = all(item.met for item in evidence.values()) and all(rule.result == "pass" for rule in rules.values())
    of_grades = {"judge", *judged, "not_chosen", "choice_open"}
    choice = stated.choice
    if mark.choose is not None and mark.choose.best_among == "floors_met" and judged:
        of_grades.add("within")  # who is the best hangs on whose rules hold
    elif choice is not None and derived.choice is not None:
        choice = choice.replace(within=derived.choice.within)
    if stated.decision == "accepted" and not (holds and of_grades.issuperset(derived.reasons)):
        return found
    return found.replace(decision=stated.decision, reasons=stated.reasons, choice=choice)


def _rests_on_grades(rule: Rule) -> bool:
    return rule.correct_for_judge is not None or (rule.of or "").startswith("agreement:")
