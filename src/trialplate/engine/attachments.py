# SPDX-License-Identifier: Apache-2.0
"""The files of a case as an attempt sends them: those that go into the request, and those that are only announced."""

from __future__ import annotations

from collections.abc import Callable

from trialplate.record.values import Case, Configuration
from trialplate.rules.cells import HOSTED_RUNNERS
from trialplate.runners.base import Attachment

__all__ = ["attachments_of"]


def attachments_of(case: Case, configuration: Configuration, blob: Callable[[str], bytes]) -> tuple[Attachment, ...]:
    """Return the files of a case for a hosted model or an own runner, in its order; others open files themselves.

    Args:
        blob: returns bytes by their digest.
    """
    if configuration.runner not in HOSTED_RUNNERS and configuration.plugin is None:
        return ()
    return tuple(
        Attachment(
            name=file.name,
            type=file.type,
            data=blob(file.digest),
            native="native" in file.access,
            detail=file.image_detail,
        )
        for file in case.files
    )
