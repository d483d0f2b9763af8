# SPDX-License-Identifier: Apache-2.0
"""What `--json` writes to stderr while a run goes on: one JSON object a line, with stable names and in ASCII.

No text of a case, an answer or an error is ever in it: what stands here is what stands in the open in the record.
"""

from __future__ import annotations

import json
from typing import Any

from trialplate.cli.view import View
from trialplate.ledger.clock import utc_now

__all__ = ["event_line", "progress_event", "totals"]


def event_line(name: str, **fields: Any) -> str:
    """Return an event: its name, when, and its fields; what is unknown is null."""
    return json.dumps({"event": name, "time": utc_now(), **fields}, allow_nan=False)


def totals(view: View) -> dict[str, Any]:
    """Return the counts and the spend of a run so far."""
    paid, unknown = view.spent()
    return {
        "done": view.done,
        "planned": sum(view.planned.values()),
        "not_needed": sum(view.planned.values()) - view.total,
        "under_way": view.tally.under_way if view.tally is not None else 0,
        "configurations": {name: view.row(name) for name in view.planned},
        "spent": [{"currency": currency, "nano": nano} for currency, nano in paid.items()],
        "costs_unknown": unknown,
    }


def progress_event(view: View, now: float) -> str:
    """Return what a person would see in a line."""
    done = view.done
    rate = view.speed.rate(now, done)
    left = view.speed.left_s(now, done, view.total, view.at_once)
    waiting = [
        {
            "who": item.who,
            "reason": item.reason,
            "trials": item.trials,
            "seconds": None if item.until is None else round(max(0.0, item.until - now), 1),
        }
        for item in view.waiting
    ]
    return event_line(
        "progress",
        **totals(view),
        per_second=None if rate is None else round(rate, 3),
        left_s=None if left is None else round(left),
        waiting=waiting,
    )
