# SPDX-License-Identifier: Apache-2.0
"""The whole pass mark language: what it becomes in a plan, and every mark that nothing proves or no run could meet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trialplate.errors import SpecError
from trialplate.record.values import Baseline, JudgeEvidence, PassMark, Rule, Selector, Stop
from trialplate.rules.bounds import fewest_cases
from trialplate.spec import later, problems, yaml_strict
from trialplate.spec.document import Document
from trialplate.spec.freeze import Frozen, freeze
from trialplate.spec.mark_quantities import quantity_text
from trialplate.spec.models import AuthorPlan
from trialplate.spec.project import load_project

Write = Callable[..., Path]
WHOLE = Path(__file__).parents[2] / "vectors" / "author" / "whole_language.json"
BASELINE = Baseline(
    run_id="20261101T090000000Z-1a2b3c4d", size=7, root="sha256:" + "a" * 64, test_set="sha256:" + "b" * 64
)
HEAD = """\
trialplate: 1
name: small
test_sets: [{file: cases/a.csv}]
models:
  echo: {runner: stand-in, answers: {"*": "yes"}, pricing: free}
MORE
repeats: 2
scorers:
  right: {type: exact}
  label: {type: label}
pass_mark:
"""
SECOND = '  other: {runner: stand-in, answers: {"*": "no"}, pricing: free}'
COMPARED = '  other: {runner: stand-in, answers: {"*": "no"}, pricing: free, role: comparison}'


def cases_text(number: int) -> str:
    """Return so many questions, every second one tagged."""
    rows = (
        f"q{n},question {n},{'yes' if n % 3 else 'no'},{'even' if n % 2 == 0 else ''},{n // 2}" for n in range(number)
    )
    return "id,input,reference,tags,source\n" + "".join(f"{row}\n" for row in rows)


def frozen(
    project_at: Write,
    mark: str,
    cases: int = 10,
    second: str = "",
    *,
    head: tuple[str, str] = ("", ""),
    files: str | None = None,
    baseline: Baseline | None = None,
) -> Frozen:
    """Return the plan with this mark over so many cases."""
    plan = HEAD.replace("\nMORE", f"\n{second}" if second else "").replace(*head)
    made = project_at(plan + mark, {"cases/a.csv": files or cases_text(cases)})
    return freeze(load_project(made), b"s" * 32, baseline=baseline)


def mark_of(project_at: Write, mark: str, cases: int = 10, second: str = "", **more: Any) -> PassMark:
    """Return the pass mark of that plan."""
    return frozen(project_at, mark, cases, second, **more).plan.pass_mark


def refused(project_at: Write, mark: str, cases: int = 10, second: str = "", **more: Any) -> SpecError:
    """Return the error that the plan ends in."""
    with pytest.raises(SpecError) as caught:
        frozen(project_at, mark, cases, second, **more)
    return caught.value


# ------------------------------------------------------------------------------------------------------- the language


def test_mark_of_the_whole_language_parses_and_resolves() -> None:
    """Every key of the reference's example, and every further form, becomes a mark of a plan."""
    whole = yaml_strict.load(WHOLE.read_bytes(), WHOLE.name).value
    small = {
        "trialplate": 1,
        "name": "small",
        "test_sets": [{"file": "a.csv"}],
        "models": {"m": {"runner": "stand-in", "answers": {"*": "yes"}}},
        "repeats": 3,
        "scorers": {"right": {"type": "exact"}},
    }
    mark = {**whole["pass_mark"]}
    mark["rules"] = [rule for rule in mark["rules"] if rule["id"] != "agents"]  # which is about workspaces
    document = Document("plan.yaml", {**small, "pass_mark": mark})
    found, remaining = later.refuse(document)
    made = problems.validated(AuthorPlan, document, remaining, found)
    assert found == []
    assert made is not None
    resolved = made.pass_mark.resolved(BASELINE)
    assert [rule.of for rule in resolved.rules if rule.of] == [
        "correct",
        "grounded",
        "correct",
        "macro_f1:label",
        "share:wall_s:8",
        "correct",
        "pass_hat:3",
        "p95:latency_s",
        "cost:per_passed",
        "tokens:per_trial",
        "accuracy:label",
        "agreement:judge",
        "correct",
        "correct",
    ]
    assert {rule.id: rule.basis for rule in resolved.rules if rule.basis == "bound"}.keys() == {
        "correct",
        "fast",
        "not-worse",
        "right-labels",
        "judge-agrees",
        "corrected",
        "better",
    }
    assert [(rule.id, rule.any_of) for rule in resolved.alternatives] == [
        ("either.1", ()),
        ("both-ways", ("both-ways.1", "both-ways.2")),
        ("both-ways.1", ()),
        ("both-ways.2", ()),
    ]
    assert resolved.evidence.judge == JudgeEvidence(scorer="judge", graded=50, agreement="0.8")
    assert resolved.attempts.spend and resolved.baseline == BASELINE
    assert resolved.stop == Stop(mode="counts", rule="correct", accept=(-1, -1, 0), reject=(1, 2, 2))
    assert (resolved.confidence, resolved.family, resolved.over, resolved.unit) == ("0.95", "each", "cases", "case")
    assert resolved.choose is not None and (resolved.choose.keep, resolved.choose.basis) == ("haiku", "bound")


