# SPDX-License-Identifier: Apache-2.0
"""`choose`: the cheapest, best or fastest of those that pass, within a distance of a reference, whatever is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from contests import Entrant, by_rates, choice_of, choosing, compete
from small_runs import Repeat, at_least

from trialplate.record.values import Evidence, Pricing

VECTORS = Path(__file__).parents[2] / "vectors"
FLOOR = at_least("0.95", of="grounded", id="grounded")


def words(results: Any) -> dict[str, str]:
    """Return each configuration's decision."""
    return {name: item.decision for name, item in results.items()}


# ----------------------------------------------------------------------------------------------- the decision vectors


def v1(**changes: Any) -> list[Entrant]:
    """Return the four configurations of vector V1, some of them changed."""
    made = {
        "a": Entrant("a", by_rates([".90", ".91", ".92"]), by_rates([".97", ".98", ".97"]), "2"),
        "b": Entrant("b", by_rates([".88"] * 3), by_rates([".95"] * 3), "0.5"),
        "c": Entrant("c", by_rates([".87", ".88", ".87"]), by_rates([".99"] * 3), "0.1"),
        "d": Entrant("d", by_rates([".90"] * 3), by_rates([".94", ".95", ".95"]), "0.05"),
    }
    for name, fields in changes.items():
        made[name] = Entrant(**{**made[name].__dict__, **fields})
    return list(made.values())


def outage(rows: list[list[Repeat]]) -> list[list[Repeat]]:
    """Return rows in which four passes of each repeat were lost to the infrastructure."""
    return [["error"] * len(row) if index < 4 else list(row) for index, row in enumerate(rows)]


def test_v1_cheapest_within_three_points_of_the_best_over_a_floor() -> None:
    """V1: A and B are eligible, B exactly on the bar and on the floor; C is below the bar, D below the floor."""
    results = compete(v1(), FLOOR)
    assert words(results) == {"a": "accepted", "b": "accepted", "c": "rejected", "d": "rejected"}
    assert choice_of(results).chosen == "b"
    assert results["c"].reasons == ("within",)
    assert results["d"].reasons == ("grounded",)
    assert results["b"].choice.within.low == "-3/100"
    assert results["c"].choice.within.low == "-11/300"


def test_v2_outage_of_the_best_leaves_the_choice_open() -> None:
    """V2: A may be 0.87 to 0.91; C, which is cheaper than B, may be within after all."""
    a = v1()[0]
    results = compete(v1(a={"correct": outage(a.correct)}), FLOOR)
    assert words(results) == {"a": "inconclusive", "b": "accepted", "c": "inconclusive", "d": "rejected"}
    choice = choice_of(results)
    assert (choice.result, choice.reason, choice.possible) == ("open", "eligibility_open", ("b", "c"))
    low_and_high = [(item.low, item.high) for item in choice.contenders if item.configuration == "a"]
    assert low_and_high == [("87/100", "91/100")]


@pytest.mark.parametrize("errors", ["zero", "exclude"])
def test_v2_zero_outage_of_the_best_never_buys_a_pass(errors: str) -> None:
    """V2-zero: with every unknown at zero the best would fall to 0.90 and C would win; a rival is always bounded."""
    a = v1()[0]
    results = compete(v1(a={"correct": outage(a.correct)}), FLOOR, errors=errors)
    assert results["c"].decision == "inconclusive"
    assert choice_of(results).result == "open"


def test_v3_unknown_cost_of_an_eligible_one_leaves_the_choice_open() -> None:
    """V3: A and B are eligible, B's cost is unknown: nobody is chosen, and a gate on A alone still passes."""
    results = compete(v1(b={"cost": None}), FLOOR)
    assert words(results)["a"] == words(results)["b"] == "accepted"
    choice = choice_of(results)
    assert (choice.result, choice.reason, choice.chosen) == ("open", "unknown_cost", None)
    strict = compete(v1(b={"cost": None}), FLOOR, mark={"require": "chosen"})
    assert (strict["a"].decision, strict["a"].reasons) == ("inconclusive", ("choice_open",))


def test_v4_equal_costs_go_to_the_higher_score() -> None:
    """V4: A and B both cost 1."""
    assert choice_of(compete(v1(a={"cost": "1"}, b={"cost": "1"}), FLOOR)).chosen == "a"


