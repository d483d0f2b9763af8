# SPDX-License-Identifier: Apache-2.0
"""Whole runs over recorded agent runs: validate, run, gate, verify, re-score; and what is refused before anything."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_project import SmallProject
from spans import export, span

PLAN = """\
trialplate: 1
name: agents
test_sets: [{file: cases/runs.yaml}]
models:
  recorded: {runner: trace, pricing: {input: "0.40", output: "1.60"}}
repeats: 1
scorers:
  path:
    type: trajectory
    rules:
      - {must_call: search_kb, with: {query: {contains: refund}}}
      - {must_not_call: issue_refund, before: verify_identity}
      - {max_steps: 4}
  said: {type: value, cases: {tag: answered}}
pass_mark:
  rules: [{id: path, at_least: "0.5", of: path, basis: estimate}]
"""
CASES = """\
- {id: good, trace: traces/good.json, tags: [answered], reference: "Your refund is on its way."}
- {id: hasty, trace: traces/hasty.json}
"""
GOOD = export(
    span("support", "", (0, 900), openinference__span__kind="AGENT", output__value="  Your refund is on its WAY. "),
    span(
        "plan",
        "support",
        (10, 200),
        openinference__span__kind="LLM",
        llm__token_count__prompt=100,
        llm__token_count__completion=10,
    ),
    span(
        "kb",
        "support",
        (200, 250),
        openinference__span__kind="TOOL",
        tool__name="search_kb",
        input__value='{"query": "refund policy"}',
    ),
    span("id", "support", (250, 300), gen_ai__operation__name="execute_tool", gen_ai__tool__name="verify_identity"),
    span("pay", "support", (300, 400), gen_ai__tool__name="issue_refund", gen_ai__tool__call__arguments={"amount": 5}),
    span(
        "end",
        "support",
        (400, 800),
        gen_ai__operation__name="chat",
        gen_ai__usage__input_tokens=200,
        gen_ai__usage__output_tokens=20,
    ),
)
HASTY = {"steps": [{"tool": "issue_refund", "input": {"amount": 5}}, {"tool": "verify_identity"}]}


def project(folder: Path, plan: str = PLAN, cases: str = CASES, **traces: Any) -> SmallProject:
    """Write a project of recorded runs."""
    made = SmallProject.write(folder, plan)
    (made.root / "cases" / "traces").mkdir()
    (made.root / "cases" / "runs.yaml").write_text(cases, encoding="utf-8")
    for name, value in {"good": GOOD, "hasty": HASTY, **traces}.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (made.root / "cases" / "traces" / f"{name}.json").write_text(text, encoding="utf-8")
    return made


def ends(made: SmallProject) -> dict[str, dict[str, Any]]:
    """Return the trial.end bodies of the last run by case."""
    lines = (made.last / "record.jsonl").read_text(encoding="utf-8").splitlines()
    return {e["body"]["trial"][1]: e["body"] for e in map(json.loads, lines) if e["type"] == "trial.end"}


def v21(made: SmallProject) -> dict[str, str]:
    """Return what a re-score of the last run says."""
    (report,) = made("verify", str(made.last), "--rescore", "--json").json
    return next(item for item in report["checks"] if item["id"] == "V21")


def test_run_of_traces_is_scored_gated_verified_and_scored_again(tmp_path: Path) -> None:
    """Tokens, time and cost are the trace's; the answer is the final one; the path is judged."""
    made = project(tmp_path)
    assert made("validate").code == 0
    made.run()
    found = ends(made)
    good, hasty = found["good"], found["hasty"]
    assert (good["outcome"], good["metrics"]) == ("passed", {"path": 1, "said": 1})
    assert good["usage"] == {"input": 300, "output": 30, "declared": True}
    assert good["cost"] == {"nano": 300 * 400 + 30 * 1600, "currency": "USD"}
    assert good["latency_ms"] == 900
    assert (hasty["outcome"], hasty["metrics"]) == ("failed", {"path": 0})
    assert "usage" not in hasty and "cost" not in hasty, (
        "a native trace tells no tokens, which is not that it took none"
    )
    assert made.codes("latest") == set()
    assert v21(made) == {**v21(made), "status": "PASS", "sentence": "2 answers scored again, as recorded"}
    assert made("gate", "latest", "--model", "recorded").code == 0


def test_every_broken_rule_of_a_trace_is_told(tmp_path: Path) -> None:
    """The report and `show` say all that was wrong with the path, and what was called."""
    made = project(tmp_path)
    made.run()
    told = made("report", "latest").out
    assert "search_kb is not called; issue_refund is called before verify_identity, in step 1" in told
    shown = made("show", "latest", "hasty").out
    assert '"tool":"issue_refund"' in shown


