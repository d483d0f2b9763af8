# SPDX-License-Identifier: Apache-2.0
"""The runner of a package or of a person's own: two forms, and whatever it does is its own."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialplate import RunOutput
from trialplate.errors import SpecError
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, Limits, PlanText
from trialplate.runners.base import Answer, Failure, Request, RunnerContext
from trialplate.runners.own import AskedModel, OwnRunner, Question
from trialplate.transport.secrets import Secrets

CASE = Case(id="q1", input="Capital of France?", references=("Paris",), tags=("geo",), context=("a passage",))
OWN = Configuration(
    name="m/terse",
    model="m",
    profile="terse",
    runner="mine",
    plugin="object here:Mine",
    settings={"model": "big", "settings": {"t": 1}},
)


def context(**environ: str) -> RunnerContext:
    """Return what a runner may use."""
    return RunnerContext(project=Path(), environ=environ, secrets=Secrets())


class Runs:
    """Does what it is told to."""

    def __init__(self, act: Any) -> None:
        self.act, self.seen = act, []
        self.closed = 0

    def run(self, model: AskedModel, case: Question) -> Any:
        """Note what it was asked, and act."""
        self.seen.append((model, case))
        return self.act() if callable(self.act) else self.act

    def close(self) -> None:
        """Count."""
        self.closed += 1


def request(configuration: Configuration = OWN, timeout_s: float = 30, **fields: Any) -> Request:
    """Return an attempt."""
    made = Request(configuration=configuration, case=CASE, repeat=1, attempt=1, timeout_s=timeout_s, request_id="r")
    return replace(made, **fields)


async def answered(act: Any, configuration: Configuration = OWN, **fields: Any) -> Answer:
    """Return the answer of an object that does this."""
    return await OwnRunner(configuration, context(), Runs(act), closes=False).answer(request(configuration, **fields))


async def failed(act: Any, configuration: Configuration = OWN, **fields: Any) -> Failure:
    """Return the failure of an object that does this."""
    with pytest.raises(Failure) as caught:
        await answered(act, configuration, **fields)
    return caught.value


async def test_text_is_an_answer_of_unknown_cost() -> None:
    """T43: a plain text says nothing of what it took, and that is not zero."""
    answer = await answered("Paris")
    assert (answer.text, answer.usage, answer.received) == ("Paris", None, 5)


async def test_cost_and_tokens_are_its_own_word() -> None:
    """They are marked as declared."""
    answer = await answered(RunOutput("Paris", cost_usd=0.001, tokens={"input": 7, "output": 1, "more": 3}))
    assert answer.usage == Usage(input=7, output=1, declared=True, cost_nano=1_000_000)


async def test_coroutine_is_waited_for() -> None:
    """`async def run` is as good."""

    async def later() -> str:
        await asyncio.sleep(0)
        return "Paris"

    assert (await answered(later)).text == "Paris"


async def test_it_is_told_the_question_and_neither_answer_nor_mark() -> None:
    """What could help it to pass stays away: references, context, tags."""
    configuration = OWN.replace(
        secret="KEY",
        texts=(
            PlanText(role="system", commitment="c" * 43),
            PlanText(role="document", name="d.md", commitment="d" * 43),
        ),
    )
    made = Runs("Paris")
    texts = {("system", ""): "Be terse.", ("document", "d.md"): "Text"}
    runner = OwnRunner(configuration, context(KEY="top-secret"), made, closes=False)
    await runner.answer(request(configuration, texts=texts, instructions=("One word.",)))
    ((model, case),) = made.seen
    assert case == Question(id="q1", input="Capital of France?", instructions=("One word.",))
    assert (model.id, model.name, model.system, model.key) == ("big", "m/terse", "Be terse.", "top-secret")
    assert model.settings == {"t": 1, "documents": {"d.md": "Text"}}
    assert "top-secret" not in repr(model)


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        (lambda: 1 / 0, "exit_status", "the runner raised ZeroDivisionError: division by zero (test_own_runner.py:"),
        (lambda: (_ for _ in ()).throw(SystemExit(0)), "exit_status", "the runner raised SystemExit"),
        (RunOutput(failed="no such account"), "exit_status", "the runner failed: no such account"),
        (None, "bad_reply", "returned NoneType, not a text or a RunOutput"),
        (7, "bad_reply", "returned int"),
        (RunOutput(7), "bad_reply", "RunOutput.output is int"),
        (RunOutput("x", cost_usd=float("nan")), "bad_reply", "cost_usd is nan"),
        (RunOutput("x", tokens={"input": -1}), "bad_reply", "not counts by name"),
        ("x" * 101, "too_long", "more than 100 bytes"),
    ],
)
async def test_whatever_is_no_answer_is_its_own_failure(act: Any, kind: str, words: str) -> None:
    """It was asked, so nothing of it is an outage."""
    found = await failed(act if callable(act) else lambda: act, OWN.replace(limits=Limits(answer_bytes=100)))
    assert found.kind == kind
    assert found.sent
    assert words in found.message


@pytest.mark.parametrize("form", ["thread", "coroutine"])
async def test_hang_ends_with_the_attempts_time(form: str) -> None:
    """A thread cannot be killed: it is left behind."""
    let_go = threading.Event()
    act = let_go.wait if form == "thread" else lambda: asyncio.Event().wait()
    found = await failed(act, timeout_s=0.01)
    assert (found.kind, found.sent) == ("timeout", True)
    assert "left behind" in found.message
    let_go.set()


async def test_secret_is_replaced_in_answers_and_errors() -> None:
    """An object may print its key by mistake."""

    def leak() -> str:
        raise ValueError("bad key top-secret-1")

    for act in (lambda: "key is top-secret-1", leak):
        configuration = OWN.replace(secret="KEY")
        runner = OwnRunner(configuration, context(KEY="top-secret-1"), Runs(act), closes=False)
        try:
            told = (await runner.answer(request(configuration))).text
        except Failure as failure:
            told = failure.message
        assert "top-secret-1" not in told


def test_missing_key_is_told_before_anything_is_asked() -> None:
    """With the variable's name."""
    with pytest.raises(SpecError, match="KEY"):
        OwnRunner(OWN.replace(secret="KEY"), context(), Runs("x"), closes=False)


