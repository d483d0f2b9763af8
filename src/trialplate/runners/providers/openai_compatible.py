# SPDX-License-Identifier: Apache-2.0
"""Any server that speaks chat completions: `openai_chat` as it is, with the settings sent as they are written."""

from __future__ import annotations

from trialplate.runners.providers.openai_chat import build_request, check_configuration, key_headers, parse_reply

__all__ = ["build_request", "check_configuration", "key_headers", "parse_reply"]
