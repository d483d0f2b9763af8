# SPDX-License-Identifier: Apache-2.0
"""Anthropic's Messages API."""

from __future__ import annotations

from trialplate.spec.providers.base import DOCUMENTS, IMAGES, SHARE, HostedProvider, Whole

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url="https://api.anthropic.com",
    key="ANTHROPIC_API_KEY",
    parameters={"max_tokens": Whole(1), "temperature": SHARE, "top_p": SHARE, "top_k": Whole(0)},
    accepts=IMAGES | DOCUMENTS | {"text/plain"},
    defaults={"max_tokens": 4096},
)
