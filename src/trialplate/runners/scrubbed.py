# SPDX-License-Identifier: Apache-2.0
"""An answer without known secrets, whichever way they came: whole, behind JSON's escapes, or in the pieces of a stream.

A runner replaces secrets in the bytes that it hears; this is what remains to be done once they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trialplate.record.frozen import Json
from trialplate.runners.base import Answer, ToolCall
from trialplate.transport.secrets import Secrets

__all__ = ["scrubbed", "scrubbed_json"]


def scrubbed(answer: Answer, secrets: Secrets) -> Answer:
    """Return an answer without known secrets, also in what its tools are called with and what goes back."""
    if secrets.none:
        return answer
    scrub = secrets.scrub
    return replace(
        answer,
        text=scrub(answer.text),
        finish=None if answer.finish is None else scrub(answer.finish),
        served=None if answer.served is None else scrub(answer.served),
        request_ids=tuple(scrub(item) for item in answer.request_ids),
        transcript=scrubbed_json(answer.transcript, scrub),
        unreadable=None if answer.unreadable is None else scrub(answer.unreadable),
        tool_calls=tuple(
            ToolCall(id=scrub(call.id), name=scrub(call.name), arguments=scrub(call.arguments))
            for call in answer.tool_calls
        ),
        replay=scrubbed_json(answer.replay, scrub),
    )


def scrubbed_json(value: Json, scrub: Callable[[str], str]) -> Json:
    """Return a JSON value without known secrets, in names and in values."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub(name): scrubbed_json(item, scrub) for name, item in value.items()}
    return [scrubbed_json(item, scrub) for item in value] if isinstance(value, list) else value
