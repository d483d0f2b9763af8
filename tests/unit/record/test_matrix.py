# SPDX-License-Identifier: Apache-2.0
"""The planned matrix: which trials there are, in which order, and what makes two runs attempts at one thing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import COMMITMENT, DIGEST, asked, case, configuration, plan_of, scorer

from trialplate.record.entries import Narrowing
from trialplate.record.matrix import attempt_key, configuration_digest, model_key, narrow, selects
from trialplate.record.values import (
    AnswerRule,
    Limits,
    MatrixLine,
    PlanFile,
    PlanText,
    PlanTool,
    Pricing,
    Retry,
    Selector,
)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (Selector(), True),
        (Selector(tag=("hard",)), True),
        (Selector(tag=("easy", "hard")), True),
        (Selector(tag=("easy",)), False),
        (Selector(id=("q1",)), True),
        (Selector(id=("q",)), False),
        (Selector(suite=("main",)), True),
        (Selector(kind=("trace",)), False),
        (Selector(tag=("hard",), id=("q2",)), False),
        (Selector(tag=("hard",), suite=("main",), kind=("prompt",), id=("q1", "q2")), True),
    ],
)
def test_selects_every_field_must_match_and_a_list_by_any(selector: Selector, selected: bool) -> None:
    """Fields are joined by and, the values of one field by or."""
    assert selects(selector, asked(tags=("hard", "long"), suite="main")) is selected


def test_selects_untagged_case_only_without_a_tag() -> None:
    """A selector by tag never takes a case without tags."""
    assert not selects(Selector(tag=("hard",)), case(1))
    assert selects(Selector(), case(1))


def test_trials_repeat_comes_first_then_case_then_configuration() -> None:
    """A crash leaves whole repeats, and drift meets all configurations alike."""
    plan = plan_of(2, configurations=[configuration("a"), configuration("b")], repeats=2)
    assert list(narrow(plan, None).trials()) == [
        (name, f"q{number}", repeat) for repeat in (1, 2) for number in (1, 2) for name in ("a", "b")
    ]


def test_narrow_overlapping_lines_take_the_highest_number_of_repeats() -> None:
    """A cell that two lines ask for is asked once, as often as the greedier line says."""
    lines = [
        MatrixLine(configurations=("a", "b"), repeats=2),
        MatrixLine(configurations=("a",), cases=Selector(tag=("hard",)), repeats=5),
        MatrixLine(configurations=("a",), repeats=1),
    ]
    plan = plan_of([case(1), case(2, "hard")], configurations=[configuration("a"), configuration("b")], lines=lines)
    matrix = narrow(plan, None)
    assert matrix.counts == {"a": [2, 5], "b": [2, 2]}
    assert (matrix.size, matrix.planned("a"), matrix.repeats("a"), matrix.repeats("b")) == (11, 7, 5, 2)


def test_narrow_limit_counts_after_only_and_repeats_cap() -> None:
    """`only` keeps file order, `limit` then takes the first, `repeats` never raises a number."""
    plan = plan_of(5, repeats=3)
    matrix = narrow(plan, Narrowing(only=("q5", "q2", "q4"), limit=2, repeats=1))
    assert [item.id for item in matrix.cases] == ["q2", "q4"]
    assert matrix.counts == {"m": [1, 1]}
    assert narrow(plan, Narrowing(repeats=9)).counts == {"m": [3] * 5}


def test_narrow_models_keeps_by_configuration_or_by_model() -> None:
    """A model's name stands for all its profiles."""
    names = [
        configuration("big/default", model="big"),
        configuration("big/terse", model="big", profile="terse"),
        configuration("small", model="small"),
    ]
    plan = plan_of(1, configurations=names)
    assert list(narrow(plan, Narrowing(models=("big",))).counts) == ["big/default", "big/terse"]
    assert list(narrow(plan, Narrowing(models=("big/terse", "small"))).counts) == ["big/terse", "small"]


def test_narrow_to_nothing_is_an_empty_matrix() -> None:
    """What selects nothing has size 0; whoever runs it refuses it."""
    matrix = narrow(plan_of(3), Narrowing(only=("q9",)))
    assert (matrix.size, list(matrix.trials()), matrix.repeats("m")) == (0, [], 0)


def test_applicable_depends_on_the_case_alone() -> None:
    """A scorer applies by its selector."""
    scorers = [scorer("a", cases=Selector(tag=("x",))), scorer("b"), scorer("c", cases=Selector(id=("q2",)))]
    matrix = narrow(plan_of([case(1, "x"), case(2)], scorers=scorers), None)
    assert [[s.name for s in matrix.applicable(item)] for item in matrix.cases] == [["a", "b"], ["b", "c"]]


