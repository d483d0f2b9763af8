# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a report show: bounds that hold the estimate, ranks, differences, and what an estimate hides."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_project import make_project
from small_runs import NAME, Repeat, at_least, at_most, board_of, case, configuration, matrix_of, plan_of, scorer

from trialplate import plugins
from trialplate.record.values import Choose, MatrixLine, Plan, Selector
from trialplate.reports.comparing import NOT_ASSESSED, NOT_SHOWN, SHOWN, Standings, compare
from trialplate.reports.evidence_text import about_shown, rank_cells, resolution, shown_cells
from trialplate.reports.hidden import hidden_behind
from trialplate.reports.reported import gather
from trialplate.reports.summary import ConfigurationSummary, MetricSummary, summarise
from trialplate.rules.bounds import guarded, guarded_diff
from trialplate.rules.cells import Board

Rows = Sequence[Sequence[Repeat]]


def record_of(plan: Plan, **results: Rows) -> Any:
    """Return what a report reads of a record: results by configuration."""
    board = Board()
    for name, rows in results.items():
        board.cells |= board_of(rows, name=name).cells
    return SimpleNamespace(plan=plan, matrix=matrix_of(plan), board=board, closed=None)


def numbers(rows: Rows, **fields: Any) -> ConfigurationSummary:
    """Return one configuration's numbers."""
    plan = plan_of(len(rows), repeats=len(rows[0]), **fields)
    (found,) = summarise(record_of(plan, **{NAME: rows}))
    return found


def standings(first: Rows, *others: Rows, **fields: Any) -> Standings:
    """Return how configurations a, b, ... stand to each other."""
    results = dict(zip("abcdefghijklmnopqrstuvwxyz", (first, *others), strict=False))
    there = [configuration(name) for name in results]
    record = record_of(plan_of(len(first), repeats=len(first[0]), configurations=there, **fields), **results)
    return compare(record, summarise(record))


# --------------------------------------------------------------------------------------------------------- bounds

_cell = st.sampled_from([0, 1, 1, 0.5, "error", "skipped", "limit", "incompatible", "lost", None])
_table = st.integers(1, 3).flatmap(
    lambda repeats: st.lists(st.lists(_cell, min_size=repeats, max_size=repeats), min_size=1, max_size=6)
)


@settings(max_examples=150, deadline=None)
@given(_table, st.sampled_from(["cases", "this_set"]), st.sampled_from(["all", "majority", "any"]))
def test_every_estimate_lies_within_its_bounds(rows: Rows, over: str, fold: str) -> None:
    """Whatever is unknown, whatever a bound speaks of: lower, estimate, upper, in this order, as printed too."""
    found = numbers(rows, mark={"over": over}, fold=fold)
    for metric in (*found.metrics, *found.rates):
        assert metric.lower is not None
        assert metric.upper is not None
        assert 0 <= metric.lower <= metric.upper <= 1
        if metric.mean is not None:
            assert metric.lower - 1e-12 <= metric.mean <= metric.upper + 1e-12
            estimate, least, most = (Fraction(text) for text in shown_cells(metric)[:3])
            assert least <= estimate <= most


def test_bounds_are_those_of_the_cases_at_the_marks_own_confidence() -> None:
    """Not divided among candidates: they describe, and decide nothing."""
    names = [configuration(), configuration("n")]
    plan = plan_of(50, configurations=names, mark={"confidence": "0.9"})
    metric = summarise(record_of(plan, m=[[1]] * 45 + [[0]] * 5))[0].metrics[0]
    wanted = guarded([1.0] * 45 + [0.0] * 5, 0.1)
    assert (metric.lower, metric.upper, metric.units) == (wanted.lower, wanted.upper, 50)


def test_unknown_cells_widen_the_bounds_and_the_coverage_is_told() -> None:
    """T01, T02, T14: two errors of ten are at both extremes; three errors of three show nothing at all."""
    found = numbers([[1]] * 6 + [[0]] * 2 + [["error"]] * 2).metrics[1]
    assert found.lower == guarded([1.0] * 6 + [0.0] * 4, 0.05).lower
    assert found.upper == guarded([1.0] * 8 + [0.0] * 2, 0.05).upper
    assert shown_cells(found)[3] == "8 of 10"
    nothing = numbers([["error"]] * 3).metrics[0]
    assert (nothing.mean, nothing.lower, nothing.upper) == (None, 0.0, 1.0)
    assert shown_cells(nothing) == ["-", "0.0000", "1.0000", "0 of 3", "3", "1", "one repeat", "-", "-"]