def test_bound_is_what_a_rule_and_a_choice_are_without_basis(project_at: Write) -> None:
    """An author who writes nothing gets what the cases show; what takes no basis has none."""
    mark = mark_of(
        project_at,
        "  choose: {by: best, of: right, within: 0.2}\n"
        "  rules: [{id: a, at_least: 0.5, of: right}, {id: b, at_most: 0.5, of: error_rate}, {id: c, must_pass: all},"
        " {id: d, at_least: 0.5, of: right, basis: estimate}, {id: e, not_worse_than: other, by: 0.5, of: right}]\n",
        second=SECOND,
    )
    assert [rule.basis for rule in mark.rules] == ["bound", "bound", "estimate", "estimate", "bound"]
    assert mark.choose is not None and mark.choose.basis == "bound"


def test_null_in_a_boundary_is_none_that_any_count_could_meet(project_at: Write) -> None:
    """-1 failures accept never, and one more than the cases so far reject never."""
    stop = "  attempts: {max: 1}\n  stop: {mode: counts, rule: p, accept: [null, null, null, null, 0], reject: [null, 2, null, 4, 1]}\n"
    mark = mark_of(project_at, stop + "  rules: [{id: p, at_least: 0.5, of: case_pass_rate}]\n")
    assert mark.stop == Stop(mode="counts", rule="p", accept=(-1, -1, -1, -1, 0), reject=(2, 2, 4, 4, 1))


def test_stop_of_mode_none_is_no_stop(project_at: Write) -> None:
    """Nothing of it stands in the plan."""
    assert mark_of(project_at, "  stop: {mode: none}\n  rules: [{id: a, must_pass: all}]\n").stop is None


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("{share: wall_s, at_most: 8.0}", "share:wall_s:8"),
        ("{share: cost, at_most: '0.02'}", "share:cost:0.02"),
        ("{p50: tokens}", "p50:tokens"),
        ("{p99: cost}", "p99:cost"),
        ("{cost: total}", "cost:total"),
        ("{tokens: per_case}", "tokens:per_case"),
        ("{accuracy: label}", "accuracy:label"),
        ("{macro_f1: label}", "macro_f1:label"),
        ("{pass_at: 2}", "pass_at:2"),
        ("{agreement: judge}", "agreement:judge"),
        ("right", "right"),
    ],
)
def test_quantity_has_one_text(of: str, text: str) -> None:
    """Equal quantities are one text, so that equal marks have equal digests."""
    rule = f"trialplate: 1\npass_mark: {{rules: [{{id: a, at_least: 0, of: {of}}}]}}\n"
    entry = yaml_strict.load(rule.encode(), "plan.yaml").value["pass_mark"]
    from trialplate.spec.marks import MarkEntry

    (made,) = MarkEntry.model_validate(entry).rules
    assert quantity_text(made.of) == text  # type: ignore[union-attr]


def test_amounts_may_be_above_one_and_shares_may_not(project_at: Write) -> None:
    """Seconds, tokens and money are no shares."""
    amounts = "{id: a, at_most: 12.5, of: {p95: wall_s}, basis: estimate}, {id: b, at_least: 2, of: {tokens: total}, basis: estimate}"
    rules = mark_of(project_at, f"  rules: [{amounts}]\n").rules
    assert [(rule.at_most, rule.at_least) for rule in rules] == [("12.5", None), (None, "2")]
    error = refused(project_at, "  rules: [{id: a, at_most: 2, of: right}]\n")
    assert "share between 0 and 1" in error.message


def test_reference_is_resolved_as_that_of_a_choice(project_at: Write) -> None:
    """By the model's name, where it has one profile; `baseline` is nobody's name."""
    rules = "  rules: [{id: a, not_worse_than: other, by: -0, of: right, basis: estimate}]\n"
    profiles = ("repeats: 2", "profiles: {a: {}, b: {}}\nmatrix: [{models: [echo, other], profiles: [b]}]\nrepeats: 2")
    mark = mark_of(project_at, rules, second=SECOND, head=profiles)
    assert (mark.rules[0].not_worse_than, mark.rules[0].by) == ("other/b", "0")