def test_v5_exactly_three_points_below_is_within() -> None:
    """V5: 0.01 is exactly three points below 0.04, where binary floats say it is not."""
    assert not 0.01 >= 0.04 - 0.03
    rows = [Entrant("x", by_rates(["0.04"])), Entrant("y", by_rates(["0.01"]), cost="0.5")]
    results = compete(rows, at_least("0"))
    assert words(results) == {"x": "accepted", "y": "accepted"}
    assert choice_of(results).chosen == "y"


def test_v6_one_repeat_where_three_are_wanted_is_inconclusive() -> None:
    """V6: evidence that is not there decides nothing, and chooses nobody."""
    rows = [Entrant("x", by_rates(["0.9"])), Entrant("y", by_rates(["0.9"]))]
    results = compete(rows, at_least("0.5"), evidence=Evidence(repeats=3))
    assert words(results) == {"x": "inconclusive", "y": "inconclusive"}
    assert choice_of(results).result == "open"


@pytest.mark.parametrize("within", ["0.03", None])
def test_v7_who_is_spared_a_case_is_not_comparable(within: str | None) -> None:
    """V7: a configuration that is not asked one case is out of the best and of the choice, and its gate is not 0."""
    spared: list[list[Repeat]] = [[1]] * 9 + [[]]
    rows = [Entrant("x", spared, cost="0.1"), Entrant("y", [[1]] * 8 + [[0]] * 2)]
    results = compete(rows, at_least("0.5", where=_first(9)), choose=choosing(within=within))
    assert words(results) == {"x": "inconclusive", "y": "accepted"}
    assert results["x"].reasons == ("within",)
    assert results["x"].choice.within.reason == "coverage_differs"
    choice = choice_of(results)
    assert choice.chosen == "y"
    assert [item.comparable for item in choice.contenders] == [False, True]


def _first(number: int) -> Any:
    from trialplate.record.values import Selector

    return Selector(id=tuple(f"q{n}" for n in range(1, number + 1)))


_SHARED = json.loads((VECTORS / "decisions" / "decision_vectors.json").read_text(encoding="utf-8"))["vectors"]


@pytest.mark.parametrize("vector", [pytest.param(v, id=v["id"]) for v in _SHARED if v["group"] == "select"])
def test_select_shared_vector_holds(vector: dict[str, Any]) -> None:
    """Cheapest within so many points of the best, with floors, ties, unknown costs and unknown metrics."""
    given = vector["inputs"]
    rows = [
        Entrant(
            item["id"],
            [[round(item["correct"], 6)]],
            [[item["grounded"]]],
            None if item["cost"] is None else str(item["cost"]),
        )
        for item in given["models"]
    ]
    floors = [at_least(str(floor), of=metric, id=metric) for metric, floor in given["floors"].items()]
    choose = choosing(given["choose"], within=str(given["tolerance_points"] / 100))
    choice = choice_of(compete(rows, *floors, choose=choose))
    decision = {"chosen": "accepted", "none": "rejected", "open": "inconclusive"}[choice.result]
    assert {"chosen": choice.chosen, "decision": decision} == vector["expected"]


# ---------------------------------------------------------------------------------------------------- the reference


def test_rival_that_breaks_a_floor_counts_toward_the_best_unless_the_mark_says_otherwise() -> None:
    """T18: nobody lowers the bar by adding a floor, unless `best_among: floors_met` was committed."""
    rows = [
        Entrant("best", by_rates([".95"]), by_rates([".5"])),
        Entrant("mine", by_rates([".90"]), by_rates(["1"])),
    ]
    assert words(compete(rows, FLOOR))["mine"] == "rejected"
    floors_met = choosing(best_among="floors_met")
    assert words(compete(rows, FLOOR, choose=floors_met)) == {"best": "rejected", "mine": "accepted"}


def test_rival_whose_floors_are_open_stands_in_the_way() -> None:
    """Under `floors_met` a rival that may meet them may be the best one: neither in nor out."""
    unclear: list[list[Repeat]] = [[None]] * 10 + [[1]] * 90
    rows = [Entrant("best", by_rates([".95"]), unclear), Entrant("mine", by_rates([".90"]), by_rates(["1"]))]
    results = compete(rows, FLOOR, choose=choosing(best_among="floors_met"))
    assert words(results) == {"best": "inconclusive", "mine": "inconclusive"}


