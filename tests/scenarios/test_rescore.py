# SPDX-License-Identifier: Apache-2.0
"""`verify --rescore`: a record that its own key's owner signed with other verdicts than its answers earn is found out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject, plan_text

from trialplate import plugins
from trialplate.engine import rescore as rescoring
from trialplate.scorers.base import NO_CONTEXT, Score, ScorerError


def checked(project: SmallProject, *more: str) -> tuple[int, dict[str, str], list[dict[str, str]]]:
    """Verify the newest run with --rescore; return the exit code, V21, and the findings of it."""
    said = project("verify", str(project.last), "--rescore", "--json", *more)
    (report,) = said.json
    v21 = next(item for item in report["checks"] if item["id"] == "V21")
    return said.code, v21, [item for item in report["findings"] if item["code"] == "RESCORE"]


def test_rescore_of_an_honest_run_passes(finished: SmallProject) -> None:
    """Every decided answer is scored again, passed and failed ones."""
    code, v21, found = checked(finished)
    assert (code, found) == (0, [])
    assert v21["status"] == "PASS"
    assert v21["sentence"] == "16 answers scored again, as recorded"
    assert "V21 PASS answers scored again: 16" in finished("verify", "latest", "--rescore").out


def test_rescore_is_told_of_only_where_it_is_asked_for(finished: SmallProject) -> None:
    """Plain verify makes twenty checks, as ever."""
    (report,) = finished("verify", "latest", "--json").json
    assert [item["id"] for item in report["checks"]] == [f"V{number:02}" for number in range(1, 21)]


@pytest.mark.parametrize("change", ["passes", "fail"])
def test_rescore_finds_a_verdict_that_the_answer_does_not_earn(finished: SmallProject, change: str) -> None:
    """The key's owner writes another verdict and signs everything anew: all other checks hold, this one does not."""
    forger = Forger(finished)
    if change == "passes":
        forger.passes("bad", "q1")
    else:
        forger.fail("good", "q1")
    forger.drop("decision")
    forger.recount()
    forger.sign()
    (finished.home / "known.json").unlink()
    assert finished.codes("latest") == set()
    code, v21, found = checked(finished)
    assert (code, v21["status"], len(found)) == (3, "FAIL", 1)
    name = "bad" if change == "passes" else "good"
    assert f"{name} q1 repeat 1: recorded " in found[0]["message"]


def test_rescore_finds_a_score_without_an_answer(finished: SmallProject) -> None:
    """An answer that is not committed to cannot be scored again, and so it does not count as scored."""
    forger = Forger(finished)
    end = forger.trial("bad", "q1")
    forger.passes("bad", "q1")
    del end["private"]["answer"]
    forger.drop("decision")
    forger.recount()
    forger.sign()
    (finished.home / "known.json").unlink()
    code, _, found = checked(finished)
    assert code == 3
    assert "no answer is committed" in found[0]["message"]


def test_rescore_without_content_is_skipped(finished: SmallProject) -> None:
    """Who was not given the answers cannot score them, and is told so."""
    (finished.last / "content.jsonl").unlink()
    code, v21, _ = checked(finished)
    assert (code, v21["status"]) == (0, "SKIP")
    assert "withheld" in v21["sentence"]


def test_rescore_of_content_that_was_changed_is_the_contents_finding(finished: SmallProject) -> None:
    """Answers that open nothing are not scored."""
    content = finished.last / "content.jsonl"
    content.write_bytes(content.read_bytes().replace(b"London", b"Parisx"))
    code, v21, found = checked(finished)
    assert (code, v21["status"], found) == (3, "SKIP", [])


def test_rescore_of_a_run_away_from_its_ledger_works(finished: SmallProject, tmp_path: Path) -> None:
    """A record that stands alone is scored again as well."""
    away = tmp_path / "away" / finished.last.name
    shutil.copytree(finished.last, away)
    said = finished("verify", str(away), "--rescore", "--json")
    (report,) = said.json
    assert next(item["status"] for item in report["checks"] if item["id"] == "V21") == "PASS"


