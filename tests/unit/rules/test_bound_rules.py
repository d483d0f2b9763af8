# SPDX-License-Identifier: Apache-2.0
"""Rules over bounds: what they come to, with which error, and what unknown cells, clusters and attempts do to them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from small_runs import (
    NAME,
    at_least,
    at_most,
    board_of,
    case,
    configuration,
    judged,
    must_pass,
    plan_of,
)

from trialplate.record.decisions import RuleResult
from trialplate.record.matrix import narrow
from trialplate.record.values import AttemptsRule, Evidence, JudgeEvidence, MatrixLine, PlanCase, Rule, Selector
from trialplate.rules.circumstances import Circumstances, Grades
from trialplate.rules.passmark import evaluate, sealed


def floor(threshold: str, **fields: Any) -> Rule:
    """Return a floor over a bound."""
    return at_least(threshold, basis="bound", **fields)


def rows(passed: int, failed: int, unknown: int = 0, repeats: int = 1) -> list[list[float | None]]:
    """Return cases that pass, fail, or never began."""
    return [[1] * repeats] * passed + [[0] * repeats] * failed + [[None] * repeats] * unknown


def only(found: Any) -> RuleResult:
    """Return the one rule's result."""
    return found.rules[0]


def told(passed: int, failed: int, threshold: str, unknown: int = 0, **fields: Any) -> RuleResult:
    """Return what a floor comes to."""
    return only(judged(rows(passed, failed, unknown), floor(threshold), **fields))


# ------------------------------------------------------------------------------------------------ passes and fails


@pytest.mark.parametrize(
    ("passed", "failed", "threshold", "result", "reason"),
    [
        (28, 0, "0.9", "inconclusive", "unreachable"),
        (29, 0, "0.9", "pass", "met"),
        (96, 4, "0.9", "pass", "met"),
        (95, 5, "0.9", "inconclusive", "straddles"),
        (60, 40, "0.9", "fail", "below"),
        (0, 2, "0.9", "fail", "below"),
        (10, 0, "0.9", "inconclusive", "unreachable"),
    ],
)
def test_a_floor_passes_by_its_lower_bound_and_fails_by_its_upper_one(
    passed: int, failed: int, threshold: str, result: str, reason: str
) -> None:
    """29 perfect cases show 0.90, 28 do not; 4 failures of 100 are the most (decisions.md 5.2)."""
    found = told(passed, failed, threshold)
    assert (found.result, found.reason) == (result, reason)


def test_a_ceiling_is_the_mirror_of_a_floor() -> None:
    """At most 0.1 failures with the upper bound, as at least 0.9 passes with the lower one."""
    for failed, result in ((4, "pass"), (5, "inconclusive"), (40, "fail")):
        mirrored = only(judged(rows(failed, 100 - failed), at_most("0.1", basis="bound")))
        straight = told(100 - failed, failed, "0.9")
        assert mirrored.result == straight.result == result
        assert Fraction(mirrored.upper or "") == 1 - Fraction(straight.lower or "")


def test_the_result_carries_estimate_bounds_error_and_units() -> None:
    """Whoever reads a decision sees every number that it rests on."""
    found = told(45, 5, "0.75")
    assert (found.low, found.high, found.threshold) == ("9/10", "9/10", "3/4")
    assert (found.lower, found.upper) == ("0.801166997", "0.959763410")
    assert (found.alpha, found.units, found.cells, found.cases) == ("1/20", 50, 50, 50)


def test_an_estimate_carries_no_bound() -> None:
    """What was signed before there were bounds derives to the same bytes."""
    found = only(judged(rows(45, 5), at_least("0.75")))
    assert (found.alpha, found.lower, found.upper, found.units) == (None, None, None, 0)


def test_a_bound_at_its_threshold_is_on_neither_side() -> None:
    """Ten perfect cases show 0.05^(1/10); a mark of exactly that, to 12 digits, is within rounding."""
    found = told(10, 0, "0.741134449107")
    assert (found.result, found.reason) == ("inconclusive", "within_rounding")


