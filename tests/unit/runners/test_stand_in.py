# SPDX-License-Identifier: Apache-2.0
"""The stand-in: every form of its script."""

from __future__ import annotations

from typing import Any

import pytest

from trialplate.errors import SpecError
from trialplate.record.entries import Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration, PlanText
from trialplate.runners.base import Answer, Failure, Request, RunnerContext
from trialplate.runners.stand_in import make

ANSWERS = PlanText(role="answers", commitment="A" * 43)


def configuration(*texts: PlanText) -> Configuration:
    """Return a configuration with these texts."""
    return Configuration(name="s", model="s", profile="default", runner="stand-in", texts=texts)


async def answered(script: Json, case: str = "q1", repeat: int = 1, attempt: int = 1) -> Answer:
    """Ask the stand-in once."""
    asked = configuration(ANSWERS)
    runner = make(asked, RunnerContext(project=None, environ={}))  # type: ignore[arg-type]
    request = Request(
        configuration=asked,
        case=Case(id=case, input="?"),
        texts={("answers", ""): script},
        repeat=repeat,
        attempt=attempt,
        timeout_s=1.0,
        request_id="r",
    )
    return await runner.answer(request)


@pytest.mark.parametrize(
    ("script", "case", "repeat", "text"),
    [
        ("always", "q9", 7, "always"),
        (["first turn", "second turn"], "q1", 2, "first turn"),
        ({"q1": "one", "q2": "two"}, "q2", 3, "two"),
        ({"q1": "one", "*": "other"}, "q9", 1, "other"),
        ({"q1": ["a", "b", "c"]}, "q1", 2, "b"),
        ({"q1": ["a", "b", "c"]}, "q1", 4, "a"),
        ({"q1": {"text": "rich"}}, "q1", 1, "rich"),
        ({"q1": [{"attempts": [{"error": "transport"}, "second try"]}]}, "q1", 1, "second try"),
    ],
)
async def test_script_in_each_form_gives_its_answer(script: Json, case: str, repeat: int, text: str) -> None:
    """By turn, by case, by repeat, by attempt."""
    assert (await answered(script, case, repeat, attempt=2)).text == text


async def test_entry_with_everything_gives_everything() -> None:
    """Usage, finish reason, served model, latency and refusal as a real answer has them."""
    entry = {
        "text": "Par",
        "usage": {"input": 3, "output": 0},
        "finish": "length",
        "served": "m-2",
        "latency_ms": 5,
        "refusal": True,
    }
    answer = await answered({"*": entry})
    assert answer == Answer(
        text="Par",
        usage=Usage(input=3, output=0),
        finish="length",
        served="m-2",
        latency_ms=5,
        received=3,
        refusal=True,
    )


async def test_plain_entry_has_no_usage() -> None:
    """Unknown is not zero."""
    assert (await answered("x")).usage is None


async def test_scripted_error_fails_as_a_real_one_does() -> None:
    """With the status and the wait that a far end would give."""
    entry = {"error": "http_status", "status": 429, "retry_after_s": 1, "message": "slow down"}
    with pytest.raises(Failure) as caught:
        await answered({"*": entry})
    failure = caught.value
    assert (failure.kind, failure.status, failure.retry_after_s) == ("http_status", 429, 1)
    assert (failure.message, failure.sent) == ("slow down", True)


async def test_scripted_refused_connection_was_not_sent() -> None:
    """What was never sent is never the far end's own failure."""
    with pytest.raises(Failure) as caught:
        await answered({"*": {"error": "refused_connection"}})
    assert not caught.value.sent


async def test_case_that_the_script_forgets_is_no_wrong_answer() -> None:
    """It is a failure that names the case."""
    with pytest.raises(Failure, match="'q2'") as caught:
        await answered({"q1": "one"}, "q2")
    assert caught.value.kind == "not_started"


@pytest.mark.parametrize(
    "script",
    [
        [],
        7,
        {"q1": []},
        {"q1": 7},
        {"q1": {"text": 7}},
        {"q1": {"txt": "x"}},
        {"q1": {"text": "x", "usage": {"input": -1}}},
        {"q1": {"text": "x", "latency_ms": "5"}},
        {"q1": {"error": "boom"}},
        {"q1": {"error": "timeout", "text": "x"}},
        {"q1": {"attempts": []}},
        {"q1": {"attempts": ["x"], "text": "y"}},
    ],
)
async def test_script_of_another_form_is_refused(script: Json) -> None:
    """A typing error is no answer and no failure of a model."""
    with pytest.raises(SpecError) as caught:
        await answered(script)
    assert caught.value.code == "STAND-IN"


@pytest.mark.parametrize("texts", [(), (ANSWERS, ANSWERS)])
def test_configuration_without_exactly_one_script_is_refused(texts: Any) -> None:
    """Before anything runs."""
    with pytest.raises(SpecError):
        make(configuration(*texts), RunnerContext(project=None, environ={}))  # type: ignore[arg-type]
