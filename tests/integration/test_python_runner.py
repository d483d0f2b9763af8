# SPDX-License-Identifier: Apache-2.0
"""Functions under test: called in a program of their own, which cannot hurt the run whatever it does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from attempts import failed

from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.values import Case, Configuration, Limits, PlanFile, PlanText
from trialplate.runners.base import Answer, Request, RunnerContext
from trialplate.runners.python import make
from trialplate.transport.cassette import Cassette

KEY = "PLANTED-7f3a-not-a-real-key"
Ask = Callable[..., Coroutine[Any, Any, Answer]]
HEAD = "import asyncio, os, sys, threading, time\nfrom trialplate import RunOutput\n"
PIN = PlanFile(path="my.py", digest="sha256:" + "0" * 64)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Call a function, whose body is given, once."""

    async def run(
        body: str,
        *,
        head: str = "def",
        timeout_s: float = 30.0,
        repeat: int = 1,
        environ: Any = os.environ,
        cassette: Cassette | None = None,
        **changes: Any,
    ) -> Answer:
        lines = "".join(f"    {line}\n" for line in body.split("\n"))
        (tmp_path / "my.py").write_text(f"{HEAD}{head} answer(model, question, settings):\n{lines}", encoding="utf-8")
        fields: dict[str, Any] = {"name": "f", "model": "f", "profile": "default", "runner": "python", "files": (PIN,)}
        asked = Configuration(**{**fields, "settings": {"callable": "my.py:answer"}, **changes})
        runner = make(asked, RunnerContext(project=tmp_path, environ=environ, cassette=cassette))
        request = Request(
            configuration=asked,
            case=Case(id="q1", input="Which city?\n\u00e9"),
            repeat=repeat,
            attempt=1,
            timeout_s=timeout_s,
            request_id="r",
        )
        return await runner.answer(request)

    return run


async def test_text_is_the_answer_as_it_is(ask: Ask) -> None:
    """The question goes in as it is; a plain text has no usage, which is unknown and not zero."""
    answer = await ask("return question + ' '")
    assert (answer.text, answer.usage) == ("Which city?\n\u00e9 ", None)
    assert answer.received == len(answer.text.encode())
    assert [call.replayed for call in answer.calls] == [False]


async def test_function_gets_model_question_and_settings(ask: Ask) -> None:
    """The model's id if the plan names one, else its name; documents by name beside the other settings."""
    body = "return repr((model, sorted(settings.items())))"
    assert (await ask(body)).text == "('f', [])"
    settings = {"callable": "my.py:answer", "model": "m-1", "settings": {"k": [1]}}
    assert (await ask(body, settings=settings)).text == "('m-1', [('k', [1])])"


async def test_documents_reach_the_function_by_name(tmp_path: Path) -> None:
    """Whole texts, under `documents`."""
    (tmp_path / "my.py").write_text(
        "def answer(model, question, settings):\n    return settings['documents']['a.md']\n"
    )
    texts = (PlanText(role="document", name="a.md", commitment="A" * 43),)
    fields: dict[str, Any] = {"name": "f", "model": "f", "profile": "default", "runner": "python"}
    asked = Configuration(**fields, settings={"callable": "my.py:answer"}, texts=texts)
    runner = make(asked, RunnerContext(project=tmp_path, environ=os.environ))
    case = Case(id="q1", input="?")
    opened = {("document", "a.md"): "Sixty days."}
    request = Request(configuration=asked, case=case, texts=opened, repeat=1, attempt=1, timeout_s=30.0, request_id="r")
    assert (await runner.answer(request)).text == "Sixty days."


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("async def", "await asyncio.sleep(0)\nreturn 'Paris'"),
        ("def", "async def later():\n    return 'Paris'\nreturn later()"),
        ("def", "return RunOutput('Paris')"),
    ],
)
async def test_coroutine_and_run_output_are_answers_too(ask: Ask, head: str, body: str) -> None:
    """Sync, async, a text or a RunOutput."""
    answer = await ask(body, head=head)
    assert (answer.text, answer.usage) == ("Paris", None)


async def test_cost_and_tokens_are_the_functions_own_word(ask: Ask) -> None:
    """Declared; an explicit zero stays zero, and a part of a nano-dollar is rounded up."""
    answer = await ask("return RunOutput('x', cost_usd=0.25, tokens={'input': 3, 'output': 0})")
    assert answer.usage == Usage(input=3, output=0, declared=True, cost_nano=250_000_000)
    assert (await ask("return RunOutput('x', cost_usd=0)")).usage == Usage(declared=True, cost_nano=0)
    assert (await ask("return RunOutput('x', cost_usd=1e-10)")).usage == Usage(declared=True, cost_nano=1)


