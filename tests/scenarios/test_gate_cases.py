# SPDX-License-Identifier: Apache-2.0
"""Class GATE of the real-world cases (tests/vectors/cases/gate), through the product's own commands."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from forger import Forger
from small_project import SmallProject, plan_text

from trialplate.verify.text import decimal_text

VECTORS = Path(__file__).parents[1] / "vectors" / "cases" / "gate"


def vector(name: str) -> Any:
    """Return a case's input."""
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def numbered(passed: int, of: int) -> tuple[str, str]:
    """Return `of` cases and the lines of a model that answers the first `passed` of them rightly."""
    rows = [f"n{number},Which number is {number}?,right,\n" for number in range(of)]
    script = {f"n{number}": "right" if number < passed else "wrong" for number in range(of)}
    return "id,input,reference,tags\n" + "".join(rows), f"  m: {{runner: stand-in, answers: {json.dumps(script)}}}"


def nothing_was_made(project: SmallProject) -> bool:
    """Say whether the project is as its author wrote it."""
    return not project.ledger.exists() and not (project.root / "runs").exists() and not project.home.exists()


# ---------------------------------------------------------------------------------------------- G01: nothing to decide


def test_run_of_an_empty_test_set_is_refused_before_anything(fresh: SmallProject) -> None:
    """G01: a test set without a case is exit 2, and nothing is written."""
    shutil.copy(VECTORS / "empty.jsonl", fresh.root / "cases" / "empty.jsonl")
    fresh.set_plan((fresh.root / "trialplate.yaml").read_text().replace("cases/q.csv", "cases/empty.jsonl"))
    said = fresh("run", "--yes")
    assert said.code == 2
    assert "there are no cases in this file" in said.err
    assert nothing_was_made(fresh)


@pytest.mark.parametrize("repeats", [0, -1])
def test_run_without_repeats_is_refused_before_anything(fresh: SmallProject, repeats: int) -> None:
    """G01: repeats: 0 is exit 2 and names the line."""
    fresh.set_plan(plan_text(repeats=repeats))
    said = fresh("run", "--yes")
    assert said.code == 2
    assert "trialplate.yaml:" in said.err
    assert nothing_was_made(fresh)


@pytest.mark.parametrize(
    "flags",
    [
        ["--limit", "0"],
        ["--repeats", "0"],
        ["--only", "q9"],
        ["--only", "Q1"],
        ["--models", "goood"],
        ["--models", "good,baad"],
        ["--only", ","],
        ["--models", ""],
    ],
    ids=" ".join,
)
def test_empty_or_mistyped_selection_is_refused_before_anything(fresh: SmallProject, flags: list[str]) -> None:
    """G01: a selection that leaves nothing, or names nothing, is exit 2 and never an empty success."""
    said = fresh("run", "--yes", *flags)
    assert said.code == 2
    assert nothing_was_made(fresh)


def test_gate_on_a_record_without_results_is_not_accepted(fresh: SmallProject) -> None:
    """G01: a record that holds no trial decides nothing; it is not 0 of 0 passed."""
    assert vector("record_empty.json")["results"] == []
    fresh.run()
    forger = Forger(fresh)
    forger.record = [forger.record[0], forger.record[-1]]
    forger.record[-1]["body"].update(complete=False, reason="infrastructure")
    forger.of("run.end")["body"]["status"] = "incomplete"
    forger.recount()
    forger.sign()
    stranger = SmallProject(fresh.root, fresh.root.parent / "stranger")
    said = stranger("gate", "latest", "--model", "good", "--no-append")
    assert said.code == 1
    assert "INCONCLUSIVE" in said.out
    assert "0 of 8 trials" in said.out


def test_gate_on_a_record_that_claims_to_be_complete_without_results_is_untrusted(fresh: SmallProject) -> None:
    """G01: the same record that says it is complete is a finding."""
    fresh.run()
    forger = Forger(fresh)
    forger.record = [forger.record[0], forger.record[-1]]
    forger.recount()
    forger.sign()
    stranger = SmallProject(fresh.root, fresh.root.parent / "stranger")
    assert "MATRIX-INCOMPLETE" in stranger.codes()
    assert stranger("gate", "latest", "--model", "good", "--no-append").code == 3


def test_gate_without_any_run_is_a_usage_error(fresh: SmallProject) -> None:
    """No trial run is never 0."""
    assert fresh("gate", "latest").code == 2
    assert fresh("keys", "new", "small").code == 0
    assert fresh("ledger", "init", "small").code == 0
    said = fresh("gate", "latest")
    assert said.code == 2
    assert "no run has been started" in said.err


