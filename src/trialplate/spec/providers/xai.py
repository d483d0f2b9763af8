# SPDX-License-Identifier: Apache-2.0
"""xAI's chat completions.

Source: xAI documentation, "Chat Completions", "Reasoning" and "Image Understanding" (docs.x.ai, state of June 2026).
Reasoning models refuse the penalties, and some models refuse `reasoning_effort`; which, is theirs to say.
"""

from __future__ import annotations

from trialplate.spec.providers.base import PENALTY, SHARE, Choice, Flag, HostedProvider, Json, Number, Whole

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://api.x.ai/v1",
    key="XAI_API_KEY",
    parameters={
        "temperature": Number(0, 2),
        "top_p": SHARE,
        "presence_penalty": PENALTY,
        "frequency_penalty": PENALTY,
        "max_completion_tokens": Whole(1),
        "parallel_tool_calls": Flag(),
        "reasoning_effort": Choice(("none", "low", "medium", "high", "xhigh")),
        "seed": Whole(-(2**31), 2**31 - 1),
        "prompt_cache_key": Json(str, "a text"),
    },
    accepts=frozenset({"image/jpeg", "image/png"}),
)
