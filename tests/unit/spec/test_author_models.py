# SPDX-License-Identifier: Apache-2.0
"""What an author may write, and how what he may not write is told."""

from __future__ import annotations

import pytest
from author_files import PLAN

from trialplate.errors import SpecError
from trialplate.record.values import Selector
from trialplate.spec import later, problems, yaml_strict
from trialplate.spec.models import AuthorPlan
from trialplate.spec.pricing import PricingEntry


def read(text: str) -> AuthorPlan:
    """Return the author's plan of a text."""
    document = yaml_strict.load(text.encode(), "plan.yaml")
    found, remaining = later.refuse(document)
    made = problems.validated(AuthorPlan, document, remaining, found)
    problems.raise_problems(found)
    assert made is not None
    return made


def refusal(text: str) -> SpecError:
    """Return the error that a text ends in."""
    with pytest.raises(SpecError) as caught:
        read(text)
    assert caught.value.hint
    return caught.value


def with_line(old: str, new: str) -> str:
    """Return the small plan with one text replaced."""
    assert old in PLAN
    return PLAN.replace(old, new)


def test_small_plan_is_complete() -> None:
    """A test set, a model, a scorer, repeats and one rule are a plan."""
    plan = read(PLAN)
    assert plan.repeats == 2
    assert plan.pass_mark.rules[0].resolved("r")[0].at_least == "0.9"


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.90", "0.9"),
        (".9", "0.9"),
        ("9e-1", "0.9"),
        ('"0.90"', "0.9"),
        ("1", "1"),
        ("1.0", "1"),
        ("0", "0"),
        ("0.1234567890123", None),
        ("0.333333333333", "0.333333333333"),
        ("90", None),
        ("-0.1", None),
        ("true", None),
    ],
)
def test_threshold_is_the_exact_decimal_that_was_written(written: str, exact: str | None) -> None:
    """Thresholds are decimal text; a percentage, a sign or too many digits are refused."""
    text = with_line("at_least: 0.90", f"at_least: {written}")
    if exact is None:
        assert refusal(text).where == "plan.yaml:10:33"
    else:
        assert read(text).pass_mark.rules[0].resolved("r")[0].at_least == exact


