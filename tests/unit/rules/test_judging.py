# SPDX-License-Identifier: Apache-2.0
"""Which answers of a judge people grade, and what the grades come to."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import configuration, ended, matrix_of, plan_of, play

from trialplate.record.entries import TrialEnd, TrialStart
from trialplate.record.matrix import judge_key
from trialplate.record.values import AnswerRule, Configuration, Plan, PlanText, Scorer, Selector
from trialplate.rules.cells import MICRO, Board
from trialplate.rules.judging import Graded, counted, drawn, governing, grades_of, places, population, scale_of

ROOT = bytes(range(32))
TRIALS = [(name, f"q{number}", repeat) for name in ("a", "b") for number in range(1, 11) for repeat in (1, 2)]
WORDS = {"mode": "verdicts", "parse": "fenced", "verdicts": {"correct": "1", "partial": "0.5", "incorrect": "0"}}
SETTINGS = {**WORDS, "pass_when": {"correct": "1"}}
J1 = (
    [("correct", "correct")] * 13
    + [("correct", "partial")]
    + [("partial", w) for w in ("correct", "partial", "incorrect")]
)
J1 += [("incorrect", "incorrect")] * 3


def judge(**fields: Any) -> Scorer:
    """Return a judge of three verdicts."""
    made = {"name": "judge", "type": "judge", "metric": "correct", "helper": "grader", "settings": SETTINGS}
    return Scorer(**{**made, **fields})


def judged_plan(scorer: Scorer | None = None, helper: Configuration | None = None, **fields: Any) -> Plan:
    """Return a plan with a judge."""
    return plan_of(3, scorers=(scorer or judge(),), helpers=(helper or configuration("grader"),), **fields)


# ------------------------------------------------------------------------------------------------------- the drawing


def test_drawing_is_the_one_that_is_written_down() -> None:
    """Clause 2.20 of the ledger's format: the same root and count give these answers for ever."""
    first = [("a", "q8", 2), ("b", "q1", 2), ("a", "q10", 1), ("a", "q7", 1), ("b", "q5", 1), ("a", "q9", 1)]
    assert drawn(ROOT, 6, TRIALS) == first


def test_drawing_follows_the_clause_word_for_word() -> None:
    """Worked out once more, in the words of the clause."""
    seed = hashlib.sha256(ROOT + b"judge-check" + b"6").digest()[:8]
    taken = iter(range(10**6))

    def below(n: int) -> int:
        while n > 1:
            number = int.from_bytes(hashlib.sha256(seed + next(taken).to_bytes(8, "big")).digest()[:8], "big")
            if number < 2**64 // n * n:
                return number % n
        return 0

    pairs = sorted({key[:2] for key in TRIALS})
    items = [(*pair, sorted(key[2] for key in TRIALS if key[:2] == pair)[below(2)]) for pair in pairs]
    for place in range(6):
        other = place + below(len(items) - place)
        items[place], items[other] = items[other], items[place]
    assert drawn(ROOT, 6, TRIALS) == items[:6]


@given(st.permutations(TRIALS), st.integers(1, 30))
def test_drawing_does_not_depend_on_the_order_and_takes_a_case_once(trials: list[Any], count: int) -> None:
    """Nor does it take more than there are."""
    found = drawn(ROOT, count, trials)
    assert found == drawn(ROOT, count, TRIALS)
    assert len({key[:2] for key in found}) == len(found) == min(count, 20)
    assert set(found) <= set(TRIALS)


def test_another_root_or_count_is_another_drawing() -> None:
    """And a larger one is no longer form of a smaller one."""
    assert drawn(ROOT, 6, TRIALS) != drawn(bytes(32), 6, TRIALS)
    assert drawn(ROOT, 6, TRIALS) != drawn(ROOT, 7, TRIALS)[:6]
    assert drawn(ROOT, 6, []) == []


def test_each_answer_is_as_likely_as_any_other() -> None:
    """Over 2,000 roots, 5 of 20 places: about a quarter each, and both repeats alike."""
    number = dict.fromkeys(TRIALS, 0)
    for root in range(2000):
        for key in drawn(root.to_bytes(32, "big"), 5, TRIALS):
            number[key] += 1
    assert all(190 < n < 310 for n in number.values()), number


def test_strata_are_even_as_far_as_they_go() -> None:
    """Thirds; what one verdict lacks, the others give."""
    trials = [("a", f"q{number}", 1) for number in range(20)]
    verdicts = {key: "good" if int(key[1][1:]) < 15 else "bad" if int(key[1][1:]) < 18 else "ugly" for key in trials}

    def tally(count: int) -> list[int]:
        found = [verdicts[key] for key in drawn(ROOT, count, trials, verdicts)]
        return [found.count(name) for name in ("good", "bad", "ugly")]

    assert tally(6) == [2, 2, 2]
    assert tally(9) == [4, 3, 2]
    assert tally(1) == [0, 1, 0], "in the order of their names"
    assert tally(50) == [15, 3, 2]


