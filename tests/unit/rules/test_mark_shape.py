# SPDX-License-Identifier: Apache-2.0
"""What a reader refuses of a mark and its plan, whoever made them: each flaw by its sentence, and sound ones by none."""

from __future__ import annotations

from math import comb
from typing import Any

import pytest
from contests import choosing
from hypothesis import given
from hypothesis import strategies as st
from small_runs import COMMITMENT, DIGEST, at_least, at_most, case, configuration, must_pass, plan_of, scorer

from trialplate.record.values import (
    AttemptsRule,
    Baseline,
    Evidence,
    JudgeEvidence,
    PassMark,
    Plan,
    PlanCase,
    Rule,
    Selector,
    Stop,
)
from trialplate.rules.mark_in_plan import false_acceptance
from trialplate.rules.mark_shape import MOST_BOUNDARIES, has_bound, has_bounds, mark_problems
from trialplate.rules.shape import plan_problems

BOUND = at_least("0.5", basis="bound")
BASELINE = Baseline(run_id="20261101T090000000Z-1a2b3c4d", size=7, root=DIGEST, test_set=DIGEST)
PASSES = at_least("0.5", "case_pass_rate", basis="bound")
COUNTS: dict[str, Any] = {"rules": (PASSES,), "attempts": AttemptsRule(max=1)}


COUNTED = {"attempts": AttemptsRule(max=1)}


def counts(accept: tuple[int, ...] = (-1, -1, -1, -1, 0), reject: tuple[int, ...] = (1, 2, 2, 2, 1)) -> Stop:
    """Return a table of counts that keeps an alpha of 0.05 at a threshold of one half."""
    return Stop(mode="counts", rule="floor", accept=accept, reject=reject)


SOUND = [
    PassMark(rules=(at_least("0.5"), must_pass("q1"), Rule(id="all", must_pass=Selector()))),
    PassMark(rules=(BOUND, Rule(id="n", not_worse_than="m", by="-0.5", of="correct", basis="bound", where=Selector()))),
    PassMark(rules=(Rule(id="n", no_regressions="baseline", allow=("q1",)),), baseline=BASELINE),
    PassMark(
        rules=(Rule(id="e", any_of=("a", "b")),),
        alternatives=(
            at_least("1", id="a"),
            Rule(id="b", any_of=("c", "d")),
            at_most("1", id="c"),
            at_most("1", id="d", of="error_rate"),
        ),
    ),
    PassMark(rules=(at_least("0.5", "share:wall_s:8", basis="bound"),), over="this_set", family="each"),
    PassMark(rules=(at_least("0.5", "pass_at:1", basis="bound"), at_most("9", "p95:cost", id="p"))),
    PassMark(rules=(at_least("0.5", "cost:total"),), declared_usage="accept"),
    PassMark(rules=(at_least("0.5", "correct", basis="bound", correct_for_judge="judge"),)),
    PassMark(rules=(BOUND,), stop=Stop(mode="sealed")),
    PassMark(rules=(BOUND,), choose=choosing(basis="bound", keep="m"), require="chosen"),
    PassMark(**COUNTS, stop=counts()),
]


@pytest.mark.parametrize("mark", SOUND)
def test_sound_mark_has_no_problem(mark: PassMark) -> None:
    """What the language can say and something proves."""
    assert list(mark_problems(mark)) == []