# ------------------------------------------------------------------------------------------------- unknown cells


@pytest.mark.parametrize(
    ("passed", "failed", "unknown", "result", "reason"),
    [(96, 2, 2, "pass", "met"), (95, 1, 4, "inconclusive", "unknown_cells"), (60, 30, 10, "fail", "below")],
)
def test_unknown_cells_stand_at_both_extremes(passed: int, failed: int, unknown: int, result: str, reason: str) -> None:
    """The vectors decision-08 to 10: a rule passes only with all of them failed."""
    found = told(passed, failed, "0.9", unknown)
    assert (found.result, found.reason, found.unknown) == (result, reason, unknown)


def test_bounds_with_unknown_cells_span_both_extremes() -> None:
    """The lower one is that of all failed, the upper that of all passed."""
    found = told(90, 5, "0.9", 5)
    assert found.lower == told(90, 10, "0.9").lower
    assert found.upper == told(95, 5, "0.9").upper


# ---------------------------------------------------------------------------------- family, attempts, alternatives


def test_candidates_share_the_error_unless_each_has_its_own() -> None:
    """Whoever tries twenty profiles finds one that passes."""
    names = [configuration(NAME), configuration("n"), configuration("c", role="comparison")]
    for family, alpha in (("plan", "1/40"), ("each", "1/20")):
        plan = plan_of(30, floor("0.9"), configurations=names, mark={"family": family})
        found = only(judged(rows(30, 0), plan=plan))
        assert found.alpha == alpha
        assert found.result == ("inconclusive" if family == "plan" else "pass")


@pytest.mark.parametrize(
    ("attempt", "spend", "alpha"),
    [(1, False, "1/20"), (2, False, "1/40"), (3, False, "1/80"), (1, True, "1/40"), (2, True, "1/80")],
)
def test_each_attempt_has_half_the_error_of_the_one_before(attempt: int, spend: bool, alpha: str) -> None:
    """Alpha / 2^(j-1); under spend alpha / 2^j, so that all together stay below alpha."""
    mark = {"attempts": AttemptsRule(spend=spend)}
    found = only(judged(rows(40, 0), floor("0.9"), mark=mark, given=Circumstances(attempts={NAME: attempt})))
    assert found.alpha == alpha


def test_a_thousandth_attempt_still_has_an_error() -> None:
    """No float underflows, and nothing passes by it."""
    found = only(judged(rows(40, 0), floor("0.9"), given=Circumstances(attempts={NAME: 5000})))
    assert found.result == "inconclusive"


def test_one_of_several_rules_is_enough_and_each_has_its_part_of_the_error() -> None:
    """Kleene's or, with alpha / m."""
    easy, hard = floor("0.8", id="easy"), floor("0.99", id="hard")
    either = Rule(id="either", any_of=("hard", "easy"))
    found = only(judged(rows(50, 0), either, mark={"alternatives": (easy, hard)}))
    assert (found.result, found.reason) == ("pass", "met")
    assert [(copy.value, copy.result, copy.alpha) for copy in found.copies] == [
        ("hard", "inconclusive", "1/40"),
        ("easy", "pass", "1/40"),
    ]


@pytest.mark.parametrize(("passed", "result"), [(50, "pass"), (45, "inconclusive"), (5, "fail")])
def test_alternatives_fail_only_together(passed: int, result: str) -> None:
    """One that is open leaves it open."""
    options = (floor("0.9", id="a"), floor("0.85", id="b"))
    either = Rule(id="either", any_of=("a", "b"))
    assert only(judged(rows(passed, 50 - passed), either, mark={"alternatives": options})).result == result


def test_nested_alternatives_divide_their_part_again() -> None:
    """Two of two: a quarter each."""
    options = (floor("0.9", id="a"), Rule(id="b", any_of=("c", "d")), floor("0.9", id="c"), floor("0.8", id="d"))
    plan = plan_of(60, Rule(id="e", any_of=("a", "b")), mark={"alternatives": options})
    found = only(judged(rows(60, 0), plan=plan))
    assert [copy.alpha for copy in found.copies] == ["1/40", None]


