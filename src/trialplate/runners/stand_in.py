# SPDX-License-Identifier: Apache-2.0
"""The stand-in: a model that reads its answers from a script, for starters, tests and benchmarks. It calls nobody.

The configuration's text of role `answers` is the script:

    script:   an entry        the same for every case
              [entry, ...]    by turn of the conversation; a prompt case has one turn, so the first
              {ID: entries}   by case id; "*" stands for every case that is not named
    entries:  an entry, or a list of entries by repeat (repeat N+1 of N begins again)
    entry:    "text"
              {"text": ..., "usage": {"input": 3, "output": 1}, "finish": "length", "served": ..., "latency_ms": 5,
               "refusal": true}
              {"error": KIND, "status": 503, "retry_after_s": 1, "message": ...}    KIND: see `base.FailureKind`
              {"attempts": [entry, ...]}    by attempt; the last one stands for all that follow

A case without an entry is a failure `not_started`: a script that forgets a case must not look like a wrong answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from trialplate.errors import FormatError, SpecError
from trialplate.record import codec
from trialplate.record.entries import Usage
from trialplate.record.frozen import Json, Value
from trialplate.record.values import Configuration, Count, Short
from trialplate.runners.base import Answer, Failure, FailureKind, OfferedTool, Request, RunnerContext

__all__ = ["ScriptedAnswer", "ScriptedError", "StandInRunner", "make"]

T = TypeVar("T")
_UNSENT = frozenset({"refused_connection", "not_started", "replay_miss"})


class ScriptedAnswer(Value):
    """An entry that answers."""

    text: str
    usage: Usage | None = None
    finish: Short | None = None
    served: Short | None = None
    latency_ms: Count = 0
    refusal: bool = False


class ScriptedError(Value):
    """An entry that fails."""

    error: FailureKind
    status: int | None = None
    retry_after_s: float | None = None
    message: str | None = None


def make(configuration: Configuration, context: RunnerContext) -> StandInRunner:
    """Make the runner of one configuration.

    Raises:
        SpecError: the configuration has no script, or more than one.
    """
    scripts = [text for text in configuration.texts if text.role == "answers"]
    if len(scripts) != 1:
        where = f"models.{configuration.model}"
        raise SpecError("a stand-in needs one script", where=where, hint="add answers:", code="STAND-IN")
    for entry in _objects(context.texts.get(("answers", scripts[0].name))):
        kind = ScriptedError if "error" in entry else ScriptedAnswer
        try:
            codec.decode(kind, entry, "entry")
        except FormatError as error:
            where = f"models.{configuration.model}.answers"
            hint = "an error is one of the kinds that a runner reports, such as timeout or http_status"
            raise SpecError(
                f"the script holds an entry that cannot be used: {error.message}", where=where, hint=hint
            ) from None
    return StandInRunner(scripts[0].name)


def _objects(script: Json) -> Iterator[Mapping[str, Any]]:
    """Yield every entry of a script that is an object, those under `attempts` by themselves."""
    entries = list(script.values()) if isinstance(script, dict) else [script]
    for entry in entries:
        for item in entry if isinstance(entry, list) else [entry]:
            if isinstance(item, dict):
                nested = item.get("attempts")
                yield from (e for e in (nested if isinstance(nested, list) else [item]) if isinstance(e, dict))


class StandInRunner:
    """Answers from the script."""

    def __init__(self, name: str) -> None:
        self._key = ("answers", name)

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Return the scripted answer.

        Raises:
            Failure: the script says so, or has no entry for this case.
            SpecError: the script has not the form above.
        """
        entry = _entry(request.texts[self._key], request)
        if isinstance(entry, str):
            return Answer(text=entry, received=len(entry.encode(errors="surrogatepass")))
        if not isinstance(entry, Mapping):
            raise _malformed(request, "an entry is neither a text nor an object")
        if "error" in entry:
            raise _failure(entry, request)
        return _answer(entry, request)

    async def close(self) -> None:
        """Nothing is held."""


def _entry(script: Json, request: Request) -> Json:
    """Find the entry for a case, repeat and attempt."""
    if isinstance(script, list):
        if not script:
            raise _malformed(request, "an empty list of turns")
        entries = script[0]
    elif isinstance(script, dict):
        entries = script.get(request.case.id, script.get("*"))
        if entries is None:
            raise Failure("not_started", f"the script has no answer for case {request.case.id!r}")
        if isinstance(entries, list):
            if not entries:
                raise _malformed(request, "an empty list of repeats")
            entries = entries[(request.repeat - 1) % len(entries)]
    else:
        entries = script
    if isinstance(entries, dict) and "attempts" in entries:
        attempts = entries["attempts"]
        if not isinstance(attempts, list) or not attempts or len(entries) > 1:
            raise _malformed(request, "attempts is no list, or stands beside other keys")
        return attempts[min(request.attempt, len(attempts)) - 1]
    return entries


def _answer(entry: Mapping[str, Any], request: Request) -> Answer:
    scripted = _read(ScriptedAnswer, entry, request)
    return Answer(
        text=scripted.text,
        usage=scripted.usage,
        finish=scripted.finish,
        served=scripted.served,
        latency_ms=scripted.latency_ms,
        received=len(scripted.text.encode(errors="surrogatepass")),
        refusal=scripted.refusal,
    )


def _failure(entry: Mapping[str, Any], request: Request) -> Failure:
    scripted = _read(ScriptedError, entry, request)
    return Failure(
        scripted.error,
        scripted.message or f"scripted {scripted.error}",
        status=scripted.status,
        retry_after_s=scripted.retry_after_s,
        sent=scripted.error not in _UNSENT,
    )


def _read(kind: type[T], entry: Mapping[str, Any], request: Request) -> T:
    try:
        return codec.decode(kind, entry, "entry")
    except FormatError as error:
        raise _malformed(request, error.message) from error


def _malformed(request: Request, message: str) -> SpecError:
    where = f"answers of {request.configuration.model}, case {request.case.id!r}"
    hint = "a script is a text, a list by turn, or an object by case id"
    return SpecError(message, where=where, hint=hint, code="STAND-IN")
