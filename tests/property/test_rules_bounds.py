# SPDX-License-Identifier: Apache-2.0
"""Laws of the decision: unknown cells bracket every completion, order is nothing, a better answer never hurts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import (
    COMMITMENT,
    DIGEST,
    NAME,
    Repeat,
    asked,
    at_least,
    at_most,
    board_of,
    configuration,
    must_pass,
    plan_of,
)

from trialplate.engine.before import Before
from trialplate.engine.consultation import Helpers
from trialplate.engine.journal import Journal
from trialplate.engine.seats import Seat, Seats
from trialplate.engine.tally import Tally
from trialplate.engine.trial import TrialRunner
from trialplate.record import codec
from trialplate.record.entries import Call, TrialEnd, TrialKey, TrialStart
from trialplate.record.matrix import narrow
from trialplate.record.values import Json, MatrixLine, Plan, Retry, Rule, Selector
from trialplate.rules.cells import MICRO, Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import Evaluation, evaluate
from trialplate.runners.base import Answer, Failure, Request
from trialplate.scorers.text_match import make_exact
from trialplate.transport.secrets import Secrets

UNKNOWN = ("error", "lost", "skipped", None)
THRESHOLDS = ("0", "0.25", "0.333333", "0.5", "0.75", "0.9", "1")
QUANTITIES = ("correct", "trial_pass_rate", "case_pass_rate")
FOLDS = ("all", "majority", "any")

values = st.sampled_from([0, 1, 0.5, 0.333333, *UNKNOWN])
binary = st.sampled_from([0, 1, *UNKNOWN])


def rows_of(cell: st.SearchStrategy[Repeat], most: int = 4) -> st.SearchStrategy[list[list[Repeat]]]:
    """Return cases of equally many repeats."""
    return st.integers(1, 3).flatmap(
        lambda repeats: st.lists(st.lists(cell, min_size=repeats, max_size=repeats), min_size=1, max_size=most)
    )


rules = st.one_of(
    st.builds(at_least, st.sampled_from(THRESHOLDS), st.sampled_from(QUANTITIES)),
    st.builds(at_most, st.sampled_from(THRESHOLDS), st.sampled_from(QUANTITIES)),
    st.sampled_from([must_pass(), must_pass("q1"), must_pass(require="majority"), must_pass(require="any")]),
)


def plan_for(rows: list[list[Repeat]], rule: Rule, fold: str, errors: str = "bound") -> Plan:
    """Return the plan of these rows under one rule."""
    return plan_of(len(rows), rule, repeats=len(rows[0]), fold=fold, errors=errors)


def decided(plan: Plan, board: Board) -> Evaluation:
    """Evaluate a complete full run."""
    return evaluate(plan, narrow(plan, None), NAME, board, Circumstances())


def completions(rows: list[list[Repeat]]) -> list[list[list[Repeat]]]:
    """Return every way in which the unknown cells could have come out, as 0 or 1."""
    places = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell in UNKNOWN]
    found = []
    for choice in product((0, 1), repeat=min(len(places), 6)):
        made = [list(row) for row in rows]
        for (i, j), value in zip(places, [*choice, *([0] * len(places))], strict=False):
            made[i][j] = value
        found.append(made)
    return found


@settings(max_examples=150)
@given(rows_of(binary), rules, st.sampled_from(FOLDS))
def test_bound_decided_rule_holds_in_every_completion(rows: list[list[Repeat]], rule: Rule, fold: str) -> None:
    """A pass stays a pass and a fail a fail however the unknown cells would have come out; the span holds all values."""
    plan = plan_for(rows, rule, fold)
    (open_result,) = decided(plan, board_of(rows)).rules
    seen = set()
    for rows_then in completions(rows):
        (then,) = decided(plan, board_of(rows_then)).rules
        seen.add(then.result)
        if open_result.low is not None:
            assert Fraction(open_result.low) <= Fraction(then.low or "") <= Fraction(open_result.high or "")
    if open_result.result != "inconclusive":
        assert seen == {open_result.result}
    else:
        assert open_result.unknown > 0


@settings(max_examples=150)
@given(rows_of(binary, most=3), rules, st.sampled_from(FOLDS))
def test_bound_open_rule_is_open_because_two_completions_differ(
    rows: list[list[Repeat]], rule: Rule, fold: str
) -> None:
    """Nothing is left open that every completion would decide alike."""
    gaps = sum(cell in UNKNOWN for row in rows for cell in row)
    plan = plan_for(rows, rule, fold)
    (open_result,) = decided(plan, board_of(rows)).rules
    if open_result.result == "inconclusive" and gaps <= 6:
        assert len({decided(plan, board_of(then)).rules[0].result for then in completions(rows)}) == 2


@settings(max_examples=100)
@given(rows_of(values), rules, st.sampled_from(FOLDS), st.sampled_from(["bound", "zero", "exclude"]), st.randoms())
def test_decision_in_any_order_of_the_trials_is_the_same(
    rows: list[list[Repeat]], rule: Rule, fold: str, errors: str, shuffle: random.Random
) -> None:
    """The record's order of trials is nothing to the decision, to the last fraction."""
    plan = plan_for(rows, rule, fold, errors)
    board = board_of(rows)
    mixed = Board()
    keys = list(board.cells)
    shuffle.shuffle(keys)
    mixed.cells = {key: board.cells[key] for key in keys}
    assert decided(plan, mixed) == decided(plan, board)


