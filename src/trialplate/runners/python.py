# SPDX-License-Identifier: Apache-2.0
"""The runner of a function of your own: `callable: file.py:function`, called as `function(model, question, settings)`.

It returns a text or a `RunOutput`, or a coroutine that does. Every attempt is a program of its own (`python_worker`),
run like a command: it is fed, bounded, killed with everything it started when its time is over, and cannot outlive its
attempt. So neither a hang, `os._exit`, endless output, what it prints nor a fork can hurt the run, and no trial finds
what another left behind. A package that is slow to import is paid for in every attempt; serve it over HTTP instead.

Settings: `callable`, `model` (the first argument; the model's name if there is none), `settings` (the third, with the
texts of its documents under `documents`), `env`. It sees those variables and its secret, as a command does.

To be recorded and replayed, a call is the exchange `CALL python:`: its settings, the digest of its file, the texts of
its documents, and the question; `subject` is in the key too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical
from trialplate.record.entries import Usage
from trialplate.record.flaws import MAX_INTEGER
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, OfferedTool, Request, RunnerContext
from trialplate.runners.exchanges import Exchanges
from trialplate.runners.providers import replies
from trialplate.runners.usage import COUNTS
from trialplate.transport.function_child import TOLD, function_argv
from trialplate.transport.http import HttpReply, HttpRequest
from trialplate.transport.process import ChildResult, NotStarted, child_environment, run_child
from trialplate.transport.secrets import named_as_secret

__all__ = ["PythonRunner", "declared_usage", "make"]

_WORKER = str(Path(__file__).with_name("python_worker.py"))


def make(configuration: Configuration, context: RunnerContext) -> PythonRunner:
    """Make the runner of one configuration.

    Raises:
        SpecError: it names no function, or its key is not in the environment.
    """
    return PythonRunner(configuration, context)


class PythonRunner:
    """Calls one configuration's function, each time in a program of its own."""

    def __init__(self, configuration: Configuration, context: RunnerContext) -> None:
        where = f"models.{configuration.model}"
        self._configuration = configuration
        self._context = context
        self._exchanges = Exchanges(configuration, context)
        file, colon, function = str(configuration.settings.get("callable", "")).rpartition(":")
        if not colon or not file or not function:
            hint = "write callable: my_system.py:answer"
            raise SpecError("callable names no file and function", where=where, hint=hint, code="CALLABLE")
        names = list(configuration.settings.get("env", []))
        context.secrets.remember(named_as_secret(names, context.environ))
        if configuration.secret is not None and not self._exchanges.replays:
            context.secrets.resolve(configuration.secret, context.environ, where=f"{where}.secret")
            names.append(configuration.secret)
        self._argv = function_argv(_WORKER, context.project, f"{file}:{function}")
        self._environment = child_environment(context.environ, names)

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
            StorageError: the exchange could not be recorded.
        """
        if tools:
            raise SpecError("tools are not offered to a function", where=f"models.{self._configuration.model}")
        call = self._call(request)
        wire = self._wire(call)

        async def ask() -> HttpReply:
            return await self._called(request, canonical.encode(call))

        return await self._exchanges.answer(request, wire, canonical.digest_value(wire.body), ask, self._read)

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed."""
        return self._exchanges.recorded(request, self._wire(self._call(request)))

    async def close(self) -> None:
        """Nothing is held: a program ends with its attempt."""

    def _call(self, request: Request) -> dict[str, Json]:
        """Return what the function is called with."""
        asked = self._configuration
        documents = {t.name: request.texts["document", t.name] for t in asked.texts if t.role == "document"}
        settings: dict[str, Json] = dict(asked.settings.get("settings", {}))
        if documents:
            settings["documents"] = documents
        return {
            "model": asked.settings.get("model", asked.model),
            "question": request.case.input,
            "settings": settings,
        }

    def _wire(self, call: Mapping[str, Json]) -> HttpRequest:
        """Return what makes a call of the function this one."""
        asked = self._configuration
        pinned: Json = {file.path: file.digest for file in asked.files}
        return HttpRequest(
            method="CALL",
            url="python:",
            body={"callable": asked.settings.get("callable"), "files": pinned, **call},
            pins={} if asked.subject is None else {"subject": asked.subject},
        )

    async def _called(self, request: Request, stdin: bytes) -> HttpReply:
        """Call the function, and return what was told of an answer as a reply of status 0."""
        limit = self._configuration.limits.answer_bytes
        try:
            result = await run_child(
                self._argv,
                cwd=self._context.project,
                env=self._environment,
                stdin=stdin,
                timeout_s=request.timeout_s,
                limit=6 * limit + 64 * 1024,  # as JSON a character may take six
            )
        except NotStarted as error:
            raise Failure("not_started", str(error)) from error
        scrub = self._context.secrets.scrub
        tail = result.last_words(scrub)
        said = self._told(result, request.timeout_s, tail)
        said = {name: scrub(item) if isinstance(item, str) else item for name, item in said.items()}
        for key, kind, words in _NO_ANSWER:
            if key in said:
                message = f"{words} {said[key]}"[:TOLD]
                raise _failure(
                    kind, message, result, sent=key != "missing", status=1 if kind == "exit_status" else None
                )
        output = said.get("output")
        if not isinstance(output, str):
            raise _failure("bad_reply", f"the function's program told no answer{tail}", result)
        if len(output.encode(errors="surrogatepass")) > limit:
            raise _failure("too_long", f"returned more than {limit} bytes", result)
        kept: dict[str, Json] = {"output": canonical.text_out(output)}
        if isinstance(said.get("cost_usd"), str):
            kept["cost_usd"] = said["cost_usd"]
        tokens = {name: n for name in COUNTS if (n := replies.count(said.get("tokens"), name)) is not None}
        if tokens:
            kept["tokens"] = tokens
        return HttpReply(status=0, body=canonical.encode(kept), latency_ms=result.duration_ms)

    def _told(self, result: ChildResult, timeout_s: float, tail: str) -> dict[str, Any]:
        """Return what the program told, or raise what its end means."""
        if result.ended == "timeout":
            took = result.duration_ms / 1000
            raise _failure("timeout", f"killed after {took:.3f} s, its limit being {timeout_s:g} s{tail}", result)
        if result.ended == "too_long":
            limit = self._configuration.limits.answer_bytes
            raise _failure("too_long", f"returned more than {limit} bytes and was killed{tail}", result)
        said = replies.read_json(result.stdout)
        if result.status == 0 and isinstance(said, dict):
            return said
        if result.status == 0:
            raise _failure("bad_reply", f"the function's program ended without an answer{tail}", result)
        raise _failure("exit_status", f"the function's program {result.how}{tail}", result, status=result.status)

    def _read(self, reply: HttpReply) -> Answer:
        said = replies.read_json(reply.body)
        try:
            output = canonical.text_in(said["output"])
        except (FormatError, KeyError, TypeError):  # of a cassette that somebody edited
            message = "the recorded reply holds no output"
            raise Failure("bad_reply", message, sent=True, received=len(reply.body)) from None
        return Answer(
            text=output,
            usage=declared_usage(said),
            received=len(output.encode(errors="surrogatepass")),
        )


