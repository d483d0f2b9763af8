# SPDX-License-Identifier: Apache-2.0
"""Choices, copies, chances and attempts as an author writes them: what they become, and each mistake by its sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trialplate.errors import SpecError
from trialplate.record.values import AttemptsRule, Choose, PassMark, Selector
from trialplate.spec.freeze import Frozen, freeze
from trialplate.spec.project import load_project

Write = Callable[..., Path]

CASES = "id,input,reference,tags\nq1,Is it?,yes,critical;easy\nq2,Is it not?,no,easy\nq3,Is it so?,yes,\n"
PLAN = """\
trialplate: 1
name: small
test_sets: [{file: cases/a.csv}]
profiles: {}
models:
  echo: {runner: stand-in, answers: {"*": "yes"}, pricing: free}
  far: {runner: command, shell: "true", subject: s, pricing: {currency: USD, input: 1, output: 1}}
  bare: {runner: stand-in, answers: {"*": "no"}, role: comparison}
matrix: [{models: [echo, far, bare]}]
repeats: 2
scorers:
  right: {type: exact}
  easy: {type: exact, metric: easy, cases: {tag: easy}}
pass_mark:
  rules: [{id: r, at_least: 0.5, of: right, basis: estimate}]
"""
CHOOSE = "  choose: {by: cheapest, of: right, within: 0.4, basis: estimate}\n"


def frozen(project_at: Write, more: str = "", *changes: tuple[str, str]) -> Frozen:
    """Return the plan with further lines of the pass mark, and with some texts replaced."""
    plan = PLAN
    for old, new in changes:
        assert old in plan + more
        plan, more = plan.replace(old, new), more.replace(old, new)
    return freeze(load_project(project_at(plan + more, {"cases/a.csv": CASES})), b"s" * 32)


def mark_of(project_at: Write, more: str = "", *changes: tuple[str, str]) -> PassMark:
    """Return the pass mark of that plan."""
    return frozen(project_at, more, *changes).plan.pass_mark


def test_choice_is_written_out_with_what_breaks_a_tie(project_at: Write) -> None:
    """Every default stands in the plan; what nobody wrote is what the document says."""
    assert mark_of(project_at, CHOOSE).choose == Choose(by="cheapest", of="right", within="0.4")
    best = mark_of(project_at, CHOOSE, ("cheapest", "best")).choose
    fastest = mark_of(project_at, CHOOSE, ("cheapest", "fastest")).choose
    assert best is not None and best.tie_break == ("cost", "latency", "order")
    assert fastest is not None and fastest.tie_break == ("score", "cost", "order")


def test_every_key_of_a_mark_reaches_the_plan(project_at: Write) -> None:
    """Keys as the example of the language spells them."""
    more = (
        "  require: chosen\n  attempts: {scope: model, use: last, max: 3}\n  absent_rivals: drop\n"
        "  declared_usage: accept\n"
        "  choose: {by: best, of: {pass_hat: 2}, against: bare, within: 0.5, basis: estimate, tie_break: [cost, order]}\n"
    )
    rule = (
        "{id: t, at_most: 0.9, of: {pass_at: 2}, each: tag, cases: {at_least: 1}, where: {tag: easy}, basis: estimate}"
    )
    mark = mark_of(project_at, more, ("rules: [", f"rules: [{rule}, "))
    assert (mark.require, mark.absent_rivals, mark.declared_usage) == ("chosen", "drop", "accept")
    assert mark.attempts == AttemptsRule(scope="model", use="last", max=3)
    assert mark.choose is not None
    assert (mark.choose.of, mark.choose.against, mark.choose.tie_break) == ("pass_hat:2", "bare", ("cost", "order"))
    first = mark.rules[0]
    assert (first.of, first.each, first.cases, first.where) == ("pass_at:2", "tag", 1, Selector(tag=("easy",)))


def test_mark_without_the_new_keys_keeps_its_bytes(project_at: Write) -> None:
    """What is not written is not in the record, so that an old mark is the same mark."""
    from trialplate.record import codec

    assert codec.to_json(mark_of(project_at)) == {"rules": [{"at_least": "0.5", "id": "r", "of": "right"}]}


def test_reference_may_be_named_by_its_model(project_at: Write) -> None:
    """A model with one profile is its configuration; with two, the one must be named."""
    profiles = (("profiles: {}", "profiles: {a: {}, b: {}}"), ("[echo, far, bare]", "[echo, far, bare], profiles: [a]"))
    named = CHOOSE.replace("within", "against: bare, within")
    choose = mark_of(project_at, named, *profiles).choose
    assert choose is not None and choose.against == "bare/a"
    with pytest.raises(SpecError, match="several profiles"):
        frozen(project_at, named, profiles[0], ("[echo, far, bare]", "[echo, far, bare], profiles: [a, b]"))


@pytest.mark.parametrize(
    ("more", "changes", "where", "words", "hint"),
    [
        ("  require: chosen\n", (), "16:12", "there is no choose", "add choose:"),
        ("  declared_usage: accept\n", (), "16:19", "there is no choose", "add choose:"),
        ("  absent_rivals: drop\n", (), "16:18", "there is no choose", "add choose:"),
        (CHOOSE, (("of: right, within", "of: rigth, within"),), "16:30", 'no scorer gives "rigth"', "right"),
        (CHOOSE, (("of: right, within", "of: error_rate, within"),), "16:30", "better the higher", "another"),
        (CHOOSE, (("within: 0.4", "against: echo"),), "16:46", "there is no within", "add within"),
        (CHOOSE, (("within: 0.4", "best_among: floors_met"),), "16:49", "there is no within", "add within"),
        (CHOOSE, (("0.4", "0.4, against: ecko"),), "16:59", 'there is no "ecko"', "echo"),
        (
            CHOOSE,
            (("0.4", "0.4, against: echo, best_among: floors_met"),),
            "16:77",
            "this is against echo",
            "take one",
        ),
        (CHOOSE, (("0.4", "0.4, tie_break: [cost, cost]"),), "16:61", "broken once", "once"),
        (
            CHOOSE,
            (("pricing: free}", "pricing: {currency: EUR, input: 1, output: 1}}"),),
            "16:16",
            "costs in EUR and USD cannot be compared",
            "one currency",
        ),
        (
            CHOOSE,
            (("[echo, far, bare]}", "[echo, far], cases: {tag: easy}}, {models: [bare]}"),),
            "16:30",
            "no candidate is asked all 3 cases that right is measured on",
            "widen",
        ),
        ("", (("of: right, basis", "of: {pass_hat: 3}, basis"),), "15:38", "is about 3 repeats", "raise repeats"),
        (
            "",
            (("of: right, basis", "of: {pass_hat: 3, pass_at: 1}, basis"),),
            "15:38",
            "exactly one kind",
            "{pass_hat: 3}",
        ),
        (
            "",
            (("of: right, basis", "of: right, each: tag, cases: {at_least: 2}, basis"),),
            "15:63",
            'for the tag "(untagged)" wants at least 2 cases, and there are 1: nothing could pass',
            "add cases",
        ),
        (
            "",
            (("of: right, basis", "of: right, cases: {at_least: 4}, basis"),),
            "15:52",
            "wants at least 4 cases, and there are 3",
            "add cases",
        ),
        ("", (("of: right, basis", "of: right, each: tags, basis"),), "15:51", "one of", '"tag"'),
        ("", (("of: right, basis", "of: right, cases: 4, basis"),), "15:52", "mapping", "{at_least: 20}"),
        ("  attempts: {max: 0}\n", (), "16:19", "at least 1", ""),
        ("  attempts: {max: two}\n", (), "16:19", "whole number", ""),
        ("  attempts: {use: lasst}\n", (), "16:19", "one of all, last", '"last"'),
        (CHOOSE, (("cheapest", "cheepest"),), "16:16", "one of", '"cheapest"'),
        (CHOOSE, (("by: cheapest, ", ""),), "16:11", 'the key "by" is missing', "cheapest"),
        (CHOOSE, (("within: 0.4", "within: 3"),), "16:45", "share between 0 and 1", "0.03"),
        (CHOOSE, (("metric: easy", "metric: 'pass_at:2'"),), "13:31", "no scorer's", "otherwise"),
    ],
)
def test_mistake_in_a_mark_is_told_with_its_place_and_one_thing_to_do(
    project_at: Write, more: str, changes: tuple[tuple[str, str], ...], where: str, words: str, hint: str
) -> None:
    """What could never decide, or says two things, is refused before anything is spent."""
    with pytest.raises(SpecError) as caught:
        frozen(project_at, more, *changes)
    error = caught.value
    assert words in error.message
    assert hint in error.hint
    assert error.where.endswith(f":{where}"), error


@pytest.mark.parametrize(
    ("more", "changes", "words"),
    [
        (CHOOSE, (), "far counts its own tokens: without declared_usage: accept its cost is unknown"),
        (CHOOSE, (("0.4", "0.3"),), "one case of 3 weighs 33.3 points, more than the 30 that are allowed"),
        (
            CHOOSE,
            ((", pricing: free}\n  far", "}\n  far"),),
            "the price of echo is unknown: if it passes, nothing can be chosen",
        ),
        (
            CHOOSE,
            (("[echo, far, bare]}", "[far], cases: {tag: easy}}, {models: [echo, bare]}"),),
            "far is asked 2 of the 3 cases that are compared: it is never chosen",
        ),
        (CHOOSE, (("[echo, far, bare]", "[echo]"),), "there is no rival, so it says nothing"),
        (
            "",
            (
                ("of: right, basis", "of: {pass_hat: 2}, basis"),
                ("[echo, far, bare]}", "[far], repeats: 1}, {models: [echo, bare]}"),
            ),
            "is about 2 repeats, and far has 1: it stays inconclusive",
        ),
    ],
)
def test_what_is_allowed_and_probably_not_meant_is_warned_of(
    project_at: Write, more: str, changes: tuple[tuple[str, str], ...], words: str
) -> None:
    """A warning stands beside the plan; the plan is made."""
    assert any(words in warning for warning in frozen(project_at, more, *changes).warnings)


def test_plan_that_chooses_soundly_has_no_warning_of_it(project_at: Write) -> None:
    """Free or priced by a provider, all cases asked, and a distance that a case fits into."""
    made = frozen(project_at, CHOOSE, ("input: 1, output: 1}", "input: 1, output: 1}, role: comparison"))
    assert not [warning for warning in made.warnings if "choose" in warning or ":16:" in warning]
