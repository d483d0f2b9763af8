# SPDX-License-Identifier: Apache-2.0
"""Whether a configuration takes what a case is made of. The plan says both, so it is settled before anybody is asked.

Only hosted models have something to take or not: what runs in the project's folder opens files itself. A file that may
be sent is sent: one of a type that the model does not take is never handed to a tool instead.
"""

from __future__ import annotations

from trialplate.record.values import Case, Configuration
from trialplate.rules.cells import HOSTED_RUNNERS

__all__ = ["incompatible", "may_be_incompatible"]


def may_be_incompatible(configuration: Configuration) -> bool:
    """Say whether some case could be incompatible with a configuration; told without the cases."""
    limited = configuration.accepts is not None or configuration.structured == "none"
    return configuration.runner in HOSTED_RUNNERS and limited


def incompatible(case: Case, configuration: Configuration) -> str | None:
    """Return what a configuration does not take of a case, in a few words; None if it can be asked."""
    if not may_be_incompatible(configuration):
        return None
    if configuration.structured == "none" and case.answer_schema is not None:
        return "answer_schema, under structured: false"
    tools = {tool.name for tool in configuration.tools}
    for file in case.files:
        if "native" in file.access:
            if file.type not in (configuration.accepts or ()):
                return file.type
        elif not any(tool.name in tools for tool in case.tools):
            return f"{file.type} for a tool, and none is offered"
    return None
