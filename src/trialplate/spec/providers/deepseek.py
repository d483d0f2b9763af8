# SPDX-License-Identifier: Apache-2.0
"""DeepSeek's chat completions.

Source: DeepSeek API documentation, "Create Chat Completion", "Thinking Mode" and "Vision" (api-docs.deepseek.com, state
of August 2026). In thinking mode, which is the default, the API takes temperature, top_p and the penalties and ignores
them; `medium` and `xhigh` mean `high`, `minimal` means `low`, `ultra` means `max`.
"""

from __future__ import annotations

from trialplate.spec.providers.base import IMAGES, PENALTY, SHARE, Choice, HostedProvider, Number, Whole

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://api.deepseek.com",
    key="DEEPSEEK_API_KEY",
    parameters={
        "temperature": Number(0, 2),
        "top_p": SHARE,
        "presence_penalty": PENALTY,
        "frequency_penalty": PENALTY,
        "max_tokens": Whole(1),
        "thinking": Choice(("enabled", "disabled")),
        "reasoning_effort": Choice(("minimal", "low", "medium", "high", "xhigh", "max", "ultra")),
    },
    accepts=IMAGES,
    shape="json_object",
    shapes=("json_object", "text"),
)
