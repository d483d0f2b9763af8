# SPDX-License-Identifier: Apache-2.0
"""What people read: numbers that never look equal when they are not, margins that are true, no control character."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_runs import NAME, Repeat, at_least, at_most, board_of, judged, must_pass, plan_of

from trialplate.record.matrix import narrow
from trialplate.record.values import PassMark, Rule
from trialplate.rules.circumstances import Circumstances
from trialplate.rules.passmark import evaluate
from trialplate.verify.findings import CHECKS, Report, counted
from trialplate.verify.rule_text import margin_text, rule_text
from trialplate.verify.text import (
    decimal_text,
    report_json,
    report_lines,
    visible,
)

CASES = Path(__file__).parents[2] / "vectors" / "cases" / "decide"


# --------------------------------------------------------------------------------------------------------- numbers


def test_decimal_text_1899_of_2000_does_not_look_like_95_percent() -> None:
    """G06: the value that fails is shown with the digits that make it fail."""
    given_case = json.loads((CASES / "gate_rounding.json").read_text())
    assert decimal_text(Fraction(1899, 2000), Fraction("0.95")) == given_case["shown"]
    assert decimal_text(Fraction(189999, 200000), Fraction("0.95")) == "0.949995"
    assert decimal_text(Fraction(19, 20), Fraction("0.95")) == "0.9500"


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(-3, 3), st.integers(1, 12))
@example(3, 1, 1, 12)
@example(32, 1, 0, 5)
def test_decimal_text_is_on_the_right_side_of_what_it_is_compared_with(
    number: int, count: int, steps: int, places: int
) -> None:
    """A shown value is below, at or above a threshold's own text exactly when the value is."""
    value = Fraction(min(count, number), number)
    threshold = Decimal(round(value * 10**places) + steps).scaleb(-places)
    if threshold < 0:
        return
    shown = decimal_text(value, Fraction(threshold))
    if "/" in shown:
        assert Fraction(shown) == value
        return
    compared = (Decimal(shown) > threshold) - (Decimal(shown) < threshold)
    assert compared == (value > Fraction(threshold)) - (value < Fraction(threshold))


# --------------------------------------------------------------------------------------------------------- margins

_FLIPS = re.compile(r"(\d+) (more failing|more passing|fewer|more) (cases?|trials?|errors?) would turn it")


def _turns(rows: list[list[Repeat]], rule: Rule, errors: str, fold: str, told: str) -> None:
    """Check a margin by brute force: so many changes turn the result, and no fewer do."""
    plan = plan_of(len(rows), rule, repeats=len(rows[0]), errors=errors, fold=fold)

    def result(changed: list[list[Repeat]]) -> Any:
        board = board_of(changed)
        return evaluate(plan, narrow(plan, None), NAME, board, Circumstances()).rules[0]

    now = result(rows)
    match = _FLIPS.fullmatch(margin_text(rule, now, errors))
    assert match, told
    number, how, unit = int(match[1]), match[2], match[3]
    old, new = {"more failing": (1, 0), "more passing": (0, 1), "fewer": ("error", 1), "more": (1, "error")}[how]
    if unit.startswith("case"):
        there = [[(i, j) for j in range(len(row))] for i, row in enumerate(rows) if all(cell == old for cell in row)]
    else:
        there = [[(i, j)] for i, row in enumerate(rows) for j, cell in enumerate(row) if cell == old]

    def any_turns(size: int) -> bool:
        for chosen in combinations(there, size):
            changed = [list(row) for row in rows]
            for group in chosen:
                for i, j in group:
                    changed[i][j] = new
            if result(changed).result != now.result:
                return True
        return False

    if number <= len(there):
        assert any_turns(number), told
    if number > 1:
        assert not any_turns(min(number - 1, len(there))), told


_row = st.lists(st.sampled_from([0, 1, 1, "error"]), min_size=2, max_size=2)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_row, min_size=1, max_size=5),
    st.sampled_from(["0.1", "0.25", "0.5", "0.75", "0.9", "1"]),
    st.sampled_from(["correct", "trial_pass_rate", "case_pass_rate", "error_rate"]),
    st.sampled_from([at_least, at_most]),
    st.sampled_from(["bound", "zero", "exclude"]),
    st.sampled_from(["all", "any"]),
)
def test_margin_is_the_fewest_changes_that_turn_the_result(
    rows: list[list[Repeat]], threshold: str, of: str, make: Any, errors: str, fold: str
) -> None:
    """Whatever the rule and the policy, the number that is told turns the result, and one less does not."""
    rule = make(threshold, of)
    (now,) = judged(rows, rule, errors=errors, fold=fold).rules
    told = margin_text(rule, now, errors)
    if told == "nothing could turn it":
        floor = rule.at_least is not None
        assert threshold == "1"
        assert not floor
        return
    if now.result == "inconclusive":
        open_ = "no_metric: nothing was measured"
        assert told == (open_ if now.low is None else f"{counted(now.unknown, 'unknown cell')} could turn it")
        return
    if errors == "exclude" and of != "error_rate" and any("error" in row for row in rows):
        rows = [row for row in rows if "error" not in row] or [[1, 1]]  # a changed case must be wholly known
        (now,) = judged(rows, rule, errors=errors, fold=fold).rules
        if margin_text(rule, now, errors) == "nothing could turn it":
            return
    _turns(rows, rule, errors, fold, told)


