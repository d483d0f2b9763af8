# SPDX-License-Identifier: Apache-2.0
"""`cache: auto`: a hit is replayed, a miss is called and recorded, and several who ask at once make one call."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, completion, message

from trialplate import plugins
from trialplate.errors import StorageError
from trialplate.record.values import Case, Configuration, PlanText
from trialplate.runners.base import Answer, Failure, Request, RunnerContext
from trialplate.transport.cassette import Cassette
from trialplate.transport.http import HttpClient
from trialplate.transport.secrets import Secrets

FUNCTION = "def answer(model, question, settings):\n    open('ran', 'a').write('x')\n    return 'Paris'\n"
SETTINGS: dict[str, dict[str, Any]] = {
    "openai-compatible": {},
    "anthropic": {"max_tokens": 8},
    "http": {"method": "POST", "response": {"pointer": "/answer"}},
    "command": {"shell": "printf x >>ran; printf Paris"},
    "python": {"callable": "my.py:answer"},
}
each_runner = pytest.mark.parametrize("runner", SETTINGS)


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[Cassette]:
    """A cassette that is open for `auto`."""
    made = Cassette.auto(tmp_path / "m.jsonl")
    yield made
    made.close()


def configured(runner: str, url: str, **changes: Any) -> Configuration:
    """Return a configuration of a runner."""
    hosted = runner in ("openai-compatible", "anthropic")
    endpoint = url if hosted else url.replace("/v1", "/ask") if runner == "http" else None
    texts = (PlanText(role="body", commitment="A" * 43),) if runner == "http" else ()
    fields: dict[str, Any] = {"name": "m", "model": "m", "profile": "default", "runner": runner, "texts": texts}
    fields |= {"endpoint": endpoint, "model_id": "m-small" if hosted else None, "settings": SETTINGS[runner]}
    return Configuration(**{**fields, **changes})


async def ask(
    asked: Configuration, cassette: Cassette | None, client: HttpClient, folder: Path, repeat: int = 1, text: str = "?"
) -> Answer:
    """Make one attempt."""
    (folder / "my.py").write_text(FUNCTION)
    context = RunnerContext(project=folder, environ=os.environ, cassette=cassette, http=lambda: client)
    runner = plugins.load("runners", asked.runner)(asked, context)
    texts = {("body", ""): {"q": "{{input}}"}} if asked.runner == "http" else {}
    case = Case(id="q1", input=text)
    request = Request(
        configuration=asked, case=case, texts=texts, repeat=repeat, attempt=1, timeout_s=30.0, request_id="r"
    )
    answer: Answer = await runner.answer(request)
    return answer


def replayed(answer: Answer) -> bool:
    """Whether an answer came from the cassette; it names exactly one call."""
    (call,) = answer.calls
    return call.replayed


def calls_of(server: ChatServer, folder: Path) -> int:
    """Return how often anything was really asked."""
    ran = folder / "ran"
    return len(server.requests) + (len(ran.read_text()) if ran.exists() else 0)


@each_runner
async def test_miss_is_called_and_recorded_and_the_same_again_is_replayed(
    runner: str, tape: Cassette, client: HttpClient, tmp_path: Path
) -> None:
    """Each says which it was; another repeat or question is another exchange; the file holds them at the end."""
    async with ChatServer() as server:
        asked = configured(runner, server.url)
        first = await ask(asked, tape, client, tmp_path)
        again = await ask(asked, tape, client, tmp_path)
        other = await ask(asked, tape, client, tmp_path, repeat=2)
        third = await ask(asked, tape, client, tmp_path, text="!")
        assert calls_of(server, tmp_path) == 3
        tape.close()
        later = Cassette.auto(tape.path)
        assert len(later) == 3
        kept = await ask(asked, later, client, tmp_path, repeat=2)
        later.close()
        assert calls_of(server, tmp_path) == 3
    assert [replayed(answer) for answer in (first, again, other, third, kept)] == [False, True, False, False, True]
    assert {answer.text for answer in (first, again, other, third, kept)} == {"Paris"}
    assert (again.latency_ms, again.usage, again.calls[0].digest) == (
        first.latency_ms,
        first.usage,
        first.calls[0].digest,
    )


@each_runner
async def test_replay_miss_is_no_call(runner: str, client: HttpClient, tmp_path: Path) -> None:
    """Cases Q02, Q04: for every runner that can be recorded; nothing is asked, no key is needed."""
    Cassette.live(tmp_path / "m.jsonl").close()
    (tmp_path / "m.jsonl").touch()
    tape = Cassette.replay(tmp_path / "m.jsonl")
    async with ChatServer() as server:
        with pytest.raises(Failure) as caught:
            await ask(configured(runner, server.url, secret="NOT_SET_ANYWHERE"), tape, client, tmp_path)
        assert calls_of(server, tmp_path) == 0
    tape.close()
    assert (caught.value.kind, caught.value.sent, caught.value.calls) == ("replay_miss", False, ())


@pytest.mark.parametrize("runner", ["openai-compatible", "anthropic", "http"])
async def test_two_who_ask_the_same_at_once_make_one_call(
    runner: str, tape: Cassette, client: HttpClient, tmp_path: Path
) -> None:
    """Single-flight: two configurations with one request; the second replays what the first recorded."""
    async with ChatServer(delay_s=0.05) as server:
        one, two = (configured(runner, server.url, name=name) for name in ("m/a", "m/b"))
        answers = await asyncio.gather(*(ask(item, tape, client, tmp_path) for item in (one, two, one, two)))
        assert len(server.requests) == 1
    assert sorted(map(replayed, answers)) == [False, True, True, True]


async def test_if_the_first_fails_the_next_makes_its_own_call(
    tape: Cassette, client: HttpClient, tmp_path: Path
) -> None:
    """One after the other, until one is answered; an error is nobody else's answer."""
    down = {"status": 503, "json": {"error": {"message": "down"}}, "delay_ms": 50}
    async with ChatServer([down, down, {"json": completion("Paris")}]) as server:
        asked = configured("openai-compatible", server.url)
        results = await asyncio.gather(*(ask(asked, tape, client, tmp_path) for _ in range(4)), return_exceptions=True)
        assert len(server.requests) == 3
    assert [type(item) for item in results] == [Failure, Failure, Answer, Answer]
    assert [replayed(item) for item in results if isinstance(item, Answer)] == [False, True]
    assert tape.under_way == {}


