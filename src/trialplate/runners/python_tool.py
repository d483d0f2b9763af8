# SPDX-License-Identifier: Apache-2.0
"""A tool that is a function of the project.

`callable: file.py:function` is called as `function(arguments)` or, if it takes two, as `function(arguments, files)`
with the paths of the case's files by name.

Each call is a program of its own, as for the runner `python`: bounded by the case's `timeout_s`, killed with everything
it started, and blind to what another call left behind. It sees the variables named in `env` and no key.

What goes wrong inside (arguments that are no JSON object or do not meet the schema, an exception, a time-out, a result
that is none) is told to the model, which may do better. What keeps the tool from being there at all is no answer.

A call is an exchange `CALL tool:NAME` with its arguments and its number within the attempt, so that a replay needs
no tool: whatever it said then, also that it failed, is what the model was told.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trialplate.errors import FormatError
from trialplate.record import canonical
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration, PlanTool
from trialplate.runners.base import Answer, Failure, Request, RunnerContext, Tool, ToolCall, ToolResult
from trialplate.runners.exchanges import Exchanges
from trialplate.runners.providers import replies
from trialplate.runners.results import cut_off
from trialplate.spec.pins import is_pinned
from trialplate.spec.turns import RESULT_BYTES
from trialplate.transport.function_child import function_argv
from trialplate.transport.http import HttpReply, HttpRequest
from trialplate.transport.process import TAIL, ChildResult, NotStarted, child_environment, run_child
from trialplate.transport.secrets import named_as_secret

__all__ = ["PythonTool"]

OUTPUT_BYTES = 16 * 1024 * 1024
_WORKER = str(Path(__file__).with_name("tool_worker.py"))


class PythonTool:
    """One tool of one configuration."""

    def __init__(self, tool: PlanTool, told: Mapping[str, Json], asked: Configuration, context: RunnerContext) -> None:
        """Take a tool of the plan.

        Args:
            tool: as the plan has it.
            told: `description` and `parameters`, opened.
            asked: the configuration that it is offered to.
            context: what it may use of the world.
        """
        self._tool, self._context, self._configuration = tool, context, asked
        self._offer = Tool(name=tool.name, description=told["description"], parameters=told["parameters"])
        self._exchanges = Exchanges(asked, context)
        names = list(tool.settings.get("env", []))
        context.secrets.remember(named_as_secret(names, context.environ))
        self._environment = child_environment(context.environ, names)
        self._argv = function_argv(_WORKER, context.project, tool.settings["callable"])

    @property
    def tool(self) -> Tool:
        """Return what a model is told of it."""
        return self._offer

    async def call(self, call: ToolCall, request: Request, number: int) -> ToolResult:
        """Do what a model asked for.

        Raises:
            Failure: `not_started` or `replay_miss`: the tool is not to be had.
            StorageError: the call could not be recorded.
        """
        arguments = self._arguments(call)
        if isinstance(arguments, str):
            return ToolResult(call=call, text=arguments, error=True)
        wire = HttpRequest(
            method="CALL",
            url=f"tool:{self._tool.name}",
            body={
                "arguments": arguments,
                "callable": self._tool.settings["callable"],
                "files": {file.path: file.digest for file in self._tool.files},
                "number": number,
            },
        )

        async def ask() -> HttpReply:
            return await self._called(arguments, request)

        answer = await self._exchanges.answer(request, wire, canonical.digest_value(wire.body), ask, self._read)
        return ToolResult(call=call, text=answer.text, error=answer.refusal)

    def _arguments(self, call: ToolCall) -> dict[str, Json] | str:
        """Return the arguments of a call, or what is wrong with them."""
        try:
            value = canonical.parse((call.arguments.strip() or "{}").encode("utf-8", "surrogatepass"))
        except FormatError as error:
            return f"invalid arguments: {error.message}"
        if not isinstance(value, dict):
            return "invalid arguments: they are no JSON object"
        from jsonschema import Draft202012Validator

        problem = next(Draft202012Validator(self._offer.parameters).iter_errors(value), None)
        if problem is not None:
            where = "/".join(str(part) for part in problem.absolute_path)
            return f"invalid arguments: {f'{where}: ' if where else ''}{problem.message}"[: 2 * TAIL]
        return value

    async def _called(self, arguments: dict[str, Json], request: Request) -> HttpReply:
        """Call the function, and return what the model is told as a reply of status 0."""
        if not all(is_pinned(self._context.project, file) for file in self._tool.files):
            message = f"the tool {self._tool.name} is not as the plan pins it: a file changed since the run began"
            raise Failure("not_started", message)
        timeout_s = next(item.timeout_ms for item in request.case.tools if item.name == self._tool.name) / 1000
        local = {item.name for item in request.case.files if "local" in item.access}
        with tempfile.TemporaryDirectory(prefix="trialplate-tool-") as folder:
            paths: dict[str, Json] = {}
            for index, file in enumerate(item for item in request.files if item.name in local):
                path = Path(folder) / f"{index}{Path(file.name).suffix[:16]}"
                path.write_bytes(file.data)
                paths[file.name] = str(path)
            try:
                result = await run_child(
                    self._argv,
                    cwd=self._context.project,
                    env=self._environment,
                    stdin=canonical.encode({"arguments": arguments, "files": paths}),
                    timeout_s=timeout_s,
                    limit=OUTPUT_BYTES,
                )
            except NotStarted as error:
                raise Failure("not_started", str(error)) from error
        text, failed = self._told(result, timeout_s)
        text = cut_off(text, RESULT_BYTES)
        body = canonical.encode({"error": failed, "text": canonical.text_out(text)})
        return HttpReply(status=0, body=body, latency_ms=result.duration_ms)

    def _told(self, result: ChildResult, timeout_s: float) -> tuple[str, bool]:
        """Return what the model is told, and whether it is an error.

        Raises:
            Failure: `not_started`: the file cannot be imported.
        """
        if result.ended == "timeout":
            return f"{self._tool.name} took longer than {timeout_s:g} s and was stopped", True
        said: Any = _scrubbed(replies.read_json(result.stdout), self._context.secrets.scrub)
        if result.ended == "too_long" or result.status != 0 or not isinstance(said, dict):
            return f"{self._tool.name} ended without a result", True
        if "missing" in said:
            raise Failure(
                "not_started", f"the tool {self._tool.name} cannot be imported: {said['missing']}"[: 2 * TAIL]
            )
        if isinstance(said.get("returned"), str):
            return said["returned"], False
        why = "raised" if "raised" in said else "returned"
        return f"{self._tool.name} {why} {said.get('raised', said.get('unusable', 'nothing'))}"[: 2 * TAIL], True

    def _read(self, reply: HttpReply) -> Answer:
        said = replies.read_json(reply.body)
        try:
            text, failed = canonical.text_in(said["text"]), said["error"]
        except (FormatError, KeyError, TypeError):  # of a cassette that somebody edited
            raise Failure("bad_reply", "the recorded call of a tool holds no result", sent=True) from None
        # It counts as the model's own exchange, which is recorded only of the model that was asked.
        return Answer(text=text, refusal=failed is True, served=self._configuration.model_id)


def _scrubbed(said: Any, scrub: Callable[[str], str]) -> Any:
    """Return what a program told without secrets, before anything of it is cut: half a secret is no longer found."""
    if not isinstance(said, dict):
        return said
    return {name: scrub(item) if isinstance(item, str) else item for name, item in said.items()}