# --------------------------------------------------------------------------------------------------------- units


def clustered(sizes: list[int]) -> list[PlanCase]:
    """Return cases in clusters of these sizes."""
    numbers = [index for index, size in enumerate(sizes) for _ in range(size)]
    units = [f"{index}".rjust(43, "u") for index in numbers]
    return [case(n).replace(unit=unit) for n, unit in enumerate(units, start=1)]


def test_cases_of_one_cluster_count_as_one() -> None:
    """Fifty copies of one question are one question: they show what one case shows."""
    plan = plan_of(clustered([50]), floor("0.9"), mark={"unit": "meta.document"})
    found = only(judged(rows(50, 0), plan=plan))
    assert (found.result, found.units, found.lower) == ("inconclusive", 1, "0.050000000")


def test_clusters_of_one_case_are_cases() -> None:
    """The weights are then all alike."""
    plan = plan_of(clustered([1] * 50), floor("0.9"), mark={"unit": "meta.document"})
    assert only(judged(rows(49, 1), plan=plan)).lower == told(49, 1, "0.9").lower


def test_over_this_set_pools_the_trials() -> None:
    """Exactly these cases, asked again: 30 trials of 10 cases are 30 trials."""
    found = only(judged(rows(10, 0, repeats=3), floor("0.9"), mark={"over": "this_set"}))
    assert (found.result, found.units) == ("pass", 30)
    assert only(judged(rows(10, 0, repeats=3), floor("0.9"))).result == "inconclusive"


@pytest.mark.parametrize(
    ("of", "units"), [("case_pass_rate", 10), ("pass_hat:3", 10), ("pass_at:1", 30), ("trial_pass_rate", 30)]
)
def test_over_this_set_what_repeats_make_together_is_one_trial(of: str, units: int) -> None:
    """Ten verdicts are ten, however many repeats each is over: else a bound would err in four runs of ten."""
    found = only(judged(rows(10, 0, repeats=3), floor("0.5", of=of), mark={"over": "this_set"}))
    assert (found.units, found.lower) == (units, f"{0.05 ** (1 / units):.9f}")


def test_over_this_set_a_mean_is_worth_what_the_fewest_repeats_give() -> None:
    """A case asked once is half of the mean of two, and three hundred repeats of the other do not steady it."""
    lines = [
        MatrixLine(configurations=(NAME,), cases=Selector(id=(f"q{number}",)), repeats=repeats)
        for number, repeats in ((1, 1), (2, 300))
    ]
    for of, units in (("correct", 2), ("trial_pass_rate", 301)):
        plan = plan_of(2, floor("0.9", of=of), lines=lines, mark={"over": "this_set"})
        board = board_of([[1], [1] * 300])
        assert only(evaluate(plan, narrow(plan, None), NAME, board, Circumstances())).units == units


def test_over_this_set_a_difference_counts_no_trial_that_is_left_out() -> None:
    """Under errors: exclude the cells that are lost are not trials, in a difference as in a mean."""
    names = [configuration(NAME), configuration("n", role="comparison")]
    rule = Rule(id="nw", not_worse_than="n", by="0.5", of="correct", basis="bound")
    plan = plan_of(20, rule, configurations=names, errors="exclude", mark={"over": "this_set"})
    board = board_of([[1]] * 5 + [["error"]] * 15)
    board.cells |= board_of([[1]] * 20, name="n").cells
    found = only(evaluate(plan, narrow(plan, None), NAME, board, Circumstances()))
    assert (found.units, found.cells) == (5, 20)


# --------------------------------------------------------------------------------------------------- quantities


