# SPDX-License-Identifier: Apache-2.0
"""A plan that uses the whole language of marks, with every value of it replaced by what does not belong there.

Whatever stands there, an author is told the place, what is wrong and one thing to do, or the plan is taken: never a
traceback, never a text that echoes a whole file. Nothing is written, since this is all before a ledger is opened.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_project import SmallProject

from trialplate.errors import SpecError
from trialplate.spec.freeze import freeze
from trialplate.spec.project import load_project

HEAD = """\
trialplate: 1
name: small
test_sets: [{file: cases/q.csv}]
models:
  echo: {runner: stand-in, answers: {"*": "yes"}, pricing: free}
  bare: {runner: stand-in, answers: {"*": "no"}, pricing: free}
  beside: {runner: stand-in, answers: {"*": "no"}, role: comparison, pricing: free}
repeats: 3
helpers:
  h: {runner: openai-compatible, url: "http://127.0.0.1:9/v1", model: j, pricing: free}
scorers:
  right: {type: exact}
  kind-of: {type: label}
  j: {type: judge, model: h, metrics: [helpful]}
"""
RULES = [
    {"id": "correct", "at_least": 0.5, "of": "right", "where": {"tag": ["easy", "critical"], "kind": "prompt"}},
    {"id": "few", "at_most": 0.3, "of": "error_rate"},
    {"id": "by-tag", "at_least": 0.3, "of": "right", "each": "tag", "basis": "estimate", "cases": {"at_least": 5}},
    {"id": "crit", "must_pass": {"tag": "critical"}, "require": "majority"},
    {"id": "all", "must_pass": "all", "require": "any"},
    {"id": "near", "not_worse_than": "bare", "by": 0.3, "of": "right"},
    {
        "id": "some",
        "any_of": [
            {"at_least": 0.5, "of": "case_pass_rate"},
            {"id": "in", "at_least": 0.9, "of": {"share": "wall_s", "at_most": 8}},
            {
                "any_of": [
                    {"must_pass": {"id": ["q1", "q2"]}},
                    {"at_most": 9, "of": {"p90": "latency_s"}, "basis": "estimate"},
                ]
            },
        ],
    },
    {"id": "hat", "at_least": 0.1, "of": {"pass_hat": 3}, "basis": "estimate"},
    {"id": "at", "at_least": 0.1, "of": {"pass_at": 2}, "basis": "estimate"},
    {"id": "spend", "at_most": "0.02", "of": {"cost": "per_passed"}, "basis": "estimate"},
    {"id": "tokens", "at_most": 2000, "of": {"tokens": "per_trial"}, "basis": "estimate"},
    {"id": "f1", "at_least": 0.2, "of": {"macro_f1": "kind-of"}, "basis": "estimate"},
    {"id": "judged", "at_least": 0.2, "of": "helpful", "correct_for_judge": True},
    {"id": "agreed", "at_least": 0.5, "of": {"agreement": "j"}},
    {"id": "labels", "at_least": 0.2, "of": {"accuracy": "kind-of"}},
]
MARK: dict[str, Any] = {
    "require": "chosen",
    "confidence": 0.9,
    "over": "cases",
    "unit": "case",
    "family": "plan",
    "errors": "bound",
    "evidence": {
        "calls": "any",
        "selection": "full",
        "complete": 1,
        "reasked": {"at_most": 0.02},
        "infrastructure_errors": {"at_most": 0.02},
        "cases": {"at_least": 10},
        "repeats": {"at_least": 3},
        "judge": {"scorer": "j", "graded": {"at_least": 50}, "agreement": {"at_least": 0.8}},
    },
    "attempts": {"scope": "model", "use": "all", "max": 3, "spend": True},
    "choose": {
        "by": "cheapest",
        "within": 0.3,
        "of": "right",
        "against": "best",
        "best_among": "all",
        "tie_break": ["score", "order"],
        "keep": "echo",
    },
    "stop": {"mode": "none"},
    "rules": RULES,
}
LONG = 20_000
VALUES = (
    *("null", "~", "true", "no", "0", "1", "-1", "2", "9" * 500, "-0", "-0.0", ".9", "0.90", "0,9", "1e-400", "1e400"),
    *("0." + "0" * 500 + "1", "1e999999999", "1e-13", ".nan", "-.inf", "90%", "0x10", "1_000", "12:30", "2026-01-01"),
    *('""', '" "', '"0.5"', '"-0"', '"90%"', "right", "bare", "all", "baseline", "x" * LONG, '"\u00e9\u4e2d\u202e"'),
    *('"\\0"', '"\\e[31m"', "[]", "[[]]", "[null]", "[x]", "{}", "{x: 1}", "{at_least: 1}", "{at_most: 0.5}"),
    *("{tag: nowhere}", "{id: nowhere}", "{pass_hat: 99}", "{pass_hat: 3, pass_at: 2}", "{macro_f1: right}"),
    *("{a: 1, a: 2}", "{<<: {a: 1}}", "&a [*a]", "*nowhere", "!!str x", "{? [a] : 1}", "&a 1", "{share: wall_s}"),
)
PLACE = re.compile(r"trialplate\.yaml:[1-9][0-9]*:[1-9][0-9]*")
Keys = tuple[str | int, ...]


class Raw(str):
    """A text that stands in the file as it is."""


def keys_in(value: Any, above: Keys = ()) -> Iterator[Keys]:
    """Yield the path of every value below one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*above, key)
        yield from keys_in(item, (*above, key))