async def test_exception_is_the_functions_own_failure(ask: Ask) -> None:
    """DESIGN 6: like a status other than 0, with the last line of the traceback and its place."""
    failure = await failed(ask("raise ValueError('no ' + question[:5])"))
    assert (failure.kind, failure.status, failure.sent) == ("exit_status", 1, True)
    assert failure.message == "the function raised ValueError: no Which (my.py:4)"
    assert (await failed(ask("sys.exit(0)"))).kind == "exit_status"
    assert (await failed(ask("raise KeyboardInterrupt"))).kind == "exit_status"


async def test_failure_that_the_function_tells_is_its_own(ask: Ask) -> None:
    """RunOutput(failed=...)."""
    failure = await failed(ask("return RunOutput(failed='index is empty')"))
    assert (failure.kind, failure.sent) == ("exit_status", True)
    assert "index is empty" in failure.message


@pytest.mark.parametrize(
    "value",
    [
        "None",
        "5",
        "b'x'",
        "('x', None, None, None)",
        "RunOutput(5)",
        "RunOutput('x', cost_usd=-1)",
        "RunOutput('x', cost_usd=True)",
        "RunOutput('x', cost_usd=float('nan'))",
        "RunOutput('x', cost_usd='1')",
        "RunOutput('x', tokens=5)",
        "RunOutput('x', tokens={'input': -1})",
        "RunOutput('x', tokens={'input': 1.5})",
    ],
)
async def test_anything_else_is_no_answer(ask: Ask, value: str) -> None:
    """Never guessed at: the function, which was asked, gave no answer."""
    failure = await failed(ask(f"return {value}"))
    assert (failure.kind, failure.sent) == ("bad_reply", True)


async def test_what_it_prints_is_no_part_of_the_answer(ask: Ask) -> None:
    """On either output, also by programs that it starts, and through the descriptor itself."""
    body = "print('{\"output\": \"London\"}')\nos.system('echo London')\nos.write(1, b'London')\nreturn 'Paris'"
    assert (await ask(body)).text == "Paris"
    assert (await ask("sys.stdout.close()\nsys.stderr.close()\nreturn 'Paris'")).text == "Paris"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("os._exit(0)", "bad_reply"),
        ("os._exit(3)", "exit_status"),
        ("os.kill(os.getpid(), 9)", "exit_status"),
        ("os.closerange(3, 50)\nreturn 'x'", "exit_status"),
        ("return 'x' * 200_000", "too_long"),
        ("return 'x' * 20_000_000", "too_long"),
    ],
)
async def test_program_that_ends_by_itself_or_says_too_much_is_a_failure(ask: Ask, body: str, kind: str) -> None:
    """Whatever it does to its own process."""
    failure = await failed(ask(body, limits=Limits(answer_bytes=100_000)))
    assert (failure.kind, failure.sent) == (kind, True)


async def test_hang_is_killed_with_what_it_started(ask: Ask, tmp_path: Path) -> None:
    """Its time is over; a grandchild does not survive."""
    body = "pid = os.fork()\nopen('pid', 'w').write(str(pid or os.getpid()))\ntime.sleep(600)\nreturn 'x'"
    failure = await failed(ask(body, timeout_s=1.5))
    assert failure.kind == "timeout"
    pid = int((tmp_path / "pid").read_text())
    for _ in range(500):
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text():
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the grandchild lives")


@pytest.mark.parametrize(
    "body",
    ["os.fork()\nreturn 'Paris'", "threading.Thread(target=time.sleep, args=(600,)).start()\nreturn 'Paris'"],
)
async def test_fork_and_thread_that_go_on_are_left_behind(ask: Ask, body: str) -> None:
    """Only the process that was asked answers, and it ends when the function has returned."""
    answer = await ask(body, timeout_s=20.0)
    assert answer.text == "Paris"
    assert answer.latency_ms < 15_000


async def test_text_that_is_no_unicode_is_kept(ask: Ask) -> None:
    """Case D08, for a function: lone surrogates go into the record as what they are."""
    assert (await ask(r"return 'a\udcff\ud800b'")).text == "a\udcff\ud800b"


async def test_trial_finds_nothing_of_the_trial_before(ask: Ask) -> None:
    """Each call is a program of its own."""
    body = "asyncio.count = getattr(asyncio, 'count', 0) + 1\nreturn str(asyncio.count)"
    assert [(await ask(body, repeat=n)).text for n in (1, 2)] == ["1", "1"]


