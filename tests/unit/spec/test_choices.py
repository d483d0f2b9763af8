# SPDX-License-Identifier: Apache-2.0
"""Reading a choice: letters and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialplate.spec.choices import OPTIONS, choices_of, read_choices


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("A", "A"),
        ("A,", "A"),
        ("A, B, and C", "ABC"),
        ("d", "D"),
        ("(B)", "B"),
        ("**C**.", "C"),
        ("A c", "AC"),
        ("A & B", "AB"),
        ("", None),
        ("and", None),
        ("A bird", None),
        ("A or B", None),
        ("AB", None),
        ("A because of B", None),
        ("Z" * 1000, None),
    ],
)
def test_choice_is_letters_and_nothing_else(text: str, choices: str | None) -> None:
    """A sentence names none: A is also a word."""
    assert read_choices(text) == (None if choices is None else frozenset(choices))


def test_choice_outside_the_options_is_none() -> None:
    """E is no choice where there are four."""
    assert read_choices("A, E", frozenset("ABCD")) is None


@pytest.mark.parametrize(
    ("reference", "choices"),
    [("A, C", "AC"), (["c", "A"], "AC"), (3, None), (["A", 1], None), (True, None), ({}, None)],
)
def test_reference_is_a_text_or_a_list(reference: Any, choices: str | None) -> None:
    """Anything else names no choice."""
    assert choices_of(reference) == (None if choices is None else frozenset(choices))


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    """Options, or nothing."""
    assert (read_choices(text) or frozenset()) <= OPTIONS
