# SPDX-License-Identifier: Apache-2.0
"""From files to a run that could start: a mistyped selection is never an empty success, a private text never public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from run_project import CASES, PLAN, Project

from trialplate.engine.prepare import Prepared, prepare
from trialplate.errors import SpecError, UsageError
from trialplate.record.entries import Narrowing

SECRET = bytes(32)


def prepared(project: Project, narrowing: Narrowing | None = None) -> Prepared:
    """Prepare a project."""
    return prepare(project.folder / "trialplate.yaml", SECRET, narrowing=narrowing)


@pytest.mark.parametrize(
    ("narrowing", "option", "hint"),
    [
        (Narrowing(only=("q11",)), "--only", "did you mean q1?"),
        (Narrowing(only=("q1", "Q2")), "--only", "did you mean q2?"),
        (Narrowing(models=("godo",)), "--models", "did you mean good?"),
        (Narrowing(models=("good", "x")), "--models", "there are good, bad"),
    ],
)
def test_prepare_mistyped_selection_is_refused_with_the_nearest_name(
    project_of: Callable[..., Project], narrowing: Narrowing, option: str, hint: str
) -> None:
    """One wrong name among right ones is enough."""
    with pytest.raises(UsageError) as caught:
        prepared(project_of(), narrowing)
    assert caught.value.message.startswith(option)
    assert caught.value.hint == hint
    assert caught.value.exit_code == 2


def test_prepare_selection_narrows_the_matrix(project_of: Callable[..., Project]) -> None:
    """Only, models, limit and repeats together."""
    found = prepared(project_of(), Narrowing(only=("q3", "q2"), limit=1, models=("bad",), repeats=1))
    assert list(found.matrix.trials()) == [("bad", "q2", 1)]
    assert found.plan.test_set.cases[0].id == "q1"


def test_prepare_selection_that_leaves_nothing_is_refused(project_of: Callable[..., Project]) -> None:
    """A selection of a model and of cases that it is never asked is empty, and says so."""
    plan = PLAN.replace(
        "repeats: 2",
        "repeats: 1\nmatrix:\n  - {models: [good], cases: {id: q1}, repeats: 1}\n  - {models: [bad], repeats: 1}",
    )
    project = project_of(plan)
    assert prepared(project).matrix.size == 4
    with pytest.raises(UsageError, match="leaves no trial"):
        prepared(project, Narrowing(models=("good",), only=("q2",)))


def test_prepare_opens_every_text_and_case_of_its_plan(project_of: Callable[..., Project]) -> None:
    """Whatever the plan commits to can be opened by what stands beside it."""
    found = prepared(project_of())
    assert {case.commitment for case in found.plan.test_set.cases} <= set(found.opened)
    assert [found.cases[f"q{n}"].references for n in (1, 2, 3)] == [("Paris",), ("4",), ("blue",)]
    assert all(text.commitment in found.opened for item in found.plan.configurations for text in item.texts)


@pytest.mark.parametrize(
    ("cases", "plan"),
    [
        (
            CASES.replace(
                "q1,What is the capital of France?", "What is the capital of France?,What is the capital of France?"
            ),
            PLAN.replace("q1:", '"What is the capital of France?":'),
        ),
        (
            CASES.replace("critical", "What is the capital of France?"),
            PLAN.replace("tag: critical", 'tag: "What is the capital of France?"'),
        ),
    ],
    ids=["id", "tag"],
)
def test_prepare_private_text_in_a_public_name_is_refused(
    project_of: Callable[..., Project], cases: str, plan: str
) -> None:
    """A case whose id or tag repeats its question would publish it; nothing is written."""
    with pytest.raises(SpecError) as caught:
        prepared(project_of(plan, cases))
    assert caught.value.code == "PRIVATE-TEXT-PUBLIC"


def test_prepare_is_the_same_twice(project_of: Callable[..., Project]) -> None:
    """The same files and secret give the same plan, byte for byte; another secret gives other commitments."""
    project = project_of()
    first, second = prepared(project), prepared(project)
    assert first.frozen.raw == second.frozen.raw
    other = prepare(project.folder / "trialplate.yaml", bytes(31) + b"\x01")
    assert other.frozen.digest != first.frozen.digest
    assert other.plan.pass_mark == first.plan.pass_mark


def test_prepare_plan_that_cannot_be_used_leaves_nothing_behind(project_of: Callable[..., Project]) -> None:
    """A refusal writes no run folder and no ledger entry."""
    project = project_of(PLAN.replace("of: correct", "of: corect"))
    before: Any = (project.ledger / "entries.jsonl").read_bytes()
    with pytest.raises(SpecError):
        project.run()
    assert not (project.folder / "runs").exists()
    assert (project.ledger / "entries.jsonl").read_bytes() == before
