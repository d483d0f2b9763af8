# SPDX-License-Identifier: Apache-2.0
"""Rules on a baseline: regressed, new, changed, removed and allowed cases; unknown cells on either side; comparisons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_runs import NAME, Repeat, board_of, case, configuration, judged, plan_of, play, scorer

from trialplate.record.decisions import RuleResult
from trialplate.record.matrix import narrow
from trialplate.record.values import Baseline, MatrixLine, PassMark, Plan, PlanCase, Rule, Selector
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances, Former
from trialplate.rules.mark_shape import mark_problems
from trialplate.rules.passmark import evaluate, sealed
from trialplate.rules.regressions import baseline_rules, scored_alike

ROOT = "sha256:" + "0" * 64
NAMED = Baseline(run_id="20260101T000000000Z-00000000", size=9, root=ROOT, test_set=ROOT)
RATCHET = Rule(id="ratchet", no_regressions="baseline")
Rows = Sequence[Sequence[Repeat]]


def former(rows: Rows, plan: Plan | None = None, name: str = NAME, **fields: Any) -> Former:
    """Return an earlier run with these results."""
    repeats = max((len(row) for row in rows), default=1) or 1
    made = plan or plan_of(len(rows), repeats=repeats, configurations=[configuration(name)], **fields)
    return Former(made, narrow(made, None), board_of(rows, name))


def told(then: Former | None, now: Rows, rule: Rule = RATCHET, plan: Plan | None = None, **fields: Any) -> RuleResult:
    """Return what one rule comes to for a run with these results."""
    mark = {"baseline": NAMED, **fields.pop("mark", {})}
    given = Circumstances(baseline=then)
    if plan is not None:
        plan = plan.replace(pass_mark=plan.pass_mark.replace(rules=(rule,), **mark))
    (result,) = judged(now, rule, plan=plan, given=given, mark=mark, **fields).rules
    return result


def kinds(result: RuleResult) -> dict[str, tuple[str, int, tuple[str, ...]]]:
    """Return what the cases of each kind came to, how many they are, and which are named."""
    return {item.value: (item.result, item.cases, item.failing) for item in result.copies}


# --------------------------------------------------------------------------------------------------- case by case


@pytest.mark.parametrize(
    ("then", "now", "result"),
    [
        (1, 1, "pass"),
        (1, 0, "fail"),
        (0, 0, "pass"),
        (0, 1, "pass"),
        (1, "error", "inconclusive"),
        (1, "limit", "fail"),
        (1, "incompatible", "fail"),
        (1, None, "inconclusive"),
        (0, "error", "pass"),
        ("error", 0, "fail"),
        ("skipped", 0, "fail"),
        (None, 0, "fail"),
        ("incompatible", 0, "fail"),
        ("incompatible", "incompatible", "fail"),
        ("error", "error", "inconclusive"),
        ("limit", 0, "pass"),
    ],
)
def test_case_by_what_it_was_and_is(then: Repeat, now: Repeat, result: str) -> None:
    """What the baseline does not know counts as passed there: whoever is compared gains nothing by its outage."""
    found = told(former([[then], [1]]), [[now], [1]])
    assert found.result == result
    assert found.reason == {"pass": "met", "fail": "regressed", "inconclusive": "unknown_cells"}[result]
    assert found.failing == (() if result == "pass" else ("q1",))
    assert kinds(found) == {"unchanged": (result, 2, found.failing)}
    assert (found.cells, found.cases) == (2, 2)


@pytest.mark.parametrize("cause", ["timeout", "rejected_request"])
def test_failure_of_the_baseline_that_a_bad_setting_brings_about_is_unknown(cause: str) -> None:
    """Else a baseline that was sent bad requests would excuse whatever follows it."""
    then = former([[1], [1]])
    then.board.cells[NAME, "q1", 1].outcome = "failed"
    assert told(then, [[0], [1]]).result == "pass"
    then.board.cells[NAME, "q1", 1].cause = cause
    assert told(then, [[0], [1]]).result == "fail"


@pytest.mark.parametrize(
    ("fold", "then", "now", "result"),
    [
        ("all", [1, 1, 1], [1, 1, 0], "fail"),
        ("all", [1, 1, 0], [0, 0, 0], "pass"),
        ("majority", [1, 1, 0], [1, 0, 0], "fail"),
        ("majority", [1, 1, 0], [0, 1, 1], "pass"),
        ("majority", [1, 1, 0], [1, 0, "error"], "inconclusive"),
        ("majority", [1, "error", 0], [0, 0, 0], "fail"),
        ("any", [0, 0, 0], [0, 0, 0], "pass"),
        ("any", [1, 0, 0], [0, 0, "error"], "inconclusive"),
        ("any", [1, 0, 0], [0, 0, 0], "fail"),
    ],
)
def test_repeats_fold_as_the_plan_says(fold: str, then: list[Repeat], now: list[Repeat], result: str) -> None:
    """A case passes by the plan's verdict, on both sides."""
    assert told(former([then], fold="all"), [now], fold=fold).result == result


