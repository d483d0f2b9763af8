# SPDX-License-Identifier: Apache-2.0
"""A decision over bounds, with any number or word in it forged by the key's owner: the verifier derives all of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject

CASES = "id,input,reference,tags\n" + "".join(
    f"q{n},What is {n} and {n}?,={2 * n}=,{'odd' if n % 2 else 'even'}\n" for n in range(1, 61)
)
PLAN = """trialplate: 1
name: sums
test_sets: [{file: cases/q.csv}]
models:
  good: {runner: stand-in, answers: answers-good.json}
  fair: {runner: stand-in, answers: answers-fair.json}
  old: {runner: stand-in, answers: answers-old.json, role: comparison}
repeats: 2
scorers: {correct: {type: contains}}
pass_mark:
  rules:
    - {id: correct, at_least: 0.85, of: correct}
    - {id: by-tag, at_least: 0.75, of: correct, each: tag}
    - {id: not-worse, not_worse_than: old, by: 0.1, of: correct}
    - {id: wrong, at_most: 0.2, of: error_rate}
    - {id: either, any_of: [{id: a, at_least: 0.99, of: trial_pass_rate}, {id: b, at_least: 0.7, of: trial_pass_rate}]}
    - {id: quick, at_least: 0.9, of: {share: wall_s, at_most: 60}}
    - {id: median, at_most: 60, of: {p50: wall_s}, basis: estimate}
  choose: {by: cheapest, of: correct, within: 0.2}
"""
DERIVED = ("decision", "reasons", "evidence", "rules", "attempt", "choice")


def answers(wrong: int) -> str:
    """Return the answers of a model that misses each so-manieth sum."""
    import json

    return json.dumps({f"q{n}": "no" if n % wrong == 0 else f"={2 * n}=" for n in range(1, 61)})


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A run of two candidates and a comparison, with a decision on each. It is copied, never changed."""
    made = SmallProject.write(tmp_path_factory.mktemp("bounds"), PLAN, CASES)
    for name, wrong in (("good", 100), ("fair", 4), ("old", 30)):
        (made.root / f"answers-{name}.json").write_text(answers(wrong))
    made.run()
    assert made("gate", "latest", "--model", "good").code == 0
    assert made("gate", "latest", "--model", "fair").code == 1
    return made


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every text, number and truth value in a JSON value, with where it stands."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def forged(path: tuple[Any, ...], value: Any) -> Any:
    """Return another value of the same form."""
    if path[-1] in ("lower", "upper"):
        return f"{Decimal(value) + (Decimal('2e-9') if Decimal(value) < Decimal('0.5') else -Decimal('2e-9')):.9f}"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    others = {"pass": "fail", "fail": "pass", "inconclusive": "pass", "accepted": "rejected", "rejected": "accepted"}
    if value in others:
        return others[value]
    return value[:-1] + ("1" if value[-1] != "1" else "2")


def put(value: Any, path: tuple[Any, ...], item: Any) -> None:
    """Write an item at a place in a JSON value."""
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = item


@pytest.mark.parametrize("configuration", ["good", "fair"])
def test_every_number_and_word_of_a_decision_over_bounds_is_derived_again(
    gated: SmallProject, tmp_path: Path, configuration: str
) -> None:
    """Each one is changed alone, a bound by 2e-9, and everything signed again: each is a finding."""
    project = gated.copy_to(tmp_path)
    forger = Forger(project)
    entry = next(e for e in forger.ledger if e["type"] == "decision" and e["body"]["configuration"] == configuration)
    honest = copy.deepcopy(entry["body"])
    places = [(path, value) for path, value in leaves(honest) if path[0] in DERIVED]
    stranger = project.as_stranger(tmp_path / "stranger")
    kinds = {path[-1] for path, _ in places}
    assert {"lower", "upper", "alpha", "low", "high", "threshold", "units", "attempt", "result"} <= kinds
    for path, value in places:
        entry["body"] = copy.deepcopy(honest)
        put(entry["body"], path, forged(path, value))
        forger.sign_ledger()
        assert stranger.codes() & {"DECISION", "SCHEMA"}, path
    entry["body"] = honest
    forger.sign_ledger()
    assert stranger.codes() == set()


def test_bounds_that_differ_in_the_last_digit_are_the_same(gated: SmallProject, tmp_path: Path) -> None:
    """C libraries round the logarithm of the gamma function differently: 1e-9 is no finding."""
    project = gated.copy_to(tmp_path)
    forger = Forger(project)
    for entry in forger.ledger:
        if entry["type"] == "decision":
            for path, value in list(leaves(entry["body"])):
                if path[-1] in ("lower", "upper") and Decimal("0.1") < Decimal(value) < Decimal("0.9"):
                    put(entry["body"], path, f"{Decimal(value) + Decimal('1e-9'):.9f}")
    forger.sign_ledger()
    assert project.as_stranger(tmp_path / "stranger").codes() == set()


def test_a_result_turned_under_a_bound_decision_is_found(gated: SmallProject, tmp_path: Path) -> None:
    """One trial of 360 that passes instead of failing moves a bound, and the stated decision no longer follows."""
    project = gated.copy_to(tmp_path)
    forger = Forger(project)
    forger.passes("fair", "q4", 1)
    forger.recount()
    forger.sign()
    assert "DECISION" in project.as_stranger(tmp_path / "stranger").codes()
