# SPDX-License-Identifier: Apache-2.0
"""What a pass mark must be, beyond its fields: nothing that a reader sees and no rule looks at, no bound without proof.

Source: DESIGN section 7; docs/formats/pass-mark.md, clauses 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from trialplate.record.frozen import fields
from trialplate.record.values import PassMark, Rule, Selector, Stop
from trialplate.rules.quantities import draws_of, kind_of, measured_in

__all__ = [
    "KINDS",
    "Flaw",
    "about_usage",
    "compared",
    "has_bound",
    "has_bounds",
    "kinds_of",
    "mark_flaws",
    "mark_problems",
]

_THRESHOLD = frozenset({"of", "basis", "where", "each", "cases"})
KINDS = {
    "at_least": _THRESHOLD | {"correct_for_judge"},
    "at_most": _THRESHOLD,
    "not_worse_than": _THRESHOLD | {"by"},
    "must_pass": frozenset({"require", "cases"}),
    "no_regressions": frozenset({"where", "allow"}),
    "any_of": frozenset[str](),
}
"""The kinds of rule, and what each takes besides its own key."""
MOST_BOUNDARIES = 2000
"""Of a stop rule: a reader works out what they come to, and that takes the square of their number."""
_SHARES = frozenset({"mean", "agreement", "macro_f1"})
MOST_NESTED = 16
"""Of `any_of` within `any_of`: each divides alpha again, and a reader goes down into all of them."""


class Flaw(NamedTuple):
    """What is wrong with a pass mark, and where."""

    message: str
    key: str = ""
    """The key that it is about, of the rule or of the mark; with dots below it."""
    rule: str = ""
    """The id of the rule; empty for the mark itself."""

    def __str__(self) -> str:
        return f"rule {self.rule}: {self.message}" if self.rule else self.message


def mark_problems(mark: PassMark) -> Iterator[str]:
    """Yield what makes a pass mark ambiguous, or claims what nothing proves, as sentences."""
    return map(str, mark_flaws(mark))


def mark_flaws(mark: PassMark) -> Iterator[Flaw]:
    """Yield what makes a pass mark ambiguous, or claims what nothing proves."""
    every = (*mark.rules, *mark.alternatives)
    if len({rule.id for rule in every}) != len(every) or not mark.rules:
        yield Flaw("a pass mark has rules, and each its own id", "rules")
    for rule in every:
        yield from (flaw._replace(rule=rule.id) for flaw in _of_rule(rule, mark))
    reached = [name for rule in mark.rules for name in _alternatives(rule, mark)]
    if sorted(reached) != sorted(rule.id for rule in mark.alternatives):
        yield Flaw("each alternative stands in one any_of, and none in itself", "alternatives")
    elif any(_too_deep(rule, mark) for rule in mark.rules):
        yield Flaw(f"an any_of stands within at most {MOST_NESTED - 1} others", "alternatives")
    if not Fraction(1, 2) < Fraction(mark.confidence) < 1:
        yield Flaw("a confidence is above 0.5 and below 1", "confidence")
    if (mark.baseline is None) == any(compared(rule) for rule in every):
        yield Flaw("a mark names a baseline where a rule compares with one, and nowhere else", "baseline")
    yield from _of_choice(mark)
    if mark.stop is not None:
        yield from _of_sealing(mark) if mark.stop.mode == "sealed" else _of_counts(mark, mark.stop)


def kinds_of(rule: Rule) -> list[str]:
    """Return which kinds of rule it is; of a sound one, just one."""
    return [kind for kind in KINDS if getattr(rule, kind) not in (None, ())]


def compared(rule: Rule) -> bool:
    """Say whether a rule is about the baseline."""
    return "baseline" in (rule.not_worse_than, rule.no_regressions)


def has_bounds(mark: PassMark) -> bool:
    """Say whether anything in a mark is decided by a bound, and so by how many attempts were made."""
    by_bound = any(rule.basis == "bound" for rule in (*mark.rules, *mark.alternatives))
    by_counts = mark.stop is not None and mark.stop.mode == "counts"
    return by_bound or by_counts or (mark.choose is not None and mark.choose.basis == "bound")


def has_bound(quantity: str, *, difference: bool = False) -> bool:
    """Say whether there is a bound for a quantity, or for the difference of two, that keeps what it promises.

    Of the chances over k repeats it is those that are a mean of passes: `pass_at:1`, and `pass_hat` of all repeats,
    which depends on the plan.
    """
    kind, chance = kind_of(quantity), draws_of(quantity) is not None
    if difference:
        return kind == "mean" and not chance
    return kind in ("mean", "agreement") and (not chance or quantity == "pass_at:1" or quantity.startswith("pass_hat"))


def _of_rule(rule: Rule, mark: PassMark) -> Iterator[Flaw]:
    kinds = kinds_of(rule)
    if len(kinds) != 1:
        yield Flaw(f"it is not exactly one of {', '.join(KINDS)}", kinds[0] if kinds else "")
        return
    (kind,) = kinds
    for field in fields(Rule):
        given = getattr(rule, field.name) != field.default
        if given and field.name not in ("id", kind) and field.name not in KINDS[kind]:
            yield Flaw(f"{kind} takes no {field.name}", field.name)
    if "of" in KINDS[kind] and rule.of is None:
        yield Flaw(f"{kind} needs of", "of")
    elif rule.of is not None:
        yield from _of_quantity(rule, rule.of, mark)
        yield from _of_threshold(rule, rule.of)
    if len(rule.any_of) == 1:
        yield Flaw("any_of names two rules or more", "any_of")
    if kind == "not_worse_than" and rule.by is None:
        yield Flaw("not_worse_than needs by", "by")
    if rule.correct_for_judge is not None:
        yield from _of_correction(rule, mark)


def _of_quantity(rule: Rule, of: str, mark: PassMark) -> Iterator[Flaw]:
    difference = rule.not_worse_than is not None
    if difference and (kind_of(of) != "mean" or of == "error_rate"):
        yield Flaw(f"{of} cannot be compared case by case as what is better the higher it is", "of")
    elif rule.basis == "bound" and not has_bound(of, difference=difference):
        yield Flaw(f"no bound of {of} is known to keep its promise", "basis")
    if kind_of(of) == "agreement" and (rule.each or rule.where != Selector() or rule.cases != 1):
        yield Flaw("a judge's agreement is over its checks: it takes no each, where or cases", "of")


def _of_threshold(rule: Rule, of: str) -> Iterator[Flaw]:
    """Shares are compared with shares; percentiles, costs and tokens with amounts."""
    for key in ("at_least", "at_most"):
        text = getattr(rule, key)
        if text is not None and kind_of(of) in _SHARES and Fraction(text) > 1:
            yield Flaw(f"{key} is {text}, and {of} a share in [0,1]", key)
    if rule.by is not None and abs(Fraction(rule.by)) > 1:
        yield Flaw(f"by is {rule.by}, and two shares differ by 1 at most", "by")


def _of_correction(rule: Rule, mark: PassMark) -> Iterator[Flaw]:
    """The corrected mean has a bound for cases, each of which counts as one, and nothing else."""
    if rule.basis != "bound" or rule.of != measured_in(rule.of):
        yield Flaw("a judge's errors are taken off a metric, within a bound", "correct_for_judge")
    if mark.over != "cases" or mark.unit != "case":
        yield Flaw("a judge's errors are taken off under over: cases and unit: case", "correct_for_judge")


def _alternatives(rule: Rule, mark: PassMark) -> Iterator[str]:
    """Yield the ids of all alternatives below a rule; of a circle, a few times too many."""
    known = {item.id: item for item in mark.alternatives}
    waiting = list(rule.any_of)
    for _ in range(len(known) + 1):
        if not waiting:
            return
        name = waiting.pop()
        yield name
        waiting += known[name].any_of if name in known else ()


def _too_deep(rule: Rule, mark: PassMark) -> bool:
    """Say whether a rule nests alternatives more deeply than a reader follows; each stands in one any_of."""
    known = {item.id: item for item in mark.alternatives}
    level = [rule]
    for _ in range(MOST_NESTED):
        level = [known[name] for item in level for name in item.any_of]
    return any(item.any_of for item in level)


def _of_choice(mark: PassMark) -> Iterator[Flaw]:
    choose = mark.choose
    if choose is None:
        if (mark.require, mark.absent_rivals) != ("eligible", "bound"):
            yield Flaw("require and absent_rivals say how a choice is made, and there is no choose", "require")
        if mark.declared_usage != "refuse" and not any(about_usage(r.of) for r in (*mark.rules, *mark.alternatives)):
            yield Flaw("declared_usage is about costs and tokens, and there is no choose and no such rule", "require")
        return
    if choose.of == "error_rate" or kind_of(choose.of) != "mean" or len({*choose.tie_break}) != len(choose.tie_break):
        message = "choose compares shares of what is better the higher it is, and a tie is broken once by each"
        yield Flaw(message, "choose")
    elif choose.basis == "bound" and not has_bound(choose.of, difference=True):
        yield Flaw(f"no bound of a difference of {choose.of} is known to keep its promise", "choose.basis")
    if choose.within is not None and Fraction(choose.within) > 1:
        yield Flaw(f"choose: within is {choose.within}, and two shares differ by 1 at most", "choose.within")
    if choose.within is None and (choose.against, choose.best_among) != ("best", "all"):
        yield Flaw("choose: against and best_among say what within is counted from, and there is no within", "choose")


def about_usage(of: str | None) -> bool:
    """Say whether a quantity is about tokens or what they cost."""
    return not {"cost", "tokens", "input_tokens", "output_tokens"}.isdisjoint((of or "").split(":")[:2])


def _of_sealing(mark: PassMark) -> Iterator[Flaw]:
    """A run may be sealed if every answer moves every rule one way: what is not shown to do so may turn a decision."""
    if mark.stop is not None and mark.stop.replace(rule=None, accept=(), reject=()) != mark.stop:
        yield Flaw("a run that is sealed is decided by no counts", "stop.mode")
    for rule in (*mark.rules, *mark.alternatives):
        bound = rule.basis == "bound"
        shown = not bound or (mark.unit == "case" and (mark.over == "cases" or rule.not_worse_than is None))
        if rule.of is not None and (kind_of(rule.of) != "mean" or rule.correct_for_judge or not shown):
            yield Flaw("a run cannot be sealed by it: more right answers may make it worse", "of", rule.id)
    if mark.choose is not None and mark.choose.basis == "bound" and (mark.unit, mark.over) != ("case", "cases"):
        yield Flaw("a run cannot be sealed by a choice over bounds but under over: cases and unit: case", "stop.mode")


def _of_counts(mark: PassMark, stop: Stop) -> Iterator[Flaw]:
    """A table of counts speaks of cases that pass or fail, each drawn by itself."""
    rule = next((rule for rule in mark.rules if rule.id == stop.rule), None)
    if rule is None:
        yield Flaw("the counts decide a rule of the mark", "stop.rule")
    elif (rule.of, rule.basis) != ("case_pass_rate", "bound") or rule.at_least is None or rule.each is not None:
        yield Flaw("the counts decide a rule at_least of case_pass_rate, over a bound and without each", "stop.rule")
    if (mark.over, mark.unit) != ("cases", "case"):
        yield Flaw("counts are of cases, under over: cases and unit: case", "stop.mode")
    if mark.attempts.max is None:
        yield Flaw("counts keep a promise for so many attempts, and attempts.max does not say how many", "stop.mode")
    if not 0 < len(stop.accept) == len(stop.reject) <= MOST_BOUNDARIES:
        yield Flaw(f"accept and reject are as long as each other, up to {MOST_BOUNDARIES}", "stop.accept")
    pairs = enumerate(zip(stop.accept, stop.reject, strict=False), 1)
    wrong = next((number for number, (most, least) in pairs if most >= least), None)
    if wrong is not None:
        yield Flaw(f"after case {wrong} a number of failures would both accept and reject", "stop.accept")
