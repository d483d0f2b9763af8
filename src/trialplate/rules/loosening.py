# SPDX-License-Identifier: Apache-2.0
"""In what a pass mark asks for less than an earlier one. Shown to readers; no decision depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from trialplate.record.values import AttemptsRule, Evidence, PassMark, Rule

__all__ = ["looser"]


_NUMBERS: dict[str, Any] = {"at_least": None, "at_most": None, "cases": 1}
"""What of a rule is compared by its size; whatever else differs makes it another rule."""


def looser(old: PassMark, new: PassMark) -> list[str]:
    """Return, in words, each thing that the new mark asks for less in; a rule that cannot be compared counts."""
    kept = {rule.id: rule for rule in new.rules}
    found = [told for rule in old.rules for told in _rule(rule, kept.get(rule.id))]
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


def _attempts(old: AttemptsRule, new: AttemptsRule) -> Iterator[str]:
    if (old.use, new.use) == ("all", "last"):
        yield "attempts: all became the last one only"
    if (old.scope, new.scope) == ("model", "configuration"):
        yield "attempts: those of the model became those of the configuration"
    if old.max is not None and (new.max is None or new.max > old.max):
        yield f"attempts: at most {old.max} became {new.max or 'any number'}"


def _choose(old: PassMark, new: PassMark) -> Iterator[str]:
    before, after = old.choose, new.choose
    if before is None:
        return
    if after is None:
        yield "choose is gone"
    elif before.replace(within=None) != after.replace(within=None):
        yield "choose compares something else"
    elif before.within is not None and (after.within is None or Fraction(after.within) > Fraction(before.within)):
        yield f"choose: within {before.within} became {after.within or 'any distance'}"
    for name, strict in (("absent_rivals", "bound"), ("declared_usage", "refuse")):
        if getattr(old, name) == strict != getattr(new, name):
            yield f"{name}: {strict} became {getattr(new, name)}"


def _rule(old: Rule, new: Rule | None) -> Iterator[str]:
    if new is None:
        yield f"rule {old.id} is gone"
    elif old.replace(**_NUMBERS) != new.replace(**_NUMBERS):
        yield f"rule {old.id} asks for something else"
    elif new.cases < old.cases:
        yield f"rule {old.id}: at least {old.cases} cases became {new.cases}"
    elif old.at_least is not None and (new.at_least is None or Fraction(new.at_least) < Fraction(old.at_least)):
        yield f"rule {old.id}: at least {old.at_least} became {new.at_least}"
    elif old.at_most is not None and (new.at_most is None or Fraction(new.at_most) > Fraction(old.at_most)):
        yield f"rule {old.id}: at most {old.at_most} became {new.at_most}"


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
