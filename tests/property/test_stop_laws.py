# SPDX-License-Identifier: Apache-2.0
"""Stopping early: the same answers with and without it decide the same, and how much of a run it saves."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import NAME, Repeat, at_least, at_most, board_of, configuration, matrix_of, must_pass, plan_of, play

from trialplate.record.matrix import stop_order
from trialplate.record.values import Choose, Plan, Rule, Stop
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import Evaluation, evaluate, evaluate_all
from trialplate.rules.stopping import ended, left_out

SEED = "sha256:" + "5" * 64
SEALED = {"stop": Stop(mode="sealed")}
Answers = Mapping[tuple[str, str, int], Repeat]

RULES: dict[str, tuple[Rule, ...]] = {
    "estimate": (at_least("0.7"),),
    "bound": (at_least("0.6", basis="bound"),),
    "two": (at_least("0.5"), at_most("0.2", of="error_rate")),
    "window": (at_least("0.3"), at_most("0.6")),
    "cases": (at_least("0.5", of="case_pass_rate"), must_pass("q1", "q2")),
    "trials": (at_least("0.8", of="trial_pass_rate", basis="bound"),),
    "against": (Rule(id="r", not_worse_than="b", by="0.2", of="correct"), at_least("0.2")),
    "alike": (at_least("0.5", each="configuration"),),
}


def run(plan: Plan, answers: Answers, every: int = 1) -> tuple[Board, dict[str, int]]:
    """Play a run as the engine does, looking after each `every` cases; return its cells and what it left out."""
    matrix, board = matrix_of(plan), Board()
    order = stop_order(SEED, matrix.cases)
    around = Circumstances(order=order)
    over: frozenset[str] = frozenset()
    for number, case in enumerate(order, 1):
        for name in matrix.counts:
            for repeat in range(1, matrix.repeats(name) + 1):
                if name not in over:
                    play(board, (name, case, repeat), answers[name, case, repeat])
        if number % every == 0:
            over |= ended(plan, matrix, board, around)
    told = {name: left_out(matrix, order, board, name) for name in matrix.counts}
    return board, {name: item.trials for name, item in told.items() if item is not None}


def decisions(plan: Plan, board: Board, not_needed: Mapping[str, int]) -> Mapping[str, Evaluation]:
    """Return what a run comes to."""
    matrix = matrix_of(plan)
    around = Circumstances(order=stop_order(SEED, matrix.cases), not_needed=not_needed)
    return evaluate_all(plan, matrix, board, around)


def with_and_without(plan: Plan, answers: Answers, every: int) -> None:
    """Assert that the plan decides the same about these answers whether it stops or not."""
    whole = Board()
    for key, answer in answers.items():
        play(whole, key, answer)
    board, not_needed = run(plan, answers, every)
    full, short = decisions(plan, whole, {}), decisions(plan, board, not_needed)
    for name, item in full.items():
        assert short[name].decision == item.decision, (name, item.reasons, short[name].reasons, not_needed)


ANSWER: st.SearchStrategy[Repeat] = st.sampled_from([1.0, 1.0, 1.0, 0.0, 0.0, "error", "limit"])


@settings(max_examples=150)
@given(st.data())
def test_stopping_never_changes_a_decision(data: st.DataObject) -> None:
    """Whatever the rules and the answers, however often it is looked, and where trials end in errors."""
    rules = RULES[data.draw(st.sampled_from(sorted(RULES)))]
    errors = data.draw(st.sampled_from(["bound", "zero", "exclude"]))
    fold = data.draw(st.sampled_from(["all", "majority", "any"]))
    cases, repeats = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 3))
    both = [configuration("a"), configuration("b")]
    plan = plan_of(cases, *rules, repeats=repeats, configurations=both, fold=fold, errors=errors, mark=SEALED)
    keys = list(matrix_of(plan).trials())
    answers = dict(zip(keys, data.draw(st.lists(ANSWER, min_size=len(keys), max_size=len(keys))), strict=True))
    with_and_without(plan, answers, data.draw(st.integers(1, 3)))


@settings(max_examples=60)
@given(st.data())
def test_stopping_never_changes_a_choice(data: st.DataObject) -> None:
    """Where one is chosen by how far it is from the best, all end together, or go on together."""
    choose = Choose(by="best", of="correct", within=data.draw(st.sampled_from(["0", "0.1", "0.3"])))
    three = [configuration(name) for name in "abc"]
    plan = plan_of(8, at_least("0.4"), configurations=three, mark={**SEALED, "choose": choose})
    keys = list(matrix_of(plan).trials())
    answers = dict(zip(keys, data.draw(st.lists(ANSWER, min_size=len(keys), max_size=len(keys))), strict=True))
    with_and_without(plan, answers, 1)
    _, not_needed = run(plan, answers)
    assert len(set(not_needed.values())) <= 1


def test_choice_that_is_settled_ends_all_of_them() -> None:
    """A rival that cannot catch up any more, and two that are accepted or rejected for certain, need no further case."""
    choose = Choose(by="best", of="correct", within="0.1")
    plan = plan_of(
        20, at_least("0.3"), configurations=[configuration("a"), configuration("b")], mark={**SEALED, "choose": choose}
    )
    answers = {key: float(key[0] == "a") for key in matrix_of(plan).trials()}
    with_and_without(plan, answers, 1)
    board, not_needed = run(plan, answers)
    assert not_needed["a"] == not_needed["b"] > 0
    choice = decisions(plan, board, not_needed)["a"].choice
    assert choice is not None
    assert choice.chosen == "a"


def test_boundaries_decide_the_same_on_a_whole_run() -> None:
    """Under counts the first boundary decides, whether the cases after it were asked or not."""
    stop = Stop(mode="counts", rule="floor", accept=(-1,) * 5 + (0, 0, 0, 1, 1), reject=(2,) * 10)
    plan = plan_of(10, at_least("0.9"), mark={"stop": stop})
    drawn = random.Random(3)
    used = []
    for _ in range(200):
        answers = {key: float(drawn.random() < 0.85) for key in matrix_of(plan).trials()}
        with_and_without(plan, answers, 1)
        used.append(len(run(plan, answers)[0].cells))
    assert min(used) == 2
    assert max(used) > 6


# ------------------------------------------------------------------------------------------------- what it saves

PLAN = plan_of(100, at_least("0.90", basis="bound"), mark=SEALED)


@cache
def settled(failures: int, cases: int) -> tuple[bool, bool]:
    """Return whether a run of 100 cases needs no further one, and whether it may still be accepted and refused."""
    matrix = matrix_of(PLAN)
    board = board_of([[0.0]] * failures + [[1.0]] * (cases - failures))
    good = board_of([[0.0]] * failures + [[1.0]] * (100 - failures))
    bad = board_of([[0.0]] * (failures + 100 - cases) + [[1.0]] * (cases - failures))
    words = {evaluate(PLAN, matrix, NAME, item, Circumstances()).decision == "accepted" for item in (good, bad)}
    return NAME in ended(PLAN, matrix, board, Circumstances()), len(words) == 1


def shares(quality: float, runs: int = 400) -> tuple[float, float]:
    """Return the share of trials run until the decision is settled, and until it is settled whether it accepts."""
    drawn = random.Random(7)
    until = [0, 0]
    for _ in range(runs):
        failures, waiting = 0, {0, 1}
        for number in range(1, 101):
            failures += drawn.random() >= quality
            for which in tuple(waiting):
                if settled(failures, number)[which]:
                    waiting.discard(which)
                    until[which] += number
            if not waiting:
                break
    return until[0] / runs / 100, until[1] / runs / 100


@pytest.mark.parametrize(
    ("quality", "decided", "accepted_or_not"),
    [(0.80, 0.78, 0.25), (0.90, 0.95, 0.50), (0.95, 0.95, 0.82), (0.99, 0.97, 0.97)],
)
def test_shares_of_a_hundred_cases_that_are_asked(quality: float, decided: float, accepted_or_not: float) -> None:
    """reference/decisions.md 5.2 counts until it is settled whether a run is accepted.

    Telling rejected from inconclusive takes longer, and a run goes on for it: a rejected attempt counts for ever, an
    inconclusive one does not.
    """
    found = shares(quality)
    assert found[0] == pytest.approx(decided, abs=0.02)
    assert found[1] == pytest.approx(accepted_or_not, abs=0.02)
