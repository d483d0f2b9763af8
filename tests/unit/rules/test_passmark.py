# SPDX-License-Identifier: Apache-2.0
"""The pass mark: boundaries in exact fractions, unknown cells by each rule's own extremes, three-valued combination."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from small_runs import (
    NAME,
    Repeat,
    at_least,
    at_most,
    board_of,
    case,
    configuration,
    judged,
    must_pass,
    plan_of,
    scorer,
)

from trialplate.record.matrix import narrow
from trialplate.record.values import Evidence, MatrixLine, Rule, Selector
from trialplate.rules.cells import Board
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import evaluate
from trialplate.rules.quantities import fraction_text

VECTORS = Path(__file__).parents[2] / "vectors"
CASES = VECTORS / "cases" / "decide"


def trouble(name: str) -> Any:
    """Return a case file of real trouble."""
    return json.loads((CASES / name).read_text(encoding="utf-8"), parse_float=str)


def one(rows: list[list[Repeat]], rule: Rule, **fields: Any) -> tuple[str, str | None, str | None]:
    """Return what one rule comes to: result, low and high."""
    (result,) = judged(rows, rule, **fields).rules
    return result.result, result.low, result.high


# ------------------------------------------------------------------------------------------------------ boundaries


def test_at_least_1899_of_2000_does_not_reach_95_percent() -> None:
    """G06: 0.9495 is shown as 0.95 by a rounding tool; here it fails by its exact fraction."""
    given = trouble("gate_rounding.json")
    rows: list[list[Repeat]] = [[1]] * given["passed"] + [[0]] * (given["of"] - given["passed"])
    result, low, high = one(rows, at_least(given["min"]))
    assert (result, low, high) == ("fail", "1899/2000", "1899/2000")
    assert one([[1], *rows[:-1]], at_least(given["min"]))[0] == "pass"


@pytest.mark.parametrize("given", [item for item in trouble("gate_boundary.json") if "values" in item])
def test_at_least_mean_of_equal_decimals_meets_the_same_floor(given: dict[str, Any]) -> None:
    """G07: twenty times 0.95 is 0.95 and three times 0.7 is 0.7, where binary floats say less."""
    rows: list[list[Repeat]] = [[float(value)] for value in given["values"]]
    assert one(rows, at_least(given["min"]))[0] == given["expect"]


def test_at_least_every_hundredth_of_every_small_set_is_decided_as_fractions_decide() -> None:
    """T11: over all counts, a share meets a floor of two decimals exactly when its fraction does."""
    wrong = []
    for number, passed in ((n, p) for n in (5, 7, 20, 33) for p in range(n + 1)):
        rows: list[list[Repeat]] = [[1]] * passed + [[0]] * (number - passed)
        board, floors = board_of(rows), [f"{cents / 100:.2f}" for cents in range(0, 101, 5)]
        plan = plan_of(number, *(at_least(text, id=f"f{i}") for i, text in enumerate(floors)))
        found = evaluate(plan, narrow(plan, None), NAME, board, Circumstances())
        for text, result in zip(floors, found.rules, strict=True):
            if (result.result == "pass") != (Fraction(passed, number) >= Fraction(text)):
                wrong.append((number, passed, text))
    assert not wrong


def test_both_kinds_of_threshold_are_inclusive() -> None:
    """A value equal to the threshold meets a floor and a ceiling."""
    rows: list[list[Repeat]] = [[1], [0], [0], [0]]
    assert one(rows, at_least("0.25"))[0] == one(rows, at_most("0.25"))[0] == "pass"
    assert one(rows, at_least("0.250000000001"))[0] == "fail"
    assert one(rows, at_most("0.249999999999"))[0] == "fail"


def test_mean_with_repeats_is_the_mean_of_the_case_means() -> None:
    """A case asked once weighs as much as a case asked three times."""
    plan = plan_of(
        2,
        at_least("0.5"),
        lines=[
            MatrixLine(configurations=(NAME,), cases=Selector(id=("q1",)), repeats=3),
            MatrixLine(configurations=(NAME,), cases=Selector(id=("q2",)), repeats=1),
        ],
    )
    (result,) = judged([[1, 1, 0], [0]], plan=plan).rules
    assert (result.low, result.cells, result.cases) == ("1/3", 4, 2)
    trial = plan_of(2, at_least("0.5", of="trial_pass_rate"), lines=plan.matrix)
    (result,) = judged([[1, 1, 0], [0]], plan=trial).rules
    assert result.low == "1/2"


# -------------------------------------------------------------------------------------------------- shared vectors

_SHARED = json.loads((VECTORS / "decisions" / "decision_vectors.json").read_text(encoding="utf-8"))["vectors"]


def _shared(group: str) -> list[Any]:
    return [pytest.param(item, id=item["id"]) for item in _SHARED if item["group"] == group]


@pytest.mark.parametrize("vector", _shared("floor"))
def test_floor_shared_vector_holds(vector: dict[str, Any]) -> None:
    """A floor over values, with none of them, and with a missing one at zero."""
    given = vector["inputs"]
    rows: list[list[Repeat]] = [[round(v, 6) if v is not None else None] for v in given["values"]]
    if given["values"] == [0.949999998]:
        rows = [[0.949999]]  # a recorded metric has six decimals; native rules know no tolerance
    errors = given.get("missing", "bound")
    result = one(rows, at_least(str(given["floor"])), errors=errors)[0]
    assert (result == "pass") is vector["expected"]


@pytest.mark.parametrize("vector", _shared("fold"))
def test_fold_shared_vector_holds(vector: dict[str, Any]) -> None:
    """all, majority (strictly more than half) and any over the repeats of a case."""
    row: list[Repeat] = [int(item) for item in vector["inputs"]["passed"]]
    result = one([row], must_pass("q1", require=vector["inputs"]["require"]))[0]
    assert (result == "pass") is vector["expected"]


@pytest.mark.parametrize("vector", _shared("rates"))
def test_rates_shared_vector_leaving_unknown_out_gives_the_accuracy(vector: dict[str, Any]) -> None:
    """With `exclude` the pass rate is over decided trials; with nothing decided there is no rate, never 0."""
    given = vector["inputs"]
    rows: list[list[Repeat]] = [[1]] * given["passed"] + [[0]] * given["failed"]
    rows += [["error"]] * given["error"] + [["skipped"]] * given["skipped"]
    result, low, high = one(rows, at_least("0", of="trial_pass_rate"), errors="exclude")
    accuracy = vector["expected"]["accuracy"]
    if accuracy is None:
        assert (result, low, high) == ("inconclusive", None, None)
    else:
        assert low == high == fraction_text(Fraction(given["passed"], given["passed"] + given["failed"]))
        assert float(Fraction(low or "")) == pytest.approx(accuracy, abs=vector["tolerance"])


@pytest.mark.parametrize("vector", _shared("rates"))
def test_rates_shared_vector_error_rate_lies_within_the_extremes(vector: dict[str, Any]) -> None:
    """A skipped trial might have failed or not: the error rate is a span that holds the attempted ones' rate."""
    given = vector["inputs"]
    rows: list[list[Repeat]] = [[1]] * given["passed"] + [[0]] * given["failed"]
    rows += [["error"]] * given["error"] + [["skipped"]] * given["skipped"]
    _, low, high = one(rows, at_most("1", of="error_rate"))
    if vector["expected"]["error_rate"] is not None:
        assert float(Fraction(low or "")) <= vector["expected"]["error_rate"] <= float(Fraction(high or ""))
    else:
        assert (low, high) == ("0/1", "1/1")


