# SPDX-License-Identifier: Apache-2.0
"""An acceptance-testing ledger for language models and agents."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trialplate.run_output import RunOutput

__version__ = "0.1.0"
__all__ = ["RunOutput"]


def __getattr__(name: str) -> object:
    """Return what functions under test import, without loading it for anybody else.

    Raises:
        AttributeError: there is no such name.
    """
    if name == "RunOutput":
        from trialplate.run_output import RunOutput

        return RunOutput
    raise AttributeError(f"module 'trialplate' has no attribute {name!r}")
