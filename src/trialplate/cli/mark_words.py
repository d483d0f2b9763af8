# SPDX-License-Identifier: Apache-2.0
"""A pass mark in words, before there are results: what each rule asks, what is chosen, and what it supersedes."""

from __future__ import annotations

from trialplate.record.values import Choose, Plan, Rule
from trialplate.rules.loosening import looser
from trialplate.verify.ledger_view import LedgerEntry
from trialplate.verify.rule_text import compared_text
from trialplate.verify.text import selector_text, visible

__all__ = ["choose_words", "rule_words", "supersedes_words"]


def rule_words(rule: Rule) -> str:
    """Return a rule as it will be judged."""
    if rule.must_pass is not None:
        return (
            f"{rule.id}: cases{selector_text(rule.must_pass)} must pass ({rule.require or 'as the plan folds cases'})"
        )
    if rule.any_of:
        return f"{rule.id}: one of {', '.join(rule.any_of)}"
    if rule.no_regressions is not None:
        but = f" but {', '.join(map(visible, rule.allow))}" if rule.allow else ""
        return f"{rule.id}: no case{selector_text(rule.where)}{but} worse than in the baseline, none new that fails"
    if rule.not_worse_than is not None:
        return f"{rule.id}: {compared_text(rule)}, {_basis(rule.basis)}"
    sign = "at least" if rule.at_least is not None else "at most"
    each = f" for each {rule.each}" if rule.each is not None else ""
    least = f", over at least {rule.cases} cases" if rule.cases > 1 else ""
    judge = f", put right by the checks of {rule.correct_for_judge}" if rule.correct_for_judge is not None else ""
    return (
        f"{rule.id}: {rule.of}{selector_text(rule.where)} {sign} {rule.at_least or rule.at_most}{each}{least}{judge}, "
        f"{_basis(rule.basis)}"
    )


def _basis(basis: str) -> str:
    """Return how a rule is decided."""
    return "as an estimate" if basis == "estimate" else "as is shown"


def choose_words(choose: Choose) -> str:
    """Return a choice as it will be made."""
    near = "" if choose.within is None else f", each within {choose.within} of {choose.against} in {choose.of}"
    kept = f"; {choose.keep} while none is" if choose.keep is not None else ""
    return f"choose: the {choose.by} of those that pass{near}, {_basis(choose.basis)}{kept}"


def supersedes_words(before: LedgerEntry, plan: Plan, reason: str | None = None) -> str:
    """Return which mark a plan's follows, in what it asks for less, and whether anybody says why."""
    less = looser(before.body.mark, plan.pass_mark)
    told = f"looser: {'; '.join(less)}" if less else "not looser"
    why = "" if reason is not None else "; no reason is given"
    return f"this pass mark supersedes ledger entry {before.seq} and is {visible(told)}{why}"
