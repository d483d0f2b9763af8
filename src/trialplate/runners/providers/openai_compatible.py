# SPDX-License-Identifier: Apache-2.0
"""Any server that speaks chat completions: the settings are sent as they are written.

Such a server often has a local model's chat template behind it, of which some take no two messages of the same role in
a row: what is said about the form of the answer is the beginning of the prompt. Whatever reasoning came with a tool
call goes back in the field in which it came. Tool calls count also behind "stop", which some servers give for all.
"""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.runners.base import Answer, Request
from trialplate.runners.providers import openai_chat
from trialplate.runners.providers.openai_chat import Dialect
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]

_DIALECT = Dialect(
    instructions="prompt",
    details={"auto": "auto", "low": "low", "medium": "high", "high": "high", "original": "original"},
    replayed=("reasoning_details", "reasoning_content", "reasoning"),
    goes_on=("tool_calls", "stop", "", None),
)
check_configuration = openai_chat.check_configuration
key_headers = openai_chat.key_headers


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    return openai_chat.build_request(request, _DIALECT)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
