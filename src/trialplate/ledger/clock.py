# SPDX-License-Identifier: Apache-2.0
"""The wall clock as logs write it. A time in a log is its writer's claim; only witnesses can prove more."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["utc_now"]


def utc_now() -> str:
    """Return the time as RFC 3339 in UTC with milliseconds, such as "2026-11-30T09:00:00.123Z"."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