@pytest.mark.parametrize(
    ("rule", "rows", "told"),
    [
        (at_least("0.5"), [[1], [1], [1], [0]], "2 more failing cases would turn it"),
        (at_least("0.9"), [[1], [1], [0], [0]], "2 more passing cases would turn it"),
        (at_least("0"), [[1], [0]], "nothing could turn it"),
        (at_most("1"), [[1], [0]], "nothing could turn it"),
        (at_most("0.25"), [[0], [0], [0], [0]], "2 more passing cases would turn it"),
        (at_most("0.25", "error_rate"), [[1], [1], [1], [1]], "2 more errors would turn it"),
        (at_most("0.25", "error_rate"), [["error"], ["error"], [1], [1]], "1 fewer error would turn it"),
        (at_least("0.5", "trial_pass_rate"), [[1, 1], [1, 0]], "2 more failing trials would turn it"),
        (at_least("0.5", "case_pass_rate"), [[1, 1], [1, 0]], "1 more failing case would turn it"),
        (at_least("0.6"), [[1], [0], ["error"]], "1 unknown cell could turn it"),
    ],
)
def test_margin_says_what_it_would_take(rule: Rule, rows: list[list[Repeat]], told: str) -> None:
    """Golden sentences, one per kind."""
    (result,) = judged(rows, rule).rules
    assert margin_text(rule, result, "bound") == told


def test_rule_text_says_value_threshold_cases_and_unknown() -> None:
    """One line holds what was asked, what was measured over how much, and what follows."""
    rule = at_least("0.95")
    rows: list[list[Repeat]] = [[1]] * 1899 + [[0]] * 101
    (result,) = judged(rows, rule).rules
    assert rule_text(rule, result, "bound") == (
        "correct at least 0.95: 0.9495 over 2000 cells of 2000 cases; it does not hold (1 more passing case would turn it)"
    )
    (result,) = judged([[1], ["error"]], rule).rules
    told = rule_text(rule, result, "bound")
    assert "between 0.5000 and 1.0000 over 2 cells of 2 cases, 1 unknown; it cannot be told" in told
    (result,) = judged([[1], [0], [0]], must_pass()).rules
    assert rule_text(must_pass(), result, "bound") == "3 cases must pass; it does not hold (case_failed; q2, q3)"
    assert PassMark(rules=(rule,)).errors == "bound"


# --------------------------------------------------------------------------------------------------------- visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢 😀", "plain é 漢 😀"),
        ("\x1b[31mPASS\x1b[0m\x1b[2K\r", "\\x1b[31mPASS\\x1b[0m\\x1b[2K\\r"),
        ("a\nb\tc\x00", "a\\nb\\tc\\x00"),
        ("\x7f\x85\x9b", "\\x7f\\x85\\x9b"),
        ("safe \u202e gnp.exe", "safe \\u202e gnp.exe"),
        ("\u2066\u2069\u200b\ufeff", "\\u2066\\u2069\\u200b\\ufeff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("half \ud835 pair", "half \\ud835 pair"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_visible_shows_what_a_terminal_would_act_on(text: str, shown: str) -> None:
    """Control, format, direction and surrogate characters become escapes; letters stay letters."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    "item", json.loads((CASES / "evil_outputs.json").read_text()), ids=lambda item: repr(item["id"])
)
def test_visible_of_every_evil_output_holds_no_control_character(item: dict[str, str]) -> None:
    """X06: ids and outputs that move cursors or reverse text are shown as text."""
    for text in item.values():
        assert all(char.isprintable() for char in visible(text))
        assert visible(text).encode()


@settings(deadline=None)
@given(st.text(st.characters()))
def test_visible_is_printable_and_can_be_encoded(text: str) -> None:
    """Any text at all, lone surrogates included."""
    shown = visible(text)
    assert shown.isprintable()
    shown.encode()


# --------------------------------------------------------------------------------------------------------- reports


def test_report_lines_have_one_line_for_every_check() -> None:
    """PASS, FAIL or SKIP for each, findings below with what to do, and a last line that says what it comes to."""
    report = Report("runs/x")
    report.passed("V01", "all canonical")
    report.skip("V02", "not reached")
    report.found("LEDGER-ROOT", "another \x1b[2K root", "ledger/entries.jsonl")
    report.found("CONTENT-UNUSED", "2 openings", note=True)
    lines = list(report_lines(report))
    for check, title in ((check, CHECKS[check]) for check in report.checks):
        assert sum(re.match(rf"  {check} (PASS|FAIL|SKIP) {title}: ", line) is not None for line in lines) == 1
    text = "\n".join(lines)
    assert "V01 PASS strict bytes: all canonical" in text
    assert "FINDING LEDGER-ROOT ledger/entries.jsonl: another \\x1b[2K root" in text
    assert "note CONTENT-UNUSED" in text
    assert lines[-1] == "DOES NOT HOLD: V03"


def test_report_lines_of_many_findings_stay_readable() -> None:
    """Twenty are shown, the rest counted."""
    report = Report("runs/x")
    for number in range(30):
        report.found("CELL-VALUE", f"cell {number}")
    lines = list(report_lines(report))
    assert sum("FINDING" in line for line in lines) == 20
    assert any("and 10 more" in line for line in lines)


def test_report_json_is_one_stable_object() -> None:
    """The keys that programs read, and nothing that JSON cannot hold."""
    report = Report("runs/x")
    report.found("LEDGER-ROOT", "x", "y")
    value = report_json(report)
    assert list(value) == ["subject", "holds", "level", "checkpoint", "checks", "findings"]
    assert [item["id"] for item in value["checks"]] == list(CHECKS)[:-2], (
        "V21 and V22 are told of where they were asked for"
    )
    assert {item["status"] for item in value["checks"]} == {"FAIL", "SKIP"}
    assert list(value["findings"][0]) == ["code", "check", "severity", "message", "where", "do"]
    assert value["holds"] is False
    json.dumps(value, allow_nan=False)