def test_baseline_comes_in_from_whoever_reads_the_ledger(project_at: Write) -> None:
    """It is in the mark where a rule compares with it, and no part of it elsewhere."""
    rules = "  rules: [{id: a, no_regressions: baseline, allow: [q1, q1], where: {tag: even}}]\n"
    mark = mark_of(project_at, rules, baseline=BASELINE)
    assert mark.baseline == BASELINE
    assert mark.rules == (Rule(id="a", no_regressions="baseline", allow=("q1",), where=Selector(tag=("even",))),)
    assert mark_of(project_at, "  rules: [{id: a, must_pass: all}]\n", baseline=BASELINE).baseline is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(
    confidence=st.decimals("0.51", "0.99", places=2),
    threshold=st.decimals("0", "0.4", places=3),
    over=st.sampled_from(["cases", "this_set"]),
    unit=st.sampled_from(["case", "meta.source"]),
    each=st.sampled_from(["", ", each: configuration"]),
)
def test_resolving_is_deterministic(
    project_at: Write, confidence: object, threshold: object, over: str, unit: str, each: str
) -> None:
    """The same files and the same secret give the same bytes."""
    mark = (
        f"  confidence: {confidence}\n  over: {over}\n  unit: {unit}\n"
        f"  rules: [{{id: a, at_least: {threshold}, of: right{each}}}, {{id: e, any_of: [{{must_pass: all}}, {{at_most: 1, of: right}}]}},"
        " {id: f, at_least: 0.1, of: {macro_f1: label}, basis: estimate}]\n"
    )
    first, second = frozen(project_at, mark, 30), frozen(project_at, mark, 30)
    assert (first.raw, first.openings) == (second.raw, second.openings)


# ---------------------------------------------------------------------------------------------------------- refusals

RULE = "{id: a, at_least: 0.5, of: right}"
PASSES = "{id: a, at_least: 0.5, of: case_pass_rate}"


@pytest.mark.parametrize(
    ("mark", "where", "words", "hint"),
    [
        ("confidence: 0.5", "11:15", "above 0.5 and below 1", "0.95"),
        ("confidence: 1", "11:15", "above 0.5 and below 1", "0.95"),
        ("over: set", "11:9", "one of cases, this_set", "known here"),
        ("unit: source", "11:9", "expected form", "meta.KEY"),
        ("unit: meta.sorce", "a.csv:2", 'has no "sorce" in meta', "meta.source"),
        ("confidence: 95%", "11:15", "not negative", "0.95"),
        ("attempts: 3", "11:13", "mapping", "attempts: {max: 2}"),
        ("evidence: {complete: {at_least: 0.9}}", "11:24", "not negative", "complete: 0.95"),
        ("choose: {by: best, of: right, tie_break: cost}", "11:44", "expected a list", "tie_break: [cost, latency"),
        ("choose: {by: best}", "11:11", '"of" is missing', "trial_pass_rate or case_pass_rate"),
        ("choose: {of: right}", "11:11", '"by" is missing', "add by: cheapest, best or fastest"),
        ("family: all", "11:11", "one of plan, each", "known here"),
        ("attempts: {spend: 1}", "11:21", "true or false", "write true or false"),
        ("evidence: {judge: {scorer: right, agreement: {at_least: 0.8}}}", "11:30", 'no judge "right"', "type judge"),
        ("evidence: {judge: {scorer: j}}", "11:21", '"agreement" is missing', "{at_least: 0.80}"),
        ("evidence: {judge: {scorer: j, graded: 3, agreement: {at_least: 1}}}", "11:41", "mapping", "{at_least: 50}"),
        ("stop: {mode: seal}", "11:9", "one of none, sealed and counts", "mode: sealed"),
        ("stop: {mode: counts, rule: a, reject: [1]}", "11:9", '"accept" is missing', "after each case"),
        ("stop: {mode: counts, rule: a, accept: [x], reject: [1]}", "11:42", "whole number", "digits"),
        ("stop: {mode: sealed, rule: a}", "11:24", 'unknown key "rule"', ""),
        ("baseline: {record: runs/1}", "11:13", "no rule compares with a baseline", "no_regressions"),
        ("baseline: runs/1", "11:13", "mapping", "{record: runs/RUN_ID}"),
        ("choose: {by: best, of: right, within: 0.5, keep: ecko}", "11:52", 'no "ecko" to keep', "echo"),
        ("choose: {by: best, of: {p95: wall_s}}", "11:26", "choose compares shares of cases", "metric"),
        ("choose: {by: best, of: {pass_hat: 2}}", "11:3", "no bound of a difference of pass_hat:2", "estimate"),
        ("declared_usage: accept", "11:19", "there is no choose", "add choose:"),
    ],
)
def test_mistake_of_a_mark_is_told_at_its_key(project_at: Write, mark: str, where: str, words: str, hint: str) -> None:
    """Place, what is wrong, one thing to do."""
    error = refused(project_at, f"  {mark}\n  rules: [{RULE}]\n", 30)
    assert words in error.message
    assert hint in error.hint
    assert error.where.endswith(f":{where}") or error.where.endswith(where), error


