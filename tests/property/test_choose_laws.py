# SPDX-License-Identifier: Apache-2.0
"""Laws of a choice and of copies: whatever the unknown cells would have been, nothing that was decided turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from contests import Entrant, choice_of, choosing, compete, fill, plan_for
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import NAME, Repeat, at_least, at_most, board_of, case, plan_of

from trialplate.record.matrix import narrow
from trialplate.record.values import Choose, Plan, PlanCase, Rule, Selector
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import Evaluation, evaluate, evaluate_all
from trialplate.rules.ruling import groups_of

UNKNOWN = ("error", "lost", "skipped", None)
THRESHOLDS = ("0", "0.25", "0.333333", "0.5", "0.75", "1")
RANKS = {"pass": ("pass",), "fail": ("fail",), "inconclusive": ("pass", "fail", "inconclusive")}

cells = st.sampled_from([0, 1, 1, *UNKNOWN])


# ------------------------------------------------------------------------------------------------------------- copies


tags = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True)
tagged = st.lists(tags, min_size=1, max_size=4).map(
    lambda made: [case(number, *sorted(given)) for number, given in enumerate(made, start=1)]
)


@st.composite
def tagged_rows(draw: Any) -> tuple[list[PlanCase], list[list[Repeat]]]:
    """Return cases with tags, and what became of each repeat."""
    cases, repeats = draw(tagged), draw(st.integers(1, 2))
    return cases, [draw(st.lists(cells, min_size=repeats, max_size=repeats)) for _ in cases]


copied = st.builds(
    lambda make, threshold, of, cases: make(threshold, of=of, each="tag", cases=cases, id="r"),
    st.sampled_from([at_least, at_most]),
    st.sampled_from(THRESHOLDS),
    st.sampled_from(["correct", "trial_pass_rate", "case_pass_rate", "pass_at:1", "pass_hat:2", "error_rate"]),
    st.integers(1, 2),
)


def one(plan: Plan, board: Board) -> Any:
    """Return what the only rule comes to."""
    (result,) = evaluate(plan, narrow(plan, None), NAME, board, Circumstances()).rules
    return result


@settings(max_examples=200)
@given(tagged_rows(), copied, st.sampled_from(["bound", "zero", "exclude"]))
def test_copy_is_the_rule_over_the_cases_of_its_tag(
    given_rows: tuple[list[PlanCase], list[list[Repeat]]], rule: Rule, errors: str
) -> None:
    """A rule with copies is as many rules as there are tags, each over its cases, and holds if all of them do."""
    cases, rows = given_rows
    board = board_of(rows)
    result = one(plan_of(cases, rule, repeats=len(rows[0]), errors=errors), board)
    alone = {}
    for tag, members in groups_of("tag", cases).items():
        single = rule.replace(each=None, where=Selector(id=tuple(member.id for member in members)))
        alone[tag] = one(plan_of(cases, single, repeats=len(rows[0]), errors=errors), board)
    assert [copy.value for copy in result.copies] == sorted(alone)
    for copy in result.copies:
        told = alone[copy.value]
        assert (copy.result, copy.reason, copy.low, copy.high) == (told.result, told.reason, told.low, told.high)
        assert (copy.cells, copy.cases, copy.unknown) == (told.cells, told.cases, told.unknown)
    words = [item.result for item in alone.values()]
    assert result.result == next(word for word in ("fail", "inconclusive", "pass") if word in words)


@settings(max_examples=150)
@given(tagged_rows(), copied.filter(lambda rule: rule.of != "error_rate"))
def test_rule_with_copies_that_is_decided_holds_in_every_completion(
    given_rows: tuple[list[PlanCase], list[list[Repeat]]], rule: Rule
) -> None:
    """A pass of all copies stays one, and a failing copy fails, however the unknown cells would have come out."""
    cases, rows = given_rows
    plan = plan_of(cases, rule, repeats=len(rows[0]))
    before = one(plan, board_of(rows))
    for then in completions([rows]):
        assert one(plan, board_of(then[0])).result in RANKS[before.result]


@given(tagged_rows(), copied, st.integers(2, 4))
def test_more_tags_of_the_same_cases_change_nothing(
    given_rows: tuple[list[PlanCase], list[list[Repeat]]], rule: Rule, times: int
) -> None:
    """Copies scale: every case under so many further tags makes copies that come to what the others do."""
    cases, rows = given_rows
    more = [
        item.replace(tags=tuple(f"{tag}{n}" for tag in item.tags or ("none",) for n in range(times))) for item in cases
    ]
    one_each = one(plan_of(cases, rule, repeats=len(rows[0])), board_of(rows))
    many = one(plan_of(more, rule, repeats=len(rows[0])), board_of(rows))
    assert len(many.copies) == times * len(one_each.copies)
    assert (many.result, many.cells, many.unknown) == (one_each.result, one_each.cells, one_each.unknown)


# ------------------------------------------------------------------------------------------------------------- choice


def completions(boards: Sequence[list[list[Repeat]]], most: int = 7) -> list[list[list[list[Repeat]]]]:
    """Return every way in which the unknown cells of all boards could have come out, as 0 or 1."""
    places = [
        (number, i, j)
        for number, rows in enumerate(boards)
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
        if cell in UNKNOWN
    ]
    found = []
    for values in product((0, 1), repeat=min(len(places), most)):
        made = [[list(row) for row in rows] for rows in boards]
        for (number, i, j), value in zip(places, [*values, *([0] * len(places))], strict=False):
            made[number][i][j] = value
        found.append(made)
    return found


@st.composite
def contests(draw: Any) -> list[Entrant]:
    """Return two or three configurations on the same few cases, all of their costs known."""
    number, repeats = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    row = st.lists(cells, min_size=repeats, max_size=repeats)
    made = []
    for index in range(draw(st.integers(2, 3))):
        role = "candidate" if index == 0 else draw(st.sampled_from(["candidate", "candidate", "comparison"]))
        rows = draw(st.lists(row, min_size=number, max_size=number))
        cost = draw(st.sampled_from(["0.1", "0.2", "0.3"]))
        made.append(Entrant(f"m{index}", rows, cost=cost, fields={"role": role}))
    return made


choices = st.builds(
    lambda by, within, against, among, of: choosing(
        by,
        of=of,
        within=within,
        against=against if within is not None else "best",
        best_among=among if within is not None and against == "best" else "all",
        tie_break=("score", "order") if by == "cheapest" else ("cost", "order"),
    ),
    st.sampled_from(["cheapest", "best"]),
    st.sampled_from([None, "0", "0.25", "0.5", "0.333333"]),
    st.sampled_from(["best", "best", "m1"]),
    st.sampled_from(["all", "floors_met"]),
    st.sampled_from(["correct", "trial_pass_rate", "case_pass_rate"]),
)
floors = st.builds(at_least, st.sampled_from(THRESHOLDS), of=st.sampled_from(["correct", "trial_pass_rate"]))


def with_rows(entrants: Sequence[Entrant], boards: Sequence[list[list[Repeat]]], late: str = "0.2") -> list[Entrant]:
    """Return the same configurations with other results; what was unknown costs `late` a trial once it is known."""
    return [
        Entrant(**{**item.__dict__, "correct": rows, "costs": dict.fromkeys(_lost(item), late)})
        for item, rows in zip(entrants, boards, strict=True)
    ]


def _lost(item: Entrant) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(item.correct) for j, cell in enumerate(row) if cell in UNKNOWN]


@settings(max_examples=250)
@given(contests(), floors, choices, st.sampled_from(["eligible", "chosen"]), st.sampled_from(["0", "0.2", "9"]))
def test_bound_no_completion_turns_a_decision_or_a_choice(
    entrants: list[Entrant], floor: Rule, choose: Choose, require: str, late: str
) -> None:
    """By brute force: accepted stays accepted, rejected rejected, chosen chosen, for every value of what is unknown.

    Whatever the unknown trials will cost, too.
    """
    mark = {"require": require}
    before = compete(entrants, floor, choose=choose, mark=mark)
    choice = choice_of(before)
    for boards in completions([[list(row) for row in item.correct] for item in entrants]):
        then = compete(with_rows(entrants, boards, late), floor, choose=choose, mark=mark)
        for name, result in before.items():
            if result.decision != "inconclusive":
                assert then[name].decision == result.decision
            within, after = result.choice.within, then[name].choice.within  # type: ignore[union-attr]
            if within is not None and within.low is not None and after.low is not None:
                assert Fraction(within.low) <= Fraction(after.low)
        now = choice_of(then)
        if choice.result != "open":
            assert (now.result, now.chosen) == (choice.result, choice.chosen)
        elif now.chosen is not None:
            assert now.chosen in choice.possible


@settings(max_examples=150)
@given(contests(), floors, choices, st.sampled_from(["zero", "exclude"]))
def test_outage_of_a_rival_never_accepts_under_any_policy(
    entrants: list[Entrant], floor: Rule, choose: Choose, errors: str
) -> None:
    """With nothing of its own lost, a configuration is accepted only if it is in every completion of its rivals."""
    mine = entrants[0]
    known = [Entrant(**{**mine.__dict__, "correct": [[1 if c in UNKNOWN else c for c in r] for r in mine.correct]})]
    rivals = entrants[1:]
    before = compete([*known, *rivals], floor, choose=choose, errors=errors)[mine.name]
    if before.decision == "accepted":
        for boards in completions([[list(row) for row in item.correct] for item in rivals]):
            then = compete([*known, *with_rows(rivals, boards)], floor, choose=choose, errors=errors)
            assert then[mine.name].decision == "accepted"


@settings(max_examples=150)
@given(contests(), floors, choices, st.randoms())
def test_order_of_the_configurations_changes_no_eligibility(
    entrants: list[Entrant], floor: Rule, choose: Choose, shuffle: Any
) -> None:
    """The plan's order breaks ties of the choice, and nothing else."""
    mixed = list(entrants)
    shuffle.shuffle(mixed)
    before, after = compete(entrants, floor, choose=choose), compete(mixed, floor, choose=choose)
    for name, result in before.items():
        assert (after[name].decision, after[name].reasons, after[name].rules) == (
            result.decision,
            result.reasons,
            result.rules,
        )
        assert after[name].choice.within == result.choice.within  # type: ignore[union-attr]
    assert (choice_of(before).result == "none") == (choice_of(after).result == "none")