@pytest.mark.parametrize("vector", _shared("decision"))
def test_decision_shared_vector_as_estimate_agrees_with_plain_fractions(vector: dict[str, Any]) -> None:
    """The counts of the bound vectors, decided as estimates: the share alone, and its extremes where cells are unknown."""
    given = vector["inputs"]
    if "case_means" in given:
        rows: list[list[Repeat]] = [[round(value, 6)] for value in given["case_means"]]
        exact = sum((Fraction(str(row[0])) for row in rows), Fraction(0)) / len(rows)
        low = high = exact
    else:
        rows = [[1]] * given["passed"] + [[0]] * given["failed"] + [["error"]] * given["unknown"]
        low, high = Fraction(given["passed"], len(rows)), Fraction(given["passed"] + given["unknown"], len(rows))
    floor = Fraction(str(given["floor"]))
    expected = "pass" if low >= floor else "fail" if high < floor else "inconclusive"
    assert one(rows, at_least(str(given["floor"]))) == (expected, fraction_text(low), fraction_text(high))


# --------------------------------------------------------------------------------------------------- unknown cells


def test_unknown_two_errors_of_ten_are_neither_passes_nor_absent() -> None:
    """T01: six passes, two failures, two errors span 0.6 to 0.8; 0.75 is never said."""
    given = trouble("stats_errors.json")
    rows: list[list[Repeat]] = [[{"passed": 1, "failed_check": 0}.get(item, "error")] for item in given["outcomes"]]
    assert one(rows, at_least("0.6", of="trial_pass_rate")) == ("pass", "3/5", "4/5")
    assert one(rows, at_least("0.7", of="trial_pass_rate"))[0] == "inconclusive"
    assert one(rows, at_least("0.81", of="trial_pass_rate"))[0] == "fail"
    assert one(rows, at_least("0.6", of="trial_pass_rate"), errors="zero") == ("pass", "3/5", "3/5")


