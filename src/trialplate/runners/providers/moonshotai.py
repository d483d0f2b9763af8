# SPDX-License-Identifier: Apache-2.0
"""Moonshot AI's chat completions (Kimi).

What is said about the form of the answer are user messages. `thinking` and `preserve_thinking` are the type and the
keep of one object, whose type the API wants whenever it is there. A tool's schema is sent with `strict` false, since
the API's own default is true and refuses schemas that are not of its own flavour. The model's reasoning always goes
back with its tool calls. What was read from the cache stands at the top of `usage`, or where OpenAI has it; in a stream
`usage` may stand in the last choice. What the content filter refuses is 400, also where a stream had begun under 200.

Source: Kimi API documentation, "Create Chat Completion", "Using Thinking Models", "Tool Calls", "Use the Kimi Vision
Model", "Model Parameter Reference" and "Errors" (platform.kimi.ai, state of October 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trialplate.runners.base import Answer, Request
from trialplate.runners.providers import openai_chat
from trialplate.runners.providers.openai_chat import Dialect
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]

_DIALECT = Dialect(
    names={"thinking": "thinking.type", "preserve_thinking": "thinking.keep"},
    function={"strict": False},
    replayed=("reasoning_content",),
    cache_read=("cached_tokens",),
    counts_as={"it was considered high risk": 400},
)
check_configuration = openai_chat.check_configuration
key_headers = openai_chat.key_headers


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    made = openai_chat.build_request(request, _DIALECT)
    thinking = made.body.get("thinking")
    if not isinstance(thinking, dict):
        return made
    return replace(made, body={**made.body, "thinking": {"type": "enabled", **thinking}})


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
