# SPDX-License-Identifier: Apache-2.0
"""Mistakes in settings, tools and rules are told where they stand, with the word that was meant and what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from author_files import PLAN

from trialplate.errors import SpecError
from trialplate.spec.freeze import freeze
from trialplate.spec.project import load_project

Write = Callable[..., Path]
ECHO = 'echo: {runner: stand-in, answers: {"*": "yes"}}'
TOOL = """\
tools:
  calc: {callable: "calc.py:run", description: Adds., parameters: {type: object}}
test_sets: [{file: cases/a.yaml}]
"""
CASE = "- {id: q1, input: What?, reference: 'yes', tools: [calc], answer_format: a word}\n"


def told(project_at: Write, plan: str, **files: str) -> SpecError:
    """Return the error that freezing ends in."""
    with pytest.raises(SpecError) as caught:
        freeze(load_project(project_at(plan, {"calc.py": "def run(arguments): return 1\n", **files})), bytes(32))
    assert caught.value.hint != "correct it"
    return caught.value


def warned(project_at: Write, plan: str, **files: str) -> tuple[str, ...]:
    """Return the warnings about a plan."""
    made = load_project(project_at(plan, {"calc.py": "def run(arguments): return 1\n", **files}))
    return freeze(made, bytes(32)).warnings


def hosted(runner: str, settings: str, more: str = "") -> str:
    """Return the small plan with a hosted model, the settings on a line of their own."""
    return PLAN.replace(ECHO, f"m:\n    runner: {runner}\n    model: gpt-5.4\n    settings: {settings}{more}")


@pytest.mark.parametrize(
    ("runner", "settings", "message", "hint"),
    [
        ("openai", "{reasoning_effort: lowish}", "expected one of none, minimal, low", 'did you mean "low"?'),
        ("openai", "{verbosity: 3}", "expected one of low, medium, high", "correct it, or leave it out"),
        ("mistralai", "{seed: 1}", '"seed": is no parameter', "write random_seed"),
        ("google", "{max_tokens: 1}", '"max_tokens": is no parameter', "write max_output_tokens"),
        ("openai", "{}\n    structured: jsn_object", "native, json_object, text, false", 'did you mean "json_object"?'),
        (
            "openai",
            "{}\n    accepts: [imag]",
            "expected text, image, document or a media type",
            'did you mean "image"?',
        ),
        (
            "openai",
            "{}\n    accepts: [pictures]",
            "expected text, image, document or a media type",
            "write one of these",
        ),
        ("openai-compatible", "{}", 'the key "url" is missing', "add url:"),
    ],
)
def test_setting_is_answered_with_what_was_meant(
    project_at: Write, runner: str, settings: str, message: str, hint: str
) -> None:
    """Values as well as names."""
    error = told(project_at, hosted(runner, settings))
    assert message in error.message
    assert hint in (error.hint or "")
    assert (error.where or "").startswith("trialplate.yaml:")


def test_setting_of_a_profile_is_told_where_it_stands(project_at: Write) -> None:
    """The model's own settings are right, and changing them would not help."""
    plan = hosted("google", "{max_output_tokens: 9}") + "profiles: {short: {settings: {max_tokens: 9}}}\n"
    error = told(project_at, plan + "matrix: [{profiles: [default, short]}]\n")
    line = plan.splitlines().index("profiles: {short: {settings: {max_tokens: 9}}}") + 1
    assert (error.where or "").startswith(f"trialplate.yaml:{line}:")
    assert error.message.endswith('the profile "short" gives it to "m"')
    assert (error.hint or "").startswith("write max_output_tokens; or leave that model out")


def test_profile_that_no_line_names_is_told_why(project_at: Write) -> None:
    """Without a matrix, nobody runs under it."""
    plan = PLAN.replace("models:", "profiles: {hot: {}}\nmodels:")
    (warning,) = warned(project_at, plan)
    assert warning.endswith(
        "profile hot is in no line of the matrix; without matrix: every model runs under default alone"
    )


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("[{must_call: a, max_steps: 1}]", "exactly one of must_call, must_not_call, max_steps"),
        ("[{must_not_call: a, after: b}]", "must_not_call takes no after"),
        ("[3]", "expected a mapping, found a number"),
        ("3", "expected a list, found a number"),
    ],
)
def test_rule_about_tools_is_not_taken_for_one_of_the_pass_mark(project_at: Write, rules: str, message: str) -> None:
    """Both stand under rules:, and are written otherwise."""
    error = told(project_at, PLAN.replace("{type: exact}", f"{{type: trajectory, rules: {rules}}}"))
    assert message in error.message
    assert "must_call: search" in (error.hint or "")


def test_classification_says_which_labels(project_at: Write) -> None:
    """There is one word to write."""
    error = told(project_at, PLAN.replace("repeats:", "classification: {labels: [a, b]}\nrepeats:"))
    assert (error.message, error.hint) == ('"labels": expected reference, found a list', "write reference")


def test_tool_that_is_offered_by_nobody_or_to_nobody_is_told(project_at: Write) -> None:
    """A tool without a case, a case whose tools a runner passes to nobody, and one that is not there."""
    plan = PLAN.replace("test_sets: [{file: cases/a.csv}]\n", TOOL).replace(
        ECHO, "b: {runner: command, shell: cat}\n  m: {runner: openai, model: gpt-5.4}"
    )
    first, second = warned(project_at, plan, **{"cases/a.yaml": CASE})
    assert "b is told nothing of tools of q1: the runner command passes on the question alone" in first
    assert "b is told nothing of answer_format of q1" in second
    bare = CASE.replace("tools: [calc], answer_format: a word", "tags: [x]")
    (warning,) = warned(project_at, plan, **{"cases/a.yaml": bare})
    assert warning.endswith("no case offers the tool calc")
    only = plan.replace("\n  m: {runner: openai, model: gpt-5.4}", "")
    error = told(project_at, only, **{"cases/a.yaml": CASE.replace("[calc]", "[clac]")})
    assert error.message == 'case "q1" offers the tool "clac", which is not among tools:'
    assert error.hint == 'did you mean "calc"?'


def test_missing_file_is_answered_as_it_would_be_written(project_at: Write) -> None:
    """With its folder, from the plan's folder or from that of the file of cases."""
    plan = PLAN.replace("test_sets: [{file: cases/a.csv}]\n", TOOL)
    error = told(project_at, plan.replace("calc.py", "lib/clac.py"), **{"lib/calc.py": "", "cases/a.yaml": CASE})
    assert error.hint == 'did you mean "lib/calc.py"?'
    case = CASE.replace("tools: [calc]", "files: [{name: f, path: img/a.txt}]")
    error = told(project_at, plan, **{"cases/img/aa.txt": "x", "cases/a.yaml": case})
    assert error.hint == 'did you mean "img/aa.txt"?'
