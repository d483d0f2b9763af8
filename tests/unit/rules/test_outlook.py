# SPDX-License-Identifier: Apache-2.0
"""What would turn a rule over bounds: by brute force, so many changes do, and no fewer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import NAME, Repeat, at_least, at_most, board_of, case, configuration, matrix_of, plan_of

from trialplate.record.values import Plan, Rule, Stop
from trialplate.rules.circumstances import Circumstances, Grades
from trialplate.rules.outlook import Outlook, outlooks
from trialplate.rules.passmark import evaluate

Rows = Sequence[Sequence[Repeat]]


def floor(threshold: str, **fields: Any) -> Rule:
    """Return a floor over a bound."""
    return at_least(threshold, **{"basis": "bound", **fields})


def look(plan: Plan, rows: Rows, *, beside: Rows = (), given: Circumstances | None = None) -> Outlook | None:
    """Return the outlook of the one rule of a plan."""
    board = board_of(rows)
    board.cells |= board_of(beside, name="n").cells
    return outlooks(plan, matrix_of(plan), NAME, board, given or Circumstances()).get(
        (plan.pass_mark.rules[0].id, None)
    )


def result_of(plan: Plan, rows: Rows, beside: Rows = ()) -> str:
    """Return what the one rule of a plan comes to."""
    board = board_of(rows)
    board.cells |= board_of(beside, name="n").cells
    return evaluate(plan, matrix_of(plan), NAME, board, Circumstances()).rules[0].result


def changed(rows: Rows, chosen: Sequence[int], value: float) -> Rows:
    """Return results in which every repeat of some cases has one value."""
    return [[value] * len(row) if index in chosen else row for index, row in enumerate(rows)]


def check(plan: Plan, rows: Rows, beside: Rows = ()) -> None:
    """Hold an outlook to brute force: some set of so many cases turns the result, and none of one less does."""
    found, now = look(plan, rows, beside=beside), result_of(plan, rows, beside)
    if found is None:
        assert now == "inconclusive"
        return
    rule = plan.pass_mark.rules[0]
    top, bottom = (1.0, 0.0) if rule.at_most is None else (0.0, 1.0)
    for least, value, wanted in ((found.to_pass, top, "pass"), (found.to_fail, bottom, "fail")):
        if now == wanted:
            assert least is None
            continue

        def turns(size: int, value: float = value, wanted: str = wanted) -> bool:
            words = (
                result_of(plan, changed(rows, chosen, value), beside) for chosen in combinations(range(len(rows)), size)
            )
            return any(word == wanted if now == "inconclusive" else word != now for word in words)

        if least is None:
            assert not any(turns(size) for size in range(1, len(rows) + 1))
        else:
            assert turns(least)
            assert not found.exact or least == 1 or not turns(least - 1)


_row = st.lists(st.sampled_from([0, 1, 1, 1]), min_size=2, max_size=2)
_bars = st.sampled_from(["0.1", "0.3", "0.5", "0.7", "0.8"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(_row, min_size=1, max_size=6),
    _bars,
    st.sampled_from(["correct", "trial_pass_rate", "case_pass_rate", "pass_hat:2"]),
    st.sampled_from([at_least, at_most]),
    st.sampled_from(["cases", "this_set"]),
    st.sampled_from(["0.6", "0.8", "0.95"]),
)
def test_margin_of_a_bound_is_the_fewest_cases_that_turn_it(
    rows: Rows, bar: str, of: str, make: Any, over: str, confidence: str
) -> None:
    """Whatever the quantity, the direction and what the bound speaks of."""
    plan = plan_of(len(rows), make(bar, of, basis="bound"), repeats=2, mark={"over": over, "confidence": confidence})
    check(plan, rows)


_open_row = st.lists(st.sampled_from([0, 1, 1, 1, "error", None]), min_size=2, max_size=2)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_open_row, min_size=1, max_size=6),
    _bars,
    st.sampled_from([at_least, at_most]),
    st.sampled_from(["bound", "zero", "exclude"]),
)
def test_margin_with_unknown_cells_is_as_true(rows: Rows, bar: str, make: Any, errors: str) -> None:
    """They stand at both extremes, also after a change; where they alone leave a rule open there is no margin."""
    if errors == "exclude":
        rows = [row for row in rows if None not in row and "error" not in row] or [[1, 1]]
    check(plan_of(len(rows), make(bar, basis="bound"), repeats=2, errors=errors, mark={"confidence": "0.7"}), rows)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 1]), st.sampled_from([0, 1, 1])), min_size=1, max_size=7),
    st.sampled_from(["-0.1", "0", "0.2", "0.4", "0.7"]),
    st.sampled_from(["0.6", "0.8", "0.95"]),
    st.sampled_from(["cases", "this_set"]),
)
def test_margin_of_a_comparison_is_the_fewest_cases_that_turn_it(
    pairs: list[tuple[int, int]], by: str, confidence: str, over: str
) -> None:
    """Paired case by case: the reference stays as it is."""
    rule = Rule(id="nw", not_worse_than="n", by=by, of="correct", basis="bound")
    there = [configuration(), configuration("n", role="comparison")]
    plan = plan_of(len(pairs), rule, configurations=there, mark={"confidence": confidence, "over": over})
    check(plan, [[own] for own, _ in pairs], [[other] for _, other in pairs])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0, 1, 1]), min_size=4, max_size=7), _bars)
def test_margin_of_clusters_turns_the_result(values: list[int], bar: str) -> None:
    """Cases of a cluster weigh together: so many turn it, and perhaps fewer, which is what is said."""
    cases = [case(n).replace(unit=str(n // 3).rjust(43, "u")) for n in range(1, len(values) + 1)]
    plan = plan_of(cases, floor(bar), mark={"unit": "meta.page", "confidence": "0.6"})
    check(plan, [[value] for value in values])


# --------------------------------------------------------------------------------------------------- what helps


def test_margin_of_ninety_six_of_a_hundred() -> None:
    """Four failures of 100 are the most that 0.9 allows (decisions.md 5.2); 26 passes fewer show that it fails."""
    plan = plan_of(100, floor("0.9"))
    assert look(plan, [[1]] * 96 + [[0]] * 4) == Outlook(to_fail=1, then="inconclusive")
    found = look(plan, [[1]] * 95 + [[0]] * 5)
    assert found is not None
    assert (found.to_pass, found.to_fail) == (1, 11)


@pytest.mark.parametrize(
    ("passed", "failed", "repeats", "bar"),
    [(95, 5, 1, "0.9"), (27, 1, 1, "0.85"), (19, 1, 2, "0.85"), (9, 1, 3, "0.7"), (185, 15, 1, "0.9")],
)
def test_so_many_more_cases_with_the_same_results_would_show_it(
    passed: int, failed: int, repeats: int, bar: str
) -> None:
    """Twice, three times the same results: the smallest multiple shows it, and the number told is no larger."""
    rows = [[1] * repeats] * passed + [[0] * repeats] * failed
    number = len(rows)
    plan = plan_of(number, floor(bar), repeats=repeats)
    found = look(plan, rows)
    assert found is not None
    assert found.more is not None

    def shown(times: int) -> bool:
        larger = plan_of(number * times, plan.pass_mark.rules[0], repeats=repeats)
        return result_of(larger, rows * times) == "pass"

    least = next(times for times in range(1, 50) if shown(times))
    assert (least - 2) * number < found.more <= (least - 1) * number


def test_no_number_of_cases_helps_a_mean_that_is_no_better_than_the_mark() -> None:
    """More of the same come ever nearer to the same mean."""
    for passed, failed in ((9, 1), (8, 2)):
        found = look(plan_of(10, floor("0.9")), [[1]] * passed + [[0]] * failed)
        assert found is not None
        assert (found.more, found.on_mark or found.needed is not None) == (None, True)
    found = look(plan_of(100, floor("0.9")), [[1]] * 90 + [[0]] * 10)
    assert found is not None
    assert (found.more, found.on_mark) == (None, True)


def test_what_a_perfect_run_would_take_is_told_where_none_could_show_it() -> None:
    """Ten cases never show 0.9; 29 perfect ones do."""
    found = look(plan_of(10, floor("0.9")), [[1]] * 10)
    assert found == Outlook(needed=29, to_fail=4)
    mirrored = look(plan_of(10, at_most("0.1", basis="bound")), [[0]] * 10)
    assert mirrored is not None
    assert mirrored.needed == 29


def test_over_this_set_it_is_trials_that_help() -> None:
    """More of the same cases' trials, since no other case is spoken of."""
    plan = plan_of(10, floor("0.8"), repeats=3, mark={"over": "this_set"})
    found = look(plan, [[1, 1, 1]] * 9 + [[0, 0, 0]])
    assert found is not None
    assert (found.more_of, found.more is not None and found.more > 0) == ("trial", True)


