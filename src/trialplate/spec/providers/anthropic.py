# SPDX-License-Identifier: Apache-2.0
"""Anthropic's Messages API.

Source: Claude API reference, "Create a Message" (2026-10-21), "Adaptive thinking", "Effort", "Prompt caching".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialplate.spec.providers.base import DOCUMENTS, IMAGES, SHARE, Choice, Flag, HostedProvider, Json, Objects, Whole

__all__ = ["PROVIDER"]


class _Thinking:
    """A word, or what the interface takes as it is: it has types and options that come and go with its models."""

    words = ("disabled", "between_tools")

    def wrong(self, value: Any) -> str | None:
        """Say what is expected instead of a value, None if it will do."""
        typed = isinstance(value, dict) and isinstance(value.get("type"), str)
        return None if typed or value in self.words else f"{' or '.join(self.words)}, or a map with the API's type"


def _further(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    budget, longest = settings.get("thinking_budget_tokens"), settings.get("max_tokens")
    if type(budget) is int and type(longest) is int and budget >= longest:
        yield "thinking_budget_tokens", f"is not below max_tokens, which is {longest}", "raise max_tokens above it"
    if isinstance(settings.get("output_config"), dict) and "format" in settings["output_config"]:
        hint = "give the cases an answer_schema, and leave format out"
        yield "output_config", "holds a format, which follows from the case", hint


PROVIDER = HostedProvider(
    url="https://api.anthropic.com",
    key="ANTHROPIC_API_KEY",
    parameters={
        "max_tokens": Whole(1),
        "temperature": SHARE,
        "top_p": SHARE,
        "top_k": Whole(0),
        "stop_sequences": Json(list, "a list of texts"),
        "effort": Choice(("low", "medium", "high", "xhigh", "max")),
        "thinking": _Thinking(),
        "thinking_budget_tokens": Whole(1024),
        "output_config": Json(dict, "a map, such as {effort: low}"),
        "prompt_cache_ttl": Choice(("5m", "1h")),
        "legacy_structured_output": Flag(),
        "server_tools": Objects("type"),
        "service_tier": Choice(("auto", "standard_only")),
        "stream": Flag(),
    },
    reserved=("model", "messages", "system"),
    together=(
        ("effort", "thinking_budget_tokens"),
        ("thinking", "thinking_budget_tokens"),
        ("effort", "output_config"),
    ),
    further=_further,
    refused={
        "cache_control": ("is what the runner itself sends", "write prompt_cache_ttl: 5m"),
        "tools": ("is what the runner itself sends", "name tools of the API's own under server_tools:"),
    },
    accepts=IMAGES | DOCUMENTS | {"text/plain"},
    defaults={"max_tokens": 4096},
)