# --------------------------------------------------------------------------------------------- G03: every trial errors


@pytest.mark.parametrize("retries", [0, 1])
def test_gate_on_a_record_in_which_every_trial_is_an_error_is_inconclusive(tmp_path: Path, retries: int) -> None:
    """G03: twenty errors are neither twenty passes nor none: exit 1, inconclusive, and the number is told."""
    count = len(vector("record_all_error.json")["results"])
    cases, _ = numbered(0, count)
    retry = f"retry: {{max_retries: {retries}, initial_delay_s: 0, max_delay_s: 0}}"
    model = f'  m: {{runner: stand-in, answers: {{"*": {{error: transport}}}}, {retry}}}'
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1), cases)
    project.run(expect=4)
    said = project("gate", "latest")
    assert said.code == 1
    assert "INCONCLUSIVE" in said.out
    assert f"{count} unknown" in said.out
    assert project.codes() == set()


def test_pipeline_can_tell_inconclusive_from_rejected_and_neither_is_ever_accepted(tmp_path: Path) -> None:
    """Three decisions, and exit 0 for one: `--exit-inconclusive N` parts the other two, and N is never 0."""
    model = '  m: {runner: stand-in, answers: {"*": {error: transport}}, retry: {max_retries: 0}}'
    lost = SmallProject.write(tmp_path / "lost", plan_text(model, repeats=1))
    lost.run(expect=4)
    assert lost("gate", "latest").code == 1
    assert lost("gate", "latest", "--exit-inconclusive", "75").code == 75
    assert lost("gate", "latest", "--exit-inconclusive=125", "--json").code == 125
    for code in ("0", "00", "126", "-1", "x", "1.5", "", "\u0661"):
        said = lost("gate", "latest", f"--exit-inconclusive={code}")
        assert said.code == 2, code
        assert "from 1 to 125; 0 is for accepted alone" in said.err
    wrong = SmallProject.write(tmp_path / "wrong", plan_text("  m: {runner: stand-in, answers: [wrong]}", repeats=1))
    wrong.run()
    assert wrong("gate", "latest", "--exit-inconclusive", "75").code == 1
    right = SmallProject.write(tmp_path / "right", plan_text("  m: {runner: stand-in, answers: [Paris 4 blue 8]}"))
    right.run()
    assert right("gate", "latest", "--exit-inconclusive", "75").code == 0


@pytest.mark.parametrize("policy", ["bound", "zero", "exclude"])
def test_errors_everywhere_never_accept_under_any_policy(tmp_path: Path, policy: str) -> None:
    """G03: with few cases, so that the run is not stopped early, no error policy accepts a record of errors only."""
    model = '  m: {runner: stand-in, answers: {"*": {error: transport}}, retry: {max_retries: 0}}'
    plan = plan_text(model, repeats=1).replace("pass_mark:\n", f"pass_mark:\n  errors: {policy}\n")
    project = SmallProject.write(tmp_path, plan)
    project.run(expect=4)
    said = project("gate", "latest", "--json")
    assert said.code == 1
    assert said.json["decision"]["decision"] == ("rejected" if policy == "zero" else "inconclusive")


# ------------------------------------------------------------------------------------------- G04: a metric not measured


def test_rule_about_a_metric_that_nobody_measures_is_refused_with_those_there_are(fresh: SmallProject) -> None:
    """G04: a mark on "grounded" where only "correct" is measured is exit 2 and lists what there is."""
    metric = next(iter(vector("record_missing_metric.json")["pass_mark"]["floors"]))
    fresh.set_plan(plan_text(rules=f"    - {{id: g, at_least: 0.95, of: {metric}, basis: estimate}}\n"))
    said = fresh("run", "--yes")
    assert said.code == 2
    assert metric in said.err
    assert "correct" in said.err
    assert nothing_was_made(fresh)


