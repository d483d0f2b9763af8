# SPDX-License-Identifier: Apache-2.0
"""OpenAI: chat completions for the models that were made for them, the Responses API for all others.

What only one of the two takes is refused for a model of the other. The Responses API opens documents, tables, texts and
code besides PDF files; chat completions open PDF files alone.

Source: openai-python 3.3.1 (API description of 2026-08-21), `CompletionCreateParams`, `ResponseCreateParams` and
`ResponsesModel`; guide "File inputs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trialplate.spec.providers.base import (
    DOCUMENTS,
    IMAGES,
    PENALTY,
    SHARE,
    TEXT_TYPES,
    Choice,
    Flag,
    HostedProvider,
    Json,
    Number,
    Parameter,
    Whole,
)

__all__ = ["PROVIDER", "is_chat"]

_CHAT_MODELS = ("gpt-3", "gpt-4", "o1", "o3", "o4")
_NOT_CHAT_MODELS = ("o1-pro", "o3-pro", "o3-deep-research", "o4-mini-deep-research")
"""Their names begin like those, and only the Responses API has them."""
_OFFICE = frozenset(
    {
        "application/msword",
        "application/rtf",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    }
)
_CODE = frozenset(
    {
        "application/javascript",
        "application/typescript",
        "application/x-sh",
        "application/xml",
        "application/yaml",
        "text/css",
        "text/javascript",
        "text/tab-separated-values",
        "text/x-c",
        "text/x-c++",
        "text/x-csharp",
        "text/x-java",
        "text/x-php",
        "text/x-python",
        "text/x-ruby",
        "text/x-tex",
        "text/xml",
    }
)
_EFFORT = Choice(("none", "minimal", "low", "medium", "high", "xhigh", "max"))
_BOTH: Mapping[str, Parameter] = {
    "max_completion_tokens": Whole(1),
    "parallel_tool_calls": Flag(),
    "prompt_cache_key": Json(str, "a text"),
    "reasoning_effort": _EFFORT,
    "service_tier": Choice(("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")),
    "stream": Flag(),
    "temperature": Number(0, 2),
    "top_p": SHARE,
    "verbosity": Choice(("low", "medium", "high")),
}
_ONLY_CHAT: Mapping[str, Parameter] = {"frequency_penalty": PENALTY, "presence_penalty": PENALTY, "seed": Whole()}
_ONLY_RESPONSES: Mapping[str, Parameter] = {
    "reasoning_context": Choice(("auto", "current_turn", "all_turns")),
    "reasoning_mode": Choice(("standard", "pro")),
    "reasoning_summary": Choice(("auto", "concise", "detailed")),
}


def is_chat(model: str) -> bool:
    """Say whether a model is asked over chat completions."""
    return model.startswith(_CHAT_MODELS) and not model.startswith(_NOT_CHAT_MODELS)


def _without(names: Mapping[str, Parameter], interface: str) -> dict[str, tuple[str, str]]:
    return dict.fromkeys(names, (f"is no parameter of {interface}, over which this model is asked", "take it out"))


_RESPONSES = HostedProvider(
    url="https://api.openai.com/v1",
    key="OPENAI_API_KEY",
    parameters={**_BOTH, **_ONLY_RESPONSES},
    refused=_without(_ONLY_CHAT, "the Responses API"),
    accepts=IMAGES | DOCUMENTS | TEXT_TYPES | _OFFICE | _CODE,
)
_CHAT = replace(
    _RESPONSES,
    parameters={**_BOTH, **_ONLY_CHAT},
    refused=_without(_ONLY_RESPONSES, "chat completions"),
    accepts=IMAGES | DOCUMENTS,
)
PROVIDER = replace(_RESPONSES, families=((_NOT_CHAT_MODELS, _RESPONSES), (_CHAT_MODELS, _CHAT)))
