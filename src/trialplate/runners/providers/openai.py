# SPDX-License-Identifier: Apache-2.0
"""OpenAI: over chat completions (`openai_chat`) or the Responses API (`openai_responses`), by the model's family.

What a reply is says its own form, so that a recording of either can be read without the request.

Source: as of those two modules; which family goes where: `spec.providers.openai`.
"""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.record.values import Configuration
from trialplate.runners.base import Answer, Request
from trialplate.runners.providers import openai_chat, openai_responses, replies
from trialplate.runners.providers.openai_chat import Dialect
from trialplate.spec.providers.openai import is_chat
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]

_DIALECT = Dialect(details={"auto": "auto", "low": "low", "medium": "high", "high": "high", "original": "high"})
key_headers = openai_chat.key_headers


def check_configuration(configuration: Configuration) -> None:
    """Refuse what could never be sent, before anything is spent.

    Raises:
        SpecError: reserved settings, no model id, or an endpoint that is no plain http(s) URL.
    """
    if is_chat(configuration.model_id or ""):
        openai_chat.check_configuration(configuration)
    else:
        openai_responses.check_configuration(configuration)


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    if is_chat(request.configuration.model_id or ""):
        return openai_chat.build_request(request, _DIALECT)
    return openai_responses.build_request(request)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    if _is_response(headers, body):
        return openai_responses.parse_reply(status, headers, body)
    return openai_chat.parse_reply(status, headers, body, _DIALECT)


def _is_response(headers: Mapping[str, str], body: bytes) -> bool:
    """Say whether a body is of the Responses API: the object itself, or a stream of its events."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        event = replies.read_json(next(replies.event_data(body), b""))
        return isinstance(event, dict) and "choices" not in event and isinstance(event.get("type"), str)
    value = replies.read_json(body)
    return isinstance(value, dict) and (value.get("object") == "response" or "output" in value)