# ---------------------------------------------------------------------------------------------- what has which


def test_an_estimate_says_what_its_cases_show() -> None:
    """By the bound of the same cases, at the mark's confidence and undivided."""
    there = [configuration(), configuration("n")]
    rows: Rows = [[1]] * 45 + [[0]] * 5
    estimate = look(plan_of(50, at_least("0.75"), configurations=there), rows)
    assert estimate is not None
    assert estimate.shows is not None
    assert [round(end, 9) for end in estimate.shows] == [0.801166997, 0.959763410]


def test_copies_and_alternatives_have_their_own() -> None:
    """Each tag; each candidate; each alternative, at its part of the error."""
    cases = [case(n, "a" if n <= 30 else "b") for n in range(1, 46)]
    plan = plan_of(cases, floor("0.9", each="tag"))
    board = board_of([[1]] * 45)
    assert outlooks(plan, matrix_of(plan), NAME, board, Circumstances()) == {
        ("floor", "a"): Outlook(to_fail=1, then="inconclusive"),
        ("floor", "b"): Outlook(needed=29, to_fail=outlook_of_b()),
    }
    options = (floor("0.8", id="a"), floor("0.7", id="b", basis="estimate"))
    plan = plan_of(30, Rule(id="e", any_of=("a", "b")), mark={"alternatives": options})
    found = outlooks(plan, matrix_of(plan), NAME, board_of([[1]] * 30), Circumstances())
    assert found[("e", "a")].to_fail == 2
    assert found[("e", "b")].shows is not None