def test_trace_is_kept_with_the_run_and_goes_on_from_there(tmp_path: Path) -> None:
    """The bytes are in content/, private, and pinned by the case; a changed project changes nothing of the run."""
    made = project(tmp_path)
    made.run()
    data = (made.root / "cases" / "traces" / "good.json").read_bytes()
    name = hashlib.sha256(data).hexdigest()
    kept = made.last / "content" / name
    assert kept.read_bytes() == data
    assert kept.stat().st_mode & 0o077 == 0
    public = (made.last / "plan.json").read_text() + (made.last / "record.jsonl").read_text()
    assert "refund" not in public and name not in public
    shutil.rmtree(made.root / "cases" / "traces")
    assert made.codes("latest") == set()
    kept.write_bytes(data + b" ")
    assert "CONTENT-MISMATCH" in made.codes("latest")


def test_steps_that_were_rewritten_are_found(tmp_path: Path) -> None:
    """What stands in content no longer opens the transcript that the record commits to."""
    made = project(tmp_path)
    made.run()
    content = made.last / "content.jsonl"
    content.write_text(content.read_text().replace('"tool":"issue_refund"', '"tool":"search_kb"'))
    assert "CONTENT-MISSING" in made.codes("latest")


def test_plan_of_both_kinds_runs_each_by_its_line(tmp_path: Path) -> None:
    """A matrix says which model is asked and which only reads."""
    plan = PLAN.replace(
        "repeats: 1\n",
        '  asked: {runner: stand-in, answers: {"*": Paris}, pricing: free}\n'
        "matrix:\n  - {models: [recorded], cases: {kind: trace}}\n  - {models: [asked], cases: {kind: prompt}}\nrepeats: 1\n",
    )
    plan = plan.replace("    type: trajectory\n", "    type: trajectory\n    cases: {kind: trace}\n")
    plan = plan.replace("  said:", "  right: {type: label, cases: {kind: prompt}}\n  said:")
    made = project(tmp_path, plan, CASES + "- {id: q1, input: What is the capital of France?, reference: Paris}\n")
    made.run()
    assert {name: end["outcome"] for name, end in ends(made).items()} == {
        "good": "passed",
        "hasty": "failed",
        "q1": "passed",
    }
    assert made.codes("latest") == set()


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        pytest.param(
            "", 'case "q1" is a question, and "recorded" only reads traces', id="a question for a trace runner"
        ),
        pytest.param(
            '  asked: {runner: stand-in, answers: {"*": Paris}}\n'
            "matrix:\n  - {models: [asked]}\n  - {models: [recorded], cases: {kind: trace}}\n",
            'case "good" is a trace, and "asked" is a model that answers questions itself',
            id="a trace for a model",
        ),
    ],
)
def test_kind_and_runner_that_do_not_fit_are_refused(tmp_path: Path, extra: str, told: str) -> None:
    """Nothing is committed, and the sentence names the line of the case and what to write."""
    cases = CASES + "- {id: q1, input: What is the capital of France?, reference: Paris}\n"
    said = project(tmp_path, PLAN.replace("repeats: 1\n", f"{extra}repeats: 1\n"), cases)("validate")
    assert said.code == 2
    assert told in said.err
    assert "cases: {kind: trace}" in said.err


@pytest.mark.parametrize(
    ("trace", "told"),
    [
        pytest.param("{", "traces/good.json: it is no JSON", id="no JSON"),
        pytest.param({"hello": 1}, "traces/good.json: this is no trace", id="another form"),
        pytest.param({"steps": [{"name": "x"}]}, "traces/good.json: step 1 names no tool", id="a step without a tool"),
        pytest.param({"steps": [], "final_output": 1}, '"final_output" is no text', id="an answer that is no text"),
        pytest.param(export(), "it holds no span", id="no span"),
    ],
)
def test_trace_that_cannot_be_read_is_refused_before_anything(tmp_path: Path, trace: Any, told: str) -> None:
    """Validate says which file, where it is named, and why; a run does not begin."""
    made = project(tmp_path, good=trace)
    said = made("validate")
    assert said.code == 2
    assert told in said.err
    assert "cases/runs.yaml:1" in said.err
    assert made("run", "--yes").code == 2
    assert not (made.root / "runs").exists()


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("{id: a, trace: ../../../etc/passwd}", "leads out of the project's folder"),
        ("{id: a, trace: traces/goood.json}", 'did you mean "good.json"?'),
        ("{id: a, kind: trace, input: Why?}", "names its trace"),
        ("{id: a, kind: prompt, trace: traces/good.json}", "names its trace"),
        ("{id: a, trace: traces/good.json, max_turns: 3}", "a trace was asked elsewhere"),
    ],
)
def test_case_whose_trace_cannot_be_meant_is_refused(tmp_path: Path, case: str, told: str) -> None:
    """A path is inside the project and the file is there; a trace is not asked, and a case is of one kind."""
    said = project(tmp_path, cases=f"- {case}\n")("validate")
    assert (said.code, told in said.err) == (2, True), said.err
