# SPDX-License-Identifier: Apache-2.0
"""In what a pass mark asks for less than an earlier one. Shown to readers; no decision depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trialplate.record.values import Evidence, PassMark, Rule

__all__ = ["looser"]


def looser(old: PassMark, new: PassMark) -> list[str]:
    """Return, in words, each thing that the new mark asks for less in; a rule that cannot be compared counts."""
    kept = {rule.id: rule for rule in new.rules}
    found = [told for rule in old.rules for told in _rule(rule, kept.get(rule.id))]
    found += _evidence(old.evidence, new.evidence)
    if new.errors not in ("bound", old.errors):
        found.append(f"errors: {old.errors} became {new.errors}")
    return found


def _rule(old: Rule, new: Rule | None) -> Iterator[str]:
    if new is None:
        yield f"rule {old.id} is gone"
    elif old.replace(at_least=None, at_most=None) != new.replace(at_least=None, at_most=None):
        yield f"rule {old.id} asks for something else"
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