def test_metric_measured_on_three_of_ten_cases_cannot_decide(tmp_path: Path) -> None:
    """G04: where seven of ten cells are unknown the rule is inconclusive, though the three are perfect."""
    results = vector("record_missing_metric.json")["results"]
    rows = "".join(f"{item['case_id']},Which number has case {item['case_id']}?,right,\n" for item in results)
    script = {i["case_id"]: "right" if "grounded" in i["metrics"] else {"error": "transport"} for i in results}
    models = (
        f"  perfect-model: {{runner: stand-in, answers: {json.dumps(script)}, "
        "retry: {max_retries: 0, initial_delay_s: 0, max_delay_s: 0}}"
    )
    plan = plan_text(models, repeats=1, mark="0.95").replace("correct", "grounded")
    project = SmallProject.write(tmp_path, plan + "run: {concurrency: 1}\n", "id,input,reference,tags\n" + rows)
    project.run(expect=4)
    said = project("gate", "latest", "--model", "perfect-model")
    assert said.code == 1
    assert "INCONCLUSIVE" in said.out
    assert "7 unknown" in said.out
    table = next(line for line in project("report").out.splitlines() if line.startswith("perfect-model"))
    assert "over 3 of 10" in table


def test_rule_where_no_case_is_selected_is_refused(fresh: SmallProject) -> None:
    """G04: a rule about cases that do not exist can never be met, and is refused before anything."""
    fresh.set_plan(plan_text(rules="    - {id: none, must_pass: {tag: nosuch}, require: all}\n"))
    assert fresh("run", "--yes").code == 2
    assert nothing_was_made(fresh)


# ------------------------------------------------------------------------------------------------- G05: mistyped model


@pytest.mark.parametrize("name", ["perfct-model", "PERFECT-MODEL", "", "perfect", "perfect-model/nosuch", "*"])
def test_mistyped_model_at_the_gate_is_a_usage_error_that_lists_the_models(tmp_path: Path, name: str) -> None:
    """G05: a name that is no configuration is exit 2, with those there are; never "no failures for this model"."""
    there = vector("record_missing_metric.json")["models"]
    project = SmallProject.write(tmp_path, plan_text(f"  {there[0]}: {{runner: stand-in, answers: [Paris 4 blue 8]}}"))
    project.run()
    said = project("gate", "latest", "--model", name)
    assert said.code == 2
    assert there[0] in said.err
    assert "ACCEPTED" not in said.out
    assert project("gate", "latest", "--model", there[0]).code == 0


def test_gate_without_a_model_among_several_is_a_usage_error(finished: SmallProject) -> None:
    """Which of two configurations is meant is never guessed."""
    said = finished("gate", "latest")
    assert said.code == 2
    assert "good, bad" in said.err


@pytest.mark.parametrize("run", ["nosuch", "2", "runs/nosuch", "latests", "../project/runs", ""])
def test_gate_on_a_run_that_is_not_there_or_not_one_is_a_usage_error(fresh: SmallProject, run: str) -> None:
    """A mistyped or ambiguous run is exit 2."""
    fresh.run()
    fresh.run()
    assert fresh("gate", run, "--model", "good").code == 2


# ------------------------------------------------------------------------------------------------ G06, G07: arithmetic


def test_value_just_below_the_mark_is_rejected_and_does_not_look_equal_to_it(tmp_path: Path) -> None:
    """G06: 1899 of 2000 is 0.9495, below 0.95, in the decision and in what is shown."""
    case = vector("gate_rounding.json")
    cases, model = numbered(case["passed"], case["of"])
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1, mark=str(case["min"])), cases)
    project.run()
    said = project("gate", "latest")
    assert said.code == 1
    assert f"correct at least {case['min']}: {case['shown']} over" in said.out
    assert case["shown"] in project("report").out


@pytest.mark.parametrize(
    ("passed", "of", "mark", "shown"),
    [(299_99, 300_00, "1", "0.99997"), (2, 3, "0.6667", "0.66667"), (2, 3, "0.66667", "0.666667")],
)
def test_value_below_the_mark_is_shown_with_as_many_digits_as_it_takes(
    passed: int, of: int, mark: str, shown: str
) -> None:
    """G06: no rounding makes a failing value look like its mark."""
    text = decimal_text(Fraction(passed, of), Fraction(mark))
    assert text.startswith(shown[:6])
    assert Fraction(text) != Fraction(mark)


@pytest.mark.parametrize(
    "case",
    [c for c in vector("gate_boundary.json") if "values" in c],
    ids=lambda c: f"{c['values'][0]} x {len(c['values'])} vs {c['min']}",
)
def test_mean_exactly_on_the_mark_passes_and_just_above_fails(tmp_path: Path, case: dict[str, Any]) -> None:
    """G07: means that binary floats get wrong are compared exactly: 0.95 against 0.95 holds, 0.7 against 0.70001 not."""
    cells = 20 * len(case["values"])
    passed = int(Decimal(str(case["values"][0])) * cells)
    cases, model = numbered(passed, cells)
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1, mark=str(case["min"])), cases)
    project.run()
    assert project("gate", "latest").code == (0 if case["expect"] == "pass" else 1)
    assert project.codes() == set()


