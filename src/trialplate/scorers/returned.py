# SPDX-License-Identifier: Apache-2.0
"""From what code of one's own returns to a score: a number, true or false, or a dict. Anything else is no score.

number       the scorer's one metric, in [0, 1]
true, false  the metric is 1 or 0, and that is the verdict
dict         a value for each metric under its name (or `score`, if there is one metric), null for one of several that
             could not be told this time; and perhaps `passed` and `reason`. Nothing else stands in it

Without `passed` the trial passes if each of the metrics is at least `threshold`; one that is below fails it, and while
none is, one that could not be told leaves it open.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from trialplate.record.frozen import Json
from trialplate.scorers.base import Score, ScorerError

__all__ = ["REASON", "score_of"]

Verdict = Literal["passed", "failed"]

REASON = 2000
"""Characters of a reason that are kept."""
_VERDICT = ("passed", "reason")


def score_of(returned: Json, metrics: Sequence[str], threshold: Decimal, scrub: Callable[[str], str]) -> Score:
    """Return the score that was returned.

    Args:
        returned: JSON; a number that JSON has not came as a text.
        metrics: that the scorer yields, the main one first.
        threshold: from which a metric passes.
        scrub: replaces known secrets in a text that will be kept.

    Raises:
        ScorerError: it is none.
    """
    said = dict(returned) if isinstance(returned, dict) else {metrics[0]: returned}
    if isinstance(returned, bool):
        said = {metrics[0]: int(returned), "passed": returned}
    if len(metrics) == 1 and "score" in said and metrics[0] not in said:
        said[metrics[0]] = said.pop("score")
    unknown = said.keys() - {*metrics, *_VERDICT}
    missing = [name for name in metrics if name not in said]
    if unknown or missing:
        keys = ", ".join(map(str, said))[:200] or "nothing"
        wanted = ", ".join(f'"{name}"' for name in (*(("score",) if len(metrics) == 1 else metrics), *_VERDICT))
        raise ScorerError(f"it returned a dict of {keys}; a score has {wanted}")
    told = [name for name in metrics if said[name] is not None or len(metrics) == 1]
    values = {name: _value(name, said[name], metrics, scrub) for name in told}
    untold = tuple(name for name in metrics if name not in told)
    reached = all(Decimal(repr(value)) >= threshold for value in values.values())
    passed = said.get("passed", reached)
    if not isinstance(passed, bool):
        raise ScorerError(f"its passed is {json.dumps(passed)[:200]}, which is neither true nor false")
    reason = said.get("reason", _scored(values, metrics))
    if not isinstance(reason, str):
        raise ScorerError("its reason is no text")
    verdict: Verdict | None = "passed" if passed else "failed"
    if "passed" not in said and reached and untold:
        verdict = None  # one that could not be told might have failed it
    return Score(metrics=values, unknown=untold, verdict=verdict, reason=scrub(reason)[:REASON])


def _value(name: str, value: Json, metrics: Sequence[str], scrub: Callable[[str], str]) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        what = "score" if len(metrics) == 1 else name
        raise ScorerError(f"its {what} is {scrub(json.dumps(value))[:200]}, which is no number in [0,1]")
    return value


def _scored(values: Mapping[str, float], metrics: Sequence[str]) -> str:
    if len(metrics) == 1:
        return f"scored {values[metrics[0]]:g}"
    return ", ".join(f"{name} {value:g}" for name, value in values.items())
