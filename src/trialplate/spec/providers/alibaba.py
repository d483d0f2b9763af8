# SPDX-License-Identifier: Apache-2.0
"""Alibaba Cloud Model Studio's chat completions, in its international region.

Other regions have other addresses and keys of their own: give their `url`.

Source: Alibaba Cloud Model Studio, "OpenAI Chat" (18 March 2026), "Deep thinking" (18 June 2026) and "Error codes" (23
June 2026), alibabacloud.com/help/en/model-studio.
"""

from __future__ import annotations

from trialplate.spec.providers.base import IMAGES, PENALTY, SHARE, Choice, Flag, HostedProvider, Number, Whole

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    key="DASHSCOPE_API_KEY",
    parameters={
        "temperature": Number(0, 2),
        "top_p": SHARE,
        "presence_penalty": PENALTY,
        "frequency_penalty": PENALTY,
        "max_tokens": Whole(1),
        "max_completion_tokens": Whole(1),
        "seed": Whole(0, 2**32 - 1),
        "parallel_tool_calls": Flag(),
        "enable_thinking": Flag(),
        "preserve_thinking": Flag(),
        "thinking_budget": Whole(1),
        "reasoning_effort": Choice(("none", "minimal", "low", "medium", "high", "xhigh", "max")),
        "stream": Flag(),
    },
    together=(("max_tokens", "max_completion_tokens"), ("thinking_budget", "reasoning_effort")),
    accepts=IMAGES,
)
