# SPDX-License-Identifier: Apache-2.0
"""A decision in the form in which a log line can hold it: whole, or cut to what stands in the way.

Thousands of tags or attempts would make a line that no log takes. What is left out is counted, and bound by the digest
of the whole: a reader derives the whole, cuts it in the same way, and compares. It never changes what was decided.
"""

from __future__ import annotations

from typing import Any

from trialplate.record import canonical, codec
from trialplate.record.decisions import Cut, Decision, RuleResult

__all__ = ["MOST_BYTES", "fitted", "kept"]

MOST_BYTES = 60_000
"""A line has at most 65,535: the rest is room for what stands around the decision."""
KEPT = (40, 10, 3, 1, 0)
"""How many items of each list are kept: the first of these with which it fits."""


def fitted(whole: Decision) -> Decision:
    """Return the decision itself if it fits into a line, else the same with its lists cut."""
    raw = canonical.encode(codec.to_json(whole))
    if len(raw) <= MOST_BYTES:
        return whole
    contenders = whole.choice.contenders if whole.choice is not None else ()
    counts = Cut(
        digest=canonical.digest(raw),
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
