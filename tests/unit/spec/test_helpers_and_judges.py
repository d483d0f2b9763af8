# SPDX-License-Identifier: Apache-2.0
"""Helpers, judges and similarity as an author writes them: what is refused, warned of, and what stands in the plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from author_files import PLAN

from trialplate.errors import SpecError
from trialplate.record.values import Scorer
from trialplate.spec.bounds import AttemptBounds, HelperBounds
from trialplate.spec.freeze import Frozen, freeze
from trialplate.spec.project import load_project
from trialplate.spec.validate import validate

Write = Callable[..., Path]
JUDGE = "{runner: anthropic, model: claude-opus-5-5}"
EMBEDDER = "{runner: openai-compatible, url: 'https://h.example/v1', model: e-small, endpoint: embeddings}"
FILES: dict[str, str | bytes] = {
    "rules.md": "Grade by these words.\n",
    "blank.md": " \n",
    "contract.md": "Sixty days.\n",
    "template.md": "{{rules}} {{json data}} {{verdict_format}}\n",
    "deaf.md": "{{rules}} {{json question}}\n",
    "mute.md": "{{json data}} {{verdict_format}}\n",
    "wrong.md": "one\n{{json candidat}}\n",
    "plain.md": "one\n{{candidate}}\n",
    "open.md": "{{json candidate}} {{rules\n",
    "form.json": '{"type": "object", "required": ["grade"]}',
}


def plan(scorer: str, *, helper: str = JUDGE, models: str = "", rule: str = "right") -> str:
    """Return the small plan with this scorer and one helper, `grader`."""
    made = PLAN.replace("right: {type: exact}", f"right: {{{scorer}}}").replace("of: right", f"of: {rule}")
    made = made.replace("\nrepeats:", f"{models}\nhelpers:\n  grader: {helper}\nrepeats:")
    return made


def frozen(project_at: Write, text: str, **files: str) -> Frozen:
    """Freeze a plan."""
    return freeze(load_project(project_at(text, {**FILES, **files})), bytes(32))


def scorer_of(project_at: Write, scorer: str, **options: str) -> Scorer:
    """Return the one scorer of a frozen plan."""
    (found,) = frozen(project_at, plan(scorer, **options)).plan.scorers
    return found


@pytest.mark.parametrize(
    ("scorer", "settings", "metrics"),
    [
        (
            "type: judge, model: grader",
            {"mode": "verdicts", "parse": "fenced", "pass_when": {"right": "1"},
             "verdicts": {"correct": "1", "partial": "0.5", "incorrect": "0"}},
            ("right",),
        ),
        (
            "type: judge, model: grader, metrics: [right, fully_right, grounded], verdicts: {yes: 0.90, no: 0}, "
            "pass_when: {right: 0.9, grounded: true}, rules: rules.md, parse: embedded",
            {"mode": "verdicts", "parse": "embedded", "pass_when": {"right": "0.9", "grounded": "1"},
             "verdicts": {"yes": "0.9", "no": "0"}},
            ("right", "fully_right", "grounded"),
        ),
        (
            "type: judge, model: grader, mode: score, scale: [0, 10], threshold: 7.50, forms: [labelled, fraction]",
            {"mode": "score", "parse": "fenced", "scale": ["0", "10"], "threshold": "7.5", "forms": ["fraction", "labelled"]},
            ("right",),
        ),
        ("type: judge, model: grader, mode: schema", {"mode": "schema", "parse": "fenced"}, ("right",)),
    ],
)  # fmt: skip
def test_judge_stands_in_the_plan_with_every_default(
    project_at: Write, scorer: str, settings: dict[str, Any], metrics: tuple[str, ...]
) -> None:
    """Words, weights and how a reply is read are public; what the judge is told is not."""
    found = scorer_of(project_at, scorer)
    assert (found.settings, found.metrics, found.helper, found.version) == (settings, metrics, "grader", 1)


def test_texts_of_a_judge_are_commitments(project_at: Write) -> None:
    """Rules, template, documents, schema and passing verdicts; none of their words stands in the plan."""
    made = frozen(
        project_at,
        plan("type: judge, model: grader, rules: rules.md, template: template.md, documents: [contract.md], "
             "mode: schema, verdict_format: form.json, passing_verdicts: [{grade: splendid-and-more}]"),
    )  # fmt: skip
    (scorer,) = made.plan.scorers
    assert [(text.role, text.name) for text in scorer.texts] == [
        ("rules", "rules.md"), ("template", "template.md"), ("document", "contract.md"),
        ("schema", "verdict_format"), ("value", "passing_verdicts"),
    ]  # fmt: skip
    values = [made.openings[text.commitment].value for text in scorer.texts]
    assert values[0] == "Grade by these words.\n"
    assert values[3:] == [{"type": "object", "required": ["grade"]}, [{"grade": "splendid-and-more"}]]
    assert b"splendid" not in made.raw


def test_helper_is_a_configuration_of_its_own(project_at: Write) -> None:
    """Named by its key, under the profile default; what answers there is its server's word."""
    made = frozen(project_at, plan("type: similarity, model: grader, threshold: 0.8", helper=EMBEDDER))
    (helper,) = made.plan.helpers
    assert (helper.name, helper.model, helper.profile, helper.interface) == (
        "grader",
        "grader",
        "default",
        "embeddings",
    )
    assert (helper.model_id, helper.endpoint, helper.settings) == ("e-small", "https://h.example/v1", {})
    assert any(note.startswith("grader: what answers as e-small") for note in made.plan.unpinned)
    (judge,) = frozen(project_at, plan("type: judge, model: grader")).plan.helpers
    assert (judge.interface, judge.secret, judge.settings) == ("chat", "ANTHROPIC_API_KEY", {"max_tokens": 4096})


