# SPDX-License-Identifier: Apache-2.0
"""The run that a project's rules compare with: named by its author, else by the newest `baseline` entry of the ledger.

What is named becomes part of the mark as it is now: its size, its root, its test set. So its record must be here and
hold before anything is committed to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trialplate.engine.project import verified_ledger
from trialplate.errors import SpecError, nearest
from trialplate.record.entries import BaselineSet, CommitTestSet, RunEnd
from trialplate.record.values import Baseline, Plan, Rule
from trialplate.rules.regressions import baseline_rules, scored_alike
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project
from trialplate.spec.resolve import matrix_lines
from trialplate.verify.baseline_entries import problem_of
from trialplate.verify.findings import Report
from trialplate.verify.ledger_view import LedgerEntry, LedgerView
from trialplate.verify.locate import ledger_above
from trialplate.verify.record_view import read_record

__all__ = ["Compared", "baseline_of", "check_comparable", "in_force", "named_baseline"]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a project's rules compare with."""

    baseline: Baseline
    plan: Plan
    """Of that run."""


def in_force(ledger: LedgerView) -> LedgerEntry | None:
    """Return the newest `baseline` entry of a ledger."""
    return next(iter([*ledger.bodies(BaselineSet)][::-1]), None)


def baseline_of(project: Project) -> Compared | None:
    """Return the run that a project's rules compare with; None where none does, or where nobody named one.

    Raises:
        SpecError: what is named cannot be a baseline of this project: it is no run of this ledger, or a pilot, or did
            not end, or was waived; its record is not here; it lacks a configuration; a rule allows a case that is
            nowhere.
        VerificationError, FormatError: the ledger, or that run's record, does not hold.
    """
    mark = project.author.pass_mark
    rules = mark.resolved()
    folder = ledger_above(project.root.absolute())
    written = mark.baseline
    if not baseline_rules(rules) or (folder is None and written is None):
        return None
    where = project.document.where(("pass_mark", "baseline", "record"))
    if folder is None:
        hint = "run once without this rule, then name that run"
        raise SpecError("this project has no ledger yet, and so no run to compare with", where=where, hint=hint)
    ledger = verified_ledger(folder)
    if written is not None:
        run_id, configuration = _run_named(written.record, ledger, where), written.configuration
    elif (entry := in_force(ledger)) is not None:
        run_id, configuration = entry.body.run_id, entry.body.configuration
        where = ledger.place(entry.seq)
    else:
        return None
    plan = _plan_of(run_id, ledger, where)
    named = _as_it_is(run_id, _configuration(configuration, plan, project, where), ledger, where)
    _check_allowed((*rules.rules, *rules.alternatives), plan, project)
    return Compared(named, plan)


def named_baseline(project: Project) -> Baseline | None:
    """Return the run that a project's rules compare with, as its mark will name it; raises as `baseline_of`."""
    found = baseline_of(project)
    return None if found is None else found.baseline


def _run_named(record: str, ledger: LedgerView, where: str) -> str:
    """Return the id of the run that an author names by path, id, the beginning of one, or the root of its record."""
    started: list[str] = [entry.body.run_id for entry in ledger.starts()]
    matches: list[str]
    if record.startswith("sha256:"):
        ends = [entry.body for entry in ledger.bodies(RunEnd)]
        matches = list(dict.fromkeys(body.run_id for body in ends if body.root == record))
    elif record == "latest":
        hint = "name it by its id, or take this out: without it, it is the one that `trialplate baseline set` named"
        raise SpecError("a mark compares with one run, and the latest is another each time", where=where, hint=hint)
    else:
        matches = _runs_of(record.removeprefix("runs/").rstrip("/"), started)
    if len(matches) == 1:
        return matches[0]
    what = "is the beginning of several runs" if matches else "is no run of this ledger"
    shown = ", ".join((matches or started)[-5:]) or "none"
    near = None if matches else nearest(record.removeprefix("runs/"), started, cutoff=0.75)
    hint = f"did you mean runs/{near}?" if near else "write runs/RUN_ID, or sha256:... as its run.end has it"
    raise SpecError(f'"{record}" {what}: {shown}', where=where, hint=hint)


def _runs_of(name: str, started: Iterable[str]) -> list[str]:
    """Return the runs whose id is a name, or begins with it."""
    there = list(started)
    return [name] if name in there else [item for item in there if name and item.startswith(name)]