def test_object_without_either_form_is_refused() -> None:
    """With the form that is simple."""
    with pytest.raises(SpecError, match="mine is object, which has neither run nor answer") as caught:
        OwnRunner(OWN, context(), object(), closes=False)
    assert "run(model, case)" in str(caught.value.hint)


async def test_tools_need_the_full_form() -> None:
    """`run` could not call them."""
    with pytest.raises(SpecError, match="tools are not offered"):
        await OwnRunner(OWN, context(), Runs("x"), closes=False).answer(request(), [object()])  # type: ignore[list-item]


@pytest.mark.parametrize("closes", [True, False])
async def test_object_that_was_made_for_the_run_is_closed_with_it(closes: bool) -> None:
    """A person's own object is not ours to close."""
    made = Runs("x")
    await OwnRunner(OWN, context(), made, closes=closes).close()
    assert made.closed == closes


# --------------------------------------------------------------------------------------------------- the full form


class Answers:
    """Has the form of every runner of this program."""

    def __init__(self, act: Any) -> None:
        self.act = act

    async def answer(self, request: Request, tools: Any = ()) -> Any:
        """Act in the run's own loop."""
        await asyncio.sleep(0)
        return self.act(request) if callable(self.act) else self.act


HOSTED = OWN.replace(plugin="acme 1.2", model_id="big", settings={})


async def test_full_form_gives_the_whole_answer() -> None:
    """Served model, finish and ids as any provider's; its tokens are its own word unless it is hosted."""
    usage = Usage(input=3, output=1)
    act = Answers(Answer(text="Paris", usage=usage, finish="stop", served="big", request_ids=("r1",)))
    own = await OwnRunner(OWN, context(), act, closes=False).answer(request())
    hosted = await OwnRunner(HOSTED, context(), act, closes=False).answer(request(HOSTED))
    assert (own.finish, own.served, own.received) == ("stop", "big", 5)
    assert own.usage == usage.replace(declared=True)
    assert hosted.usage == usage


@pytest.mark.parametrize(
    ("act", "kind"), [("Paris", "bad_reply"), (Answer(text=7), "bad_reply"), (lambda r: 1 / 0, "exit_status")]
)
async def test_full_form_that_gives_no_answer_fails(act: Any, kind: str) -> None:
    """A text is none here: who answered would be unsaid."""
    with pytest.raises(Failure) as caught:
        await OwnRunner(OWN, context(), Answers(act), closes=False).answer(request())
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "said",
    [
        {"usage": Usage(input=-1, output=2)},
        {"usage": Usage(input=2**60, output=2)},
        {"usage": {"input": 1}},
        {"usage": Usage(input=1.5, output=True)},
        {"transcript": {"x": {1, 2}}},
        {"transcript": {"x": float("nan")}},
        {"finish": 7},
        {"served": ["m"]},
        {"request_ids": ("r" * 200,)},
        {"request_ids": "r1"},
        {"calls": ("x",)},
        {"latency_ms": -1},
        {"received": None},
    ],
    ids=str,
)
async def test_answer_that_no_record_holds_is_none(said: dict[str, Any]) -> None:
    """Whatever a package returns, the run goes on, and the line is one that verifies."""
    act = Answers(Answer(**{"text": "Paris", **said}))
    with pytest.raises(Failure, match="that no record holds") as caught:
        await OwnRunner(OWN, context(), act, closes=False).answer(request())
    assert caught.value.kind == "bad_reply"


async def test_full_form_tells_its_own_failures_and_is_bounded_in_time() -> None:
    """`Failure` is how a runner says what happened."""

    def refused(request: Request) -> Any:
        raise Failure("http_status", "503", status=503, sent=True)

    with pytest.raises(Failure) as caught:
        await OwnRunner(OWN, context(), Answers(refused), closes=False).answer(request())
    assert (caught.value.kind, caught.value.status) == ("http_status", 503)

    class Hangs:
        async def answer(self, request: Request, tools: Any = ()) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(Failure) as caught:
        await OwnRunner(OWN, context(), Hangs(), closes=False).answer(request(timeout_s=0.01))
    assert caught.value.kind == "timeout"


def test_hosted_runner_must_be_able_to_say_who_answered() -> None:
    """`run` cannot."""
    with pytest.raises(SpecError, match="cannot say who answered"):
        OwnRunner(HOSTED, context(), Runs("x"), closes=False)