def test_a_tag_has_its_own_bound() -> None:
    """Each copy is told from its own cases, at the whole error: all must hold, so nothing is divided."""
    cases = [case(n, "a" if n <= 30 else "b") for n in range(1, 46)]
    plan = plan_of(cases, floor("0.9", each="tag"))
    found = only(judged(rows(45, 0), plan=plan))
    assert [(copy.value, copy.result, copy.alpha) for copy in found.copies] == [
        ("a", "pass", "1/20"),
        ("b", "inconclusive", "1/20"),
    ]


def test_every_candidate_must_hold_where_a_rule_is_for_each_configuration() -> None:
    """TinyAgent's gate: any configuration below the floor fails all."""
    names = [configuration(NAME), configuration("n")]
    plan = plan_of(3, at_least("0.5", each="configuration"), configurations=names)
    board = board_of(rows(3, 0))
    board.cells |= board_of(rows(0, 3), name="n").cells
    found = only(evaluate(plan, narrow(plan, None), NAME, board, Circumstances()))
    assert found.result == "fail"
    assert [(copy.value, copy.result) for copy in found.copies] == [("m", "pass"), ("n", "fail")]


def test_not_worse_than_a_configuration_is_paired_case_by_case() -> None:
    """A hundred ties show that nothing is worse by more than 0.023 (decisions.md 3.1)."""
    names = [configuration(NAME), configuration("n", role="comparison")]
    rule = Rule(id="nw", not_worse_than="n", by="0.03", of="correct", basis="bound")
    plan = plan_of(100, rule, configurations=names)
    board = board_of(rows(90, 10))
    board.cells |= board_of(rows(90, 10), name="n").cells
    found = only(evaluate(plan, narrow(plan, None), NAME, board, Circumstances()))
    assert (found.result, found.threshold, found.low) == ("pass", "-3/100", "0/1")
    assert Fraction(found.lower or "") > Fraction("-0.03")
    itself = only(evaluate(plan, narrow(plan, None), "n", board, Circumstances()))
    assert (itself.result, itself.reason) == ("pass", "no_rival")


def test_superiority_is_not_worse_by_less_than_nothing() -> None:
    """by: -0.02 asks for two points more."""
    names = [configuration(NAME), configuration("n", role="comparison")]
    rule = Rule(id="better", not_worse_than="n", by="-0.02", of="correct", basis="estimate")
    plan = plan_of(10, rule, configurations=names)
    for passed, result in ((9, "pass"), (8, "fail")):
        board = board_of(rows(passed, 10 - passed))
        board.cells |= board_of(rows(8, 2), name="n").cells
        assert only(evaluate(plan, narrow(plan, None), NAME, board, Circumstances())).result == result


def test_a_reference_gains_nothing_by_a_setting_that_makes_it_fail() -> None:
    """Its rejected requests and timeouts are unknown, so that they might have been passes."""
    from small_runs import ended

    from trialplate.record.entries import TrialStart
    from trialplate.rules.cells import Board

    names = [configuration(NAME), configuration("n", role="comparison")]
    rule = Rule(id="nw", not_worse_than="n", by="0", of="correct", basis="estimate")
    plan = plan_of(2, rule, configurations=names)
    board = Board()
    board.cells |= board_of([[1], [0]]).cells
    for key in (("n", "q1", 1), ("n", "q2", 1)):
        board.start(TrialStart(trial=key, attempt=1))
        board.end(ended(key, outcome="failed", cause="timeout", metrics={"correct": 0.0}))
    found = only(evaluate(plan, narrow(plan, None), NAME, board, Circumstances()))
    assert (found.result, found.reason, found.unknown) == ("inconclusive", "unknown_cells", 2)


# ------------------------------------------------------------------------------------------------------- judges


def graded(equal: int, number: int, **fields: Any) -> Circumstances:
    """Return that a judge was checked."""
    return Circumstances(grades={"correct": Grades(equal=equal, graded=number, **fields)})


