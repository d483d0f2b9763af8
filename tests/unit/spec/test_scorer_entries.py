# SPDX-License-Identifier: Apache-2.0
"""Scorers as an author writes them: what is refused, what stands in the plan, and which references they take."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from author_files import PLAN

from trialplate import plugins
from trialplate.errors import SpecError
from trialplate.record.values import Scorer
from trialplate.spec import later, problems, yaml_strict
from trialplate.spec.document import Document
from trialplate.spec.freeze import freeze
from trialplate.spec.models import AuthorPlan
from trialplate.spec.project import load_project
from trialplate.spec.validate import validate

Write = Callable[..., Path]
FILES = {
    "s.json": '{"type": "object"}',
    "own.py": "async def grade(case, answer):\n    return 1\n",
    "check.sh": "cat > /dev/null; echo 1\n",
}


def plan(scorer: str) -> str:
    """Return the small plan with this scorer."""
    return PLAN.replace("right: {type: exact}", f"right: {{{scorer}}}")


def cases(*references: str) -> str:
    """Return a test set in JSON lines, one case for each reference."""
    return "".join(f'{{"id": "q{n}", "input": "{n}?", "references": {item}}}\n' for n, item in enumerate(references))


def jsonl(text: str) -> str:
    """Return the plan with its test set in JSON lines."""
    return plan(text).replace("cases/a.csv", "cases/a.jsonl")


@pytest.mark.parametrize(
    ("scorer", "settings", "files"),
    [
        (
            "type: numeric",
            {"find": "whole", "tolerance": "0", "relative": "0", "percent": "refuse", "units": [],
             "separators": {"thousands": "", "decimal": "."}},
            (),
        ),
        (
            'type: numeric, after: "####", which: first, tolerance: 0.010, units: [km, kg], percent: keep, '
            'separators: {thousands: ".", decimal: ","}',
            {"find": "after", "after": "####", "which": "first", "tolerance": "0.01", "relative": "0",
             "percent": "keep", "units": ["kg", "km"], "separators": {"thousands": ".", "decimal": ","}},
            (),
        ),
        ("type: choice, options: [y, n]", {"after": "ANSWER:", "options": ["N", "Y"]}, ()),
        ("type: json-schema, schema: s.json", {"parse": "strict"}, ()),
        ("type: json-subset, parse: embedded", {"parse": "embedded"}, ()),
        (
            "type: command, argv: [sh, check.sh], env: [B_KEY, A_KEY]",
            {"argv": ["sh", "check.sh"], "env": ["A_KEY", "B_KEY"], "threshold": "0.5", "timeout_ms": 60000},
            ("check.sh",),
        ),
        (
            "type: python, callable: 'own.py:grade', timeout_s: 1.5, threshold: 0.75",
            {"callable": "own.py:grade", "threshold": "0.75", "timeout_ms": 1500},
            ("own.py",),
        ),
    ],
)  # fmt: skip
def test_scorer_stands_in_the_plan_with_every_default(
    project_at: Write, scorer: str, settings: dict[str, Any], files: tuple[str, ...]
) -> None:
    """Rules by which answers are read are in its digest; the code that is named is pinned; its module takes it."""
    root = project_at(plan(scorer), {**FILES, "cases/a.csv": "id,input,reference\nq1,Is it?,\"N\"\n"} if "choice" in scorer
                      else FILES)  # fmt: skip
    made: Scorer = freeze(load_project(root), bytes(32)).plan.scorers[0]
    assert dict(made.settings) == settings
    assert tuple(file.path for file in made.files) == files
    texts = {(text.role, text.name): {"type": "object"} for text in made.texts}
    assert plugins.load("scorers", made.type)(made, texts)
    if files:
        assert any(note.startswith("right: what ") for note in validate(root).unpinned)
        assert set(validate(root).pinned) == set(files)


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        ("type: numerc", "there is exact"),
        ("type: numeric, tolerence: 0.1", 'unknown key "tolerence"'),
        ("type: numeric, tolerance: -1", "not negative"),
        ("type: numeric, find: middle", "whole, first, last"),
        ("type: numeric, after: '#'", '"after": needs "which"'),
        ("type: numeric, which: first", '"which": needs "after"'),
        ("type: numeric, find: last, after: '#', which: last", '"find": stands beside "after"'),
        ("type: numeric, after: '  ', which: last", "not blank"),
        ("type: numeric, separators: {thousands: ',', decimal: ','}", "the same character"),
        ("type: numeric, separators: {thousands: x}", "expected form"),
        ("type: numeric, units: ['5']", "a unit without digits"),
        ("type: choice, options: [A]", "at least two different options"),
        ("type: choice, options: [A, BC]", "a letter or a digit"),
        ("type: json-schema", 'the key "schema" is missing'),
        ("type: json-subset, parse: loose", "strict, fenced, embedded"),
        ("type: command", 'exactly one of "argv" and "shell"'),
        ("type: command, shell: 'x', timeout_s: 0", "more than 0"),
        ("type: command, argv: []", "nothing stands here"),
        ("type: python, callable: own.py", "a file and a function"),
        ("type: python, callable: 'own.py:grad'", 'has no function "grad"'),
        ("type: python, callable: 'owm.py:grade'", "owm.py does not exist"),
        ("type: python, callable: 'own.py:grade', threshold: 2", "between 0 and 1"),
    ],
)  # fmt: skip
def test_mistake_in_a_scorer_is_told(project_at: Write, scorer: str, message: str) -> None:
    """With its place in the file, before anything runs."""
    with pytest.raises(SpecError) as caught:
        validate(project_at(plan(scorer), FILES))
    assert message in caught.value.message
    assert caught.value.where.startswith("trialplate.yaml:8:")


@pytest.mark.parametrize(
    ("scorer", "references", "message"),
    [
        ("type: numeric", ["[]"], "has no reference"),
        ("type: numeric", ['["5"]', "[true]"], "neither a number nor a text"),
        ("type: numeric", ['["1e400"]'], "too large"),
        ("type: numeric, find: last", ['["none"]'], "holds no digit"),
        ("type: choice", ['["maybe"]'], "names none of the choices"),
        ("type: json-subset", ["[]"], "has no reference"),
        ("type: json-subset", ["[{}]"], "every object holds"),
        ("type: json-subset", ['["{x}"]'], "begins like JSON"),
        ("type: json-subset", ['[" "]'], "is blank"),
    ],
)
def test_reference_that_cannot_be_meant_is_told_with_its_case(
    project_at: Write, scorer: str, references: list[str], message: str
) -> None:
    """And not as thousands of wrong answers."""
    with pytest.raises(SpecError, match=message) as caught:
        validate(project_at(jsonl(scorer), {**FILES, "cases/a.jsonl": cases(*references)}))
    assert caught.value.where == f"cases/a.jsonl:{len(references)}"


def test_references_that_are_usable_have_no_warning(project_at: Write) -> None:
    """Numbers, texts of numbers, texts that only equal themselves; letters and lists; objects and their texts."""
    for scorer, references in (
        ("type: numeric", ['[20, "20%", "none"]', "[0.5]"]),
        ("type: choice", ['["A, C"]', '[["a", "B"]]']),
        ("type: json-subset", ['[{"a": 1}, "{\\"a\\": 2}", "text"]', "[false]"]),
    ):
        assert validate(project_at(jsonl(scorer), {"cases/a.jsonl": cases(*references)})).warnings == ()


def test_word_of_a_scorers_command_that_is_no_file_is_a_warning(project_at: Write) -> None:
    """As for a model: what is misspelt is pinned by nothing."""
    found = validate(project_at(plan("type: command, argv: [sh, chek.sh, '|']"), FILES)).warnings
    assert [("misspelt" in item, "no shell reads" in item) for item in found] == [(True, False), (False, True)]


def test_answer_rule_of_a_model_is_in_the_plan_and_not_in_the_attempt_key(project_at: Write) -> None:
    """Reading answers otherwise does not make another attempt of it; the default leaves no trace."""
    from trialplate.record.matrix import attempt_key, configuration_digest

    kept = freeze(load_project(project_at()), bytes(32))
    stripped = freeze(
        load_project(project_at(PLAN.replace("stand-in,", "stand-in, answer: {reasoning: strip},"))), bytes(32)
    )
    (one,), (other,) = kept.plan.configurations, stripped.plan.configurations
    assert (one.answer.reasoning, other.answer.reasoning) == ("keep", "strip")
    assert b"reasoning" not in kept.raw
    assert attempt_key(one) == attempt_key(other)
    assert configuration_digest(one) != configuration_digest(other)


def test_examples_of_the_reference_are_accepted() -> None:
    """Every scorer and every model of docs/reference/scorers.md is one of the language."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "scorers.md").read_text(encoding="utf-8")
    small = yaml_strict.load(PLAN.encode(), "plan.yaml").value
    seen = set()
    for text in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S):
        document = Document("page.yaml", {**small, **yaml_strict.load(text.encode(), "page.yaml").value})
        found, remaining = later.refuse(document)
        author = problems.validated(AuthorPlan, document, remaining, found)
        assert (author is not None, found) == (True, []), text
        seen |= {entry.type for entry in author.scorers.values()} if author is not None else set()
    assert seen == set(plugins.BUILT_IN["scorers"])
