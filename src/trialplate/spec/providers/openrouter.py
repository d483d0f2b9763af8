# SPDX-License-Identifier: Apache-2.0
"""OpenRouter: one interface in front of many providers, with parameters of each; what is not known here is passed on.

Source: OpenRouter documentation, "Parameters", "Reasoning Tokens", "PDF Inputs", "Server Tools"; its OpenAPI
description as of typescript-sdk of 2026-08-22 (`ChatRequest`).
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
    Objects,
    Whole,
)

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://openrouter.ai/api/v1",
    key="OPENROUTER_API_KEY",
    parameters={
        "frequency_penalty": PENALTY,
        "max_completion_tokens": Whole(1),
        "max_tokens": Whole(1),
        "min_p": SHARE,
        "parallel_tool_calls": Flag(),
        "presence_penalty": PENALTY,
        "prompt_cache_key": Json(str, "a text"),
        "reasoning_effort": Choice(("none", "minimal", "low", "medium", "high", "xhigh", "max")),
        "repetition_penalty": Number(0, 2),
        "seed": Whole(),
        "server_tools": Objects("type"),
        "stream": Flag(),
        "temperature": Number(0, 2),
        "top_a": SHARE,
        "top_k": Whole(0),
        "top_p": SHARE,
        "verbosity": Choice(("low", "medium", "high", "xhigh", "max")),
    },
    refused={"tools": ("is what the runner itself sends", "name tools of OpenRouter's own under server_tools:")},
    passes=True,
    together=(("max_tokens", "max_completion_tokens"),),
    accepts=IMAGES | DOCUMENTS,
)