@settings(max_examples=150)
@given(rows_of(binary), rules.filter(lambda rule: rule.at_most is None), st.sampled_from(FOLDS), st.data())
def test_better_answer_never_turns_accepted_into_worse(
    rows: list[list[Repeat]], rule: Rule, fold: str, data: Any
) -> None:
    """A failed or unknown cell that passes instead never lowers the decision, for rules that ask for more."""
    ranks = {"rejected": 0, "inconclusive": 1, "accepted": 2}
    errors = data.draw(st.sampled_from(["bound", "zero"]))
    plan = plan_for(rows, rule, fold, errors)
    before = decided(plan, board_of(rows)).decision
    i = data.draw(st.integers(0, len(rows) - 1))
    j = data.draw(st.integers(0, len(rows[0]) - 1))
    rows[i][j] = 1
    assert ranks[decided(plan, board_of(rows)).decision] >= ranks[before]


@settings(max_examples=150)
@given(
    st.lists(st.lists(st.integers(0, MICRO), min_size=1, max_size=4), min_size=1, max_size=6),
    st.integers(0, MICRO).map(lambda n: f"{n // MICRO}.{n % MICRO:06d}"),
)
def test_estimate_equals_fraction_arithmetic(rows: list[list[int]], threshold: str) -> None:
    """A mean of case means is the plain sum of fractions, compared with the fraction of the text."""
    lines = [
        MatrixLine(configurations=(NAME,), cases=Selector(id=(f"q{n}",)), repeats=len(row))
        for n, row in enumerate(rows, start=1)
    ]
    plan = plan_of(len(rows), at_least(threshold), lines=lines)
    board = board_of([[float(f"0.{n:06d}") if n < MICRO else 1.0 for n in row] for row in rows])
    (result,) = decided(plan, board).rules
    mean = sum((Fraction(sum(row), len(row) * MICRO) for row in rows), Fraction(0)) / len(rows)
    assert result.low == result.high == f"{mean.numerator}/{mean.denominator}"
    assert result.result == ("pass" if mean >= Fraction(threshold) else "fail")


# ------------------------------------------------------------------------------------------- two counts of one run

