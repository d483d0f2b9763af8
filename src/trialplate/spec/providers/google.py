# SPDX-License-Identifier: Apache-2.0
"""Google's Gemini API.

Source: Gemini API reference, "Generating content" (v1beta, 2026-11); "Image understanding", "Document understanding".
GIF is no image that it takes. Penalties have no range there.
"""

from __future__ import annotations

from trialplate.spec.providers.base import DOCUMENTS, SHARE, Choice, Flag, HostedProvider, Json, Number, Whole

__all__ = ["PROVIDER"]

_IMAGES = {"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"}
_TEXTS = {"text/plain", "text/html", "text/css", "text/csv", "text/markdown", "text/xml", "text/rtf"}
_TEXTS |= {"text/javascript", "application/json"}

PROVIDER = HostedProvider(
    url="https://generativelanguage.googleapis.com",
    key="GOOGLE_API_KEY",
    parameters={
        "temperature": Number(0, 2),
        "top_p": SHARE,
        "top_k": Whole(0),
        "max_output_tokens": Whole(1),
        "stop_sequences": Json(list, "a list of texts"),
        "presence_penalty": Number(),
        "frequency_penalty": Number(),
        "seed": Whole(-(2**31), 2**31 - 1),
        "thinking_level": Choice(("minimal", "low", "medium", "high")),
        "media_resolution": Choice(("low", "medium", "high")),
        "text_response_format": Flag(),
        "text_response_format_with_tools": Flag(),
    },
    reserved=("model", "contents", "system_instruction", "candidate_count"),
    accepts=frozenset(_IMAGES | _TEXTS) | DOCUMENTS,
    refused={
        "max_tokens": ("is no parameter of this provider", "write max_output_tokens"),
        "reasoning_effort": ("is no parameter of this provider", "write thinking_level"),
    },
)
