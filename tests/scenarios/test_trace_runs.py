# SPDX-License-Identifier: Apache-2.0
"""Whole runs over recorded agent runs: validate, run, gate, verify, re-score; and what is refused before anything."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from forger import Forger
from server_thread import ServerThread
from small_project import SmallProject
from spans import export, span

from trialplate.scorers.base import Score, ScorerError
from trialplate.scorers.trajectory import TrajectoryScorer

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
        ("{id: a, trace: traces/goood.json}", 'did you mean "traces/good.json"?'),
        ("{id: a, kind: trace, input: Why?}", "names its trace"),
        ("{id: a, kind: prompt, trace: traces/good.json}", "names its trace"),
        ("{id: a, trace: traces/good.json, max_turns: 3}", "a trace was asked elsewhere"),
    ],
)
def test_case_whose_trace_cannot_be_meant_is_refused(tmp_path: Path, case: str, told: str) -> None:
    """A path is inside the project and the file is there; a trace is not asked, and a case is of one kind."""
    said = project(tmp_path, cases=f"- {case}\n")("validate")
    assert (said.code, told in said.err) == (2, True), said.err


def test_budget_and_estimate_are_not_touched_by_what_was_paid_elsewhere(tmp_path: Path) -> None:
    """A trace is read for nothing: the estimate is zero, and a budget that is smaller than its cost does not stop it."""
    plan = PLAN + "run: {budget: {cost_usd: 0.000001}}\n"
    made = project(tmp_path, plan)
    assert "recorded: 2 trials, about 0 tokens in, 0 out, at most 0.0000 USD" in made("run").out
    made.run()
    assert {end["outcome"] for end in ends(made).values()} == {"passed", "failed"}


def test_trace_without_prices_has_no_cost_and_needs_none(tmp_path: Path) -> None:
    """Unknown is not zero in the record, and not refused under a budget, since nothing is paid."""
    plan = PLAN.replace(', pricing: {input: "0.40", output: "1.60"}', "") + "run: {budget: {cost_usd: 1}}\n"
    made = project(tmp_path, plan)
    made.run()
    assert all("cost" not in end for end in ends(made).values())
    assert made("report", "latest", "--json").json["configurations"][0]["cost"]["nano"] is None


def test_time_that_a_trace_does_not_tell_is_unknown(tmp_path: Path) -> None:
    """A run in the native form knows none: that is no run of 0 ms, which would be the fastest."""
    made = project(tmp_path)
    made.run()
    latency = made("report", "latest", "--json").json["configurations"][0]["latency"]
    assert latency == {"median_ms": 900, "p95_ms": 900, "n": 1}
    assert "time: unknown at the far end" in made("show", "latest", "hasty").out
    assert "time: 900 ms at the far end" in made("show", "latest", "good").out
    rows = csv.DictReader(made("report", "latest", "--format", "csv").out.splitlines())
    assert {row["case"]: row["latency_ms"] for row in rows} == {"good": "900", "hasty": ""}


CHOICE = """\
  choose: {by: BY, of: path, basis: estimate}
"""


def test_choice_by_a_traces_own_word_is_refused_or_open(tmp_path: Path) -> None:
    """`fastest` takes no trace; `cheapest` is told that the tokens are declared, and chooses nothing by them."""
    said = project(tmp_path / "fastest", PLAN + CHOICE.replace("BY", "fastest"))("validate")
    assert (said.code, "how long it took is their own word" in said.err) == (2, True)
    made = project(tmp_path / "cheapest", PLAN + CHOICE.replace("BY", "cheapest"))
    assert "counts its own tokens: without declared_usage: accept its cost is unknown" in made("validate").out
    made.run()
    assert made("gate", "latest", "--model", "recorded", "--no-append").code == 0, "eligible, whoever is cheapest"


def test_same_trace_under_other_tags_is_the_same_question(tmp_path: Path) -> None:
    """A rejected run is undone by no other tag, layout or recording; the agent of another `subject` is another thing."""
    strict = PLAN.replace('at_least: "0.5"', 'at_least: "1"')
    made = project(tmp_path, strict)
    made.run()
    assert made("gate", "latest", "--model", "recorded").code == 1
    made.set_plan(PLAN)
    (made.root / "cases" / "runs.yaml").write_text(CASES.replace("answered", "spoken"), encoding="utf-8")
    made.set_plan(PLAN.replace("answered", "spoken"))
    made.run()
    said = made("gate", "latest", "--model", "recorded", "--no-append", "--json").json["decision"]
    assert said["decision"] == "rejected", "an earlier attempt at these recordings was rejected"
    for name, value in {"good": GOOD, "hasty": HASTY}.items():
        text = json.dumps(value, indent=1)
        (made.root / "cases" / "traces" / f"{name}.json").write_text(text, encoding="utf-8")
    made.run()
    said = made("gate", "latest", "--model", "recorded", "--no-append", "--json").json["decision"]
    assert said["decision"] == "rejected", "nobody said that another agent was recorded"
    made.set_plan(PLAN.replace("answered", "spoken").replace("runner: trace,", "runner: trace, subject: v2,"))
    made.run()
    assert made.codes() == set()
    said = made("gate", "latest", "--model", "recorded", "--no-append", "--json").json["decision"]
    assert said["decision"] == "accepted"


LABELS = """\
trialplate: 1
name: intents
test_sets: [{file: cases/q.csv}]
models:
  m: {runner: stand-in, answers: {q1: " billing ", q2: technical, q3: [technical, {error: transport}], q4: {text: billing, finish: length}}, pricing: free, retry: {max_retries: 0}}
