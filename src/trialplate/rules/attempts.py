# SPDX-License-Identifier: Apache-2.0
"""Attempts at acceptance: every full run of the same thing on the same cases counts, whichever one is shown.

`use: all`: one that was rejected rejects; one that is unfinished or whose record is not here leaves it open until it
is resumed or waived; an inconclusive one does not block.
"""

from __future__ import annotations

from collections.abc import Sequence

from trialplate.record.entries import AttemptResult, DecisionWord

__all__ = ["combine"]


def combine(
    own: DecisionWord, reasons: Sequence[str], attempts: Sequence[AttemptResult]
) -> tuple[DecisionWord, tuple[str, ...]]:
    """Return the decision and its reasons once the other attempts are counted.

    Args:
        own: what the shown run comes to by itself.
        attempts: the other full runs with the same attempt key and a case in common.
    """
    rejected = any(item.status == "decided" and item.decision == "rejected" for item in attempts)
    pending = any(item.status in ("open", "missing") for item in attempts)
    if own == "rejected" or rejected:
        own_reasons = tuple(reasons) if own == "rejected" else ()
        return "rejected", own_reasons + (("attempt_rejected",) if rejected else ())
    if own == "inconclusive" or pending:
        own_reasons = tuple(reasons) if own == "inconclusive" else ()
        return "inconclusive", own_reasons + (("attempt_open",) if pending else ())
    return "accepted", ()
