# SPDX-License-Identifier: Apache-2.0
"""How far a conversation goes where the case does not say: what bounds it, and what an estimate counts with."""

from __future__ import annotations

__all__ = ["MAX_TURNS", "RESULT_BYTES"]

MAX_TURNS = 20
"""Replies of one attempt with tools."""
RESULT_BYTES = 16_384
"""What a model is told of the results of one turn together; the rest is cut off, and it is told that."""
