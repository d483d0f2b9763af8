# SPDX-License-Identifier: Apache-2.0
"""What an author writes about the tools that cases may offer to models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from trialplate.spec.entries import Function
from trialplate.spec.fields import Text, refused

__all__ = ["ToolEntry", "ToolName"]

ToolName = Annotated[str, StringConstraints(pattern="^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
"""As all interfaces take it."""


def _parameters(value: dict[str, Any]) -> dict[str, Any]:
    if value.get("type") != "object":
        hint = "write parameters: {type: object, properties: {...}, required: [...]}"
        raise refused("expected a JSON Schema of an object", hint)
    return value


class ToolEntry(Function):
    """A function of the project that a model may call."""

    description: Annotated[Text, Field(max_length=4096)]
    parameters: Annotated[dict[str, Any], AfterValidator(_parameters)]
    """JSON Schema of its arguments."""
