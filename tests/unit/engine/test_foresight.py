# SPDX-License-Identifier: Apache-2.0
"""What a mark can show: over the cases, with the error, by the bound that the decision will have."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from contests import choosing
from small_runs import at_least, at_most, board_of, case, configuration, matrix_of, must_pass, plan_of, scorer

from trialplate.engine.foreseen import Foreseen, Foresight, reach_words
from trialplate.engine.foresight import foresee, short_foresight
from trialplate.engine.spread import Spread
from trialplate.record.values import MatrixLine, Plan, Rule, Selector, Stop
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import evaluate


def bound(threshold: str = "0.9", of: str = "correct", **fields: Any) -> Rule:
    """Return a floor on what is shown."""
    return at_least(threshold, of, basis="bound", **fields)


def seen(plan: Plan, spread: Spread | None = None, **fields: Any) -> Foresight:
    """Return what a plan's mark can show."""
    return foresee(plan, matrix_of(plan), spread or Spread(), **fields)


def only(plan: Plan, spread: Spread | None = None, **fields: Any) -> Foreseen:
    """Return what the only rule of a plan can show."""
    (found,) = seen(plan, spread, **fields).rules
    return found


def test_ten_cases_cannot_pass() -> None:
    """The sentence of the design: what a perfect run gives, and what it takes."""
    found = seen(plan_of(10, bound()))
    assert not found.reachable
    assert found.refusals == ("floor",)
    assert reach_words(found.rules[0]) == "10 cases: a perfect run shows 0.741 < 0.9: cannot pass; needs 29"
    assert found.rules[0].needed  # the table is there all the same
    assert found.rules[0].points[-1].chances.accept == 0
    assert seen(plan_of(29, bound())).reachable


@pytest.mark.parametrize("rule", [bound(), at_most("0.1", "error_rate", basis="bound")], ids=["floor", "ceiling"])
@pytest.mark.parametrize("cases", [28, 29, 44, 45])
@pytest.mark.parametrize("candidates", [1, 2])
def test_reachable_is_what_a_perfect_run_comes_to(rule: Rule, cases: int, candidates: int) -> None:
    """Foreseen and decided alike, whatever the family leaves of alpha."""
    names = [configuration(f"m{n}") for n in range(candidates)]
    plan = plan_of(cases, rule, configurations=names)
    told = evaluate(plan, matrix_of(plan), "m0", board_of([[1]] * cases, "m0"), Circumstances())
    assert seen(plan).reachable == (told.rules[0].result == "pass")


def test_candidates_share_alpha_and_are_told_together() -> None:
    """Two that are asked alike have one table; a comparison is not decided on and has none."""
    names = [configuration("a"), configuration("b"), configuration("c", role="comparison")]
    found = only(plan_of(60, bound(), configurations=names))
    assert found.configurations == ("a", "b")
    assert found.alpha == Fraction(1, 40)
    each = only(plan_of(60, bound(), configurations=names, mark={"family": "each"}))
    assert each.alpha == Fraction(1, 20)


def test_configurations_that_are_asked_otherwise_are_told_apart() -> None:
    """The numbers of one say nothing about the other."""
    names = [configuration("a"), configuration("b")]
    lines = [
        MatrixLine(configurations=("a",), repeats=1),
        MatrixLine(configurations=("b",), repeats=3),
    ]
    found = seen(plan_of(40, bound("0.8"), configurations=names, lines=lines)).rules
    assert [(item.configurations, item.repeats) for item in found] == [(("a",), (1, 1)), (("b",), (3, 3))]
    assert (found[0].failures, found[1].failures is None, found[1].drawn) == (found[0].failures, True, True)


def test_a_later_attempt_has_less_alpha() -> None:
    """Half at each further one; 29 cases are then too few."""
    found = seen(plan_of(29, bound()), attempts={"m": 2})
    assert found.attempt == 2
    assert found.rules[0].alpha == Fraction(1, 40)
    assert not found.reachable


def test_alternatives_have_their_part_of_alpha() -> None:
    """One of two that can be reached is enough; none is a refusal of both."""
    members = (bound("0.99", id="hard"), bound("0.5", id="easy"))
    plan = plan_of(30, Rule(id="either", any_of=("hard", "easy")), mark={"alternatives": members})
    found = seen(plan)
    assert [(item.id, item.part_of, item.alpha) for item in found.rules] == [
        ("either", None, None),
        ("hard", "either", Fraction(1, 40)),
        ("easy", "either", Fraction(1, 40)),
    ]
    assert [item.reachable for item in found.rules] == [True, False, True]
    assert found.reachable
    lost = plan.replace(pass_mark=plan.pass_mark.replace(alternatives=(members[0], bound("0.98", id="easy"))))
    assert seen(lost).refusals == ("either",)


