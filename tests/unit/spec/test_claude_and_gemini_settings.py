# SPDX-License-Identifier: Apache-2.0
"""What may be set for Claude and Gemini: every parameter with its range, and what does not go together."""

from __future__ import annotations

from typing import Any

import pytest

from trialplate.spec.providers import provider_of
from trialplate.spec.providers.base import wrong_settings

EFFORTS = ("low", "medium", "high", "xhigh", "max")


def told(runner: str, **settings: Any) -> list[str]:
    """Return what is wrong with settings, with the provider's defaults below them."""
    provider = provider_of(runner)
    return [
        f"{name}: {wrong} ({hint})" for name, wrong, hint in wrong_settings(provider, {**provider.defaults, **settings})
    ]


@pytest.mark.parametrize(
    ("runner", "name", "fine", "wrong"),
    [
        ("anthropic", "max_tokens", [1, 128000], [0, -1, 1.5, True, "9", None]),
        ("anthropic", "temperature", [0, 0.5, 1], [-0.1, 1.1, True, "0", float("nan")]),
        ("anthropic", "top_p", [0, 1], [-0.1, 1.1]),
        ("anthropic", "top_k", [0, 40], [-1, 0.5]),
        ("anthropic", "stop_sequences", [["###"]], ["###"]),
        ("anthropic", "effort", EFFORTS, ["minimal", "none", 1]),
        (
            "anthropic",
            "thinking",
            ["disabled", "between_tools", {"type": "adaptive", "display": "omitted"}],
            ["off", {}, []],
        ),
        ("anthropic", "thinking_budget_tokens", [1024, 4095], [1023, 4096, 2048.0]),
        ("anthropic", "output_config", [{"effort": "low"}], [{"format": {}}, "low"]),
        ("anthropic", "prompt_cache_ttl", ["5m", "1h"], ["5 m", 300]),
        ("anthropic", "legacy_structured_output", [True, False], ["yes"]),
        ("anthropic", "server_tools", [[{"type": "web_search_20250305", "name": "web_search"}]], [{}, [{}], [1]]),
        ("anthropic", "service_tier", ["auto", "standard_only"], ["priority"]),
        ("anthropic", "stream", [True, False], [1]),
        ("google", "temperature", [0, 2], [-0.1, 2.1]),
        ("google", "top_p", [0, 1], [1.1]),
        ("google", "top_k", [0, 40], [-1, 1.5]),
        ("google", "max_output_tokens", [1], [0]),
        ("google", "stop_sequences", [["###"]], ["###"]),
        ("google", "presence_penalty", [-9, 9.5], ["1", float("inf")]),
        ("google", "frequency_penalty", [-9, 9.5], [True]),
        ("google", "seed", [-(2**31), 0, 2**31 - 1], [2**31, -(2**31) - 1, 1.0]),
        ("google", "thinking_level", ["minimal", "low", "medium", "high"], ["HIGH", "none"]),
        ("google", "media_resolution", ["low", "medium", "high"], ["ultra"]),
        ("google", "text_response_format", [True], [1]),
        ("google", "text_response_format_with_tools", [False], ["no"]),
    ],
)
def test_parameter_has_its_range(runner: str, name: str, fine: list[Any], wrong: list[Any]) -> None:
    """At both ends; true is no number, and a number is no flag."""
    assert [value for value in fine if told(runner, **{name: value})] == []
    assert [value for value in wrong if not told(runner, **{name: value})] == []


def test_every_parameter_is_held_to_its_range_here() -> None:
    """A parameter that comes later comes with its ends."""
    (marked,) = [mark for mark in test_parameter_has_its_range.pytestmark if mark.name == "parametrize"]
    named = {(case[0], case[1]) for case in marked.args[1]}
    assert named == {(runner, name) for runner in ("anthropic", "google") for name in provider_of(runner).parameters}


@pytest.mark.parametrize(
    ("runner", "settings", "words"),
    [
        ("anthropic", {"effort": "low", "thinking_budget_tokens": 2048}, "stands beside effort"),
        ("anthropic", {"thinking": "disabled", "thinking_budget_tokens": 2048}, "stands beside thinking"),
        ("anthropic", {"effort": "low", "output_config": {"effort": "high"}}, "stands beside effort"),
        ("anthropic", {"thinking_budget_tokens": 4096}, "is not below max_tokens, which is 4096"),
        ("anthropic", {"output_config": {"format": {}}}, "follows from the case"),
        ("anthropic", {"cache_control": {}}, "write prompt_cache_ttl"),
        ("anthropic", {"tools": []}, "under server_tools:"),
        ("anthropic", {"system": "x"}, "is what the runner itself sends"),
        ("google", {"max_tokens": 9}, "write max_output_tokens"),
        ("google", {"candidate_count": 1}, "is what the runner itself sends"),
        ("google", {"temprature": 1}, "temperature"),
    ],
)
def test_settings_that_do_not_go_together_are_told(runner: str, settings: dict[str, Any], words: str) -> None:
    """In one sentence, with what to do."""
    (only,) = told(runner, **settings)
    assert words in only


def test_effort_may_stand_beside_a_kind_of_thinking() -> None:
    """How much is one thing, and when is another."""
    assert told("anthropic", effort="low", thinking="disabled") == []
    assert told("anthropic", effort="low", thinking={"type": "enabled", "budget_tokens": 2048}) == []


def test_files_are_those_of_the_documentation() -> None:
    """GIF is an image to Claude and none to Gemini; text travels as text to the one, inline to the other."""
    assert "image/gif" in provider_of("anthropic").accepts
    assert "image/gif" not in provider_of("google").accepts
    assert {"application/pdf", "text/plain"} <= provider_of("anthropic").accepts & provider_of("google").accepts
    assert "text/csv" not in provider_of("anthropic").accepts