def written(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


def changed(path: Keys, value: str | None) -> str:
    """Return the plan with one value replaced, or, for None, with its key taken out; each rule is on its own line."""
    mark = copy.deepcopy(MARK)
    holder: Any = mark
    for key in path[:-1]:
        holder = holder[key]
    if value is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = Raw(value)
    lines = [HEAD, "pass_mark:\n"]
    for key, item in mark.items():
        if key == "rules" and type(item) is list and item:
            lines += ["  rules:\n", *(f"    - {written(rule)}\n" for rule in item)]
        else:
            lines.append(f"  {key}: {written(item)}\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of 60 cases."""
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "cases").mkdir()
    rows = [f"q{n},Question {n} is what?,yes,{'easy' if n % 5 else 'critical'}\n" for n in range(60)]
    (folder / "cases" / "q.csv").write_text("id,input,reference,tags\n" + "".join(rows), encoding="utf-8")
    return folder


def told(root: Path, plan: str) -> SpecError | None:
    """Return what an author is told of a plan; None if it is taken."""
    (root / "trialplate.yaml").write_text(plan, encoding="utf-8")
    try:
        freeze(load_project(root), b"s" * 32)
    except SpecError as error:
        return error
    return None


PATHS = list(keys_in(MARK))


def test_the_plan_that_is_changed_is_taken_as_it_is(root: Path) -> None:
    """Else every refusal below could be of something else."""
    assert told(root, changed(("stop", "mode"), "none")) is None


@pytest.mark.parametrize("part", sorted({str(path[0]) for path in PATHS}))
def test_every_value_is_taken_or_refused_by_its_place(root: Path, part: str) -> None:
    """Null and a missing key everywhere; of all other values each at every 29th place, another at the next."""
    number = 0
    for index, path in enumerate(PATHS):
        if path[0] != part:
            continue
        others = [value for place, value in enumerate(VALUES[1:]) if (place + index) % 29 == 0]
        for value in (None, VALUES[0], *others):
            error = told(root, changed(path, value))
            number += 1
            if error is not None:
                said = (path, value, str(error)[:300])
                assert PLACE.fullmatch(error.where), said
                assert error.hint, said
                assert len(str(error)) < LONG // 4, (path, len(str(error)))
                assert "pydantic" not in str(error), said
    assert number


def test_rule_whose_id_is_null_is_told(root: Path) -> None:
    """The key stands there, so it is not missing; without a sentence of its own nothing was left but a traceback."""
    error = told(root, changed(("rules", 0, "id"), "null"))
    assert error is not None
    assert (error.message, error.where) == ('"id": nothing stands here', "trialplate.yaml:27:14")


@pytest.mark.parametrize("command", ["plan", "validate", "run"])
def test_refused_mark_writes_nothing(tmp_path: Path, command: str) -> None:
    """No ledger, no key, no run: exit 2 and one error."""
    made = SmallProject.write(tmp_path)
    text = (made.root / "trialplate.yaml").read_text(encoding="utf-8")
    made.set_plan(text.replace("id: correct,", "id: null,"))
    said = made(command, *(("--yes",) if command == "run" else ()))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith('error: trialplate.yaml:13:12: "id": nothing stands here\n  do: ')
    assert sorted(path.name for path in made.root.iterdir()) == ["cases", "trialplate.yaml"]
    assert not (made.home / "keys").exists()
