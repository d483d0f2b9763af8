# SPDX-License-Identifier: Apache-2.0
"""DeepSeek's chat completions.

What is said about the form of the answer are system messages; `thinking` is sent as {"type": ...}. The API has no
schema for an answer, only "some JSON object". The model's reasoning must go back with the tool calls that it led to, or
the next request is refused. `prompt_tokens` holds what was read from the cache, `completion_tokens` the reasoning. A
reply that ends with `insufficient_system_resource` is none: it counts as status 503.

Source: DeepSeek API documentation, "Create Chat Completion", "Thinking Mode", "Tool Calls", "JSON Output", "Vision" and
"Error Codes" (api-docs.deepseek.com, state of August 2026).
"""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.errors import SpecError
from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Request
from trialplate.runners.providers import openai_chat
from trialplate.runners.providers.openai_chat import Dialect
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]

_DIALECT = Dialect(
    names={"thinking": "thinking.type"},
    instructions="system",
    replayed=("reasoning_content",),
    broken={"insufficient_system_resource": 503},
    cache_read=("prompt_cache_hit_tokens",),
)
key_headers = openai_chat.key_headers


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: a schema for the answer, or what `openai_chat.check_configuration` refuses.
    """
    openai_chat.check_configuration(configuration)
    if configuration.structured == "native":
        where, hint = f"models.{configuration.model}", "write structured: json_object"
        raise SpecError("DeepSeek takes no schema for an answer", where=where, hint=hint, code="STRUCTURED")


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    return openai_chat.build_request(request, _DIALECT)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