async def test_if_the_first_is_cancelled_the_next_makes_its_own_call(
    tape: Cassette, client: HttpClient, tmp_path: Path
) -> None:
    """Nobody waits for ever for a call that is not made any more."""
    async with ChatServer([{"hang": True}, {"json": completion("Paris")}]) as server:
        asked = configured("openai-compatible", server.url)
        first = asyncio.create_task(ask(asked, tape, client, tmp_path))
        while not server.requests:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(ask(asked, tape, client, tmp_path))
        await asyncio.sleep(0)
        first.cancel()
        answer = await asyncio.wait_for(second, 20)
    assert (answer.text, replayed(answer)) == ("Paris", False)
    assert tape.under_way == {}


async def test_repeats_are_never_one_call(tape: Cassette, client: HttpClient, tmp_path: Path) -> None:
    """Case Q03: three repeats at once are three samples."""
    answers = iter("abc")
    async with ChatServer(answer=lambda body: next(answers)) as server:
        asked = configured("anthropic", server.url)
        found = await asyncio.gather(*(ask(asked, tape, client, tmp_path, repeat=n) for n in (1, 2, 3)))
        again = [await ask(asked, tape, client, tmp_path, repeat=n) for n in (1, 2, 3)]
    assert sorted(answer.text for answer in found) == ["a", "b", "c"]
    assert [answer.text for answer in again] == [answer.text for answer in found]


async def test_live_calls_every_time_also_for_what_is_recorded(client: HttpClient, tmp_path: Path) -> None:
    """Only `auto` saves calls; `live` is fresh evidence."""
    tape = Cassette.live(tmp_path / "m.jsonl")
    async with ChatServer() as server:
        asked = configured("anthropic", server.url)
        answers = await asyncio.gather(*(ask(asked, tape, client, tmp_path) for _ in range(3)))
        assert len(server.requests) == 3
    tape.close()
    assert not any(map(replayed, answers))


