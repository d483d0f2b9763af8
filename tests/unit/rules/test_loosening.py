# SPDX-License-Identifier: Apache-2.0
"""In what a mark is looser than an earlier one: each key has its sentence, and asking for more has none."""

from __future__ import annotations

from typing import Any

import pytest
from contests import choosing
from small_runs import at_least

from trialplate.record.values import AttemptsRule, Evidence, JudgeEvidence, PassMark, Rule, Selector, Stop
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


STRICT = {
    "rules": (
        RULE.replace(basis="bound"),
        Rule(id="near", not_worse_than="baseline", by="0.03", of="correct", basis="bound"),
        Rule(id="ratchet", no_regressions="baseline", allow=("q1",)),
        Rule(id="either", any_of=("one", "two")),
        Rule(id="cost", at_most="0.5", of="cost:total"),
    ),
    "alternatives": (at_least("0.9", id="one", basis="bound"), Rule(id="two", must_pass=Selector())),
    "unit": "meta.source",
    "attempts": AttemptsRule(spend=True),
    "evidence": Evidence(judge=JudgeEvidence(scorer="judge", graded=50, agreement="0.8")),
    "choose": choosing(basis="bound", keep="m"),
}
CHANGED_RULE = {
    "by": ("near", {"by": "0.04"}, "rule near: by 0.03 became 0.04"),
    "allow": ("ratchet", {"allow": ("q1", "q2")}, "rule ratchet: it allows 1 more case, such as q2"),
    "basis": ("floor", {"basis": "estimate"}, "rule floor: a bound became an estimate"),
    "reference": ("near", {"not_worse_than": "m"}, "rule near asks for something else"),
    "alternatives": ("either", {"any_of": ("one", "two", "three")}, "rule either asks for something else"),
    "corrected": ("floor", {"correct_for_judge": "judge"}, "rule floor asks for something else"),
    "member": ("one", {"at_least": "0.8"}, "rule one: at least 0.9 became 0.8"),
    "member basis": ("one", {"basis": "estimate"}, "rule one: a bound became an estimate"),
}
BOUND_LOOSER: list[tuple[dict[str, Any], str]] = [
    ({"confidence": "0.9"}, "confidence: 0.95 became 0.9"),
    ({"over": "this_set"}, "over: cases became this_set"),
    ({"family": "each"}, "family: plan became each"),
    ({"unit": "case"}, "unit: meta.source became case"),
    ({"unit": "meta.other"}, "unit: meta.source became meta.other"),
    ({"stop": Stop(mode="sealed")}, "stop: none became sealed"),
    ({"stop": Stop(mode="counts", rule="floor", accept=(0,), reject=(1,))}, "stop: none became counts"),
    ({"attempts": AttemptsRule()}, "attempts: together they may err as often as one, and now more often"),
    ({"declared_usage": "accept"}, "declared_usage: refuse became accept"),
    ({"declared_usage": "accept", "choose": None}, "declared_usage: refuse became accept"),
    ({"evidence": Evidence()}, "evidence: nothing is demanded of the judge judge"),
    (
        {"evidence": Evidence(judge=JudgeEvidence(scorer="judge", graded=50, agreement="0.7"))},
        "evidence: an agreement of 0.8 with judge became 0.7",
    ),
    (
        {"evidence": Evidence(judge=JudgeEvidence(scorer="judge", graded=40, agreement="0.8"))},
        "evidence: 50 graded answers of judge became 40",
    ),
    ({"choose": choosing()}, "choose: a bound became an estimate"),
]


@pytest.mark.parametrize(("change", "told"), BOUND_LOOSER, ids=[told for _, told in BOUND_LOOSER])
def test_mark_of_bounds_is_looser_by_each_of_its_keys(change: dict[str, Any], told: str) -> None:
    """Each has its sentence; only a unit of another kind is looser both ways."""
    strict = PassMark(**STRICT)
    assert told in looser(strict, strict.replace(**change))
    if "other" not in told:
        back = [item for item in looser(strict.replace(**change), strict) if "choose" not in item]
        assert back == []


@pytest.mark.parametrize("key", CHANGED_RULE)
def test_rule_of_a_bound_is_looser_by_each_of_its_keys(key: str) -> None:
    """Members of an any_of as well; what asks for something else cannot be compared."""
    name, change, told = CHANGED_RULE[key]
    strict = PassMark(**STRICT)
    changed = {
        part: tuple(rule.replace(**change) if rule.id == name else rule for rule in getattr(strict, part))
        for part in ("rules", "alternatives")
    }
    assert told in looser(strict, strict.replace(**changed))
    if "something else" not in told:
        assert looser(strict.replace(**changed), strict) == []


def test_other_counts_are_told() -> None:
    """A table of counts is compared as a whole; to stop no more is no looser."""
    table = Stop(mode="counts", rule="floor", accept=(0,), reject=(1,))
    plain = PassMark(rules=(RULE,), stop=table)
    assert looser(plain, plain.replace(stop=table.replace(accept=(-1,)))) == ["stop: the counts are others"]
    assert looser(plain, plain.replace(stop=None)) == []


def test_who_is_kept_is_no_part_of_how_strict_a_mark_is() -> None:
    """It is said, and nothing more."""
    assert looser(mark(), mark(choose=choosing(keep="m"))) == []


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
