# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry exports in a few lines, in the wire form of OTLP/JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["any_value", "export", "span"]

TRACE = "5b8efff798038103d269b633813fc60c"


def any_value(value: Any) -> dict[str, Any]:
    """Return an AnyValue: integers as decimal texts, as protobuf's JSON has 64-bit ones."""
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(item)} for key, item in value.items()]}}
    return {"stringValue": value}


def span(name: str, parent: str = "", ms: tuple[int, int] | None = None, /, **attributes: Any) -> dict[str, Any]:
    """Return a span whose id is made of its name.

    Args:
        name: what it is called, and its id.
        parent: the name of the span that it is in.
        ms: when it began and ended, in milliseconds of its run; None: it does not say.
        attributes: their names with two underscores for each dot.
    """
    made: dict[str, Any] = {"traceId": TRACE, "spanId": name.encode().hex(), "name": name, "kind": 1}
    if parent:
        made["parentSpanId"] = parent.encode().hex()
    if ms is not None:
        began, ended = (1_544_712_660_000_000_000 + at * 1_000_000 for at in ms)
        made |= {"startTimeUnixNano": str(began), "endTimeUnixNano": ended}
    made["attributes"] = [{"key": key.replace("__", "."), "value": any_value(v)} for key, v in attributes.items()]
    return made


def export(*spans: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document that holds spans."""
    scope = {"scope": {"name": "my.library", "version": "1.0.0"}, "spans": list(spans)}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "my.service"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
