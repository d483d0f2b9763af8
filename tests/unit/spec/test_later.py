# SPDX-License-Identifier: Apache-2.0
"""Every key of the full language is read or refused by its own sentence; none is unknown, none is ignored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from author_files import PLAN

from trialplate.spec import later, problems, yaml_strict
from trialplate.spec.document import Document
from trialplate.spec.models import AuthorPlan
from trialplate.spec.problems import Problem

_FILE = Path(__file__).parents[2] / "vectors" / "author" / "whole_language.json"
WHOLE: dict[str, Any] = yaml_strict.load(_FILE.read_bytes(), _FILE.name).value
SMALL: dict[str, Any] = yaml_strict.load(PLAN.encode(), "plan.yaml").value


def told(value: Any) -> list[Problem]:
    """Return every problem of a document."""
    document = Document("plan.yaml", value)
    found, remaining = later.refuse(document)
    problems.validated(AuthorPlan, document, remaining, found)
    return found


def parts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the small plan with one part of the whole language in it."""
    for key, whole in WHOLE.items():
        if key in ("models", "scorers", "profiles"):
            for name, entry in whole.items():
                yield f"{key}.{name}", {**SMALL, key: {**SMALL.get(key, {}), name: entry}}
        elif key in ("test_sets", "matrix"):
            for index, entry in enumerate(whole):
                yield f"{key}.{index}", {**SMALL, key: [entry]}
        elif key in ("pass_mark", "run"):
            for inner, entry in whole.items():
                entries = [[rule] for rule in entry] if inner == "rules" else [entry]
                for index, item in enumerate(entries):
                    yield f"{key}.{inner}.{index}", {**SMALL, key: {**SMALL.get(key, {}), inner: item}}
        else:
            yield key, {**SMALL, key: whole}


@pytest.mark.parametrize(("name", "plan"), [pytest.param(*item, id=item[0]) for item in parts()])
def test_each_part_of_the_language_is_accepted_or_refused_by_its_sentence(name: str, plan: dict[str, Any]) -> None:
    """Alone in a small plan, a part has no problem but "not in this version", told with one thing to do."""
    for problem in told(plan):
        assert "not in this version" in problem.message, (name, problem)
        assert problem.hint


def test_whole_language_at_once_ends_in_sentences_only() -> None:
    """The full example is refused for its engines, never for a key that nobody knows."""
    found = told(WHOLE)
    assert len(found) > 10
    assert all("not in this version" in problem.message for problem in found)
    assert len({problem.message for problem in found}) >= 10


def test_part_that_this_version_runs_is_accepted() -> None:
    """What has its engine here has no problem at all."""
    accepted = {name for name, plan in parts() if not told(plan)}
    assert accepted >= {
        "trialplate",
        "name",
        "test_sets.0",
        "test_sets.1",
        "models.haiku",
        "models.my-rag",
        "models.old-bot",
        "profiles.default",
        "matrix.0",
        "repeats",
        "scorers.exact",
        "scorers.words",
        "scorers.shape",
        "scorers.custom",
        "verdict",
        "pass_mark.errors.0",
        "pass_mark.require.0",
        "pass_mark.attempts.0",
        "pass_mark.rules.1",
        "pass_mark.rules.2",
        "pass_mark.rules.3",
        "run.concurrency.0",
        "run.order.0",
        "run.cache.0",
        "run.budget.0",
    }
    assert accepted >= {"scorers.judge", "scorers.near", "helpers"}
    in_the_mark = {name for name, _ in parts() if name.startswith("pass_mark.")}
    assert in_the_mark - accepted == {"pass_mark.rules.4"}, "which is about workspaces"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("pass_mark", "rules"), [{"id": "a", "must_pass": {"kind": "workspace"}}]),
        (("pass_mark", "rules"), [{"id": "a", "any_of": [{"must_pass": {"kind": "workspace"}}, {"must_pass": "all"}]}]),
        (("scorers", "right"), {"type": "exact", "cases": {"kind": ["prompt", "workspace"]}}),
        (("models", "echo"), {"runner": "agent", "call": "x"}),
    ],
)
def test_further_word_of_the_language_is_refused_by_its_sentence(path: tuple[str, str], value: Any) -> None:
    """Words that the example does not use have their sentence too, and only that one problem."""
    plan = {**SMALL, path[0]: {**SMALL.get(path[0], {}), path[1]: value}}
    (problem,) = told(plan)
    assert "not in this version" in problem.message


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        (
            ("models", "m"),
            {"runner": "openai-compatible", "url": "https://h", "model": "m", "system": "{{x}}"},
            "system",
        ),
        (("models", "m"), {"runner": "openai-compatible", "url": "{{x}}/v1", "model": "m"}, "url"),
        (
            ("models", "m"),
            {"runner": "openai-compatible", "url": "https://h", "model": "m", "settings": {"a": [{"b": "{{x}}"}]}},
            "b",
        ),
        (
            ("models", "m"),
            {"runner": "openai-compatible", "url": "https://h", "model": "m", "settings": {"documents": ["{{x}}.md"]}},
            "documents",
        ),
        (("models", "m"), {"runner": "command", "argv": ["sh", "{{x}}"]}, "argv"),
        (("models", "m"), {"runner": "command", "argv": ["{{x}}"]}, "argv"),
        (("models", "m"), {"runner": "command", "shell": "sh {{x}}"}, "shell"),
        (("profiles", "p"), {"settings": {"user": "{{ x }}"}}, "user"),
    ],
)
def test_placeholder_in_what_is_sent_is_refused_by_one_sentence(path: tuple[str, str], value: Any, name: str) -> None:
    """It would be sent as it stands, and nobody would have meant that."""
    plan = {**SMALL, path[0]: {**SMALL.get(path[0], {}), path[1]: value}}
    (problem,) = told(plan)
    assert problem.message == f'"{name}": a placeholder, {{{{...}}}}, is not in this version and comes with a later one'
    assert problem.hint


def test_braces_in_answers_names_and_scorers_are_left_alone() -> None:
    """Content may hold them: a scripted answer, a value, a pattern."""
    plan = {
        **SMALL,
        "models": {"echo": {"runner": "stand-in", "answers": {"*": "{{x}}"}}},
        "scorers": {"right": {"type": "contains", "value": "{{x}}"}},
    }
    assert told(plan) == []


@pytest.mark.parametrize("rule", [{"range": [0, 5]}, {"any_of": [{"range": [0, 5]}, {"must_pass": "all"}]}])
def test_range_is_refused_for_good(rule: dict[str, Any]) -> None:
    """A metric lies between 0 and 1, so there is nothing to map; the rest of the rule is read all the same."""
    whole = {"at_least": 1, "of": "right"}
    rules = [{**whole, "id": "a", **rule}] if "any_of" not in rule else [{"id": "a", "any_of": rule["any_of"]}]
    if "any_of" in rule:
        rules[0]["any_of"] = [{**whole, **rule["any_of"][0]}, rule["any_of"][1]]
    (problem,) = told({**SMALL, "pass_mark": {"rules": rules}})
    assert problem.message == '"range": a metric lies between 0 and 1 here, so there is nothing to map'
    assert problem.hint


def test_refused_part_hides_no_other_mistake() -> None:
    """A typing error beside a refused key is told as well."""
    plan = {**SMALL, "services": {}, "repeats": 0}
    assert [("not in this version" in problem.message) for problem in told(plan)] == [True, False]
