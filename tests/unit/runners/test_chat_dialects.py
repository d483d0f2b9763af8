# SPDX-License-Identifier: Apache-2.0
"""Where dialects of chat completions differ in what a reply means, beside what their golden vectors show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record.entries import Usage
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure
from trialplate.runners.hosted import provider_module
from trialplate.spec.providers import provider_of
from trialplate.spec.providers.base import wrong_settings

JSON_TYPE = {"content-type": "application/json"}
STREAM_TYPE = {"content-type": "text/event-stream"}
RUNNERS = ("deepseek", "xai", "mistralai", "alibaba", "moonshotai")
DOCUMENTED = Path(__file__).parents[3] / "docs" / "reference" / "runners.md"


def completion(usage: Any = None, finish: str = "stop", content: Any = "Paris") -> dict[str, Any]:
    """Return a completion object with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def parsed(runner: str, body: Any, status: int = 200) -> Answer:
    """Read a reply as a provider's."""
    return provider_module(runner).parse_reply(status, JSON_TYPE, json.dumps(body).encode())


def failed(runner: str, body: Any, status: int = 200) -> Failure:
    """Read a reply that must be a failure."""
    with pytest.raises(Failure) as caught:
        parsed(runner, body, status)
    return caught.value


def streamed(runner: str, *events: Any) -> Answer:
    """Read a stream as a provider's."""
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return provider_module(runner).parse_reply(200, STREAM_TYPE, lines.encode())


def refused(runner: str, **settings: Any) -> list[str]:
    """Return the names of the settings that cannot be sent."""
    return [name for name, _, _ in wrong_settings(provider_of(runner), settings)]


# ----------------------------------------------------------------------------------------------------------- usage


def test_reasoning_of_xai_is_added_to_the_output() -> None:
    """Its completion tokens leave the reasoning out, as its total shows."""
    usage: dict[str, Any] = {"prompt_tokens": 436, "completion_tokens": 68, "total_tokens": 652}
    usage["completion_tokens_details"] = {"reasoning_tokens": 148}

    assert parsed("xai", completion(usage)).usage == Usage(input=436, output=216, reasoning=148)


def test_reasoning_is_not_counted_twice_where_the_total_shows_that_it_is_in_the_output() -> None:
    """A gateway in front of xAI may have added it already."""
    usage: dict[str, Any] = {"prompt_tokens": 686, "completion_tokens": 123, "total_tokens": 809}
    usage["completion_tokens_details"] = {"reasoning_tokens": 112}

    assert parsed("xai", completion(usage)).usage == Usage(input=686, output=123, reasoning=112)


def test_reasoning_of_xai_is_added_where_there_is_no_total() -> None:
    """The provider's own way of counting holds until a total says otherwise."""
    usage: dict[str, Any] = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "completion_tokens_details": {"reasoning_tokens": 5},
    }

    assert parsed("xai", completion(usage)).usage == Usage(input=10, output=7, reasoning=5)


@pytest.mark.parametrize("runner", ["deepseek", "moonshotai"])
def test_cached_tokens_are_also_read_where_openai_has_them(runner: str) -> None:
    """A gateway, or a newer model, may say it there alone."""
    usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}

    assert parsed(runner, completion(usage)).usage == Usage(input=10, output=2, cache_read=8)


def test_zero_of_the_providers_own_count_is_no_gap() -> None:
    """An explicit zero stands, whatever is written elsewhere."""
    usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 0}
    usage["prompt_tokens_details"] = {"cached_tokens": 8}

    assert parsed("moonshotai", completion(usage)).usage == Usage(input=10, output=2, cache_read=0)


def test_usage_of_a_stream_may_stand_in_a_choice() -> None:
    """The usage of the whole stream goes before it."""
    end = {"choices": [{"index": 0, "delta": {"content": "Paris"}, "finish_reason": "stop", "usage": {}}]}
    end["choices"][0]["usage"] = {"prompt_tokens": 5, "completion_tokens": 1}

    assert streamed("moonshotai", end).usage == Usage(input=5, output=1)
    whole = {"choices": [], "usage": {"prompt_tokens": 6, "completion_tokens": 2}}
    assert streamed("moonshotai", end, whole).usage == Usage(input=6, output=2)


# -------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("runner", "finish", "status"), [("deepseek", "insufficient_system_resource", 503), ("mistralai", "error", 500)]
)
def test_reply_that_the_service_broke_off_is_no_answer(runner: str, finish: str, status: int) -> None:
    """Its text is half an answer, and nothing that the model is to blame for; what it cost is kept."""
    failure = failed(runner, completion({"prompt_tokens": 10, "completion_tokens": 1}, finish))

    assert (failure.kind, failure.status) == ("http_status", status)
    assert failure.usage == Usage(input=10, output=1)
    assert finish in failure.message


