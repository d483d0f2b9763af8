# SPDX-License-Identifier: Apache-2.0
"""In what a mark is looser than an earlier one: each key has its sentence, and asking for more has none."""

from __future__ import annotations

from typing import Any

import pytest
from contests import choosing
from small_runs import at_least

from trialplate.record.values import AttemptsRule, PassMark
from trialplate.rules.loosening import looser

RULE = at_least("0.5", each="tag", cases=10)


def mark(**fields: Any) -> PassMark:
    """Return a strict mark with some fields changed."""
    strict = {
        "require": "chosen",
        "rules": (RULE,),
        "choose": choosing(),
        "attempts": AttemptsRule(scope="model", max=2),
    }
    return PassMark(**{**strict, **fields})


LOOSER = [
    ({"require": "eligible"}, "require: chosen became eligible"),
    ({"choose": None, "require": "eligible"}, "choose is gone"),
    ({"choose": choosing(within="0.04")}, "choose: within 0.03 became 0.04"),
    ({"choose": choosing(within=None)}, "choose: within 0.03 became any distance"),
    ({"choose": choosing(best_among="floors_met")}, "choose compares something else"),
    ({"choose": choosing(against="m")}, "choose compares something else"),
    ({"absent_rivals": "drop"}, "absent_rivals: bound became drop"),
    ({"declared_usage": "accept"}, "declared_usage: refuse became accept"),
    ({"attempts": AttemptsRule(scope="model", max=3)}, "attempts: at most 2 became 3"),
    ({"attempts": AttemptsRule(scope="model")}, "attempts: at most 2 became any number"),
    ({"attempts": AttemptsRule(max=2)}, "attempts: those of the model became those of the configuration"),
    ({"attempts": AttemptsRule(scope="model", max=2, use="last")}, "attempts: all became the last one only"),
    ({"rules": (RULE.replace(cases=5),)}, "rule floor: at least 10 cases became 5"),
    ({"rules": (RULE.replace(each=None),)}, "rule floor asks for something else"),
    ({"rules": (RULE.replace(at_least="0.4"),)}, "rule floor: at least 0.5 became 0.4"),
    ({"errors": "exclude"}, "errors: bound became exclude"),
]


@pytest.mark.parametrize(("change", "told"), LOOSER, ids=[told for _, told in LOOSER])
def test_looser_key_is_told_by_its_sentence(change: dict[str, Any], told: str) -> None:
    """Each way of asking for less is named, the one way only."""
    assert told in looser(mark(), mark(**change))


@pytest.mark.parametrize(("change", "told"), [item for item in LOOSER if "something else" not in item[1]])
def test_way_back_is_not_looser(change: dict[str, Any], told: str) -> None:
    """Asking for more again is told as nothing."""
    assert looser(mark(**change), mark()) == []


def test_same_mark_is_not_looser() -> None:
    """A mark is as strict as itself, and one that adds a choice or a rule is no looser."""
    plain = PassMark(rules=(RULE,))
    assert looser(mark(), mark()) == looser(plain, plain) == []
    assert looser(plain, mark(declared_usage="accept")) == []
