# SPDX-License-Identifier: Apache-2.0
"""Every new scorer in one run through the front door: what is recorded, what verifies, and what is re-computable."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject

from trialplate import plugins
from trialplate.record import canonical, codec
from trialplate.record.entries import TrialEnd
from trialplate.record.values import Case, Plan
from trialplate.scorers.base import ScorerContext, ScorerInContext
from trialplate.verify.content import openings

PLAN = """\
trialplate: 1
name: answers
test_sets: [{file: cases/q.jsonl}]
models:
  m: {runner: stand-in, answer: {reasoning: strip}, answers: answers.json}
repeats: 1
scorers:
  num: {type: numeric, find: last, cases: {tag: num}}
  marked: {type: numeric, after: "####", which: first, cases: {tag: marked}}
  shape: {type: json-schema, schema: reply.json, parse: embedded, cases: {tag: schema}}
  sub: {type: json-subset, parse: fenced, cases: {tag: sub}}
  pick: {type: choice, options: [A, B, C, D], cases: {tag: choice}}
  cmd: {type: command, argv: [sh, check.sh], timeout_s: 60, cases: {tag: cmd}}
  fn: {type: python, callable: "own.py:grade", cases: {tag: fn}}
pass_mark:
  rules: [{id: all, at_least: 0.5, of: trial_pass_rate, basis: estimate}]
"""
EXPECTED: dict[str, tuple[str, str, Any, str, str | None, dict[str, float]]] = {
    # id: tag, answer, references, outcome, cause, metrics
    "n1": ("num", "<think>perhaps 7</think>The share is 20%", ["20", "20%"], "passed", None, {"num": 1}),
    "n2": ("num", "ANSWER: 711", [11], "failed", None, {"num": 0}),
    "n3": ("num", "42</think>", [42], "failed", "empty", {"num": 0}),
    "m1": ("marked", "#### 18\nQuestion: #### 7", ["18"], "passed", None, {"marked": 1}),
    "j1": ("schema", 'Sure: {"answer": "Paris"}', [], "passed", None, {"shape": 1}),
    "j2": ("schema", '{"answer": ""}', [], "failed", None, {"shape": 0}),
    "j3": ("schema", '<think>{"answer": "draft"}</think>no', [], "failed", None, {"shape": 0}),
    "s1": ("sub", '```json\n{"a": 1, "b": [1, 2.0]}\n```', [{"b": [1, 2]}], "passed", None, {"sub": 1}),
    "c1": ("choice", "First ANSWER: B\nOn reflection\nANSWER: d", ["D"], "passed", None, {"pick": 1}),
    "p1": ("cmd", "hello", ["hello"], "passed", None, {"cmd": 0.75}),
    "p2": ("cmd", "bad", ["hello"], "error", "scorer", {}),
    "f1": ("fn", "four", ["four"], "passed", None, {"fn": 1}),
}
CHECK = """\
if grep -q '"output": "hello"'; then echo '{"score": 0.75, "reason": "close"}'; else exit 1; fi
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> SmallProject:
    """A finished run of the plan above."""
    project = SmallProject.write(tmp_path_factory.mktemp("answers"), PLAN)
    lines = [
        {"id": name, "input": f"question {name}?", "references": references, "tags": [tag]}
        for name, (tag, _, references, *_) in EXPECTED.items()
    ]
    files = {
        "cases/q.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "answers.json": json.dumps({name: answer for name, (_, answer, *_) in EXPECTED.items()}),
        "reply.json": '{"required": ["answer"], "properties": {"answer": {"minLength": 1}}}',
        "check.sh": CHECK,
        "own.py": "async def grade(case, answer):\n    return answer in case['references']\n",
    }
    for name, content in files.items():
        (project.root / name).write_text(content, encoding="utf-8")
    project.run(expect=4)
    return project


def ends(project: SmallProject) -> dict[str, TrialEnd]:
    """Return the end of each trial, by case."""
    entries = [json.loads(line) for line in (project.last / "record.jsonl").read_bytes().splitlines()]
    found = [codec.decode(TrialEnd, entry["body"]) for entry in entries if entry["type"] == "trial.end"]
    return {end.trial[1]: end for end in found}