async def test_answer_of_another_model_is_not_recorded(tape: Cassette, client: HttpClient, tmp_path: Path) -> None:
    """Else `auto` would replay for ever what is no evidence about the model that was asked."""
    other, right = {"json": message("Paris", model="m-large")}, {"json": message("Paris", model="m-small-20261001")}
    async with ChatServer([other, right]) as server:
        asked = configured("anthropic", server.url)
        assert (await ask(asked, tape, client, tmp_path)).served == "m-large"
        assert not replayed(await ask(asked, tape, client, tmp_path))
        assert replayed(await ask(asked, tape, client, tmp_path))


async def test_bad_replies_are_not_recorded_and_truncated_ones_stay_truncated(
    tape: Cassette, client: HttpClient, tmp_path: Path
) -> None:
    """Case Q05."""
    cut = {**message("Par"), "stop_reason": "max_tokens"}
    async with ChatServer([{"status": 500, "json": {}}, {"body": "<html>"}, {"json": cut}]) as server:
        asked = configured("anthropic", server.url)
        for _ in range(2):
            with pytest.raises(Failure):
                await ask(asked, tape, client, tmp_path)
        assert len(tape) == 0
        first, again = [await ask(asked, tape, client, tmp_path) for _ in range(2)]
    assert (first.finish, again.finish, replayed(again)) == ("length", "length", True)


async def test_lines_that_a_crash_left_are_replayed(tape: Cassette, client: HttpClient, tmp_path: Path) -> None:
    """What was paid for before a kill is not paid for again, and a torn line does not hurt what follows."""
    async with ChatServer() as server:
        asked = configured("anthropic", server.url)
        await ask(asked, tape, client, tmp_path)
        left = tape.path.with_name("m.jsonl.new").read_bytes()
        tape.close()
        tape.path.unlink()
        tape.path.with_name("m.jsonl.new").write_bytes(left + left[: len(left) // 2])
        later = Cassette.auto(tape.path)
        assert replayed(await ask(asked, later, client, tmp_path))
        assert not replayed(await ask(asked, later, client, tmp_path, repeat=2))
        assert replayed(await ask(asked, later, client, tmp_path, repeat=2))
        later.close()
    assert len(tape.path.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("hidden", [False, True], ids=["in the open", "escaped"])
async def test_key_that_a_far_end_echoes_is_in_no_cassette(
    hidden: bool, tape: Cassette, client: HttpClient, tmp_path: Path
) -> None:
    """A cassette is committed: a key that is spelt in escapes is replaced like any other (case Q07)."""
    key = "planted-4f3a9c2e71d04b"
    spelt = "".join(f"\\u{ord(letter):04x}" for letter in key) if hidden else key
    body = json.dumps(completion("ECHO")).replace("ECHO", f"your key is {spelt}")
    async with ChatServer([{"headers": {"Content-Type": "application/json"}, "body": body}]) as server:
        secrets = Secrets()
        secrets.remember([key])
        context = RunnerContext(
            project=tmp_path, environ=os.environ, cassette=tape, http=lambda: client, secrets=secrets
        )
        asked = configured("openai-compatible", server.url)
        runner = plugins.load("runners", asked.runner)(asked, context)
        case = Case(id="q1", input="?")
        await runner.answer(Request(configuration=asked, case=case, repeat=1, attempt=1, timeout_s=20, request_id="r"))
    tape.close()
    kept = (tmp_path / "m.jsonl").read_bytes() if (tmp_path / "m.jsonl").exists() else b""
    assert key.encode() not in kept
    assert f"{ord('p'):04x}".encode() not in kept
    assert b"[secret]" in kept


def test_two_runs_do_not_record_into_one_cassette(tape: Cassette) -> None:
    """Whatever their modes."""
    for opened in (Cassette.auto, Cassette.live):
        with pytest.raises(StorageError, match="another run"):
            opened(tape.path)
