# SPDX-License-Identifier: Apache-2.0
"""Moonshot AI's chat completions (Kimi).

Source: Kimi API documentation, "Create Chat Completion", "Model Parameter Reference" and "Use the Kimi Vision Model"
(platform.kimi.ai, state of October 2026). The kimi-k2.5 models and later refuse sampling parameters other than their
own fixed ones.
"""

from __future__ import annotations

from trialplate.spec.providers.base import IMAGES, PENALTY, SHARE, Choice, Flag, HostedProvider, Json, Whole

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://api.moonshot.ai/v1",
    key="MOONSHOT_API_KEY",
    parameters={
        "temperature": SHARE,
        "top_p": SHARE,
        "presence_penalty": PENALTY,
        "frequency_penalty": PENALTY,
        "max_tokens": Whole(1),
        "max_completion_tokens": Whole(1),
        "thinking": Choice(("enabled", "disabled")),
        "preserve_thinking": Choice(("all",)),
        "reasoning_effort": Choice(("low", "high", "max")),
        "prompt_cache_key": Json(str, "a text"),
        "stream": Flag(),
    },
    together=(("max_tokens", "max_completion_tokens"),),
    accepts=IMAGES,
    shape="json_object",
)
