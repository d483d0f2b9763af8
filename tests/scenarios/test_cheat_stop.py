# SPDX-License-Identifier: Apache-2.0
"""Cheat: a run is cut short where it suits its owner, and what is missing is called not needed; all signed again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from forger import Forger, forge, gate
from small_project import SmallProject
from stop_project import cases_text, plan_with

from trialplate.record import codec
from trialplate.record.matrix import stop_order
from trialplate.record.values import Plan

WRONG = [2, 4, 6, 8, 10, 12]


@pytest.fixture
def stopped(tmp_path: Path) -> SmallProject:
    """A run of 20 cases at a floor of .80: `good` ends when it is accepted, `bad` when its fifth failure rejects it."""
    plan = plan_with({"good": [], "bad": WRONG})
    made = SmallProject.write(tmp_path, plan, cases_text(20))
    made.run("--jobs", "1")
    assert made("gate", "latest", "--model", "bad", "--no-append").code == 1
    assert made.codes() == set()
    return made


def order_of(forger: Forger) -> list[str]:
    """Return the order of the run's cases."""
    return list(stop_order(forger.record[0]["body"]["seed"], codec.decode(Plan, forger.plan).test_set.cases))


def told(forger: Forger, name: str) -> dict[str, int]:
    """Return what run.close says that a configuration did not need."""
    items = forger.record[-1]["body"]["not_needed"]
    return next(item for item in items if item["configuration"] == name)


def keep_cases(forger: Forger, name: str, cases: int) -> None:
    """Leave out all trials of a configuration after so many cases of the order, and say that they were not needed."""
    for case in order_of(forger)[cases:]:
        forger.drop_trial(name, case, 1)
    told(forger, name).update(cases=cases, trials=20 - cases)


def test_run_cut_short_before_the_failure_that_rejects_is_found(stopped: SmallProject, tmp_path: Path) -> None:
    """With four failures of twenty it might still have passed: so it was not settled, whatever its owner says."""
    stranger = forge(stopped, tmp_path, lambda forger: keep_cases(forger, "bad", told(forger, "bad")["cases"] - 1))
    assert stranger.codes() == {"STOP-UNSEALED"}
    assert gate(stranger, "bad") == 3


def test_run_cut_short_before_it_is_accepted_is_found(stopped: SmallProject, tmp_path: Path) -> None:
    """Fifteen passes of twenty are not four fifths yet."""
    stranger = forge(stopped, tmp_path, lambda forger: keep_cases(forger, "good", 15))
    assert stranger.codes() == {"STOP-UNSEALED"}


def test_run_of_which_nothing_was_needed_is_found(stopped: SmallProject, tmp_path: Path) -> None:
    """Whoever was never asked has shown nothing, whatever the rules come to without answers."""
    stranger = forge(stopped, tmp_path, lambda forger: keep_cases(forger, "good", 0))
    assert stranger.codes() & {"STOP-UNSEALED", "STOP-ORDER"}
    assert gate(stranger) == 3


def test_failure_left_out_of_the_middle_and_counted_with_the_rest_is_found(
    stopped: SmallProject, tmp_path: Path
) -> None:
    """Only the tail of the order may be missing, and which cases that is nobody chooses."""

    def change(forger: Forger) -> None:
        failed = next(case for case in order_of(forger) if case in {f"q{n}" for n in WRONG})
        forger.drop_trial("bad", failed, 1)
        told(forger, "bad")["trials"] += 1

    assert "STOP-ORDER" in forge(stopped, tmp_path, change).codes()


def test_failure_left_out_of_the_middle_is_a_hole_in_the_matrix(stopped: SmallProject, tmp_path: Path) -> None:
    """What is missing and not said not to be needed is missing from a run that says it is complete."""

    def change(forger: Forger) -> None:
        failed = next(case for case in order_of(forger) if case in {f"q{n}" for n in WRONG})
        forger.drop_trial("bad", failed, 1)

    assert "MATRIX-INCOMPLETE" in forge(stopped, tmp_path, change).codes()


@pytest.mark.parametrize(
    "change",
    [
        lambda forger: told(forger, "good").update(trials=3),
        lambda forger: told(forger, "good").update(cases=15),
        lambda forger: told(forger, "good").update(configuration="nobody"),
        lambda forger: told(forger, "good").update(configuration="bad"),
        lambda forger: forger.record[-1]["body"].update(reason="complete"),
        lambda forger: forger.record[-1]["body"].update(reason="counts"),
        lambda forger: forger.record[-1]["body"]["not_needed"].append(dict(told(forger, "good"))),
    ],
    ids=["fewer trials", "fewer cases", "stranger", "twice", "no reason", "another reason", "said twice"],
)
def test_what_was_not_needed_told_otherwise_than_the_cells_say_is_found(
    stopped: SmallProject, tmp_path: Path, change: Callable[[Forger], object]
) -> None:
    """Everything that run.close says of it follows from the lines before."""
    stranger = forge(stopped, tmp_path, change)
    assert "STOP-ORDER" in stranger.codes()
    assert gate(stranger) == 3


def test_what_was_not_needed_left_unsaid_is_found(stopped: SmallProject, tmp_path: Path) -> None:
    """Absent trials do not explain themselves."""
    stranger = forge(stopped, tmp_path, lambda forger: forger.record[-1]["body"].pop("not_needed"))
    assert stranger.codes() == {"MATRIX-INCOMPLETE"}


def test_trials_not_needed_under_a_mark_without_a_stop_rule_are_found(finished: SmallProject, tmp_path: Path) -> None:
    """A run that was to go to its end cannot have been settled before."""

    def change(forger: Forger) -> None:
        last = forger.plan["test_set"]["cases"][-1]["id"]
        for repeat in (1, 2):
            forger.drop_trial("bad", last, repeat)
        item = {"configuration": "bad", "cases": 3, "trials": 2}
        forger.record[-1]["body"].update(not_needed=[item], reason="sealed")

    stranger = forge(finished, tmp_path, change)
    assert stranger.codes() == {"MATRIX-INCOMPLETE", "STOP-ORDER"}
    assert gate(stranger, "bad") == 3


def test_order_of_another_run_is_found(stopped: SmallProject, tmp_path: Path) -> None:
    """The order follows from this run's entry in the ledger; the lines of a run in file order do not have it."""

    def change(forger: Forger) -> None:
        kept = order_of(forger)[: told(forger, "bad")["cases"]]
        wanted = sorted((case["id"] for case in forger.plan["test_set"]["cases"]), key=lambda text: int(text[1:]))
        for old, new in zip(kept, wanted, strict=False):
            forger.rename_trial(["bad", old, 1], ["bad", f"-{new}", 1])
        for new in wanted[: len(kept)]:
            forger.rename_trial(["bad", f"-{new}", 1], ["bad", new, 1])

    assert "STOP-ORDER" in forge(stopped, tmp_path, change).codes()