@pytest.mark.parametrize(
    ("scorer", "helper", "message", "hint"),
    [
        ("type: judge, model: grade", JUDGE, 'there is no helper "grade"', 'did you mean "grader"?'),
        ("type: judge, model: echo", JUDGE, 'there is no helper "echo"', "stands under helpers:"),
        ("type: judge, model: grader", EMBEDDER, 'is an embedder, and "right" needs a model that chats', "another helper"),
        ("type: similarity, model: grader, threshold: 0.8", JUDGE, "needs an embedder, with endpoint: embeddings", "another"),
        ("type: similarity, model: grader", EMBEDDER, '"threshold" is missing', ""),
        ("type: similarity, model: grader, threshold: 0", EMBEDDER, "lets every answer pass", ""),
        ("type: judge, model: grader", "{runner: command, argv: [sh]}", "", ""),
        ("type: judge, model: grader", "{runner: anthropic, model: m, role: comparison}", '"role": is said of models', ""),
        ("type: judge, model: grader", "{runner: anthropic, model: m, settings: {documents: [contract.md]}}", "stand under its scorer", ""),
        ("type: judge, model: grader", "{runner: anthropic, model: m, endpoint: embeddings}", "asked by the runners openai and openai-compatible alone", ""),
        ("type: similarity, model: grader, threshold: 0.8", EMBEDDER.replace("}", ", settings: {input: x}}"), "is what the runner itself sends", ""),
        ("type: similarity, model: grader, threshold: 0.8", EMBEDDER.replace("}", ", settings: {dimensions: 0}}"), "a whole number", ""),
        ("type: judge, model: grader, verdicts: {good: 1.5, bad: 0}", JUDGE, "expected a share between 0 and 1", ""),
        ("type: judge, model: grader, verdicts: {good: 1, Good: 0}, rules: rules.md", JUDGE, "the same word but for case", ""),
        ("type: judge, model: grader, verdicts: {good: 0.9, bad: 0}, rules: rules.md", JUDGE, "no verdict has right of 1 or more: nothing could pass", "pass_when"),
        ("type: judge, model: grader, verdicts: {good: 1, bad: 0}", JUDGE, 'the built-in rules do not say what "good" means', "write rules:"),
        ("type: judge, model: grader, metrics: [right, kind]", JUDGE, 'do not say what "kind" means', "write rules:"),
        ("type: judge, model: grader, pass_when: {rigth: 1}", JUDGE, '"rigth" is none of its metrics', ""),
        ("type: judge, model: grader, pass_when: {right: 2}", JUDGE, "expected a share between 0 and 1", "write a share"),
        ("type: judge, model: grader, pass_when: {right: 0}", JUDGE, "at least 0 whatever the judge says", ""),
        ("type: judge, model: grader, metric: a, metrics: [a, b]", JUDGE, '"metrics": stands beside "metric"', ""),
        ("type: judge, model: grader, threshold: 0.5", JUDGE, '"threshold": belongs to mode: score, and the mode here is verdicts', ""),
        ("type: judge, model: grader, mode: score", JUDGE, '"threshold" is missing', ""),
        ("type: judge, model: grader, mode: score, threshold: 7", JUDGE, '"threshold": 7 is not on the scale', ""),
        ("type: judge, model: grader, mode: score, threshold: 0", JUDGE, '"threshold": 0 is not on the scale', ""),
        ("type: judge, model: grader, mode: score, scale: [10, 0], threshold: 5", JUDGE, "its lowest and its highest score", ""),
        ("type: judge, model: grader, mode: score, scale: [1, 5], threshold: 3, forms: [fraction]", JUDGE, "scales that begin at 0", ""),
        ("type: judge, model: grader, mode: schema, verdict_format: form.json", JUDGE, '"verdict_format": stands without "passing_verdicts"', ""),
        ("type: judge, model: grader, mode: schema, passing_verdicts: [{correct: true}]", JUDGE, '"passing_verdicts": stands without "verdict_format"', ""),
        ("type: judge, model: grader, mode: schema, verdict_format: form.json, passing_verdicts: []", JUDGE, "nothing could pass", ""),
        ("type: judge, model: grader, mode: schema, verdict_format: form.json, passing_verdicts: {grade: 1}", JUDGE, "says so by its $schema", ""),
        ("type: judge, model: grader, mode: schema, verdict_format: form.json, passing_verdicts: [{grade: A}, {mark: A}]", JUDGE, "this verdict does not meet verdict_format", "correct the verdict"),
        ("type: judge, model: grader, rules: blank.md", JUDGE, "blank.md is blank", ""),
        ("type: judge, model: grader, rules: none.md", JUDGE, "none.md does not exist", ""),
        ("type: judge, model: grader, documents: [contract.md, contract.md]", JUDGE, "is named twice", ""),
        ("type: judge, model: grader, template: wrong.md", JUDGE, "there is no placeholder {{json candidat}}", "json candidate"),
        ("type: judge, model: grader, template: plain.md", JUDGE, "there is no placeholder {{candidate}}", "write {{json candidate}}"),
        ("type: judge, model: grader, template: open.md", JUDGE, "a placeholder is not closed", ""),
        ("type: judge, model: grader, template: deaf.md", JUDGE, "the template does not hold the answer", ""),
        ("type: judge, model: grader, template: mute.md, rules: rules.md", JUDGE, "the rules would not reach the judge", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(project_at: Write, scorer: str, helper: str, message: str, hint: str) -> None:
    """Each with its place and one thing to do, before anything is spent."""
    with pytest.raises(SpecError) as error:
        frozen(project_at, plan(scorer, helper=helper))
    assert message in error.value.message
    assert hint in (error.value.hint or "")
    assert error.value.hint not in (None, "", "correct it"), "it says what to write"
    assert not message or "\n" not in error.value.message, "one mistake is told once"
    assert ":" in (error.value.where or "") or ".md" in (error.value.where or "")


def test_two_scorers_share_no_further_metric_on_one_case(project_at: Write) -> None:
    """A judge's second metric is as much its own as the first."""
    text = plan("type: judge, model: grader, metrics: [right, grounded]").replace(
        "pass_mark:", "  grounded: {type: exact}\npass_mark:"
    )
    with pytest.raises(SpecError, match='both give "grounded"'):
        frozen(project_at, text)


def test_similarity_needs_something_to_be_near_to(project_at: Write) -> None:
    """A case without a reference could never be scored."""
    text = plan("type: similarity, model: grader, threshold: 0.8", helper=EMBEDDER)
    with pytest.raises(SpecError, match='case "q1" has no reference, and "right" compares with it'):
        frozen(project_at, text, **{"cases/a.csv": "id,input,reference\nq1,Is it?,\n"})


def test_judge_needs_something_to_judge_by(project_at: Write) -> None:
    """The built-in rules grade by references, passages or documents; rules of one's own may grade by themselves."""
    bare = {"cases/a.csv": "id,input,reference\nq1,Is it?,\n"}
    with pytest.raises(SpecError, match=r'case "q1" has no reference and no context.*nothing to judge it by'):
        frozen(project_at, plan("type: judge, model: grader"), **bare)
    for given in ("documents: [contract.md]", "rules: rules.md"):
        assert frozen(project_at, plan(f"type: judge, model: grader, {given}"), **bare)


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ("\n  same: {runner: openrouter, model: anthropic/claude-opus-5-5}", 'is also the model "same"'),
        ("\n  kin: {runner: anthropic, model: claude-haiku-5-5}", 'is of the family of the model "kin"'),
        ("\n  kin: {runner: openrouter, model: anthropic/claude-haiku-5-5}", 'is of the family of the model "kin"'),
        ("\n  other: {runner: openai, model: gpt-5}", ""),
    ],
)
def test_judge_that_is_a_candidate_or_of_its_family_is_told(project_at: Write, models: str, told: str) -> None:
    """T39: a warning in the plan, and an error where the scorer is strict."""
    text = plan("type: judge, model: grader", models=models)
    found = [item for item in frozen(project_at, text).warnings if "the judge of" in item]
    assert (told in found[0] and "it may favour its own answers" in found[0]) if told else not found
    strict = text.replace("model: grader}", "model: grader, strict_judge: true}")
    if told:
        with pytest.raises(SpecError, match="the judge of"):
            frozen(project_at, strict)
    else:
        assert frozen(project_at, strict)


def test_helper_that_serves_nothing_is_told_and_a_name_is_one_thing(project_at: Write) -> None:
    """An idle helper is a warning; a helper called like a model would share its cassette."""
    assert any(
        "the helper grader serves no scorer" in item for item in frozen(project_at, plan("type: exact")).warnings
    )
    with pytest.raises(SpecError, match='"echo" is a model and a helper'):
        frozen(project_at, plan("type: exact").replace("  grader:", "  echo:"))


def test_helpers_in_two_currencies_are_refused(project_at: Write) -> None:
    """They are added up, cell by cell."""
    text = plan("type: judge, model: grader", helper=JUDGE[:-1] + ", pricing: {input: 1, output: 2}}").replace(
        "repeats:",
        "  emb: {runner: openai, model: e, endpoint: embeddings, pricing: {currency: EUR, input: 1, output: 0}}\nrepeats:",
        1,
    )
    with pytest.raises(SpecError, match="helpers are priced in USD and EUR"):
        frozen(project_at, text)


def test_bound_of_a_judge_is_two_asks_with_the_longest_answer(project_at: Write) -> None:
    """T34: the candidate's output limit goes in twice, the judge's own comes out twice; a longer question costs more."""
    model = "\n  m: {runner: anthropic, model: claude-haiku-5-5, settings: {max_tokens: 100}, pricing: free}"
    helper = JUDGE[:-1] + ", settings: {max_tokens: 50}, pricing: {input: '1', output: '10'}}"
    made = frozen(project_at, plan("type: judge, model: grader", helper=helper, models=model))
    opened = {name: item.value for name, item in made.openings.items()}
    cases = {case.id: case for case in load_project(project_at(PLAN)).cases}
    helping = HelperBounds(made.plan, opened, cases)
    ((name, tokens, output, cost),) = helping.of("q1", 100)
    assert (name, output) == ("grader", 100)
    assert tokens > 2 * 100 + 2 * 4096 // 3
    assert cost is not None
    assert cost.nano == tokens * 1000 + output * 10_000
    (item,) = [item for item in made.plan.configurations if item.name == "m"]
    assert AttemptBounds(item, opened, cases, helping).of("q1").whole == cost.nano
    unknown = HelperBounds(made.plan.replace(helpers=(made.plan.helpers[0].replace(pricing=None),)), opened, cases)
    assert AttemptBounds(item, opened, cases, unknown).of("q1").whole is None


@pytest.mark.parametrize("place", ["helper", "provider"])
def test_limit_on_tokens_that_one_request_to_a_helper_exceeds_is_refused(project_at: Write, place: str) -> None:
    """R02: it would never be its turn; told with the numbers and the place, before anything is asked."""
    limits = ", limits: {tokens_per_minute: 600}" if place == "helper" else ""
    helper = "{runner: anthropic, model: claude-opus-5-5, settings: {max_tokens: 500}, provider: acme" + limits + "}"
    text = plan("type: judge, model: grader", helper=helper)
    if place == "provider":
        text = text.replace("\nrepeats:", "\nproviders: {acme: {tokens_per_minute: 600}}\nrepeats:", 1)
    with pytest.raises(SpecError) as caught:
        validate(project_at(text, FILES))
    assert caught.value.code == "PACE"
    assert 'one request of "grader"' in caught.value.message
    assert "600 a minute are allowed" in caught.value.message
    assert caught.value.where