def test_comparison_counts_toward_the_best_and_is_never_chosen() -> None:
    """A model with role: comparison sets the bar; it is no candidate, however good and cheap it is."""
    rows = [
        Entrant("old", by_rates(["1"]), cost="0.1", fields={"role": "comparison"}),
        Entrant("near", by_rates([".98"])),
        Entrant("far", by_rates([".9"]), cost="0.5"),
    ]
    results = compete(rows, at_least("0.5"))
    assert (words(results)["near"], words(results)["far"]) == ("accepted", "rejected")
    choice = choice_of(results)
    assert choice.chosen == "near"
    assert [item.eligible for item in choice.contenders] == [None, "pass", "fail"]


def test_one_model_alone_is_its_own_best_and_that_is_said() -> None:
    """T25: without a rival the distance says nothing; the model is chosen if it meets the rules."""
    results = compete([Entrant("only", by_rates([".9"]))], at_least("0.5"))
    assert results["only"].choice.within.reason == "no_rival"
    assert choice_of(results).chosen == "only"


def test_none_eligible_chooses_none() -> None:
    """T26: rejected all; with one that may still pass the choice is open."""
    rows = [Entrant("x", by_rates([".4"])), Entrant("y", by_rates([".4"]))]
    choice = choice_of(compete(rows, at_least("0.5")))
    assert (choice.result, choice.reason, choice.chosen) == ("none", "none_eligible", None)
    maybe = [Entrant("x", [["error"], *by_rates([".5"], 3)]), Entrant("y", by_rates([".25"], 4))]
    assert choice_of(compete(maybe, at_least("0.5"))).result == "open"


def test_named_reference_is_the_only_rival() -> None:
    """Against a name, a better third one does not matter; the reference itself is within."""
    rows = [Entrant("top", by_rates(["1"])), Entrant("ref", by_rates([".9"])), Entrant("mine", by_rates([".88"]))]
    results = compete(rows, at_least("0.5"), choose=choosing(against="ref"))
    assert words(results) == dict.fromkeys(("top", "ref", "mine"), "accepted")
    assert [results[name].choice.within.low for name in ("top", "ref", "mine")] == ["1/10", None, "-1/50"]
    assert results["ref"].choice.within.reason == "no_rival"


def test_named_reference_with_an_outage_leaves_it_open() -> None:
    """Lost answers of the reference count against whoever is compared with it."""
    rows = [Entrant("ref", outage(by_rates([".9"]))), Entrant("mine", by_rates([".86"]))]
    results = compete(rows, at_least("0.5"), choose=choosing(against="ref", within="0.01"))
    assert results["mine"].choice.within.result == "inconclusive"
    assert results["mine"].choice.within.high == "0/1"


@pytest.mark.parametrize("cause", ["timeout", "rejected_request"])
def test_bad_setting_of_a_rival_does_not_lower_the_bar(cause: str) -> None:
    """A rival's timeouts and rejected requests are its own failures at its gate, and unknown where it is a rival."""
    causes = {(case, 0): cause for case in range(90, 100)}
    rows = [Entrant("best", by_rates([".90"]), causes=causes), Entrant("mine", by_rates([".88"]), cost="0.5")]
    results = compete(rows, at_least("0.5"))
    assert results["best"].rules[0].low == results["best"].rules[0].high == "9/10"
    assert words(results) == {"best": "accepted", "mine": "inconclusive"}
    assert words(compete([Entrant("best", by_rates([".90"])), rows[1]], at_least("0.5")))["mine"] == "accepted"


def test_rival_without_an_answer_leaves_only_if_the_mark_says_so() -> None:
    """`absent_rivals: drop` is what lets a run decide while one rival's provider is down."""
    rows = [Entrant("down", [["error"]] * 10), Entrant("mine", by_rates([".9"], 10))]
    assert words(compete(rows, at_least("0.5")))["mine"] == "inconclusive"
    dropped = compete(rows, at_least("0.5"), mark={"absent_rivals": "drop"})
    assert words(dropped)["mine"] == "accepted"
    one_answer = [Entrant("down", [["error"]] * 9 + [[1]]), rows[1]]
    assert words(compete(one_answer, at_least("0.5"), mark={"absent_rivals": "drop"}))["mine"] == "inconclusive"


