# SPDX-License-Identifier: Apache-2.0
"""OpenRouter: `openai_chat`, with what a router in front of many providers has besides.

- Settings that are not known go into the request as they are written.
- `server_tools` stand behind the case's tools; OpenRouter runs them itself.
- Reasoning goes back with the message whose tool calls it led to, in the fullest form that came: `reasoning_details`,
  whole and in their order (also an empty list), else `reasoning`, else `reasoning_content`.
- Tool calls count also behind "stop": not every provider behind the router has a reason of its own for them.

No attribution headers are sent: they would list whoever runs an acceptance test in public rankings.

Source: OpenRouter documentation, "API Reference", "Reasoning Tokens" ("Preserving Reasoning Blocks"), "Tool Calling",
"Server Tools", "PDF Inputs", "Structured Outputs", "Errors and Debugging"; its OpenAPI description as of typescript-sdk
of 2026-08-22 (`ChatRequest`, `ChatResult`, `ChatUsage`).
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
    details={"auto": "auto", "low": "low", "medium": "high", "high": "high", "original": "original"},
    replayed=("reasoning_details", "reasoning", "reasoning_content"),
    goes_on=("tool_calls", "stop", "", None),
    broken={"error": 502},
)
check_configuration = openai_chat.check_configuration
key_headers = openai_chat.key_headers


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    made = openai_chat.build_request(request, _DIALECT)
    body = dict(made.body)
    if server_tools := body.pop("server_tools", []):
        body["tools"] = [*body.get("tools", []), *server_tools]
    return replace(made, body=body)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
