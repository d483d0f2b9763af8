# SPDX-License-Identifier: Apache-2.0
"""The runner of what is no built-in: an object that a package's entry point makes, or that a Python program gave.

It has one of two forms:

run(model, case)             returns a text or a `RunOutput`, or is a coroutine that does. Called in a thread, or in a
                             loop, that is not the run's (`transport.calls`)
answer(request, tools)       is what `base.Runner` says: a coroutine that returns an `Answer` or raises a `Failure`.
                             Called in the run's own loop, which it must not block

`run` is given an `AskedModel` and a `Question`: never a reference, a tag of the mark, or what scorers see. What it does
once it was called is its own: an exception, a hang, something that is no answer. Tokens and cost are declared, by its
own word, unless it is `hosted`: then it has the second form, says who answered, and its failures are sorted as a
provider's are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trialplate.errors import FormatError, SpecError
from trialplate.record import canonical, codec
from trialplate.record.entries import Call, Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.rules.cells import under_test
from trialplate.run_output import told
from trialplate.runners.base import Answer, Attachment, Failure, FailureKind, OfferedTool, Request, RunnerContext
from trialplate.runners.providers import replies
from trialplate.runners.python import declared_usage
from trialplate.transport.calls import CallRaised, CallTimeout, call, within
from trialplate.transport.function_child import TOLD

__all__ = ["AskedModel", "OwnRunner", "Question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedModel:
    """The model that `run` is asked to ask."""

    id: str
    """What the plan says under `model`; the model's name, if it says nothing."""
    name: str
    """Of the configuration."""
    settings: Mapping[str, Json] = field(default_factory=dict)
    """As the plan has them; the texts of its documents by name under `documents`."""
    system: str | None = None
    key: str | None = field(default=None, repr=False)
    """The value of the variable that `secret` names."""
    timeout_s: float = 120.0
    """Of one attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What `run` may know of a case."""

    id: str
    input: str
    instructions: tuple[str, ...] = ()
    """What is said besides about the form of the answer."""
    files: tuple[Attachment, ...] = ()