def test_one_repeat_has_no_range_and_no_parts_of_noise() -> None:
    """T09: one value tells nothing of repeats; the error is then that of the case means."""
    found = numbers([[1], [0], [1], [1]]).metrics[0]
    assert found.noise is not None
    assert (found.low, found.noise.within, found.noise.icc) == (None, None, None)
    assert found.se == pytest.approx(0.25)
    assert shown_cells(found)[6] == "one repeat"


def test_noise_has_its_parts_where_cases_were_repeated() -> None:
    """SE^2 = between / n + within / (n R)."""
    found = numbers([[1, 1], [0, 0], [1, 0], [1, 1]]).metrics[0]
    noise = found.noise
    assert noise is not None
    assert noise.between is not None
    assert noise.within is not None
    assert found.se is not None
    assert found.se**2 == pytest.approx(noise.between / 4 + noise.within / 8)
    assert noise.icc is not None
    assert numbers([[1, 1], [0, "error"]]).metrics[0].noise is None


def test_clusters_count_once_and_have_their_own_error() -> None:
    """Fifty copies of a question are one, in the bounds and in the error."""
    cases = [case(n).replace(unit="u" * 43) for n in range(1, 11)]
    plan = plan_of(cases, mark={"unit": "meta.page"})
    metric = summarise(record_of(plan, m=[[1]] * 10))[0].metrics[0]
    assert (metric.units, metric.se, metric.lower) == (1, None, 0.05)
    assert "cases that share meta.page counted as one" in about_shown(plan.pass_mark)
    assert "of exactly these cases, asked again" in about_shown(plan_of(1, mark={"over": "this_set"}).pass_mark)


def test_rates_stand_beside_the_metrics() -> None:
    """T10, T11: cases by their fold, errors by their share; half of four is no majority."""
    found = numbers([[1, 1, 0, 0], [1, 1, 1, 0]], fold="majority")
    assert [(rate.name, rate.mean, rate.low) for rate in found.rates] == [
        ("case_pass_rate", Fraction(1, 2), None),
        ("error_rate", Fraction(0), Fraction(0)),
    ]
    assert numbers([[1], ["error"], ["skipped"]]).rates[1].mean == Fraction(1, 2)


def test_no_case_has_no_bounds() -> None:
    """A metric that applies to nothing is told as nothing."""
    plan = plan_of(1, scorers=[scorer(cases=Selector(id=("q9",)))])
    metric: MetricSummary = summarise(record_of(plan, m=[[1]]))[0].metrics[0]
    assert (metric.lower, metric.upper, metric.noise) == (None, None, None)


# --------------------------------------------------------------------------------------------------------- beside


def test_ranks_are_ranges_until_a_difference_is_shown() -> None:
    """One that is wholly above comes first; two that cannot be told apart share their ranks."""
    high, low = [[1, 1]] * 40, [[0, 0]] * 30 + [[1, 1]] * 10
    found = standings(high, [*high[:39], [1, 0]], low)
    ranks = {item.configuration: rank_cells(item) for item in found.ranked if item.metric == "correct"}
    assert ranks == {"a": ["1 to 2", "1 to 2"], "b": ["1 to 2", "1 to 2"], "c": ["3", "3"]}
    assert found.alpha == Fraction(1, 120), "three pairs, two sides each"
    by_pair = {(pair.first, pair.second): pair for pair in found.pairs if pair.metric == "correct"}
    assert by_pair["a", "b"].by_cases == NOT_SHOWN
    assert by_pair["a", "c"].by_cases == by_pair["b", "c"].by_cases == SHOWN
    wanted = guarded_diff([1.0] * 40, [0.0] * 30 + [1.0] * 10, 1 / 120)
    assert (by_pair["a", "c"].lower, by_pair["a", "c"].upper) == (wanted.lower, wanted.upper)


def test_ranges_that_touch_are_no_difference_and_one_repeat_is_not_assessed() -> None:
    """T28, G12: inclusive ends; a single repeat has no range."""
    touching = standings([[1, 1], [1, 0]], [[1, 0], [0, 0]])
    assert {pair.by_repeats for pair in touching.pairs} == {NOT_SHOWN}
    apart = standings([[1, 1], [1, 1]], [[1, 0], [0, 0]])
    assert {pair.by_repeats for pair in apart.pairs} == {SHOWN}
    once = standings([[1], [1]], [[0], [0]])
    assert {pair.by_repeats for pair in once.pairs} == {NOT_ASSESSED}
    assert all(rank_cells(item)[1] == "not assessed" for item in once.ranked)