def test_rescore_of_a_project_scores_each_run(finished: SmallProject) -> None:
    """The ledger by itself has nothing to score, and is told as such."""
    finished.run()
    reports = finished("verify", "--rescore", "--json").json
    states = [next(i["status"] for i in report["checks"] if i["id"] == "V21") for report in reports]
    assert states == ["SKIP", "PASS", "PASS"]


OWN = """\
  m:
    runner: stand-in
    retry: {max_retries: 0}
    answers:
      q1: {text: "Paris", finish: length}
      q2: {text: "no", refusal: true}
      q3: "  "
      q4: {error: timeout}
"""


def test_rescore_of_failures_of_the_models_own_agrees(tmp_path: Path) -> None:
    """Cut off, refused and empty answers are judged as they were; what has no answer is not scored."""
    project = SmallProject.write(tmp_path, plan_text(OWN.replace("    retry: {max_retries: 0}\n", ""), repeats=1))
    project.run(expect=4)
    code, v21, found = checked(project)
    assert (code, found, v21["status"]) == (0, [], "PASS")
    assert v21["sentence"] == "3 answers scored again, as recorded"


def test_rescore_of_text_that_is_no_unicode_agrees(tmp_path: Path) -> None:
    """Case Z06: half a surrogate pair comes back from the content as it was scored."""
    model = "  m: {runner: command, shell: \"printf 'Paris 4 blue 8 \\\\355\\\\240\\\\265 \\\\377'\"}"
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1))
    project.run()
    assert checked(project)[1]["sentence"] == "4 answers scored again, as recorded"


class Strange:
    """A scorer of another package, which says what the tests tell it to."""

    says: Any = 1.0

    def __init__(self, scorer: Any, texts: Any) -> None:
        self.metric = scorer.metric

    async def score(self, case: Any, answer: str, context: Any = NO_CONTEXT) -> Score:
        """Say it."""
        if isinstance(Strange.says, Exception):
            raise Strange.says
        return Score(metrics={self.metric: Strange.says}, verdict="passed" if Strange.says >= 0.5 else "failed")


@pytest.fixture
def strange(finished: SmallProject, monkeypatch: pytest.MonkeyPatch) -> SmallProject:
    """A finished run whose scorer is, to whoever scores again, one that runs code."""
    monkeypatch.setattr(rescoring, "DETERMINISTIC", frozenset())
    monkeypatch.setattr(plugins, "load", lambda group, name: Strange)
    return finished