@pytest.mark.parametrize(
    ("old", "new", "where", "words", "hint"),
    [
        ("repeats: 2", "repeat: 2", "plan.yaml:6:1", 'unknown key "repeat"', 'did you mean "repeats"?'),
        ("repeats: 2", "", "plan.yaml:1:1", 'the key "repeats" is missing', "add repeats: 3"),
        ("repeats: 2", "repeats: 2\nrepeat: 2", "plan.yaml:7:1", 'unknown key "repeat"', 'did you mean "repeats"?'),
        ("repeats: 2", 'repeats: "2"', "plan.yaml:6:10", "expected a whole number, found a text", ""),
        ("repeats: 2", "repeats: 2.5", "plan.yaml:6:10", "expected a whole number, found a number", ""),
        ("repeats: 2", "repeats: 0", "plan.yaml:6:10", "at least 1", ""),
        ("repeats: 2", "repeats: true", "plan.yaml:6:10", "found true or false", ""),
        ("trialplate: 1", "trialplate: 2", "plan.yaml:1:13", "this version reads 1", "write trialplate: 1"),
        ("trialplate: 1", 'trialplate: "2"', "plan.yaml:1:13", "this version reads 1", "write trialplate: 1"),
        ("at_least: 0.90", "at_least: 0,9", "plan.yaml:10:35", "a decimal point, not a comma", "write 0.9"),
        ("at_least: 0.90", 'at_least: "0,9"', "plan.yaml:10:33", "a decimal point, not a comma", "write 0.9"),
        ("at_least: 0.90", 'at_least: ",9"', "plan.yaml:10:33", "a decimal point, not a comma", "write 0.9"),
        ("at_least: 0.90", "at_least: 0, 9: x", "plan.yaml:10:36", "the key 9 is not a text", "quote it"),
        ("at_least: 0.90", "atleast: 0.90", "plan.yaml:10:23", 'unknown key "atleast"', 'did you mean "at_least"?'),
        ("at_least: 0.90", "mustpass: all", "plan.yaml:10:23", 'unknown key "mustpass"', 'did you mean "must_pass"?'),
        ("basis: estimate", "bases: estimate", "plan.yaml:10:50", 'unknown key "bases"', 'did you mean "basis"?'),
        ("runner: stand-in", "runer: stand-in", "plan.yaml:5:10", 'unknown key "runer"', 'did you mean "runner"?'),
        ("{type: exact}", "{typ: exact}", "plan.yaml:8:11", 'unknown key "typ"', 'did you mean "type"?'),
        ("answers:", "answrs:", "plan.yaml:5:28", 'unknown key "answrs"', 'did you mean "answers"?'),
        ("rules:", "evidence: {cases: 3}\n  rules:", "plan.yaml:10:21", "expected a mapping", "cases: {at_least: 20}"),
        (
            "rules:",
            "evidence: {cases: {at_least: x}}\n  rules:",
            "plan.yaml:10:32",
            "expected a whole number",
            "write a whole number",
        ),
        ("name: small", "name: no way", "plan.yaml:2:7", "expected a name", "rename it"),
        ("name: small", "name: 7", "plan.yaml:2:7", "expected a text, found a number", "quote it"),
        ("name: small", "name:", "plan.yaml:2:6", "found nothing (null)", ""),
        (
            "{type: exact}",
            "{type: exakt}",
            "plan.yaml:8:17",
            "there is exact, contains, regex",
            'did you mean "exact"?',
        ),
        ("{type: exact}", "{cases: {tag: a}}", "plan.yaml:8:10", 'the key "type" is missing', ""),
        ("{type: exact}", "{type: exact, cases: {tga: a}}", "plan.yaml:8:32", 'unknown key "tga"', '"tag"'),
        ("{type: exact}", "{type: exact, cases: {tag: 5}}", "plan.yaml:8:37", "a text, or a list of texts", ""),
        ("{type: exact}", "{type: exact, normalize: {case: lower}}", "plan.yaml:8:42", "one of keep, fold", ""),
        ("{type: exact}", "{type: contains, value: [a]}", "plan.yaml:8:34", "a text, found a list", "write one text"),
        ("{type: exact}", "{type: regex}", "plan.yaml:8:10", 'the key "pattern" is missing', ""),
        (
            "runner: stand-in,",
            "runner: standin,",
            "plan.yaml:5:18",
            "there is openai, anthropic, google",
            '"stand-in"',
        ),
        ("runner: stand-in,", "", "plan.yaml:5:9", 'the key "runner" is missing', ""),
        ("file: cases/a.csv", "file: ../a.csv", "plan.yaml:3:20", "inside the project's folder", ""),
        ("file: cases/a.csv", "file: ./a.csv", "plan.yaml:3:20", "inside the project's folder", "without ./"),
        ("file: cases/a.csv", "file: /a.csv", "plan.yaml:3:20", "inside the project's folder", "copy a file"),
        ("file: cases/a.csv", "file: C:/a.csv", "plan.yaml:3:20", "inside the project's folder", ""),
        (
            "[{file: cases/a.csv}]",
            "{file: cases/a.csv}",
            "plan.yaml:3:12",
            "expected a list, found a mapping",
            "[{file: ",
        ),
        ("[{file: cases/a.csv}]", "cases/a.csv", "plan.yaml:3:12", "expected a list, found a text", "[{file: "),
        ("[{file: cases/a.csv}]", "[cases/a.csv]", "plan.yaml:3:13", "expected a mapping", "write {file: "),
        ("[{file: cases/a.csv}]", "[]", "plan.yaml:3:12", "nothing stands here", ""),
        ("id: right, at_least", "at_least", "plan.yaml:10:11", 'the key "id" is missing', ""),
        ("at_least: 0.90, ", "", "plan.yaml:10:11", "exactly one of", ""),
        ("at_least: 0.90", "at_least: 0.9, at_most: 0.9", "plan.yaml:10:11", "exactly one of", ""),
        ("rules: [", "rules: [5, ", "plan.yaml:10:11", "exactly one of", ""),
        ("repeats: 2", "repeats: 2\nrun: {cache: relpay}", "plan.yaml:7:14", "one of off, live, replay", '"replay"'),
    ],
)
def test_mistake_is_told_with_place_nearest_name_and_advice(
    old: str, new: str, where: str, words: str, hint: str
) -> None:
    """Each kind of mistake has its sentence, its place and one thing to do."""
    error = refusal(with_line(old, new))
    assert (error.where, words in error.message, hint in error.hint) == (where, True, True), (error, error.hint)


@pytest.mark.parametrize("selector", ["[hours]", "hours", "{}", "", "5", "[]"])
def test_must_pass_that_is_no_selector_is_told_the_forms_and_never_every_case_by_accident(selector: str) -> None:
    """A rule that should name some cases is not led to name all of them, or none."""
    error = refusal(with_line("rules: [", f"rules: [{{id: c, must_pass: {selector}}}, "))
    assert '"must_pass": ' in error.message
    assert "{tag: critical} or {id: [q1, q2]}" in error.hint
    assert "{}" not in error.hint


def test_decimal_comma_of_a_json_plan_is_told_as_such() -> None:
    """In JSON as in YAML, the digits behind the comma are no key."""
    with pytest.raises(SpecError) as caught:
        yaml_strict.load(b'{"at_least": 0,95}', "plan.json")
    assert (caught.value.where, caught.value.hint) == ("plan.json:1:16", "write 0.95")


def test_rule_with_several_misspelt_keys_is_told_all_of_them() -> None:
    """The key that says what rule it is may be misspelt itself; the others are told all the same."""
    text = with_line("at_least: 0.90, of: right", "atleast: 0.90, off: right")
    assert refusal(text).message.count("unknown key") == 2
    assert "exactly one of" not in refusal(text).message


