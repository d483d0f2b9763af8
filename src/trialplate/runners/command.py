# SPDX-License-Identifier: Apache-2.0
"""The runner of a program: the case's input on its standard input, the answer on its standard output.

Settings: `argv` (a list; no shell reads it) or `shell` (one line for `sh -c`), and `env`, the names of further
variables that the program may see. It sees those, a few that every program needs, and the one named as its secret;
nothing else of this process's environment. It runs in the project's folder. Its secret, and the value of any variable
whose name says that it is secret, is replaced in what it prints.

The output is the answer as it is, not trimmed; bytes that are not UTF-8 are kept (as lone surrogates). A status other
than 0 is a failure whatever was printed. The program cannot outlive its attempt; see `transport.process`.

To be recorded and replayed, a run of it is the exchange `RUN command:`: its settings, the digests of the files that the
plan pins, and its input. What else it reads is not in the key; the author's `subject` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialplate.errors import SpecError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Failure, OfferedTool, Request, RunnerContext
from trialplate.runners.exchanges import Exchanges
from trialplate.transport.command_line import command_argv
from trialplate.transport.http import HttpReply, HttpRequest
from trialplate.transport.process import ChildResult, NotStarted, child_environment, run_child
from trialplate.transport.secrets import named_as_secret

__all__ = ["CommandRunner", "check_configuration", "make"]

SETTINGS = frozenset({"argv", "shell", "env"})


def make(configuration: Configuration, context: RunnerContext) -> CommandRunner:
    """Make the runner of one configuration.

    Raises:
        SpecError: its settings name no program, or its key is not in the environment.
    """
    return CommandRunner(configuration, context)


def check_configuration(configuration: Configuration) -> list[str]:
    """Return the argv that a configuration's settings mean.

    Raises:
        SpecError: not exactly one of `argv` and `shell`, of the right form, and nothing unknown beside them.
    """
    where = f"models.{configuration.model}"
    settings: dict[str, Any] = dict(configuration.settings)
    unknown = sorted(settings.keys() - SETTINGS)
    if unknown:
        message = f"a command has no setting {', '.join(unknown)}"
        raise SpecError(message, where=where, hint="it has argv, shell and env", code="COMMAND")
    if configuration.texts:
        message = "a command takes the case's input only, no system text and no documents"
        raise SpecError(message, where=where, hint="let the program read its files itself", code="COMMAND")
    return command_argv(settings, where)


class CommandRunner:
    """Runs one configuration's program once per attempt."""

    def __init__(self, configuration: Configuration, context: RunnerContext) -> None:
        self._argv = check_configuration(configuration)
        self._configuration = configuration
        self._context = context
        self._exchanges = Exchanges(configuration, context)
        names = list(configuration.settings.get("env", []))
        context.secrets.remember(named_as_secret(names, context.environ))
        if configuration.secret is not None and not self._exchanges.replays:
            where = f"models.{configuration.model}.secret"
            context.secrets.resolve(configuration.secret, context.environ, where=where)
            names.append(configuration.secret)
        self._environment = child_environment(context.environ, names)

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
        """
        if tools:
            raise SpecError("tools are not offered to a command", where=f"models.{self._configuration.model}")
        wire = self._wire(request)

        async def ask() -> HttpReply:
            return await self._run(request)

        return await self._exchanges.answer(request, wire, canonical.digest_value(wire.body), ask, _read)

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed."""
        return self._exchanges.recorded(request, self._wire(request))

    async def close(self) -> None:
        """Nothing is held: a program ends with its attempt."""

    def _wire(self, request: Request) -> HttpRequest:
        """Return what makes a run of the program this one."""
        asked = self._configuration
        pinned: Json = {file.path: file.digest for file in asked.files}
        return HttpRequest(
            method="RUN",
            url="command:",
            body={**asked.settings, "files": pinned, "stdin": request.case.input},
            pins={} if asked.subject is None else {"subject": asked.subject},
        )

    async def _run(self, request: Request) -> HttpReply:
        """Run the program, and return its output as a reply of status 0."""
        try:
            result = await run_child(
                self._argv,
                cwd=self._context.project,
                env=self._environment,
                stdin=request.case.input.encode(),
                timeout_s=request.timeout_s,
                limit=self._configuration.limits.answer_bytes,
            )
        except NotStarted as error:
            raise Failure("not_started", str(error)) from error
        self._require_success(result, request)
        text = self._context.secrets.scrub(result.stdout.decode(errors="surrogateescape"))
        return HttpReply(status=0, body=text.encode(errors="surrogateescape"), latency_ms=result.duration_ms)

    def _require_success(self, result: ChildResult, request: Request) -> None:
        """Raise the failure that a child's end means."""
        tail = result.last_words(self._context.secrets.scrub)
        if result.ended == "timeout":
            took = result.duration_ms / 1000
            message = f"killed after {took:.3f} s, its limit being {request.timeout_s:g} s{tail}"
            raise _failure("timeout", message, result)
        if result.ended == "too_long":
            message = f"wrote more than {self._configuration.limits.answer_bytes} bytes and was killed{tail}"
            raise _failure("too_long", message, result)
        if result.status != 0:
            raise _failure("exit_status", f"the program {result.how}{tail}", result)


def _read(reply: HttpReply) -> Answer:
    return Answer(text=reply.body.decode(errors="surrogateescape"), received=len(reply.body))


def _failure(kind: Any, message: str, result: ChildResult) -> Failure:
    return Failure(
        kind,
        message,
        status=result.status if kind == "exit_status" else None,
        sent=True,
        received=result.received,
        latency_ms=result.duration_ms,
    )
