# SPDX-License-Identifier: Apache-2.0
"""What is known of each hosted provider before anything is sent: one file of data each, found by the runner's name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Literal, get_args

from trialplate.spec.providers.base import HostedProvider

__all__ = ["RUNNERS", "HostedRunnerName", "provider_of"]

HostedRunnerName = Literal[
    "openai",
    "anthropic",
    "google",
    "mistralai",
    "deepseek",
    "xai",
    "alibaba",
    "moonshotai",
    "openrouter",
    "openai-compatible",
]
RUNNERS: tuple[str, ...] = get_args(HostedRunnerName)
"""The runners of hosted models; each has a file of its name here, and one under `runners.providers`."""


@cache
def provider_of(runner: str, model: str = "") -> HostedProvider:
    """Return what is known of a provider.

    Args:
        runner: one of `RUNNERS`.
        model: the id of one of its models, whose family may differ from the others.
    """
    found: HostedProvider = import_module(f"{__name__}.{runner.replace('-', '_')}").PROVIDER
    return next((family for beginnings, family in found.families if model.startswith(beginnings)), found)
