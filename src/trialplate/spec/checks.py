# SPDX-License-Identifier: Apache-2.0
"""Whether the parts of a plan fit together, before anything is committed or spent.

An error is what could never decide anything, or would decide it for a wrong reason: a metric that nobody measures, a
case that nobody scores, evidence that this plan cannot show, an accepted answer that every text contains. A warning is
what is allowed and probably not meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from trialplate.errors import SpecError
from trialplate.record.matrix import Matrix, narrow, selects
from trialplate.record.values import Case, Configuration, Evidence, Opening, Plan, Scorer
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.rules.quantities import KINDS, RATES, draws_of, measured_in
from trialplate.spec.check_mark import check_mark
from trialplate.spec.compatible_cases import check_compatible, check_told
from trialplate.spec.document import Path
from trialplate.spec.entries import RECORDED_RUNNERS
from trialplate.spec.helper_checks import check_helpers
from trialplate.spec.placeholders import fill_url
from trialplate.spec.project import Project
from trialplate.spec.reference_checks import check_references
from trialplate.spec.resolve_tools import check_tools
from trialplate.spec.selectors import selector_hint

__all__ = ["check", "check_leaks"]

_FILE_RUNNERS = HOSTED_RUNNERS | {"command", "python", "stand-in"}
"""What is sent a case's files, or runs in the project's folder and opens them there itself, or asks nobody.