_NO_ANSWER: tuple[tuple[str, Any, str], ...] = (
    ("missing", "not_started", "the function cannot be imported:"),
    ("failed", "exit_status", "the function failed:"),
    ("raised", "exit_status", "the function raised"),
    ("unusable", "bad_reply", "the function"),
)


def declared_usage(said: Mapping[str, Any]) -> Usage | None:
    """Return what the thing under test says that an answer took, from its `tokens` and `cost_usd`; None is unknown."""
    usage = Usage(
        **{name: replies.count(said.get("tokens"), name) for name in COUNTS},
        declared=True,
        cost_nano=_nano(said.get("cost_usd")),
    )
    return None if usage == Usage(declared=True) else usage


def _nano(cost: Any) -> int | None:
    """Return an amount of USD in 10^-9, rounded up; None if it is none."""
    try:
        nano = int((Decimal(cost) * 10**9).to_integral_value(ROUND_CEILING))
    except (InvalidOperation, OverflowError, ValueError, TypeError):
        return None
    return nano if 0 <= nano <= MAX_INTEGER else None


def _failure(kind: Any, message: str, result: ChildResult, *, sent: bool = True, status: int | None = None) -> Failure:
    return Failure(kind, message, status=status, sent=sent, received=result.received, latency_ms=result.duration_ms)
