# SPDX-License-Identifier: Apache-2.0
"""Mistral's chat completions.

What is said about the form of the answer are system messages. A prompt without files stays a plain text, since some
models refuse a list. A document is a `document_url` that holds its bytes. A reply's content is a text or a list of
chunks, of which `thinking` is the reasoning; it goes back as it came, with its signature. A tool's arguments may be the
object itself. `model_length`, the end of the context window, is "length"; a reply that ends with `error` is none, and
counts as status 500.

Source: Mistral AI API specification 1.0.0, "Chat Completion" (docs.mistral.ai/api); guides "Vision", "Document QnA",
"Reasoning", "Function Calling", "Custom Structured Outputs" and "Error glossary" (state of August 2026).
"""

from __future__ import annotations

from collections.abc import Mapping

from trialplate.record.frozen import Json
from trialplate.runners.base import Answer, Attachment, Request
from trialplate.runners.providers import openai_chat, prompts
from trialplate.runners.providers.openai_chat import Dialect
from trialplate.transport.http import HttpRequest

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]


def _part(file: Attachment, detail: str | None) -> dict[str, Json]:
    if file.type.startswith("image/"):
        return openai_chat.content_part(file, detail)
    return {"type": "document_url", "document_url": prompts.data_url(file), "document_name": file.name}


_DIALECT = Dialect(
    instructions="system",
    schema={"name": "response", "strict": False},
    part=_part,
    details={"auto": "auto", "low": "low", "medium": "high", "high": "high", "original": "high"},
    finishes={"model_length": "length"},
    broken={"error": 500},
)
check_configuration = openai_chat.check_configuration
key_headers = openai_chat.key_headers


def build_request(request: Request) -> HttpRequest:
    """Return what is sent for the next turn of an attempt, the key excepted."""
    return openai_chat.build_request(request, _DIALECT)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer in a reply."""
    return openai_chat.parse_reply(status, headers, body, _DIALECT)
