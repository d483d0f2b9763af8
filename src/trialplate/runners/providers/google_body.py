# SPDX-License-Identifier: Apache-2.0
"""What is sent to Google's Gemini API for the next turn of an attempt; see `google`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialplate.record.frozen import Json
from trialplate.runners.base import Attachment, Request, Tool, ToolResult, Turn
from trialplate.runners.providers import prompts
from trialplate.runners.providers.replies import sendable

__all__ = ["body_of"]

_NAMES = {
    "top_p": "topP",
    "top_k": "topK",
    "max_output_tokens": "maxOutputTokens",
    "stop_sequences": "stopSequences",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "thinking_level": "thinkingConfig.thinkingLevel",
    "media_resolution": "mediaResolution",
}
"""Settings that are called otherwise in `generationConfig`."""
_TEXT_FORM = ("text_response_format", "text_response_format_with_tools")

Part = dict[str, Json]


def body_of(request: Request) -> dict[str, Json]:
    """Return the body of a request."""
    settings = request.configuration.settings
    told = _told(request)
    body: dict[str, Json] = {"contents": [{"role": "user", "parts": _parts(request)}]}
    system = [*prompts.system(request), *told, *request.instructions]
    if system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    config = {**_config(settings), **({} if told else _form(request))}
    if config:
        body["generationConfig"] = config
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
    for turn in request.turns:
        body["contents"] += _turn(turn)
    return body


def _told(request: Request) -> list[str]:
    """Return the form of the answer in words, where the settings keep the interface from enforcing it."""
    settings, shape = request.configuration.settings, request.shape
    plain = any(settings.get(name) is True for name in (_TEXT_FORM if request.tools else _TEXT_FORM[:1]))
    return [prompts.told_form(shape)] if shape is not None and shape.mode == "native" and plain else []


def _config(settings: Mapping[str, Any]) -> dict[str, Json]:
    sent = {name: value for name, value in settings.items() if name not in _TEXT_FORM}
    if "thinking_level" in sent:
        sent["thinking_level"] = sent["thinking_level"].upper()
    if "media_resolution" in sent:
        sent["media_resolution"] = f"MEDIA_RESOLUTION_{sent['media_resolution'].upper()}"
    return prompts.renamed(sent, _NAMES)


def _form(request: Request) -> dict[str, Json]:
    shape = request.shape
    if shape is None or shape.mode == "text":
        return {}
    schema: dict[str, Json] = {"responseJsonSchema": shape.schema} if shape.mode == "native" else {}
    return {"responseMimeType": "application/json", **schema}


def _parts(request: Request) -> list[Part]:
    """Return the user's parts: every file behind its name, the prompt last."""
    parts: list[Part] = []
    for file in request.files:
        parts.append({"text": prompts.announced(file)})
        if file.native:
            parts.append(_file(file))
    return [*parts, {"text": prompts.user(request)}]


def _file(file: Attachment) -> Part:
    return {"inlineData": {"mimeType": file.type, "data": prompts.encoded(file)}}


def _declared(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def _turn(turn: Turn) -> list[Json]:
    """Return the contents of a turn: the reply as it came, and all results in one content, in call order."""
    said: Any = turn.reply.replay
    labels = [part["functionCall"].get("id") for part in said["parts"] if "functionCall" in part]
    known = {label for label in labels if isinstance(label, str)}
    results: list[Json] = [_result(result, known) for result in turn.results]
    return [said, {"role": "user", "parts": results}] if results else [said]


def _result(result: ToolResult, known: set[str]) -> Part:
    """Return a result, with the id of its call if that is the interface's own."""
    label: Part = {"id": result.call.id} if result.call.id in known else {}
    said: Json = {"error" if result.error else "result": sendable(result.text)}
    return {"functionResponse": {**label, "name": sendable(result.call.name), "response": said}}