class OwnRunner:
    """Asks one configuration's object."""

    def __init__(self, configuration: Configuration, context: RunnerContext, made: Any, *, closes: bool) -> None:
        """Take an object.

        Args:
            configuration: whose `plugin` says where the object comes from.
            context: of the run.
            made: the object.
            closes: it was made for this run, and ends with it.

        Raises:
            SpecError: it has neither form, or its key is not in the environment.
        """
        where = f"models.{configuration.model}"
        self._configuration, self._made, self._closes = configuration, made, closes
        self._full = callable(getattr(made, "answer", None))
        if not self._full and not callable(getattr(made, "run", None)):
            message = f"{configuration.runner} is {type(made).__name__}, which has neither run nor answer"
            hint = "give it run(model, case), which returns a text or a RunOutput"
            raise SpecError(message, where=f"{where}.runner", hint=hint, code="PLUGIN")
        if configuration.model_id is not None and not self._full:
            message = f"{configuration.runner} is hosted, and run(model, case) cannot say who answered"
            hint = "give it answer(request, tools), or take hosted out of it"
            raise SpecError(message, where=f"{where}.runner", hint=hint, code="PLUGIN")
        self._key = None
        if configuration.secret is not None:
            self._key = context.secrets.resolve(configuration.secret, context.environ, where=f"{where}.secret")
        self._scrub = context.secrets.scrub

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
        """
        began = time.monotonic()
        try:
            answer = await (self._asked(request, tools) if self._full else self._run(request, tools))
        except Failure as failure:
            failure.latency_ms = failure.latency_ms or _since(began)
            raise
        answer = replace(answer, latency_ms=answer.latency_ms or _since(began), text=self._scrub(answer.text))
        size = len(answer.text.encode(errors="surrogatepass"))
        if size > self._configuration.limits.answer_bytes:
            message = f"returned more than {self._configuration.limits.answer_bytes} bytes"
            raise Failure("too_long", message, sent=True, received=size, latency_ms=answer.latency_ms)
        return replace(answer, received=answer.received or size)

    async def close(self) -> None:
        """Close the object, if it was made for this run and has a `close`."""
        close = getattr(self._made, "close", None)
        if self._closes and callable(close):
            done = close()
            if hasattr(done, "__await__"):
                await done

    async def _run(self, request: Request, tools: Sequence[OfferedTool]) -> Answer:
        """Call `run`."""
        if tools:
            message, hint = "tools are not offered to run(model, case)", "give the runner answer(request, tools)"
            raise SpecError(message, where=f"models.{self._configuration.model}", hint=hint)
        model, question = self._model(request), _question(request)
        try:
            result = await call(self._made.run, model, question, timeout_s=request.timeout_s)
        except CallTimeout:
            raise self._failure("timeout", f"not done after {request.timeout_s:g} s, and left behind") from None
        except CallRaised as error:
            raise self._failure("exit_status", f"the runner raised {error}") from None
        said = told(result)
        if "failed" in said:
            raise self._failure("exit_status", f"the runner failed: {said['failed']}")
        if "unusable" in said:
            raise self._failure("bad_reply", f"the runner {said['unusable']}")
        return Answer(text=said["output"], usage=declared_usage(said))

    async def _asked(self, request: Request, tools: Sequence[OfferedTool]) -> Answer:
        """Call `answer`, and take nothing from it that the plan or the record could not hold."""
        try:
            found = await within(lambda: self._made.answer(request, tools), request.timeout_s, Failure)
        except CallTimeout:
            raise self._failure("timeout", f"not done after {request.timeout_s:g} s") from None
        except CallRaised as error:
            raise self._failure("exit_status", f"the runner raised {error}") from None
        if not isinstance(found, Answer) or not isinstance(found.text, str):
            raise self._failure("bad_reply", f"the runner returned {type(found).__name__}, not an Answer with a text")
        if (flaw := _flaw(found)) is not None:
            raise self._failure("bad_reply", f"the runner returned an Answer that no record holds: {flaw}")
        if found.usage is not None and under_test(self._configuration):
            found = replace(found, usage=found.usage.replace(declared=True))
        return found

    def _model(self, request: Request) -> AskedModel:
        asked = self._configuration
        settings: dict[str, Json] = dict(asked.settings.get("settings", {}))
        documents = {t.name: request.texts["document", t.name] for t in asked.texts if t.role == "document"}
        if documents:
            settings["documents"] = documents
        return AskedModel(
            id=asked.model_id or str(asked.settings.get("model", asked.model)),
            name=asked.name,
            settings=settings,
            system=request.texts.get(("system", "")),
            key=self._key,
            timeout_s=request.timeout_s,
        )

    def _failure(self, kind: FailureKind, message: str) -> Failure:
        return Failure(kind, self._scrub(message)[:TOLD], sent=True)


def _question(request: Request) -> Question:
    case = request.case
    return Question(id=case.id, input=case.input, instructions=request.instructions, files=request.files)


def _flaw(answer: Answer) -> str | None:
    """Say what of an answer cannot be recorded, if anything: the code of a package may return whatever it likes."""
    for name in ("finish", "served"):
        if not isinstance(getattr(answer, name), str | None):
            return f"its {name} is no text"
    for name in ("latency_ms", "received"):
        if replies.count({name: getattr(answer, name)}, name) is None:
            return f"its {name} is no count"
    if not isinstance(answer.request_ids, tuple) or not all(replies.is_short(item) for item in answer.request_ids):
        return "its request_ids are no short texts"
    if not isinstance(answer.calls, tuple) or not all(isinstance(call, Call) for call in answer.calls):
        return "its calls are none"
    usage: Any = answer.usage
    if not isinstance(usage, Usage | None):
        return "its usage is none"
    try:
        if usage is not None:
            canonical.encode(codec.to_json(codec.decode(Usage, codec.to_json(usage), "usage")))
        canonical.encode(answer.transcript)
    except (FormatError, AttributeError, TypeError, RecursionError) as error:
        return f"its usage or its transcript: {error}"
    return None


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