@pytest.mark.parametrize(
    ("errors", "result"), [("bound", "inconclusive"), ("zero", "fail"), ("exclude", "inconclusive")]
)
def test_unknown_case_under_each_policy(errors: str, result: str) -> None:
    """Left out, a case has not passed; and the baseline's unknown ones are passed under every policy."""
    assert told(former([[1], [1]]), [["error"], [1]], errors=errors).result == result
    assert told(former([["error"], [1]]), [[0], [1]], errors=errors).result == "fail"


def test_one_regression_decides_whatever_is_unknown() -> None:
    """A case that regressed is named alone; those that may have are named where none did."""
    found = told(former([[1], [1], [1]]), [["error"], [0], [1]])
    assert (found.result, found.failing, found.unknown) == ("fail", ("q2",), 1)
    assert told(former([[1], [1], [1]]), [["error"], [1], [None]]).failing == ("q1", "q3")


def test_first_ten_are_named() -> None:
    """A decision has room for ten, and counts the rest."""
    found = told(former([[1]] * 12), [[0]] * 12)
    assert found.failing == tuple(f"q{number}" for number in range(1, 11))
    assert kinds(found)["unchanged"][1] == 12


# --------------------------------------------------------------------------------------- new, changed, removed cases


def test_new_case_must_pass() -> None:
    """It has no former result, so that a failing one is a regression, and an unknown one is open."""
    then = former([[1]])
    assert kinds(told(then, [[1], [1]])) == {"unchanged": ("pass", 1, ()), "new": ("pass", 1, ())}
    assert told(then, [[1], [0]]).failing == ("q2",)
    assert told(then, [[1], [0]]).result == "fail"
    assert told(then, [[1], ["error"]]).result == "inconclusive"


def test_case_that_the_baseline_was_not_asked_is_new() -> None:
    """Its matrix left the case out, and so it knows nothing of it."""
    plan = plan_of(2, lines=[MatrixLine(configurations=(NAME,), cases=Selector(id=("q1",)), repeats=1)])
    found = told(former([[1]], plan), [[1], [0]])
    assert kinds(found) == {"unchanged": ("pass", 1, ()), "new": ("fail", 1, ("q2",))}


def test_removed_case_is_a_regression_whatever_it_came_to() -> None:
    """Else the case that fails would be the one to go."""
    for before in (1, 0, "error"):
        found = told(former([[1], [before]]), [[1]])
        assert kinds(found) == {"unchanged": ("pass", 1, ()), "removed": ("fail", 1, ("q2",))}
        assert (found.result, found.reason, found.failing) == ("fail", "regressed", ("q2",))


def test_every_case_removed_but_those_of_another_name() -> None:
    """Nothing of the baseline is left: all of it is told."""
    found = told(former([[1], [1]]), [[1]], plan=plan_of([case(7)]))
    assert kinds(found)["removed"] == ("fail", 2, ("q1", "q2"))


@pytest.mark.parametrize("before", [1, 0])
@pytest.mark.parametrize(("now", "result"), [(1, "pass"), (0, "fail"), ("error", "inconclusive")])
def test_changed_case_is_as_a_new_one(before: Repeat, now: Repeat, result: str) -> None:
    """The same id over another question is no former result."""
    changed = plan_of([PlanCase(id="q1", commitment="d" * 43)])
    assert kinds(told(former([[before]]), [[now]], plan=changed)) == {
        "changed": (result, 1, () if result == "pass" else ("q1",))
    }


