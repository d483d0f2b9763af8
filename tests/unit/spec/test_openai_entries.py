# SPDX-License-Identifier: Apache-2.0
"""What an author writes about models of OpenAI and OpenRouter: what it comes to in a plan, and what is refused."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from author_files import CASES, PLAN

from trialplate.errors import SpecError
from trialplate.record.values import Configuration
from trialplate.spec.freeze import freeze
from trialplate.spec.project import load_project
from trialplate.spec.providers import provider_of
from trialplate.spec.providers.base import wrong_settings
from trialplate.spec.providers.openai import is_chat

Write = Callable[..., Path]
DOCUMENTED = Path(__file__).parents[3] / "docs" / "reference" / "runners.md"
ECHO = 'echo: {runner: stand-in, answers: {"*": "yes"}}'


def only(project_at: Write, entry: str) -> Configuration:
    """Return the one configuration of a small project with this model."""
    root = project_at(PLAN.replace(ECHO, f"m: {{{entry}}}"), {"cases/a.csv": CASES})
    (found,) = freeze(load_project(root), bytes(32)).plan.configurations
    return found


@pytest.mark.parametrize(
    ("runner", "model", "endpoint", "secret"),
    [
        ("openai", "gpt-5.4", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("openai", "gpt-4.1", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("openrouter", "anthropic/claude-opus-5", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ],
)
def test_model_needs_its_id_alone(project_at: Write, runner: str, model: str, endpoint: str, secret: str) -> None:
    """Address and key variable have their defaults, and nothing is sent that was not written."""
    found = only(project_at, f"runner: {runner}, model: {model}")
    assert (found.endpoint, found.secret, found.settings) == (endpoint, secret, {})


@pytest.mark.parametrize(
    ("model", "chat"),
    [
        ("gpt-3.5-turbo", True),
        ("gpt-4o-mini", True),
        ("o1", True),
        ("o3-mini", True),
        ("o4-mini", True),
        ("gpt-5.4", False),
        ("o1-pro-2025-03-19", False),
        ("o3-pro", False),
        ("o3-deep-research", False),
        ("o4-mini-deep-research", False),
        ("chatgpt-4o-latest", False),
    ],
)
def test_family_decides_the_interface_and_its_table(model: str, chat: bool) -> None:
    """What is sent and what is accepted go by the same line."""
    provider = provider_of("openai", model)
    assert is_chat(model) is chat
    assert ("seed" in provider.parameters) is chat
    assert ("text/csv" in provider.accepts) is not chat


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("runner: openai, model: gpt-5.4, settings: {seed: 1}", '"seed": is no parameter of the Responses API'),
        ("runner: openai, model: gpt-4.1, settings: {reasoning_mode: pro}", "is no parameter of chat completions"),
        ("runner: openai, model: gpt-5.4, settings: {temperature: 2.1}", "expected a number from 0 to 2"),
        ("runner: openai, model: gpt-5.4, settings: {reasoning_effort: most}", "expected one of none, minimal"),
        ("runner: openai, model: gpt-5.4, settings: {max_tokens: 5}", "is no parameter of this provider"),
        ("runner: openai, model: gpt-5.4, settings: {max_completion_tokens: 0}", "a whole number of at least 1"),
        ("runner: openai, model: gpt-5.4, settings: {stream: 1}", "expected true or false"),
        ("runner: openrouter, model: a/b, settings: {max_tokens: 5, max_completion_tokens: 5}", "only one of them may"),
        ("runner: openrouter, model: a/b, settings: {tools: []}", "under server_tools:"),
        (
            "runner: openrouter, model: a/b, settings: {server_tools: [{parameters: {}}]}",
            "a list of objects, each with",
        ),
        ("runner: openrouter, model: a/b, settings: {server_tools: web}", "a list of objects, each with type:"),
        ("runner: openrouter, model: a/b, settings: {top_k: 1.5}", "a whole number of at least 0"),
    ],
)
def test_setting_that_cannot_be_sent_is_refused_at_freeze(project_at: Write, entry: str, words: str) -> None:
    """With the reason, where the other interface of the provider takes it."""
    with pytest.raises(SpecError) as caught:
        only(project_at, entry)
    assert words in f"{caught.value} ({caught.value.hint})"


def test_openrouter_passes_on_what_it_does_not_know(project_at: Write) -> None:
    """Parameters of the providers behind it, as they are written."""
    found = only(project_at, "runner: openrouter, model: a/b, settings: {safe_prompt: true, provider: {zdr: true}}")
    assert found.settings == {"safe_prompt": True, "provider": {"zdr": True}}


@pytest.mark.parametrize(("runner", "model"), [("openai", "gpt-5.4"), ("openai", "gpt-4.1"), ("openrouter", "a/b")])
def test_ranges_hold_at_their_ends(runner: str, model: str) -> None:
    """Both ends are in, what is beyond is not, and a boolean is no number."""
    provider = provider_of(runner, model)
    checked = 0
    for name, parameter in provider.parameters.items():
        ends = {item.name: getattr(parameter, item.name) for item in dataclasses.fields(parameter)}
        for end, step in (("low", -1), ("high", 1)):
            edge = ends.get(end)
            if isinstance(edge, int):
                checked += 1
                assert not list(wrong_settings(provider, {name: edge}))
                assert list(wrong_settings(provider, {name: edge + step}))
                assert list(wrong_settings(provider, {name: True}))
    assert checked > 4


@pytest.mark.parametrize(("runner", "models"), [("openai", ("gpt-5.4", "gpt-4.1")), ("openrouter", ("a/b",))])
def test_every_parameter_stands_in_the_documentation_and_no_other(runner: str, models: tuple[str, ...]) -> None:
    """The table of a provider's section names exactly what its interfaces take."""
    section = DOCUMENTED.read_text(encoding="utf-8").split(f"\n## {runner}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    taken = {name for model in models for name in provider_of(runner, model).parameters}
    assert sorted(re.findall(r"`([a-z_]+)`", " ".join(rows))) == sorted(taken)