def test_population_is_what_the_judge_scored_of_candidates() -> None:
    """Not an answer that failed before, is unknown, of a comparison, or of a case that it does not score."""
    rival = configuration("rival", role="comparison")
    plan = judged_plan(judge(cases=Selector(id=("q1", "q2"))), configurations=(configuration(), rival), repeats=3)
    board = Board()
    for name in ("m", "rival"):
        play(board, (name, "q1", 1), 1)
        play(board, (name, "q1", 2), "limit")
        play(board, (name, "q1", 3), "error")
        play(board, (name, "q2", 1), 0.5)
        play(board, (name, "q3", 1), 1)
    play(board, ("m", "q2", 2), "lost")
    board.start(TrialStart(trial=("m", "q2", 3), attempt=1))
    board.end(ended(("m", "q2", 3), outcome="failed", cause="refusal"))
    assert population(plan, matrix_of(plan), board, plan.scorers[0]) == [("m", "q1", 1), ("m", "q2", 1)]
    assert list(places([("m", "q1", 2), ("m", "q1", 1)]).values()) == [[("m", "q1", 1), ("m", "q1", 2)]]


# ----------------------------------------------------------------------------------------------------- who the judge is


TEXT = PlanText(role="rules", name="rules.md", commitment="c" * 43)


@pytest.mark.parametrize(
    ("scorer", "helper", "same"),
    [
        ({"name": "other"}, {}, True),
        ({"metric": "right"}, {}, True),
        ({"cases": Selector(id=("q1",))}, {}, True),
        ({"also": ("fully_correct",)}, {}, True),
        ({"texts": (TEXT.replace(name="moved.md"),)}, {}, True),
        ({}, {"name": "grader", "profile": "other", "secret": "KEY"}, True),
        ({"texts": (TEXT.replace(commitment="d" * 43),)}, {}, False),
        ({"texts": ()}, {}, False),
        ({"also": ("grounded",)}, {}, False),
        ({"settings": {**SETTINGS, "parse": "whole"}}, {}, False),
        ({"version": 2}, {}, False),
        ({}, {"model_id": "m-2"}, False),
        ({}, {"settings": {"temperature": 1}}, False),
        ({}, {"endpoint": "http://127.0.0.1:1"}, False),
        ({}, {"served": ("m-lite",)}, False),
        ({}, {"answer": AnswerRule(reasoning="strip")}, False),
    ],
)
def test_key_of_a_judge_is_its_model_and_its_rules(scorer: dict[str, Any], helper: dict[str, Any], same: bool) -> None:
    """No name, case, label or secret."""
    plain = judged_plan(judge(texts=(TEXT,)))
    other = judged_plan(judge(**{"texts": (TEXT,), **scorer}), configuration(**{"name": "grader", **helper}))
    assert (judge_key(plain, plain.scorers[0]) == judge_key(other, other.scorers[0])) is same


# ---------------------------------------------------------------------------------------------------------- the grades


def graded(*checks: list[str], judge_says: list[str] | None = None, scorer: Scorer | None = None) -> Graded:
    """Return a sheet on which people wrote these words; by default the judge says what the first of them does."""
    scale = scale_of(scorer or judge())
    said = judge_says or checks[0]
    return Graded(scale=scale, judged=tuple(scale.words[word] for word in said), checks=checks)


def test_vector_j1_in_grades() -> None:
    """T49: 17 of 20; positive is what passes."""
    sheet = graded([person for person, _ in J1], judge_says=[said for _, said in J1])
    found = grades_of([sheet])
    assert (found.equal, found.graded, found.blank) == (17, 20, 0)
    assert (found.sensitivity, found.specificity) == ((13, 14), (5, 6))
    half = MICRO // 2
    wrong = ((0, 0, 3), (half, 0, 1), (half, half, 1), (half, MICRO, 1))
    assert dict(found.pairs) == {"correct": (*wrong, (MICRO, half, 1), (MICRO, MICRO, 13))}


def test_words_of_one_value_are_one_verdict_whatever_their_case() -> None:
    """And a word may be written with other blanks."""
    scorer = judge(settings={**SETTINGS, "verdicts": {"Fully right": "1", "right": "1", "wrong": "0"}})
    scale = scale_of(scorer)
    assert scale.spelled == {MICRO: "Fully right/right", 0: "wrong"}
    sheet = Graded(scale=scale, judged=(MICRO, MICRO, 0), checks=(("  fully  RIGHT ", "right", "Wrong"),))
    assert counted(sheet, sheet.checks[0]) == (3, 0)


def test_lower_of_two_people_counts_and_nobody_can_raise_it() -> None:
    """T52; a second try, a part of a sheet, or kind grades only lower it."""
    said = ["correct"] * 10
    first = ["correct"] * 8 + ["incorrect"] * 2
    second = ["correct"] * 9 + ["incorrect"]
    assert governing(graded(first, second, judge_says=said)) == (8, 2)
    assert governing(graded(first, ["correct"] * 10, judge_says=said)) == (8, 2)
    assert governing(graded(first, ["correct"] * 8 + [""] * 2, judge_says=said)) == (8, 2)
    assert governing(graded(first, ["incorrect"] + [""] * 9, judge_says=said)) == (7, 3)
    assert governing(graded(["correct"] + [""] * 9, [""] * 8 + ["correct", "partial"], judge_says=said)) == (2, 1)


