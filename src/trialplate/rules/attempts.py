# SPDX-License-Identifier: Apache-2.0
"""Attempts at acceptance: every full run of the same thing on the same cases counts, whichever one is shown.

`use: all`: one that was rejected rejects; one that is unfinished or whose record is not here leaves it open until it
is resumed or waived; an inconclusive one does not block. `use: last`: of the others, only those of the last run that
was not waived count so. `max`: an attempt beyond that number is rejected, whatever it came to.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from trialplate.record.decisions import AttemptResult, DecisionWord
from trialplate.record.values import AttemptsRule

__all__ = ["combine", "number_of"]


def number_of(attempts: Sequence[AttemptResult], later: Container[str]) -> int:
    """Return which attempt the shown run is: one more than those before it that were not waived.

    Another configuration of the same run was made at the same time, and counts as one before: whoever tries two at
    once has tried twice.
    """
    return 1 + sum(item.status != "waived" and item.run_id not in later for item in attempts)


def combine(
    own: DecisionWord,
    reasons: Sequence[str],
    attempts: Sequence[AttemptResult],
    rule: AttemptsRule | None = None,
    run_id: str = "",
    later: Container[str] = (),
) -> tuple[DecisionWord, tuple[str, ...]]:
    """Return the decision and its reasons once the other attempts are counted.

    Args:
        own: what the shown run comes to by itself.
        attempts: the other full runs of the same thing with a case in common, in the order of the ledger.
        rule: how they count; None is the default of a mark.
        run_id: the shown run.
        later: the runs that were started after it.
    """
    rule = rule or AttemptsRule()
    counted = [item for item in attempts if item.status != "waived"]
    if rule.use == "last":
        after = [item.run_id for item in counted if item.run_id in later]
        counted = [item for item in counted if item.run_id == (after[-1] if after else run_id)]
    too_many = rule.max is not None and number_of(attempts, later) > rule.max
    rejected = any(item.status == "decided" and item.decision == "rejected" for item in counted)
    pending = any(item.status in ("open", "missing") for item in counted)
    if own == "rejected" or rejected or too_many:
        own_reasons = tuple(reasons) if own == "rejected" else ()
        others = (("attempt_rejected",) if rejected else ()) + (("attempt_max",) if too_many else ())
        return "rejected", own_reasons + others
    if own == "inconclusive" or pending:
        own_reasons = tuple(reasons) if own == "inconclusive" else ()
        return "inconclusive", own_reasons + (("attempt_open",) if pending else ())
    return "accepted", ()
