# SPDX-License-Identifier: Apache-2.0
"""What runs that were made before do to the next one: told before it is paid for, as far as the ledger alone says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialplate.record.decisions import Decision
from trialplate.record.entries import CommitTestSet
from trialplate.record.matrix import attempt_key
from trialplate.record.values import Plan
from trialplate.rules.mark_shape import has_bounds
from trialplate.verify.ledger_view import LedgerView

__all__ = ["doomed_words", "halved_words"]

_NOT_OF_ITSELF = frozenset(("attempt_rejected", "attempt_max", "attempt_open", "not_chosen", "choice_open"))
"""Reasons of a rejection that lie outside of the rules of the run that was rejected."""
_WAIVE = "unless `trialplate waive` says, for ever and to everybody, that {} not count"


def halved_words(plan: Plan, attempts: Mapping[str, int]) -> Iterator[str]:
    """Yield which attempt a run would be, where its bounds have less error by it.

    Args:
        attempts: which attempt at each candidate it would be.
    """
    numbers = sorted({number for number in attempts.values() if number > 1}) if has_bounds(plan.pass_mark) else []
    for number in numbers:
        names = [name for name, made in attempts.items() if made == number]
        yield f"attempt {number} at {', '.join(names)}: each attempt's bounds have half the error of the one before"


def doomed_words(plan: Plan, ledger: LedgerView, attempts: Mapping[str, int]) -> Iterator[str]:
    """Yield why a full run would be rejected, whatever its answers are."""
    rule = plan.pass_mark.attempts
    beyond = [name for name, number in attempts.items() if rule.max is not None and number > rule.max]
    if beyond:
        number = max(attempts[name] for name in beyond)
        told = f"this is attempt {number} at {', '.join(beyond)}, and attempts.max of the mark is {rule.max}"
        yield f"{told}: it will be rejected, whatever it comes to, {_WAIVE.format('an earlier run does')}"
    if rule.use == "last":
        return
    for name, runs in _rejected(plan, ledger).items():
        which = f"run {runs[0]}" if len(runs) == 1 else f"runs {', '.join(runs)}"
        why = _WAIVE.format("that run does" if len(runs) == 1 else "these runs do")
        yield f"{name} was rejected in {which}: it will be rejected again, whatever it comes to, {why}"


def _rejected(plan: Plan, ledger: LedgerView) -> dict[str, list[str]]:
    """Return the candidates of which the ledger says that their own rules rejected them, each with the runs."""
    keys = {attempt_key(item): item.name for item in plan.configurations if item.role == "candidate"}
    sets = {entry.ref: entry.body.root for entry in ledger.bodies(CommitTestSet)}
    found: dict[str, list[str]] = {}
    for entry in ledger.starts():
        run = entry.body
        if run.selection != "full" or ledger.waived(run.run_id) or sets.get(run.test_set) != plan.test_set.root:
            continue
        last = {item.body.configuration: item.body for item in ledger.decisions(run.run_id)}
        for item in run.configurations:
            if item.attempt_key in keys and _by_itself(last.get(item.name)):
                found.setdefault(keys[item.attempt_key], []).append(run.run_id)
    return found


def _by_itself(decision: Decision | None) -> bool:
    """Say whether a run was rejected, and not only for other runs or for a better one."""
    return decision is not None and decision.decision == "rejected" and not _NOT_OF_ITSELF.issuperset(decision.reasons)