@pytest.mark.parametrize(
    ("rule", "column", "words", "hint"),
    [
        ("{id: a, at_least: 0.5}", 11, 'key "of" is missing', "metric"),
        ("{id: a, at_least: 0.5, of: right, range: [0, 5]}", 45, "metric lies between 0 and 1", "scorer of your own"),
        ("{at_least: 0.5, of: right}", 11, 'key "id" is missing', "give the rule an id"),
        ("{id: a, at_least: 0.5, at_most: 1, of: right}", 11, "exactly one of at_least", "write"),
        ("{id: a, at_leest: 0.5, of: right}", 19, 'unknown key "at_leest"', "at_least"),
        ("{id: a, at_least: 0.5, of: {share: wall_s}}", 38, "within a limit", "at_most: 8"),
        (
            "{id: a, at_least: 0.5, of: {cost: total, at_most: 3}, basis: estimate}",
            38,
            "limit of a share",
            "beside of:",
        ),
        ("{id: a, at_least: 0.5, of: pass_hat}", 38, "no scorer gives", "write of: {pass_hat: 3}"),
        ("{id: a, at_most: 0.5, of: latency_s}", 37, "no scorer gives", "write of: {p95: latency_s}"),
        ("{id: a, at_most: 5, of: latency_s}", 28, "a share between 0 and 1", "write of: {p95: latency_s}"),
        ("{id: a, at_least: 0.5, of: share}", 38, "no scorer gives", "{share: wall_s, at_most: 8}"),
        ("{id: a, at_least: 90%, of: right}", 29, "not negative", "without a unit or a percent sign"),
        ("{id: a, at_most: 0.5, of: {share: wall_s, at_most: 8s}}", 62, "not negative", "without a unit"),
        ("{id: a, not_worse_than: other, by: 3%, of: right}", 46, "between -1 and 1", "0.03"),
        (
            "{id: a, at_least: 1, of: right}",
            11,
            "no number of cases shows that",
            "lower the mark, or write basis: estimate",
        ),
        ("{id: a, at_least: 0.5, of: {}}", 38, "exactly one kind", "pass_hat"),
        ("{id: a, at_least: 0.5, of: {shere: wall_s}}", 39, 'unknown key "shere"', "share"),
        ("{id: a, at_least: 0.5, of: {share: wall, at_most: 8}}", 46, "one of wall_s", "wall_s"),
        ("{id: a, at_least: 0.5, of: {p95: wall_s}}", 11, "no bound of p95:wall_s", "basis: estimate"),
        ("{id: a, at_least: 0.5, of: {macro_f1: label}}", 11, "no bound of macro_f1:label", "basis: estimate"),
        ("{id: a, at_least: 0.5, of: {cost: total}}", 11, "no bound of cost:total", "basis: estimate"),
        ("{id: a, at_least: 0.5, of: {tokens: total}}", 11, "no bound of tokens:total", "basis: estimate"),
        ("{id: a, at_least: 0.5, of: {pass_at: 2}}", 11, "no bound of pass_at:2", "basis: estimate"),
        ("{id: a, at_least: 0.5, of: {pass_hat: 1}}", 11, "every case has so many repeats", "basis: estimate"),
        ("{id: a, at_least: 0.5, of: {accuracy: right}}", 38, 'no scorer of type label gives "right"', "label"),
        ("{id: a, at_least: 0.5, of: {agreement: right}}", 38, 'no judge "right"', "add a scorer of type judge"),
        ("{id: a, at_least: 0.5, of: right, correct_for_judge: true}", 64, 'no judge gives "right"', "one judge"),
        ("{id: a, not_worse_than: other, of: right}", 11, 'key "by" is missing', "0.03"),
        ("{id: a, not_worse_than: other, by: 2, of: right}", 46, "between -1 and 1", "0.03"),
        ("{id: a, not_worse_than: othr, by: 0.1, of: right}", 35, 'no "othr" to compare with', "other"),
        ("{id: a, not_worse_than: other, by: 0.1, of: error_rate}", 55, "better the higher it is", "another"),
        (
            "{id: a, not_worse_than: other, by: 0.1, of: {p50: wall_s}, basis: estimate}",
            55,
            "case by case",
            "another quantity",
        ),
        ("{id: a, not_worse_than: other, by: 0.1, of: {pass_hat: 2}}", 11, "no bound of pass_hat:2", "estimate"),
        ("{id: a, not_worse_than: baseline, by: 0.1, of: right}", 35, "there is none", "trialplate baseline set RUN"),
        ("{id: a, no_regressions: baseline}", 35, "there is none", "baseline: {record: runs/RUN_ID}"),
        ("{id: a, no_regressions: other}", 35, "expected baseline", "no_regressions: baseline"),
        ("{id: a, any_of: [{must_pass: all}]}", 27, "at least 2", "any_of"),
        ("{id: a, any_of: [{must_pass: all}, {must_pas: all}]}", 47, 'unknown key "must_pas"', "must_pass"),
        ("{id: a, any_of: [{id: a, must_pass: all}, {must_pass: all}]}", 33, 'two rules have the id "a"', "rename"),
        ("{id: a, any_of: [{at_least: 0.5, of: rigth}, {must_pass: all}]}", 48, 'no scorer gives "rigth"', "right"),
        ("{id: a, any_of: [{at_least: 0.5, of: {p95: cost}}, {must_pass: all}]}", 28, "no bound of p95:cost", ""),
    ],
)
def test_mistake_of_a_rule_is_told_at_its_key(project_at: Write, rule: str, column: int, words: str, hint: str) -> None:
    """Place, what is wrong, one thing to do; those of a member at the member."""
    error = refused(project_at, f"  rules: [{rule}]\n", 40, SECOND)
    assert words in error.message
    assert hint in error.hint
    assert error.where.endswith(f":12:{column}"), error


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("at_least: 0.5, of: error_rate, basis: estimate", "better the lower it is: did you mean at_most?"),
        ("at_least: 3, of: {p95: wall_s}, basis: estimate", "better the lower it is: did you mean at_most?"),
        ("at_least: 3, of: {cost: total}, basis: estimate", "better the lower it is: did you mean at_most?"),
        ("at_most: 0.5, of: trial_pass_rate", "better the higher it is: did you mean at_least?"),
        ("at_most: 0.5, of: {pass_hat: 1}, basis: estimate", "better the higher it is: did you mean at_least?"),
        ("at_most: 0.5, of: {share: wall_s, at_most: 8}", "better the higher it is: did you mean at_least?"),
        ("at_most: 0.5, of: right", ""),
        ("at_most: 0.5, of: error_rate", ""),
        ("at_most: 3, of: {tokens: total}, basis: estimate", ""),
        ("at_least: 0.5, of: {share: wall_s, at_most: 8}", ""),
    ],
)
def test_rule_that_asks_for_the_worse_is_warned_of(project_at: Write, rule: str, told: str) -> None:
    """Where it is known which way is better; of a metric nobody knows."""
    warnings = frozen(project_at, f"  rules: [{{id: a, {rule}}}]\n", 30, SECOND).warnings
    assert any("did you mean" in item and told in item for item in warnings) == bool(told), warnings


