# SPDX-License-Identifier: Apache-2.0
"""A transcript in lines: what was said, called and returned; whatever has another form stands there as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from trialplate.reports.transcript_text import transcript_text


def test_conversation_is_told_turn_by_turn() -> None:
    """Calls with their results, errors as such, and a call that was the last thing that happened."""
    held: Any = {
        "turns": [
            {
                "text": "Let me see.",
                "tools": [
                    {"name": "look", "arguments": "{}", "result": "42"},
                    {"name": "look", "arguments": "{x", "result": "no JSON", "error": True},
                ],
            },
            {"reasoning": "hm", "tools": [{"name": "look", "arguments": "{}"}]},
        ],
        "form": {"title": "t"},
    }
    assert transcript_text(held).split("\n") == [
        "turn 1 says: Let me see.",
        "turn 1 calls look: {}",
        "  result: 42",
        "turn 1 calls look: {x",
        "  error: no JSON",
        'turn 2 holds {"reasoning":"hm"}',
        "turn 2 calls look: {}",
        "  no result went back",
        '{"form":{"title":"t"}}',
    ]


def test_recorded_run_is_told_step_by_step() -> None:
    """In the order of its steps."""
    held: Any = {"trajectory": {"steps": [{"tool": "find", "input": {"q": "x"}, "output": "y"}, {"tool": "end"}]}}
    assert transcript_text(held).split("\n") == ['step 1 calls find: {"q":"x"}', "  result: y", "step 2 calls end"]


@pytest.mark.parametrize(
    ("held", "shown"),
    [
        ("as it is", "as it is"),
        ({}, "{}"),
        ([1], "[1]"),
        ({"turns": []}, "no tool was called"),
        ({"trajectory": {"steps": []}}, "no step"),
        ({"turns": 3}, '{"turns":3}'),
        ({"turns": [4]}, '{"turns":[4]}'),
        ({"trajectory": {"steps": 5}}, '{"trajectory":{"steps":5}}'),
        ({"turns": [{"tools": 6}]}, "turn 1 calls 6"),
        ({"turns": [{"tools": [{}]}]}, "turn 1 calls null: null\n  no result went back"),
    ],
)
def test_what_has_another_form_is_shown_all_the_same(held: Any, shown: str) -> None:
    """A record may hold anything there, and showing it never fails."""
    assert transcript_text(held) == shown