def test_case_that_is_scored_otherwise_is_changed() -> None:
    """Another scorer, or another way of the same, makes another verdict of the same answer."""
    then = former([[0]])
    assert kinds(told(then, [[0]])) == {"unchanged": ("pass", 1, ())}
    assert "unchanged" in kinds(told(then, [[0]], scorers=[scorer("correct", name="renamed")]))
    for other in (
        scorer(version=2),
        scorer(settings={"case_sensitive": True}),
        scorer("correct", type="contains"),
        scorer("correct", plugin="other 1.0"),
    ):
        assert kinds(told(then, [[0]], scorers=[other])) == {"changed": ("fail", 1, ("q1",))}
    more = [scorer(), scorer("polite", name="polite", cases=Selector(id=("q2",)))]
    found = told(former([[0], [0]]), [[0], [0]], scorers=more)
    assert kinds(found) == {"unchanged": ("pass", 1, ()), "changed": ("fail", 1, ("q2",))}


def test_scorer_that_asks_another_model_scores_otherwise() -> None:
    """A judge is its model too, whatever it is called."""
    asks = scorer("correct", type="judge", helper="judge")
    one, other = (
        plan_of(1, scorers=[asks], helpers=(configuration("judge", model_id=model),)) for model in ("m-1", "m-2")
    )
    assert scored_alike(one, one, "correct")
    assert not scored_alike(one, other, "correct")
    assert kinds(told(former([[0]], one), [[0]], plan=other)) == {"changed": ("fail", 1, ("q1",))}


def test_pilot_does_not_take_what_it_left_out_for_removed() -> None:
    """A pilot asks some of the cases, and the others are in its test set still."""
    from trialplate.record.entries import Narrowing

    plan = plan_of(2, RATCHET, mark={"baseline": NAMED})
    matrix = narrow(plan, Narrowing(limit=1))
    found = evaluate(plan, matrix, NAME, board_of([[1]]), Circumstances(baseline=former([[1], [1]]), selection="pilot"))
    assert kinds(found.rules[0]) == {"unchanged": ("pass", 1, ())}


# ------------------------------------------------------------------------------------------------------------- allow


def test_allowed_case_may_be_worse_or_gone_and_is_told() -> None:
    """Of an allowed case that needs it, it is said so; of one that holds anyway, nothing."""
    rule = Rule(id="ratchet", no_regressions="baseline", allow=("q1", "q3"))
    found = told(former([[1], [1], [1]]), [[0], [1]], rule)
    assert (found.result, found.failing) == ("pass", ())
    assert kinds(found) == {"unchanged": ("pass", 1, ()), "allowed": ("pass", 2, ("q1", "q3"))}
    assert kinds(told(former([[1], [1]]), [[1], [1]], rule)) == {"unchanged": ("pass", 2, ())}
    assert told(former([[1], [1]]), [[0], [0]], rule).failing == ("q2",)
    assert told(former([[1], [1]]), [["error"], [1]], rule).result == "pass"


# ------------------------------------------------------------------------------------------------------------- where


def test_where_bounds_what_is_compared_on_both_sides() -> None:
    """Cases outside of it may fail and go."""
    rule = Rule(id="ratchet", no_regressions="baseline", where=Selector(tag=("critical",)))
    plan = plan_of([case(1, "critical"), case(2), case(3)])
    then = former([[1], [1], [1]], plan)
    now = plan_of([case(1, "critical"), case(2)])
    assert kinds(told(then, [[1], [0]], rule, now)) == {"unchanged": ("pass", 1, ())}


def test_case_that_lost_its_tag_is_gone_from_the_rule() -> None:
    """To take off the tag is one way to remove it."""
    rule = Rule(id="ratchet", no_regressions="baseline", where=Selector(tag=("critical",)))
    then = former([[1], [1]], plan_of([case(1, "critical"), case(2, "critical")]))
    found = told(then, [[1], [0]], rule, plan_of([case(1, "critical"), case(2)]))
    assert kinds(found)["removed"] == ("fail", 1, ("q2",))