def test_model_whose_name_is_a_key_of_the_language_gets_no_hint_about_that_key() -> None:
    """A hint belongs to a key, not to a name that looks like one."""
    assert "env" not in refusal(with_line("  echo: {", "  secret: 5\n  echo: {")).hint


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    """The first is the error's place; the others stand in its message, one on each line."""
    text = PLAN.replace("name: small", "name: 7").replace("repeats: 2", "repeats: 0").replace("0.90", "90")
    error = refusal(text)
    lines = error.message.split("\n")
    assert error.where == "plan.yaml:2:7"
    assert [line.split(": ")[0] for line in lines[1:]] == ["plan.yaml:6:10", "plan.yaml:10:33"]


MODEL = 'm: {runner: openai-compatible, url: "https://h/v1", model: m-1'


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (f"{MODEL}, secret: sk-planted-0123}}", '"secret": expected a mapping'),
        (f"{MODEL}, secret: {{env: sk-planted-0123}}}}", "the name of an environment variable"),
        (f"{MODEL}, api_key: sk-planted-0123}}", "a key in the plan would be published"),
        (f"{MODEL}, settings: {{api_key: sk-planted-0123}}}}", "would be sent and published"),
        (f"{MODEL}, settings: {{headers: {{Authorization: Bearer sk-planted-0123}}}}}}", "would be sent and published"),
        ('m: {runner: openai-compatible, model: m-1, url: "https://u:sk-planted-0123@h/v1"}', "neither a user"),
        (
            'm: {runner: openai-compatible, model: m-1, url: "https://h/v1?api_key=sk-planted-0123"}',
            "a key in an address",
        ),
        (f"{MODEL}, settings: {{model: other}}}}", "is what the runner itself sends"),
        (f"{MODEL}, settings: {{messages: []}}}}", "is what the runner itself sends"),
        (f"{MODEL}, settings: {{stream_options: {{}}}}}}", "is what the runner itself sends"),
        (f"{MODEL}, settings: {{n: 4}}}}", "a trial asks for one answer"),
        (f"{MODEL}, settings: {{system: be kind}}}}", "is no setting"),
        (f"{MODEL}, pricing: {{}}}}", 'the key "input" is missing'),
        (f"{MODEL}, pricing: 0}}", '"pricing": expected a mapping, found a number'),
        (f"{MODEL}, pricing: {{input: -1, output: 1}}}}", "not negative"),
        (f"{MODEL}, limits: {{attempt_timeout_s: 0}}}}", "more than 0"),
        (f"{MODEL}, retry: {{initial_delay_s: 0.0001}}}}", "at most three digits after the point"),
        ("m: {runner: openai-compatible, url: localhost:8080, model: m-1}", "expected an address"),
        ('m: {runner: command, argv: "pytest -q"}', '"argv": expected a list, found a text'),
        ("m: {runner: command, argv: []}", "nothing stands here"),
        ("m: {runner: command}", 'exactly one of "argv" and "shell"'),
        ("m: {runner: command, argv: [a], shell: a}", 'exactly one of "argv" and "shell"'),
        ("m: {runner: stand-in}", 'the key "answers" is missing'),
        ("m/n: {runner: command, shell: a}", "expected a name"),
    ],
)
def test_model_that_cannot_be_used_is_refused_without_repeating_a_secret(entry: str, words: str) -> None:
    """A pasted key is never printed back."""
    error = refusal(with_line('echo: {runner: stand-in, answers: {"*": "yes"}}', entry))
    told = f"{error} {error.hint}"
    assert words in told, told
    assert "planted" not in told


def test_numbers_of_a_model_are_exact() -> None:
    """Prices are decimal text, durations whole milliseconds, written as numbers or as text."""
    entry = (
        f'{MODEL}, pricing: {{input: 0.10, output: "2.50", cache_read: 1e-2}}, '
        "retry: {initial_delay_s: 0.25}, limits: {attempt_timeout_s: 1.5}}"
    )
    model = read(with_line('echo: {runner: stand-in, answers: {"*": "yes"}}', entry)).models["m"]
    assert isinstance(model.pricing, PricingEntry)
    assert (model.pricing.input, model.pricing.output, model.pricing.cache_read) == ("0.1", "2.5", "0.01")
    assert (model.retry.initial_delay_s, model.retry.max_delay_s) == (250, 10_000)
    assert model.limits.attempt_timeout_s == 1500


def test_must_pass_without_require_wants_every_repeat() -> None:
    """The strictest reading is the default, and `all` names every case."""
    rules = read(
        with_line("rules: [", "rules: [{id: c, must_pass: {tag: [a, b]}}, {id: d, must_pass: all}, ")
    ).pass_mark
    first, second = (rule.resolved("r")[0] for rule in rules.rules[:2])
    assert (first.must_pass.tag, first.require) == (("a", "b"), "all")  # type: ignore[union-attr]
    assert second.must_pass == Selector()
