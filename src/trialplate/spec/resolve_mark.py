# SPDX-License-Identifier: Apache-2.0
"""From an author's pass mark to the plan's: every name that it compares with or leans on becomes one of the plan.

The run that rules compare with is looked up elsewhere, by whoever reads the ledger; here it only comes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialplate.errors import SpecError
from trialplate.record.values import Baseline, Choose, Configuration, PassMark, Rule, Scorer
from trialplate.spec.document import Path
from trialplate.spec.nearest import suggestion
from trialplate.spec.project import Project

__all__ = ["pass_mark", "rule_places"]

BASELINE = "baseline"


def pass_mark(
    project: Project, made: Sequence[Configuration], scorers: Sequence[Scorer], baseline: Baseline | None = None
) -> PassMark:
    """Return the pass mark, with configurations and judges named as in the plan.

    Args:
        project: as it was read.
        made: the configurations of the plan.
        scorers: the scorers of the plan.
        baseline: the run that rules compare with, if there is one.

    Raises:
        SpecError: a reference is none, or a model that has several profiles here; a rule compares with a baseline,
            and there is none; a metric that is to be corrected is no judge's.
    """
    author = project.author.pass_mark
    mark = author.resolved(baseline)
    _check_judge(mark, project, scorers)
    places = dict(reversed(rule_places(project)))
    rules = tuple(_rule(rule, places[rule.id], project, made, scorers) for rule in mark.rules)
    alternatives = tuple(_rule(rule, places[rule.id], project, made, scorers) for rule in mark.alternatives)
    mark = mark.replace(rules=rules, alternatives=alternatives)
    compared = [rule for rule in (*rules, *alternatives) if BASELINE in (rule.not_worse_than, rule.no_regressions)]
    if compared and baseline is None:
        key = "no_regressions" if compared[0].no_regressions else "not_worse_than"
        raise SpecError(
            f'rule "{compared[0].id}" compares with a baseline, and there is none',
            where=project.document.where((*places[compared[0].id], key)),
            hint="name a run with `trialplate baseline set RUN`, or write baseline: {record: runs/RUN_ID}",
        )
    if author.baseline is not None and not compared:
        raise SpecError(
            "no rule compares with a baseline",
            where=project.document.where(("pass_mark", BASELINE)),
            hint="add a rule such as {id: ratchet, no_regressions: baseline}, or take it out",
        )
    return mark if mark.choose is None else mark.replace(choose=_choose(mark.choose, project, made))


def _check_judge(mark: PassMark, project: Project, scorers: Sequence[Scorer]) -> None:
    """Refuse a demand on a judge that is none."""
    wanted = mark.evidence.judge
    judges = [item.name for item in scorers if item.type == "judge"]
    if wanted is not None and wanted.scorer not in judges:
        where = project.document.where(("pass_mark", "evidence", "judge", "scorer"))
        none = "add a scorer of type judge to scorers:, or take it out"
        hint = suggestion(wanted.scorer, judges) if judges else none
        raise SpecError(f'there is no judge "{wanted.scorer}"', where=where, hint=hint)


def rule_places(project: Project) -> list[tuple[str, Path]]:
    """Return each rule of the mark by its id with where it stands in the file, those within an `any_of` as well."""
    rules = enumerate(project.author.pass_mark.rules)
    return [found for index, rule in rules for found in _places(rule, rule.id or "", ("pass_mark", "rules", index))]


def _places(rule: object, name: str, place: Path) -> Iterator[tuple[str, Path]]:
    yield name, place
    for index, member in enumerate(getattr(rule, "any_of", ())):
        yield from _places(member, member.id or f"{name}.{index + 1}", (*place, "any_of", index))


def _rule(rule: Rule, place: Path, project: Project, made: Sequence[Configuration], scorers: Sequence[Scorer]) -> Rule:
    if rule.not_worse_than not in (None, BASELINE):
        where = project.document.where((*place, "not_worse_than"))
        name = _configuration(str(rule.not_worse_than), made, where, BASELINE)
        rule = rule.replace(not_worse_than=name)
    if rule.correct_for_judge is None:
        return rule
    judges = [item.name for item in scorers if item.type == "judge" and rule.of in item.metrics]
    if len(judges) != 1:
        raise SpecError(
            f'rule "{rule.id}": {"several judges give" if judges else "no judge gives"} "{rule.of}"',
            where=project.document.where((*place, "correct_for_judge")),
            hint="correct the metric of one judge, or take it out",
        )
    return rule.replace(correct_for_judge=judges[0])


def _choose(choose: Choose, project: Project, made: Sequence[Configuration]) -> Choose:
    where = project.document.where(("pass_mark", "choose", "against"))
    if choose.against != "best":
        choose = choose.replace(against=_configuration(choose.against, made, where, "best"))
    if choose.keep is not None:
        place = project.document.where(("pass_mark", "choose", "keep"))
        choose = choose.replace(keep=_configuration(choose.keep, made, place, verb="keep"))
    return choose


def _configuration(
    wanted: str, made: Sequence[Configuration], where: str, *words: str, verb: str = "compare with"
) -> str:
    """Return the name of the configuration that is meant: its own, or that of a model with one profile.

    Raises:
        SpecError: there is none, or there are several.
    """
    names = [item.name for item in made]
    named = [wanted] if wanted in names else [item.name for item in made if item.model == wanted]
    if len(named) > 1:
        raise SpecError(f'"{wanted}" has several profiles', where=where, hint=f"name one of {', '.join(named)}")
    if not named:
        raise SpecError(f'there is no "{wanted}" to {verb}', where=where, hint=suggestion(wanted, [*names, *words]))
    return named[0]