def test_score_that_nobody_measures_is_inconclusive() -> None:
    """Nothing is within a distance of nothing."""
    rows = [Entrant("x", by_rates(["1"])), Entrant("y", by_rates(["1"]))]
    results = compete(rows, at_least("0.5"), choose=choosing(of="nosuch"))
    assert {item.choice.within.reason for item in results.values()} == {"no_metric"}
    assert choice_of(results).result == "open"


# ---------------------------------------------------------------------------------------------- cost, latency, order


def test_cost_is_everything_spent_over_the_trials_and_unknown_while_one_is() -> None:
    """T21: what a trial that failed for the infrastructure cost is in the sum; what it will cost has no limit."""
    from small_runs import ended

    from trialplate.record.entries import Money, TrialStart
    from trialplate.rules.cells import Board
    from trialplate.rules.choose import cost_per_trial

    board = Board()
    key = ("m", "q1", 1)
    for attempt, outcome in ((1, "error"), (2, "passed")):
        board.start(TrialStart(trial=key, attempt=attempt))
        board.end(ended(key, attempt, outcome, retry=attempt == 1, received=5, cost=Money(nano=7, currency="USD")))
    lost = ("m", "q2", 1)
    board.start(TrialStart(trial=lost, attempt=1))
    board.end(ended(lost, 1, "error", cost=Money(nano=4, currency="USD")))
    cells = list(board.cells.values())
    assert cost_per_trial(Pricing(input="1", output="1"), cells, declared=False) == (9, None)
    assert cost_per_trial(Pricing(input="1", output="1"), [*cells, None], declared=False) == (6, None)
    board.start(TrialStart(trial=lost, attempt=2))
    board.end(ended(lost, 2, cost=Money(nano=2, currency="USD")))
    assert cost_per_trial(Pricing(input="1", output="1"), cells, declared=False) == (10, 10)


@pytest.mark.parametrize(
    ("first", "known"),
    [
        ({"outcome": "error"}, True),
        ({"outcome": "error", "received": 3}, False),
        ({"outcome": "error", "ended_by": "harness", "cause": "timeout"}, False),
        (None, False),
        ({"outcome": "limit"}, False),
    ],
    ids=["refused", "answer-began", "cut-off", "lost", "answered"],
)
def test_attempt_without_a_known_cost_hides_it_once_an_answer_may_have_been_billed(first: Any, known: bool) -> None:
    """T22: a refused request costs nothing; one that was answered, cut off or lost may have, and zero is not known."""
    from small_runs import ended

    from trialplate.record.entries import Money, TrialStart
    from trialplate.rules.cells import Board
    from trialplate.rules.choose import cost_per_trial

    board, key = Board(), ("m", "q1", 1)
    board.start(TrialStart(trial=key, attempt=1))
    if first is not None:
        board.end(ended(key, 1, **first))
    if first is None or first["outcome"] == "error":
        board.start(TrialStart(trial=key, attempt=2))
        board.end(ended(key, 2, cost=Money(nano=5, currency="USD")))
    found = cost_per_trial(Pricing(input="1", output="1"), list(board.cells.values()), declared=False)
    assert (found[1] is not None) is known
    assert cost_per_trial(Pricing(free=True), list(board.cells.values()), declared=False) == (0, 0)
    assert cost_per_trial(None, list(board.cells.values()), declared=False) == (0, None)


def test_whoever_loses_its_expensive_trials_is_not_the_cheapest() -> None:
    """Of m the long half was lost to its provider; what is left is cheap, and says nothing of the rest."""
    half: list[list[Any]] = [[1]] * 5 + [["error"]] * 5
    rows = [Entrant("m", half, cost="0.1"), Entrant("other", [[1]] * 10, cost="0.2")]
    found = choice_of(compete(rows, at_least("0.5"), choose=choosing(within=None)))
    assert (found.result, found.reason, found.chosen) == ("open", "unknown_cost", None)
    rows = [Entrant("m", half, cost="0.5"), Entrant("other", [[1]] * 10, cost="0.2")]
    found = choice_of(compete(rows, at_least("0.5"), choose=choosing(within=None)))
    assert (found.result, found.chosen) == ("chosen", "other")