@settings(max_examples=100)
@given(contests(), floors, choices, st.randoms())
def test_order_of_the_trials_changes_nothing(
    entrants: list[Entrant], floor: Rule, choose: Choose, shuffle: Any
) -> None:
    """The record's order of trials is nothing to the choice, to the last fraction."""
    plan = plan_for(entrants, floor, choose=choose)
    board = Board()
    for item in entrants:
        fill(board, item)
    mixed, keys = Board(), list(board.cells)
    shuffle.shuffle(keys)
    mixed.cells = {key: board.cells[key] for key in keys}
    assert _all(plan, mixed) == _all(plan, board)


def _all(plan: Plan, board: Board) -> Mapping[str, Evaluation]:
    return evaluate_all(plan, narrow(plan, None), board, Circumstances())


@settings(max_examples=150)
@given(contests(), floors, choices)
def test_choice_over_known_results_is_the_first_by_plain_sorting(
    entrants: list[Entrant], floor: Rule, choose: Choose
) -> None:
    """With nothing unknown a choice is never open: it is what a sort of the eligible ones puts first."""
    known = [
        Entrant(**{**item.__dict__, "correct": [[1 if c in UNKNOWN else c for c in row] for row in item.correct]})
        for item in entrants
    ]
    results = compete(known, floor, choose=choose)
    choice = choice_of(results)
    numbers = {item.configuration: item for item in choice.contenders}
    there = [
        item.name for item in known if item.fields["role"] == "candidate" and results[item.name].decision == "accepted"
    ]

    def key(name: str) -> tuple[Fraction, ...]:
        score, cost = -Fraction(numbers[name].low or ""), Fraction(numbers[name].cost or "")
        return (cost, score) if choose.by == "cheapest" else (score, cost)

    assert choice.chosen == min(there, key=key, default=None)
    assert choice.result == ("chosen" if there else "none")