FLAWED: list[tuple[PassMark, str]] = [
    (PassMark(rules=()), "a pass mark has rules, and each its own id"),
    (PassMark(rules=(BOUND, BOUND)), "a pass mark has rules, and each its own id"),
    (PassMark(rules=(Rule(id="a"),)), "rule a: it is not exactly one of at_least"),
    (PassMark(rules=(at_least("1", at_most="1"),)), "rule floor: it is not exactly one of at_least"),
    (PassMark(rules=(at_least("1", require="all"),)), "rule floor: at_least takes no require"),
    (PassMark(rules=(at_least("1", by="1"),)), "rule floor: at_least takes no by"),
    (PassMark(rules=(at_least("1", allow=("q1",)),)), "rule floor: at_least takes no allow"),
    (PassMark(rules=(at_most("1", correct_for_judge="j", basis="bound"),)), "takes no correct_for_judge"),
    (PassMark(rules=(Rule(id="a", must_pass=Selector(), of="correct"),)), "rule a: must_pass takes no of"),
    (PassMark(rules=(Rule(id="a", must_pass=Selector(), basis="bound"),)), "rule a: must_pass takes no basis"),
    (PassMark(rules=(Rule(id="a", must_pass=Selector(), each="tag"),)), "rule a: must_pass takes no each"),
    (PassMark(rules=(Rule(id="a", at_least="1"),)), "rule a: at_least needs of"),
    (PassMark(rules=(Rule(id="a", not_worse_than="m", of="correct"),)), "rule a: not_worse_than needs by"),
    (PassMark(rules=(Rule(id="a", not_worse_than="m", by="0", of="error_rate"),)), "cannot be compared case by case"),
    (PassMark(rules=(Rule(id="a", not_worse_than="m", by="0", of="p95:cost"),)), "cannot be compared case by case"),
    (PassMark(rules=(at_least("1", "p95:cost", basis="bound"),)), "no bound of p95:cost"),
    (PassMark(rules=(at_least("1", "macro_f1:label", basis="bound"),)), "no bound of macro_f1:label"),
    (PassMark(rules=(at_least("1", "pass_at:2", basis="bound"),)), "no bound of pass_at:2"),
    (PassMark(rules=(at_least("1", "agreement:j", each="tag"),)), "a judge's agreement is over its checks"),
    (PassMark(rules=(at_least("1", "agreement:j", cases=2),)), "a judge's agreement is over its checks"),
    (
        PassMark(rules=(at_least("1", correct_for_judge="j"),)),
        "a judge's errors are taken off a metric, within a bound",
    ),
    (
        PassMark(rules=(at_least("1", "trial_pass_rate", basis="bound", correct_for_judge="j"),)),
        "a judge's errors are taken off a metric",
    ),
    (
        PassMark(rules=(at_least("1", basis="bound", correct_for_judge="j"),), over="this_set"),
        "under over: cases and unit: case",
    ),
    (PassMark(rules=(Rule(id="e", any_of=("a",)),)), "each alternative stands in one any_of"),
    (PassMark(rules=(BOUND,), alternatives=(at_least("1", id="a"),)), "each alternative stands in one any_of"),
    (
        PassMark(rules=(Rule(id="e", any_of=("a", "a")),), alternatives=(at_least("1", id="a"),)),
        "each alternative stands in one any_of",
    ),
    (
        PassMark(
            rules=(Rule(id="e", any_of=("a",)),),
            alternatives=(Rule(id="a", any_of=("b",)), Rule(id="b", any_of=("a",))),
        ),
        "none in itself",
    ),
    (
        PassMark(rules=(BOUND,), alternatives=(Rule(id="a", any_of=("b",)), Rule(id="b", any_of=("a",)))),
        "none in itself",
    ),
    (PassMark(rules=(BOUND,), confidence="0.5"), "a confidence is above 0.5"),
    (PassMark(rules=(BOUND,), confidence="1"), "a confidence is above 0.5"),
    (PassMark(rules=(BOUND,), baseline=BASELINE), "a mark names a baseline where"),
    (PassMark(rules=(Rule(id="n", no_regressions="baseline"),)), "a mark names a baseline where"),
    (PassMark(rules=(BOUND,), require="chosen"), "there is no choose"),
    (PassMark(rules=(BOUND,), declared_usage="accept"), "there is no choose and no such rule"),
    (PassMark(rules=(BOUND,), choose=choosing(of="error_rate")), "choose compares shares"),
    (PassMark(rules=(BOUND,), choose=choosing(of="p50:cost")), "choose compares shares"),
    (PassMark(rules=(BOUND,), choose=choosing(of="pass_at:1", basis="bound")), "no bound of a difference"),
    (PassMark(rules=(BOUND,), choose=choosing(within=None, against="m")), "there is no within"),
    (PassMark(rules=(at_most("1", "cost:total"),), stop=Stop(mode="sealed")), "a run cannot be sealed by it"),
    (PassMark(rules=(at_most("1", "p90:cost"),), stop=Stop(mode="sealed")), "a run cannot be sealed by it"),
    (PassMark(rules=(at_least("1", "agreement:j"),), stop=Stop(mode="sealed")), "a run cannot be sealed by it"),
    (PassMark(rules=(BOUND,), stop=Stop(mode="sealed"), unit="meta.k"), "a run cannot be sealed by it"),
    (
        PassMark(
            rules=(Rule(id="n", not_worse_than="m", by="0.1", of="correct", basis="bound"),),
            over="this_set",
            stop=Stop(mode="sealed"),
        ),
        "a run cannot be sealed by it",
    ),
    (
        PassMark(rules=(must_pass("q1"),), unit="meta.k", choose=choosing(basis="bound"), stop=Stop(mode="sealed")),
        "a run cannot be sealed by a choice",
    ),
    (PassMark(rules=(PASSES,), stop=counts()), "attempts.max does not say"),
    (PassMark(**{**COUNTS, "rules": (BOUND,)}, stop=counts()), "a rule at_least of case_pass_rate"),
    (PassMark(**COUNTS, stop=counts().replace(rule="other")), "the counts decide a rule of the mark"),
    (PassMark(**COUNTS, over="this_set", stop=counts()), "counts are of cases"),
    (PassMark(**COUNTS, stop=counts((0,), (1, 1))), "as long as each other"),
    (PassMark(**COUNTS, stop=counts((), ())), "as long as each other"),
    (PassMark(**COUNTS, stop=counts((-1,) * 2001, (9999,) * 2001)), f"up to {MOST_BOUNDARIES}"),
    (PassMark(**COUNTS, stop=counts((-1, 1), (1, 1))), "after case 2 a number of failures would both"),
]


