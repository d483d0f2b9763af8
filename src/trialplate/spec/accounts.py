# SPDX-License-Identifier: Apache-2.0
"""Whose account a model is asked on: limits and prices are shared by all that stand behind one."""

from __future__ import annotations

from urllib.parse import urlsplit

from trialplate.record.values import Configuration

__all__ = ["account_of"]


def account_of(configuration: Configuration) -> str:
    """Return the account behind a configuration: what the author says, else the endpoint's host, else the runner."""
    if configuration.provider is not None:
        return configuration.provider
    if configuration.endpoint is not None:
        return urlsplit(configuration.endpoint).netloc
    return configuration.runner
