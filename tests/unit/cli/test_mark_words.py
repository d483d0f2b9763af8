# SPDX-License-Identifier: Apache-2.0
"""A mark in words, as it will be judged: every kind of rule, the error of each bound, and what bounds speak of."""

from __future__ import annotations

import pytest
from contests import choosing
from small_runs import at_least, at_most, configuration, plan_of

from trialplate.cli.mark_words import bound_words, choose_words, rule_words
from trialplate.record.values import AttemptsRule, PassMark, Rule, Selector, Stop

TWO = [configuration("a"), configuration("b")]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (at_least("0.9"), "floor: correct at least 0.9, as an estimate"),
        (
            at_least("0.9", basis="bound"),
            "floor: correct at least 0.9, shown with 95 % confidence (alpha 0.05 / 2 candidates)",
        ),
        (
            at_most("8", "p95:wall_s", each="tag", cases=3),
            "p95:wall_s at most 8 for each tag, over at least 3 cases, as",
        ),
        (
            at_least("1", basis="bound", correct_for_judge="j"),
            "correct at least 1, corrected for the errors of j, shown",
        ),
        (
            Rule(id="n", not_worse_than="b", by="0.03", of="correct"),
            "n: correct not more than 0.03 below b, as an estimate",
        ),
        (
            Rule(id="n", not_worse_than="b", by="-0.02", of="correct"),
            "n: correct at least 0.02 above b, as an estimate",
        ),
        (Rule(id="r", no_regressions="baseline"), "r: no case is worse than in the baseline"),
        (Rule(id="r", no_regressions="baseline", allow=("q1", "q2")), "in the baseline, but for q1, q2"),
        (Rule(id="c", must_pass=Selector(tag=("x",)), require="any"), "must pass (any)"),
    ],
)
def test_rule_is_told_as_it_will_be_judged(rule: Rule, words: str) -> None:
    """With the error that its bound has at the first attempt, and how that comes about."""
    assert words in rule_words(rule, plan_of(3, rule, configurations=TWO))


def test_alternatives_are_told_with_their_part_of_alpha() -> None:
    """Each has a half, and one within another a quarter."""
    rule = Rule(id="e", any_of=("a", "b"))
    inner = (Rule(id="b", any_of=("c", "d")), at_least("0.8", id="c", basis="bound"), at_least("0.7", id="d"))
    mark = {"alternatives": (at_least("0.9", id="a", basis="bound"), *inner), "attempts": AttemptsRule(spend=True)}
    said = rule_words(rule, plan_of(3, rule, mark=mark))
    first = (
        "a: correct at least 0.9, shown with 95 % confidence (alpha 0.05 / 2 for the first attempt / 2 alternatives)"
    )
    assert said.startswith(f"e: any of ({first}; b: any of (c: ")
    assert "/ 4 alternatives); d: correct at least 0.7, as an estimate))" in said


def test_choice_is_told_with_its_own_error() -> None:
    """Of two candidates one may be taken wrongly; the family does not divide it again."""
    plan = plan_of(3, at_least("0"), configurations=[*TWO, configuration("c")], mark={"family": "plan"})
    assert choose_words(choosing(basis="bound", keep="b"), plan) == (
        "choose: the cheapest of those that pass, each within 0.03 of best in correct, shown with 95 % confidence "
        "(alpha 0.05 / 2 that may be taken wrongly); b is kept while none is chosen"
    )
    assert choose_words(choosing(), plan).endswith("in correct, as an estimate")


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (PassMark(rules=(at_least("0"),)), ""),
        (PassMark(rules=(at_least("0", basis="bound"),)), "bounds speak of work like these cases"),
        (
            PassMark(rules=(at_least("0", basis="bound"),), over="this_set", unit="meta.k"),
            "bounds speak of exactly these cases, asked again, of which those with the same meta.k count as one",
        ),
        (
            PassMark(rules=(at_least("0"),), stop=Stop(mode="sealed")),
            "the run ends once no missing answer could change",
        ),
        (
            PassMark(rules=(at_least("0"),), stop=Stop(mode="counts", rule="floor", accept=(0,), reject=(1,))),
            "the run ends where the cases that failed meet a boundary of rule floor",
        ),
    ],
)
def test_what_bounds_speak_of_is_told(mark: PassMark, words: str) -> None:
    """And when the run may end before its last trial."""
    assert words in bound_words(mark) if words else bound_words(mark) == ""