@pytest.mark.parametrize(
    ("passed", "of", "mark", "code"),
    [
        (19, 20, "0.95", 0),
        (18, 20, "0.95", 1),
        (7, 10, "0.7", 0),
        (7, 10, "0.700000000001", 1),
        (1, 3, "0.333333333333", 0),
        (1, 3, "0.333333333334", 1),
        (3, 3, "1", 0),
        (0, 3, "0", 0),
    ],
)
def test_boundary_is_inclusive_and_exact(tmp_path: Path, passed: int, of: int, mark: str, code: int) -> None:
    """G07: the mark itself is enough, and one part in a trillion less is not."""
    cases, model = numbered(passed, of)
    project = SmallProject.write(tmp_path, plan_text(model, repeats=1, mark=mark), cases)
    project.run()
    assert project("gate", "latest").code == code


def test_run_report_gate_and_verify_say_the_same(finished: SmallProject) -> None:
    """G07: there is one place that decides: report, gate and the stated decision agree to the last digit."""
    gate = finished("gate", "latest", "--model", "good", "--no-append").out.splitlines()
    report = finished("report").out.splitlines()
    assert [line for line in gate if "rule " in line] == [line for line in report if "rule " in line][:2]
    assert finished.status("V19") == "PASS"


# ------------------------------------------------------------------------------------------------ G12: noise, in words


def test_report_gives_ranges_and_counts_and_no_verdict_without_a_rule(tmp_path: Path) -> None:
    """G12: three repeats are shown with their range; words of a verdict come from rules alone."""
    case = vector("gate_noise.json")
    cases, _ = numbered(0, 10)

    def script(rates: list[float]) -> str:
        return json.dumps(
            {f"n{n}": ["right" if n < round(rate * 10) else "wrong" for rate in rates] for n in range(10)}
        )

    models = f"  best: {{runner: stand-in, answers: {script(case['best'])}}}\n  candidate: {{runner: stand-in, answers: {script([0.8, 0.9, 0.9])}}}"
    project = SmallProject.write(tmp_path, plan_text(models, repeats=3, mark="0.85"), cases)
    project.run()
    said = project("report").out
    assert "0.9000 [0.8000..1.0000]" in said
    assert "0.8667 [0.8000..0.9000]" in said
    assert "over 30 cells of 10 cases" in said
    assert "a range says nothing about other cases" in said
    for word in ("regress", "significant", "worse", "better"):
        assert word not in said.lower()
    assert project("gate", "latest", "--model", "candidate").code == 0


def test_estimate_says_what_one_case_weighs(fresh: SmallProject) -> None:
    """G12: before anything is spent, a person is told how coarse so few cases are."""
    said = fresh("run").out
    assert "one case of 4 weighs 25.0 points" in said
    assert nothing_was_made(fresh)


def test_comparison_is_never_accepted(tmp_path: Path) -> None:
    """A model with role: comparison counts as a rival; a gate on it is not 0, however good it is."""
    models = (
        "  candidate: {runner: stand-in, answers: [Paris 4 blue 8]}\n"
        "  rival: {runner: stand-in, answers: [Paris 4 blue 8], role: comparison}"
    )
    project = SmallProject.write(tmp_path, plan_text(models))
    project.run()
    assert project("gate", "latest", "--model", "candidate").code == 0
    assert project("gate", "latest", "--model", "rival").code in (1, 2)


# --------------------------------------------------------------------------------------- T16: limits depend on the host


def test_time_limit_stands_in_the_plan_and_what_it_ended_is_counted_apart(tmp_path: Path) -> None:
    """T16: a slow host fails what a fast one passes: the limit is in the plan, the timeouts are counted, it is said."""
    slow = "  m: {runner: command, shell: 'sleep 20', subject: slow 1, limits: {attempt_timeout_s: 0.05}, "
    project = SmallProject.write(tmp_path, plan_text(f"{slow}retry: {{max_retries: 0}}}}", repeats=1))
    project.run()
    plan = json.loads((project.last / "plan.json").read_bytes())
    assert plan["configurations"][0]["limits"]["attempt_timeout_ms"] == 50
    said = project("report").out
    assert "m: 4 trials ended by a time limit: results may depend on the machine" in said
    assert "failed (timeout): m q1 repeat 1" in said
    project.set_plan(plan_text().replace("repeats: 2", "repeats: 1"))
    project.run()
    assert "a time limit" not in project("report").out
