# SPDX-License-Identifier: Apache-2.0
"""Mistral's chat completions.

Source: Mistral AI API specification 1.0.0, "Chat Completion", with "Vision" and "Document QnA" (docs.mistral.ai, state
of August 2026). Which models see images or read documents, is theirs to say. A `max_tokens` of 0, which the
specification allows, is refused: it says nothing about how long an answer may be.
"""

from __future__ import annotations

from trialplate.spec.providers.base import (
    DOCUMENTS,
    IMAGES,
    PENALTY,
    SHARE,
    Choice,
    Flag,
    HostedProvider,
    Json,
    Number,
    Whole,
)

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://api.mistral.ai/v1",
    key="MISTRAL_API_KEY",
    parameters={
        "temperature": Number(0, 1.5),
        "top_p": SHARE,
        "presence_penalty": PENALTY,
        "frequency_penalty": PENALTY,
        "max_tokens": Whole(1),
        "parallel_tool_calls": Flag(),
        "random_seed": Whole(0),
        "reasoning_effort": Choice(("none", "minimal", "low", "medium", "high", "xhigh")),
        "prompt_mode": Choice(("reasoning",)),
        "safe_prompt": Flag(),
        "prompt_cache_key": Json(str, "a text"),
    },
    accepts=IMAGES | DOCUMENTS,
    refused={"seed": ("is no parameter of this provider", "write random_seed")},
)