def test_unknown_half_of_a_metric_cannot_be_decided_unless_zero_was_agreed() -> None:
    """T02: one value of 1.0 and one that the scorer could not give."""
    given = trouble("stats_nulls.json")[0]
    rows: list[list[Repeat]] = [[1], ["error"]]
    assert one(rows, at_least("0.9")) == ("inconclusive", "1/2", "1/1")
    _, low, high = one(rows, at_least("0.9"), errors="zero")
    assert low == high == fraction_text(Fraction(given["with_policy_zero"]))
    assert one(rows, at_least("0.9"), errors="exclude") == ("pass", "1/1", "1/1")


@pytest.mark.parametrize("given", [item for item in trouble("stats_majority.json") if item["require"] == "majority"])
def test_majority_half_of_the_planned_repeats_is_not_more_than_half(given: dict[str, Any]) -> None:
    """T10: an error is not a pass, and it does not leave the number of planned repeats."""
    row: list[Repeat] = [item if item == "error" else int(item) for item in given["trials"]]
    result = one([row], must_pass("q1", require="majority"), errors="zero")[0]
    assert (result == "pass") is given["passed"]
    assert (one([row], must_pass("q1", require="majority"))[0] == "pass") is given["passed"]


def test_majority_two_passes_and_one_error_of_four_may_still_come() -> None:
    """Under `bound` the lost repeat could make it three of four: it cannot be told."""
    assert one([[1, 1, 0, "error"]], must_pass("q1", require="majority"))[0] == "inconclusive"
    assert one([[1, 1, 1, "error"]], must_pass("q1", require="majority"))[0] == "pass"
    assert one([[1, 0, 0, "error"]], must_pass("q1", require="majority"))[0] == "fail"


def test_fold_of_four_passes_in_ten_keeps_the_fraction_and_fails_all() -> None:
    """T11: the share of trials stays 0.4 while the case fails under `all`."""
    given = trouble("stats_majority.json")[3]
    row: list[Repeat] = [int(item) for item in given["trials"]]
    assert one([row], at_least("0", of="trial_pass_rate"))[1] == "2/5"
    assert one([row], at_least("0", of="case_pass_rate"), fold="all")[1] == "0/1"
    assert one([row], at_least("0", of="case_pass_rate"), fold="any")[1] == "1/1"


def test_unknown_all_errors_do_not_read_as_resistance() -> None:
    """T14: three endpoint failures say nothing, least of all that an attack never succeeded."""
    given = trouble("stats_all_error.json")
    rows: list[list[Repeat]] = [[item] for item in given["outcomes"]]
    assert one(rows, at_most("0.05")) == ("inconclusive", "0/1", "1/1")
    assert one(rows, at_most("0.05"), errors="exclude") == ("inconclusive", None, None)
    assert judged(rows, at_most("0.05")).decision == "inconclusive"