def test_rescore_runs_no_code_unless_told_to(strange: SmallProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scorer that runs code is named, not run; alone, it leaves nothing that was checked."""
    monkeypatch.setattr(Strange, "says", RuntimeError("it was run"))
    code, v21, _ = checked(strange)
    assert (code, v21["status"]) == (0, "SKIP")
    assert "correct (contains) was not run: --run-code runs it" in v21["sentence"]


def test_rescore_runs_code_when_told_to(strange: SmallProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is compared like everything else."""
    monkeypatch.setattr(Strange, "says", 0.0)
    code, v21, found = checked(strange, "--run-code")
    assert (code, v21["status"]) == (3, "FAIL")
    assert found


def test_rescore_that_a_scorer_cannot_repeat_is_no_pass(strange: SmallProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time limit on a slower machine accuses nobody, and confirms nothing."""
    monkeypatch.setattr(Strange, "says", ScorerError("no result within 1 s"))
    code, v21, found = checked(strange, "--run-code")
    assert (code, v21["status"], found) == (0, "SKIP", [])
    assert "could not say this time" in v21["sentence"]


def test_rescore_of_a_part_of_the_scorers_compares_that_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --run-code the others' metrics are compared, and what they fail has not passed."""
    plan = plan_text(repeats=1).replace("scorers:\n", 'scorers:\n  other: {type: regex, pattern: "[a-z0-9]"}\n')
    project = SmallProject.write(tmp_path, plan)
    project.run()
    monkeypatch.setattr(rescoring, "DETERMINISTIC", frozenset({"regex"}))
    code, v21, found = checked(project)
    assert (code, v21["status"], found) == (0, "PASS", [])
    assert v21["sentence"] == "8 answers scored again, as recorded; correct (contains) was not run: --run-code runs it"


PROGRAM = """\
import json, os, sys

asked = json.load(sys.stdin)
print(json.dumps({"score": float(asked["expected"].lower() in asked["output"].lower())}))
"""


def test_rescore_runs_the_projects_programs_as_the_run_did(tmp_path: Path) -> None:
    """A program that scores is run where it was run, and only while it is the one that the plan pins."""
    plan = plan_text(repeats=1).replace(
        "correct: {type: contains, case_sensitive: false}", "correct: {type: command, argv: [python3, grade.py]}"
    )
    project = SmallProject.write(tmp_path, plan)
    (project.root / "grade.py").write_text(PROGRAM)
    project.run()
    assert checked(project)[1]["status"] == "SKIP"
    code, v21, found = checked(project, "--run-code")
    assert (code, v21["sentence"], found) == (0, "8 answers scored again, as recorded", [])
    (project.root / "grade.py").write_text(PROGRAM.replace("in asked", "not in asked"))
    code, v21, found = checked(project, "--run-code")
    assert (code, v21["status"], found) == (0, "SKIP", [])
    assert "grade.py is not the file that the plan pins" in v21["sentence"]


@pytest.mark.parametrize(
    ("scorer", "answers"),
    [
        ("{type: numeric, find: last}", '{q1: "1", q2: "it is 4", q3: "2", q4: "8 or 9"}'),
        ("{type: choice, options: [A, B]}", '{q1: "ANSWER: A", q2: "ANSWER: B", q3: "none", q4: "ANSWER: A, B"}'),
        (
            "{type: json-subset, parse: embedded}",
            """{q1: '{"a": 1}', q2: 'x {"a": 2} y', q3: "no", q4: '{} {"a": 1}'}""",
        ),
    ],
)
def test_rescore_of_scorers_that_read_answers_agrees(tmp_path: Path, scorer: str, answers: str) -> None:
    """Every scorer of this program that always says the same is run without being asked for."""
    references = {"choice": ["A", "B", "A", "B"], "numeric": ["1", "4", "2", "8"]}.get(
        scorer.split()[1][:-1], [{"a": 1}] * 4
    )
    project = SmallProject.write(
        tmp_path,
        plan_text(f"  m: {{runner: stand-in, answers: {answers}}}", repeats=1)
        .replace("{type: contains, case_sensitive: false}", scorer)
        .replace("q.csv", "q.jsonl"),
    )
    rows = [{"id": f"q{n}", "input": f"Question number {n}?", "expected": text} for n, text in enumerate(references, 1)]
    (project.root / "cases" / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.run()
    code, v21, found = checked(project)
    assert (code, v21["sentence"], found) == (0, "4 answers scored again, as recorded", [])


def test_rescore_of_answers_whose_reasoning_was_stripped_agrees(tmp_path: Path) -> None:
    """What is recorded is what was scored."""
    answers = '{q1: "<think>London</think>Paris", q2: "<think>4</think>", q3: "blue", q4: "8</think> no"}'
    model = f"  m: {{runner: stand-in, answer: {{reasoning: strip}}, answers: {answers}}}"
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1))
    project.run()
    code, v21, found = checked(project)
    assert (code, v21["sentence"], found) == (0, "4 answers scored again, as recorded", [])


def test_auditors_program_says_that_it_scores_nothing(finished: SmallProject) -> None:
    """One sentence, one thing to do, exit 2."""
    command = [sys.executable, "-m", "trialplate.verify", "verify", "latest", "--rescore"]
    done = subprocess.run(command, cwd=finished.root, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 2
    assert "scores nothing" in done.stderr


def test_run_code_alone_is_refused(finished: SmallProject) -> None:
    """It is no check by itself."""
    said = finished("verify", "--run-code")
    assert (said.code, said.out) == (2, "")
    assert "--rescore" in said.err


def test_rescore_of_a_committed_example_agrees(tmp_path: Path) -> None:
    """The run that is in the repository was scored as its answers earn."""
    root = Path(__file__).resolve().parents[2]
    project = SmallProject(root, tmp_path)
    said = project("verify", "examples/contract-questions", "--trust", "keys/examples.pub", "--rescore", "--json")
    reports = said.json[1:]
    assert said.code == 0
    assert {next(i["status"] for i in r["checks"] if i["id"] == "V21") for r in reports} == {"PASS"}
    assert json.dumps(reports).isascii()
