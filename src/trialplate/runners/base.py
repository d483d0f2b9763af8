# SPDX-License-Identifier: Apache-2.0
"""What a runner is: the code that obtains one answer, and the values that go in and come out.

A runner makes one attempt. It never tries again, never judges, and never decides whose fault a failure is: it reports
what happened as an `Answer` or a `Failure`, and `engine.attempt` alone turns that into an outcome. Whatever it returns
has had known secrets replaced.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from trialplate.record.entries import Call, Usage
from trialplate.record.frozen import Json
from trialplate.record.values import Case, Configuration
from trialplate.spec.providers.base import ShapeMode
from trialplate.transport.secrets import Secrets

if TYPE_CHECKING:
    from trialplate.transport.cassette import Cassette
    from trialplate.transport.http import HttpClient

__all__ = ["Answer", "Attachment", "Failure", "FailureKind", "OfferedTool", "Recorded", "Request", "Runner"]
__all__ += ["RunnerContext", "Shape", "Tool", "ToolCall", "ToolResult", "Turn"]

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
    "max_turns",  # the model wanted to go on after the last turn that it may have
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file of a case as it is at hand for one attempt."""

    name: str
    """What it is called to the model; every file is announced by it."""
    type: str
    """Its media type, in lower case, without parameters."""
    data: bytes
    native: bool = True
    """It is sent in the request; else the model only hears its name, and a tool can read it."""
    detail: str | None = None
    """How closely an image is looked at: auto, low, medium, high, original; None: it is not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The form that an answer is asked for: a JSON object that meets a schema."""

    schema: Mapping[str, Json]
    """JSON Schema of the whole reply."""
    mode: ShapeMode
    """native: the interface enforces the schema; json_object: some JSON object; text: it is only asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as a model is told about it."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """JSON Schema of its arguments, an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a model wants done."""

    id: str
    """By which its result is named; of our making where the interface has none."""
    name: str
    arguments: str
    """JSON text, as it came; it may be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool said to a call."""

    call: ToolCall
    text: str
    error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A reply that was no end, and the results that go back: all of a turn together, in the order of its calls."""

    reply: Answer
    results: tuple[ToolResult, ...] = ()


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
    files: tuple[Attachment, ...] = ()
    """Of the case, in its order."""
    shape: Shape | None = None
    """None: the answer is a text of any form."""
    instructions: tuple[str, ...] = ()
    """What is said besides the question about the form of the answer, in this order."""
    tools: tuple[Tool, ...] = ()
    """What the model is offered, in the plan's order."""
    turns: tuple[Turn, ...] = ()
    """What was said so far in this attempt."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """What else makes a recorded exchange the one of this request: whose answer a helper judges, and for whom."""
    next_turn: Callable[[], Awaitable[float]] | None = None
    """Waits until the attempt may make another request, and returns for how many seconds; None: nothing bounds it."""
    blob: Callable[[str], bytes] | None = None
    """Returns the bytes of the case's files and trace, by digest; None: they are not at hand."""


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
    unreadable: str | None = None
    """Why it is not in the form that was asked for; `text` is then the whole reply."""
    tool_calls: tuple[ToolCall, ...] = ()
    """What the model waits for; an answer that has any is no end. A reply that was cut has none."""
    paused: bool = False
    """The far end broke off its own turn, and goes on when it gets it back."""
    replay: Json | None = None
    """The reply as it goes back to the far end in the next turn, in its own wire form."""


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
        transcript: what had been said and called until then, in the form of `Answer.transcript`.
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
        transcript: Json | None = None,
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
        self.transcript = transcript


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
    place: str = "models"
    """The key of the author's file under which the configuration stands."""


@runtime_checkable
class Recorded(Protocol):
    """A runner that can say of an attempt that nobody would be asked: such a one costs nothing and waits for nobody."""

    def recorded(self, request: Request) -> bool:
        """Say whether a recorded answer would be replayed; what is sure to be asked, or cannot be, is none."""
        ...


class OfferedTool(Protocol):
    """A tool that can be called, made for one configuration."""

    @property
    def tool(self) -> Tool:
        """Return what a model is told of it."""
        ...

    async def call(self, call: ToolCall, request: Request, number: int) -> ToolResult:
        """Do what a model asked for. What goes wrong is told to the model; it is an answer like any other.

        Args:
            call: its arguments are not checked yet.
            request: the attempt.
            number: of the call within the attempt, over all tools, from 1.

        Raises:
            Failure: `not_started` or `replay_miss`: the tool itself is not to be had, which is no fault of the model.
        """
        ...


class Runner(Protocol):
    """One way to obtain an answer, made for one configuration by its module's `make(configuration, context)`."""

    async def answer(self, request: Request, tools: Sequence[OfferedTool] = ()) -> Answer:
        """Make one attempt.

        Raises:
            Failure: there is no answer.
        """
        ...

    async def close(self) -> None:
        """Let go of what the runner holds; the shared HTTP client is not its to close."""
        ...
