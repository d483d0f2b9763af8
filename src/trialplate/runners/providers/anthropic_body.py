# SPDX-License-Identifier: Apache-2.0
"""What is sent to Anthropic's Messages API for the next turn of an attempt; see `anthropic`.

A request that has nothing but texts is as plain as can be: a string as `system`, a string as the user's content. Blocks
stand where there is more to say: instructions about the form, files, a breakpoint of the prompt cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialplate.record.frozen import Json
from trialplate.runners.base import Attachment, Request, Tool, Turn
from trialplate.runners.providers import prompts
from trialplate.runners.providers.replies import sendable

__all__ = ["SUBMIT", "body_of"]

SUBMIT = "submit_response"
"""The tool whose input is the answer, under `legacy_structured_output`; no other tool may have its name."""
_OWN = frozenset({"effort", "thinking", "thinking_budget_tokens", "output_config"})
_OWN |= {"prompt_cache_ttl", "server_tools", "legacy_structured_output"}
"""Settings that are not sent as they are written."""
_SUBMIT_TOLD = f"Give your final answer by calling the tool {SUBMIT}, once, and by nothing else."

Block = dict[str, Json]


def body_of(request: Request) -> dict[str, Json]:
    """Return the body of a request.

    Raises:
        Failure: `not_started`: a file cannot be sent.
    """
    settings = request.configuration.settings
    legacy = request.shape is not None and settings.get("legacy_structured_output") is True
    body: dict[str, Json] = {name: value for name, value in settings.items() if name not in _OWN}
    body["model"] = request.configuration.model_id
    body |= _thinking(settings, None if legacy else request)
    tools = [_tool(tool) for tool in request.tools]
    if legacy and request.shape is not None:
        tools.append(_tool(Tool(name=SUBMIT, description="Takes the final answer.", parameters=request.shape.schema)))
    said = [*request.instructions, *([_SUBMIT_TOLD] if legacy else [])]
    system = [_text(text) for text in [*prompts.system(request), *said]]
    content = _content(request)
    ttl = settings.get("prompt_cache_ttl")
    if ttl is not None:
        body["cache_control"] = {"type": "ephemeral", "ttl": ttl}
        _last_cached(tools, system, content)["cache_control"] = {"type": "ephemeral", "ttl": ttl}
    served = settings.get("server_tools", [])
    if tools or served:
        body["tools"] = [*tools, *served]
    if system:
        body["system"] = _plain(system) if not said else system
    body["messages"] = [{"role": "user", "content": _plain(content)}]
    for turn in request.turns:
        body["messages"] += _turn(turn)
    return body


def _thinking(settings: Mapping[str, Any], shaped: Request | None) -> dict[str, Json]:
    """Return `thinking` and `output_config`, where they are asked for.

    Args:
        settings: of the configuration.
        shaped: the request, where the interface is to enforce the form of its answer.
    """
    made: dict[str, Json] = {}
    output = dict(settings.get("output_config", {}))
    effort, budget, thinking = (settings.get(name) for name in ("effort", "thinking_budget_tokens", "thinking"))
    if thinking is not None:
        made["thinking"] = {"type": thinking} if isinstance(thinking, str) else thinking
    elif effort is not None:
        made["thinking"] = {"type": "adaptive"}
    elif budget is not None:
        made["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if effort is not None:
        output["effort"] = effort
    if shaped is not None and shaped.shape is not None and shaped.shape.mode == "native":
        output["format"] = {"type": "json_schema", "schema": shaped.shape.schema}
    return {**made, "output_config": output} if output else made


def _tool(tool: Tool) -> Block:
    schema = {"type": "object", **tool.parameters}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _last_cached(tools: list[Block], system: list[Block], content: list[Block]) -> Block:
    """Return the block up to which the parts that do not change are cached."""
    return (tools or system or [block for block in content if block["type"] in ("text", "image")])[-1]


def _content(request: Request) -> list[Block]:
    """Return the user's content: every file behind its name, the prompt last."""
    blocks: list[Block] = []
    for file in request.files:
        blocks.append(_text(prompts.announced(file)))
        if file.native:
            blocks.append(_file(file))
    return [*blocks, _text(prompts.user(request))]


def _file(file: Attachment) -> Block:
    if file.type.startswith("image/"):
        return {"type": "image", "source": _base64(file)}
    if file.type == "application/pdf":
        return {"type": "document", "source": _base64(file)}
    text = {"type": "text", "media_type": "text/plain", "data": prompts.file_text(file)}
    return {"type": "document", "source": text}


def _base64(file: Attachment) -> Block:
    return {"type": "base64", "media_type": file.type, "data": prompts.encoded(file)}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _plain(blocks: list[Block]) -> Json:
    """Return blocks in the simplest form that says the same."""
    only = blocks[0]
    return only["text"] if len(blocks) == 1 and only.keys() == {"type", "text"} else blocks


def _turn(turn: Turn) -> list[Json]:
    """Return the messages of a turn: the reply as it came, and all results in one message."""
    results: list[Json] = [
        {
            "type": "tool_result",
            "tool_use_id": result.call.id,
            **({"content": sendable(result.text)} if result.text else {}),
            **({"is_error": True} if result.error else {}),
        }
        for result in turn.results
    ]
    said: Json = {"role": "assistant", "content": turn.reply.replay}
    return [said, {"role": "user", "content": results}] if results else [said]
