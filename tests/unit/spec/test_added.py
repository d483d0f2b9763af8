# SPDX-License-Identifier: Apache-2.0
"""Names of packages in a plan: runners with their options, scorers with theirs, loaders by name and by ending."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packages import install

from trialplate.errors import SpecError
from trialplate.plugins import PACKAGES
from trialplate.record.matrix import attempt_key
from trialplate.record.values import Plan
from trialplate.rules.cells import under_test
from trialplate.spec.freeze import freeze
from trialplate.spec.project import load_cases, load_project
from trialplate.spec.validate import validate

POINTS = """
[trialplate.runners]
acme = acme_code:Runner
acme-hosted = acme_code:Hosted
acme-full = acme_code:Full
acme-broken = acme_code:nothing
[trialplate.scorers]
acme-one = acme_code:One
acme-two = acme_code:Two
[trialplate.loaders]
acme = acme_code:load
.acme = acme_code:load
"""
CODE = """
class Runner:
    def __init__(self, endpoint, depth=1):
        raise AssertionError("nothing is made while a plan is read")
    def run(self, model, case):
        raise AssertionError
class Hosted(Runner):
    hosted = True
class One:
    metric = "good"
    def __init__(self, level=1): pass
class Full:
    async def answer(self, request, tools):
        raise AssertionError
class Two:
    metrics = ("good", "short")
def load(data, file):
    for line in data.decode().splitlines():
        yield eval(line)
"""
PLAN = """\
trialplate: 1
name: small
test_sets: [{file: q.csv}]
MORE
models:
  m: {runner: acme, settings: {t: 0.5}}
repeats: 1
scorers:
  correct: {type: exact}
pass_mark:
  rules: [{id: correct, at_least: 0.5, of: correct, basis: estimate}]
"""
OPTIONS = "runners: {acme: {endpoint: 'https://api.acme.example'}}"
Write = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a plan beside a package that is installed."""
    install(tmp_path / "site", "acme", POINTS, CODE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def write(plan: str = PLAN, more: str = OPTIONS, **files: str) -> Path:
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        (root / "trialplate.yaml").write_text(plan.replace("MORE", more))
        (root / "q.csv").write_text("id,input,reference\nq1,What?,this\n")
        for name, text in files.items():
            (root / name.replace("_", ".")).write_text(text)
        return root

    yield write
    sys.modules.pop("acme_code", None)  # the next one's is another


def frozen(root: Path) -> Plan:
    """Return the plan of a project."""
    return freeze(load_project(root, added=PACKAGES), bytes(32)).plan


def refused(root: Path) -> str:
    """Return why a project cannot be used."""
    with pytest.raises(SpecError) as caught:
        freeze(load_project(root, added=PACKAGES), bytes(32))
    return f"{caught.value} ({caught.value.hint})"


def test_runner_of_a_package_stands_with_it_and_its_options(project: Write) -> None:
    """Package, version, options and settings are in the attempt key; what no digest pins is told."""
    plan = frozen(project())
    (model,) = plan.configurations
    assert (model.runner, model.plugin, model.model_id) == ("acme", "acme 1.2", None)
    assert model.settings == {"model": "m", "settings": {"t": 0.5}, "options": {"endpoint": "https://api.acme.example"}}
    assert under_test(model)
    assert plan.unpinned == ("m: what acme 1.2 reads or calls, and the Python that runs it",)
    assert attempt_key(model.replace(plugin="acme 1.3")) != attempt_key(model)


def test_runner_that_is_hosted_is_asked_for_a_model_by_its_id(project: Write) -> None:
    """Only then are failures on the way the infrastructure's, since only then is it said who answered."""
    plan = frozen(
        project(
            PLAN.replace("runner: acme,", "runner: acme-hosted, model: big,"), OPTIONS.replace("acme:", "acme-hosted:")
        )
    )
    (model,) = plan.configurations
    assert model.model_id == "big"
    assert not under_test(model)
    assert "model" not in model.settings


def test_tools_are_offered_to_a_runner_of_the_full_form_alone(project: Write) -> None:
    """The other form could do nothing with them, which is told."""
    tools = "tools: {calc: {callable: 'c.py:run', description: Adds., parameters: {type: object}}}"
    files = {
        "q_json": '[{"id": "q1", "input": "?", "reference": "4", "tools": ["calc"]}]',
        "c_py": "def run(a): pass\n",
    }
    text = PLAN.replace("q.csv", "q.json")
    full = load_project(project(text.replace("runner: acme,", "runner: acme-full,"), tools, **files), added=PACKAGES)
    made = freeze(full, bytes(32))
    assert [tool.name for tool in made.plan.configurations[0].tools] == ["calc"]
    assert made.warnings == ()
    plain = freeze(load_project(project(text, f"{OPTIONS}\n{tools}", **files), added=PACKAGES), bytes(32))
    assert plain.plan.configurations[0].tools == ()
    assert "m is told nothing of tools of q1" in plain.warnings[0]


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        ((), "", 'the option "endpoint" is missing'),
        ((), "runners: {acme: {endpint: x}}", 'unknown option "endpint" (did you mean "endpoint"?)'),
        ((), f"{OPTIONS[:-1]}, acne: {{}}}}", 'no model here has the runner "acne" of a package'),
        ((), "runners: {acme: {endpoint: x, api_key: y}}", "a key in the plan would be published"),
        ((), "runners: {acme: {endpoint: {auth: [{apiKey: y}]}}}", "a key in the plan would be published"),
        (("{type: exact}", "{type: acme-one, level: {access-token: y}}"), OPTIONS, "a key in the plan would be"),
        (("runner: acme,", "runner: acmee,"), OPTIONS, 'did you mean "acme"?'),
        (("runner: acme,", "runner: pyhton,"), "", 'did you mean "python"?'),
        (("runner: acme,", "runner: zzz,"), "", "install the package that adds it"),
        (("runner: acme,", "runner: agent,"), "", "the runner agent is not in this version"),
        (("runner: acme,", "runner: acme-broken,"), "", "cannot be loaded"),
        (("runner: acme,", "runner: acme, urll: x,"), OPTIONS, 'unknown key "urll"'),
        (("{type: exact}", "{type: acme-oen}"), OPTIONS, 'did you mean "acme-one"?'),
        (("{type: exact}", "{type: exat}"), OPTIONS, 'did you mean "exact"?'),
        (("{type: exact}", "{type: checks}"), OPTIONS, "not in this version"),
        (("{type: exact}", "{type: object}"), OPTIONS, "there is exact"),
        (
            ("{type: exact}", "{type: acme-one, metric: correct, lvel: 2}"),
            OPTIONS,
            'unknown option "lvel" (did you mean "level"?)',
        ),
        (("{type: exact}", "{type: acme-two, metric: correct}"), OPTIONS, "this scorer yields 2 metrics"),
        (("{file: q.csv}", "{file: q.csv, loader: amce}"), OPTIONS, 'there is no loader "amce" (did you mean "acme"?)'),
        (("repeats: 1", "repeats: 1\nrun: {cache: replay}"), OPTIONS, "cannot be replayed"),
    ],
)
def test_mistake_is_told_with_what_was_meant(project: Write, change: Any, more: str, words: str) -> None:
    """Of a built-in's name too: names of packages are among those that are near."""
    root = project(PLAN.replace(*change) if change else PLAN, more)
    if "replay" in str(change):
        (root / "cassettes").mkdir()
        (root / "cassettes" / "x.jsonl").write_text("")
    assert words in refused(root)


