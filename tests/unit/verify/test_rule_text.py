# SPDX-License-Identifier: Apache-2.0
"""Rules over bounds in words: what they ask, what was measured, what it shows, why, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, get_args

import pytest
from small_runs import DIGEST, NAME, Repeat, at_least, at_most, board_of, case, configuration, matrix_of, plan_of

from trialplate.record.decisions import Choice, CopyResult, Decision, Result, RuleResult
from trialplate.record.matrix import narrow
from trialplate.record.values import (
    AttemptsRule,
    Choose,
    EntryRef,
    Evidence,
    JudgeEvidence,
    Plan,
    Rule,
)
from trialplate.rules.circumstances import Circumstances, Grades
from trialplate.rules.outlook import outlooks
from trialplate.rules.passmark import evaluate
from trialplate.verify.decision_text import chosen_text, decision_lines, within_text
from trialplate.verify.findings import Report
from trialplate.verify.rule_text import (
    HOLDS,
    WORDS,
    copy_text,
    reason_text,
    rule_text,
)
from trialplate.verify.text import decimal_text, percent_text

Rows = Sequence[Sequence[Repeat]]


def floor(threshold: str, **fields: Any) -> Rule:
    """Return a floor over a bound."""
    return at_least(threshold, **{"basis": "bound", **fields})


def rows(passed: int, failed: int, unknown: int = 0, repeats: int = 1) -> Rows:
    """Return cases that pass, fail, or never began."""
    return [[1] * repeats] * passed + [[0] * repeats] * failed + [[None] * repeats] * unknown


def lines(plan: Plan, results: Rows, *, beside: Rows = (), attempt: int = 0, **given: Any) -> list[str]:
    """Return the lines of a decision, as a gate prints them."""
    board = board_of(results)
    board.cells |= board_of(beside, name="n").cells
    around = Circumstances(attempts={NAME: attempt} if attempt else {}, **given)
    own = evaluate(plan, narrow(plan, None), NAME, board, around)
    made = Decision(
        run_id="20260101T000000000Z-00000000",
        configuration=NAME,
        decision=own.decision,
        reasons=own.reasons,
        plan=DIGEST,
        pass_mark=EntryRef(seq=1, digest=DIGEST),
        record_size=1,
        record_root=DIGEST,
        evidence=own.evidence,
        rules=own.rules,
        attempts=(),
        attempt=attempt,
        choice=own.choice,
    )
    looks = outlooks(plan, matrix_of(plan), NAME, board, around)
    return list(decision_lines(made, plan.pass_mark, Report("runs/x"), looks))


def told(plan: Plan, results: Rows, word: str = "rule", **fields: Any) -> str:
    """Return the one line of a decision that begins with a word."""
    (line,) = [line for line in lines(plan, results, **fields) if line.strip().startswith(word)]
    return line.strip()


# ---------------------------------------------------------------------------------------------------- thresholds


def test_a_floor_that_is_met_says_what_it_shows_and_its_margin() -> None:
    """The whole sentence, once: asked, measured, over how much, shown, at which error, what would turn it."""
    there = [configuration(), configuration("n")]
    assert told(plan_of(300, floor("0.9"), configurations=there), rows(285, 15), beside=rows(0, 0)) == (
        "rule floor: correct at least 0.9 with 95 % confidence: 0.9500 over 300 cells of 300 cases, which shows between "
        "0.9189 and 0.9717 (alpha 1/40); it holds (5 more failing cases would leave it open)"
    )


@pytest.mark.parametrize(
    ("rule", "results", "why"),
    [
        (
            floor("0.9"),
            rows(95, 5),
            "it cannot be told (straddles: the mark lies between the bounds; 1 more passing case would pass it; "
            "11 more failing cases would fail it; about 16 more cases with the same results would show it)",
        ),
        (
            floor("0.9"),
            rows(90, 10),
            "it cannot be told (straddles: the mark lies between the bounds; 6 more passing cases would pass it; "
            "6 more failing cases would fail it; no number of cases with the same results would show it: "
            "what was measured is no better than the mark)",
        ),
        (
            floor("0.9"),
            rows(10, 0),
            "it cannot be told (unreachable: not even perfect results of so many cases could show it; "
            "it takes 29 cases for that; 4 more failing cases would fail it)",
        ),
        (floor("0.9"), rows(60, 40), "it does not hold (25 more passing cases would leave it open)"),
        (floor("0"), rows(5, 5), "5 more failing cases would leave it open)"),
        (floor("0.9"), rows(95, 1, 4), "it cannot be told (4 unknown cells could turn it)"),
        (at_most("0.1", basis="bound"), rows(2, 98), "it holds (3 more passing cases would leave it open)"),
        (floor("0.741134449107"), rows(10, 0), "within_rounding: a bound is too near to the mark to say"),
        (floor("0.5", of="share:wall_s:8"), rows(30, 0), "more cases beyond the limit would leave it open)"),
        (at_most("0.2", "error_rate", basis="bound"), rows(60, 0), "more cases of errors alone would leave it open)"),
        (floor("0.5", cases=20), rows(10, 0), "it cannot be told (too_few_cases: fewer than 20)"),
    ],
)
def test_a_bound_says_why_and_what_would_help(rule: Rule, results: Rows, why: str) -> None:
    """Golden ends of the sentence, one for each thing that can come of it."""
    line = told(plan_of(len(results), rule), results)
    assert why in line


def test_over_this_set_is_said_and_so_are_clusters() -> None:
    """What a bound speaks of is never left to be guessed."""
    plan = plan_of(10, floor("0.9"), repeats=3, mark={"over": "this_set"})
    assert told(plan, rows(10, 0, repeats=3), "bounds") == (
        "bounds: of exactly these cases, asked again: they say nothing of others"
    )
    cases = [case(n).replace(unit=str(n // 5).rjust(43, "u")) for n in range(1, 51)]
    plan = plan_of(cases, floor("0.5"), mark={"unit": "meta.page"})
    assert told(plan, rows(45, 5), "bounds") == (
        "bounds: of work of which these cases are a sample; cases that share meta.page count as one"
    )
    assert "of 50 cases in 11 clusters, which shows" in told(plan, rows(45, 5))
    assert "at most" in told(plan, rows(45, 5)).partition("would leave it open")[0]


def test_a_policy_on_unknown_cells_is_said() -> None:
    """T02, T15: `errors: zero` and `exclude` stand beside what they made."""
    for errors, made in (("zero", "count as 0"), ("exclude", "are left out")):
        plan = plan_of(3, at_least("0.5"), errors=errors)
        assert told(plan, [[1], [1], ["error"]], "errors") == (
            f"errors: unknown cells {made}, as the mark says (errors: {errors})"
        )
    assert not [line for line in lines(plan_of(3, at_least("0.5")), rows(3, 0)) if "errors:" in line]


def test_an_estimate_is_followed_by_what_its_cases_show() -> None:
    """Ten of ten prove little, and the line below says how little; a floor that failed says the other end."""
    plan = plan_of(10, at_least("0.9"))
    assert told(plan, rows(10, 0), "these") == "these 10 cases show at least 0.7411 with 95 % confidence"
    assert told(plan, rows(5, 5), "these") == "these 10 cases show at most 0.7776 with 95 % confidence"
    assert told(plan_of(1, at_least("0.9")), rows(1, 0), "this") == (
        "this 1 case shows at least 0.0500 with 95 % confidence"
    )


# -------------------------------------------------------------------------------------- attempts, copies, comparisons


@pytest.mark.parametrize(
    ("attempt", "rule", "line"),
    [
        (1, AttemptsRule(), None),
        (2, AttemptsRule(), "attempt 2: its bounds have half the error of the first"),
        (3, AttemptsRule(max=4), "attempt 3 of 4 allowed: its bounds have 1/4 of the error of the first"),
        (1, AttemptsRule(spend=True), "attempt 1: its bounds have half the error of the mark"),
        (90, AttemptsRule(), "attempt 90: its bounds have 1/2^89 of the error of the first"),
        (1, AttemptsRule(max=2), "attempt 1 of 2 allowed"),
    ],
)
def test_an_attempt_says_how_much_of_the_error_it_has(attempt: int, rule: AttemptsRule, line: str | None) -> None:
    """Whoever tries twice pays for it, and is told."""
    plan = plan_of(50, floor("0.5"), mark={"attempts": rule})
    found = [item.strip() for item in lines(plan, rows(50, 0), attempt=attempt) if "attempt " in item]
    assert found == ([] if line is None else [line])


def test_copies_say_their_own_bounds_and_margins() -> None:
    """Each tag has its line."""
    cases = [case(n, "a" if n <= 30 else "b") for n in range(1, 46)]
    found = lines(plan_of(cases, floor("0.9", each="tag")), rows(45, 0))
    assert (
        "    tag a: 1.0000 over 30 cells of 30 cases, which shows between 0.9050 and 1.0000 (alpha 1/20); it holds "
        "(1 more failing case would leave it open)"
    ) in found
    assert any(line.startswith("    tag b: 1.0000 over 15 cells") and "it takes 29 cases" in line for line in found)


def test_alternatives_are_told_one_by_one() -> None:
    """Each in its own words, with its part of the error."""
    options = (floor("0.99", id="hard"), floor("0.8", id="easy"))
    plan = plan_of(50, Rule(id="either", any_of=("hard", "easy")), mark={"alternatives": options})
    found = lines(plan, rows(50, 0))
    assert "  rule either: one of hard, easy: 1 of 2 hold; it holds (met)" in found
    assert any(line.startswith("    alternative hard: correct at least 0.99 with 95 %") for line in found)
    easy = next(line for line in found if line.startswith("    alternative easy:"))
    assert "(alpha 1/40); it holds" in easy
    assert "would leave it open" in easy


def test_a_comparison_says_how_far_and_what_that_shows() -> None:
    """Above and below in words, never a sign to be read the wrong way round."""
    there = [configuration(), configuration("n", role="comparison")]
    rule = Rule(id="nw", not_worse_than="n", by="0.03", of="correct", basis="bound")
    plan = plan_of(100, rule, configurations=there)
    assert told(plan, rows(92, 8), beside=rows(90, 10)) == (
        "rule nw: correct not more than 0.03 below n with 95 % confidence: 0.0200 above over 100 cells of 100 cases, "
        "which shows no more than 0.0128 below (alpha 1/20); it holds (2 more failing cases would leave it open)"
    )
    open_ = told(plan, rows(90, 10), beside=rows(92, 8))
    assert "0.0200 below over 100 cells of 100 cases, which shows between" in open_
    assert "it cannot be told (straddles" in open_
    assert "which shows at least" in told(plan, rows(20, 80), beside=rows(92, 8))
    level = told(plan_of(100, rule.replace(by="0"), configurations=there), rows(90, 10), beside=rows(90, 10))
    assert "correct not below n with 95 % confidence: level with it" in level
    more = told(plan_of(100, rule.replace(by="-0.02"), configurations=there), rows(90, 10), beside=rows(10, 90))
    assert "correct at least 0.02 above n" in more
    assert "which shows at least" in more


def test_regressions_are_told_by_kind() -> None:
    """How many cases stand how to the baseline, then which of them are in the way."""
    rule = Rule(id="r", no_regressions="baseline")
    copy = CopyResult(
        value="unchanged", result="fail", reason="regressed", cells=9, cases=9, unknown=0, failing=("q1",)
    )
    gone = CopyResult(value="removed", result="fail", reason="regressed", cells=0, cases=1, unknown=0, failing=("q9",))
    fine = copy.replace(value="new", result="pass", failing=())
    maybe = copy.replace(result="inconclusive")
    result = RuleResult(id="r", result="fail", reason="regressed", cells=9, cases=9, unknown=0, copies=(copy, gone))
    assert rule_text(rule, result, "bound") == (
        "no case worse than in the baseline: 9 asked alike in both, 1 removed; it does not hold (regressed)"
    )
    assert [copy_text(rule, result, item, "bound") for item in (copy, gone, fine, maybe)] == [
        "regressed: q1",
        "q9",
        "none fails",
        "unknown whether it regressed: q1",
    ]
    missing = result.replace(result="inconclusive", reason="baseline_missing", copies=())
    assert "baseline_missing: the baseline's run is not here" in rule_text(rule, missing, "bound")


def test_a_choice_over_bounds_says_what_it_shows_and_what_to_keep() -> None:
    """None is shown: the one in use is kept, if the mark names it."""
    there = [configuration(), configuration("n")]
    choose = Choose(by="best", of="correct", within="0.03", basis="bound", keep="n")
    plan = plan_of(100, at_least("0.5"), configurations=there, mark={"choose": choose})
    found = lines(plan, rows(90, 10), beside=rows(90, 10))
    within = next(line for line in found if "choose:" in line)
    assert "level with it, which shows no more than 0.0232 below (alpha 1/20); it holds" in within
    shut = Choice(result="none", reason="none_shown", keep="n")
    assert chosen_text(shut) == "none, since none is shown to pass; keep n"
    assert chosen_text(shut.replace(reason="none_eligible", keep=None)) == "none, since none passes"
    result = RuleResult(id="within", result="inconclusive", reason="no_metric", cells=0, cases=0, unknown=0)
    assert "nothing was measured" in within_text(choose, result)


# ------------------------------------------------------------------------------------------------------- judges


def test_a_judge_is_told_with_its_interval_whether_it_will_do_or_not() -> None:
    """Agreement, as counted, and what so many graded answers show of it."""
    wanted = Evidence(complete="0", judge=JudgeEvidence(scorer="correct", graded=20, agreement="0.85"))
    plan = plan_of(10, at_least("0.5"), evidence=wanted)
    for equal, words in ((48, "evidence judge: 48 of 50 equal, which shows at least 0.8794; wanted"), (40, "wanted")):
        grades = {"correct": Grades(equal=equal, graded=50)}
        assert words in told(plan, rows(10, 0), "evidence judge", grades=grades)
    assert "which shows at least 0.6844" in told(
        plan, rows(10, 0), "evidence judge", grades={"correct": Grades(equal=40, graded=50)}
    )


def test_agreement_is_counted_in_graded_answers() -> None:
    """Not in cells: no cell of the run has a part in it."""
    plan = plan_of(5, floor("0.8", of="agreement:correct"))
    line = told(plan, rows(5, 0), grades={"correct": Grades(equal=48, graded=50)})
    assert "0.9600 over 50 answers, which shows between 0.8794 and" in line
    assert "more answers on which it disagrees would leave it open" in line
    estimate = plan_of(5, at_least("0.8", of="agreement:correct"))
    found = lines(estimate, rows(5, 0), grades={"correct": Grades(equal=48, graded=50)})
    assert "    these 50 graded answers show at least 0.8794 with 95 % confidence" in found
    assert any("on which it disagrees would turn it" in line for line in found)


@pytest.mark.parametrize(
    ("grades", "words"),
    [
        ({}, "judge_stale: people graded no answer of this judge as it is now"),
        (
            {"correct": Grades(equal=1, graded=1, open=1)},
            "judge_open: a sheet of its answers was drawn and never scored",
        ),
    ],
)
def test_a_judge_that_cannot_be_told_of_says_what_to_do(grades: Any, words: str) -> None:
    """Both can be mended by people."""
    assert words in told(plan_of(5, floor("0.8", of="agreement:correct")), rows(5, 0), grades=grades)


# ------------------------------------------------------------------------------------------------------ reasons


@pytest.mark.parametrize("reason", sorted(WORDS))
def test_every_reason_with_words_is_told_with_its_code_first(reason: str) -> None:
    """Programs read the code; people read on. What stands in the way is named after it."""
    result = RuleResult(id="r", result="inconclusive", reason=reason, cells=1, cases=1, unknown=0, failing=("q\x1b1",))
    found = reason_text(floor("0.5"), result)
    assert found.startswith(f"{reason}: {WORDS[reason]}")
    assert found.endswith(": q\\x1b1")


def test_a_percentile_and_a_cost_have_no_margin_in_cases() -> None:
    """No number of failing cases turns a time or a price."""
    for of in ("p95:wall_s", "cost:per_passed", "tokens:total", "macro_f1:correct"):
        result = RuleResult(
            id="c", result="pass", reason="met", threshold="2/1", low="1/1", high="1/1", cells=3, cases=3, unknown=0
        )
        assert rule_text(at_most("2", of=of), result, "bound").endswith("it holds (met)")


def test_numbers_below_zero_and_confidences_are_decimals() -> None:
    """A difference has a sign of its own, and 97.5 % no more digits than that."""
    assert decimal_text(Fraction(-1, 8)) == "-0.1250"
    assert (percent_text("0.95"), percent_text("0.975"), percent_text("0.9")) == ("95 %", "97.5 %", "90 %")
    assert set(HOLDS) == set(get_args(Result))