async def test_environment_is_what_the_plan_names_and_the_secret_is_scrubbed(ask: Ask) -> None:
    """A key that the function returns, raises or prints is in nothing that is kept."""
    environ = {**os.environ, "FN_KEY": KEY, "OTHER": "other-value"}
    body = "return os.environ['FN_KEY'] + ' ' + os.environ.get('OTHER', 'none')"
    assert (await ask(body, environ=environ, secret="FN_KEY")).text == "[secret] none"
    settings = {"callable": "my.py:answer", "env": ["OTHER"]}
    assert (await ask("return os.environ['OTHER']", environ=environ, settings=settings)).text == "other-value"
    settings = {"callable": "my.py:answer", "env": ["FN_KEY"]}  # named as one, so it is one
    assert (await ask("return os.environ['FN_KEY']", environ=environ, settings=settings)).text == "[secret]"
    failure = await failed(ask("raise ValueError(os.environ['FN_KEY'])", environ=environ, secret="FN_KEY"))
    assert KEY not in failure.message
    failure = await failed(ask("print(os.environ['FN_KEY'])\nos._exit(1)", environ=environ, secret="FN_KEY"))
    assert KEY not in failure.message


@pytest.mark.parametrize(
    "text", ["import no_such_module_anywhere\n", "raise SystemExit(0)\n", "def ask(: pass\n", "x = 1\n"]
)
async def test_file_that_cannot_be_imported_was_not_asked(tmp_path: Path, text: str) -> None:
    """Nothing was asked, so nothing failed: the harness's, not the function's."""
    (tmp_path / "my.py").write_text(text)
    fields: dict[str, Any] = {"name": "f", "model": "f", "profile": "default", "runner": "python"}
    asked = Configuration(**fields, settings={"callable": "my.py:answer"})
    runner = make(asked, RunnerContext(project=tmp_path, environ=os.environ))
    case = Case(id="q1", input="?")
    request = Request(configuration=asked, case=case, repeat=1, attempt=1, timeout_s=30.0, request_id="r")
    failure = await failed(runner.answer(request))
    assert (failure.kind, failure.sent, failure.calls) == ("not_started", False, ())


async def test_file_finds_its_neighbours_and_none_of_ours(tmp_path: Path) -> None:
    """Imports are those of a script in that folder; a name such as `http` is the standard library's."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "my.py").write_text(
        "import beside, top, http.client\ndef answer(m, q, s): return beside.x + top.x + http.client.__name__\n"
    )
    (tmp_path / "app" / "beside.py").write_text("x = 'a'\n")
    (tmp_path / "top.py").write_text("x = 'b'\n")
    fields: dict[str, Any] = {"name": "f", "model": "f", "profile": "default", "runner": "python"}
    asked = Configuration(**fields, settings={"callable": "app/my.py:answer"})
    runner = make(asked, RunnerContext(project=tmp_path, environ=os.environ))
    case = Case(id="q1", input="?")
    request = Request(configuration=asked, case=case, repeat=1, attempt=1, timeout_s=30.0, request_id="r")
    assert (await runner.answer(request)).text == "abhttp.client"


async def test_recorded_call_is_replayed_without_running_it(ask: Ask, tmp_path: Path) -> None:
    """With cost, tokens and time of then; another file, setting or subject is another call."""
    path = tmp_path / "f.jsonl"
    cassette = Cassette.live(path)
    body = "open('ran', 'a').write('x')\nreturn RunOutput('a\\udcff', cost_usd=0.5, tokens={'input': 1})"
    was = await ask(body, cassette=cassette)
    await failed(ask("raise ValueError", cassette=cassette, repeat=2))
    cassette.close()
    tape = Cassette.replay(path)
    now = await ask(body, cassette=tape, secret="NOT_SET")
    kept = (was.text, was.usage, was.latency_ms, was.received)
    assert (now.text, now.usage, now.latency_ms, now.received) == kept
    assert [call.replayed for call in now.calls] == [True]
    others: list[dict[str, Any]] = [
        {"repeat": 2},
        {"subject": "2"},
        {"files": (PlanFile(path="my.py", digest="sha256:" + "1" * 64),)},
        {"settings": {"callable": "my.py:answer", "settings": {"k": 1}}},
    ]
    for other in others:
        assert (await failed(ask(body, cassette=tape, **other))).kind == "replay_miss"
    tape.close()
    assert (tmp_path / "ran").read_text() == "x"


@pytest.mark.parametrize(
    "told", ["5", "{}", '{"output":5}', '{"output":{"ascii_json":"x"}}', "[", '{"output":"x","cost_usd":"1e99"}']
)
async def test_recorded_call_that_was_edited_is_no_answer_or_of_unknown_cost(
    ask: Ask, tmp_path: Path, told: str
) -> None:
    """Never an exception of ours in the middle of a run."""
    path = tmp_path / "f.jsonl"
    cassette = Cassette.live(path)
    await ask("return 'x'", cassette=cassette)
    cassette.close()
    line = canonical.decode(path.read_bytes().rstrip())
    line["reply"]["body"] = told
    path.write_bytes(canonical.encode(line) + b"\n")
    tape = Cassette.replay(path)
    if "cost_usd" in told:
        assert (await ask("return 'x'", cassette=tape)).usage is None
    else:
        assert (await failed(ask("return 'x'", cassette=tape))).kind == "bad_reply"
    tape.close()