def _as_it_is(run_id: str, configuration: str | None, ledger: LedgerView, where: str) -> Baseline:
    """Return a run as it had ended."""
    start, end = ledger.start_of(run_id), ledger.end_of(run_id)
    assert start is not None  # noqa: S101  it was found by its run.start
    commit = ledger.body_at(start.body.test_set.seq, CommitTestSet)
    problem, hint = None, "name a full run that ended as complete"
    if end is None or commit is None:
        problem = "which had not ended as complete"
    elif ledger.waived(run_id):
        problem, hint = "which was waived, and does not count", "name one that counts"
    else:
        named = Baseline(
            run_id=run_id,
            size=end.body.size,
            root=end.body.root,
            test_set=commit.root,
            configuration=configuration,
        )
        problem = problem_of(ledger, named)
    if problem is not None:
        raise SpecError(f"the baseline is {run_id}, {problem}", where=where, hint=hint)
    return named


def _plan_of(run_id: str, ledger: LedgerView, where: str) -> Plan:
    """Return the plan of a run whose record is here and holds."""
    folder = ledger.folder.parent / "runs" / run_id
    if not folder.is_dir():
        hint = "put its folder back, or name another with `trialplate baseline set RUN`"
        raise SpecError(f"the record of the baseline {run_id} is not here", where=where, hint=hint)
    report = Report(f"runs/{run_id}")
    record = read_record(folder, ledger, report)
    report.require()
    if record is None:
        hint = "name a full run that ended as complete"
        raise SpecError(f"the baseline {run_id} has no signed record", where=where, hint=hint)
    return record.plan


def _configuration(named: str | None, plan: Plan, project: Project, where: str) -> str | None:
    """Return the configuration of the baseline that is compared with, None where each is with its own name."""
    there = [item.name for item in plan.configurations]
    if named is None:
        role = {name: entry.role for name, entry in project.author.models.items()}
        wanted = dict.fromkeys(name for line in matrix_lines(project) for name in line.configurations)
        lacking = [name for name in wanted if name not in there and role[name.partition("/")[0]] == "candidate"]
        if lacking:
            hint = f"name one of {', '.join(there)}: in the mark, baseline: {{record: ..., configuration: NAME}}"
            hint += "; in the ledger, `trialplate baseline set RUN --model NAME`"
            raise SpecError(
                f"the baseline has no configuration {lacking[0]} to compare it with", where=where, hint=hint
            )
        return None
    of_model = [item.name for item in plan.configurations if named in (item.name, item.model)]
    chosen = [named] if named in there else of_model
    if len(chosen) != 1:
        what = f"has several of {named}" if chosen else f"has no configuration {named}"
        hint = f"name one of {', '.join(chosen)}" if chosen else suggestion(named, there)
        raise SpecError(f"the baseline {what}", where=where, hint=hint)
    return chosen[0]


def _check_allowed(rules: Iterable[Rule], former: Plan, project: Project) -> None:
    """Refuse a case that a rule allows to regress and that is in no test set: it would be a mistyped one."""
    there = [*(case.id for case in project.cases), *(case.id for case in former.test_set.cases)]
    for rule in rules:
        for name in rule.allow:
            if name not in there:
                raise SpecError(
                    f'rule "{rule.id}" allows the case "{name}", which is neither here nor in the baseline',
                    where=project.document.where(_place_of(rule.id, project)),
                    hint=suggestion(name, there),
                )


def _place_of(identity: str, project: Project) -> tuple[str | int, ...]:
    """Return where an author's rule stands; one within an `any_of` is where that is."""
    for index, rule in enumerate(project.author.pass_mark.rules):
        if identity == rule.id or identity in _ids_within(rule, rule.id or ""):
            return ("pass_mark", "rules", index, "allow")
    return ("pass_mark", "rules")


def _ids_within(rule: object, name: str) -> Iterator[str]:
    for number, member in enumerate(getattr(rule, "any_of", ()), start=1):
        own = member.id or f"{name}.{number}"
        yield own
        yield from _ids_within(member, own)


def check_comparable(plan: Plan, compared: Compared, project: Project) -> None:
    """Refuse a comparison of means that could only come to nothing: over other cases, or other scores.

    Raises:
        SpecError: the test sets differ, or what a rule compares is scored otherwise.
    """
    where = project.document.where(("pass_mark", "rules"))
    run_id = compared.baseline.run_id
    hint = "run what the baseline ran once more, as this plan has it, and name that run with `trialplate baseline set`"
    for rule in (*plan.pass_mark.rules, *plan.pass_mark.alternatives):
        if rule.not_worse_than != "baseline":
            continue
        if compared.plan.test_set.root != plan.test_set.root:
            message = f'rule "{rule.id}" compares with {run_id}, which ran on another test set'
            raise SpecError(message, where=where, hint=hint)
        if not scored_alike(plan, compared.plan, rule.of):
            message = f'rule "{rule.id}" compares {rule.of} with {run_id}, where it was scored otherwise'
            raise SpecError(message, where=where, hint=hint)
