# SPDX-License-Identifier: Apache-2.0
"""The chat-completions wire format, as data where providers differ: what is sent for a request.

What is sent: `model`, `messages`, and the configuration's settings under the names that the interface has for them.
Messages are one system message, if the model has a system text; what is said about the form of the answer, each in a
message of its own; one user message; and then, for each turn so far, the model's message as it came and one message for
each result, in the order of the calls.

The user message is one text: every document in order ("Document: NAME", an empty line, its text, an empty line), then
the case's input. With files it is a list of parts: each file in order as a part `[file: NAME]` and, if it is sent, one
with its bytes, and that text last. A text alone stays a plain string, since not every server takes a list.

`tool_choice` and `strict` of a function are left at what they are without being sent: "auto" and false.

Source: OpenAI API reference, "Create chat completion" and "The chat completion object" (openai-python 2.x,
types/chat); guides "Function calling", "Images and vision", "File inputs".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trialplate.record.frozen import Json
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Attachment, Request, Tool, Turn
from trialplate.runners.providers import openai_replies, prompts
from trialplate.runners.providers.replies import sendable
from trialplate.transport.http import HttpRequest

__all__ = ["RESERVED", "Dialect", "build_request", "check_configuration", "content_part", "key_headers"]
__all__ += ["parse_reply"]

RESERVED = ("messages", "model", "stream_options")
"""Keys of the body that this client owns."""
_PATH = "/chat/completions"


def content_part(file: Attachment, detail: str | None) -> dict[str, Json]:
    """Return a file as a part of a message: an image as `image_url`, anything else as `file`."""
    if file.type.startswith("image/"):
        seen = {"url": prompts.data_url(file), **({} if detail is None else {"detail": detail})}
        return {"type": "image_url", "image_url": seen}
    return {"type": "file", "file": {"filename": file.name, "file_data": prompts.data_url(file)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect(openai_replies.Reading):
    """How a provider's chat completions differ from OpenAI's; a provider's module holds one and two functions."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent beside those of every request, names in lower case."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Where a setting goes whose field is called otherwise; "a.b" is the member b of the object a."""
    instructions: Literal["user", "system", "prompt"] = "user"
    """What is said about the form: messages of this role, or the beginning of the prompt itself."""
    schema: Mapping[str, Json] = field(default_factory=lambda: {"name": "response", "strict": True})
    """What stands beside the schema in `json_schema`."""
    parts: bool = False
    """The user message is a list of parts also where it is a text alone."""
    part: Callable[[Attachment, str | None], dict[str, Json]] = content_part
    """Makes the part of a file."""
    function: Mapping[str, Json] = field(default_factory=dict)
    """What stands beside the name, the description and the parameters of a function."""
    details: Mapping[str, str] = field(default_factory=dict)
    """How each image detail is called here; one that is not in it is not sent."""
    replayed: tuple[str, ...] = ()
    """Of these fields of a message with tool calls, the first that it has goes back with it."""


_PLAIN = Dialect()


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, or an endpoint that is no plain http(s) URL.
    """
    formed = ("response_format",) if configuration.structured in ("native", "json_object") else ()
    offered = ("tools",) if configuration.tools else ()
    prompts.check(configuration, (*RESERVED, *formed, *offered))
    prompts.endpoint(configuration, _PATH)


def key_headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"authorization": f"Bearer {key}"}


def build_request(request: Request, dialect: Dialect = _PLAIN) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted.

    Raises:
        SpecError: see `check_configuration`.
    """
    configuration = request.configuration
    check_configuration(configuration)
    body: dict[str, Json] = prompts.renamed(configuration.settings, dialect.names)
    body["model"] = configuration.model_id
    body["messages"] = _messages(request, dialect)
    if request.tools:
        body["tools"] = [_tool(tool, dialect) for tool in request.tools]
    if request.shape is not None and request.shape.mode == "native":
        form = {**dialect.schema, "schema": request.shape.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    elif request.shape is not None and request.shape.mode == "json_object":
        body["response_format"] = {"type": "json_object"}
    streamed = body.get("stream") is True
    if streamed:
        body["stream_options"] = {"include_usage": True}
    return HttpRequest(
        url=prompts.endpoint(configuration, _PATH),
        headers={**prompts.headers(request, streamed=streamed), **dialect.headers},
        body=body,
    )


def _messages(request: Request, dialect: Dialect) -> list[Json]:
    made: list[Json] = [{"role": "system", "content": text} for text in prompts.system(request)]
    if dialect.instructions != "prompt":
        made += [{"role": dialect.instructions, "content": text} for text in request.instructions]
    made.append({"role": "user", "content": _prompt(request, dialect)})
    for turn in request.turns:
        made += _turn(turn, dialect)
    return made


def _prompt(request: Request, dialect: Dialect) -> Json:
    """Return the user message's content: a plain text wherever that says it all."""
    text = prompts.user(request)
    if dialect.instructions == "prompt":
        text = "\n\n".join([*request.instructions, text])
    if not any(file.native for file in request.files) and not dialect.parts:
        return "".join([*(f"{prompts.announced(file)}\n\n" for file in request.files), text])
    parts: list[Json] = []
    for file in request.files:
        parts.append({"type": "text", "text": prompts.announced(file)})
        if file.native:
            parts.append(dialect.part(file, dialect.details.get(file.detail or "")))
    return [*parts, {"type": "text", "text": text}]


def _tool(tool: Tool, dialect: Dialect) -> Json:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, **dialect.function}
    return {"type": "function", "function": about}


def _turn(turn: Turn, dialect: Dialect) -> list[Json]:
    """Return the model's message and the results, as they go back."""
    message: Any = turn.reply.replay
    if not isinstance(message, dict):
        raise RuntimeError("a turn of this conversation was read by another provider")
    said: dict[str, Json] = {"role": "assistant", "content": message.get("content")}
    for name in [name for name in dialect.replayed if message.get(name) is not None][:1]:
        said[name] = message[name]
    said["tool_calls"] = message["tool_calls"]
    results = [
        {"role": "tool", "tool_call_id": result.call.id, "content": sendable(result.text)} for result in turn.results
    ]
    return [said, *results]


def parse_reply(status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect = _PLAIN) -> Answer:
    """Return the answer in a reply; see `openai_replies.parse_reply`.

    Raises:
        Failure: there is none.
    """
    return openai_replies.parse_reply(status, headers, body, dialect)
