# SPDX-License-Identifier: Apache-2.0
"""The chat completions of Alibaba Cloud Model Studio (Qwen).

What is said about the form of the answer are user messages. `enable_thinking`, `preserve_thinking` and
`thinking_budget` stand beside the other fields. The model's reasoning goes back with its tool calls only if
`preserve_thinking` asks for it. Some models answer only as a stream: `stream` asks for one.

An account in arrears comes back as status 400, as if the request were wrong. It says nothing about the model, and
counts as 402, the status of billing errors. What the content inspection refuses is 400, also where a stream had begun
under 200.

Source: Alibaba Cloud Model Studio, "OpenAI Chat" (18 March 2026), "Structured output" (19 March 2026), "Deep thinking"
(18 June 2026), "Error codes" (23 June 2026) and "Context Cache" (24 June 2026), alibabacloud.com/help/en/model-studio.
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
    cache_write=("prompt_tokens_details", "cache_creation_input_tokens"),
    counts_as={"make sure your account is in good standing": 402, "may contain inappropriate content": 400},
)
_PRESERVING = replace(_DIALECT, replayed=("reasoning_content",))
check_configuration = openai_chat.check_configuration
key_headers = openai_chat.key_headers


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    preserving = request.configuration.settings.get("preserve_thinking") is True
    return openai_chat.build_request(request, _PRESERVING if preserving else _DIALECT)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
