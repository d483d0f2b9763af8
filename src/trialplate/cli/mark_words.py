# SPDX-License-Identifier: Apache-2.0
"""A pass mark in words, before there are results: what each rule asks, what is chosen, and what it supersedes."""

from __future__ import annotations

from trialplate.record.values import Choose, PassMark, Plan, Rule
from trialplate.rules.choose import wrong_ones
from trialplate.rules.loosening import looser
from trialplate.rules.mark_shape import has_bounds
from trialplate.spec.check_reach import alpha_words
from trialplate.verify.ledger_view import LedgerEntry
from trialplate.verify.rule_text import compared_text
from trialplate.verify.text import selector_text, visible

__all__ = ["bound_words", "choose_words", "rule_words", "supersedes_words"]


def rule_words(rule: Rule, plan: Plan, *, parts: int = 1, attempt: int = 1) -> str:
    """Return a rule of a plan as it will be judged.

    Args:
        parts: of how many alternatives, one of which is enough, it is one.
        attempt: which attempt it is judged at.
    """
    if rule.any_of:
        members = {item.id: item for item in plan.pass_mark.alternatives}
        parts *= len(rule.any_of)
        told = (rule_words(members[name], plan, parts=parts, attempt=attempt) for name in rule.any_of)
        return f"{rule.id}: any of ({'; '.join(told)})"
    if rule.must_pass is not None:
        return (
            f"{rule.id}: cases{selector_text(rule.must_pass)} must pass ({rule.require or 'as the plan folds cases'})"
        )
    if rule.no_regressions is not None:
        allowed = f", but for {', '.join(rule.allow)}" if rule.allow else ""
        return (
            f"{rule.id}: no case{selector_text(rule.where)} is worse than in the baseline{allowed}, none new that fails"
        )
    each = f" for each {rule.each}" if rule.each is not None else ""
    least = f", over at least {rule.cases} cases" if rule.cases > 1 else ""
    corrected = f", corrected for the errors of {rule.correct_for_judge}" if rule.correct_for_judge is not None else ""
    basis = (
        f"shown with {alpha_words(plan, parts=parts, attempt=attempt)}" if rule.basis == "bound" else "as an estimate"
    )
    what = _asked(rule)
    return f"{rule.id}: {what}{each}{least}{corrected}, {basis}"


def _asked(rule: Rule) -> str:
    """Return what a rule asks of its quantity."""
    if rule.not_worse_than is not None:
        return compared_text(rule)
    sign = f"at least {rule.at_least}" if rule.at_least is not None else f"at most {rule.at_most}"
    return f"{rule.of}{selector_text(rule.where)} {sign}"


def choose_words(choose: Choose, plan: Plan, *, attempt: int = 1) -> str:
    """Return a choice of a plan as it will be made at an attempt."""
    kept = f"; {choose.keep} is kept while none is chosen" if choose.keep is not None else ""
    if choose.within is None:
        return f"choose: the {choose.by} of those that pass{kept}"
    near = f", each within {choose.within} of {choose.against} in {choose.of}"
    words = f"shown with {alpha_words(plan, rivals=wrong_ones(plan, choose), attempt=attempt)}"
    basis = words if choose.basis == "bound" else "as an estimate"
    return f"choose: the {choose.by} of those that pass{near}, {basis}{kept}"


def bound_words(mark: PassMark) -> str:
    """Return what the bounds of a mark speak of, and when its run may end before its last trial; "" of neither."""
    told = []
    if has_bounds(mark):
        what = "work like these cases" if mark.over == "cases" else "exactly these cases, asked again"
        unit = "" if mark.unit == "case" else f", of which those with the same {mark.unit} count as one"
        told.append(f"bounds speak of {what}{unit}")
    if mark.stop is not None and mark.stop.mode == "sealed":
        told.append("the run ends once no missing answer could change a decision")
    elif mark.stop is not None:
        told.append(f"the run ends where the cases that failed meet a boundary of rule {mark.stop.rule}")
    return "; ".join(told)


def supersedes_words(before: LedgerEntry, plan: Plan, reason: str | None = None) -> str:
    """Return which mark a plan's follows, in what it asks for less, and whether anybody says why."""
    less = looser(before.body.mark, plan.pass_mark)
    told = f"looser: {'; '.join(less)}" if less else "not looser"
    why = "" if reason is not None else "; no reason is given"
    return f"this pass mark supersedes ledger entry {before.seq} and is {visible(told)}{why}"
