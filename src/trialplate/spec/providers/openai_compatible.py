# SPDX-License-Identifier: Apache-2.0
"""Any server that speaks chat completions: whatever is set goes into the request as it is written."""

from __future__ import annotations

from trialplate.spec.providers.base import DOCUMENTS, IMAGES, Flag, HostedProvider

__all__ = ["PROVIDER"]

PROVIDER = HostedProvider(
    url=None,
    key=None,
    parameters={"stream": Flag()},
    passes=True,
    accepts=IMAGES | DOCUMENTS,
    shape="text",
)