What a package does with them is its own affair.
"""
_OPERATORS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"})
_Where = Callable[[Path], str]


def check(plan: Plan, project: Project, *, reach: bool = True) -> tuple[str, ...]:
    """Return the warnings about a plan; with `reach`, of a mark that a run could pass.

    Raises:
        SpecError: at the first thing that does not fit.
    """
    where = project.document.where
    matrix = narrow(plan, None)
    _check_metrics(plan.scorers, project.cases, where)
    _check_scored(plan.scorers, project)
    warnings = [*check_references(plan.scorers, project), *check_helpers(plan, project), *check_tools(project)]
    _check_lines(plan, project)
    _check_urls(plan, project)
    _check_kinds(plan, matrix, project)
    _check_files(plan, matrix, project)
    warnings += check_told(plan.configurations, matrix, {case.id: case for case in project.cases}, where)
    warnings += check_compatible(plan.configurations, matrix, {case.id: case for case in project.cases}, where)
    _check_replayed(plan, matrix, where)
    candidates = [item for item in plan.configurations if item.role == "candidate"]
    if not candidates:
        raise SpecError("every model has role: comparison", where=where(("models",)), hint="leave one to be accepted")
    warnings += [*_unused(plan, matrix, project), *_shell_words(project)]
    warnings += _check_evidence(plan.pass_mark.evidence, matrix, candidates, where)
    warnings += check_mark(plan, matrix, project, candidates, reach=reach)
    if plan.cache == "replay" and plan.pass_mark.evidence.calls == "live":
        warnings.append(f"{where(('run', 'cache'))}: a replayed run decides nothing under evidence: {{calls: live}}")
    if plan.cache == "auto" and plan.pass_mark.evidence.calls == "live":
        warnings.append(f"{where(('run', 'cache'))}: a replayed trial leaves it open under evidence: {{calls: live}}")
    if plan.cache in ("live", "auto") and not any(
        item.runner in RECORDED_RUNNERS for item in (*plan.configurations, *plan.helpers)
    ):
        warnings.append(f"{where(('run', 'cache'))}: there is nothing to record: no model here is called")
    return tuple(warnings)


def _refuse(where: str, message: str, hint: str) -> NoReturn:
    raise SpecError(message, where=where, hint=hint)


def _check_metrics(scorers: Sequence[Scorer], cases: Sequence[Case], where: _Where) -> None:
    """Two scorers give one metric only on different cases."""
    for index, scorer in enumerate(scorers):
        place = where(("scorers", scorer.name, "metric"))
        taken = next((n for n in scorer.metrics if n in RATES or draws_of(n) or KINDS.fullmatch(n)), None)
        if taken is not None:
            _refuse(place, f'"{taken}" is always there and is no scorer\'s', "name the metric otherwise")
        for other in scorers[:index]:
            shared = next((name for name in scorer.metrics if name in other.metrics), None)
            if shared is not None:
                both = next((c for c in cases if selects(scorer.cases, c) and selects(other.cases, c)), None)
                if both is not None:
                    message = f'"{other.name}" and "{scorer.name}" both give "{shared}" for case "{both.id}"'
                    _refuse(place, message, "give each a metric of its own, or cases: that do not overlap")


def _check_scored(scorers: Sequence[Scorer], project: Project) -> None:
    """Every case has a scorer: an unscored one would pass by default."""
    bare = [case.id for case in project.cases if not any(selects(scorer.cases, case) for scorer in scorers)]
    if bare:
        shown = ", ".join(f'"{item}"' for item in bare[:5])
        more = ", ..." if len(bare) > 5 else ""
        message = f"no scorer applies to {len(bare)} of {len(project.cases)} cases: {shown}{more}"
        _refuse(project.places[bare[0]], message, "widen cases: of a scorer, or add one")


def _check_lines(plan: Plan, project: Project) -> None:
    for index, line in enumerate(plan.matrix):
        if not any(selects(line.cases, case) for case in plan.test_set.cases):
            place = project.document.where(("matrix", index))
            _refuse(place, "this line selects no case", selector_hint(line.cases, project.cases))


def _check_urls(plan: Plan, project: Project) -> None:
    """An input that stands in an address leaves the rest of it alone."""
    for item in plan.configurations:
        if item.runner == "http":
            for case in project.cases:
                try:
                    fill_url(item.endpoint or "", case.input)
                except ValueError:
                    message = f'the input of case "{case.id}" would be a step in the path of {item.model}\'s url'
                    _refuse(project.places[case.id], message, "put {{input}} into the query or the body")


def _check_kinds(plan: Plan, matrix: Matrix, project: Project) -> None:
    """Refuse a recorded run for a model that would have to be asked, and a question for one that nobody can ask."""
    for index, case in enumerate(project.cases):
        for item in plan.configurations:
            if (item.runner == "trace") == (case.kind == "trace") or not matrix.counts[item.name][index]:
                continue
            if case.kind == "trace":
                message = f'case "{case.id}" is a trace, and "{item.model}" is a model that answers questions itself'
            else:
                message = f'case "{case.id}" is a question, and "{item.model}" only reads traces'
            hint = "give each kind a line of the matrix, with cases: {kind: prompt} and cases: {kind: trace}"
            _refuse(project.places[case.id], message, hint)


def _check_files(plan: Plan, matrix: Matrix, project: Project) -> None:
    """Refuse a case with files for a runner that sends none: the model would be asked about what it cannot see."""
    for index, case in enumerate(project.cases):
        for item in plan.configurations if case.files else ():
            if item.plugin is None and item.runner not in _FILE_RUNNERS and matrix.counts[item.name][index]:
                message = f'case "{case.id}" has files, and the runner {item.runner} of "{item.model}" sends none in'
                hint = "leave the case out of this model's line of the matrix, or take the files out"
                _refuse(project.places[case.id], f"{message} this version", hint)


def _check_replayed(plan: Plan, matrix: Matrix, where: _Where) -> None:
    """Refuse a replay with a runner of a package, whose exchanges nobody records: it would be called all the same."""
    for item in plan.configurations if plan.cache == "replay" else ():
        if item.plugin is not None and any(matrix.counts[item.name]):
            message = f'the runner {item.runner} of "{item.model}" cannot be replayed: nothing of it is recorded'
            _refuse(where(("models", item.model, "runner")), message, "run it with cache: off, or leave it out")


def _unused(plan: Plan, matrix: Matrix, project: Project) -> Iterator[str]:
    """Yield warnings about what is written and never asked."""
    where = project.document.where
    idle = [case.id for index, case in enumerate(matrix.cases) if not any(row[index] for row in matrix.counts.values())]
    if idle:
        many = f"{len(idle)} cases are" if len(idle) > 1 else "a case is"
        yield f'{project.places[idle[0]]}: {many} in no line of the matrix, such as "{idle[0]}"'
    for key, used in (
        ("models", {item.model for item in plan.configurations}),
        ("profiles", {item.profile for item in plan.configurations} | {"default"}),
    ):
        for name in getattr(project.author, key):
            if name not in used:
                what = f"{where((key, name), key=True)}: {key[:-1]} {name} is in no line of the matrix"
                alone = "; without matrix: every model runs under default alone"
                yield what + (alone if project.author.matrix is None else "")
    mark = plan.pass_mark
    ruled = {measured_in(rule.of) for rule in (*mark.rules, *mark.alternatives)}
    for scorer in plan.scorers:
        if not any(selects(scorer.cases, case) for case in plan.test_set.cases):
            message, place = f"the scorer {scorer.name} applies to no case", where(("scorers", scorer.name, "cases"))
            if ruled.intersection(scorer.metrics):
                _refuse(place, f"{message}, and a rule is about it", selector_hint(scorer.cases, project.cases))
            yield f"{place}: {message}"


def _shell_words(project: Project) -> Iterator[str]:
    """Yield warnings about what only a shell would read, in an argv that no shell sees."""
    started: list[tuple[str, str, Any]] = [("models", *item) for item in project.author.models.items()]
    started += [("scorers", *item) for item in project.author.scorers.items()]
    for key, name, entry in started:
        for index, word in enumerate(getattr(entry, "argv", None) or ()):
            if word in _OPERATORS or (index and any(char in word for char in "$*`")):
                place = project.document.where((key, name, "argv", index))
                yield f'{place}: no shell reads argv: "{word}" reaches the program as it is; shell: runs a line'


def _check_evidence(
    evidence: Evidence, matrix: Matrix, candidates: Sequence[Configuration], where: _Where
) -> Iterator[str]:
    """A demand that no candidate of this plan can meet is refused; one that some cannot, is told."""
    rows = {item.name: [repeats for repeats in matrix.counts[item.name] if repeats] for item in candidates}
    for key, wanted, reached in (
        ("cases", evidence.cases, {name: len(row) for name, row in rows.items()}),
        ("repeats", evidence.repeats, {name: min(row, default=0) for name, row in rows.items()}),
    ):
        place = where(("pass_mark", "evidence", key))
        most = max(reached.values())
        if most < wanted:
            message = f"evidence.{key} wants at least {wanted}, and this plan has {most}: nothing could pass"
            _refuse(place, message, f"add {key}, or lower the demand")
        for name, count in reached.items():
            if count < wanted:
                yield f"{place}: {name} has {count} of the {wanted} {key} wanted, and stays inconclusive"


def check_leaks(plan: Plan, openings: Mapping[str, Opening]) -> None:
    """Refuse a plan whose public part repeats a private text, before anything is written or committed.

    Args:
        plan: the plan as it would be published.
        openings: what opens its commitments, by commitment.

    Raises:
        SpecError: PRIVATE-TEXT-PUBLIC.
    """
    from trialplate.verify.content import (  # the verifier's own eyes, which load its half
        leak_in,
        public_commitments,
        public_text,
    )

    public = public_commitments(plan)
    leak = leak_in(public_text(plan, None), {case.id for case in plan.test_set.cases})
    for commitment, opening in openings.items():
        if commitment not in public and (text := leak(opening.value)) is not None:
            message = f"the plan is public, and would show a private text in a name or a setting: {text[:40]!r}"
            hint = "rename the case, tag or setting that repeats it, or give the test set visibility: public"
            raise SpecError(message, hint=hint, code="PRIVATE-TEXT-PUBLIC")