def test_tests_of_pairs_are_exact_and_only_of_what_is_known() -> None:
    """McNemar's and the sign-flip p of 5 against 1; with an unknown cell there is none."""
    first, second = [[1]] * 5 + [[0]] + [[1]] * 4, [[0]] * 5 + [[1]] + [[1]] * 4
    pair = standings(first, second).pairs[0]
    assert (pair.only_first, pair.only_second) == (5, 1)
    assert pair.mcnemar == pytest.approx(2 * (comb(6, 0) + comb(6, 1)) / 64)
    assert pair.sign_flip == pytest.approx(pair.mcnemar)
    lost = standings([["error"], [1]], [[1], [1]]).pairs[0]
    assert (lost.mcnemar, lost.sign_flip, lost.only_first) == (None, None, None)
    assert (lost.low, lost.high) == (Fraction(-1, 2), Fraction(0))


def test_what_was_asked_other_cases_is_not_compared() -> None:
    """Different coverage is no comparison; a single configuration has no rank."""
    there = [configuration("a"), configuration("b")]
    lines = [
        MatrixLine(configurations=("a",), repeats=1),
        MatrixLine(configurations=("b",), cases=Selector(id=("q1",)), repeats=1),
    ]
    record = record_of(plan_of(2, configurations=there, lines=lines), a=[[1], [1]], b=[[1]])
    assert compare(record, summarise(record)).ranked == ()
    assert standings([[1], [1]]).pairs == ()


def test_more_configurations_than_can_be_paired_say_so() -> None:
    """Nothing is told by cases, rather than only some of it."""
    many = standings(*([[1, 1]] for _ in range(21)))
    assert (many.alpha, many.pairs) == (None, ())
    assert rank_cells(many.ranked[0]) == ["not assessed", "1 to 21"]


def test_one_case_that_outweighs_the_tolerance_is_said() -> None:
    """T27: ten questions, three points."""
    plan = plan_of(10, mark={"choose": Choose(by="best", of="correct", within="0.03")})
    items = summarise(record_of(plan, m=[[1]] * 10))
    assert list(resolution(plan, items)) == [
        "one case of 10 weighs 10.0 points, more than the 3.0 that choose lets pass"
    ]
    wide = plan_of(10, mark={"choose": Choose(by="best", of="correct", within="0.1")})
    assert list(resolution(wide, items)) == []


# --------------------------------------------------------------------------------------------------------- hidden


def test_an_estimate_says_how_often_it_passes_what_is_worse() -> None:
    """Ten cases, 0.9: a truth of 0.8 passes with nine or ten of ten, 37.6 % (decisions.md 5.3)."""
    (found,) = hidden_behind(record_of(plan_of(10, at_least("0.9")), m=[[1]] * 10))
    assert found.passes == pytest.approx(0.8**10 + 10 * 0.2 * 0.8**9)
    assert found.sentence == ("rule floor is an estimate: a configuration truly at 80 % passes it 38 % of the time")


def test_repeats_are_supposed_to_resemble_each_other() -> None:
    """Ten cases, three repeats, ICC one half: 21.7 % by simulation in decisions.md 5.3."""
    (found,) = hidden_behind(record_of(plan_of(10, at_least("0.9"), repeats=3), m=[[1, 1, 1]] * 10))
    assert found.passes == pytest.approx(0.217, abs=0.01)
    assert found.sentence.endswith("if half of what repeats differ by lies between cases (ICC 0.5)")
    folded = plan_of(10, at_least("0.9", "case_pass_rate"), repeats=3)
    (by_case,) = hidden_behind(record_of(folded, m=[[1, 1, 1]] * 10))
    assert by_case.icc is None


def test_a_ceiling_is_told_from_its_other_side() -> None:
    """At most 0.1 and truly at 0.2."""
    (found,) = hidden_behind(record_of(plan_of(10, at_most("0.1")), m=[[0]] * 10))
    assert (found.truth, found.passes) == (Fraction(1, 5), pytest.approx(0.8**10 + 10 * 0.2 * 0.8**9))