@pytest.mark.parametrize(
    ("rule", "worst_passes", "best_fails"),
    [
        (at_least("0.5"), [[1], [1], ["error"]], [[0], [0], ["error"]]),
        (at_most("0.5"), [[0], [0], ["error"]], [[1], [1], ["error"]]),
        (at_least("0.5", of="trial_pass_rate"), [[1], [1], ["lost"]], [[0], [0], [None]]),
        (at_least("0.5", of="case_pass_rate"), [[1], [1], ["skipped"]], [[0], [0], ["skipped"]]),
        (at_most("0.5", of="error_rate"), [[1], [0], ["skipped"]], [["error"], ["lost"], ["skipped"]]),
        (must_pass(require="any"), [[1, "error"], [1, 0]], [[1, 1], [0, 0]]),
        (must_pass(require="all"), [[1, 1], [1, 1]], [[1, 0], [1, "error"]]),
    ],
    ids=lambda value: value.of or "must_pass" if isinstance(value, Rule) else "",
)
def test_unknown_each_rule_uses_its_own_extremes(
    rule: Rule, worst_passes: list[list[Repeat]], best_fails: list[list[Repeat]]
) -> None:
    """A rule passes at its worst completion, fails at its best, and is open in between."""
    assert one(worst_passes, rule)[0] == "pass"
    assert one(best_fails, rule)[0] == "fail"


def test_error_rate_counts_errors_and_lost_attempts_and_never_a_metric() -> None:
    """An error and an attempt without an end are errors; a trial that never began is unknown."""
    assert one([[1], ["error"], ["lost"], [0]], at_most("0.5", of="error_rate")) == ("pass", "1/2", "1/2")
    assert one([[1], ["error"], [None], [0]], at_most("0.25", of="error_rate"))[0] == "inconclusive"
    assert one([[1], ["error"], [None], [0]], at_most("0.2", of="error_rate"))[0] == "fail"


def test_error_rate_is_not_softened_by_the_policy_on_errors() -> None:
    """`zero` and `exclude` are about what was measured; an error stays an error, and a skip stays unknown."""
    rows: list[list[Repeat]] = [["error"], ["skipped"], [1], [1]]
    for errors in ("bound", "zero", "exclude"):
        assert one(rows, at_most("0.3", of="error_rate"), errors=errors) == ("inconclusive", "1/4", "1/2")


def test_must_pass_names_the_cases_in_the_way_at_most_ten() -> None:
    """What failed comes before what is merely open; the list stays readable."""
    (result,) = judged([[0], ["error"], [1], [0]], must_pass()).rules
    assert (result.result, result.failing, result.unknown) == ("fail", ("q1", "q4"), 1)
    (result,) = judged([[1], ["error"]], must_pass()).rules
    assert (result.result, result.reason, result.failing) == ("inconclusive", "unknown_cells", ("q2",))
    (result,) = judged([[0]] * 12, must_pass()).rules
    assert len(result.failing) == 10


def test_must_pass_without_require_folds_as_the_plan_does() -> None:
    """The plan's own fold of a case is the default of the rule."""
    row: list[Repeat] = [1, 1, 0]
    assert one([row], must_pass(), fold="all")[0] == "fail"
    assert one([row], must_pass(), fold="majority")[0] == "pass"


def test_must_pass_under_exclude_with_nothing_left_stays_open() -> None:
    """A case whose every repeat is unknown is not passed because nothing speaks against it."""
    assert one([["error", "lost"]], must_pass(), errors="exclude")[0] == "inconclusive"
    assert one([["error", 1]], must_pass(), errors="exclude")[0] == "pass"


# ------------------------------------------------------------------------------------------- where, metrics, nothing


def test_where_and_applicability_choose_the_cases_of_a_rule() -> None:
    """A rule counts the cases its selector names, and of these the ones its metric applies to."""
    cases = [case(1, "easy"), case(2, "hard"), case(3, "hard"), case(4)]
    narrow_scorer = scorer(cases=Selector(id=("q1", "q2", "q4")))
    plan = plan_of(cases, at_least("1", where=Selector(tag=("hard",))), scorers=[narrow_scorer])
    (result,) = judged([[0], [1], [0], [0]], plan=plan).rules
    assert (result.result, result.cases, result.low) == ("pass", 1, "1/1")
    plan = plan_of(cases, at_least("1", of="trial_pass_rate", where=Selector(tag=("hard",))), scorers=[narrow_scorer])
    (result,) = judged([[0], [1], [0], [0]], plan=plan).rules
    assert (result.result, result.cases) == ("fail", 2)