@pytest.mark.parametrize(("mark", "told"), FLAWED)
def test_flawed_mark_is_told_by_its_sentence(mark: PassMark, told: str) -> None:
    """Nothing that a reader sees and no rule looks at, and no bound that nothing proves."""
    assert any(told in problem for problem in mark_problems(mark)), list(mark_problems(mark))


def test_bound_is_had_by_means_and_rates() -> None:
    """And of differences, by what a case has by itself."""
    assert all(map(has_bound, ("correct", "error_rate", "accuracy:label", "share:cost:1", "agreement:j", "pass_hat:3")))
    assert not any(map(has_bound, ("macro_f1:label", "p99:cost", "cost:per_passed", "tokens:total", "pass_at:3")))
    assert has_bound("share:wall_s:8", difference=True) and not has_bound("pass_hat:3", difference=True)
    assert not has_bound("agreement:j", difference=True)


def test_mark_has_bounds_by_a_rule_an_alternative_a_choice_or_counts() -> None:
    """Whatever of it needs to know which attempt it is."""
    plain = PassMark(rules=(at_least("1"),))
    assert not has_bounds(plain)
    assert has_bounds(plain.replace(alternatives=(BOUND,)))
    assert has_bounds(plain.replace(choose=choosing(basis="bound")))
    assert has_bounds(plain.replace(stop=counts()))


# ------------------------------------------------------------------------------------------------------ in its plan


def asked(number: int, *tags: str, **fields: Any) -> PlanCase:
    """Return a case that says which question it is."""
    return case(number, *tags).replace(**{"asked": f"{number:043}", **fields})


CASES = [asked(n) for n in range(1, 7)]
JUDGE = scorer("helpful", name="judge", type="judge")
LABEL = scorer("label", type="label")


def problems(plan: Plan) -> list[str]:
    """Return what a reader refuses of a plan."""
    assert list(mark_problems(plan.pass_mark)) == []
    return list(plan_problems(plan))