@pytest.mark.parametrize(
    ("stop", "rule", "words"),
    [
        (
            "{mode: sealed}",
            "{id: a, at_most: 5, of: {p95: wall_s}, basis: estimate}",
            "more right answers may make it worse",
        ),
        ("{mode: sealed}", "{id: a, at_least: 0, of: {macro_f1: label}, basis: estimate}", "cannot be sealed by it"),
        ("{mode: sealed}", "{id: a, at_most: 5, of: {cost: per_passed}, basis: estimate}", "cannot be sealed by it"),
        ("{mode: sealed}", "{id: a, at_most: 5, of: {tokens: total}, basis: estimate}", "cannot be sealed by it"),
        ("{mode: counts, rule: b, accept: [0], reject: [1]}", PASSES, "decide a rule of the mark"),
        ("{mode: counts, rule: a, accept: [0], reject: [1]}", RULE, "a rule at_least of case_pass_rate"),
        ("{mode: counts, rule: a, accept: [0], reject: [1]}", PASSES.replace("least", "most"), "a rule at_least"),
        ("{mode: counts, rule: a, accept: [0], reject: [1]}", PASSES.replace("}", ", each: tag}"), "without each"),
        ("{mode: counts, rule: a, accept: [0], reject: [1, 1]}", PASSES, "as long as each other"),
        ("{mode: counts, rule: a, accept: [null, 1], reject: [null, 1]}", PASSES, "after case 2"),
        ("{mode: counts, rule: a, accept: [null, null, null, 0], reject: [1, 1, 1, 1]}", PASSES, "0.0625 of runs"),
    ],
)
def test_stop_that_could_turn_a_decision_is_refused(project_at: Write, stop: str, rule: str, words: str) -> None:
    """Sealing needs what every answer moves one way, counts a table that keeps the rule's alpha, worked out exactly."""
    attempts = "" if "sealed" in stop else "  attempts: {max: 1}\n"
    error = refused(project_at, f"  stop: {stop}\n{attempts}  rules: [{rule}]\n")
    assert words in error.message, error
    assert "stop: {mode: none}" in error.hint