@given(
    st.lists(
        st.lists(st.sampled_from(["correct", "partial", "incorrect", ""]), min_size=4, max_size=4),
        min_size=2,
        max_size=4,
    )
)
def test_a_further_check_never_helps(checks: list[list[str]]) -> None:
    """What was unequal stays so; only answers that nobody had graded are added."""
    said = ["correct", "partial", "incorrect", "correct"]
    before = grades_of([graded(*checks[:-1], judge_says=said)])
    after = grades_of([graded(*checks, judge_says=said)])
    assert after.graded - after.equal >= before.graded - before.equal
    assert after.equal - before.equal <= before.blank - after.blank
    assert after.graded + after.blank == 4


def test_sheets_are_pooled_and_blanks_counted() -> None:
    """Over all checks of the judge; open and stale ones are told beside."""
    one = graded(["correct", "", "incorrect"], judge_says=["correct", "correct", "correct"])
    two = graded(["partial"])
    found = grades_of([one, two], open_sheets=1, stale=7)
    assert (found.equal, found.graded, found.blank, found.open, found.stale) == (2, 3, 1, 1, 7)
    assert grades_of([]).graded == 0


def test_judge_that_scores_is_told_by_pass_and_fail() -> None:
    """T50: a cut and no value; a score on the cut passes, thirds too."""
    settings = {"mode": "score", "parse": "fenced", "scale": ["1", "10"], "threshold": "4"}
    scale = scale_of(judge(settings=settings))
    assert [scale.verdict(value) for value in (333_333, 333_332, MICRO)] == [MICRO, 0, MICRO]
    assert (dict(scale.metrics), list(scale.words)) == ({}, ["pass", "fail"])
    sheet = Graded(scale=scale, judged=(MICRO, 0), checks=(("pass", "pass"),))
    found = grades_of([sheet])
    assert (found.equal, found.graded, dict(found.pairs)) == (1, 2, {})
    assert (found.sensitivity, found.specificity) == ((1, 2), (0, 0))


def test_judge_that_meets_a_schema_has_a_value_of_its_own() -> None:
    """1 or 0, as a person says pass or fail."""
    scale = scale_of(judge(settings={"mode": "schema", "parse": "fenced"}))
    found = grades_of([Graded(scale=scale, judged=(MICRO, 0), checks=(("pass", "pass"),))])
    assert dict(found.pairs) == {"correct": ((MICRO, 0, 1), (MICRO, MICRO, 1))}


def test_what_else_a_pass_needs_is_no_grade_of_the_verdict() -> None:
    """`fully_` follows from the verdict; `grounded` does not, and alone leaves nothing to tell."""
    also = ("fully_correct", "grounded")
    fully = judge(also=also, settings={**WORDS, "pass_when": {"fully_correct": "1", "grounded": "1"}})
    found = grades_of([graded(["correct", "partial"], judge_says=["correct", "correct"], scorer=fully)])
    assert (found.sensitivity, found.specificity) == ((1, 1), (0, 1))
    assert set(found.pairs) == {"correct", "fully_correct"}
    assert found.pairs["fully_correct"] == ((0, MICRO, 1), (MICRO, MICRO, 1))
    alone = judge(also=also, settings={**WORDS, "pass_when": {"grounded": "1"}})
    found = grades_of([graded(["correct", "partial"], scorer=alone)])
    assert (found.equal, found.sensitivity, found.specificity) == (2, (0, 0), (0, 0))


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": "verdicts"},
        {**SETTINGS, "verdicts": {"good": "1e999999999"}},
        {**SETTINGS, "verdicts": {"good": 1}},
        {**SETTINGS, "verdicts": ["good"]},
        {"mode": "score", "scale": ["1", "1"], "threshold": "1"},
        {"mode": "score", "scale": ["1"], "threshold": "1"},
    ],
)
def test_settings_that_are_none_of_a_judge_end_in_an_error_that_is_caught(settings: dict[str, Any]) -> None:
    """A hostile plan neither hangs nor crashes whoever verifies it."""
    with pytest.raises((AttributeError, TypeError, ValueError, ArithmeticError, LookupError)):
        scale_of(judge(settings=settings))


def test_line_of_a_replayed_trial_is_as_good_as_any() -> None:
    """What a judge said is what the line says, wherever it came from."""
    plan = judged_plan()
    board = Board()
    board.start(TrialStart(trial=("m", "q1", 1), attempt=1))
    board.end(TrialEnd(trial=("m", "q1", 1), attempt=1, outcome="failed", verdict="failed", metrics={"correct": 0.5}))
    assert population(plan, matrix_of(plan), board, plan.scorers[0]) == [("m", "q1", 1)]