def test_each_is_told_of_its_smallest_copy() -> None:
    """Every copy must be reachable, and each says what it needs."""
    cases = [case(n, "big" if n <= 30 else "small") for n in range(1, 41)]
    found = only(plan_of(cases, bound(each="tag")))
    assert (found.copy, found.cases, found.reachable, found.needs) == ("small", 10, False, 29)
    assert [(copy.value, copy.cases, copy.reachable) for copy in found.copies] == [
        ("small", 10, False),
        ("big", 30, True),
    ]


def test_where_and_metric_narrow_the_cases() -> None:
    """A rule is about the cases that it selects and that its scorer applies to."""
    cases = [case(n, "a" if n % 2 else "b") for n in range(1, 81)]
    half = scorer("tone", cases=Selector(tag=("a",)))
    assert only(plan_of(cases, bound(where=Selector(tag=("b",))))).cases == 40
    assert only(plan_of(cases, bound(of="tone"), scorers=[scorer(), half])).cases == 40


def test_cases_of_one_source_are_one_unit() -> None:
    """Forty cases from eight sources are eight: a perfect run shows what eight show."""
    cases = [case(n).replace(unit=f"source {n % 8}") for n in range(1, 41)]
    found = only(plan_of(cases, bound("0.8"), mark={"unit": "meta.source"}))
    assert (found.units, found.unit, found.cases) == (8, "cluster", 40)
    assert found.perfect == pytest.approx(0.05 ** (1 / 8))
    assert "8 units: a perfect run shows 0.688 < 0.8" in reach_words(found)


def test_this_very_set_counts_trials() -> None:
    """Asked again and again, ten cases show what thirty trials show."""
    found = only(plan_of(10, bound(), repeats=3, mark={"over": "this_set"}))
    assert (found.units, found.unit, found.reachable) == (30, "trial", True)
    assert found.failures is not None
    assert found.failures[0] == 0


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (at_most("2", "p95:wall_s"), "percentile"),
        (at_most("0.02", "cost:per_passed"), "prices"),
        (at_most("900", "tokens:per_trial"), "used"),
        (at_least("0.8", "macro_f1:label"), "macro-F1"),
        (bound("0.8", "agreement:judge"), "checks"),
        (Rule(id="r", no_regressions="baseline"), "baseline"),
        (at_least("0.8", "pass_hat:3"), "fewer than 3 repeats"),
        (at_least("0.8", "pass_at:1", where=Selector(tag=("none",))), "no case"),
    ],
    ids=lambda item: getattr(item, "of", None) or getattr(item, "id", item),
)
def test_rules_without_a_curve_say_why(rule: Rule, words: str) -> None:
    """In a word; and nothing is refused for it."""
    plan = plan_of(40, rule, scorers=[scorer(), scorer("label", type="label")])
    found = seen(plan)
    assert found.reachable
    assert words in (found.rules[0].missing or "")
    assert found.rules[0].points == ()


def test_agreement_says_how_many_answers_it_takes() -> None:
    """Twenty equal answers cannot show 90 %: 29 can."""
    assert only(plan_of(40, bound("0.9", "agreement:judge"))).needs == 29


def test_must_pass_is_all_of_its_cases() -> None:
    """Exactly: the chance of each to the power of their number."""
    found = only(plan_of(5, must_pass("q1", "q2", "q3")), truths=(Fraction(9, 10),))
    (point,) = found.points
    assert point.chances.accept == pytest.approx(0.9**3)
    assert point.chances.inconclusive == 0
    assert found.hides is None


def test_estimate_says_what_it_hides() -> None:
    """Ten questions three times each: what is truly ten points off passes one time in five."""
    found = only(plan_of(10, at_least("0.9"), repeats=3))
    assert found.hides is not None
    assert found.hides.truth == Fraction(8, 10)
    assert round(100 * found.hides.chances.accept) == 22
    assert (found.alpha, found.perfect) == (None, None)
    ceiling = only(plan_of(10, at_most("0.05", "error_rate")))
    assert ceiling.hides is not None
    assert ceiling.hides.truth == Fraction(15, 100)


def test_one_case_that_weighs_more_than_what_is_allowed_is_named() -> None:
    """0.95 over eleven single trials is all of them."""
    assert only(plan_of(11, at_least("0.95"))).coarse == "all"
    assert only(plan_of(20, at_least("0.95"))).coarse is None
    names = [configuration("a"), configuration("b")]
    near = seen(plan_of(10, at_least("0.5"), configurations=names, mark={"choose": choosing(within="0.03")})).choice
    assert near is not None
    assert near.coarse == "margin"