def test_table_of_counts_must_hold_at_the_last_attempt(project_at: Write) -> None:
    """Each attempt halves alpha; a table has one error, so the last attempt that is allowed must still be within it."""
    table = "  stop: {mode: counts, rule: a, accept: [null, null, null, null, 0], reject: [1, 1, 1, 1, 1]}\n"
    rules = f"  rules: [{PASSES}]\n"
    assert mark_of(project_at, table + "  attempts: {max: 1}\n" + rules).stop is not None
    for more in (
        "  attempts: {max: 2}\n",
        "  attempts: {max: 1, spend: true}\n",
        "  attempts: {max: 1}\n  confidence: 0.97\n",
    ):
        assert "0.0312 of runs" in refused(project_at, table + more + rules).message
    assert "0.0312 of runs" in refused(project_at, table + "  attempts: {max: 1}\n" + rules, second=SECOND).message
    error = refused(project_at, table + rules)
    assert "attempts.max does not say" in error.message
    assert error.hint == "write attempts: {max: 1}"
    error = refused(project_at, table + "  attempts: {max: 1}\n" + rules, 4)
    assert "5 numbers, and there are 4 cases" in error.message


def test_sealing_by_bounds_needs_few_and_equal_repeats(project_at: Write) -> None:
    """Beyond ten repeats a better answer may lower the bound by a hair."""
    sealed = f"  stop: {{mode: sealed}}\n  rules: [{RULE}]\n"
    many = ("repeats: 2", "repeats: 11")
    assert mark_of(project_at, sealed).stop is not None
    assert "more than 10 repeats" in refused(project_at, sealed, head=many).message
    estimated = sealed.replace("right}", "right, basis: estimate}")
    assert mark_of(project_at, estimated, head=many).stop is not None
    assert "cannot be sealed" in refused(project_at, "  unit: meta.source\n" + sealed).message
    uneven = ("repeats: 2", "repeats: 2\nmatrix: [{models: [echo]}, {models: [echo], cases: {tag: even}, repeats: 3}]")
    rated = sealed.replace("of: right", "of: trial_pass_rate")
    assert "unequal" in refused(project_at, rated, head=uneven).message
    assert mark_of(project_at, sealed, head=uneven).stop is not None


def test_choice_of_the_cheapest_is_hardly_ever_sealed_and_told_so(project_at: Write) -> None:
    """What the last trials cost may still change which one it is."""
    mark = f"  stop: {{mode: sealed}}\n  choose: {{by: cheapest, of: right}}\n  rules: [{RULE}]\n"
    warnings = frozen(project_at, mark, second=SECOND).warnings
    assert any("which one is the cheapest is open to the last trial" in item for item in warnings)


# ------------------------------------------------------------------------------------------------------ reachability


@pytest.mark.parametrize(
    ("mark", "cases", "second", "told"),
    [
        (
            "rules: [{id: correct, at_least: 0.90, of: right}]",
            10,
            "",
            'rule "correct" wants 0.9 with 95 % confidence, and 10 cases can show 0.741 at best: no run could pass; it takes 29 cases',
        ),
        (
            "rules: [{id: correct, at_least: 0.90, of: right}]",
            29,
            SECOND,
            "with 95 % confidence (alpha 0.05 / 2 candidates), and 29 cases can show 0.881 at best: no run could pass; "
            "it takes 36 cases",
        ),
        ("rules: [{id: a, at_most: 0.02, of: error_rate}]", 29, "", "wants at most 0.02 with 95 % confidence"),
        ("rules: [{id: a, at_most: 0.02, of: error_rate}]", 29, "", "it takes 149 cases"),
        ("rules: [{id: a, at_least: 1, of: right}]", 40, "", "no number of cases shows that"),
        ("rules: [{id: a, at_least: 0.7, of: right, each: tag}]", 10, "", "5 cases can show 0.549 at best"),
        ("rules: [{id: a, at_least: 0.7, of: right, where: {tag: even}}]", 10, "", "it takes 9 cases"),
        (
            "over: this_set\n  rules: [{id: a, at_least: 0.9, of: right}]",
            10,
            "",
            "20 trials can show 0.861 at best: no run could pass; it takes 29 trials of these cases",
        ),
        (
            "unit: meta.source\n  rules: [{id: a, at_least: 0.6, of: right}]",
            10,
            "",
            "5 different values of meta.source can show 0.549 at best: no run could pass; it takes 6 different values",
        ),
        (
            "attempts: {spend: true}\n  rules: [{id: a, at_least: 0.8, of: right}]",
            14,
            "",
            "(alpha 0.05 / 2 for the first attempt), and 14 cases can show 0.768",
        ),
        (
            "rules: [{id: e, any_of: [{at_least: 0.9, of: right}, {at_least: 0.8, of: right}]}]",
            10,
            "",
            'rule "e.1" wants 0.9 with 95 % confidence (alpha 0.05 / 2 alternatives)',
        ),
        (
            "rules: [{id: n, not_worse_than: other, by: -0.02, of: right}]",
            4,
            COMPARED,
            'rule "n" allows -0.02 less than other with 95 % confidence, and 4 cases can show -0.054 at best: no run could '
            "pass; it takes 5 cases",
        ),
        (
            "over: this_set\n  rules: [{id: n, not_worse_than: other, by: -0.8, of: right}]",
            4,
            COMPARED,
            "trials of these cases",
        ),
        ("rules: [{id: a, at_least: 0.9, of: {pass_hat: 2}}]", 10, "", "it takes 29 cases"),
        (
            "evidence: {judge: {scorer: j, graded: {at_least: 9}, agreement: {at_least: 1}}}\n  rules: [{id: a, must_pass: all}]",
            10,
            "judge",
            "which no number of graded answers shows",
        ),
        (
            "rules: [{id: a, at_least: 0.9, of: helpful, correct_for_judge: true}]",
            10,
            "judge",
            "no run could pass; it takes",
        ),
    ],
)
def test_mark_that_no_run_could_reach_is_refused_with_what_could(
    project_at: Write, mark: str, cases: int, second: str, told: str
) -> None:
    """The number is of the smallest test set that could, with the error that the bound will have."""
    more: dict[str, Any] = {}
    if second == "judge":
        second, more = "", {"head": JUDGE}
    error = refused(project_at, f"  {mark}\n", cases, second, **more)
    assert told in error.message, error