def test_metric_missing_on_seven_of_ten_cases_cannot_be_decided() -> None:
    """G04: grounded was measured on 3 of 10; the three do not speak for the seven."""
    given = trouble("record_missing_metric.json")
    rows: list[list[Repeat]] = [[1 if "grounded" in item["metrics"] else "error"] for item in given["results"]]
    floor = at_least(given["pass_mark"]["floors"]["grounded"])
    (result,) = judged(rows, floor).rules
    assert (result.result, result.reason, result.unknown, result.cells) == ("inconclusive", "unknown_cells", 7, 10)


def test_metric_absent_from_a_known_line_is_unknown() -> None:
    """A decided trial that does not carry the metric leaves that cell unknown, whatever else it says."""
    plan = plan_of(2, at_least("0.5", of="grounded"), scorers=[scorer("correct"), scorer("grounded")])
    (result,) = judged([[1], [1]], plan=plan).rules
    assert (result.result, result.unknown, result.low, result.high) == ("inconclusive", 2, "0/1", "1/1")


def test_metric_without_any_applicable_case_decides_nothing() -> None:
    """Zero applicable cells are inconclusive for a floor of 0 and for a ceiling of 1 alike."""
    nowhere = scorer(cases=Selector(id=("q9",)))
    for rule in (at_least("0"), at_most("1")):
        plan = plan_of(2, rule, scorers=[nowhere])
        found = judged([[1], [1]], plan=plan)
        assert (found.decision, found.rules[0].reason, found.rules[0].cases) == ("inconclusive", "no_metric", 0)
    found = judged([[1]], must_pass("q9"))
    assert (found.decision, found.rules[0].reason) == ("inconclusive", "no_cases")


def test_empty_board_decides_nothing() -> None:
    """G01 and G03: no results, or nothing but errors, are never accepted."""
    plan = plan_of(20, at_least("0"), must_pass())
    found = evaluate(plan, narrow(plan, None), NAME, Board(), Circumstances())
    assert found.decision == "inconclusive"
    rows: list[list[Repeat]] = [["error"]] * 20
    assert judged(rows, at_least("0.9")).decision == "inconclusive"


def test_no_rules_accept_nothing() -> None:
    """A mark without a rule leaves everything open."""
    found = judged([[1], [1]])
    assert (found.decision, found.reasons) == ("inconclusive", ("no_rules",))


# ----------------------------------------------------------------------------------------------------- combination

_WORDS: dict[str, Rule] = {
    "pass": at_least("0.5", id="pass"),
    "fail": at_least("0.9", id="fail"),
    "inconclusive": at_least("0.6", id="inconclusive"),
}
_ROWS: list[list[Repeat]] = [[1], [0], [1], ["error"]]  # 1/2 .. 3/4


@pytest.mark.parametrize("words", list(itertools.product(_WORDS, repeat=2)), ids="-".join)
def test_combination_of_two_rules_is_three_valued(words: tuple[str, str]) -> None:
    """Any failure rejects, else anything open leaves it open, else it is accepted; the reasons name the rules."""
    rules = [Rule(**{**_WORDS[word].__dict__, "id": f"{word}{i}"}) for i, word in enumerate(words)]
    found = judged(_ROWS, *rules)
    assert tuple(item.result for item in found.rules) == words
    expected = "rejected" if "fail" in words else "inconclusive" if "inconclusive" in words else "accepted"
    assert found.decision == expected
    deciding = {"rejected": "fail", "inconclusive": "inconclusive"}.get(expected, "none")
    assert found.reasons == tuple(rule.id for rule in rules if rule.id.startswith(deciding))


_GOOD: list[list[Repeat]] = [[1, 1]] * 4
_BAD: list[list[Repeat]] = [[0, 0]] * 4


