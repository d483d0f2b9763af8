# SPDX-License-Identifier: Apache-2.0
"""Plans, boards and trial lines in a line of code, for tests of the arithmetic and of the checks on cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialplate.record.entries import TrialEnd, TrialStart
from trialplate.record.matrix import Matrix, narrow
from trialplate.record.values import (
    Case,
    Configuration,
    Evidence,
    MatrixLine,
    PassMark,
    Plan,
    PlanCase,
    PlanTestSet,
    Rule,
    Scorer,
    Selector,
    Verdicts,
)
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import Evaluation, evaluate

NAME = "m"
DIGEST = "sha256:" + "0" * 64
COMMITMENT = "c" * 43

Repeat = float | str | None
"""A number is a metric value (1 passed, less failed); "error", "skipped", "limit" an outcome; "incompatible" never asked; "lost" a start without an
end; None a trial that never began."""


def case(number: int, *tags: str) -> PlanCase:
    """Return a planned case q1, q2, ..."""
    return PlanCase(id=f"q{number}", tags=tags, commitment=COMMITMENT)


def configuration(name: str = NAME, **fields: Any) -> Configuration:
    """Return a configuration that needs nothing."""
    return Configuration(**{"name": name, "model": name, "profile": "default", "runner": "stand-in", **fields})


def scorer(metric: str = "correct", **fields: Any) -> Scorer:
    """Return a scorer of every case."""
    return Scorer(**{"name": metric, "type": "exact", "metric": metric, **fields})


def plan_of(
    cases: int | Sequence[PlanCase] = 3,
    *rules: Rule,
    repeats: int = 1,
    scorers: Sequence[Scorer] = (),
    configurations: Sequence[Configuration] = (),
    lines: Sequence[MatrixLine] = (),
    fold: str = "all",
    errors: str = "bound",
    evidence: Evidence | None = None,
    mark: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Plan:
    """Return a plan of so many cases under these rules."""
    there = tuple(case(n) for n in range(1, cases + 1)) if isinstance(cases, int) else tuple(cases)
    names = tuple(configurations) or (configuration(),)
    line = MatrixLine(configurations=tuple(item.name for item in names), repeats=repeats)
    return Plan(
        name="small",
        test_set=PlanTestSet(name="set", root=DIGEST, cases=there),
        configurations=names,
        scorers=tuple(scorers) or (scorer(),),
        matrix=tuple(lines) or (line,),
        verdict=Verdicts(case=fold),  # type: ignore[arg-type]
        pass_mark=PassMark(
            errors=errors,  # type: ignore[arg-type]
            evidence=evidence or Evidence(complete="0"),
            rules=rules,
            **(mark or {}),
        ),
        software="trialplate test",
        **fields,
    )


def at_least(threshold: str, of: str = "correct", **fields: Any) -> Rule:
    """Return a floor."""
    return Rule(**{"id": "floor", "at_least": threshold, "of": of, **fields})


def at_most(threshold: str, of: str = "correct", **fields: Any) -> Rule:
    """Return a ceiling."""
    return Rule(**{"id": "ceiling", "at_most": threshold, "of": of, **fields})


def must_pass(*ids: str, **fields: Any) -> Rule:
    """Return a rule about named cases, or about all."""
    return Rule(**{"id": "must", "must_pass": Selector(id=ids), **fields})


def ended(key: tuple[str, str, int], attempt: int = 1, outcome: str = "passed", **fields: Any) -> TrialEnd:
    """Return the end of an attempt, its verdict and metric following from the outcome unless they are given."""
    made: dict[str, Any] = {"trial": key, "attempt": attempt, "outcome": outcome}
    if outcome in ("passed", "failed"):
        made |= {"verdict": outcome, "metrics": {"correct": 1.0 if outcome == "passed" else 0.0}}
    elif outcome == "limit":
        made |= {"verdict": "failed", "cause": "truncated", "metrics": {"correct": 0.0}}
    elif outcome == "error":
        made["cause"] = "server_error"
    return TrialEnd(**{**made, **fields})


def play(board: Board, key: tuple[str, str, int], repeat: Repeat, metric: str = "correct") -> None:
    """Fold one trial into a board."""
    if repeat is None:
        return
    if repeat in ("skipped", "incompatible"):
        cause = "budget" if repeat == "skipped" else "incompatible"
        board.end(TrialEnd(trial=key, attempt=1, outcome="skipped", cause=cause))
        return
    board.start(TrialStart(trial=key, attempt=1))
    if repeat == "lost":
        return
    if isinstance(repeat, str):
        board.end(ended(key, outcome=repeat))
        return
    outcome = "passed" if repeat == 1 else "failed"
    board.end(ended(key, outcome=outcome, metrics={metric: float(repeat)}))


def board_of(rows: Sequence[Sequence[Repeat]], name: str = NAME, metric: str = "correct") -> Board:
    """Return a board with one row per case q1, q2, ... and one value per repeat."""
    board = Board()
    for number, row in enumerate(rows, start=1):
        for index, repeat in enumerate(row, start=1):
            play(board, (name, f"q{number}", index), repeat, metric)
    return board


def judged(
    rows: Sequence[Sequence[Repeat]],
    *rules: Rule,
    plan: Plan | None = None,
    selection: str = "full",
    finished: bool = True,
    given: Circumstances | None = None,
    **fields: Any,
) -> Evaluation:
    """Evaluate rules over rows of results; the plan has as many cases and repeats as the rows."""
    repeats = max((len(row) for row in rows), default=1) or 1
    made = plan or plan_of(len(rows), *rules, repeats=repeats, **fields)
    metric = made.scorers[0].metric
    return evaluate(
        made,
        narrow(made, None),
        NAME,
        board_of(rows, metric=metric),
        given or Circumstances(selection=selection, finished=finished),
    )


def matrix_of(plan: Plan) -> Matrix:
    """Return the whole matrix of a plan."""
    return narrow(plan, None)


def asked(identity: str = "q1", **fields: Any) -> Case:
    """Return a case as a scorer sees it."""
    return Case(**{"id": identity, "input": "What?", "references": ("yes",), **fields})