_line = st.builds(
    MatrixLine,
    configurations=st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2, unique=True).map(tuple),
    cases=st.builds(Selector, id=st.lists(st.sampled_from(["q1", "q2", "q3"]), max_size=2).map(tuple)),
    repeats=st.integers(1, 3),
)
_narrowing = st.none() | st.builds(
    Narrowing,
    limit=st.none() | st.integers(1, 3),
    only=st.lists(st.sampled_from(["q1", "q3", "q8"]), max_size=2).map(tuple),
    models=st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
    repeats=st.none() | st.integers(1, 3),
)


@given(st.lists(_line, min_size=1, max_size=3), _narrowing)
def test_trials_are_each_planned_cell_once_and_no_other(lines: list[MatrixLine], narrowing: Narrowing | None) -> None:
    """The iterator, the counts and the size are one set."""
    plan = plan_of(3, configurations=[configuration("a"), configuration("b")], lines=lines)
    matrix = narrow(plan, narrowing)
    trials = list(matrix.trials())
    assert len(trials) == len(set(trials)) == matrix.size
    assert set(trials) == {
        (name, item.id, repeat)
        for name, row in matrix.counts.items()
        for item, most in zip(matrix.cases, row, strict=True)
        for repeat in range(1, most + 1)
    }
    whole = set(narrow(plan, None).trials())
    assert set(trials) <= whole


# -------------------------------------------------------------------------------------------------- attempt key

_TEXT = PlanText(role="system", commitment=COMMITMENT)
_FULL = configuration(
    model_id="gpt-x",
    endpoint="http://127.0.0.1:1/v1",
    settings={"temperature": 0.5},
    texts=(_TEXT,),
    files=(PlanFile(path="a.py", digest=DIGEST),),
    subject="v1",
    secret="KEY",
    served=("gpt-y",),
    pricing=Pricing(input="1", output="2"),
)
_REACHES: list[dict[str, Any]] = [
    {"interface": "embeddings"},
    {"runner": "command"},
    {"model_id": "gpt-z"},
    {"endpoint": "http://127.0.0.1:2/v1"},
    {"settings": {"temperature": 0.6}},
    {"settings": {}},
    {"texts": ()},
    {"texts": (_TEXT.replace(role="document", name="a.md"),)},
    {"files": ()},
    {"subject": "v2"},
    {"subject": None},
    {"structured": "native"},
    {"tools": (PlanTool(name="calculator"),)},
    {"plugin": "acme 1.0"},
]
_LABELS: list[dict[str, Any]] = [
    {"name": "other"},
    {"model": "other"},
    {"profile": "other"},
    {"secret": "OTHER_KEY"},
    {"secret_sent": {"header": "x-api-key"}},
    {"served": ()},
    {"pricing": None},
    {"role": "comparison"},
    {"retry": Retry(max_retries=9)},
    {"limits": Limits(attempt_timeout_ms=1)},
    {"provider": "gateway"},
    {"answer": AnswerRule(reasoning="strip")},
    {"accepts": ("image/png",)},
]


@pytest.mark.parametrize("change", _REACHES, ids=str)
def test_attempt_key_changes_with_what_reaches_the_model(change: dict[str, Any]) -> None:
    """Another prompt, setting, document, endpoint or subject is another thing under test."""
    assert attempt_key(_FULL.replace(**change)) != attempt_key(_FULL)


@pytest.mark.parametrize("change", _LABELS, ids=str)
def test_attempt_key_is_not_reset_by_labels_prices_or_limits(change: dict[str, Any]) -> None:
    """Renaming a model does not make its rejected run disappear; the configuration's digest still tells them apart."""
    changed = _FULL.replace(**change)
    assert attempt_key(changed) == attempt_key(_FULL)
    assert configuration_digest(changed) != configuration_digest(_FULL)


def test_attempt_key_covers_every_field_by_a_decision() -> None:
    """A new field of a configuration must be put on one side or the other."""
    decided = {name for change in (*_REACHES, *_LABELS) for name in change}
    assert decided == set(_FULL.__dict__)


# ---------------------------------------------------------------------------------------------------- model key


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        ({"profile": "cold", "name": "m/cold", "settings": {"temperature": 0}, "texts": ()}, True),
        ({"pricing": Pricing(free=True), "retry": Retry(max_retries=9)}, True),
        ({"model_id": "gpt-y"}, False),
        ({"endpoint": "http://127.0.0.1:2/v1"}, False),
        ({"runner": "openai"}, False),
        ({"subject": "v2"}, False),
    ],
)
def test_model_key_is_of_the_thing_that_is_asked_and_not_of_how(fields: dict[str, Any], same: bool) -> None:
    """Every profile of a model has its key; another id, address, runner or subject is another model."""
    assert (model_key(_FULL.replace(**fields)) == model_key(_FULL)) is same


def test_model_key_without_a_provider_id_is_the_attempt_key() -> None:
    """Nothing else tells what a command or a stand-in is from how it is asked."""
    plain = _FULL.replace(model_id=None)
    assert model_key(plain) == attempt_key(plain)
    assert model_key(_FULL) != attempt_key(_FULL)
