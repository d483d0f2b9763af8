# SPDX-License-Identifier: Apache-2.0
"""A decision in the form in which a log line can hold it: whole, or cut to what stands in the way.

Thousands of tags or attempts would make a line that no log takes. What is left out is counted, and bound by the digest
of the whole: a reader derives the whole, cuts it in the same way, and compares. It never changes what was decided.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from trialplate.record import canonical, codec
from trialplate.record.decisions import Cut, Decision, RuleResult

__all__ = ["MOST_BYTES", "alike", "fitted", "kept"]

MOST_BYTES = 60_000
"""A line has at most 65,535: the rest is room for what stands around the decision."""
_BOUNDS = frozenset({"lower", "upper"})
_TOLERANCE = Fraction(1, 10**9)
KEPT = (40, 10, 3, 1, 0)
"""How many items of each list are kept: the first of these with which it fits."""


def alike(stated: Decision, derived: Decision) -> bool:
    """Say whether two decisions are the same: in every word and fraction, and in every bound to 1e-9.

    A bound is no fraction, and C libraries differ in its last digits.
    """
    return _alike(codec.to_json(stated), codec.to_json(derived))


def _alike(one: Any, other: Any, name: str = "") -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(item, other[key], key) for key, item in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if name in _BOUNDS and isinstance(one, str) and isinstance(other, str):
        return abs(Fraction(one) - Fraction(other)) <= _TOLERANCE
    return bool(one == other)


def _without_bounds(value: Any) -> Any:
    """Return a JSON value without the bounds in it, which another machine may round to another last digit."""
    if isinstance(value, dict):
        return {key: _without_bounds(item) for key, item in value.items() if key not in _BOUNDS}
    return [_without_bounds(item) for item in value] if isinstance(value, list) else value


def fitted(whole: Decision) -> Decision:
    """Return the decision itself if it fits into a line, else the same with its lists cut."""
    whole_json = codec.to_json(whole)
    if len(canonical.encode(whole_json)) <= MOST_BYTES:
        return whole
    contenders = whole.choice.contenders if whole.choice is not None else ()
    counts = Cut(
        digest=canonical.digest_value(_without_bounds(whole_json)),
        reasons=len(whole.reasons),
        rules=len(whole.rules),
        copies=sum(len(rule.copies) for rule in whole.rules),
        attempts=len(whole.attempts),
        contenders=len(contenders),
    )
    made = whole
    for most in KEPT:
        made = kept(whole, most).replace(cut=counts.replace(kept=most))
        if len(canonical.encode(codec.to_json(made))) <= MOST_BYTES:
            break
    return made


def kept(whole: Decision, most: int) -> Decision:
    """Return a decision with at most so many items in each list: those that stand in the way, in their order."""
    rules = tuple(_kept_rule(rule, most) for rule in whole.rules if rule.result != "pass")
    stands = [item for item in whole.attempts if item.status in ("open", "missing") or item.decision == "rejected"]
    choice = whole.choice
    if choice is not None:
        close = [item for item in choice.contenders if item.configuration in (whole.configuration, choice.chosen)]
        choice = choice.replace(contenders=tuple(close), possible=choice.possible[:most])
    return whole.replace(
        reasons=whole.reasons[: max(most, 5)], rules=rules[:most], attempts=tuple(stands[:most]), choice=choice
    )


def _kept_rule(rule: RuleResult, most: int) -> RuleResult:
    shown: Any = [item.replace(failing=item.failing[:most]) for item in rule.copies if item.result != "pass"]
    return rule.replace(copies=tuple(shown[:most]), failing=rule.failing[:most])
