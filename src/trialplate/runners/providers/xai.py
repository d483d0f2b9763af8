# SPDX-License-Identifier: Apache-2.0
"""xAI's chat completions.

What is said about the form of the answer are system messages, and the user message is always a list of parts. A schema
stands alone in `json_schema`. `completion_tokens` leaves out the reasoning, which is added. Penalties are sent only
where they are set, since reasoning models refuse them, whatever they are.

A question that xAI's own safety check refuses comes back as status 403, the status of a key without permission. It says
nothing about the key, which may ask all else, so it counts as 400: a request that was refused for what is in it.

Source: xAI documentation, "Chat Completions", "Reasoning", "Structured Outputs", "Image Understanding" and "Function
Calling" (docs.x.ai, state of June 2026); UKGovernmentBEIS/inspect_ai, pull request 2267, for the safety check.
"""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.runners.base import Answer, Request
from trialplate.runners.providers import openai_chat
from trialplate.runners.providers.openai_chat import Dialect
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]

_DIALECT = Dialect(
    instructions="system",
    schema={},
    parts=True,
    details={"auto": "auto", "low": "low", "medium": "high", "high": "high", "original": "high"},
    replayed=("reasoning_content",),
    reasoning_apart=True,
    counts_as={"Content violates usage guidelines": 400},
)
check_configuration = openai_chat.check_configuration
key_headers = openai_chat.key_headers


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    return openai_chat.build_request(request, _DIALECT)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
