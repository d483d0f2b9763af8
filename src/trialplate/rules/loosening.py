# SPDX-License-Identifier: Apache-2.0
"""In what a pass mark asks for less than an earlier one. Shown to readers; no decision depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from trialplate.record.values import AttemptsRule, Evidence, JudgeEvidence, PassMark, Rule
from trialplate.rules.mark_shape import about_usage

__all__ = ["looser"]


_NUMBERS: dict[str, Any] = {
    "at_least": None,
    "at_most": None,
    "cases": 1,
    "by": None,
    "allow": (),
    "basis": "estimate",
}
"""What of a rule is compared by its size; whatever else differs makes it another rule."""


def looser(old: PassMark, new: PassMark) -> list[str]:
    """Return, in words, each thing that the new mark asks for less in; a rule that cannot be compared counts."""
    kept = {rule.id: rule for rule in new.rules}
    found = [told for rule in old.rules for told in _rule(rule, kept.get(rule.id))]
    members = {rule.id: rule for rule in new.alternatives}
    # One that is gone, or new, makes its any_of another rule, and is told by that.
    found += [told for rule in old.alternatives if rule.id in members for told in _rule(rule, members[rule.id])]
    found += _bounds(old, new)
    found += _evidence(old.evidence, new.evidence)
    found += _attempts(old.attempts, new.attempts)
    found += _choose(old, new)
    if old.baseline is not None and new.baseline != old.baseline:
        found.append(f"baseline: {old.baseline.run_id} became {new.baseline.run_id if new.baseline else 'none'}")
    for name, strict in (("errors", "bound"), ("require", "chosen")):
        before, after = getattr(old, name), getattr(new, name)
        if after not in (strict, before):
            found.append(f"{name}: {before} became {after}")
    return found


def _bounds(old: PassMark, new: PassMark) -> Iterator[str]:
    """Yield in what the bounds of all rules promise less."""
    if Fraction(new.confidence) < Fraction(old.confidence):
        yield f"confidence: {old.confidence} became {new.confidence}"
    for name, strict in (("over", "cases"), ("family", "plan")):
        if getattr(old, name) == strict != getattr(new, name):
            yield f"{name}: {strict} became {getattr(new, name)}"
    if old.unit not in ("case", new.unit):
        yield f"unit: {old.unit} became {new.unit}"
    if new.stop not in (None, old.stop):
        before, after = old.stop.mode if old.stop is not None else "none", new.stop.mode if new.stop is not None else ""
        yield f"stop: {before} became {after}" if before != after else "stop: the counts are others"


def _attempts(old: AttemptsRule, new: AttemptsRule) -> Iterator[str]:
    if (old.use, new.use) == ("all", "last"):
        yield "attempts: all became the last one only"
    if (old.scope, new.scope) == ("model", "configuration"):
        yield "attempts: those of the model became those of the configuration"
    if old.max is not None and (new.max is None or new.max > old.max):
        yield f"attempts: at most {old.max} became {new.max or 'any number'}"
    if old.spend and not new.spend:
        yield "attempts: together they may err as often as one, and now more often"


def _choose(old: PassMark, new: PassMark) -> Iterator[str]:
    before, after = old.choose, new.choose
    declared = old.declared_usage == "refuse" != new.declared_usage
    if declared and (before is not None or any(about_usage(rule.of) for rule in (*old.rules, *old.alternatives))):
        yield "declared_usage: refuse became accept"
    if before is None:
        return
    alike: dict[str, Any] = {"within": None, "keep": None, "basis": "estimate"}
    if after is None:
        yield "choose is gone"
    elif before.replace(**alike) != after.replace(**alike):
        yield "choose compares something else"
    elif before.within is not None and (after.within is None or Fraction(after.within) > Fraction(before.within)):
        yield f"choose: within {before.within} became {after.within or 'any distance'}"
    if after is not None and (before.basis, after.basis) == ("bound", "estimate"):
        yield "choose: a bound became an estimate"
    if old.absent_rivals == "bound" != new.absent_rivals:
        yield f"absent_rivals: bound became {new.absent_rivals}"


def _rule(old: Rule, new: Rule | None) -> Iterator[str]:
    if new is None:
        yield f"rule {old.id} is gone"
        return
    if old.replace(**_NUMBERS) != new.replace(**_NUMBERS):
        yield f"rule {old.id} asks for something else"
        return
    if new.cases < old.cases:
        yield f"rule {old.id}: at least {old.cases} cases became {new.cases}"
    if old.at_least is not None and (new.at_least is None or Fraction(new.at_least) < Fraction(old.at_least)):
        yield f"rule {old.id}: at least {old.at_least} became {new.at_least}"
    if old.at_most is not None and (new.at_most is None or Fraction(new.at_most) > Fraction(old.at_most)):
        yield f"rule {old.id}: at most {old.at_most} became {new.at_most}"
    if old.by is not None and (new.by is None or Fraction(new.by) > Fraction(old.by)):
        yield f"rule {old.id}: by {old.by} became {new.by}"
    if more := sorted(set(new.allow) - set(old.allow)):
        yield f"rule {old.id}: it allows {len(more)} more {'case' if len(more) == 1 else 'cases'}, such as {more[0]}"
    if (old.basis, new.basis) == ("bound", "estimate"):
        yield f"rule {old.id}: a bound became an estimate"


def _evidence(old: Evidence, new: Evidence) -> Iterator[str]:
    if (old.calls, new.calls) == ("live", "any"):
        yield "evidence: live calls became any"
    for name in ("complete", "cases", "repeats"):
        before, after = getattr(old, name), getattr(new, name)
        if Fraction(after) < Fraction(before):
            yield f"evidence: {name} {before} became {after}"
    for name in ("reasked", "infrastructure_errors"):
        before, after = getattr(old, name), getattr(new, name)
        if before is not None and (after is None or Fraction(after) > Fraction(before)):
            yield f"evidence: {name} {before} became {after or 'anything'}"
    yield from _judge(old.judge, new.judge)


def _judge(old: JudgeEvidence | None, new: JudgeEvidence | None) -> Iterator[str]:
    if old is None:
        return
    if new is None or new.scorer != old.scorer:
        yield f"evidence: nothing is demanded of the judge {old.scorer}"
        return
    if Fraction(new.agreement) < Fraction(old.agreement):
        yield f"evidence: an agreement of {old.agreement} with {old.scorer} became {new.agreement}"
    if new.graded < old.graded:
        yield f"evidence: {old.graded} graded answers of {old.scorer} became {new.graded}"