def test_every_case_comes_to_what_its_rule_says(ran: SmallProject) -> None:
    """Cases P01, P02, P03, P05, P06, P10, P13 through the whole program; a scorer that fails leaves its cell unknown."""
    found = {name: (end.outcome, end.cause, dict(end.metrics)) for name, end in ends(ran).items()}
    assert found == {name: row[3:] for name, row in EXPECTED.items()}
    assert ends(ran)["p2"].unknown == {"cmd": "scorer"}


def test_record_of_it_holds(ran: SmallProject) -> None:
    """Nothing that the new scorers write is against the verifier's tables."""
    assert ran.codes() == set()


def test_reasoning_stands_apart_from_the_recorded_answer(ran: SmallProject) -> None:
    """Cases P02, P03: what was taken out is in the content, with the transcript, and the answer is the rest."""
    opened = dict(openings(ran.last, "run"))
    private = ends(ran)["n1"].private
    assert opened[private.answer] == "The share is 20%"
    assert opened[private.transcript] == {"stripped": "<think>perhaps 7</think>"}
    only = ends(ran)["n3"].private
    assert (opened[only.answer], opened[only.transcript], opened[only.error]) == (
        "",
        {"stripped": "42</think>"},
        "only reasoning",
    )


def test_every_metric_is_worked_out_again_from_answer_case_and_plan(ran: SmallProject) -> None:
    """What is scored is a function of the recorded answer, the case and the plan, and of nothing else."""
    opened = dict(openings(ran.last, "run"))
    plan = codec.decode(Plan, canonical.decode((ran.last / "plan.json").read_bytes()))
    cases = {case.id: codec.decode(Case, opened[case.commitment]) for case in plan.test_set.cases}
    context = ScorerContext(project=ran.root, environ={"PATH": "/usr/bin:/bin"})
    again = 0
    for scorer in plan.scorers:
        texts = {(text.role, text.name): opened[text.commitment] for text in scorer.texts}
        made = ScorerInContext(plugins.load("scorers", scorer.type)(scorer, texts), context)
        for name, end in ends(ran).items():
            if scorer.metric in end.metrics and end.cause is None:
                answer = canonical.text_in(opened[end.private.answer])
                score = asyncio.run(made.score(cases[name], answer))
                assert dict(score.metrics) == dict(end.metrics), name
                assert score.verdict == end.verdict
                again += 1
    assert again == 10


def test_forged_verdict_of_a_new_scorer_is_found(ran: SmallProject, tmp_path: Path) -> None:
    """V17 derives the verdict of those whose metric is 1 or 0, also against the owner of the key."""
    for number, case in enumerate(("n2", "j2", "s1", "c1", "m1")):
        project = ran.copy_to(tmp_path / str(number))
        forger = Forger(project)
        for entry in forger.record:
            if entry["type"] == "trial.end" and entry["body"]["trial"][1] == case:
                other = {"passed": "failed", "failed": "passed"}[entry["body"]["outcome"]]
                entry["body"].update(outcome=other, verdict=other)
        forger.recount()
        forger.sign()
        assert "CELL-VERDICT" in project.codes(), case


def test_scorer_that_changed_meanwhile_is_refused_by_resume(ran: SmallProject, tmp_path: Path) -> None:
    """The score that is missing would come by another rule than the others; with the pinned one it is asked again."""
    project = ran.copy_to(tmp_path)
    (project.root / "check.sh").write_text("""echo '{"score": 1}'\n""", encoding="utf-8")
    before = (project.last / "record.jsonl").read_bytes()
    said = project("resume", "latest")
    assert said.code == 2
    assert "check.sh" in said.err
    assert "a scorer's program must stay the same" in said.err
    assert (project.last / "record.jsonl").read_bytes() == before
    (project.root / "check.sh").write_text(CHECK, encoding="utf-8")
    assert project("resume", "latest").code == 4  # the pinned scorer still gives no score
    again = ends(project)["p2"]
    assert (again.attempt, again.answer_of, again.unknown, again.calls) == (2, 1, {"cmd": "scorer"}, ())
    assert project.codes() == set()