def test_tokens_that_a_far_end_counts_itself_are_taken_only_if_the_mark_says_so() -> None:
    """Whoever counts its own tokens could be as cheap as it likes."""
    rows = [Entrant("self", by_rates([".9"]), cost="0.1", declared=True), Entrant("other", by_rates([".9"]))]
    assert choice_of(compete(rows, at_least("0.5"))).reason == "unknown_cost"
    accepted = compete(rows, at_least("0.5"), mark={"declared_usage": "accept"})
    assert choice_of(accepted).chosen == "self"


def test_one_of_unknown_cost_is_never_the_cheapest_even_alone() -> None:
    """Nobody can say that it is the cheapest, and so nobody does."""
    choice = choice_of(compete([Entrant("x", by_rates([".9"]), cost=None)], at_least("0.5")))
    assert (choice.result, choice.reason, choice.possible) == ("open", "unknown_cost", ("x",))


@pytest.mark.parametrize(
    ("by", "chosen"), [("cheapest", "cheap"), ("best", "good"), ("fastest", "quick")], ids=lambda value: value
)
def test_each_way_of_choosing_takes_the_first_by_its_number(by: str, chosen: str) -> None:
    """T29: the cheapest, the best or the fastest of those that pass."""
    rows = [
        Entrant("cheap", by_rates([".8"]), cost="0.1", latency_ms=30),
        Entrant("good", by_rates([".9"]), cost="3", latency_ms=20),
        Entrant("quick", by_rates([".85"]), cost="2", latency_ms=10),
    ]
    assert choice_of(compete(rows, at_least("0.5"), choose=choosing(by, within=None))).chosen == chosen


@pytest.mark.parametrize(
    ("ties", "chosen"),
    [(("score", "latency", "order"), "y"), (("latency", "score", "order"), "z"), (("order",), "x")],
)
def test_tie_is_broken_in_the_order_that_the_mark_names(ties: tuple[str, ...], chosen: str) -> None:
    """T24: equal costs, and what the mark says then; the plan's order at last."""
    rows = [
        Entrant("x", by_rates([".8"]), latency_ms=30),
        Entrant("y", by_rates([".9"]), latency_ms=20),
        Entrant("z", by_rates([".85"]), latency_ms=10),
    ]
    choose = choosing(within=None, tie_break=ties)
    assert choice_of(compete(rows, at_least("0.5"), choose=choose)).chosen == chosen


def test_latency_is_the_nearest_rank_median_and_unknown_with_an_unknown_cell() -> None:
    """T37: of four, the second; a lost cell could have been any."""
    from trialplate.rules.cells import Cell
    from trialplate.rules.choose import median_latency

    cells = []
    for latency in (40, 10, 30, 20):
        cell = Cell()
        cell.outcome, cell.latency_ms = "passed", latency
        cells.append(cell)
    assert median_latency(cells) == 20
    assert median_latency(cells[:3]) == 30
    assert median_latency([*cells, None]) is None
    assert median_latency([]) is None


def test_fastest_with_a_lost_cell_is_open() -> None:
    """A median has no extremes that would bound it."""
    rows = [Entrant("x", [["error"], [1], [1], [1]], latency_ms=5), Entrant("y", by_rates(["1"], 4), latency_ms=9)]
    choice = choice_of(compete(rows, at_least("0.5"), choose=choosing("fastest", within="0.5")))
    assert (choice.result, choice.reason, choice.possible) == ("open", "unknown_latency", ("x", "y"))


def test_require_chosen_rejects_who_is_eligible_and_not_chosen() -> None:
    """T30: `require: chosen` only ever asks for more."""
    rows = [Entrant("x", by_rates([".9"]), cost="2"), Entrant("y", by_rates([".9"]), cost="1")]
    results = compete(rows, at_least("0.5"), mark={"require": "chosen"})
    assert words(results) == {"x": "rejected", "y": "accepted"}
    assert results["x"].reasons == ("not_chosen",)
