# SPDX-License-Identifier: Apache-2.0
"""Several configurations side by side, with costs and latencies, for tests of `choose`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from small_runs import Repeat, configuration, ended, plan_of, play, scorer

from trialplate.record.decisions import Choice
from trialplate.record.entries import Money, TrialStart, Usage
from trialplate.record.matrix import narrow
from trialplate.record.values import Choose, MatrixLine, Plan, Pricing, Rule, Selector
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import Evaluation, evaluate_all

__all__ = ["Entrant", "by_rates", "choice_of", "choosing", "compete", "plan_for"]

PRICED = Pricing(input="1", output="1")
Rows = Sequence[Sequence[Repeat]]


@dataclass(frozen=True)
class Entrant:
    """A configuration and what became of its trials.

    Rows are the cases q1, q2, ... with a value per repeat, as in `small_runs`; a row of no repeats is a case that it is
    not asked. `grounded` has the same shape; None there is a metric that could not be scored.
    """

    name: str
    correct: Rows
    grounded: Rows = ()
    cost: str | None = "1"
    """Of each trial, in whole units of the currency; None is unknown."""
    costs: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Of single trials that cost something else, by case and repeat."""
    latency_ms: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Of the configuration."""
    causes: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Causes of failed trials, by case and repeat."""
    declared: bool = False


def choosing(by: str = "cheapest", of: str = "correct", within: str | None = "0.03", **fields: Any) -> Choose:
    """Return a choice; by default Trialmark's: the cheapest within three points of the best."""
    return Choose(**{"by": by, "of": of, "within": within, **fields})


def by_rates(rates: Sequence[float | str], cases: int = 100) -> list[list[Repeat]]:
    """Return rows in which so large a share of the first cases passes, per repeat."""
    passed = [int(Fraction(str(rate)) * cases) for rate in rates]
    return [[int(index < count) for count in passed] for index in range(cases)]


def plan_for(entrants: Sequence[Entrant], *rules: Rule, choose: Choose | None, **fields: Any) -> Plan:
    """Return the plan of these configurations; each is asked the cases in which it has repeats."""
    cases = max(len(item.correct) for item in entrants)
    lines = []
    for item in entrants:
        by_count: dict[int, list[str]] = {}
        for number, row in enumerate(item.correct, start=1):
            if row:
                by_count.setdefault(len(row), []).append(f"q{number}")
        for repeats, ids in by_count.items():
            selector = Selector() if len(ids) == cases else Selector(id=tuple(ids))
            lines.append(MatrixLine(configurations=(item.name,), cases=selector, repeats=repeats))
    metrics = ("correct", "grounded") if any(item.grounded for item in entrants) else ("correct",)
    mark = {"choose": choose, **fields.pop("mark", {})}
    return plan_of(
        cases,
        *rules,
        configurations=[configuration(item.name, **{"pricing": PRICED, **item.fields}) for item in entrants],
        scorers=[scorer(metric) for metric in metrics],
        lines=lines,
        mark=mark,
        **fields,
    )


def fill(board: Board, item: Entrant) -> None:
    """Fold every trial of a configuration."""
    for number, row in enumerate(item.correct, start=1):
        for index, repeat in enumerate(row, start=1):
            if repeat is None:
                continue
            key = (item.name, f"q{number}", index)
            if repeat == "incompatible":
                play(board, key, repeat)
                continue
            board.start(TrialStart(trial=key, attempt=1))
            if repeat == "lost":
                continue
            board.end(ended(key, **_end(item, number - 1, index - 1, repeat)))


def _end(item: Entrant, case: int, repeat: int, value: Repeat) -> dict[str, Any]:
    made: dict[str, Any] = {"latency_ms": item.latency_ms}
    if isinstance(value, str):
        return {**made, "outcome": value}
    metrics = {"correct": float(value or 0)}
    if item.grounded and (other := item.grounded[case][repeat]) is not None:
        metrics["grounded"] = float(other)
    cause = item.causes.get((case, repeat))
    outcome = "passed" if value == 1 and all(number == 1 for number in metrics.values()) else "failed"
    each = item.costs.get((case, repeat), item.cost)
    cost = None if each is None else Money(nano=int(Fraction(each) * 10**9), currency="USD")
    usage = Usage(input=1, output=1, declared=item.declared)
    return {**made, "outcome": outcome, "metrics": metrics, "cause": cause, "cost": cost, "usage": usage}


def compete(
    entrants: Sequence[Entrant], *rules: Rule, choose: Choose | None = None, **fields: Any
) -> Mapping[str, Evaluation]:
    """Evaluate a complete full run of these configurations."""
    plan = plan_for(entrants, *rules, choose=choose or choosing(), **fields)
    board = Board()
    for item in entrants:
        fill(board, item)
    return evaluate_all(plan, narrow(plan, None), board, Circumstances())


def choice_of(results: Mapping[str, Evaluation]) -> Choice:
    """Return what all of them say is chosen, without what each says of itself."""
    choices = {str(item.choice and item.choice.replace(within=None)): item.choice for item in results.values()}
    (choice,) = choices.values()
    assert choice is not None
    return choice