_CONFIGURATION = configuration(retry=Retry(max_retries=2, initial_delay_ms=0))
_PLAN = plan_of(3, repeats=2, configurations=[_CONFIGURATION])
_KEYS = list(narrow(_PLAN, None).trials())
_STEPS = st.sampled_from(
    ["right", "wrong", "cut", "refused", "refused late", "bad", "timeout", "stop", "stop waiting", "left out"]
)


class _Scripted:
    """A far end that does what its script says, step by step over all attempts of a trial."""

    def __init__(self, steps: list[str], replayed: bool) -> None:
        self.steps, self.replayed = steps, replayed

    async def answer(self, request: Request, tools: Sequence[Json] = ()) -> Answer:
        step = self.steps[min(request.attempt, len(self.steps)) - 1]
        calls = (Call(digest=DIGEST, replayed=self.replayed),)
        if step in ("right", "wrong", "cut"):
            finish = "length" if step == "cut" else "stop"
            return Answer(text="yes" if step == "right" else "no", received=3, finish=finish, calls=calls)
        this = asyncio.current_task()
        assert this is not None
        if step == "stop":
            this.cancel()
            await asyncio.sleep(0)
        if step == "timeout":
            raise Failure("timeout", "too slow", sent=True, calls=calls)
        if step == "bad":
            raise Failure("bad_reply", "no answer in it", sent=True, received=9, calls=calls)
        raise Failure("transport", "broke off", sent=True, received=7 * (step == "refused late"), calls=calls)

    async def close(self) -> None:
        """Nothing is held."""


async def _run(trials: list[tuple[list[str], bool] | None]) -> tuple[Tally, list[tuple[str, Json]]]:
    """Run each trial that has a script through the engine; return its tally and the lines it wrote."""
    lines: list[tuple[str, Json]] = []
    tally = Tally(len(_KEYS))
    made = make_exact(_PLAN.scorers[0], {})
    for key, script in zip(_KEYS, trials, strict=True):
        if script is None:
            continue
        seat = Seat(_CONFIGURATION, _Scripted(*script), {}, {})
        journal = Journal(lambda kind, body: lines.append((kind, body)), lambda openings: [COMMITMENT] * len(openings))
        cases = {f"q{n}": asked(f"q{n}") for n in (1, 2, 3)}
        scorers = {name: [(_PLAN.scorers[0], made)] for name in cases}
        seats = Seats({NAME: seat}, scorers, Helpers({}, {}, lambda text: text), Secrets(), [])
        runner = TrialRunner(seats, cases, journal, tally, Before(), lambda digest: b"")
        await asyncio.gather(asyncio.create_task(_attempts(runner, key, script[0])), return_exceptions=True)
    return tally, lines


async def _attempts(runner: TrialRunner, key: TrialKey, steps: list[str]) -> None:
    """Do with one trial what a schedule may do."""
    trial = runner.open(key)
    while True:
        step = steps[min(trial.number, len(steps)) - 1]
        if step == "left out":
            runner.skip(trial)
            return
        if (await runner.attempt(trial)).delay_s is None:
            return
        if step == "stop waiting":
            runner.abandon(trial)
            return


@settings(max_examples=100)
@given(
    st.lists(
        st.none() | st.tuples(st.lists(_STEPS, min_size=1, max_size=3), st.booleans()),
        min_size=len(_KEYS),
        max_size=len(_KEYS),
    )
)
def test_counts_of_the_engine_and_of_the_verifier_agree(trials: list[tuple[list[str], bool] | None]) -> None:
    """What the engine tallies while it runs is what the verifier recounts from its lines, whatever became of a trial."""
    tally, lines = asyncio.run(_run(trials))
    board, matrix = Board(), narrow(_PLAN, None)
    for kind, body in lines:
        wrong = (
            board.start(codec.decode(TrialStart, body))
            if kind == "trial.start"
            else board.end(codec.decode(TrialEnd, body))
        )
        assert wrong is None
    assert board.counts(matrix) == tally.counts()
    assert not any(cell.running for cell in board.cells.values())