# ---------------------------------------------------------------------------------------------- which configuration


def test_named_configuration_is_what_every_one_is_compared_with() -> None:
    """Without a name each is compared with its own name."""
    then = former([[1]], name="old")
    assert (told(then, [[0]]).result, told(then, [[0]]).reason) == ("inconclusive", "baseline_missing")
    named = {"baseline": NAMED.replace(configuration="old")}
    assert told(then, [[0]], mark=named).result == "fail"
    assert told(then, [[1]], mark=named).result == "pass"


def test_without_its_baseline_a_rule_is_inconclusive() -> None:
    """What is not here shows neither."""
    for rule in (RATCHET, Rule(id="not-worse", not_worse_than="baseline", by="0", of="correct")):
        found = told(None, [[1]], rule)
        assert (found.result, found.reason) == ("inconclusive", "baseline_missing")


# --------------------------------------------------------------------------------------------------- not worse than


def beside(then: Former | None, now: Rows, by: str = "0", **fields: Any) -> RuleResult:
    """Return what a comparison of estimates with the baseline comes to."""
    rule = Rule(id="not-worse", not_worse_than="baseline", by=by, of=fields.pop("of", "correct"))
    return told(then, now, rule, **fields)


def test_difference_is_taken_over_the_same_cases() -> None:
    """By exactly as much as it may is still not worse."""
    then = former([[1], [1], [1], [0]])
    found = beside(then, [[1], [1], [0], [0]], "0.25")
    assert (found.result, found.low, found.high, found.threshold) == ("pass", "-1/4", "-1/4", "-1/4")
    assert beside(then, [[1], [0], [0], [0]], "0.25").result == "fail"
    assert beside(then, [[1], [1], [1], [0]], "-0.01").result == "fail"
    assert beside(then, [[1], [1], [1], [1]], "-0.25").result == "pass"


def test_unknown_cells_of_the_baseline_may_have_been_the_best() -> None:
    """An outage of the baseline lowers no bar, whatever the mark's policy is."""
    then = former([[1], ["error"]])
    for errors in ("bound", "zero", "exclude"):
        found = beside(then, [[1], [0]], errors=errors)
        assert (found.result, found.reason, found.low, found.high) == ("inconclusive", "unknown_cells", "-1/2", "0/1")


@pytest.mark.parametrize("of", ["correct", "case_pass_rate", "share:wall_s:8"])
def test_another_test_set_is_not_compared(of: str) -> None:
    """By its root, whatever its cases are called."""
    plan = plan_of(1)
    other = plan.replace(test_set=plan.test_set.replace(root="sha256:" + "1" * 64))
    found = beside(former([[1]], other), [[1]], of=of)
    assert (found.result, found.reason) == ("inconclusive", "test_set_differs")


def test_scores_of_other_scorers_are_not_compared() -> None:
    """Of a metric, those that yield it; of a rate, all of them; a measure has none."""
    more = [scorer(), scorer("polite", name="polite")]
    then = former([[1]])
    assert beside(then, [[1]], scorers=more).result == "pass"
    assert beside(then, [[1]], of="trial_pass_rate", scorers=more).reason == "scorers_differ"
    assert beside(then, [[1]], scorers=[scorer(version=2)]).reason == "scorers_differ"
    assert beside(then, [[1]], of="share:wall_s:8", scorers=[scorer(version=2)]).reason == "met"


def test_case_that_the_baseline_was_not_asked_is_not_compared() -> None:
    """A mean over fewer cases is another number."""
    plan = plan_of(2, lines=[MatrixLine(configurations=(NAME,), cases=Selector(id=("q1",)), repeats=1)])
    assert beside(former([[1]], plan), [[1], [1]]).reason == "not_asked"