def test_choice_has_the_alpha_and_the_sizes_of_its_pairs() -> None:
    """Alpha / (k - 1), and cases by how often two equal ones differ."""
    names = [configuration(name) for name in "abc"]
    mark = {"choose": choosing(within="0.1", basis="bound"), "family": "plan"}
    found = seen(plan_of(60, at_least("0.5"), configurations=names, mark=mark)).choice
    assert found is not None
    assert found.alpha == Fraction(1, 40)
    assert found.comparison is not None
    assert [row.share for row in found.comparison.rows] == [0.05, 0.1, 0.2]
    assert all(row.needed is not None and row.needed > 40 for row in found.comparison.rows)
    plain = seen(plan_of(60, at_least("0.5"), configurations=names, mark={"choose": choosing(within=None)}))
    assert plain.choice is None


def test_not_worse_than_is_told_of_those_that_are_compared() -> None:
    """A configuration is not compared with itself; seven ties show next to nothing."""
    names = [configuration("a"), configuration("b")]
    rule = Rule(id="near", not_worse_than="b", by="0.05", of="correct", basis="bound")
    found = only(plan_of(7, rule, configurations=names))
    assert found.configurations == ("a",)
    assert found.comparison is not None
    assert found.comparison.ties < -0.2
    few = only(plan_of(3, rule, configurations=names))
    assert not few.reachable
    assert "3 cases: passing all where the other passes none shows -0." in reach_words(few)


def test_missing_cases_are_told() -> None:
    """A matrix that leaves cases out decides nothing, and fewer cases than a rule wants do not either."""
    lines = [MatrixLine(configurations=("m",), repeats=1, cases=Selector(id=("q1", "q2")))]
    assert only(plan_of(5, at_least("0.5"), lines=lines)).left_out == 3
    assert only(plan_of(5, at_least("0.5", cases=8))).too_few == 8


def test_sealed_runs_say_how_many_cases_they_need() -> None:
    """Exactly, for one trial a case; for repeats nothing is claimed."""
    once = only(plan_of(100, bound(), mark={"stop": Stop(mode="sealed")}), truths=(Fraction(95, 100),))
    assert once.points[0].expected_cases == pytest.approx(95.06, abs=0.01)
    twice = only(plan_of(40, bound("0.8"), repeats=2, mark={"stop": Stop(mode="sealed")}))
    assert {point.expected_cases for point in twice.points} == {None}


def test_counts_decide_their_rule() -> None:
    """The boundaries' own chances, and not those of the bound."""
    stop = Stop(mode="counts", rule="floor", accept=(-1,) * 9 + (1,), reject=(2,) * 10)
    found = only(plan_of(10, bound("0.5"), mark={"stop": stop}), truths=(Fraction(9, 10),))
    (point,) = found.points
    assert point.chances.accept == pytest.approx(0.9**10 + 10 * 0.1 * 0.9**9)
    assert point.expected_cases is not None
    assert point.expected_cases < 10
    assert found.failures is None


def test_table_is_the_same_for_the_same_design_alone() -> None:
    """Names of cases and of the plan do not matter; what is asked and demanded does."""
    plan = plan_of(30, bound("0.7"), repeats=2)
    renamed = plan.replace(name="other", test_set=plan.test_set.replace(name="elsewhere"))
    assert only(plan).points == only(renamed).points
    assert only(plan).drawn


def test_spread_of_a_pilot_is_used() -> None:
    """Its resemblance instead of the assumed one, and its rates among the true values."""
    plan = plan_of(40, bound("0.7"), repeats=3)
    spread = Spread(0.5, "r", {"correct": 0.1}, {("correct", "m"): Fraction(913, 1000)}, {"correct": 0.08})
    found = only(plan, spread)
    assert found.icc == 0.1
    assert [point.measured for point in found.points if point.measured] == [("m",)]
    assumed = only(plan, truths=(Fraction(8, 10),))
    told = only(plan, spread, truths=(Fraction(8, 10),))
    assert told.points[0].chances.accept > assumed.points[0].chances.accept


def test_short_form_has_no_table() -> None:
    """Only what takes no time."""
    plan = plan_of(60, bound("0.8"), repeats=3)
    (found,) = short_foresight(plan, matrix_of(plan)).rules
    assert (found.points, found.qualities, found.designs) == ((), None, ())
    assert found.perfect is not None
