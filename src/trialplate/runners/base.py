# SPDX-License-Identifier: Apache-2.0
"""What a runner is: the code that obtains one answer, and the values that go in and come out.

A runner makes one attempt. It never tries again, never judges, and never decides whose fault a failure is: it reports
what happened as an `Answer` or a `Failure`, and `engine.attempt` alone turns that into an outcome. Whatever it returns
has had known secrets replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from trialplate.record.entries import Call, Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration
from trialplate.transport.secrets import Secrets

if TYPE_CHECKING:
    from trialplate.transport.cassette import Cassette
    from trialplate.transport.http import HttpClient

__all__ = ["Answer", "Failure", "FailureKind", "Recorded", "Request", "Runner", "RunnerContext"]

FailureKind = Literal[
    "refused_connection",  # no connection: refused, unknown host, TLS; nothing was sent
    "closed_connection",  # sent, then closed or reset before a status line
    "transport",  # broke off inside a reply
    "timeout",  # the attempt's time was over
    "http_status",  # a status other than 2xx, or an error object inside a 200 (then `status` is the code in it, or 200)
    "bad_reply",  # a complete reply that holds no answer
    "too_long",  # more bytes than `limits.answer_bytes`
    "replay_miss",  # the cassette holds no such exchange
    "not_started",  # the program or the script that should answer is not there
    "exit_status",  # the program ended with a status other than 0
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One attempt at one trial."""

    configuration: Configuration
    case: Case
    texts: Mapping[tuple[str, str], Json] = field(default_factory=dict)
    """Opened texts by (role, name); roles: system, document, answers."""
    repeat: int
    """1..N."""
    attempt: int
    """1.. within the trial."""
    timeout_s: float
    request_id: str
    """Sent along where the far end takes one, so that its logs can be matched with the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a far end answered."""

    text: str
    """May hold lone surrogates, which stand for what was not valid Unicode."""
    usage: Usage | None = None
    """None is unknown, never zero."""
    finish: str | None = None
    """Why it stopped, in its own words: "stop", "length", "content_filter", "tool_calls"."""
    served: str | None = None
    """The model that it says answered."""
    request_ids: tuple[str, ...] = ()
    """At most 128 printable ASCII characters each."""
    latency_ms: int = 0
    """The far end's time; as recorded, for a replayed answer."""
    received: int = 0
    """Bytes of the reply, or of the program's output."""
    calls: tuple[Call, ...] = ()
    transcript: Json | None = None
    """What came with the text and is no answer: reasoning, tool calls, parts that are not text."""
    refusal: bool = False


class Failure(Exception):
    """An attempt without an answer: what happened, not whose fault it is.

    Args:
        kind: what happened.
        message: one sentence, at most a few hundred characters, secrets replaced.
        status: the HTTP or exit status as it was (a signal as its negative number).
        retry_after_s: the wait that the far end asked for, in seconds, uncapped.
        sent: the request had left, or the program had started.
        received: bytes of the reply that had arrived.
        latency_ms: from the start of the attempt until it failed.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        sent: bool = False,
        received: int = 0,
        latency_ms: int = 0,
        calls: tuple[Call, ...] = (),
        request_ids: tuple[str, ...] = (),
        usage: Usage | None = None,
        served: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s
        self.sent = sent
        self.received = received
        self.latency_ms = latency_ms
        self.calls = calls
        self.request_ids = request_ids
        self.usage = usage
        self.served = served


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerContext:
    """What a runner may use of the world."""

    project: Path
    """The project's folder: where commands run."""
    environ: Mapping[str, str]
    """The environment that secrets and allowed variables are taken from."""
    texts: Mapping[tuple[str, str], Json] = field(default_factory=dict)
    """The configuration's opened texts by (role, name), so that what cannot be used is refused before a run."""
    cassette: Cassette | None = None
    """Where exchanges are recorded or replayed; None: neither."""
    http: Callable[[], HttpClient] | None = None
    """Returns the client that all runners share; called at the first request."""
    secrets: Secrets = field(default_factory=Secrets)
    """Every secret that was resolved; the engine scrubs with the same object."""


@runtime_checkable
class Recorded(Protocol):
    """A runner that can say of an attempt that nobody would be asked: such a one costs nothing and waits for nobody."""

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed; what is sure to be asked, or cannot be, is none."""
        ...


class Runner(Protocol):
    """One way to obtain an answer, made for one configuration by its module's `make(configuration, context)`."""

    async def answer(self, request: Request, tools: Sequence[Json] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
        """
        ...

    async def close(self) -> None:
        """Let go of what the runner holds; the shared HTTP client is not its to close."""
        ...