repeats: 2
scorers:
  word: {type: contains, cases: {tag: none}}
classification: {labels: reference}
pass_mark:
  rules: [{id: right, at_least: "0.5", of: label, basis: estimate}]
"""
LABEL_CASES = "id,input,reference,tags\nq1,Where is my bill?,billing,\nq2,It crashes.,technical,\nq3,It costs too much.,billing,\nq4,Pay?,billing,none\n"


def test_report_shows_how_well_labels_were_told_apart(tmp_path: Path) -> None:
    """Two trials of each case; one of an error and two that were cut off stand as wrong, and are told."""
    made = SmallProject.write(tmp_path, LABELS, LABEL_CASES)
    made.run(expect=4)
    (table,) = made("report", "latest", "--format", "json").json["labels"]
    assert {key: table[key] for key in ("configuration", "scorer", "n", "unanswered", "accuracy")} == {
        "configuration": "m", "scorer": "label", "n": 8, "unanswered": 3, "accuracy": 0.5,
    }  # fmt: skip
    billing, technical = table["labels"]
    assert billing == {"label": "billing", "precision": 1.0, "recall": 0.333333, "f1": 0.5, "support": 6}
    assert technical == {"label": "technical", "precision": 0.666667, "recall": 1.0, "f1": 0.8, "support": 2}
    assert table["macro_f1"] == 0.65
    text = made("report", "latest").out
    assert (
        "m label: accuracy 0.5000 and macro-F1 0.6500 over 8 trials, of which 3 without an answer that counts" in text
    )
    assert "### Labels" in made("report", "latest", "--format", "markdown").out
    withheld = made("report", "latest", "--withhold").out
    assert "labels are withheld" in withheld and "billing" not in withheld
    (made.last / "content.jsonl").unlink()
    assert made("report", "latest", "--format", "json").json["labels"] is None


def test_public_test_set_shows_its_labels(tmp_path: Path) -> None:
    """Cases that stand in the plan are opened there; the answers still come from content."""
    made = SmallProject.write(tmp_path, LABELS.replace("q.csv}", "q.csv, visibility: public}"), LABEL_CASES)
    made.run(expect=4)
    assert made("report", "latest", "--format", "json").json["labels"][0]["n"] == 8


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("billing,\nq2", "billing|bills,\nq2"), 'case "q1" has 2 references, and a label is exactly one'),
        (("Where is my bill?,billing", "Where is my bill?,"), 'case "q1" has no reference'),
    ],
)
def test_case_with_no_label_or_two_is_refused(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    """A class is one: narrow `cases:` to those that are labelled."""
    cases = LABEL_CASES.replace("reference,", "references,").replace(*change)
    said = SmallProject.write(tmp_path, LABELS, cases)("validate")
    assert (said.code, told in said.err) == (2, True), said.err


def test_two_scorers_named_label_are_refused(tmp_path: Path) -> None:
    """The short form has a name of its own."""
    plan = LABELS.replace("  word:", "  label: {type: exact}\n  word:")
    said = SmallProject.write(tmp_path, plan, LABEL_CASES)("validate")
    assert (said.code, 'is short for a scorer named "label"' in said.err) == (2, True), said.err


def test_rule_over_macro_f1_is_taken_and_left_open_by_an_unknown_trial(tmp_path: Path) -> None:
    """Two trials of the plan are errors: the estimate of a report counts them as wrong, a rule does not know."""
    made = SmallProject.write(tmp_path, LABELS.replace("of: label", "of: {macro_f1: label}"), LABEL_CASES)
    made.run(expect=4)
    rule = made("gate", "latest", "--json", "--no-append").json["decision"]["rules"][0]
    assert (rule["result"], rule["reason"]) == ("inconclusive", "unknown_cells")


# ---------------------------------------------------------------------------- the same rules over models that are asked

TOOLS = """\
trialplate: 1
name: tools
test_sets: [{{file: cases/q.yaml}}]
models:
  m: {{runner: openai-compatible, url: "{url}", model: m-small}}