def test_plan_is_validated_without_making_anything(project: Write) -> None:
    """Its code is looked at, and nothing of it is called."""
    assert validate(project(), added=PACKAGES).trials == 1


def test_scorers_of_a_package_yield_what_they_say(project: Write) -> None:
    """One metric may be renamed; of several each keeps its name, and options stand in the plan."""
    one = "{type: acme-one, metric: correct, level: 3, threshold: 0.9, timeout_s: 5}"
    plan = frozen(project(PLAN.replace("correct: {type: exact}", f"correct: {one}\n  both: {{type: acme-two}}")))
    first, second = plan.scorers
    assert (first.metrics, first.plugin) == (("correct",), "acme 1.2")
    assert first.settings == {"threshold": "0.9", "timeout_ms": 5000, "options": {"level": 3}}
    assert second.metrics == ("good", "short")


LINES = '{"id": "q1", "input": "What?", "reference": "this"}\n{"input": "And?", "references": ["that", 7]}\n'


@pytest.mark.parametrize(("file", "loader"), [("q.acme", ""), ("q.txt", ", loader: acme"), ("q.csv", ", loader: acme")])
def test_loader_reads_by_its_ending_or_by_name(project: Write, file: str, loader: str) -> None:
    """Its cases are as any others; who read them is told, since nothing pins it."""
    root = project(PLAN.replace("{file: q.csv}", f"{{file: {file}{loader}}}"))
    (root / file).write_text(LINES)
    plan = frozen(root)
    assert [case.id for case in plan.test_set.cases] == ["q1", "case-2"]
    assert f"{file}: what acme 1.2 reads or calls, and the Python that runs it" in plan.unpinned
    loaded, files = load_cases(root / file, added=PACKAGES, loader="acme" if loader else None)
    assert [case.references for case in loaded.cases] == [("this",), ("that", 7)]
    assert files == ()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("{'input': 'x', 'inptu': 'y'}", 'unknown key "inptu"'),
        ("{'input': 'x', 'meta': {'n': float('nan')}}", "this is no case: this value has no canonical JSON"),
        ("{'input': 'x', 'meta': {1: 2}}", "this is no case"),
        ("{'input': 'x', 'meta': {'when': object()}}", "this is no case"),
        ("7", "this is no case"),
        ("{'input': 'x'}\n1/0", "its loader ended with ZeroDivisionError after 1 cases: division by zero"),
        ("", "there are no cases in this file"),
        ("{'id': 'a', 'input': 'x'}\n{'id': 'a', 'input': 'y'}", 'duplicate case id "a"'),
    ],
)
def test_loader_that_gives_no_cases_is_told_with_the_file(project: Write, lines: str, words: str) -> None:
    """Nothing is made of what is no JSON."""
    root = project(PLAN.replace("{file: q.csv}", "{file: q.acme}"))
    (root / "q.acme").write_text(lines)
    told = refused(root)
    assert words in told
    assert "q.acme" in told