def test_sound_plan_has_no_problem() -> None:
    """Bounds, classes, a judge, units, and counts."""
    rules = (
        BOUND,
        at_least("0.5", "accuracy:label", id="l", basis="bound"),
        at_least("0.5", "agreement:judge", id="g", basis="bound"),
        at_least("0.5", "helpful", id="h", basis="bound", correct_for_judge="judge"),
        at_least("0.5", "pass_hat:2", id="p", basis="bound"),
    )
    evidence = Evidence(judge=JudgeEvidence(scorer="judge", agreement="0.8"))
    scorers = [scorer(), JUDGE, LABEL]
    assert problems(plan_of(CASES, *rules, repeats=2, scorers=scorers, evidence=evidence)) == []
    shared = [item.replace(asked=COMMITMENT, unit=COMMITMENT) for item in CASES]
    assert problems(plan_of(shared, BOUND, mark={"unit": "meta.k"})) == []
    assert problems(plan_of(CASES, PASSES, mark={**COUNTED, "stop": counts()})) == []


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (plan_of(CASES, Rule(id="n", not_worse_than="x", by="0", of="correct")), "rule n: it compares with"),
        (plan_of(CASES, BOUND, mark={"choose": choosing(keep="x")}), "choose names a configuration"),
        (plan_of(CASES, BOUND, mark={"choose": choosing(against="x")}), "choose names a configuration"),
        (plan_of(CASES, at_least("0.5", "agreement:correct")), "correct is no judge of the plan"),
        (plan_of(CASES, at_least("0.5", "accuracy:correct")), "correct is no metric of label scorers alone"),
        (plan_of(CASES, at_least("0.5", "macro_f1:correct")), "correct is no metric of label scorers alone"),
        (plan_of(CASES, at_least("0", basis="bound", correct_for_judge="correct")), "not given by one judge alone"),
        (
            plan_of(CASES, BOUND, evidence=Evidence(judge=JudgeEvidence(scorer="correct", agreement="1"))),
            "correct is no judge of the plan",
        ),
        (plan_of(CASES, BOUND, mark={"unit": "meta.k"}), "a case has a unit where the mark says"),
        (plan_of([asked(1, unit=COMMITMENT), *CASES[1:]], BOUND), "a case has a unit where the mark says"),
        (plan_of([asked(1, asked=f"{2:043}"), *CASES[1:]], BOUND), "cases q1 and q2 ask the same"),
        (
            plan_of([asked(n, asked=COMMITMENT, unit=f"{n:043}") for n in (1, 2)], BOUND, mark={"unit": "meta.k"}),
            "cases q1 and q2 ask the same",
        ),
        (plan_of([case(1), *CASES[1:]], BOUND), "every case says which question it is"),
        (plan_of(CASES, at_least("0.5", "pass_hat:2", basis="bound"), repeats=3), "every case has so many repeats"),
        (plan_of(CASES, BOUND, repeats=11, mark={"stop": Stop(mode="sealed")}), "more than 10 repeats"),
        (
            plan_of(
                CASES,
                at_least("0.5", "trial_pass_rate"),
                repeats=11,
                mark={"stop": Stop(mode="sealed"), "choose": choosing(basis="bound")},
            ),
            "more than 10 repeats",
        ),
        (plan_of(CASES[:4], PASSES, mark={**COUNTED, "stop": counts()}), "5 numbers, and there are 4 cases"),
        (plan_of(CASES, PASSES, mark={**COUNTED, "stop": counts(), "confidence": "0.97"}), "in 0.0312 of runs"),
        (
            plan_of(
                CASES,
                PASSES,
                mark={**COUNTED, "stop": counts()},
                configurations=[configuration("m"), configuration("n")],
            ),
            "in 0.0312 of runs, more than the 0.0250",
        ),
        (
            plan_of(CASES, must_pass("q1"), scorers=[scorer("p95:cost")]),
            "a scorer's metric has the name of a rate, or of another quantity",
        ),
    ],
)
def test_mark_that_does_not_fit_its_plan_is_told_by_its_sentence(plan: Plan, told: str) -> None:
    """A name that is not there, a question that counts twice, a promise that repeats or attempts break."""
    assert any(told in problem for problem in problems(plan)), problems(plan)


def test_plan_of_estimates_may_leave_out_what_bounds_need() -> None:
    """So every plan that was signed before there were bounds is as sound as it was."""
    twice = [case(n).replace(asked=COMMITMENT) for n in (1, 2)]
    assert problems(plan_of([*twice, case(3)], at_least("0.5"), repeats=20)) == []


@given(cases=st.integers(1, 30), allowed=st.integers(0, 5), threshold=st.sampled_from(["0.5", "0.8", "0.95"]))
def test_table_that_is_read_at_its_end_accepts_as_the_binomial_does(cases: int, allowed: int, threshold: str) -> None:
    """One boundary after the last case is a fixed test."""
    most = min(allowed, cases - 1)
    stop = counts((-1,) * (cases - 1) + (most,), (*range(2, cases + 1), most + 1))
    failing = 1 - float(threshold)
    wanted = sum(comb(cases, k) * failing**k * (1 - failing) ** (cases - k) for k in range(most + 1))
    assert false_acceptance(stop, threshold) == pytest.approx(wanted, abs=1e-12)