tools:
  search: {{callable: "tool.py:run", description: Searches., parameters: {{type: object, properties: {{query: {{type: string}}}}}}}}
repeats: 1
scorers:
  path: {{type: trajectory, rules: [{{must_call: search, with: {{query: {{contains: refund}}}}}}, {{max_steps: 1}}]}}
pass_mark:
  rules: [{{id: path, at_least: "0.5", of: path, basis: estimate}}]
"""


def test_rules_hold_for_the_tools_that_a_model_calls(tmp_path: Path) -> None:
    """The turns of a conversation are steps; a model that was offered tools and called none has taken none."""

    def answer(body: dict[str, Any]) -> Any:
        asked = body["messages"][0]["content"]
        if "weather" in asked or any(item["role"] == "tool" for item in body["messages"]):
            return "It is on its way."
        function = {"name": "search", "arguments": json.dumps({"query": "refund policy"})}
        return {"tool_calls": [{"id": "1", "type": "function", "function": function}]}

    cases = "- {id: q1, input: Where is my refund?, tools: [search]}\n- {id: q2, input: How is the weather?, tools: [search]}\n"
    with ServerThread(ChatServer(answer=answer)) as server:
        made = SmallProject.write(tmp_path, TOOLS.format(url=server.url))
        (made.root / "cases" / "q.yaml").write_text(cases, encoding="utf-8")
        (made.root / "tool.py").write_text("def run(arguments):\n    return 'found'\n", encoding="utf-8")
        made.run()
    found = ends(made)
    assert {name: end["metrics"] for name, end in found.items()} == {"q1": {"path": 1}, "q2": {"path": 0}}
    assert made.codes("latest") == set()
    assert v21(made)["sentence"] == "2 answers scored again, as recorded"


def test_unscored_answer_is_scored_again_with_what_came_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run opens the transcript too: the path of a run is judged without reading the trace once more."""

    async def fails(*given: Any) -> Score:
        raise ScorerError("out of order")

    made = project(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(TrajectoryScorer, "score", fails)
        made.run(expect=4)
    assert {name: end["outcome"] for name, end in ends(made).items()} == {"good": "error", "hasty": "error"}
    assert made("resume", "latest").code == 0
    found = ends(made)
    assert {name: (end["metrics"]["path"], end["answer_of"]) for name, end in found.items()} == {
        "good": (1, 1),
        "hasty": (0, 1),
    }
    assert made.codes("latest") == set()
    assert v21(made)["status"] == "PASS"


def test_verdict_that_a_path_does_not_earn_is_found_by_a_rescore(tmp_path: Path) -> None:
    """The key's owner writes a pass and signs everything anew: the steps still say what was called."""
    made = project(tmp_path)
    made.run()
    forger = Forger(made)
    forger.trial("recorded", "hasty").update(outcome="passed", verdict="passed", metrics={"path": 1})
    forger.recount()
    forger.sign()
    (made.home / "known.json").unlink()
    assert made.codes("latest") == set()
    said = made("verify", "latest", "--rescore", "--json")
    assert said.code == 3
    assert [item["code"] for item in said.json[0]["findings"] if item["severity"] == "finding"] == ["RESCORE"]


def test_another_recording_of_the_same_input_is_another_attempt(tmp_path: Path) -> None:
    """An agent that was recorded again until it passed: the first attempt rejects, until `subject` says what changed."""
    strict = (
        PLAN.replace("{max_steps: 4}", "{max_steps: 2}")
        .replace('"0.5"', '"1"')
        .replace("  said: {type: value, cases: {tag: answered}}\n", "")
    )
    made = project(tmp_path, strict, "- {id: good, trace: traces/good.json, input: Where is my refund?}\n")
    made.run()
    assert made("gate", "latest", "--model", "recorded").code == 1
    again = {"steps": [{"tool": "search_kb", "input": {"query": "refund"}}]}
    (made.root / "cases" / "traces" / "good.json").write_text(json.dumps(again), encoding="utf-8")
    made.run()
    said = made("gate", "latest", "--model", "recorded", "--no-append", "--json").json["decision"]
    assert said["decision"] == "rejected"
    made.set_plan(strict.replace("runner: trace,", "runner: trace, subject: agent 2,"))
    made.run()
    said = made("gate", "latest", "--model", "recorded", "--no-append", "--json").json["decision"]
    assert said["decision"] == "accepted"