JUDGE = (
    "scorers:\n",
    "helpers: {h: {runner: anthropic, model: claude-opus-5-5}}\nscorers:\n"
    "  j: {type: judge, model: h, rules: cases/a.csv, metrics: [helpful]}\n",
)


@pytest.mark.parametrize("threshold", ["0.9", "0.8", "0.75", "0.5"])
@pytest.mark.parametrize("second", ["", SECOND])
def test_fewest_cases_that_are_told_are_enough_and_one_less_is_not(
    project_at: Write, threshold: str, second: str
) -> None:
    """The plan with the number that was told is taken."""
    cases = fewest_cases(float(threshold), 0.025 if second else 0.05)
    rules = f"  rules: [{{id: a, at_least: {threshold}, of: right}}]\n"
    assert mark_of(project_at, rules, cases, second).rules
    assert f"it takes {cases} cases" in refused(project_at, rules, cases - 1, second).message


def test_family_each_gives_every_candidate_all_of_alpha(project_at: Write) -> None:
    """29 cases are then enough again."""
    rules = "  rules: [{id: a, at_least: 0.9, of: right}]\n"
    assert "36 cases" in refused(project_at, rules, 29, SECOND).message
    assert mark_of(project_at, "  family: each\n" + rules, 29, SECOND).rules


@pytest.mark.parametrize(
    ("mark", "cases", "second", "told"),
    [
        (
            "rules: [{id: n, not_worse_than: other, by: 0.03, of: right}]",
            40,
            COMPARED,
            'rule "n": a configuration that is equal to its reference passes only from 78 cases on',
        ),
        ("rules: [{id: n, not_worse_than: other, by: 0, of: right}]", 40, COMPARED, "never passes: there is no room"),
        (
            "rules: [{id: e, any_of: [{at_least: 0.9, of: right}, {at_least: 0.5, of: right}]}]",
            10,
            "",
            "it never holds; it takes 36 cases",
        ),
        (
            f"choose: {{by: best, of: right, within: 0.03}}\n  rules: [{RULE}]",
            40,
            SECOND,
            "with 95 % confidence, one that is equal to its rivals passes only from 78 cases on",
        ),
        (
            "choose: {by: best, of: right, within: 0.03}\n  rules: [{id: a, must_pass: all}]",
            2,
            SECOND,
            "2 cases never show with 95 % confidence that one is near enough: nothing is chosen; it takes 5 cases",
        ),
        (
            "evidence: {judge: {scorer: j, graded: {at_least: 9}, agreement: {at_least: 0.8}}}\n  rules: [{id: a, must_pass: all}]",
            10,
            "judge",
            "evidence.judge: an agreement of 0.8 takes 14 graded answers or more, all equal; 9 show 0.717",
        ),
        (
            "rules: [{id: a, at_least: 0.9, of: {agreement: j}}]",
            10,
            "judge",
            'rule "a": an agreement of 0.9 takes 29 graded answers or more, all equal',
        ),
    ],
)
def test_bound_that_hardly_any_run_passes_is_warned_of(
    project_at: Write, mark: str, cases: int, second: str, told: str
) -> None:
    """The plan is made: a run may show something all the same."""
    more: dict[str, Any] = {}
    if second == "judge":
        second, more = "", {"head": JUDGE}
    warnings = frozen(project_at, f"  {mark}\n", cases, second, **more).warnings
    assert any(told in item for item in warnings), warnings


def test_reference_that_is_not_asked_the_same_cases_is_refused(project_at: Write) -> None:
    """Nothing could be told of a difference."""
    lines = "matrix: [{models: [echo]}, {models: [other], cases: {tag: even}}]\nrepeats: 2"
    rules = "  rules: [{id: n, not_worse_than: other, by: 0.5, of: right}]\n"
    error = refused(project_at, rules, second=COMPARED, head=("repeats: 2", lines))
    assert "compares with other, which is asked 5 of its 10 cases: nothing could be told" in error.message