@pytest.mark.parametrize(
    ("missing", "fields"),
    [
        ("selection", {"selection": "pilot"}),
        ("finished", {"finished": False}),
        ("cases", {"evidence": Evidence(cases=5)}),
        ("repeats", {"evidence": Evidence(repeats=3)}),
    ],
)
def test_evidence_unmet_leaves_good_and_bad_results_open(missing: str, fields: dict[str, Any]) -> None:
    """What the record does not show is never a rejection, and never an acceptance."""
    for rows in (_GOOD, _BAD):
        found = judged(rows, at_least("0.5"), **fields)
        assert (found.decision, found.reasons) == ("inconclusive", (missing,))
        assert [item.name for item in found.evidence if not item.met] == [missing]


def test_evidence_complete_counts_attempts_and_not_skips() -> None:
    """A skipped or absent trial was not attempted; an error was."""
    rows: list[list[Repeat]] = [[1], [1], [1], ["error"]]
    rule, whole = at_least("0.5"), Evidence()
    assert judged(rows, rule, evidence=whole).decision == "accepted"
    for gap in ("skipped", None):
        found = judged([*rows[:3], [gap]], rule, evidence=whole)
        assert (found.decision, found.reasons) == ("inconclusive", ("complete",))
        assert judged([*rows[:3], [gap]], rule, evidence=Evidence(complete="0.75")).decision == "accepted"


def test_evidence_infrastructure_errors_are_bounded_where_the_mark_asks() -> None:
    """A share of errors above the one that was agreed leaves it open."""
    rows: list[list[Repeat]] = [[1], [1], [1], ["error"]]
    rule = at_least("0.5")
    assert judged(rows, rule, evidence=Evidence(infrastructure_errors="0.25")).decision == "accepted"
    found = judged(rows, rule, evidence=Evidence(infrastructure_errors="0.24"))
    assert (found.decision, found.reasons) == ("inconclusive", ("infrastructure_errors",))


def test_evidence_replayed_calls_count_only_where_the_mark_says_any() -> None:
    """By default an answer out of a cassette decides nothing."""
    from small_runs import ended

    from trialplate.record.entries import Call, TrialStart
    from trialplate.rules.cells import Board

    key, plan = (NAME, "q1", 1), plan_of(1, at_least("1"))
    board = Board()
    board.start(TrialStart(trial=key, attempt=1))
    board.end(ended(key, calls=(Call(digest="sha256:" + "1" * 64, replayed=True),)))
    found = evaluate(plan, narrow(plan, None), NAME, board, Circumstances())
    assert (found.decision, found.reasons) == ("inconclusive", ("calls",))
    plan = plan_of(1, at_least("1"), evidence=Evidence(calls="any"))
    assert evaluate(plan, narrow(plan, None), NAME, board, Circumstances()).decision == "accepted"


def test_evidence_reasked_share_is_inclusive() -> None:
    """One re-asked cell of fifty is the 2 % that the default allows; two are not."""
    from small_runs import ended, play

    from trialplate.record.entries import TrialStart
    from trialplate.rules.cells import Board

    plan = plan_of(50, at_least("1"))
    for again, decision in ((1, "accepted"), (2, "inconclusive")):
        board = Board()
        for number in range(1, 51):
            key = (NAME, f"q{number}", 1)
            if number > again:
                play(board, key, 1)
                continue
            board.start(TrialStart(trial=key, attempt=1))
            board.end(ended(key, outcome="error", received=5, retry=True))
            board.start(TrialStart(trial=key, attempt=2))
            board.end(ended(key, attempt=2))
        found = evaluate(plan, narrow(plan, None), NAME, board, Circumstances())
        assert found.decision == decision


def test_configurations_are_judged_by_their_own_cells() -> None:
    """Another configuration's results change nothing."""
    plan = plan_of(2, at_least("1"), configurations=[configuration("m"), configuration("n")])
    board = board_of([[1], [1]], "m")
    board.cells.update(board_of([[0], [0]], "n").cells)
    matrix = narrow(plan, None)
    words = {name: evaluate(plan, matrix, name, board, Circumstances()).decision for name in ("m", "n")}
    assert words == {"m": "accepted", "n": "rejected"}