def outlook_of_b() -> int | None:
    """Return what fails fifteen cases alone."""
    found = look(plan_of(15, floor("0.9")), [[1]] * 15)
    return None if found is None else found.to_fail


def test_a_judge_is_turned_by_answers_on_which_it_agrees_or_not() -> None:
    """48 of 50 show 0.879: one less shows 0.85 no more than 0.862, ..."""
    plan = plan_of(5, floor("0.85", of="agreement:correct"))
    for equal in range(30, 51):
        given = Circumstances(grades={"correct": Grades(equal=equal, graded=50)})
        found = look(plan, [[1]] * 5, given=given)
        assert found is not None

        def word(number: int) -> str:
            given = Circumstances(grades={"correct": Grades(equal=number, graded=50)})
            return evaluate(plan, matrix_of(plan), NAME, board_of([[1]] * 5), given).rules[0].result

        if word(equal) == "pass":
            assert word(equal - (found.to_fail or 0)) != "pass" == word(equal - (found.to_fail or 0) + 1)
        elif found.to_pass is not None:
            assert word(equal + found.to_pass) != word(equal) == word(equal + found.to_pass - 1)


def test_what_has_no_margin_has_none() -> None:
    """Rules on single cases, percentiles, what a stop rule decides, a selection that was not asked."""
    stop = Stop(mode="counts", rule="floor", accept=(-1, -1, 0), reject=(1, 2, 2))
    assert look(plan_of(3, floor("0.5"), mark={"stop": stop}), [[1]] * 3) is None
    assert look(plan_of(3, at_most("5", of="p95:wall_s")), [[1]] * 3) is None
    assert look(plan_of(3, floor("0.5", cases=4)), [[1]] * 3) is None
    assert look(plan_of(3, Rule(id="nw", not_worse_than="m", by="0", of="correct", basis="bound")), [[1]] * 3) is None
