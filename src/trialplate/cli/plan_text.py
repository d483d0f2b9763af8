# SPDX-License-Identifier: Apache-2.0
"""What `plan` prints for a person: for each rule what it can show, with a small picture of how often it does."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trialplate.cli.ceiling import budget_words
from trialplate.cli.cost_words import cost_lines
from trialplate.cli.mark_words import choose_words, rule_words
from trialplate.engine.foreseen import Comparison, Foreseen, Foresight, Point, reach_words
from trialplate.engine.prepare import Prepared
from trialplate.record.values import Plan, Rule
from trialplate.verify.findings import counted

__all__ = ["plan_lines", "short_lines"]

WIDE = 30
"""Columns of the picture."""
MOST_COPIES = 8


def plan_lines(prepared: Prepared, foresight: Foresight) -> Iterator[str]:
    """Yield what a plan costs and can show."""
    plan, matrix = prepared.plan, prepared.matrix
    yield f"{plan.name}: {counted(matrix.size, 'trial')}"
    asked = f"{counted(len(matrix.cases), 'case')} of {plan.test_set.name}"
    yield f"  {asked}, {counted(len(matrix.counts), 'configuration')}"
    yield from cost_lines(prepared)
    yield from budget_words(plan)
    mark = plan.pass_mark
    rules = {rule.id: rule for rule in _rules(plan)}
    for item in foresight.rules:
        yield ""
        yield from _rule_lines(item, rules[item.id], plan)
    if mark.choose is not None:
        yield ""
        yield choose_words(mark.choose, plan, attempt=foresight.attempt)
        if foresight.choice is not None:
            yield from _choice_lines(foresight.choice)
    yield ""
    yield from _footing(prepared, foresight)


def _rule_lines(item: Foreseen, rule: Rule, plan: Plan) -> Iterator[str]:
    part = f" (one of {item.part_of})" if item.part_of is not None else ""
    yield f"rule {rule_words(rule, plan, parts=_parts(rule.id, plan), attempt=item.attempt)}{part}"
    if item.sense == "any_of":
        return
    yield f"  {_size(item)}"
    yield from _copies(item)
    yield from _reach(item)
    if item.missing is not None:
        yield f"  no operating curve: {item.missing}"
        return
    yield from _comparing(item)
    yield from _counts(item)
    yield from _curve(item)
    yield from _sizes(item)


def _parts(name: str, plan: Plan) -> int:
    """Return of how many alternatives, one of which is enough, a rule is one, those around it counted."""
    above = next((other for other in _rules(plan) if name in other.any_of), None)
    return 1 if above is None else len(above.any_of) * _parts(above.id, plan)


def _rules(plan: Plan) -> tuple[Rule, ...]:
    return (*plan.pass_mark.rules, *plan.pass_mark.alternatives)


def _size(item: Foreseen) -> str:
    """Return over how many cases a rule is, for whom, and with which error."""
    least, most = item.repeats
    repeats = f" x {least}" if least == most else f" x {least} to {most}"
    copy = f"for {item.copy}: " if item.copy is not None else ""
    text = f"{copy}{counted(item.cases, 'case')}{repeats if item.cases else ''}"
    if item.unit == "cluster":
        text += f" in {counted(item.units, 'unit')}"
    if item.unit == "trial":
        text += f": {counted(item.units, 'trial')} of this very set"
    if len(item.configurations) == 1:
        text += f"; {item.configurations[0]}"
    elif item.configurations:
        text += f"; each of {counted(len(item.configurations), 'configuration')}"
    if item.alpha is not None:
        text += f"; alpha {_alpha(item.alpha)}"
    return text


def _copies(item: Foreseen) -> Iterator[str]:
    if not item.copies:
        return
    shown = ", ".join(f"{copy.value} {copy.cases}" for copy in item.copies[:MOST_COPIES])
    more = f" and {len(item.copies) - MOST_COPIES} more" if len(item.copies) > MOST_COPIES else ""
    yield f"  one copy for each {item.each}, all must hold, cases: {shown}{more}; below, the one with the fewest"
    lost = [copy for copy in item.copies if not copy.reachable]
    if lost:
        yield f"  no run can pass it for {', '.join(copy.value for copy in lost[:MOST_COPIES])}"


def _reach(item: Foreseen) -> Iterator[str]:
    """Say what a perfect run would show, and what else stands in the way of any decision."""
    if item.left_out:
        yield f"  cannot be told: the matrix leaves out {counted(item.left_out, 'case')} that it is about"
    if item.too_few is not None:
        yield f"  cannot be told: it wants {counted(item.too_few, 'case')} at least"
    if item.perfect is not None:
        yield f"  {reach_words(item)}"
    elif item.needs is not None and item.missing is not None:
        yield f"  needs {counted(item.needs, 'graded answer')} at least, if judge and people never disagree"
    if item.coarse == "all":
        yield "  one case weighs more than what is left to 1: every case must pass"


def _counts(item: Foreseen) -> Iterator[str]:
    """Say how many may fail, and which true values pass how often."""
    if item.failures is not None and item.sense != "must_pass":
        accept, reject = item.failures
        what = "fail" if item.sense != "at_most" else "come out so"
        units = {"case": "cases", "cluster": "units", "trial": "trials"}[item.unit]
        passes = f"passes if at most {accept} of {item.units} {units} {what}" if accept >= 0 else "never passes"
        yield f"  {passes}; rejects {f'from {reject} on' if reject <= item.units else 'never'}"
    if item.qualities is not None and any(value is not None for value in item.qualities):
        most, half, least = ("-" if value is None else f"{value:.3f}" for value in item.qualities)
        yield f"  true value that passes 95 % of the time: {most}; 50 %: {half}; 10 %: {least}"
    if item.hides is not None:
        yield f"  {hides_words(item)}"


def hides_words(item: Foreseen) -> str:
    """Return the sentence of an estimate: how often what is truly off passes all the same."""
    if item.hides is None:
        return ""
    truly = f"truly at {percent_of(item.hides.truth)}"
    return f"a configuration {truly} passes this mark {chance_words(item.hides.chances.accept)} of the time"


def _curve(item: Foreseen) -> Iterator[str]:
    """Yield the picture: how often it accepts (#), stays inconclusive (.) and rejects (x)."""
    if not item.points:
        return
    stopping = any(point.expected_cases is not None for point in item.points)
    yield f"    true  {'':{WIDE}}   accept  inconclusive  reject{'  cases run' if stopping else ''}"
    for point in item.points:
        yes, open_, no = point.chances
        row = f"  {_plain(float(point.truth)):>6}  {_bar(point)}"
        row += f"   {_percent(yes):>6}  {_percent(open_):>12}  {_percent(no):>6}"
        if stopping:
            row += f"  {'' if point.expected_cases is None else f'{point.expected_cases:.1f}':>9}"
        if point.measured:
            row += f"  measured: {', '.join(point.measured)}"
        yield row
    yield "          # accepts, . stays inconclusive, x rejects, in percent of all runs"


def _bar(point: Point) -> str:
    yes = round(point.chances.accept * WIDE)
    no = min(round(point.chances.reject * WIDE), WIDE - yes)
    return "#" * yes + "." * (WIDE - yes - no) + "x" * no


def _sizes(item: Foreseen) -> Iterator[str]:
    """Say how many cases a claim needs, and what as many trials could do otherwise."""
    if item.needed:
        told = ", ".join(f"{_many(need.cases)} at {_plain(float(need.truth))}" for need in item.needed)
        yield f"  cases, once each, to pass 80 % of the time if truly so good: {told}"
    if item.designs and item.designs_at is not None:
        told = ", ".join(f"{one.cases} x {one.repeats}: {_percent(one.accept)} %" for one in item.designs)
        yield f"  as many trials as cases x repeats, how often {_plain(float(item.designs_at))} passes: {told}"
    if item.as_strong is not None:
        yield f"  {item.as_strong} cases, once each, pass it as often as these {item.trials} trials"


def _choice_lines(item: Foreseen) -> Iterator[str]:
    yield f"  {_size(item)}"
    yield from _comparing(item)


def _comparing(item: Foreseen) -> Iterator[str]:
    """Say what a comparison case by case can show."""
    if item.coarse == "margin":
        margin = -(item.threshold or Fraction(0))
        weight = f"one case of {item.cases} weighs {100 / item.cases:.1f} points"
        yield f"  {weight}, more than the {_plain(100 * float(margin))} that are allowed"
    if item.comparison is not None:
        yield from _apart(item.comparison, item.cases)


def _apart(comparison: Comparison, cases: int) -> Iterator[str]:
    yield f"  if both pass the very same cases, one may still be {_points(comparison.ties)} points worse"
    many = counted(cases, "case")
    for row in comparison.rows:
        where = "measured" if row.measured else "differing"
        yield (
            f"  equal, and {where} on {percent_of(Fraction(str(row.share)))} of the cases: shown with {many} "
            f"{chance_words(row.chance)} of the time; 80 % of the time with {_many(row.needed)} cases"
        )


def _footing(prepared: Prepared, foresight: Foresight) -> Iterator[str]:
    """Say what all this rests on."""
    repeated = any(item.icc is not None for item in foresight.rules)
    if repeated:
        told = " and ".join(_resemblances(foresight))
        yield f"repeats of a case resemble each other by {told}: at 0 they are as good as cases, at 1 of no use"
    if any(item.drawn for item in foresight.rules):
        yield f"chances over repeats are shares of {foresight.draws} drawn outcomes, the same on every machine"
    if foresight.attempt > 1:
        yield f"it would be attempt {foresight.attempt}: its bounds have a smaller alpha"
    stop = prepared.plan.pass_mark.stop
    if stop is not None:
        shown = any(point.expected_cases is not None for item in foresight.rules for point in item.points)
        cases = "cases run are those that one rule needs, and the run ends with the last of its rules"
        yield f"stop: {stop.mode}; {cases if shown else 'how many cases run is told of rules with one trial a case'}"
    spent = foresight.attempt > 1
    for name in foresight.refusals:
        yield f"no run can pass {name}: {'earlier attempts spent its alpha' if spent else 'this mark is refused'}"


def _resemblances(foresight: Foresight) -> Iterator[str]:
    """Say by how much repeats resemble each other, and which of it nobody measured."""
    pilot = foresight.pilot
    assumed = "assumed; --pilot RUN measures it" if pilot is None else f"assumed: run {pilot} does not tell"
    for known, whence in ((True, f"measured in run {pilot}"), (False, assumed)):
        own = [item for item in foresight.rules if (item.of in foresight.measured) == known]
        if found := sorted({f"{item.icc:.2f}" for item in own if item.icc is not None}):
            yield f"{', '.join(found)} ({whence})"


# ---------------------------------------------------------------------------------------------------- a short form


def short_lines(foresight: Foresight) -> Iterator[str]:
    """Yield one line for each rule that has something to say, for `run` without --yes."""
    for item in foresight.rules:
        told = _short(item)
        if told:
            yield f"{item.id}: {told}"
    choice = foresight.choice
    if choice is not None and choice.comparison is not None:
        ties, many = _points(choice.comparison.ties), counted(choice.cases, "case")
        yield f"choose: with {many} two that pass the very same ones are shown within {ties} points"


def _short(item: Foreseen) -> str:
    if item.perfect is not None:
        few = item.failures is not None and item.passable and item.sense == "at_least"
        return reach_words(item) + (f"; passes if at most {item.failures[0]} fail" if few and item.failures else "")
    return hides_words(item)


# ---------------------------------------------------------------------------------------------------------- numbers


def _plain(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def percent_of(value: Fraction) -> str:
    """Return a share as a percentage, as short as it can be."""
    return f"{_plain(float(100 * value))} %"


def _percent(chance: float) -> str:
    """Return a chance in percent: never 0 or 100 unless it is as good as that."""
    if 0.995 <= chance < 0.99995:
        return f"{min(100 * chance, 99.9):.1f}"
    if 0.00005 <= chance < 0.005:
        return f"{max(100 * chance, 0.1):.1f}"
    return f"{100 * chance:.0f}"


def chance_words(chance: float) -> str:
    """Return a chance in words."""
    return "less than 0.1 %" if chance < 0.0005 else f"{_percent(chance)} %"


def _points(ties: float) -> str:
    """Return a difference in points: never none, since no number of cases shows that."""
    points = abs(100 * ties)
    return f"{points:.1f}" if points >= 0.05 else f"{max(points, 0.001):.3f}"


def _many(cases: int | None) -> str:
    return "more than 20,000" if cases is None else f"{cases:,}"


def _alpha(alpha: Fraction) -> str:
    return f"{float(alpha):.4g}"
