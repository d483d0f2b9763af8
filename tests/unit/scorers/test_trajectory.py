# SPDX-License-Identifier: Apache-2.0
"""`trajectory`: every rule, all that break it told; steps from a trace, from a conversation's turns, from the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record.values import Case, PlanText, Scorer
from trialplate.scorers.base import Score, ScorerContext, ScorerError
from trialplate.scorers.trajectory import make_trajectory
from trialplate.spec.trajectories import Step, broken_rules, rule_problem, steps_in, trajectory_json

STEPS = (
    Step("search", {"query": "refund policy", "top": 3, "filters": {"lang": ["en", "de"]}}, "text"),
    Step("verify", {"id": 7}),
    Step("search", {"query": "other"}),
    Step("refund", {"amount": 5.0, "final": True}),
)


def broken(*rules: Any, steps: tuple[Step, ...] = STEPS) -> list[str]:
    """Return what is told of rules that the steps do not keep."""
    assert not [problem for rule in rules if (problem := rule_problem(rule))]
    return broken_rules(rules, steps)


@pytest.mark.parametrize(
    "rule",
    [
        {"must_call": "search"},
        {"must_call": "search", "with": {"query": {"contains": "refund"}}},
        {"must_call": "search", "with": {"query": {"contains": "refund"}, "top": {"equals": 3}}},
        {"must_call": "search", "with": {"top": {"equals": 3.0}}},
        {"must_call": "search", "with": {"filters": {"contains": '"lang":["en"'}}},
        {"must_call": "search", "with": {"filters": {"equals": {"lang": ["en", "de"]}}}},
        {"must_call": "search", "with": {"/filters/lang/1": {"equals": "de"}}},
        {"must_call": "refund", "with": {"final": {"equals": True}, "amount": {"contains": "5"}}},
        {"must_call": "refund", "after": "verify"},
        {"must_call": "search", "after": "verify"},
        {"must_not_call": "delete"},
        {"must_not_call": "delete", "before": "search"},
        {"must_not_call": "refund", "before": "verify"},
        {"must_not_call": "verify", "before": "search"},
        {"max_steps": 4},
    ],
)
def test_rule_that_is_kept_says_nothing(rule: dict[str, Any]) -> None:
    """Each kind, with each of its conditions."""
    assert broken(rule) == []


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"must_call": "delete"}, "delete is not called"),
        ({"must_call": "verify", "after": "refund"}, "verify is not called after refund"),
        ({"must_call": "verify", "after": "delete"}, "verify is not called after delete, which is never called"),
        ({"must_call": "verify", "after": "verify"}, "verify is not called after verify"),
        (
            {"must_call": "search", "with": {"query": {"contains": "Refund"}}},
            'search is called, and never with query containing "Refund"',
        ),
        (
            {"must_call": "search", "with": {"query": {"contains": "other"}, "top": {"equals": 3}}},
            'search is called, and never with query containing "other" and top equal to 3',
        ),
        (
            {"must_call": "search", "after": "verify", "with": {"query": {"contains": "refund"}}},
            'search is called after verify, and never with query containing "refund"',
        ),
        (
            {"must_call": "search", "with": {"top": {"equals": "3"}}},
            'search is called, and never with top equal to "3"',
        ),
        (
            {"must_call": "refund", "with": {"final": {"equals": 1}}},
            "refund is called, and never with final equal to 1",
        ),
        (
            {"must_call": "refund", "with": {"who": {"equals": None}}},
            "refund is called, and never with who equal to null",
        ),
        (
            {"must_call": "search", "with": {"/filters/lang/2": {"equals": "fr"}}},
            'search is called, and never with /filters/lang/2 equal to "fr"',
        ),
        ({"must_not_call": "refund"}, "refund is called, in step 4"),
        ({"must_not_call": "search", "before": "verify"}, "search is called before verify, in step 1"),
        (
            {"must_not_call": "refund", "before": "delete"},
            "refund is called before delete, which is never called, in step 4",
        ),
        ({"max_steps": 3}, "4 steps, and at most 3 are allowed"),
    ],
)
def test_rule_that_is_broken_says_how(rule: dict[str, Any], told: str) -> None:
    """The reason names the tool, the place and the condition."""
    assert broken(rule) == [told]


def test_all_conditions_hold_for_one_and_the_same_call() -> None:
    """Two calls of which each meets one of them are not enough."""
    steps = (Step("pay", {"to": "a", "sum": 1}), Step("pay", {"to": "b", "sum": 2}))
    assert broken({"must_call": "pay", "with": {"to": {"equals": "a"}, "sum": {"equals": 2}}}, steps=steps)
    assert not broken({"must_call": "pay", "with": {"to": {"equals": "b"}, "sum": {"equals": 2}}}, steps=steps)


@pytest.mark.parametrize("given", [None, "text", 3, ["a"]])
def test_call_without_named_arguments_meets_no_condition(given: Any) -> None:
    """What is not there is not equal to anything, not even to null."""
    rule = {"must_call": "pay", "with": {"to": {"equals": None}}}
    assert broken(rule, steps=(Step("pay", given),))


def test_no_step_at_all_breaks_only_what_must_be_called() -> None:
    """An agent that called nothing has not called what it must not."""
    rules = ({"must_call": "a"}, {"must_not_call": "b"}, {"must_not_call": "b", "before": "a"}, {"max_steps": 0})
    assert broken(*rules, steps=()) == ["a is not called"]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({}, "has none of them"),
        ({"must_cal": "x"}, "has none of them"),
        ({"must_call": "x", "max_steps": 3}, "this one has must_call and max_steps"),
        ({"must_call": "x", "must_not_call": "y"}, "this one has must_call and must_not_call"),
        ({"must_call": "x", "before": "y"}, "must_call takes no before"),
        ({"must_not_call": "x", "with": {}}, "must_not_call takes no with"),
        ({"max_steps": 3, "after": "x"}, "max_steps takes no after"),
        ({"max_steps": True}, "a whole number"),
        ({"max_steps": -1}, "a whole number"),
        ({"must_call": ""}, "by its name"),
        ({"must_call": "x", "after": 3}, "by its name"),
        ({"must_call": "x", "with": {"q": "refund"}}, "exactly one of"),
        ({"must_call": "x", "with": {"q": {}}}, "exactly one of"),
        ({"must_call": "x", "with": {"q": {"contains": "a", "equals": "a"}}}, "exactly one of"),
        ({"must_call": "x", "with": {"q": {"matches": "a"}}}, "exactly one of"),
        ({"must_call": "x", "with": {"q": {"contains": ""}}}, "not empty"),
        ({"must_call": "x", "with": {"q": {"contains": 3}}}, "not empty"),
        (3, "a rule is a map"),
    ],
)
def test_rule_that_is_none_is_told_why(rule: Any, told: str) -> None:
    """Exactly one kind, with what belongs to it: no part of a rule is ignored."""
    assert told in rule_problem(rule)


# ---------------------------------------------------------------------------------------------------- where steps are


async def score(answer: str, transcript: Any, *rules: Any) -> Score:
    """Score by `trajectory`."""
    texts = (PlanText(role="rules", commitment="A" * 43),)
    scorer = Scorer(name="path", type="trajectory", metric="path", texts=texts)
    made = make_trajectory(scorer, {("rules", ""): list(rules)})
    return await made.score(Case(id="q1", input="?"), answer, ScorerContext(transcript=transcript))


TURNS = {
    "turns": [
        {"text": "Let me see.", "tools": [{"name": "search", "arguments": '{"query": "refund"}', "result": "found"}]},
        {"tools": [{"name": "refund", "arguments": "no JSON", "result": "no", "error": True}]},
        {"text": "paused"},
    ]
}


async def test_steps_of_a_trace_and_of_a_conversation_are_judged_alike() -> None:
    """One shared form, whoever called."""
    rules = ({"must_call": "search", "with": {"query": {"contains": "refund"}}}, {"must_not_call": "refund"})
    steps = [Step("search", {"query": "refund"}), Step("refund", "x")]
    for transcript in (TURNS, trajectory_json(steps)):
        found = await score("done", transcript, *rules)
        assert (found.verdict, found.metrics, found.reason) == ("failed", {"path": 0}, "refund is called, in step 2")
    assert steps_in(TURNS) == (Step("search", {"query": "refund"}, "found"), Step("refund", "no JSON", "no"))


async def test_tools_that_were_offered_and_not_called_are_no_steps() -> None:
    """An empty list of turns says that nothing was called."""
    assert (await score("done", {"turns": []}, {"must_not_call": "refund"})).verdict == "passed"
    assert (await score("done", {"turns": []}, {"must_call": "search"})).verdict == "failed"


async def test_answer_may_itself_be_a_trajectory() -> None:
    """A program of one's own can print the native form; the transcript goes before it."""
    answer = json.dumps({"steps": [{"tool": "search"}], "final_output": "x"})
    assert (await score(answer, None, {"must_call": "search"})).verdict == "passed"
    assert (await score(answer, {"turns": []}, {"must_call": "search"})).verdict == "failed"


@pytest.mark.parametrize(
    "transcript", [None, {}, {"reasoning": "hm"}, "text", {"trajectory": {}}, {"trajectory": {"steps": [{}]}}]
)
async def test_run_of_which_nobody_knows_what_it_called_is_no_score(transcript: Any) -> None:
    """Unknown is neither that nothing was called nor that it was: also a rule that forbids a call does not hold."""
    with pytest.raises(ScorerError):
        await score("done", transcript, {"must_not_call": "refund"})


@pytest.mark.parametrize("rules", [None, [], [{"must_call": "x", "max_steps": 1}], {"must_call": "x"}])
def test_plan_without_usable_rules_is_refused(rules: Any) -> None:
    """Also one that somebody else wrote."""
    texts = () if rules is None else (PlanText(role="rules", commitment="A" * 43),)
    scorer = Scorer(name="path", type="trajectory", metric="path", texts=texts)
    with pytest.raises(SpecError, match="rule"):
        make_trajectory(scorer, {("rules", ""): rules})
