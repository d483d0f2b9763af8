# SPDX-License-Identifier: Apache-2.0
"""Whatever mark a reader lets through, over whatever cells: it is worked out, and unknown cells bracket their completion.

Marks are drawn from the whole language, most of which make no sense and are refused; what is left must hold.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import COMMITMENT, DIGEST, board_of, configuration, plan_of, play, scorer

from trialplate.record import codec
from trialplate.record.matrix import Matrix, narrow
from trialplate.record.values import PassMark, Plan, PlanCase
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances, Former, Grades
from trialplate.rules.mark_shape import mark_problems
from trialplate.rules.outlook import outlooks
from trialplate.rules.passmark import evaluate_all, sealed
from trialplate.rules.shape import plan_problems
from trialplate.rules.stopping import ended

NAMES = ("a", "b", "old")
QUANTITIES = (
    *("correct", "trial_pass_rate", "case_pass_rate", "error_rate", "pass_at:1", "pass_at:2", "pass_hat:1"),
    *("pass_hat:2", "pass_hat:3", "share:wall_s:1", "share:cost:0.5", "p50:wall_s", "p95:tokens", "cost:total"),
    *("tokens:per_passed", "agreement:correct", "share:x", "nothing"),
)
SELECTORS: tuple[dict[str, Any], ...] = ({}, {}, {"tag": ["x"]}, {"id": ["q1", "q2"]}, {"id": ["nobody"]})
GRADES = Grades(
    equal=9,
    graded=10,
    pairs={"correct": [(1_000_000, 1_000_000, 9), (0, 1_000_000, 1)]},
    sensitivity=(6, 6),
    specificity=(3, 4),
)


def rules_of(random: Random, name: str, depth: int = 0) -> list[dict[str, Any]]:
    """Return a rule of any kind, and the alternatives below it."""
    kind = random.choice(["at_least", "at_least", "at_most", "must_pass", "not_worse_than", "no_regressions", "any_of"])
    made: dict[str, Any] = {"id": name}
    if kind == "any_of" and depth < 2:
        members = [rules_of(random, f"{name}.{number}", depth + 1) for number in range(random.randint(2, 3))]
        made["any_of"] = [member[0]["id"] for member in members]
        return [made, *(rule for member in members for rule in member)]
    if kind == "must_pass":
        return [made | {"must_pass": random.choice(SELECTORS), "require": random.choice(["all", "majority", "any"])}]
    if kind == "no_regressions":
        return [made | {"no_regressions": "baseline", "allow": random.choice([[], ["q1"]])}]
    made |= {"of": random.choice(QUANTITIES), "basis": random.choice(["bound", "estimate"])}
    made["where"], made["cases"] = random.choice(SELECTORS), random.choice([1, 1, 3])
    if random.random() < 0.3:
        made["each"] = random.choice(["tag", "kind", "suite", "configuration"])
    if kind == "not_worse_than":
        return [made | {"not_worse_than": random.choice([*NAMES, "baseline"]), "by": random.choice(["0", "0.5", "-1"])}]
    if random.random() < 0.2:
        made |= {"of": "correct", "basis": "bound", "correct_for_judge": "correct"}
    return [made | {"at_most" if kind == "at_most" else "at_least": random.choice(["0", "0.3", "0.9", "1", "7"])}]


def mark_of(random: Random, errors: tuple[str, ...]) -> PassMark:
    """Return any mark; a baseline is named where a rule is about one."""
    drawn = [rules_of(random, f"r{number}") for number in range(random.randint(1, 3))]
    rules, below = [there[0] for there in drawn], [rule for there in drawn for rule in there[1:]]
    mark: dict[str, Any] = {"rules": rules, "alternatives": below, "errors": random.choice(errors)}
    if any("baseline" in (rule.get("not_worse_than"), rule.get("no_regressions")) for rule in (*rules, *below)):
        run = "20260101T000000000Z-00000000"
        mark["baseline"] = {"run_id": run, "size": 1, "root": DIGEST, "test_set": DIGEST}
    mark["confidence"] = random.choice(["0.95", "0.500000000001", "0.999999999999"])
    mark["over"], mark["unit"] = random.choice(["cases", "this_set"]), random.choice(["case", "case", "meta.k"])
    if random.random() < 0.4:
        mark["choose"] = {"by": random.choice(["cheapest", "best", "fastest"]), "of": random.choice(QUANTITIES)}
        mark["choose"] |= {"within": random.choice(["0", "0.2", "3"]), "basis": random.choice(["bound", "estimate"])}
        mark["choose"]["best_among"] = random.choice(["all", "floors_met"])
    if random.random() < 0.3:
        mark["stop"] = {"mode": "sealed"}
    return codec.decode(PassMark, mark)


def plan_with(random: Random, mark: PassMark) -> Plan:
    """Return a plan of one to five cases, two candidates and a comparison, under a mark."""
    cases = [
        PlanCase(
            id=f"q{number}",
            tags=random.choice([(), ("x",), ("x", "y")]),
            commitment=COMMITMENT,
            asked=f"{number:043d}",
            unit=f"{number % 2:043d}" if mark.unit != "case" else None,
        )
        for number in range(1, random.randint(2, 6))
    ]
    roles = [configuration(name, role="comparison" if name == "old" else "candidate") for name in NAMES]
    judge = scorer(type="judge", helper="h")
    plan = plan_of(cases, repeats=random.randint(1, 3), configurations=roles, scorers=[judge])
    return plan.replace(helpers=(configuration("h"),), pass_mark=mark)


def cells_of(random: Random, matrix: Matrix, board: Board, repeats: tuple[Any, ...]) -> Board:
    """Return a board with every trial that has none yet played as one of these."""
    full = board_of([])
    full.cells = dict(board.cells)
    for key in matrix.trials():
        if key not in full.cells:
            play(full, key, random.choice(repeats))
    return full


@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_mark_that_is_let_through_is_worked_out(random: Random) -> None:
    """Nothing that a reader takes for a mark ends in an exception, whatever the cells hold."""
    plan = plan_with(random, mark_of(random, ("bound", "zero", "exclude")))
    if [*plan_problems(plan), *mark_problems(plan.pass_mark)]:
        return
    matrix = narrow(plan, None)
    played = (1, 1, 0, 0.5, "error", "limit", "lost", "skipped", "incompatible", None)
    board = cells_of(random, matrix, Board(), played)
    former = random.choice([None, Former(plan, matrix, cells_of(random, matrix, Board(), played))])
    given = Circumstances(
        attempts=dict.fromkeys(NAMES, random.choice([1, 3, 5000])),
        grades=random.choice([{}, {"correct": GRADES}, {"correct": GRADES.replace(open=1)}]),
        baseline=former,
        order=[case.id for case in matrix.cases],
    )
    for name in evaluate_all(plan, matrix, board, given):
        outlooks(plan, matrix, name, board, given)
    sealed(plan, matrix, board, given)
    ended(plan, matrix, board, given)


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_rule_that_is_decided_with_unknown_cells_is_decided_so_by_every_completion(random: Random) -> None:
    """And every bound lies within what was told before."""
    plan = plan_with(random, mark_of(random, ("bound",)))
    if [*plan_problems(plan), *mark_problems(plan.pass_mark)]:
        return
    matrix = narrow(plan, None)
    board = cells_of(random, matrix, Board(), (1, 1, 0, 0.5, None, None))
    former = Former(plan, matrix, cells_of(random, matrix, Board(), (1, 0, None)))
    given = Circumstances(grades={"correct": GRADES}, baseline=former, order=[case.id for case in matrix.cases])
    before = evaluate_all(plan, matrix, board, given)
    completions: tuple[tuple[Any, ...], ...] = ((1,), (0,), (1, 0, 0.5), (0.5,))
    for repeats in completions:
        after = evaluate_all(plan, matrix, cells_of(random, matrix, board, repeats), given)
        for name, told in before.items():
            for open_rule, rule in zip(told.rules, after[name].rules, strict=True):
                if open_rule.result != "inconclusive":
                    assert rule.result == open_rule.result, (open_rule, rule)
                if open_rule.lower is not None and rule.lower is not None:
                    assert float(open_rule.lower) <= float(rule.lower) + 2e-9
                    assert float(rule.upper or 0) <= float(open_rule.upper or 0) + 2e-9