def test_case_g12_decides_by_the_written_rule() -> None:
    """G12: three repeats between 0.80 and 0.90 beside three between 0.80 and 1.00. The rule says by how much, no more."""
    given = json.loads((Path(__file__).parents[2] / "vectors/cases/decide/gate_noise.json").read_text())

    def rows(scores: Sequence[float]) -> list[list[Repeat]]:
        return [[1 if number < round(score * 100) else 0 for score in scores] for number in range(100)]

    then = former(rows(given["best"]))
    gap = Fraction(sum(round(s * 100) for s in given["best"]) - sum(round(s * 100) for s in given["candidate"]), 300)
    assert gap == Fraction(1, 25)
    for by, result in (("0.04", "pass"), ("0.03", "fail")):
        found = beside(then, rows(given["candidate"]), by)
        assert (found.result, found.low) == (result, "-1/25")
    shown = told(
        then, rows(given["candidate"]), Rule(id="nw", not_worse_than="baseline", by="0.03", of="correct", basis="bound")
    )
    assert (shown.result, shown.reason) == ("inconclusive", "straddles")


# ----------------------------------------------------------------------------------------------------- of the mark


def test_rules_that_rest_on_a_baseline_are_found_through_alternatives() -> None:
    """An `any_of` rests on it if one of its members does."""
    either = Rule(id="either", any_of=("deep", "flat"))
    flat, deep = Rule(id="flat", at_least="1", of="correct"), Rule(id="deep", any_of=("ratchet",))
    mark = PassMark(rules=(either, flat.replace(id="other")), alternatives=(flat, deep, RATCHET))
    assert baseline_rules(mark) == {"ratchet", "deep", "either"}
    assert baseline_rules(PassMark(rules=(Rule(id="n", not_worse_than="good", of="correct"),))) == set()


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        (PassMark(rules=(RATCHET,)), "a mark names a baseline where a rule compares with one, and nowhere else"),
        (
            PassMark(rules=(Rule(id="f", at_least="1", of="c"),), baseline=NAMED),
            "a mark names a baseline where a rule compares with one, and nowhere else",
        ),
        (PassMark(rules=(RATCHET.replace(of="correct"),), baseline=NAMED), "no_regressions takes no of"),
        (PassMark(rules=(RATCHET.replace(require="all"),), baseline=NAMED), "no_regressions takes no require"),
        (PassMark(rules=(Rule(id="f", at_least="1", of="c", allow=("q1",)),)), "at_least takes no allow"),
    ],
)
def test_mark_that_is_ambiguous_about_its_baseline(mark: PassMark, problem: str) -> None:
    """Nothing that a reader sees and no rule looks at."""
    (found,) = mark_problems(mark)
    assert problem in found


def test_alternative_is_enough_where_a_case_regressed() -> None:
    """Kleene's or, over rules of both kinds."""
    either = Rule(id="either", any_of=("ratchet", "floor"))
    floor = Rule(id="floor", at_least="0.5", of="correct")
    found = told(former([[1], [1]]), [[0], [1]], either, mark={"alternatives": (RATCHET, floor)})
    assert found.result == "pass"
    assert {item.value: (item.result, item.failing) for item in found.copies} == {
        "ratchet": ("fail", ("q1",)),
        "floor": ("pass", ()),
    }


def test_decision_does_not_depend_on_the_order_of_trials() -> None:
    """The board of the baseline may have been filled in any order."""
    forwards = former([[1], [0], [1]])
    backwards = Board()
    for number, value in ((3, 1.0), (2, 0.0), (1, 1.0)):
        play(backwards, (NAME, f"q{number}", 1), value)
    now: Rows = [[0], [1], [1]]
    assert told(forwards, now) == told(forwards.replace(board=backwards), now)


def test_stop_rule_seals_nothing_that_a_missing_baseline_leaves_open() -> None:
    """Whoever stops a run without the baseline at hand knows neither that a rule holds nor that it fails."""
    plan = plan_of(2, RATCHET, mark={"baseline": NAMED})
    matrix, now = narrow(plan, None), board_of([[1], [1]])
    assert sealed(plan, matrix, now, Circumstances()) == {NAME: False}
    given = Circumstances(baseline=former([[1], [1]]))
    assert sealed(plan, matrix, now, given) == {NAME: True}
    assert sealed(plan, matrix, board_of([[0], [None]]), given) == {NAME: True}
    assert sealed(plan, matrix, board_of([[1], [None]]), given) == {NAME: False}