@pytest.mark.parametrize(("equal", "number", "met"), [(48, 50, True), (44, 50, False), (20, 20, False), (0, 0, False)])
def test_a_judge_must_be_shown_to_agree(equal: int, number: int, met: bool) -> None:
    """48 of 50 show 0.879; twenty of twenty 0.861, on fewer answers than are wanted."""
    wanted = Evidence(complete="0", judge=JudgeEvidence(scorer="correct", graded=50, agreement="0.85"))
    found = judged(rows(10, 0), at_least("0.5"), evidence=wanted, given=graded(equal, number))
    assert (found.decision, found.reasons) == (("accepted", ()) if met else ("inconclusive", ("judge",)))


@pytest.mark.parametrize("given", [Circumstances(), graded(0, 0, stale=50), graded(50, 50, open=1)])
def test_a_judge_that_was_not_checked_as_it_is_leaves_it_open(given: Circumstances) -> None:
    """Never checked; another judge was; or a sheet was drawn and never scored."""
    wanted = Evidence(complete="0", judge=JudgeEvidence(scorer="correct", agreement="0.5"))
    assert judged(rows(10, 0), at_least("0.5"), evidence=wanted, given=given).reasons == ("judge",)


def test_agreement_is_a_quantity_of_its_own() -> None:
    """Its bound is Clopper and Pearson's over the graded answers."""
    found = only(judged(rows(10, 0), floor("0.8", of="agreement:correct"), given=graded(48, 50)))
    assert (found.result, found.low, found.cases) == ("pass", "24/25", 50)
    assert str(found.lower).startswith("0.879")


def test_a_kind_judge_is_corrected_for() -> None:
    """It passes 95 of 100; people found that it passes too much, and so less is shown."""
    pairs = {"correct": ((0, 1_000_000, 8), (1_000_000, 1_000_000, 72), (0, 0, 20))}
    given = graded(92, 100, pairs=pairs, sensitivity=(72, 72), specificity=(20, 28))
    rule = floor("0.85", correct_for_judge="correct")
    found = only(judged(rows(95, 5), rule, given=given))
    assert (found.low, found.result) == ("87/100", "inconclusive")
    assert only(judged(rows(95, 5), floor("0.85"))).result == "pass"


@pytest.mark.parametrize(("sensitivity", "specificity"), [((5, 10), (7, 10)), ((10, 10), (0, 0))])
def test_a_judge_that_tells_nothing_apart_is_not_corrected_for(
    sensitivity: tuple[int, int], specificity: tuple[int, int]
) -> None:
    """Sensitivity + specificity - 1 below 0.3, or unknown since people failed nothing."""
    given = graded(9, 10, pairs={"correct": ((0, 0, 10),)}, sensitivity=sensitivity, specificity=specificity)
    found = only(judged(rows(95, 5), floor("0.5", correct_for_judge="correct"), given=given))
    assert (found.result, found.reason) == ("inconclusive", "judge_uninformative")


# ------------------------------------------------------------------------------------------------------- sealing


@pytest.mark.parametrize(
    ("passed", "failed", "unknown", "is_sealed"),
    [(96, 0, 4, True), (95, 1, 4, False), (50, 20, 30, True), (0, 0, 100, False), (86, 10, 4, True)],
)
def test_a_decision_is_sealed_once_no_answer_could_change_it(
    passed: int, failed: int, unknown: int, is_sealed: bool
) -> None:
    """Also where it can only stay inconclusive: 10 failures of 100 never pass, and 86 passes never fail."""
    plan = plan_of(100, floor("0.9"))
    board = board_of(rows(passed, failed, unknown))
    assert sealed(plan, narrow(plan, None), board, Circumstances()) == {NAME: is_sealed}


def test_what_is_open_by_its_evidence_alone_is_sealed() -> None:
    """What a record must show besides its answers has no part in it."""
    plan = plan_of(10, must_pass("q1"), evidence=Evidence(complete="1"))
    board = board_of([[0], *[[None]] * 9])
    assert sealed(plan, narrow(plan, None), board, Circumstances()) == {NAME: True}
