# SPDX-License-Identifier: Apache-2.0
"""Hypothesis without a time limit per example: a busy machine must not fail a test."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("trialplate", deadline=None)
settings.load_profile("trialplate")