def test_broken_choice_needs_no_message() -> None:
    """Mistral's specification lets it be left out."""
    body = completion()
    body["choices"] = [{"index": 0, "finish_reason": "error"}]

    assert failed("mistralai", body).status == 500


def test_error_body_inside_a_200_is_an_error_also_without_a_member_of_that_name() -> None:
    """Mistral's error bodies are the error; one may name its status."""
    failure = failed("mistralai", {"object": "error", "message": "Rate limit exceeded", "code": 429})

    assert (failure.kind, failure.status) == ("http_status", 429)
    assert "Rate limit exceeded" in failure.message


def test_refusal_by_the_safety_check_of_xai_is_no_matter_of_the_key() -> None:
    """Any other 403 is."""
    code = "The caller does not have permission to execute the specified operation"
    unsafe = {"code": code, "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}

    assert failed("xai", unsafe, 403).status == 400
    assert failed("xai", {"code": code, "error": "The API key is disabled."}, 403).status == 403


def test_account_of_alibaba_in_arrears_is_no_rejected_request() -> None:
    """Any other 400 is."""
    owing = {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."}
    wrong = {"code": "invalid_parameter_error", "message": "The thinking_budget parameter must be positive."}

    assert failed("alibaba", {"error": owing}, 400).status == 402
    assert failed("alibaba", {"error": wrong}, 400).status == 400


@pytest.mark.parametrize(
    ("runner", "told"),
    [
        ("alibaba", "Output data may contain inappropriate content."),
        ("moonshotai", "The request was rejected because it was considered high risk"),
    ],
)
def test_content_that_is_refused_counts_alike_before_and_inside_a_stream(runner: str, told: str) -> None:
    """Else a model would be failed for it or not, as the setting `stream` has it; other errors keep their status."""
    error = {"error": {"message": told, "type": "x"}}

    assert failed(runner, error, 400).status == 400
    with pytest.raises(Failure) as caught:
        streamed(runner, {"choices": [{"index": 0, "delta": {"content": "I"}}]}, error)
    assert caught.value.status == 400
    with pytest.raises(Failure) as caught:
        streamed(runner, {"error": {"message": "The engine is currently overloaded", "type": "x"}})
    assert caught.value.status == 200


# -------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("runner", "setting", "value"),
    [
        ("deepseek", "thinking", "auto"),
        ("deepseek", "temperature", 2.1),
        ("deepseek", "max_tokens", 0),
        ("deepseek", "seed", 1),
        ("xai", "seed", 2**31),
        ("xai", "presence_penalty", -2.5),
        ("xai", "stream", True),
        ("mistralai", "temperature", 1.6),
        ("mistralai", "prompt_mode", "fast"),
        ("mistralai", "seed", 1),
        ("alibaba", "thinking_budget", 0),
        ("alibaba", "enable_thinking", "yes"),
        ("alibaba", "seed", 2**32),
        ("moonshotai", "temperature", 1.1),
        ("moonshotai", "preserve_thinking", True),
        ("moonshotai", "reasoning_effort", "medium"),
    ],
)
def test_setting_that_a_provider_does_not_take_is_refused(runner: str, setting: str, value: Any) -> None:
    """Before anything is spent: a wrong value, or a name that it does not know."""
    assert refused(runner, **{setting: value}) == [setting]


@pytest.mark.parametrize(
    ("runner", "pair"),
    [
        ("alibaba", {"max_tokens": 1, "max_completion_tokens": 1}),
        ("alibaba", {"thinking_budget": 1, "reasoning_effort": "low"}),
        ("moonshotai", {"max_tokens": 1, "max_completion_tokens": 1}),
    ],
)
def test_settings_that_exclude_one_another_are_refused(runner: str, pair: dict[str, Any]) -> None:
    """Which of them would hold is not ours to guess."""
    assert len(refused(runner, **pair)) == 1


@pytest.mark.parametrize("runner", RUNNERS)
def test_schema_for_the_answer_is_refused_where_the_provider_has_none(runner: str) -> None:
    """Each trial would be a rejected request, which would be told as the model's own failure."""
    endpoint = provider_of(runner).url
    fields: dict[str, Any] = {"name": "m", "model": "m", "profile": "default", "runner": runner, "model_id": "m-1"}
    check = provider_module(runner).check_configuration
    check(Configuration(**fields, endpoint=endpoint, structured="json_object"))
    native = Configuration(**fields, endpoint=endpoint, structured="native")
    if runner != "deepseek":
        return check(native)
    with pytest.raises(SpecError) as caught:
        check(native)
    assert (caught.value.where, caught.value.hint) == ("models.m", "write structured: json_object")
    return None


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_parameter_stands_in_the_documentation_and_no_other(runner: str) -> None:
    """The table of a provider's section names exactly what the provider takes."""
    section = DOCUMENTED.read_text(encoding="utf-8").split(f"\n## {runner}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]

    assert sorted(re.findall(r"`([a-z_]+)`", " ".join(rows))) == sorted(provider_of(runner).parameters)
