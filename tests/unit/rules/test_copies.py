# SPDX-License-Identifier: Apache-2.0
"""Copies of a rule for each tag, kind or suite; a rule's fewest cases; chances over k of a case's repeats."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_runs import Repeat, at_least, at_most, board_of, case, judged, must_pass, plan_of, scorer

from trialplate.record.matrix import narrow
from trialplate.record.values import MatrixLine, PlanCase, Rule, Selector
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import evaluate
from trialplate.rules.quantities import within_draws

VECTORS = Path(__file__).parents[2] / "vectors"
PASSK = json.loads((VECTORS / "cases" / "decide" / "passk.json").read_text(encoding="utf-8"))
_SHARED = json.loads((VECTORS / "decisions" / "decision_vectors.json").read_text(encoding="utf-8"))["vectors"]

CASES = [case(1, "math"), case(2, "math", "geo"), case(3, "geo"), case(4)]


def by_tag(threshold: str = "0.5", **fields: Any) -> Rule:
    """Return a floor for each tag."""
    return at_least(threshold, **{"each": "tag", **fields})


def told(rows: list[list[Repeat]], rule: Rule, cases: list[PlanCase] = CASES, **fields: Any) -> Any:
    """Return what the one rule comes to over these cases."""
    plan = plan_of(cases, rule, repeats=len(rows[0]), **fields)
    return judged(rows, plan=plan).rules[0]


def test_copy_for_each_tag_has_a_result_of_its_own() -> None:
    """A case with two tags stands under both; one without stands under (untagged)."""
    result = told([[1], [1], [0], [0]], by_tag())
    assert [(copy.value, copy.result, copy.low, copy.cases) for copy in result.copies] == [
        ("(untagged)", "fail", "0/1", 1),
        ("geo", "pass", "1/2", 2),
        ("math", "pass", "1/1", 2),
    ]
    assert (result.result, result.reason, result.cases, result.cells) == ("fail", "below", 4, 4)
    assert (result.low, result.high, result.threshold) == (None, None, "1/2")


def test_rule_with_copies_holds_only_if_every_copy_does() -> None:
    """Three quarters of all are no comfort to the tag that fails."""
    assert told([[1], [1], [1], [0]], at_least("0.75")).result == "pass"
    assert told([[1], [1], [1], [0]], by_tag("0.75")).result == "fail"
    assert told([[1], [1], [1], [1]], by_tag("0.75")).result == "pass"


def test_copy_with_an_unknown_cell_leaves_the_rule_open_unless_another_fails() -> None:
    """Three-valued: a failing copy rejects whatever the others may come to."""
    assert told([[1], ["error"], [1], [1]], by_tag("0.75")).reason == "unknown_cells"
    assert told([[1], ["error"], [1], [0]], by_tag("0.75")).result == "fail"


def test_copy_with_too_few_cases_is_inconclusive_whatever_it_came_to() -> None:
    """Decisions 2.2: too few cases decide nothing, neither way."""
    for last in (0, 1):
        result = told([[1], [1], [1], [last]], by_tag(cases=2))
        assert [copy.reason for copy in result.copies] == ["too_few_cases", "met", "met"]
        assert (result.result, result.reason) == ("inconclusive", "too_few_cases")


def test_rule_of_its_own_fewest_cases_is_inconclusive_below_it() -> None:
    """Without copies the number is about the rule; a case rule has it too."""
    assert told([[1], [1], [1], [1]], at_least("0.5", cases=5)).reason == "too_few_cases"
    assert told([[1], [1], [1], [1]], at_least("0.5", cases=4)).result == "pass"
    assert told([[1], [1], [1], [1]], must_pass("q1", cases=2)).reason == "too_few_cases"


def test_where_and_each_look_at_the_selected_cases_only() -> None:
    """Copies are made of what the rule is about."""
    result = told([[1], [1], [0], [0]], by_tag(where=Selector(tag=("math",))))
    assert [(copy.value, copy.cases) for copy in result.copies] == [("geo", 1), ("math", 2)]


def test_each_kind_and_suite_make_copies_too() -> None:
    """A case without a suite stands under (no suite)."""
    cases = [PlanCase(id=f"q{n}", suite=suite, commitment="c" * 43) for n, suite in enumerate(("a", "b", None), 1)]
    rows: list[list[Repeat]] = [[1], [0], [1]]
    assert [(c.value, c.result) for c in told(rows, by_tag(each="suite"), cases).copies] == [
        ("(no suite)", "pass"),
        ("a", "pass"),
        ("b", "fail"),
    ]
    assert [(c.value, c.low) for c in told(rows, by_tag(each="kind"), cases).copies] == [("prompt", "2/3")]


def test_metric_makes_copies_of_the_cases_that_it_is_measured_on() -> None:
    """A tag of cases that a scorer does not apply to is no copy that could never be told."""
    plan = plan_of(CASES, by_tag(), scorers=[scorer(cases=Selector(tag=("math",)))])
    (result,) = judged([[1], [1], [0], [0]], plan=plan).rules
    assert [copy.value for copy in result.copies] == ["geo", "math"]


def test_copy_that_the_matrix_leaves_out_is_not_passed() -> None:
    """A matrix without the hard tag leaves its copy open."""
    lines = [MatrixLine(configurations=("m",), cases=Selector(tag=("math",)), repeats=1)]
    plan = plan_of(CASES, by_tag(), lines=lines)
    (result,) = judged([[1], [1], [None], [None]], plan=plan).rules
    assert [(copy.value, copy.reason) for copy in result.copies] == [
        ("(untagged)", "not_asked"),
        ("geo", "not_asked"),
        ("math", "met"),
    ]
    assert result.result == "inconclusive"


def test_ceiling_for_each_tag_is_bounded_for_each() -> None:
    """at_most copies take unknown cells at 1, also where the mark puts them at zero."""
    for errors in ("bound", "zero"):
        result = told([[0], [0], ["error"], [0]], at_most("0.5", each="tag"), errors=errors)
        assert [copy.result for copy in result.copies] == ["pass", "pass", "pass"]
        worse = told([["error"], ["error"], [0], [0]], at_most("0.5", each="tag"), errors=errors)
        assert [copy.result for copy in worse.copies] == ["pass", "pass", "inconclusive"]


# ---------------------------------------------------------------------------------------------- chances over repeats


@pytest.mark.parametrize("vector", [pytest.param(v, id=v["id"]) for v in _SHARED if v["group"] == "passk"])
def test_passk_shared_vector_holds(vector: dict[str, Any]) -> None:
    """Chen et al. 2021 and Yao et al. 2024, as exact fractions."""
    given, kind = vector["inputs"], vector["fn"].removeprefix("mean_").removesuffix("_k")
    tasks = given.get("tasks") or [[given["n"], given["c"]]]
    found = [within_draws(f"{kind}:{given['k']}", passed, passed, total)[0] for total, passed in tasks]
    if vector["expected"] is None:
        assert found == [None]
        return
    mean = sum(item for item in found if item is not None) / Fraction(len(found))
    assert abs(float(mean) - vector["expected"]) <= vector["tolerance"]


def rows_of(tasks: list[list[int]]) -> list[list[Repeat]]:
    """Return a row per (repeats, passes)."""
    return [[1] * passed + [0] * (total - passed) for total, passed in tasks]


def chance(tasks: list[list[int]], of: str, **fields: Any) -> Any:
    """Return what a floor of 0 over a chance comes to."""
    lines = [
        MatrixLine(configurations=("m",), cases=Selector(id=(f"q{n}",)), repeats=total)
        for n, (total, _) in enumerate(tasks, start=1)
    ]
    plan = plan_of(len(tasks), at_least("0", of=of), lines=lines, **fields)
    return evaluate(plan, narrow(plan, None), "m", board_of(rows_of(tasks)), Circumstances()).rules[0]


@pytest.mark.parametrize("given", [item for item in PASSK if "n" in item])
def test_pass_at_k_of_one_case_is_the_unbiased_estimate_or_nothing(given: dict[str, Any]) -> None:
    """T05: 0 of 2 with k = 5 is unknown, and never 1."""
    result = chance([[given["n"], given["c"]]], f"pass_at:{given['k']}")
    if given["pass_at_k"] is None:
        assert (result.result, result.reason, result.low) == ("inconclusive", "k_exceeds_repeats", None)
    else:
        assert Fraction(result.low) == Fraction(str(given["pass_at_k"]))


@pytest.mark.parametrize("given", [item for item in PASSK if "tasks" in item])
def test_pass_hat_k_is_never_averaged_over_the_cases_that_have_enough(given: dict[str, Any]) -> None:
    """T07: with three repeats of one case, pass^4 is unknown and that case is named; pass^2 is the mean of all three."""
    result = chance(given["tasks"], f"pass_hat:{given['k']}")
    if given["pass_hat_k"] is None:
        assert (result.reason, result.failing) == ("k_exceeds_repeats", ("q2",))
    else:
        assert abs(float(Fraction(result.low)) - given["pass_hat_k"]) < 1e-9
        assert result.low == "5/6"


def test_unknown_repeats_are_failures_then_passes_of_all_that_were_planned() -> None:
    """Two passes and a lost one of three: pass^3 is 0 or 1, pass^2 a third or 1."""
    row: list[list[Repeat]] = [[1, 1, "error"]]
    for of, low, high in (("pass_hat:3", "0/1", "1/1"), ("pass_hat:2", "1/3", "1/1"), ("pass_at:1", "2/3", "1/1")):
        result = judged(row, at_least("0.5", of=of)).rules[0]
        assert (result.low, result.high) == (low, high)
    zero = judged(row, at_least("0.5", of="pass_hat:2"), errors="zero").rules[0]
    assert zero.low == zero.high == "1/3"
    excluded = judged(row, at_least("0.5", of="pass_hat:3"), errors="exclude").rules[0]
    assert excluded.reason == "k_exceeds_repeats"
    assert judged(row, at_least("0.5", of="pass_hat:2"), errors="exclude").rules[0].low == "1/1"


def test_pass_hat_is_not_the_power_of_the_rate() -> None:
    """A21: two of three, two drawn: one third, and not four ninths."""
    assert within_draws("pass_hat:2", 2, 2, 3) == (Fraction(1, 3), Fraction(1, 3))
    assert within_draws("pass_at:2", 2, 2, 3) == (1, 1)
    assert within_draws("pass_hat:3", 2, 2, 3) == (0, 0)