@pytest.mark.parametrize(
    "rule",
    [
        at_least("0.9", basis="bound"),
        at_least("0.1"),
        at_least("0.9", each="tag"),
        at_least("0.9", of="pass_at:1"),
        at_most("3", of="p95:wall_s"),
        at_least("0.9", where=Selector(id=("q99",))),
    ],
)
def test_nothing_is_said_where_it_would_not_be_so(rule: Any) -> None:
    """Of a bound, of a truth below 0, of several copies, of what is no mean, of no case."""
    assert list(hidden_behind(record_of(plan_of(10, rule), m=[[1]] * 10))) == []


def test_nothing_is_said_of_scores_in_between() -> None:
    """The chances are those of passes and failures."""
    assert list(hidden_behind(record_of(plan_of(2, at_least("0.9")), m=[[0.5], [1]]))) == []


# --------------------------------------------------------------------------------------------------------- formats


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A real run of two candidates, one with an answer that failed, under a mark of bounds and an estimate."""
    cases = "id,input,reference\n" + "".join(f"n{number},Which is {number}?,right\n" for number in range(40))
    answers = json.dumps({f"n{number}": "wrong" if number == 3 else "right" for number in range(40)})
    half = json.dumps({f"n{number}": "wrong" if number < 25 else "right" for number in range(40)})
    plan = (
        "trialplate: 1\nname: small\ntest_sets:\n  - file: cases/q.csv\nmodels:\n"
        f"  good: {{runner: stand-in, answers: {answers}}}\n  half: {{runner: stand-in, answers: {half}}}\n"
        "repeats: 2\nscorers:\n  correct: {type: exact}\npass_mark:\n  rules:\n"
        "    - {id: shown, at_least: 0.8, of: correct}\n"
        "    - {id: measured, at_least: 0.8, of: correct, basis: estimate}\n"
    )
    project = make_project(tmp_path_factory.mktemp("bounded"), plan)
    (project.folder / "cases" / "q.csv").write_text(cases, encoding="utf-8")
    project.run()
    gate = project.verify(project.runs[-1]).gate
    assert gate is not None
    return gather(gate, by_tag=True, shown=1)


SENTENCES = (
    "rule shown: correct at least 0.8 with 95 % confidence: 0.9750 over 80 cells of 40 cases, which shows between "
    "0.8684 and 0.9994 (alpha 1/40); it holds (2 more failing cases would leave it open)",
    "these 40 cases show at least 0.8868 with 95 % confidence",
    "bounds: of work of which these cases are a sample",
    "rule measured is an estimate: a configuration truly at 70 % passes it",
    "what this shows of work like these cases: at least, and at most, each with 95 % confidence; they decide nothing",
    "by cases: paired case by case, 95 % confidence for all pairs together; information, and no rule",
)


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_report_says_what_the_numbers_show(bounded: Any, name: str) -> None:
    """Golden sentences of a whole report: the decision's, the table's, the pairs'."""
    text = "\n".join(plugins.load("reports", name)(bounded))
    for sentence in SENTENCES:
        assert sentence in text


def test_formats_tell_the_same_bounds(bounded: Any) -> None:
    """Each number of the object stands in the rows by tag, and holds its mean; what is not assessed is null."""
    value = json.loads("\n".join(plugins.load("reports", "json")(bounded)))
    rows = list(csv.DictReader(io.StringIO("\n".join(plugins.load("reports", "csv")(bounded)), newline="")))
    (tag,) = value["tags"]
    found = [(item["name"], m) for item in tag["configurations"] for m in (*item["metrics"], *item["rates"])]
    assert len(rows) == len(found) == 8
    for row, (name, metric) in zip(rows, found, strict=True):
        assert (row["configuration"], row["metric"]) == (name, metric["name"])
        assert float(row["lower"]) == metric["lower"] <= metric["mean"] <= metric["upper"] == float(row["upper"])
    assert value["shown"] == {"confidence": "0.95", "over": "cases", "unit": "case", "errors": "bound"}
    pair = value["comparisons"]["pairs"][0]
    assert (pair["by_cases"], pair["only_first"], pair["only_second"]) == ("difference_shown", 24, 0)
    assert value["comparisons"]["alpha"] == "1/40"
    assert [rank["by_cases"] for rank in value["comparisons"]["ranks"]] == [[1, 1], [2, 2]] * 2
    assert [item["rule"] for item in value["hidden"]] == ["measured"]
