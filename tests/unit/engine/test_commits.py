# SPDX-License-Identifier: Apache-2.0
"""Commitments: once each, before the run they judge, and a change can be seen."""

from __future__ import annotations

from collections.abc import Callable

from run_project import CASES, PLAN, Project

from trialplate.engine.commits import Commitments, commit_plan
from trialplate.engine.prepare import prepare
from trialplate.record.entries import CommitPassMark, CommitTestSet


def commit(project: Project) -> Commitments:
    """Commit what a project's files say now."""
    prepared = prepare(project.folder / "trialplate.yaml", project.key().secret)
    return commit_plan(prepared.plan, project.view(), project.writer())


def marks(project: Project) -> list[CommitPassMark]:
    """Return the marks in the ledger."""
    return [entry.body for entry in project.view().bodies(CommitPassMark)]


def test_commit_twice_appends_once(project_of: Callable[..., Project]) -> None:
    """What is committed already is used again."""
    project = project_of()
    first, second = commit(project), commit(project)
    assert (first.made, second.made) == (("test set", "pass mark"), ())
    assert (first.test_set, first.pass_mark) == (second.test_set, second.pass_mark)
    assert len(project.view().entries) == 3


def test_run_after_commit_uses_the_committed_entries(project_of: Callable[..., Project]) -> None:
    """A commitment ahead of a run is the one that the run names, and a second run names the same."""
    project = project_of()
    made = commit(project)
    project.run()
    project.run()
    for start in project.view().starts():
        assert (start.body.test_set, start.body.pass_mark) == (made.test_set, made.pass_mark)


def test_changed_mark_supersedes_the_one_before(project_of: Callable[..., Project]) -> None:
    """A looser mark names what it replaces, and going back to the first one is a third entry."""
    project = project_of()
    first = commit(project)
    project.write(PLAN.replace("0.85", "0.5"))
    second = commit(project)
    project.write(PLAN)
    third = commit(project)
    assert second.made == third.made == ("pass mark",)
    assert [mark.supersedes for mark in marks(project)] == [None, first.pass_mark, second.pass_mark]
    assert marks(project)[0].mark == marks(project)[2].mark != marks(project)[1].mark


def test_changed_case_is_another_test_set_with_a_mark_of_its_own(project_of: Callable[..., Project]) -> None:
    """A mark is for one test set: another set starts without a mark to supersede, and the first is not lost."""
    project = project_of()
    first = commit(project)
    project.write(PLAN, cases=CASES.replace("Paris", "paris"))
    second = commit(project)
    assert second.made == ("test set", "pass mark")
    assert [mark.supersedes for mark in marks(project)] == [None, None]
    project.write(PLAN)
    again = commit(project)
    assert (again.made, again.test_set, again.pass_mark) == ((), first.test_set, first.pass_mark)


def test_committed_private_test_set_has_no_plain_digest(project_of: Callable[..., Project]) -> None:
    """A private set could be guessed from its digest; a public one is named by it."""
    project = project_of()
    commit(project)
    public = PLAN.replace("  - file: cases/q.csv", "  - {file: cases/q.csv, visibility: public}")
    project.write(public)
    commit(project)
    private, open_one = [entry.body for entry in project.view().bodies(CommitTestSet)]
    assert (private.digest, private.cases) == (None, 3)
    assert open_one.digest is not None