# --------------------------------------------------------------------------------------------------- units and twins

TWINS = "id,input,reference,source\nq1,What  is it?,yes,a\nq2,what is IT? ,yes,a\n" + "".join(
    f"r{n},question {n},yes,b{n}\n" for n in range(9)
)


@pytest.mark.parametrize(
    "mark", [f"rules: [{RULE}]", "rules: [{id: a, must_pass: all}]\n  choose: {by: best, of: right}"]
)
def test_cases_that_ask_the_same_are_refused_under_a_bound(project_at: Write, mark: str) -> None:
    """Fifty copies of one question are one question; white space and the case of letters make no other."""
    error = refused(project_at, f"  {mark}\n", files=TWINS)
    assert 'cases "q1" and "q2" ask the same' in error.message
    assert error.where.endswith("a.csv:3")
    assert "unit: meta.KEY" in error.hint


@pytest.mark.parametrize(
    ("one", "other"), [("caf\u00e9", "cafe\u0301"), ("Stra\u00dfe", "STRASSE"), ("a\u00a0b", "a b")]
)
def test_spelling_makes_no_other_question(project_at: Write, one: str, other: str) -> None:
    """Composed or not, folded, with whatever blanks."""
    files = f"id,input,reference\nq1,{one},yes\nq2,{other},yes\n"
    assert "ask the same" in refused(project_at, f"  rules: [{RULE}]\n", files=files).message


def test_twins_may_be_where_nothing_is_bound_or_where_they_are_one_unit(project_at: Write) -> None:
    """They then count as one, or as the author's estimate has them."""
    assert mark_of(project_at, f"  rules: [{RULE.replace('}', ', basis: estimate}')}]\n", files=TWINS).rules
    plan = frozen(project_at, f"  unit: meta.source\n  rules: [{RULE}]\n", files=TWINS).plan
    first, second, third = plan.test_set.cases[:3]
    assert first.unit == second.unit != third.unit


def test_unit_is_a_commitment_to_the_key_and_what_it_holds(project_at: Write) -> None:
    """The same value is the same unit in every plan of the ledger, and stands nowhere in the open."""
    made = frozen(project_at, f"  unit: meta.source\n  rules: [{RULE}]\n", 20)
    for number, case in enumerate(made.plan.test_set.cases):
        assert made.openings[case.unit or ""].value == ["source", str(number // 2)]
    assert all(case.unit is None for case in frozen(project_at, f"  rules: [{RULE}]\n").plan.test_set.cases)


def test_long_key_of_a_unit_is_no_private_text(project_at: Write) -> None:
    """The mark shows the key, as its author wrote it there."""
    files = cases_text(20).replace("source", "where_it_was_taken_from")
    assert mark_of(project_at, f"  unit: meta.where_it_was_taken_from\n  rules: [{RULE}]\n", files=files).rules


def test_classes_are_numbered_where_a_rule_is_about_macro_f1(project_at: Write) -> None:
    """In the order in which labels come in the test set; without such a rule there are none."""
    rule = "{id: f, at_least: 0.5, of: {macro_f1: label}, basis: estimate}"
    for rules in (rule, f"{{id: e, any_of: [{rule.replace('id: f, ', '')}, {{must_pass: all}}]}}"):
        cases = frozen(project_at, f"  rules: [{rules}]\n", 6).plan.test_set.cases
        assert [dict(case.classes) for case in cases] == [{"label": n} for n in (0, 1, 1, 0, 1, 1)]
    cases = frozen(project_at, "  rules: [{id: f, at_least: 0.1, of: {accuracy: label}}]\n", 6).plan.test_set.cases
    assert not any(case.classes for case in cases)


def test_plan_of_bounds_is_what_a_reader_takes(project_at: Write) -> None:
    """What the author's side lets through, the verifier's side finds nothing wrong with."""
    from trialplate.rules.mark_shape import mark_problems
    from trialplate.rules.shape import plan_problems

    mark = (
        "  unit: meta.source\n  attempts: {spend: true}\n  choose: {by: best, of: right, within: 0.4, keep: echo}\n"
        f"  rules: [{RULE}, {{id: e, any_of: [{{must_pass: all}}, {{at_least: 0.2, of: {{pass_hat: 2}}}}]}},"
        " {id: n, not_worse_than: other, by: 0.5, of: right}, {id: r, no_regressions: baseline}]\n"
    )
    plan = frozen(project_at, mark, 40, SECOND, baseline=BASELINE).plan
    assert list(mark_problems(plan.pass_mark)) == list(plan_problems(plan)) == []
    assert json.loads(WHOLE.read_bytes())["pass_mark"]["rules"]
