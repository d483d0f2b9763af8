# SPDX-License-Identifier: Apache-2.0
"""Every reason that the arithmetic gives, for every kind of rule, as a whole and as a copy: a line without a gap in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import trialplate.rules
from trialplate.record.decisions import CopyResult, Result, RuleResult
from trialplate.record.values import Rule, Selector
from trialplate.verify.decision_text import REASONS
from trialplate.verify.rule_text import WORDS, alternative_text, copy_text, rule_text

SOURCES = Path(trialplate.rules.__file__).parent
GIVEN = re.compile(r'"(pass|fail|inconclusive)", "([a-z_]+)"|reason="([a-z_]+)"|_open\("([a-z_]+)"')
FOUND = {
    next(filter(None, match.groups()[1:]))
    for file in SOURCES.glob("*.py")
    for match in GIVEN.finditer(file.read_text())
}
CODES = sorted(FOUND | set(WORDS) | {"met", "below", "above", "too_few_cases", "unknown_cells", "case_failed"})
RULES = (
    Rule(id="r", at_least="0.5", of="correct"),
    Rule(id="r", at_least="0.5", of="correct", basis="bound"),
    Rule(id="r", at_most="0.5", of="error_rate", basis="bound"),
    Rule(id="r", at_least="0.5", of="share:wall_s:8", basis="bound", each="tag"),
    Rule(id="r", at_most="9", of="cost:per_passed"),
    Rule(id="r", at_least="0.5", of="pass_hat:3"),
    Rule(id="r", at_least="0.5", of="agreement:j", basis="bound"),
    Rule(id="r", at_least="0.5", of="correct", basis="bound", correct_for_judge="j"),
    Rule(id="r", not_worse_than="baseline", by="0.1", of="correct"),
    Rule(id="r", not_worse_than="m", by="-0.1", of="correct", basis="bound"),
    Rule(id="r", must_pass=Selector(tag=("t",)), require="all"),
    Rule(id="r", no_regressions="baseline"),
    Rule(id="r", any_of=("r.1", "r.2")),
)
GAPS = re.compile(r"None|\(\s*\)|\(;|: ;|;\s*\)|  |, ,|:\s*\)|\bnan\b|\{|\}|Fraction|of ,| ,")


def results(reason: str, result: Result) -> Iterator[RuleResult]:
    """Yield a rule's result with all its numbers, with the least of them, and with copies."""
    numbers = {"low": "1/2", "high": "3/4", "threshold": "1/2", "lower": "0.100000000", "upper": "0.900000000"}
    for fields in ({}, {"threshold": "1/2"}, numbers, {**numbers, "alpha": "1/20", "units": 2, "failing": ("q1",)}):
        empty = not fields
        yield RuleResult(
            id="r", result=result, reason=reason, cases=0 if empty else 3, cells=0 if empty else 6, unknown=1, **fields
        )


@pytest.mark.parametrize("reason", CODES)
def test_no_line_has_a_gap(reason: str) -> None:
    """Nothing is told as None, in empty parentheses or with a dangling colon."""
    for rule, result in product(RULES, ("pass", "fail", "inconclusive")):
        for made in results(reason, result):
            fields = {name: value for name, value in made.__dict__.items() if name in CopyResult.__annotations__}
            copies = [CopyResult(value=value, **fields) for value in ("t", "unchanged", "allowed")]
            lines = [rule_text(rule, item, "bound") for item in (made, made.replace(copies=tuple(copies)))]
            lines += [copy_text(rule, made, copy, "bound") for copy in copies]
            if not rule.any_of:
                lines += [alternative_text(rule, made, copy, "bound") for copy in copies]
            for line in lines:
                assert not GAPS.search(line), (line, rule, made)


def test_reasons_of_the_arithmetic_are_all_here() -> None:
    """The pattern that collects them finds what is known to be given, so that a new one is not passed over."""
    assert {"met", "straddles", "no_metric", "no_cases", "judge_stale"} <= set(CODES)
    assert all(text.strip() for text in (*WORDS.values(), *REASONS.values()))
