# SPDX-License-Identifier: Apache-2.0
"""Reading a number from a text: whole words only, and nothing that could be meant in two ways."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.spec.numbers import NumberRules, find_number, number_rules, reference_problem, whole_number

PLAIN = NumberRules()
GERMAN = NumberRules(thousands=".", decimal=",")
UNITS = NumberRules(thousands=",", units=("km", "kilometres", "$"), percent="divide")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", "42"),
        (" 42.\n", "42"),
        ("**42**", "42"),
        ("(-3.50)", "-3.50"),
        ("\u22127", "-7"),
        ("+.5", "0.5"),
        ("6e23", "6e23"),
        ("1E-3", "0.001"),
        ("007", "7"),
        ("-0", "0"),
    ],
)
def test_number_alone_is_read_exactly(text: str, number: str) -> None:
    """Brackets, quotes and marks around it, and the point of a sentence, are no part of it."""
    found = whole_number(text, PLAIN)
    assert (found.number, found.problem) == (Decimal(number), "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1,234", "separators"),
        ("1.234,5", "separators"),
        ("1'234", "separators"),
        ("1\u202f234", "separators"),
        ("1 234", "digits behind it"),
        ("20%", "a percent sign"),
        ("20 %", "a percent sign"),
        ("20 percent", "a percent sign"),
        ("5km", "glued"),
        ("$5", "glued"),
        ("x=5", "glued"),
        ("9+9", "glued"),
        ("2026-01-02", "glued"),
        ("4\u0662", "glued"),
        ("5 km", "more than a number"),
        ("72 clips", "more than a number"),
        ("3 / 4", "expression"),
        ("- 5", "no number"),
        ("20 million", '"million" follows it'),
        ("seven", "no number"),
        ("NaN", "no number"),
        ("inf", "no number"),
        ("", "nothing"),
        ("?", "no number"),
    ],
)
def test_text_that_may_mean_two_things_is_no_number(text: str, problem: str) -> None:
    """Refused with the reason, never guessed."""
    found = whole_number(text, PLAIN)
    assert found.number is None
    assert problem in found.problem


@pytest.mark.parametrize("text", ["1e400", "1e-400", "9" * 61, "7" * 5000, "1" * 100_000, "0." + "1" * 70])
def test_absurd_number_is_none_and_equals_nothing(text: str) -> None:
    """Five thousand digits are read by nobody, and crash nothing."""
    found = whole_number(text, PLAIN)
    assert (found.number, found.absurd) == (None, True)
    assert len(found.text) < 1100


@pytest.mark.parametrize(
    ("rules", "text", "number"),
    [
        (GERMAN, "1.234,5", "1234.5"),
        (GERMAN, "1234,5", "1234.5"),
        (GERMAN, "1.234", "1234"),
        (UNITS, "1,234 kilometres", "1234"),
        (UNITS, "5km.", "5"),
        (UNITS, "-$5", "-5"),
        (UNITS, "$ 5", "5"),
        (UNITS, "20%", "0.2"),
        (UNITS, "20.5 percent", "0.205"),
        (NumberRules(percent="keep"), "20 %", "20"),
        (NumberRules(thousands="\u202f"), "1\u202f234", "1234"),
    ],
)
def test_setting_says_how_it_is_meant(rules: NumberRules, text: str, number: str) -> None:
    """What the plan states is no guess."""
    assert whole_number(text, rules).number == Decimal(number)


@pytest.mark.parametrize(
    ("rules", "text"), [(GERMAN, "1.23"), (GERMAN, "1,234,5"), (UNITS, "1,23"), (UNITS, "5 m"), (UNITS, "12,34,567")]
)
def test_setting_allows_no_more_than_it_says(rules: NumberRules, text: str) -> None:
    """Groups have three digits, and another unit is another thing."""
    assert whole_number(text, rules).number is None


@pytest.mark.parametrize(
    ("text", "which", "found", "number"),
    [
        ("The total is 72 clips, altogether.", "last", "72", "72"),
        ("The share is 20% of 100", "first", "20%", None),
        ("The share is 20% of 100", "last", "100", "100"),
        ("In 2020, 150 people came", "first", "2020", "2020"),
        ("12 345 people", "last", "345", None),
        ("about 3 million", "last", "3", None),
        ("the sum is - 5", "last", "5", None),
        ("none", "last", "", None),
    ],
)
def test_first_and_last_word_with_a_digit_is_the_one(text: str, which: Any, found: str, number: str | None) -> None:
    """One that is no number is not passed over for another."""
    read = find_number(text, which, PLAIN)
    assert (read.text, read.number) == (found, None if number is None else Decimal(number))


@pytest.mark.parametrize(
    ("reference", "find", "problem"),
    [
        ("20%", "last", ""),
        (20, "whole", ""),
        ("none", "whole", ""),
        ("none", "last", "no digit"),
        (True, "whole", "neither a number nor a text"),
        ([1], "whole", "neither a number nor a text"),
        ("1e400", "whole", "too long"),
    ],
)
def test_reference_that_nothing_could_equal_is_told(reference: Any, find: str, problem: str) -> None:
    """Before a run, and with the reason."""
    assert problem in reference_problem(reference, find, PLAIN)
    assert bool(problem) == bool(reference_problem(reference, find, PLAIN))


def test_rules_come_from_the_settings_of_a_plan() -> None:
    """Absent ones are the strict defaults."""
    assert number_rules({}) == PLAIN
    assert number_rules({"separators": {"thousands": ".", "decimal": ","}, "percent": "refuse", "units": []}) == GERMAN


@given(st.text(max_size=60), st.sampled_from([PLAIN, GERMAN, UNITS]))
def test_any_text_is_read_without_an_error(text: str, rules: NumberRules) -> None:
    """A number or a reason, and never both."""
    for found in (whole_number(text, rules), find_number(text, "first", rules), find_number(text, "last", rules)):
        assert (found.number is None) == bool(found.problem)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6))
def test_plain_decimal_is_read_as_itself(number: Decimal) -> None:
    """Whatever its digits: no rounding on the way."""
    assert whole_number(format(number, "f"), PLAIN).number == number
    assert find_number(f"It is {format(number, 'f')}.", "last", PLAIN).number == number
